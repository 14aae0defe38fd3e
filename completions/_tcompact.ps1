
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'tcompact' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'tcompact'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'tcompact' {
            [CompletionResult]::new('--trigger', '--trigger', [CompletionResultType]::ParameterName, 'When to compact: only a conversation that has reached every SIZE. Repeat it for "or". Without it: always')
            [CompletionResult]::new('--keep', '--keep', [CompletionResultType]::ParameterName, 'How much stays unchanged: the end, up to SIZE. The messages before it become one summary')
            [CompletionResult]::new('--fit', '--fit', [CompletionResultType]::ParameterName, 'How large the result may be: tokens:N (or N), fraction:F or bytes:N. tcompact prunes first, and summarizes only if it must')
            [CompletionResult]::new('--pin', '--pin', [CompletionResultType]::ParameterName, 'Messages before the cut that stay too: `system`, `user[:SIZE]` (the newest of the user''s), `first:N`, `match:REGEX`. With --fit, what the user typed stays too, up to a quarter of its SIZE. Repeatable: rules add to `system`, and `none` clears those before it and what --fit pins')
            [CompletionResult]::new('--pairs', '--pairs', [CompletionResultType]::ParameterName, 'How to move a cut that would part a tool call from its result: `strict` parts none, `langchain` does as LangChain does, `window:N` looks only at N messages before it')
            [CompletionResult]::new('-m', '-m', [CompletionResultType]::ParameterName, 'Writes the summary: PROVIDER:MODEL, the name of a model at its maker, `extractive` (offline) or `none` (prunes only) [default: extractive]')
            [CompletionResult]::new('--model', '--model', [CompletionResultType]::ParameterName, 'Writes the summary: PROVIDER:MODEL, the name of a model at its maker, `extractive` (offline) or `none` (prunes only) [default: extractive]')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'Reads the result: its context window, tokenizer and price are looked up. It is sent nothing. PROVIDER:MODEL is taken as it is')
            [CompletionResult]::new('--summarizer-cmd', '--summarizer-cmd', [CompletionResultType]::ParameterName, 'Run CMD with `sh -c` (on Windows `cmd /C`) for a summary: the prompt on its standard input, the summary from its standard output')
            [CompletionResult]::new('--summary-tokens', '--summary-tokens', [CompletionResultType]::ParameterName, 'The size to ask of the summary, in tokens [default: 1024 of a model; of the embedded summarizer, which never exceeds it, a twentieth of what is replaced, from 1024 to 4096]')
            [CompletionResult]::new('--focus', '--focus', [CompletionResultType]::ParameterName, 'What the next work is about: the summary puts that first. In a --prompt-file, {focus} is its place')
            [CompletionResult]::new('--on-error', '--on-error', [CompletionResultType]::ParameterName, 'What to do when the summarizer fails for good')
            [CompletionResult]::new('--prune', '--prune', [CompletionResultType]::ParameterName, 'What to remove: `results[:SIZE]`, `reads`, `cap[:N]`, `thinking`, `media[:SIZE]`, `arguments[:N]`, `all` or `none` (`tcompact list prune`). Repeatable [default: none; all with --fit]')
            [CompletionResult]::new('--prune-except', '--prune-except', [CompletionResultType]::ParameterName, 'Tools whose calls and results --prune does not change')
            [CompletionResult]::new('--thinking', '--thinking', [CompletionResultType]::ParameterName, 'What to do with Claude''s signed thinking in the kept messages: the newest models refuse it when the history before it has changed')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write to FILE instead of standard output, whole or not at all')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write to FILE instead of standard output, whole or not at all')
            [CompletionResult]::new('-i', '-i', [CompletionResultType]::ParameterName, 'Replace each file, whole or not at all; with =SUFFIX, first copy it to its name with SUFFIX at the end')
            [CompletionResult]::new('--in-place', '--in-place', [CompletionResultType]::ParameterName, 'Replace each file, whole or not at all; with =SUFFIX, first copy it to its name with SUFFIX at the end')
            [CompletionResult]::new('-O', '-O ', [CompletionResultType]::ParameterName, 'Write the results of several files or of folders to the same tree under DIR; files that need nothing are copied')
            [CompletionResult]::new('--output-dir', '--output-dir', [CompletionResultType]::ParameterName, 'Write the results of several files or of folders to the same tree under DIR; files that need nothing are copied')
            [CompletionResult]::new('--emit', '--emit', [CompletionResultType]::ParameterName, 'What to write')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'Write a JSON object a line to FILE for each conversation: the keys of --dry-run --json, its status, tokens afterwards, requests and cost')
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'Write one page for a browser: the conversation to click through, the summary, tokens and money before and after')
            [CompletionResult]::new('--archive', '--archive', [CompletionResultType]::ParameterName, 'Append the removed messages to FILE, and name FILE in the summary: `.jsonl` for the commands search, show and restore, `.md` for reading; with `.gz` or `.zst` behind it, compressed')
            [CompletionResult]::new('--archive-note', '--archive-note', [CompletionResultType]::ParameterName, 'What the summary says of the archive: TEXT, in which `{archive}` is its path and `{id}` the id of the record, or `off` for nothing')
            [CompletionResult]::new('--repair', '--repair', [CompletionResultType]::ParameterName, 'Repair what the command check finds: what to do with calls without a result. The command repair does only that')
            [CompletionResult]::new('--redact', '--redact', [CompletionResultType]::ParameterName, 'Mask secrets in what a summarizer is sent and in the summary; with =all, in everything that is written. An archive holds what was there. The command redact does only that')
            [CompletionResult]::new('-j', '-j', [CompletionResultType]::ParameterName, 'How many conversations to process at once [default: one for each core; 8 with a model or a command]')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'How many conversations to process at once [default: one for each core; 8 with a model or a command]')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When to show progress on standard error, if it is a terminal: `auto` (several files, or a model writes), `always`, `never`')
            [CompletionResult]::new('--preset', '--preset', [CompletionResultType]::ParameterName, 'Use the rules of a known system (`tcompact list presets`); other flags override them')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Read settings from a TOML or YAML file, with the names of the flags as keys, or from a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to color standard error and --diff: `auto` (on a terminal, unless `NO_COLOR` is set), `always`, `never`')
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'The format of the transcript, one of `tcompact list formats`; `auto` looks at all messages')
            [CompletionResult]::new('--latest', '--latest', [CompletionResultType]::ParameterName, 'Read the newest session of an agent that no other process has open, in place of a PATH')
            [CompletionResult]::new('--lines', '--lines', [CompletionResultType]::ParameterName, 'How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides')
            [CompletionResult]::new('--context-window', '--context-window', [CompletionResultType]::ParameterName, 'The context window in tokens, in place of the one of --for')
            [CompletionResult]::new('--counter', '--counter', [CompletionResultType]::ParameterName, 'How to count tokens: `estimate`, `approx`, `approx:CHARS`, `o200k_base`, `cl100k_base`, `bytes:N` or `recorded` [default: the tokenizer of --for, else estimate for the model that the session names]')
            [CompletionResult]::new('--counter-cmd', '--counter-cmd', [CompletionResultType]::ParameterName, 'Run CMD with `sh -c` (on Windows `cmd /C`) to count: it starts once, reads each text as a JSON string on a line, and writes the number on a line')
            [CompletionResult]::new('--overhead-tokens', '--overhead-tokens', [CompletionResultType]::ParameterName, 'Tokens of every request beside its messages, such as tools and the system prompt [default: those of the transcript]')
            [CompletionResult]::new('--truncate-args', '--truncate-args', [CompletionResultType]::ParameterName, 'With --preset deepagents: cut arguments of tools longer than N characters')
            [CompletionResult]::new('--base-url', '--base-url', [CompletionResultType]::ParameterName, 'The address of the provider''s API, including its version [default: the provider''s own]')
            [CompletionResult]::new('--api-key-env', '--api-key-env', [CompletionResultType]::ParameterName, 'The environment variable that holds the key [default: the provider''s own]')
            [CompletionResult]::new('--request-json', '--request-json', [CompletionResultType]::ParameterName, 'Merge this JSON into the body of each request (RFC 7396: `null` removes a member), but no key, prompt or model')
            [CompletionResult]::new('--prompt-file', '--prompt-file', [CompletionResultType]::ParameterName, 'A template for the prompt; {messages} is where the history goes, {{ and }} are braces [default: the built-in template]')
            [CompletionResult]::new('--trim-tokens', '--trim-tokens', [CompletionResultType]::ParameterName, 'How many tokens of the end of the history to send to the summarizer; `none` sends everything')
            [CompletionResult]::new('--cache', '--cache', [CompletionResultType]::ParameterName, 'Keep summaries in DIR, by the hash of all that decides them, so that none is requested twice')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'The most seconds that a request or a command may take')
            [CompletionResult]::new('--retries', '--retries', [CompletionResultType]::ParameterName, 'How often to retry a request after a transport error or the status 408, 409, 429 or 5xx')
            [CompletionResult]::new('--rate', '--rate', [CompletionResultType]::ParameterName, 'The most requests a minute [default: no limit]')
            [CompletionResult]::new('--summary-role', '--summary-role', [CompletionResultType]::ParameterName, 'The role of the summary message, if the format''s provider accepts it')
            [CompletionResult]::new('--summary-prefix', '--summary-prefix', [CompletionResultType]::ParameterName, 'The beginning of the summary message. The default also puts the summary between <summary> and </summary>')
            [CompletionResult]::new('--ledger', '--ledger', [CompletionResultType]::ParameterName, 'Append to a model''s summary what it lacks of the user''s last message, short rules, failures and changed files: at most N tokens; `on` is a fifth of --summary-tokens, and at least 200')
            [CompletionResult]::new('--accept', '--accept', [CompletionResultType]::ParameterName, 'Which summaries to accept')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'With --in-place: replace also a file that another process has open for writing, or in which another session begins')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Only print the index of the first kept message; 0 if nothing would be summarized. Several files print PATH, a tab and the index. With --cache and a summarizer on the same command line, tcompact also asks for the summary and shows it')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Only print the index of the first kept message; 0 if nothing would be summarized. Several files print PATH, a tab and the index. With --cache and a summarizer on the same command line, tcompact also asks for the summary and shows it')
            [CompletionResult]::new('--explain', '--explain', [CompletionResultType]::ParameterName, 'Draw the conversation on standard error: roles, sizes, pins, pairs, the wanted cut and the actual one')
            [CompletionResult]::new('--diff', '--diff', [CompletionResultType]::ParameterName, 'Print what is removed and added, for people, instead of the transcript; write nothing but --html')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON, with --dry-run or --emit summary')
            [CompletionResult]::new('--rescue', '--rescue', [CompletionResultType]::ParameterName, 'Mend a session that can no longer be resumed: --repair synthesize, --fit half of the context window of its model (50k where nobody knows it), --in-place=.bak (or .bak2, …), --archive PATH.cut.jsonl. Flags beside it replace these')
            [CompletionResult]::new('--resume', '--resume', [CompletionResultType]::ParameterName, 'Skip what an earlier run with the same input and rules finished')
            [CompletionResult]::new('-e', '-e', [CompletionResultType]::ParameterName, 'Exit with 3 when nothing was compacted')
            [CompletionResult]::new('--exit-status', '--exit-status', [CompletionResultType]::ParameterName, 'Exit with 3 when nothing was compacted')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Report only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Report only errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Report decisions, and settings that differ from the defaults, on standard error')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Report decisions, and settings that differ from the defaults, on standard error')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('count', 'count', [CompletionResultType]::ParameterValue, 'Print the tokens of each conversation')
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'Check the provider''s rules for calls, results, turns and texts')
            [CompletionResult]::new('repair', 'repair', [CompletionResultType]::ParameterValue, 'Repair what `check` finds. Nothing is cut away')
            [CompletionResult]::new('redact', 'redact', [CompletionResultType]::ParameterValue, 'Mask secrets in everything: messages, calls, results and all else that is written. Nothing is cut away')
            [CompletionResult]::new('search', 'search', [CompletionResultType]::ParameterValue, 'Search transcripts and archives for a regular expression')
            [CompletionResult]::new('show', 'show', [CompletionResultType]::ParameterValue, 'Show messages of a transcript, or of an archive')
            [CompletionResult]::new('restore', 'restore', [CompletionResultType]::ParameterValue, 'Put back what an archive holds, byte for byte, also where the transcript grew since')
            [CompletionResult]::new('slim', 'slim', [CompletionResultType]::ParameterValue, 'Remove from session files what no model is sent, in place: copies of results, progress, old snapshots, pictures that are not sent, branches that you left, and what the agent compacted before')
            [CompletionResult]::new('list', 'list', [CompletionResultType]::ParameterValue, 'Print a table: formats, presets, providers, models, counters, prune rules or secrets')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print the completion script of a shell')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Print the manual page')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print help, for a command or for all flags of compaction')
            break
        }
        'tcompact;count' {
            [CompletionResult]::new('--sort', '--sort', [CompletionResultType]::ParameterName, 'Print the largest conversation first')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'Count as this model does: its tokenizer and its context window are looked up. It is sent nothing')
            [CompletionResult]::new('--context-window', '--context-window', [CompletionResultType]::ParameterName, 'The context window in tokens, in place of the one of --for')
            [CompletionResult]::new('--counter', '--counter', [CompletionResultType]::ParameterName, 'How to count tokens: `estimate`, `approx`, `approx:CHARS`, `o200k_base`, `cl100k_base`, `bytes:N` or `recorded` [default: the tokenizer of --for, else estimate for the model that the session names]')
            [CompletionResult]::new('--counter-cmd', '--counter-cmd', [CompletionResultType]::ParameterName, 'Run CMD with `sh -c` (on Windows `cmd /C`) to count: it starts once, reads each text as a JSON string on a line, and writes the number on a line')
            [CompletionResult]::new('--overhead-tokens', '--overhead-tokens', [CompletionResultType]::ParameterName, 'Tokens of every request beside its messages, such as tools and the system prompt [default: those of the transcript]')
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'The format of the transcript, one of `tcompact list formats`; `auto` looks at all messages')
            [CompletionResult]::new('--latest', '--latest', [CompletionResultType]::ParameterName, 'Read the newest session of an agent that no other process has open, in place of a PATH')
            [CompletionResult]::new('--lines', '--lines', [CompletionResultType]::ParameterName, 'How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'The most seconds that --counter-cmd may take for a text')
            [CompletionResult]::new('--redact', '--redact', [CompletionResultType]::ParameterName, 'Mask secrets in what is shown')
            [CompletionResult]::new('-j', '-j', [CompletionResultType]::ParameterName, 'How many conversations to process at once [default: one for each core; 8 with a model or a command]')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'How many conversations to process at once [default: one for each core; 8 with a model or a command]')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When to show progress on standard error, if it is a terminal: `auto` (several files, or a model writes), `always`, `never`')
            [CompletionResult]::new('--preset', '--preset', [CompletionResultType]::ParameterName, 'Count as a known system does (`tcompact list presets`)')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Read settings from a TOML or YAML file, with the names of the flags as keys, or from a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to color standard error and --diff: `auto` (on a terminal, unless `NO_COLOR` is set), `always`, `never`')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON: the tokens by role, tool, thinking and media, too')
            [CompletionResult]::new('--explain', '--explain', [CompletionResultType]::ParameterName, 'Draw the tokens by role, tool, thinking and media on standard error')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Report only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Report only errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Report decisions, and settings that differ from the defaults, on standard error')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Report decisions, and settings that differ from the defaults, on standard error')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'tcompact;check' {
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'The model that reads the transcript: some want their reasoning back')
            [CompletionResult]::new('--thinking', '--thinking', [CompletionResultType]::ParameterName, 'What becomes of Claude''s signed thinking behind a compaction, which the newest models refuse; with `keep`, it is not a violation')
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'The format of the transcript, one of `tcompact list formats`; `auto` looks at all messages')
            [CompletionResult]::new('--latest', '--latest', [CompletionResultType]::ParameterName, 'Read the newest session of an agent that no other process has open, in place of a PATH')
            [CompletionResult]::new('--lines', '--lines', [CompletionResultType]::ParameterName, 'How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides')
            [CompletionResult]::new('--redact', '--redact', [CompletionResultType]::ParameterName, 'Mask secrets in what is shown')
            [CompletionResult]::new('-j', '-j', [CompletionResultType]::ParameterName, 'How many conversations to process at once [default: one for each core; 8 with a model or a command]')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'How many conversations to process at once [default: one for each core; 8 with a model or a command]')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When to show progress on standard error, if it is a terminal: `auto` (several files, or a model writes), `always`, `never`')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Read settings from a TOML or YAML file, with the names of the flags as keys, or from a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to color standard error and --diff: `auto` (on a terminal, unless `NO_COLOR` is set), `always`, `never`')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Report only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Report only errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Report decisions, and settings that differ from the defaults, on standard error')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Report decisions, and settings that differ from the defaults, on standard error')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'tcompact;repair' {
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'The model that reads the transcript: some want their reasoning back')
            [CompletionResult]::new('--thinking', '--thinking', [CompletionResultType]::ParameterName, 'What becomes of Claude''s signed thinking behind a compaction, which the newest models refuse; with `keep`, it is not a violation')
            [CompletionResult]::new('--redact', '--redact', [CompletionResultType]::ParameterName, 'With =all, also mask secrets in everything that is written')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write to FILE instead of standard output, whole or not at all')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write to FILE instead of standard output, whole or not at all')
            [CompletionResult]::new('-i', '-i', [CompletionResultType]::ParameterName, 'Replace each file, whole or not at all; with =SUFFIX, first copy it to its name with SUFFIX at the end')
            [CompletionResult]::new('--in-place', '--in-place', [CompletionResultType]::ParameterName, 'Replace each file, whole or not at all; with =SUFFIX, first copy it to its name with SUFFIX at the end')
            [CompletionResult]::new('-O', '-O ', [CompletionResultType]::ParameterName, 'Write the results of several files or of folders to the same tree under DIR; files that need nothing are copied')
            [CompletionResult]::new('--output-dir', '--output-dir', [CompletionResultType]::ParameterName, 'Write the results of several files or of folders to the same tree under DIR; files that need nothing are copied')
            [CompletionResult]::new('--archive', '--archive', [CompletionResultType]::ParameterName, 'Append what stood there before to FILE (`.jsonl`, `.jsonl.gz` or `.jsonl.zst`), from which the command restore puts it back')
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'The format of the transcript, one of `tcompact list formats`; `auto` looks at all messages')
            [CompletionResult]::new('--latest', '--latest', [CompletionResultType]::ParameterName, 'Read the newest session of an agent that no other process has open, in place of a PATH')
            [CompletionResult]::new('--lines', '--lines', [CompletionResultType]::ParameterName, 'How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides')
            [CompletionResult]::new('-j', '-j', [CompletionResultType]::ParameterName, 'How many conversations to process at once [default: one for each core; 8 with a model or a command]')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'How many conversations to process at once [default: one for each core; 8 with a model or a command]')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When to show progress on standard error, if it is a terminal: `auto` (several files, or a model writes), `always`, `never`')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Read settings from a TOML or YAML file, with the names of the flags as keys, or from a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to color standard error and --diff: `auto` (on a terminal, unless `NO_COLOR` is set), `always`, `never`')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'With --in-place: replace also a file that another process has open for writing, or in which another session begins')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Report only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Report only errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Report decisions, and settings that differ from the defaults, on standard error')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Report decisions, and settings that differ from the defaults, on standard error')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'tcompact;redact' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write to FILE instead of standard output, whole or not at all')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write to FILE instead of standard output, whole or not at all')
            [CompletionResult]::new('-i', '-i', [CompletionResultType]::ParameterName, 'Replace each file, whole or not at all; with =SUFFIX, first copy it to its name with SUFFIX at the end')
            [CompletionResult]::new('--in-place', '--in-place', [CompletionResultType]::ParameterName, 'Replace each file, whole or not at all; with =SUFFIX, first copy it to its name with SUFFIX at the end')
            [CompletionResult]::new('-O', '-O ', [CompletionResultType]::ParameterName, 'Write the results of several files or of folders to the same tree under DIR; files that need nothing are copied')
            [CompletionResult]::new('--output-dir', '--output-dir', [CompletionResultType]::ParameterName, 'Write the results of several files or of folders to the same tree under DIR; files that need nothing are copied')
            [CompletionResult]::new('--archive', '--archive', [CompletionResultType]::ParameterName, 'Append what stood there before to FILE (`.jsonl`, `.jsonl.gz` or `.jsonl.zst`), from which the command restore puts it back')
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'The format of the transcript, one of `tcompact list formats`; `auto` looks at all messages')
            [CompletionResult]::new('--latest', '--latest', [CompletionResultType]::ParameterName, 'Read the newest session of an agent that no other process has open, in place of a PATH')
            [CompletionResult]::new('--lines', '--lines', [CompletionResultType]::ParameterName, 'How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides')
            [CompletionResult]::new('-j', '-j', [CompletionResultType]::ParameterName, 'How many conversations to process at once [default: one for each core; 8 with a model or a command]')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'How many conversations to process at once [default: one for each core; 8 with a model or a command]')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When to show progress on standard error, if it is a terminal: `auto` (several files, or a model writes), `always`, `never`')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Read settings from a TOML or YAML file, with the names of the flags as keys, or from a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to color standard error and --diff: `auto` (on a terminal, unless `NO_COLOR` is set), `always`, `never`')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'With --in-place: replace also a file that another process has open for writing, or in which another session begins')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Report only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Report only errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Report decisions, and settings that differ from the defaults, on standard error')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Report decisions, and settings that differ from the defaults, on standard error')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'tcompact;search' {
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'The most messages to show')
            [CompletionResult]::new('--archive', '--archive', [CompletionResultType]::ParameterName, 'Read this archive first')
            [CompletionResult]::new('--redact', '--redact', [CompletionResultType]::ParameterName, 'Mask secrets in what is shown')
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'The format of the transcript, one of `tcompact list formats`; `auto` looks at all messages')
            [CompletionResult]::new('--latest', '--latest', [CompletionResultType]::ParameterName, 'Read the newest session of an agent that no other process has open, in place of a PATH')
            [CompletionResult]::new('--lines', '--lines', [CompletionResultType]::ParameterName, 'How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Read settings from a TOML or YAML file, with the names of the flags as keys, or from a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to color standard error and --diff: `auto` (on a terminal, unless `NO_COLOR` is set), `always`, `never`')
            [CompletionResult]::new('-s', '-s', [CompletionResultType]::ParameterName, 'Tell capital letters from small ones also where the pattern has none')
            [CompletionResult]::new('--case-sensitive', '--case-sensitive', [CompletionResultType]::ParameterName, 'Tell capital letters from small ones also where the pattern has none')
            [CompletionResult]::new('--count', '--count', [CompletionResultType]::ParameterName, 'Only print how many messages match')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON, an object a line')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Report only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Report only errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Report decisions, and settings that differ from the defaults, on standard error')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Report decisions, and settings that differ from the defaults, on standard error')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'tcompact;show' {
            [CompletionResult]::new('--limit-tokens', '--limit-tokens', [CompletionResultType]::ParameterName, 'The most tokens of each message')
            [CompletionResult]::new('--archive', '--archive', [CompletionResultType]::ParameterName, 'Read this archive first')
            [CompletionResult]::new('--redact', '--redact', [CompletionResultType]::ParameterName, 'Mask secrets in what is shown')
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'The format of the transcript, one of `tcompact list formats`; `auto` looks at all messages')
            [CompletionResult]::new('--latest', '--latest', [CompletionResultType]::ParameterName, 'Read the newest session of an agent that no other process has open, in place of a PATH')
            [CompletionResult]::new('--lines', '--lines', [CompletionResultType]::ParameterName, 'How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Read settings from a TOML or YAML file, with the names of the flags as keys, or from a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to color standard error and --diff: `auto` (on a terminal, unless `NO_COLOR` is set), `always`, `never`')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON: the messages as they were')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Report only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Report only errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Report decisions, and settings that differ from the defaults, on standard error')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Report decisions, and settings that differ from the defaults, on standard error')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'tcompact;restore' {
            [CompletionResult]::new('--rounds', '--rounds', [CompletionResultType]::ParameterName, 'Put back at most N rounds of compaction, the last one first')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write to FILE instead of standard output, whole or not at all')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write to FILE instead of standard output, whole or not at all')
            [CompletionResult]::new('-i', '-i', [CompletionResultType]::ParameterName, 'Replace each file, whole or not at all; with =SUFFIX, first copy it to its name with SUFFIX at the end')
            [CompletionResult]::new('--in-place', '--in-place', [CompletionResultType]::ParameterName, 'Replace each file, whole or not at all; with =SUFFIX, first copy it to its name with SUFFIX at the end')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Read settings from a TOML or YAML file, with the names of the flags as keys, or from a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to color standard error and --diff: `auto` (on a terminal, unless `NO_COLOR` is set), `always`, `never`')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'With --in-place: replace also a file that another process has open for writing, or in which another session begins')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Report only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Report only errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Report decisions, and settings that differ from the defaults, on standard error')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Report decisions, and settings that differ from the defaults, on standard error')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'tcompact;slim' {
            [CompletionResult]::new('--older', '--older', [CompletionResultType]::ParameterName, 'Leave files alone that changed within AGE: `30m`, `12h`, `7d` or `2w`')
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'The format of the transcript, one of `tcompact list formats`; `auto` looks at all messages')
            [CompletionResult]::new('--latest', '--latest', [CompletionResultType]::ParameterName, 'Read the newest session of an agent that no other process has open, in place of a PATH')
            [CompletionResult]::new('--lines', '--lines', [CompletionResultType]::ParameterName, 'How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Read settings from a TOML or YAML file, with the names of the flags as keys, or from a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to color standard error and --diff: `auto` (on a terminal, unless `NO_COLOR` is set), `always`, `never`')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Only print what it would save: PATH, a tab and the bytes')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Only print what it would save: PATH, a tab and the bytes')
            [CompletionResult]::new('--no-archive', '--no-archive', [CompletionResultType]::ParameterName, 'Keep no archive. What was sent before stays in the file then: branches, and what the agent compacted')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Replace also a file that another process has open for writing, or in which another session begins')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Report only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Report only errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Report decisions, and settings that differ from the defaults, on standard error')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Report decisions, and settings that differ from the defaults, on standard error')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'tcompact;list' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'tcompact;completions' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'tcompact;man' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'tcompact;help' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
