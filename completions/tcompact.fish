function __tcompact_models
    tcompact --list models 2>/dev/null | awk 'NR > 1 { print $1; if ($1 !~ /^(groq|openrouter|together):|^google:claude/) { sub(/^[^:]*:/, "", $1); print $1 } }'
end
complete -c tcompact -l trigger -d 'When to compact: only a conversation that has reached every SIZE. Repeat it for "or". Without it: always' -r -f -a "messages: tokens: fraction: steps: turns: bytes:"
complete -c tcompact -l keep -d 'How much stays unchanged: the end, up to SIZE. The messages before it become one summary' -r -f -a "none messages: tokens: fraction: steps: turns: bytes:"
complete -c tcompact -l fit -d 'How large the result may be: tokens:N (or N), fraction:F or bytes:N. tcompact prunes first, and summarizes only if it must' -r -f -a "tokens: fraction: bytes:"
complete -c tcompact -l pin -d 'Messages before the cut that stay too: `system`, `user[:SIZE]` (the newest of the user\'s), `first:N`, `match:REGEX`. With --fit, what the user typed stays too, up to a quarter of its SIZE. Repeatable: rules add to `system`, and `none` clears those before it and what --fit pins' -r -f -a "system none first: match:"
complete -c tcompact -l pairs -d 'How to move a cut that would part a tool call from its result: `strict` parts none, `langchain` does as LangChain does, `window:N` looks only at N messages before it' -r -f -a "strict langchain window:"
complete -c tcompact -s m -l model -d 'Writes the summary: PROVIDER:MODEL, the name of a model at its maker, `extractive` (offline) or `none` (prunes only) [default: extractive]' -r -f -a "extractive none (__tcompact_models)"
complete -c tcompact -l for -d 'Reads the result: its context window, tokenizer and price are looked up. It is sent nothing. PROVIDER:MODEL is taken as it is' -r -f -a " (__tcompact_models)"
complete -c tcompact -l summarizer-cmd -d 'Run CMD with `sh -c` (on Windows `cmd /C`) for a summary: the prompt on its standard input, the summary from its standard output' -r -f -a "(__fish_complete_command)"
complete -c tcompact -l summary-tokens -d 'The size to ask of the summary, in tokens. The embedded summarizer never exceeds it' -r -f
complete -c tcompact -l focus -d 'What the next work is about: the summary puts that first. In a --prompt-file, {focus} is its place' -r -f
complete -c tcompact -l redact -d 'Mask secrets in what a summarizer is sent and in the summary; with =all, in everything that is written. An archive holds what was there' -r -f -a "sent\t'What a summarizer is sent, and the summary'
all\t'All that is written, kept messages too'"
complete -c tcompact -l on-error -d 'What to do when the summarizer fails for good' -r -f -a "fail\t'Exit with 4 or 5 and write nothing'
passthrough\t'Write the input unchanged'
extractive\t'Use the embedded summarizer'
embed\t'Put the text of the error in the summary; the history is lost'"
complete -c tcompact -l prune -d 'What to remove: `results[:SIZE]`, `reads`, `cap[:N]`, `thinking`, `media[:SIZE]`, `arguments[:N]`, `all` or `none` (`--list prune`). Repeatable [default: none; all with --fit]' -r -f -a "all none thinking media reads arguments results cap"
complete -c tcompact -l prune-except -d 'Tools whose calls and results --prune does not change' -r -f
complete -c tcompact -l thinking -d 'What to do with Claude\'s signed thinking in the kept messages: the newest models refuse it when the history before it has changed' -r -f -a "auto\t'Remove it if its model binds it to the messages before it'
keep\t'It stays'
drop\t'It is removed'"
complete -c tcompact -s o -l output -d 'Write to FILE instead of standard output, whole or not at all' -r -F
complete -c tcompact -s O -l output-dir -d 'Write the results of several files or of folders to the same tree under DIR; files that need nothing are copied' -r -f -a "(__fish_complete_directories)"
complete -c tcompact -s i -l in-place -d 'Replace each file, whole or not at all; with =SUFFIX, first copy it to its name with SUFFIX at the end' -r -f
complete -c tcompact -l emit -d 'What to write' -r -f -a "messages\t'The transcript in its own format'
update\t'`{"messages": [remove-all, summary, kept…]}`, or null'
summary\t'Only the text of the summary; with --json an object, or null'
handoff\t'Plain text for a paste elsewhere, within --fit: the summary, and the messages that stay, without system prompts'"
complete -c tcompact -l report -d 'Write a JSON object a line to FILE for each conversation: the keys of --dry-run --json, its status, tokens afterwards, requests and cost' -r -F
complete -c tcompact -l html -d 'Write one page for a browser: the conversation to click through, the summary, tokens and money before and after' -r -F
complete -c tcompact -l sort -d 'With --count: `size` prints the largest conversation first' -r -f -a "size\t'The largest first'"
complete -c tcompact -l archive -d 'Append the removed messages to FILE, and name FILE in the summary: `.jsonl` for --restore, --search and --show, `.md` for reading' -r -F
complete -c tcompact -l archive-note -d 'What the summary says of the archive: TEXT, in which `{archive}` is its path and `{id}` the id of the record, or `off` for nothing' -r -f
complete -c tcompact -l restore -d 'Put back what such an archive (`.jsonl`) holds, byte for byte, also where the transcript grew since. tcompact refuses if nothing matches' -r -F
complete -c tcompact -l rounds -d 'With --restore: put back at most N rounds of compaction, the last one first' -r -f
complete -c tcompact -l search -d 'Search archives and transcripts for a regular expression (`(?i)` ignores case), the newest message of each file first. Exit with 3 if nothing is found. --redact masks what is shown' -r -f
complete -c tcompact -l limit -d 'With --search: the most messages to show' -r -f
complete -c tcompact -l show -d 'Show messages of a transcript, or of an archive (PATH, or --archive FILE): INDEX or `last`, ROUND:INDEX as summaries write it, ID:INDEX as notes write it, or #RECORD:INDEX by the line of the archive. A..B is without B. --redact masks what is shown' -r -f
complete -c tcompact -l limit-tokens -d 'With --show: the most tokens of each message' -r -f
complete -c tcompact -l repair -d 'Repair such violations on the way: what to do with calls without a result' -r -f -a "drop\t'Remove them'
synthesize\t'Add a result that says there is none'"
complete -c tcompact -s j -l jobs -d 'How many conversations to process at once [default: one for each core; 8 with a model or a command]' -r -f
complete -c tcompact -l lines -d 'How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides' -r -f -a "messages\t'One message a line: the file is one conversation'
conversations\t'One conversation a line: a list of messages, or an object around one'"
complete -c tcompact -l preset -d 'Use the rules of a known system (`--list presets`); other flags override them' -r -f -a "langchain deepagents deerflow deerflow-v1 tongyi synaptic"
complete -c tcompact -l config -d 'Read settings from a TOML or YAML file, with the names of the flags as keys, or from a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]' -r -F
complete -c tcompact -l color -d 'When to color standard error and --diff: `auto` (on a terminal, unless `NO_COLOR` is set), `always`, `never`' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tcompact -l progress -d 'When to show progress on standard error, if it is a terminal: `auto` (several files, or a model writes), `always`, `never`' -r -f -a "auto\t'On a terminal'
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
complete -c tcompact -l from -d 'The format of the transcript, one of `--list formats`; `auto` looks at all messages' -r -f -a "auto openai-chat openai-responses anthropic bedrock gemini langchain claude-code codex gemini-cli pi openhands sharegpt ai-sdk pydantic-ai ollama inspect tau-bench"
complete -c tcompact -l context-window -d 'The context window in tokens, in place of the one of --for' -r -f
complete -c tcompact -l counter -d 'How to count tokens: `estimate`, `approx`, `approx:CHARS`, `o200k_base`, `cl100k_base`, `bytes:N` or `recorded` [default: the tokenizer of --for, else estimate for the model that the session names]' -r -f -a "approx o200k_base cl100k_base bytes:"
complete -c tcompact -l counter-cmd -d 'Run CMD with `sh -c` (on Windows `cmd /C`) to count: it starts once, reads each text as a JSON string on a line, and writes the number on a line' -r -f -a "(__fish_complete_command)"
complete -c tcompact -l overhead-tokens -d 'Tokens of every request beside its messages, such as tools and the system prompt [default: those of the transcript]' -r -f
complete -c tcompact -l truncate-args -d 'With --preset deepagents: cut arguments of tools longer than N characters' -r -f
complete -c tcompact -l base-url -d 'The address of the provider\'s API, including its version [default: the provider\'s own]' -r -f
complete -c tcompact -l api-key-env -d 'The environment variable that holds the key [default: the provider\'s own]' -r -f
complete -c tcompact -l request-json -d 'Merge this JSON into the body of each request (RFC 7396: `null` removes a member), but no key, prompt or model' -r -f
complete -c tcompact -l prompt-file -d 'A template for the prompt; {messages} is where the history goes, {{ and }} are braces [default: the built-in template]' -r -F
complete -c tcompact -l trim-tokens -d 'How many tokens of the end of the history to send to the summarizer; `none` sends everything' -r -f -a "none"
complete -c tcompact -l cache -d 'Keep summaries in DIR, by the hash of all that decides them, so that none is requested twice' -r -f -a "(__fish_complete_directories)"
complete -c tcompact -l timeout -d 'The most seconds that a request or a command may take' -r -f
complete -c tcompact -l retries -d 'How often to retry a request after a transport error or the status 408, 409, 429 or 5xx' -r -f
complete -c tcompact -l rate -d 'The most requests a minute [default: no limit]' -r -f
complete -c tcompact -l summary-role -d 'The role of the summary message, if the format\'s provider accepts it' -r -f -a "user\t'As if the user wrote it; every provider accepts it'
system\t'As an instruction'
assistant\t'As if the model wrote it'"
complete -c tcompact -l summary-prefix -d 'The beginning of the summary message. The default also puts the summary between <summary> and </summary>' -r -f
complete -c tcompact -l ledger -d 'Append to a model\'s summary what it lacks of the user\'s last message, short rules, failures and changed files: at most N tokens; `on` is a fifth of --summary-tokens, and at least 200' -r -f -a "on off"
complete -c tcompact -l accept -d 'Which summaries to accept' -r -f -a "smaller\t'Summaries that are whole and at least a tenth smaller than the replaced messages: no JSON, web page or error'
any\t'All'"
complete -c tcompact -l force -d 'With --in-place: replace also a file that another process has open for writing'
complete -c tcompact -s n -l dry-run -d 'Only print the index of the first kept message; 0 if nothing would be summarized. Several files print PATH, a tab and the index. With --cache and a summarizer on the same command line, tcompact also asks for the summary and shows it'
complete -c tcompact -l explain -d 'Draw the conversation on standard error: roles, sizes, pins, pairs, the wanted cut and the actual one'
complete -c tcompact -l diff -d 'Print what is removed and added, for people, instead of the transcript; write nothing but --html'
complete -c tcompact -l count -d 'Only print the tokens of each conversation; with --json, also by role, tool, thinking and media; with --explain, draw these'
complete -c tcompact -l json -d 'Print JSON, with --dry-run, --count, --emit summary, --search or --show'
complete -c tcompact -l check -d 'Only check the provider\'s rules for calls, results, turns and texts: print each violation with the index of its message, and exit with 6 if there is any'
complete -c tcompact -l resume -d 'Skip what an earlier run with the same input and rules finished'
complete -c tcompact -s e -l exit-status -d 'Exit with 3 when nothing was compacted'
complete -c tcompact -s q -l quiet -d 'Report only errors'
complete -c tcompact -s v -l verbose -d 'Report decisions, and settings that differ from the defaults, on standard error'
complete -c tcompact -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tcompact -s V -l version -d 'Print version'
