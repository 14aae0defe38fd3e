function __tcompact_models
    tcompact --list models 2>/dev/null | awk 'NR > 1 { print $1; if ($1 !~ /^(groq|openrouter|together):|^google:claude/) { sub(/^[^:]*:/, "", $1); print $1 } }'
end
complete -c tcompact -l from -d 'The format of the transcript, one of `--list formats`; `auto` looks at all messages' -r -f -a "auto openai-chat openai-responses anthropic bedrock gemini langchain claude-code codex gemini-cli pi openhands sharegpt ai-sdk pydantic-ai ollama inspect tau-bench"
complete -c tcompact -l lines -d 'How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides. tcompact writes conversations in order, each as soon as it is done' -r -f -a "messages\t'One message a line: the file is one conversation'
conversations\t'One conversation a line: a list of messages, or an object around one'"
complete -c tcompact -l trigger -d 'Compact when every SIZE is reached (messages:N, tokens:N, fraction:F, turns:N; k and m as in tokens:170k). Repeat for "or". Always, if not given' -r -f -a "messages: tokens: fraction: turns:"
complete -c tcompact -l keep -d 'How much of the end to keep unchanged; `none` summarizes everything. `from:INDEX` keeps that message and all behind it, as --pairs moves the cut (only on the command line). `since:TIME` keeps the first message at or after a time and all behind it: RFC 3339, or `1d`, `6h` or `30m` before the last message' -r -f -a "none messages: tokens: fraction: turns:"
complete -c tcompact -l pin -d 'Messages before the cut to keep too, in front of the summary: `system`, `user[:SIZE]` (what the user said, the newest up to SIZE, as in user:tokens:20k), `first:N` or `match:REGEX`. Repeatable; your rules add to `system`, and `none` clears those before it' -r -f -a "system none first: match:"
complete -c tcompact -l pairs -d 'How to move a cut that would split a tool call from its result: `strict`, to where it splits none; `langchain`, as LangChain does; `window:N`, looking only at N messages before it' -r -f -a "strict langchain window:"
complete -c tcompact -l for -d 'The model that will read the result: tcompact looks up its context window, tokenizer and price (`--list models`). A name alone is the model as its maker serves it; PROVIDER:MODEL is taken as it is' -r -f -a " (__tcompact_models)"
complete -c tcompact -l context-window -d 'The context window in tokens, over any table' -r -f
complete -c tcompact -l counter -d 'How to count tokens: `approx`, `approx:CHARS`, `o200k_base`, `cl100k_base` or `bytes:N` [default: the tokenizer of --for, else approx]' -r -f -a "approx o200k_base cl100k_base bytes:"
complete -c tcompact -l overhead-tokens -d 'Tokens of every request that are not in the transcript (tools, system prompt)' -r -f
complete -c tcompact -l preset -d 'Use the rules of a known system (`--list presets`); other flags override them' -r -f -a "langchain deepagents deerflow deerflow-v1 tongyi synaptic anthropic-context-editing"
complete -c tcompact -l config -d 'Read settings from a file: TOML, or YAML if its name ends in .yaml or .yml, with the names of the flags as keys; or a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]' -r -F
complete -c tcompact -l prune -d 'What to remove before summarizing, from the messages before the kept part: `results[:SIZE]`, `reads`, `cap[:N]`, `thinking`, `media[:SIZE]`, `arguments[:N]`, `all` or `none` (`--list prune`). Repeatable [default: none; all with --fit]' -r -f -a "all none thinking media reads arguments results cap"
complete -c tcompact -l prune-except -d 'Tools whose calls and results --prune does not change' -r -f
complete -c tcompact -l fit -d 'The largest size of the result (tokens:N, fraction:F). tcompact prunes as much as it takes, oldest and cheapest first, and summarizes if that is not enough. Without --keep, the kept end takes at most half of it [default: fraction:0.5, and --trigger fraction:0.85, if the window is known and you give none of --keep, --fit and --trigger]' -r -f -a "tokens: fraction:"
complete -c tcompact -l clear-tool-results -d 'Short for --prune results:SIZE' -r -f -a "messages: tokens: fraction: turns:"
complete -c tcompact -l truncate-args -d 'Short for --prune arguments:N' -r -f
complete -c tcompact -l thinking -d 'What to do with Claude\'s signed thinking in the kept messages when the history before it changes, since the newest models refuse it then. `auto` removes all of it if --for or the transcript names such a model' -r -f -a "auto\t'Remove it if its model binds it to the messages before it'
keep\t'It stays'
drop\t'It is removed'"
complete -c tcompact -s m -l model -d 'The model that writes the summary: `extractive`, the embedded summarizer, which needs no network and quotes the conversation without understanding it; PROVIDER:MODEL with a provider of `--list providers`; the name of a model alone, for the API of its maker; or `none`, so that only --prune makes the transcript smaller [default: extractive]' -r -f -a "extractive none (__tcompact_models)"
complete -c tcompact -l base-url -d 'The address of the provider\'s API, including its version [default: the provider\'s own]' -r -f
complete -c tcompact -l api-key-env -d 'The environment variable that holds the key [default: the provider\'s own]' -r -f
complete -c tcompact -l request-json -d 'Apply this JSON merge patch (RFC 7396; `null` removes a member) to the body of each request, for parameters that tcompact does not know. tcompact refuses patches of its own parts (prompt, model) and keys' -r -f
complete -c tcompact -l summarizer-cmd -d 'Run CMD with `sh -c` (on Windows `cmd /C`) for a summary: the prompt on its standard input, the summary from its standard output' -r -f -a "(__fish_complete_command)"
complete -c tcompact -l prompt-file -d 'A template for the prompt; {messages} is where the history goes, {{ and }} are braces [default: the built-in template]' -r -F
complete -c tcompact -l focus -d 'What the next work is about. A model is told; where --prompt-file is given, {focus} is where TEXT goes. The embedded summarizer puts calls and sentences of the assistant with words of TEXT before others' -r -f
complete -c tcompact -l trim-tokens -d 'How many tokens of the end of the history to send to the summarizer; `none` sends everything' -r -f -a "none"
complete -c tcompact -l summary-tokens -d 'The size to request for the summary, in tokens. The embedded summarizer never exceeds it, also with --fit, and counts the words around the summary' -r -f
complete -c tcompact -l summary-role -d 'The role of the summary message, if the format\'s provider accepts it' -r -f -a "user\t'As if the user wrote it; every provider accepts it'
system\t'As an instruction'
assistant\t'As if the model wrote it'"
complete -c tcompact -l summary-prefix -d 'The beginning of the summary message; a blank line follows unless TEXT ends in white space. The default also puts the summary between <summary> and </summary>; another TEXT does not' -r -f
complete -c tcompact -l ledger -d 'Append to a model\'s summary what it lacks of the user\'s last message, short rules of the user, failures and changed files, found without a model. N is the most tokens for that; `on` is a fifth of --summary-tokens, and at least 200. However short the summary is, the result stays smaller than what it replaces' -r -f -a "on off"
complete -c tcompact -l redact -d 'Mask secrets (keys, tokens, passwords, private keys, authorization headers, .env lines) in the text for the summarizer and in the summary, each by a placeholder such as [github-token-1]; with all, in everything that is written. An archive holds what was there' -r -f -a "sent\t'What a summarizer is sent, and the summary'
all\t'All that is written, kept messages too'"
complete -c tcompact -l timeout -d 'The most seconds that a request or a command may take' -r -f
complete -c tcompact -l retries -d 'How often to retry a request after a transport error or the status 408, 409, 429 or 5xx' -r -f
complete -c tcompact -l rate -d 'The most requests a minute [default: no limit]' -r -f
complete -c tcompact -l cache -d 'Keep summaries in DIR, so that none is requested twice: a file each, by the hash of the model, its address, the prompt and all parameters. With --dry-run and --model or --summarizer-cmd, tcompact also shows the summary, and requests it if DIR lacks it' -r -f -a "(__fish_complete_directories)"
complete -c tcompact -l on-error -d 'What to do when the summarizer fails for good' -r -f -a "fail\t'Exit with 4 or 5 and write nothing'
passthrough\t'Write the input unchanged'
extractive\t'Use the embedded summarizer'
embed\t'Put the text of the error in the summary; the history is lost'"
complete -c tcompact -l accept -d 'Which summaries to accept' -r -f -a "smaller\t'Summaries that are whole and at least a tenth smaller than the replaced messages: no JSON, web page or error'
any\t'All'"
complete -c tcompact -s o -l output -d 'Write to FILE instead of standard output, whole or not at all' -r -F
complete -c tcompact -s O -l output-dir -d 'Write the results of several files or of directories to the same tree under DIR; files that need nothing are copied' -r -f -a "(__fish_complete_directories)"
complete -c tcompact -s i -l in-place -d 'Replace each file, whole or not at all, keeping its mode and times; with SUFFIX, first copy it to its name with SUFFIX at the end' -r -f
complete -c tcompact -l emit -d 'What to write: the transcript in its own format, the update of a LangGraph state (null if nothing changed), only the summary, or plain text to go on with elsewhere' -r -f -a "messages\t'The transcript in its own format'
update\t'`{"messages": [remove-all, summary, kept…]}`, or null'
summary\t'Only the text of the summary; with --json an object, or null'
handoff\t'Plain text for a paste elsewhere, within --fit: the summary, and the messages that stay, without system prompts'"
complete -c tcompact -l archive -d 'Append the removed messages to FILE, and name FILE in the summary (`.jsonl`: a record of the original messages, for --restore; `.md`: for reading)' -r -F
complete -c tcompact -l archive-note -d 'What the summary says of the archive, in place of how to search it and show its messages: TEXT, in which `{archive}` is its path, or `off` for nothing' -r -f
complete -c tcompact -l restore -d 'Restore the transcript from such an archive (`.jsonl`), byte for byte: as many rounds of compaction as it holds, also where lines were appended between them. In a file of one conversation a line, lines that the archive does not know stay unchanged. A JSON document that grew gets its messages back without a proof by hash. tcompact refuses if nothing matches' -r -F
complete -c tcompact -l rounds -d 'With --restore: put back at most N rounds of compaction, the last one first' -r -f
complete -c tcompact -l search -d 'Search archives and transcripts for messages whose text holds a regular expression (`(?i)` ignores case): the place that --show takes, role, tool, and the matching lines with one around. The newest of each file first; 3 is the exit code where nothing is found. Archives hold secrets as they were; --redact masks what is shown' -r -f
complete -c tcompact -l limit -d 'With --search: the most messages to show' -r -f
complete -c tcompact -l show -d 'Show messages of a transcript by their index, or what was cut from an archive (PATH, or --archive FILE): ROUND:INDEX as digests write it, INDEX in the last round, or #RECORD:INDEX by the line of the archive. A..B is a range without B. With --json, the messages as they were. Archives hold secrets as they were; --redact masks what is shown' -r -f
complete -c tcompact -l limit-tokens -d 'With --show: the most tokens of each message' -r -f
complete -c tcompact -l report -d 'Write a JSON object a line to FILE for each conversation: the keys of --dry-run --json, its status, its tokens afterwards, the provider\'s count and cost, and after how many turns that pays' -r -F
complete -c tcompact -l html -d 'Write one page for a browser, which needs no network and no script: the conversation to click through, the summary, and tokens and money before and after. Several conversations get a table, and a drawing of those that shrink most' -r -F
complete -c tcompact -l sort -d 'The order of the lines of --count: `size` prints the largest conversation first [default: as the inputs are given]' -r -f -a "size\t'The largest first'"
complete -c tcompact -l repair -d 'Repair such violations first: remove calls without a result (`drop`), or add a result that says there is none, where the format can hold it (`synthesize`). tcompact removes results without a call, moves misplaced results to their call, and repairs ids and texts' -r -f -a "drop\t'Remove them'
synthesize\t'Add a result that says there is none'"
complete -c tcompact -s j -l jobs -d 'How many conversations to process at once [default: one for each core; 8 with a model or a command]' -r -f
complete -c tcompact -l color -d 'When to color messages on standard error, and --diff; `auto`: on a terminal, unless `NO_COLOR` is set' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tcompact -l progress -d 'When progress is shown on standard error, which must be a terminal for it: `auto`, for several files and while a summarizer is asked, unless --quiet is given' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tcompact -l list -d 'Print a table and exit' -r -f -a "formats\t'The formats that are read and written'
presets\t'The known systems of `--preset`'
providers\t'The providers of `--model`'
models\t'The models of `--for`: context windows and prices'
counters\t'The ways of counting tokens'
prune\t'The rules of `--prune`'
secrets\t'The secrets that `--redact` masks'"
complete -c tcompact -l generate -d 'Print the completion script of a shell, or the manual page, and exit' -r -f -a "bash\t'For bash'
zsh\t'For zsh'
fish\t'For fish'
powershell\t'For PowerShell'
elvish\t'For elvish'
man\t'The manual page'"
complete -c tcompact -l count -d 'Only print the tokens of each conversation; with --json, also by role, tool, thinking and media. With --explain, draw these categories of all conversations together. On a terminal, the sum of several follows'
complete -c tcompact -s n -l dry-run -d 'Only print the cutoff index: no request, no file. 0 means that nothing would be replaced. Several files print the path, a tab and the index; conversations on lines print PATH:LINE. With --cache and --model (or --summarizer-cmd) on the same command line, tcompact also requests the summary, shows it on standard error, and keeps it for the real run'
complete -c tcompact -l explain -d 'Draw the conversation on standard error: roles, sizes, pins, pairs, the wanted cut and the actual one. Several conversations get a table of those that shrink most'
complete -c tcompact -l diff -d 'Print the removed and the added messages, for people, instead of the transcript; writes nothing, not even an archive, except for --html'
complete -c tcompact -l json -d 'With --dry-run, --count or --emit summary: print a JSON object for each conversation; with --search, for each message'
complete -c tcompact -l check -d 'Only check the provider\'s rules for calls, results, turns and texts: print each violation with the index of its message, and exit with 6 if there is any'
complete -c tcompact -l resume -d 'Skip the files of a directory, or the summaries of a file, that an earlier run with the same input and rules finished'
complete -c tcompact -s e -l exit-status -d 'Exit with 3 when nothing was compacted'
complete -c tcompact -s q -l quiet -d 'Report only errors'
complete -c tcompact -s v -l verbose -d 'Report decisions, and settings that differ from the defaults, on standard error'
complete -c tcompact -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tcompact -s V -l version -d 'Print version'
