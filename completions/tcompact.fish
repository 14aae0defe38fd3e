function __tcompact_models
    tcompact --list models 2>/dev/null | awk 'NR > 1 { print $1; if ($1 !~ /^(groq|openrouter|together):|^google:claude/) { sub(/^[^:]*:/, "", $1); print $1 } }'
end
complete -c tcompact -l from -d 'The format of the transcript, one of `--list formats`; `auto` looks at all messages' -r -f -a "auto openai-chat openai-responses anthropic bedrock gemini langchain claude-code codex gemini-cli pi openhands sharegpt ai-sdk pydantic-ai ollama inspect tau-bench"
complete -c tcompact -l lines -d 'How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides. tcompact writes conversations in order, each as soon as it is done' -r -f -a "messages\t'One message a line: the file is one conversation'
conversations\t'One conversation a line: a list of messages, or an object around one'"
complete -c tcompact -l trigger -d 'Compact when every SIZE is reached (messages:N, tokens:N, fraction:F, turns:N; k and m as in tokens:170k). Repeat for "or". Always, if not given' -r -f -a "messages: tokens: fraction: turns:"
complete -c tcompact -l keep -d 'How much of the end stays as it is; `none` for nothing, so that all is summarized' -r -f -a "none messages: tokens: fraction: turns:"
complete -c tcompact -l pin -d 'Messages before the cut that stay too, before the summary: `system`, `first:N`, `match:REGEX` or `none`. Repeatable; rules that are given replace the default' -r -f -a "system none first: match:"
complete -c tcompact -l pairs -d 'How to move a cut that would split a tool call from its result: `strict`, to where it splits none; `langchain`, as LangChain does; `window:N`, looking only at N messages before it' -r -f -a "strict langchain window:"
complete -c tcompact -l for -d 'The model that will read the result: tcompact looks up its context window, tokenizer and price (`--list models`). A name alone is the model as its maker serves it; PROVIDER:MODEL is taken as it is' -r -f -a " (__tcompact_models)"
complete -c tcompact -l context-window -d 'The context window in tokens, over any table' -r -f
complete -c tcompact -l counter -d 'How tokens are counted: `approx`, `approx:CHARS`, `o200k_base`, `cl100k_base` or `bytes:N` [default: told by --for, else approx]' -r -f -a "approx o200k_base cl100k_base bytes:"
complete -c tcompact -l overhead-tokens -d 'Tokens that are sent with every request and are not in the transcript (tools, system prompt)' -r -f
complete -c tcompact -l preset -d 'The rules of a known system (`--list presets`); other flags override it' -r -f -a "langchain deepagents deerflow deerflow-v1 tongyi synaptic anthropic-context-editing"
complete -c tcompact -l config -d 'Settings from a file: TOML, or YAML where its name ends in .yaml or .yml, with the names of the flags as keys; or a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it is there]' -r -F
complete -c tcompact -l prune -d 'What to remove before anything is summarized, from the messages before the kept part: `results[:SIZE]`, `reads`, `cap[:N]`, `thinking`, `media[:SIZE]`, `arguments[:N]`, `all` or `none` (`--list prune`). Repeatable [default: none; all with --fit]' -r -f -a "all none thinking media reads arguments results cap"
complete -c tcompact -l prune-except -d 'Tools whose calls and results --prune does not change' -r -f
complete -c tcompact -l fit -d 'The size that the result has at most (tokens:N, fraction:F): pruned as far as it takes, oldest and cheapest first, and summarized where that is not enough. Without --keep, the end that stays takes at most half of it [default: fraction:0.5, and --trigger fraction:0.85, where the window is known and none of --keep, --fit and --trigger is given]' -r -f -a "tokens: fraction:"
complete -c tcompact -l clear-tool-results -d 'Short for --prune results:SIZE' -r -f -a "messages: tokens: fraction: turns:"
complete -c tcompact -l truncate-args -d 'Short for --prune arguments:N' -r -f
complete -c tcompact -l thinking -d 'What becomes of Claude\'s signed thinking in the messages that stay, once the history before it has changed: the newest models refuse it then. `auto` removes all of it where --for or the transcript names such a model' -r -f -a "auto\t'It is removed where its model is one that binds it to the messages before it'
keep\t'It stays'
drop\t'It is removed'"
complete -c tcompact -s m -l model -d 'Who writes the summary: `extractive`, which is embedded and needs no network; PROVIDER:MODEL with a provider of `--list providers`; the name of a model alone, for the API of its maker; or `none` for nobody, so that --prune alone makes the transcript smaller [default: extractive]' -r -f -a "extractive none (__tcompact_models)"
complete -c tcompact -l base-url -d 'Where the provider\'s API is, up to and with its version [default: the provider\'s own]' -r -f
complete -c tcompact -l api-key-env -d 'The environment variable that holds the key [default: the provider\'s own]' -r -f
complete -c tcompact -l request-json -d 'Change the body of each request as this JSON merge patch says (RFC 7396; `null` removes a member): parameters that tcompact does not know. What tcompact writes there itself (prompt, model) and keys are refused' -r -f
complete -c tcompact -l summarizer-cmd -d 'Run CMD with `sh -c` for a summary: the prompt on its standard input, the summary from its standard output' -r -f -a "(__fish_complete_command)"
complete -c tcompact -l prompt-file -d 'A template for the prompt; {messages} is where the history goes, {{ and }} are braces [default: the built-in template]' -r -F
complete -c tcompact -l trim-tokens -d 'How many tokens of the end of the history the summarizer is sent; `none` sends all of it' -r -f -a "none"
complete -c tcompact -l summary-tokens -d 'The size asked of the summary, in tokens. The embedded summarizer never exceeds it, and counts the words around the summary' -r -f
complete -c tcompact -l summary-role -d 'The role of the summary message, where the format\'s provider accepts it' -r -f -a "user\t'As if the user had said it; every provider takes it'
system\t'As an instruction'
assistant\t'As if the model had said it'"
complete -c tcompact -l summary-prefix -d 'What the summary message begins with; a blank line follows unless TEXT ends in white space. With the default, the summary stands between <summary> and </summary>; with another, there is nothing else around it' -r -f
complete -c tcompact -l ledger -d 'Facts that a model\'s summary must not lose (rules of the user\'s, files, commands, errors, names, numbers) are found without a model, and those that it lacks are appended to it: in at most N tokens, or half of --summary-tokens (`on`)' -r -f -a "on off"
complete -c tcompact -l timeout -d 'Seconds a request or a command may take' -r -f
complete -c tcompact -l retries -d 'How often a request is tried again after a transport error or the status 408, 409, 429 or 5xx' -r -f
complete -c tcompact -l rate -d 'Requests a minute, at most [default: as many as are wanted]' -r -f
complete -c tcompact -l cache -d 'Keep summaries in DIR, and ask for none twice: a file each, by the hash of the model, its address, the prompt and all parameters. With --dry-run, and --model or --summarizer-cmd beside it, the summary is shown, and asked for if it is not there yet' -r -f -a "(__fish_complete_directories)"
complete -c tcompact -l on-error -d 'What is done when the summarizer fails for good' -r -f -a "fail\t'Exit with 4 or 5 and write nothing'
passthrough\t'Write the input unchanged'
extractive\t'Use the embedded summarizer'
embed\t'Put the text of the error in the summary; the history is lost'"
complete -c tcompact -l accept -d 'Which summaries are taken' -r -f -a "smaller\t'Those that are not empty, not cut off by their length limit, and smaller than what they replace'
any\t'All'"
complete -c tcompact -s o -l output -d 'Write to FILE instead of standard output, whole or not at all' -r -F
complete -c tcompact -s O -l output-dir -d 'Write what becomes of several files or of directories to the same tree under DIR; files that need nothing are copied' -r -f -a "(__fish_complete_directories)"
complete -c tcompact -s i -l in-place -d 'Replace each file, whole or not at all, keeping its mode and times; with SUFFIX, after a copy of it with SUFFIX at the end of its name is made' -r -f
complete -c tcompact -l emit -d 'What is written: the transcript in its own format, the update of a LangGraph state (null if nothing was done), or the summary alone' -r -f -a "messages\t'The transcript in its own format'
update\t'`{"messages": [remove-all, summary, kept…]}`, or null'
summary\t'The text of the summary alone; with --json an object, or null'"
complete -c tcompact -l archive -d 'Append what is cut away to FILE, and have the summary name it (`.jsonl`: a record with the messages as they were, for --restore; `.md`: for reading)' -r -F
complete -c tcompact -l restore -d 'Put back what such an archive (`.jsonl`) holds of the transcript, byte for byte, however often it was compacted. Where it has one conversation a line, lines that the archive does not know stay. Refused where the hashes do not match' -r -F
complete -c tcompact -l report -d 'Write to FILE what became of each conversation, a JSON object a line: the keys of --dry-run --json, and status, tokens afterwards, what the provider counts and what it costs, and after how many turns that pays' -r -F
complete -c tcompact -l html -d 'Draw what was done on one page for a browser, which needs no network and no script: the conversation to click through, the summary, the facts that were kept, what went where, tokens and money before and after. Of several conversations, a table and those that lose most' -r -F
complete -c tcompact -l repair -d 'Repair such violations first: remove calls without a result (`drop`), or add a result that says there is none, where the format can hold it (`synthesize`). tcompact removes results without a call, and moves misplaced results to their call' -r -f -a "drop\t'Remove them'
synthesize\t'Add a result that says there is none'"
complete -c tcompact -s j -l jobs -d 'How many conversations are worked on at once [default: one for each core; 8 where a model or a command is asked]' -r -f
complete -c tcompact -l color -d 'When messages on standard error, and --diff, are coloured; `auto`: on a terminal, unless `NO_COLOR` is set' -r -f -a "auto\t'Where it suits: on a terminal'
always\t'Always'
never\t'Never'"
complete -c tcompact -l progress -d 'When progress is shown on standard error, which must be a terminal for it: `auto`, for several files, unless --quiet is given' -r -f -a "auto\t'Where it suits: on a terminal'
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
complete -c tcompact -l redact -d 'Mask secrets (keys, tokens, passwords, private keys, authorization headers, .env lines) in what the summarizer is sent and in the summary, each by a placeholder such as [github-token-1]'
complete -c tcompact -l count -d 'Print the tokens of each conversation and do nothing else; with --json, what they are spent on: roles, tools, thinking and media'
complete -c tcompact -s n -l dry-run -d 'Print the cutoff index and do nothing else: no request, no file. 0 means that nothing would be replaced. Of several files, the path, a tab and the index; of conversations on lines, PATH:LINE. Only with --cache and --model (or --summarizer-cmd) on the same command line, the summary is asked for, shown on standard error, and kept for the real run, which does not ask again'
complete -c tcompact -l explain -d 'Draw the conversation on standard error: roles, sizes, pins, what belongs together, where a cut was wanted and where it is. Of several conversations, a table of those that lose most'
complete -c tcompact -l diff -d 'Print what is taken away and put in, for people, instead of the transcript; nothing is written, not even an archive, except for --html'
complete -c tcompact -l json -d 'With --dry-run, --count or --emit summary: print a JSON object for each conversation'
complete -c tcompact -l check -d 'Only check the provider\'s rules for calls, results and turns: print each violation with the index of its message, and exit with 6 if there is any'
complete -c tcompact -l resume -d 'Skip what an earlier run with the same input and the same rules has finished: files of the same directory, or summaries for the same file'
complete -c tcompact -s e -l exit-status -d 'Exit with 3 when nothing was compacted'
complete -c tcompact -s q -l quiet -d 'Report only errors'
complete -c tcompact -s v -l verbose -d 'Report decisions, and settings that are no defaults, on standard error'
complete -c tcompact -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tcompact -s V -l version -d 'Print version'
