function __tcompact_models
    tcompact list models 2>/dev/null | awk 'NR > 1 { print $1; if ($1 !~ /^(groq|openrouter|together):|^google:claude/) { sub(/^[^:]*:/, "", $1); print $1 } }'
end

# Whether the first word is a command, or none.
function __tcompact_is
    set -l typed (commandline -opc)
    set -l command none
    contains -- "$typed[2]" count check repair redact search show restore slim list completions man help; and set command $typed[2]
    test "$command" = "$argv[1]"
end

function __tcompact_is_first
    test (count (commandline -opc)) -eq $argv[1]
end

complete -c tcompact -n '__tcompact_is_first 1' -a count -d 'Print the tokens of each conversation'
complete -c tcompact -n '__tcompact_is_first 1' -a check -d 'Check the provider\'s rules for calls, results, turns and texts'
complete -c tcompact -n '__tcompact_is_first 1' -a repair -d 'Repair what `check` finds. Nothing is cut away'
complete -c tcompact -n '__tcompact_is_first 1' -a redact -d 'Mask secrets in everything: messages, calls, results and all else that is written. Nothing is cut away'
complete -c tcompact -n '__tcompact_is_first 1' -a search -d 'Search transcripts and archives for a regular expression'
complete -c tcompact -n '__tcompact_is_first 1' -a show -d 'Show messages of a transcript, or of an archive'
complete -c tcompact -n '__tcompact_is_first 1' -a restore -d 'Put back what an archive holds, byte for byte, also where the transcript grew since'
complete -c tcompact -n '__tcompact_is_first 1' -a slim -d 'Remove from session files what no model is sent, in place: copies of results, progress, old snapshots, pictures that are not sent, branches that you left, and what the agent compacted before'
complete -c tcompact -n '__tcompact_is_first 1' -a list -d 'Print a table: formats, presets, providers, models, counters, prune rules or secrets'
complete -c tcompact -n '__tcompact_is_first 1' -a completions -d 'Print the completion script of a shell'
complete -c tcompact -n '__tcompact_is_first 1' -a man -d 'Print the manual page'
complete -c tcompact -n '__tcompact_is_first 1' -a help -d 'Print help, for a command or for all flags of compaction'
complete -c tcompact -n '__tcompact_is none' -l trigger -d 'When to compact: only a conversation that has reached every SIZE. Repeat it for "or". Without it: always' -r -f -a "messages: tokens: fraction: steps: turns: bytes:"
complete -c tcompact -n '__tcompact_is none' -l keep -d 'How much stays unchanged: the end, up to SIZE. The messages before it become one summary' -r -f -a "none messages: tokens: fraction: steps: turns: bytes:"
complete -c tcompact -n '__tcompact_is none' -l fit -d 'How large the result may be: tokens:N (or N), fraction:F or bytes:N. tcompact prunes first, and summarizes only if it must' -r -f -a "tokens: fraction: bytes:"
complete -c tcompact -n '__tcompact_is none' -l pin -d 'Messages before the cut that stay too: `system`, `user[:SIZE]` (the newest of the user\'s), `first:N`, `match:REGEX`. With --fit, what the user typed stays too, up to a quarter of its SIZE. Repeatable: rules add to `system`, and `none` clears those before it and what --fit pins' -r -f -a "system none first: match:"
complete -c tcompact -n '__tcompact_is none' -l pairs -d 'How to move a cut that would part a tool call from its result: `strict` parts none, `langchain` does as LangChain does, `window:N` looks only at N messages before it' -r -f -a "strict langchain window:"
complete -c tcompact -n '__tcompact_is none' -s m -l model -d 'Writes the summary: PROVIDER:MODEL, the name of a model at its maker, `extractive` (offline) or `none` (prunes only) [default: extractive]' -r -f -a "extractive none (__tcompact_models)"
complete -c tcompact -n '__tcompact_is none' -l for -d 'Reads the result: its context window, tokenizer and price are looked up. It is sent nothing. PROVIDER:MODEL is taken as it is' -r -f -a " (__tcompact_models)"
complete -c tcompact -n '__tcompact_is none' -l summarizer-cmd -d 'Run CMD with `sh -c` (on Windows `cmd /C`) for a summary: the prompt on its standard input, the summary from its standard output' -r -f -a "(__fish_complete_command)"
complete -c tcompact -n '__tcompact_is none' -l summary-tokens -d 'The size to ask of the summary, in tokens [default: 1024 of a model; of the embedded summarizer, which never exceeds it, a twentieth of what is replaced, from 1024 to 4096]' -r -f
complete -c tcompact -n '__tcompact_is none' -l focus -d 'What the next work is about: the summary puts that first. In a --prompt-file, {focus} is its place' -r -f
complete -c tcompact -n '__tcompact_is none' -l on-error -d 'What to do when the summarizer fails for good' -r -f -a "fail\t'Exit with 4 or 5 and write nothing'
passthrough\t'Write the input unchanged'
extractive\t'Use the embedded summarizer'
embed\t'Put the text of the error in the summary; the history is lost'"
complete -c tcompact -n '__tcompact_is none' -l prune -d 'What to remove: `results[:SIZE]`, `reads`, `cap[:N]`, `thinking`, `media[:SIZE]`, `arguments[:N]`, `all` or `none` (`tcompact list prune`). Repeatable [default: none; all with --fit]' -r -f -a "all none unsent thinking media reads arguments results cap"
complete -c tcompact -n '__tcompact_is none' -l prune-except -d 'Tools whose calls and results --prune does not change' -r -f
complete -c tcompact -n '__tcompact_is none' -l thinking -d 'What to do with Claude\'s signed thinking in the kept messages: the newest models refuse it when the history before it has changed' -r -f -a "auto\t'Remove it if its model binds it to the messages before it'
keep\t'It stays'
drop\t'It is removed'"
complete -c tcompact -n '__tcompact_is none' -s o -l output -d 'Write to FILE instead of standard output, whole or not at all' -r -F
complete -c tcompact -n '__tcompact_is none' -s i -l in-place -d 'Replace each file, whole or not at all; with =SUFFIX, first copy it to its name with SUFFIX at the end' -r -f
complete -c tcompact -n '__tcompact_is none' -s O -l output-dir -d 'Write the results of several files or of folders to the same tree under DIR; files that need nothing are copied' -r -f -a "(__fish_complete_directories)"
complete -c tcompact -n '__tcompact_is none' -l emit -d 'What to write' -r -f -a "messages\t'The transcript in its own format'
update\t'`{"messages": [remove-all, summary, kept…]}`, or null'
summary\t'Only the text of the summary; with --json an object, or null'
handoff\t'Plain text for a paste elsewhere, within --fit: the summary, and the messages that stay, without system prompts'"
complete -c tcompact -n '__tcompact_is none' -l report -d 'Write a JSON object a line to FILE for each conversation: the keys of --dry-run --json, its status, tokens afterwards, requests and cost' -r -F
complete -c tcompact -n '__tcompact_is none' -l html -d 'Write one page for a browser: the conversation to click through, the summary, tokens and money before and after' -r -F
complete -c tcompact -n '__tcompact_is none' -l archive -d 'Append the removed messages to FILE, and name FILE in the summary: `.jsonl` for the commands search, show and restore, `.md` for reading; with `.gz` or `.zst` behind it, compressed' -r -F
complete -c tcompact -n '__tcompact_is none' -l archive-note -d 'What the summary says of the archive: TEXT, in which `{archive}` is its path and `{id}` the id of the record, or `off` for nothing' -r -f
complete -c tcompact -n '__tcompact_is none' -l repair -d 'Repair what the command check finds: what to do with calls without a result. The command repair does only that' -r -f -a "drop\t'Remove them'
synthesize\t'Add a result that says there is none'"
complete -c tcompact -n '__tcompact_is none' -l redact -d 'Mask secrets in what a summarizer is sent and in the summary; with =all, in everything that is written. An archive holds what was there. The command redact does only that' -r -f -a "sent\t'What a summarizer is sent, and the summary'
all\t'All that is written, kept messages too'"
complete -c tcompact -n '__tcompact_is none' -s j -l jobs -d 'How many conversations to process at once [default: one for each core; 8 with a model or a command]' -r -f
complete -c tcompact -n '__tcompact_is none' -l progress -d 'When to show progress on standard error, if it is a terminal: `auto` (several files, or a model writes), `always`, `never`' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tcompact -n '__tcompact_is none' -l preset -d 'Use the rules of a known system (`tcompact list presets`); other flags override them' -r -f -a "langchain deepagents deerflow deerflow-v1 tongyi synaptic"
complete -c tcompact -n '__tcompact_is none' -l config -d 'Read settings from a TOML or YAML file, with the names of the flags as keys, or from a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]' -r -F
complete -c tcompact -n '__tcompact_is none' -l color -d 'When to color standard error and --diff: `auto` (on a terminal, unless `NO_COLOR` is set), `always`, `never`' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tcompact -n '__tcompact_is none' -l from -d 'The format of the transcript, one of `tcompact list formats`; `auto` looks at all messages' -r -f -a "auto openai-chat openai-responses anthropic bedrock gemini langchain claude-code codex gemini-cli pi opencode copilot-cli kimi-code qwen-code openhands sharegpt ai-sdk pydantic-ai ollama inspect tau-bench"
complete -c tcompact -n '__tcompact_is none' -l latest -d 'Read the newest session of an agent that no other process has open, in place of a PATH' -r -f -a "claude-code\t''
codex\t''
gemini-cli\t''
pi\t''
copilot-cli\t''
kimi-code\t''
qwen-code\t''"
complete -c tcompact -n '__tcompact_is none' -l lines -d 'How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides' -r -f -a "messages\t'One message a line: the file is one conversation'
conversations\t'One conversation a line: a list of messages, or an object around one'"
complete -c tcompact -n '__tcompact_is none' -l context-window -d 'The context window in tokens, in place of the one of --for' -r -f
complete -c tcompact -n '__tcompact_is none' -l counter -d 'How to count tokens: `estimate`, `approx`, `approx:CHARS`, `o200k_base`, `cl100k_base`, `bytes:N` or `recorded` [default: the tokenizer of --for, else estimate for the model that the session names]' -r -f -a "approx o200k_base cl100k_base bytes:"
complete -c tcompact -n '__tcompact_is none' -l counter-cmd -d 'Run CMD with `sh -c` (on Windows `cmd /C`) to count: it starts once, reads each text as a JSON string on a line, and writes the number on a line' -r -f -a "(__fish_complete_command)"
complete -c tcompact -n '__tcompact_is none' -l overhead-tokens -d 'Tokens of every request beside its messages, such as tools and the system prompt [default: those of the transcript]' -r -f
complete -c tcompact -n '__tcompact_is none' -l truncate-args -d 'With --preset deepagents: cut arguments of tools longer than N characters' -r -f
complete -c tcompact -n '__tcompact_is none' -l base-url -d 'The address of the provider\'s API, including its version [default: the provider\'s own]' -r -f
complete -c tcompact -n '__tcompact_is none' -l api-key-env -d 'The environment variable that holds the key [default: the provider\'s own]' -r -f
complete -c tcompact -n '__tcompact_is none' -l request-json -d 'Merge this JSON into the body of each request (RFC 7396: `null` removes a member), but no key, prompt or model' -r -f
complete -c tcompact -n '__tcompact_is none' -l prompt-file -d 'A template for the prompt; {messages} is where the history goes, {{ and }} are braces [default: the built-in template]' -r -F
complete -c tcompact -n '__tcompact_is none' -l trim-tokens -d 'How many tokens of the end of the history to send to the summarizer; `none` sends everything' -r -f -a "none"
complete -c tcompact -n '__tcompact_is none' -l cache -d 'Keep summaries in DIR, by the hash of all that decides them, so that none is requested twice' -r -f -a "(__fish_complete_directories)"
complete -c tcompact -n '__tcompact_is none' -l timeout -d 'The most seconds that a request or a command may take' -r -f
complete -c tcompact -n '__tcompact_is none' -l retries -d 'How often to retry a request after a transport error or the status 408, 409, 429 or 5xx' -r -f
complete -c tcompact -n '__tcompact_is none' -l rate -d 'The most requests a minute [default: no limit]' -r -f
complete -c tcompact -n '__tcompact_is none' -l summary-role -d 'The role of the summary message, if the format\'s provider accepts it' -r -f -a "user\t'As if the user wrote it; every provider accepts it'
system\t'As an instruction'
assistant\t'As if the model wrote it'"
complete -c tcompact -n '__tcompact_is none' -l summary-prefix -d 'The beginning of the summary message. The default also puts the summary between <summary> and </summary>' -r -f
complete -c tcompact -n '__tcompact_is none' -l ledger -d 'Append to a model\'s summary what it lacks of the user\'s last message, short rules, failures and changed files: at most N tokens; `on` is a fifth of --summary-tokens, and at least 200' -r -f -a "on off"
complete -c tcompact -n '__tcompact_is none' -l accept -d 'Which summaries to accept' -r -f -a "smaller\t'Summaries that are whole and at least a tenth smaller than the replaced messages: no JSON, web page or error'
any\t'All'"
complete -c tcompact -n '__tcompact_is none' -l force -d 'With --in-place: replace also a file that another process has open for writing, or in which another session begins'
complete -c tcompact -n '__tcompact_is none' -s n -l dry-run -d 'Only print the index of the first kept message; 0 if nothing would be summarized. Several files print PATH, a tab and the index. With --cache and a summarizer on the same command line, tcompact also asks for the summary and shows it'
complete -c tcompact -n '__tcompact_is none' -l explain -d 'Draw the conversation on standard error: roles, sizes, pins, pairs, the wanted cut and the actual one'
complete -c tcompact -n '__tcompact_is none' -l diff -d 'Print what is removed and added, for people, instead of the transcript; write nothing but --html'
complete -c tcompact -n '__tcompact_is none' -l json -d 'Print JSON, with --dry-run or --emit summary'
complete -c tcompact -n '__tcompact_is none' -l rescue -d 'Mend a session that can no longer be resumed: --repair synthesize, --fit half of the context window of its model (50k where nobody knows it), --in-place=.bak (or .bak2, …), --archive PATH.cut.jsonl. Flags beside it replace these'
complete -c tcompact -n '__tcompact_is none' -l resume -d 'Skip what an earlier run with the same input and rules finished'
complete -c tcompact -n '__tcompact_is none' -s e -l exit-status -d 'Exit with 3 when nothing was compacted'
complete -c tcompact -n '__tcompact_is none' -s q -l quiet -d 'Report only errors'
complete -c tcompact -n '__tcompact_is none' -s v -l verbose -d 'Report decisions, and settings that differ from the defaults, on standard error'
complete -c tcompact -n '__tcompact_is none' -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tcompact -n '__tcompact_is none' -s V -l version -d 'Print version'
complete -c tcompact -n '__tcompact_is count' -l sort -d 'Print the largest conversation first' -r -f -a "size\t'The largest first'"
complete -c tcompact -n '__tcompact_is count' -l for -d 'Count as this model does: its tokenizer and its context window are looked up. It is sent nothing' -r -f -a " (__tcompact_models)"
complete -c tcompact -n '__tcompact_is count' -l context-window -d 'The context window in tokens, in place of the one of --for' -r -f
complete -c tcompact -n '__tcompact_is count' -l counter -d 'How to count tokens: `estimate`, `approx`, `approx:CHARS`, `o200k_base`, `cl100k_base`, `bytes:N` or `recorded` [default: the tokenizer of --for, else estimate for the model that the session names]' -r -f -a "approx o200k_base cl100k_base bytes:"
complete -c tcompact -n '__tcompact_is count' -l counter-cmd -d 'Run CMD with `sh -c` (on Windows `cmd /C`) to count: it starts once, reads each text as a JSON string on a line, and writes the number on a line' -r -f -a "(__fish_complete_command)"
complete -c tcompact -n '__tcompact_is count' -l overhead-tokens -d 'Tokens of every request beside its messages, such as tools and the system prompt [default: those of the transcript]' -r -f
complete -c tcompact -n '__tcompact_is count' -l from -d 'The format of the transcript, one of `tcompact list formats`; `auto` looks at all messages' -r -f -a "auto openai-chat openai-responses anthropic bedrock gemini langchain claude-code codex gemini-cli pi opencode copilot-cli kimi-code qwen-code openhands sharegpt ai-sdk pydantic-ai ollama inspect tau-bench"
complete -c tcompact -n '__tcompact_is count' -l latest -d 'Read the newest session of an agent that no other process has open, in place of a PATH' -r -f -a "claude-code\t''
codex\t''
gemini-cli\t''
pi\t''
copilot-cli\t''
kimi-code\t''
qwen-code\t''"
complete -c tcompact -n '__tcompact_is count' -l lines -d 'How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides' -r -f -a "messages\t'One message a line: the file is one conversation'
conversations\t'One conversation a line: a list of messages, or an object around one'"
complete -c tcompact -n '__tcompact_is count' -l timeout -d 'The most seconds that --counter-cmd may take for a text' -r -f
complete -c tcompact -n '__tcompact_is count' -l redact -d 'Mask secrets in what is shown' -r -f -a "sent\t'What a summarizer is sent, and the summary'
all\t'All that is written, kept messages too'"
complete -c tcompact -n '__tcompact_is count' -s j -l jobs -d 'How many conversations to process at once [default: one for each core; 8 with a model or a command]' -r -f
complete -c tcompact -n '__tcompact_is count' -l progress -d 'When to show progress on standard error, if it is a terminal: `auto` (several files, or a model writes), `always`, `never`' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tcompact -n '__tcompact_is count' -l preset -d 'Count as a known system does (`tcompact list presets`)' -r -f -a "langchain deepagents deerflow deerflow-v1 tongyi synaptic"
complete -c tcompact -n '__tcompact_is count' -l config -d 'Read settings from a TOML or YAML file, with the names of the flags as keys, or from a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]' -r -F
complete -c tcompact -n '__tcompact_is count' -l color -d 'When to color standard error and --diff: `auto` (on a terminal, unless `NO_COLOR` is set), `always`, `never`' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tcompact -n '__tcompact_is count' -l json -d 'Print JSON: the tokens by role, tool, thinking and media, too'
complete -c tcompact -n '__tcompact_is count' -l explain -d 'Draw the tokens by role, tool, thinking and media on standard error'
complete -c tcompact -n '__tcompact_is count' -s q -l quiet -d 'Report only errors'
complete -c tcompact -n '__tcompact_is count' -s v -l verbose -d 'Report decisions, and settings that differ from the defaults, on standard error'
complete -c tcompact -n '__tcompact_is count' -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tcompact -n '__tcompact_is check' -l for -d 'The model that reads the transcript: some want their reasoning back' -r -f -a " (__tcompact_models)"
complete -c tcompact -n '__tcompact_is check' -l thinking -d 'What becomes of Claude\'s signed thinking behind a compaction, which the newest models refuse; with `keep`, it is not a violation' -r -f -a "auto\t'Remove it if its model binds it to the messages before it'
keep\t'It stays'
drop\t'It is removed'"
complete -c tcompact -n '__tcompact_is check' -l from -d 'The format of the transcript, one of `tcompact list formats`; `auto` looks at all messages' -r -f -a "auto openai-chat openai-responses anthropic bedrock gemini langchain claude-code codex gemini-cli pi opencode copilot-cli kimi-code qwen-code openhands sharegpt ai-sdk pydantic-ai ollama inspect tau-bench"
complete -c tcompact -n '__tcompact_is check' -l latest -d 'Read the newest session of an agent that no other process has open, in place of a PATH' -r -f -a "claude-code\t''
codex\t''
gemini-cli\t''
pi\t''
copilot-cli\t''
kimi-code\t''
qwen-code\t''"
complete -c tcompact -n '__tcompact_is check' -l lines -d 'How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides' -r -f -a "messages\t'One message a line: the file is one conversation'
conversations\t'One conversation a line: a list of messages, or an object around one'"
complete -c tcompact -n '__tcompact_is check' -l redact -d 'Mask secrets in what is shown' -r -f -a "sent\t'What a summarizer is sent, and the summary'
all\t'All that is written, kept messages too'"
complete -c tcompact -n '__tcompact_is check' -s j -l jobs -d 'How many conversations to process at once [default: one for each core; 8 with a model or a command]' -r -f
complete -c tcompact -n '__tcompact_is check' -l progress -d 'When to show progress on standard error, if it is a terminal: `auto` (several files, or a model writes), `always`, `never`' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tcompact -n '__tcompact_is check' -l config -d 'Read settings from a TOML or YAML file, with the names of the flags as keys, or from a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]' -r -F
complete -c tcompact -n '__tcompact_is check' -l color -d 'When to color standard error and --diff: `auto` (on a terminal, unless `NO_COLOR` is set), `always`, `never`' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tcompact -n '__tcompact_is check' -s q -l quiet -d 'Report only errors'
complete -c tcompact -n '__tcompact_is check' -s v -l verbose -d 'Report decisions, and settings that differ from the defaults, on standard error'
complete -c tcompact -n '__tcompact_is check' -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tcompact -n '__tcompact_is repair; and __tcompact_is_first 2' -f -a "drop synthesize"
complete -c tcompact -n '__tcompact_is repair' -l for -d 'The model that reads the transcript: some want their reasoning back' -r -f -a " (__tcompact_models)"
complete -c tcompact -n '__tcompact_is repair' -l thinking -d 'What becomes of Claude\'s signed thinking behind a compaction, which the newest models refuse; with `keep`, it is not a violation' -r -f -a "auto\t'Remove it if its model binds it to the messages before it'
keep\t'It stays'
drop\t'It is removed'"
complete -c tcompact -n '__tcompact_is repair' -l redact -d 'With =all, also mask secrets in everything that is written' -r -f -a "sent\t'What a summarizer is sent, and the summary'
all\t'All that is written, kept messages too'"
complete -c tcompact -n '__tcompact_is repair' -s o -l output -d 'Write to FILE instead of standard output, whole or not at all' -r -F
complete -c tcompact -n '__tcompact_is repair' -s i -l in-place -d 'Replace each file, whole or not at all; with =SUFFIX, first copy it to its name with SUFFIX at the end' -r -f
complete -c tcompact -n '__tcompact_is repair' -s O -l output-dir -d 'Write the results of several files or of folders to the same tree under DIR; files that need nothing are copied' -r -f -a "(__fish_complete_directories)"
complete -c tcompact -n '__tcompact_is repair' -l archive -d 'Append what stood there before to FILE (`.jsonl`, `.jsonl.gz` or `.jsonl.zst`), from which the command restore puts it back' -r -F
complete -c tcompact -n '__tcompact_is repair' -l from -d 'The format of the transcript, one of `tcompact list formats`; `auto` looks at all messages' -r -f -a "auto openai-chat openai-responses anthropic bedrock gemini langchain claude-code codex gemini-cli pi opencode copilot-cli kimi-code qwen-code openhands sharegpt ai-sdk pydantic-ai ollama inspect tau-bench"
complete -c tcompact -n '__tcompact_is repair' -l latest -d 'Read the newest session of an agent that no other process has open, in place of a PATH' -r -f -a "claude-code\t''
codex\t''
gemini-cli\t''
pi\t''
copilot-cli\t''
kimi-code\t''
qwen-code\t''"
complete -c tcompact -n '__tcompact_is repair' -l lines -d 'How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides' -r -f -a "messages\t'One message a line: the file is one conversation'
conversations\t'One conversation a line: a list of messages, or an object around one'"
complete -c tcompact -n '__tcompact_is repair' -s j -l jobs -d 'How many conversations to process at once [default: one for each core; 8 with a model or a command]' -r -f
complete -c tcompact -n '__tcompact_is repair' -l progress -d 'When to show progress on standard error, if it is a terminal: `auto` (several files, or a model writes), `always`, `never`' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tcompact -n '__tcompact_is repair' -l config -d 'Read settings from a TOML or YAML file, with the names of the flags as keys, or from a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]' -r -F
complete -c tcompact -n '__tcompact_is repair' -l color -d 'When to color standard error and --diff: `auto` (on a terminal, unless `NO_COLOR` is set), `always`, `never`' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tcompact -n '__tcompact_is repair' -l force -d 'With --in-place: replace also a file that another process has open for writing, or in which another session begins'
complete -c tcompact -n '__tcompact_is repair' -s q -l quiet -d 'Report only errors'
complete -c tcompact -n '__tcompact_is repair' -s v -l verbose -d 'Report decisions, and settings that differ from the defaults, on standard error'
complete -c tcompact -n '__tcompact_is repair' -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tcompact -n '__tcompact_is redact' -s o -l output -d 'Write to FILE instead of standard output, whole or not at all' -r -F
complete -c tcompact -n '__tcompact_is redact' -s i -l in-place -d 'Replace each file, whole or not at all; with =SUFFIX, first copy it to its name with SUFFIX at the end' -r -f
complete -c tcompact -n '__tcompact_is redact' -s O -l output-dir -d 'Write the results of several files or of folders to the same tree under DIR; files that need nothing are copied' -r -f -a "(__fish_complete_directories)"
complete -c tcompact -n '__tcompact_is redact' -l archive -d 'Append what stood there before to FILE (`.jsonl`, `.jsonl.gz` or `.jsonl.zst`), from which the command restore puts it back' -r -F
complete -c tcompact -n '__tcompact_is redact' -l from -d 'The format of the transcript, one of `tcompact list formats`; `auto` looks at all messages' -r -f -a "auto openai-chat openai-responses anthropic bedrock gemini langchain claude-code codex gemini-cli pi opencode copilot-cli kimi-code qwen-code openhands sharegpt ai-sdk pydantic-ai ollama inspect tau-bench"
complete -c tcompact -n '__tcompact_is redact' -l latest -d 'Read the newest session of an agent that no other process has open, in place of a PATH' -r -f -a "claude-code\t''
codex\t''
gemini-cli\t''
pi\t''
copilot-cli\t''
kimi-code\t''
qwen-code\t''"
complete -c tcompact -n '__tcompact_is redact' -l lines -d 'How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides' -r -f -a "messages\t'One message a line: the file is one conversation'
conversations\t'One conversation a line: a list of messages, or an object around one'"
complete -c tcompact -n '__tcompact_is redact' -s j -l jobs -d 'How many conversations to process at once [default: one for each core; 8 with a model or a command]' -r -f
complete -c tcompact -n '__tcompact_is redact' -l progress -d 'When to show progress on standard error, if it is a terminal: `auto` (several files, or a model writes), `always`, `never`' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tcompact -n '__tcompact_is redact' -l config -d 'Read settings from a TOML or YAML file, with the names of the flags as keys, or from a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]' -r -F
complete -c tcompact -n '__tcompact_is redact' -l color -d 'When to color standard error and --diff: `auto` (on a terminal, unless `NO_COLOR` is set), `always`, `never`' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tcompact -n '__tcompact_is redact' -l force -d 'With --in-place: replace also a file that another process has open for writing, or in which another session begins'
complete -c tcompact -n '__tcompact_is redact' -s q -l quiet -d 'Report only errors'
complete -c tcompact -n '__tcompact_is redact' -s v -l verbose -d 'Report decisions, and settings that differ from the defaults, on standard error'
complete -c tcompact -n '__tcompact_is redact' -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tcompact -n '__tcompact_is search' -l limit -d 'The most messages to show' -r -f
complete -c tcompact -n '__tcompact_is search' -l archive -d 'Read this archive first' -r -F
complete -c tcompact -n '__tcompact_is search' -l redact -d 'Mask secrets in what is shown' -r -f -a "sent\t'What a summarizer is sent, and the summary'
all\t'All that is written, kept messages too'"
complete -c tcompact -n '__tcompact_is search' -l from -d 'The format of the transcript, one of `tcompact list formats`; `auto` looks at all messages' -r -f -a "auto openai-chat openai-responses anthropic bedrock gemini langchain claude-code codex gemini-cli pi opencode copilot-cli kimi-code qwen-code openhands sharegpt ai-sdk pydantic-ai ollama inspect tau-bench"
complete -c tcompact -n '__tcompact_is search' -l latest -d 'Read the newest session of an agent that no other process has open, in place of a PATH' -r -f -a "claude-code\t''
codex\t''
gemini-cli\t''
pi\t''
copilot-cli\t''
kimi-code\t''
qwen-code\t''"
complete -c tcompact -n '__tcompact_is search' -l lines -d 'How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides' -r -f -a "messages\t'One message a line: the file is one conversation'
conversations\t'One conversation a line: a list of messages, or an object around one'"
complete -c tcompact -n '__tcompact_is search' -l config -d 'Read settings from a TOML or YAML file, with the names of the flags as keys, or from a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]' -r -F
complete -c tcompact -n '__tcompact_is search' -l color -d 'When to color standard error and --diff: `auto` (on a terminal, unless `NO_COLOR` is set), `always`, `never`' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tcompact -n '__tcompact_is search' -s s -l case-sensitive -d 'Tell capital letters from small ones also where the pattern has none'
complete -c tcompact -n '__tcompact_is search' -l count -d 'Only print how many messages match'
complete -c tcompact -n '__tcompact_is search' -l json -d 'Print JSON, an object a line'
complete -c tcompact -n '__tcompact_is search' -s q -l quiet -d 'Report only errors'
complete -c tcompact -n '__tcompact_is search' -s v -l verbose -d 'Report decisions, and settings that differ from the defaults, on standard error'
complete -c tcompact -n '__tcompact_is search' -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tcompact -n '__tcompact_is show' -l limit-tokens -d 'The most tokens of each message' -r -f
complete -c tcompact -n '__tcompact_is show' -l archive -d 'Read this archive first' -r -F
complete -c tcompact -n '__tcompact_is show' -l redact -d 'Mask secrets in what is shown' -r -f -a "sent\t'What a summarizer is sent, and the summary'
all\t'All that is written, kept messages too'"
complete -c tcompact -n '__tcompact_is show' -l from -d 'The format of the transcript, one of `tcompact list formats`; `auto` looks at all messages' -r -f -a "auto openai-chat openai-responses anthropic bedrock gemini langchain claude-code codex gemini-cli pi opencode copilot-cli kimi-code qwen-code openhands sharegpt ai-sdk pydantic-ai ollama inspect tau-bench"
complete -c tcompact -n '__tcompact_is show' -l latest -d 'Read the newest session of an agent that no other process has open, in place of a PATH' -r -f -a "claude-code\t''
codex\t''
gemini-cli\t''
pi\t''
copilot-cli\t''
kimi-code\t''
qwen-code\t''"
complete -c tcompact -n '__tcompact_is show' -l lines -d 'How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides' -r -f -a "messages\t'One message a line: the file is one conversation'
conversations\t'One conversation a line: a list of messages, or an object around one'"
complete -c tcompact -n '__tcompact_is show' -l config -d 'Read settings from a TOML or YAML file, with the names of the flags as keys, or from a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]' -r -F
complete -c tcompact -n '__tcompact_is show' -l color -d 'When to color standard error and --diff: `auto` (on a terminal, unless `NO_COLOR` is set), `always`, `never`' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tcompact -n '__tcompact_is show' -l json -d 'Print JSON: the messages as they were'
complete -c tcompact -n '__tcompact_is show' -s q -l quiet -d 'Report only errors'
complete -c tcompact -n '__tcompact_is show' -s v -l verbose -d 'Report decisions, and settings that differ from the defaults, on standard error'
complete -c tcompact -n '__tcompact_is show' -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tcompact -n '__tcompact_is restore' -l rounds -d 'Put back at most N rounds of compaction, the last one first' -r -f
complete -c tcompact -n '__tcompact_is restore' -s o -l output -d 'Write to FILE instead of standard output, whole or not at all' -r -F
complete -c tcompact -n '__tcompact_is restore' -s i -l in-place -d 'Replace each file, whole or not at all; with =SUFFIX, first copy it to its name with SUFFIX at the end' -r -f
complete -c tcompact -n '__tcompact_is restore' -l config -d 'Read settings from a TOML or YAML file, with the names of the flags as keys, or from a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]' -r -F
complete -c tcompact -n '__tcompact_is restore' -l color -d 'When to color standard error and --diff: `auto` (on a terminal, unless `NO_COLOR` is set), `always`, `never`' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tcompact -n '__tcompact_is restore' -l force -d 'With --in-place: replace also a file that another process has open for writing, or in which another session begins'
complete -c tcompact -n '__tcompact_is restore' -s q -l quiet -d 'Report only errors'
complete -c tcompact -n '__tcompact_is restore' -s v -l verbose -d 'Report decisions, and settings that differ from the defaults, on standard error'
complete -c tcompact -n '__tcompact_is restore' -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tcompact -n '__tcompact_is slim' -l older -d 'Leave files alone that changed within AGE: `30m`, `12h`, `7d` or `2w`' -r -f
complete -c tcompact -n '__tcompact_is slim' -l from -d 'The format of the transcript, one of `tcompact list formats`; `auto` looks at all messages' -r -f -a "auto openai-chat openai-responses anthropic bedrock gemini langchain claude-code codex gemini-cli pi opencode copilot-cli kimi-code qwen-code openhands sharegpt ai-sdk pydantic-ai ollama inspect tau-bench"
complete -c tcompact -n '__tcompact_is slim' -l latest -d 'Read the newest session of an agent that no other process has open, in place of a PATH' -r -f -a "claude-code\t''
codex\t''
gemini-cli\t''
pi\t''
copilot-cli\t''
kimi-code\t''
qwen-code\t''"
complete -c tcompact -n '__tcompact_is slim' -l lines -d 'How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides' -r -f -a "messages\t'One message a line: the file is one conversation'
conversations\t'One conversation a line: a list of messages, or an object around one'"
complete -c tcompact -n '__tcompact_is slim' -l config -d 'Read settings from a TOML or YAML file, with the names of the flags as keys, or from a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]' -r -F
complete -c tcompact -n '__tcompact_is slim' -l color -d 'When to color standard error and --diff: `auto` (on a terminal, unless `NO_COLOR` is set), `always`, `never`' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tcompact -n '__tcompact_is slim' -s n -l dry-run -d 'Only print what it would save: PATH, a tab and the bytes'
complete -c tcompact -n '__tcompact_is slim' -l no-archive -d 'Keep no archive. What was sent before stays in the file then: branches, and what the agent compacted'
complete -c tcompact -n '__tcompact_is slim' -l force -d 'Replace also a file that another process has open for writing, or in which another session begins'
complete -c tcompact -n '__tcompact_is slim' -s q -l quiet -d 'Report only errors'
complete -c tcompact -n '__tcompact_is slim' -s v -l verbose -d 'Report decisions, and settings that differ from the defaults, on standard error'
complete -c tcompact -n '__tcompact_is slim' -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tcompact -n '__tcompact_is list; and __tcompact_is_first 2' -f -a "formats presets providers models counters prune secrets"
complete -c tcompact -n '__tcompact_is list' -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tcompact -n '__tcompact_is completions; and __tcompact_is_first 2' -f -a "bash zsh fish powershell elvish"
complete -c tcompact -n '__tcompact_is completions' -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tcompact -n '__tcompact_is man' -s h -l help -d 'Print help'
complete -c tcompact -n '__tcompact_is help; and __tcompact_is_first 2' -f -a "count check repair redact search show restore slim list completions man help"
complete -c tcompact -n '__tcompact_is help' -s h -l help -d 'Print help'
