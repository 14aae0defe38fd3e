
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
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'The format of the transcript, one of `--list formats`; `auto` looks at all messages')
            [CompletionResult]::new('--lines', '--lines', [CompletionResultType]::ParameterName, 'How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides. tcompact writes conversations in order, each as soon as it is done')
            [CompletionResult]::new('--trigger', '--trigger', [CompletionResultType]::ParameterName, 'Compact when every SIZE is reached (messages:N, tokens:N, fraction:F, turns:N; k and m as in tokens:170k). Repeat for "or". Always, if not given')
            [CompletionResult]::new('--keep', '--keep', [CompletionResultType]::ParameterName, 'How much of the end to keep unchanged; `none` summarizes everything. `from:INDEX` keeps that message and all behind it, as --pairs moves the cut (only on the command line). `since:TIME` keeps the first message at or after a time and all behind it: RFC 3339, or `1d`, `6h` or `30m` before the last message')
            [CompletionResult]::new('--pin', '--pin', [CompletionResultType]::ParameterName, 'Messages before the cut to keep too, in front of the summary: `system`, `user[:SIZE]` (what the user said, the newest up to SIZE, as in user:tokens:20k), `first:N` or `match:REGEX`. Repeatable; your rules add to `system`, and `none` clears those before it')
            [CompletionResult]::new('--pairs', '--pairs', [CompletionResultType]::ParameterName, 'How to move a cut that would split a tool call from its result: `strict`, to where it splits none; `langchain`, as LangChain does; `window:N`, looking only at N messages before it')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'The model that will read the result: tcompact looks up its context window, tokenizer and price (`--list models`). A name alone is the model as its maker serves it; PROVIDER:MODEL is taken as it is')
            [CompletionResult]::new('--context-window', '--context-window', [CompletionResultType]::ParameterName, 'The context window in tokens, over any table')
            [CompletionResult]::new('--counter', '--counter', [CompletionResultType]::ParameterName, 'How to count tokens: `approx`, `approx:CHARS`, `o200k_base`, `cl100k_base` or `bytes:N` [default: the tokenizer of --for, else approx]')
            [CompletionResult]::new('--overhead-tokens', '--overhead-tokens', [CompletionResultType]::ParameterName, 'Tokens of every request that are not in the transcript (tools, system prompt)')
            [CompletionResult]::new('--preset', '--preset', [CompletionResultType]::ParameterName, 'Use the rules of a known system (`--list presets`); other flags override them')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Read settings from a file: TOML, or YAML if its name ends in .yaml or .yml, with the names of the flags as keys; or a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]')
            [CompletionResult]::new('--prune', '--prune', [CompletionResultType]::ParameterName, 'What to remove before summarizing, from the messages before the kept part: `results[:SIZE]`, `reads`, `cap[:N]`, `thinking`, `media[:SIZE]`, `arguments[:N]`, `all` or `none` (`--list prune`). Repeatable [default: none; all with --fit]')
            [CompletionResult]::new('--prune-except', '--prune-except', [CompletionResultType]::ParameterName, 'Tools whose calls and results --prune does not change')
            [CompletionResult]::new('--fit', '--fit', [CompletionResultType]::ParameterName, 'The largest size of the result (tokens:N, fraction:F). tcompact prunes as much as it takes, oldest and cheapest first, and summarizes if that is not enough. Without --keep, the kept end takes at most half of it [default: fraction:0.5, and --trigger fraction:0.85, if the window is known and you give none of --keep, --fit and --trigger]')
            [CompletionResult]::new('--clear-tool-results', '--clear-tool-results', [CompletionResultType]::ParameterName, 'Short for --prune results:SIZE')
            [CompletionResult]::new('--truncate-args', '--truncate-args', [CompletionResultType]::ParameterName, 'Short for --prune arguments:N')
            [CompletionResult]::new('--thinking', '--thinking', [CompletionResultType]::ParameterName, 'What to do with Claude''s signed thinking in the kept messages when the history before it changes, since the newest models refuse it then. `auto` removes all of it if --for or the transcript names such a model')
            [CompletionResult]::new('-m', '-m', [CompletionResultType]::ParameterName, 'The model that writes the summary: `extractive`, the embedded summarizer, which needs no network and quotes the conversation without understanding it; PROVIDER:MODEL with a provider of `--list providers`; the name of a model alone, for the API of its maker; or `none`, so that only --prune makes the transcript smaller [default: extractive]')
            [CompletionResult]::new('--model', '--model', [CompletionResultType]::ParameterName, 'The model that writes the summary: `extractive`, the embedded summarizer, which needs no network and quotes the conversation without understanding it; PROVIDER:MODEL with a provider of `--list providers`; the name of a model alone, for the API of its maker; or `none`, so that only --prune makes the transcript smaller [default: extractive]')
            [CompletionResult]::new('--base-url', '--base-url', [CompletionResultType]::ParameterName, 'The address of the provider''s API, including its version [default: the provider''s own]')
            [CompletionResult]::new('--api-key-env', '--api-key-env', [CompletionResultType]::ParameterName, 'The environment variable that holds the key [default: the provider''s own]')
            [CompletionResult]::new('--request-json', '--request-json', [CompletionResultType]::ParameterName, 'Apply this JSON merge patch (RFC 7396; `null` removes a member) to the body of each request, for parameters that tcompact does not know. tcompact refuses patches of its own parts (prompt, model) and keys')
            [CompletionResult]::new('--summarizer-cmd', '--summarizer-cmd', [CompletionResultType]::ParameterName, 'Run CMD with `sh -c` (on Windows `cmd /C`) for a summary: the prompt on its standard input, the summary from its standard output')
            [CompletionResult]::new('--prompt-file', '--prompt-file', [CompletionResultType]::ParameterName, 'A template for the prompt; {messages} is where the history goes, {{ and }} are braces [default: the built-in template]')
            [CompletionResult]::new('--focus', '--focus', [CompletionResultType]::ParameterName, 'What the next work is about. A model is told; where --prompt-file is given, {focus} is where TEXT goes. The embedded summarizer puts calls and sentences of the assistant with words of TEXT before others')
            [CompletionResult]::new('--trim-tokens', '--trim-tokens', [CompletionResultType]::ParameterName, 'How many tokens of the end of the history to send to the summarizer; `none` sends everything')
            [CompletionResult]::new('--summary-tokens', '--summary-tokens', [CompletionResultType]::ParameterName, 'The size to request for the summary, in tokens. The embedded summarizer never exceeds it, also with --fit, and counts the words around the summary')
            [CompletionResult]::new('--summary-role', '--summary-role', [CompletionResultType]::ParameterName, 'The role of the summary message, if the format''s provider accepts it')
            [CompletionResult]::new('--summary-prefix', '--summary-prefix', [CompletionResultType]::ParameterName, 'The beginning of the summary message; a blank line follows unless TEXT ends in white space. The default also puts the summary between <summary> and </summary>; another TEXT does not')
            [CompletionResult]::new('--ledger', '--ledger', [CompletionResultType]::ParameterName, 'Append to a model''s summary what it lacks of the user''s last message, short rules of the user, failures and changed files, found without a model. N is the most tokens for that; `on` is a fifth of --summary-tokens, and at least 200. However short the summary is, the result stays smaller than what it replaces')
            [CompletionResult]::new('--redact', '--redact', [CompletionResultType]::ParameterName, 'Mask secrets (keys, tokens, passwords, private keys, authorization headers, .env lines) in the text for the summarizer and in the summary, each by a placeholder such as [github-token-1]; with all, in everything that is written. An archive holds what was there')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'The most seconds that a request or a command may take')
            [CompletionResult]::new('--retries', '--retries', [CompletionResultType]::ParameterName, 'How often to retry a request after a transport error or the status 408, 409, 429 or 5xx')
            [CompletionResult]::new('--rate', '--rate', [CompletionResultType]::ParameterName, 'The most requests a minute [default: no limit]')
            [CompletionResult]::new('--cache', '--cache', [CompletionResultType]::ParameterName, 'Keep summaries in DIR, so that none is requested twice: a file each, by the hash of the model, its address, the prompt and all parameters. With --dry-run and --model or --summarizer-cmd, tcompact also shows the summary, and requests it if DIR lacks it')
            [CompletionResult]::new('--on-error', '--on-error', [CompletionResultType]::ParameterName, 'What to do when the summarizer fails for good')
            [CompletionResult]::new('--accept', '--accept', [CompletionResultType]::ParameterName, 'Which summaries to accept')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write to FILE instead of standard output, whole or not at all')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write to FILE instead of standard output, whole or not at all')
            [CompletionResult]::new('-O', '-O ', [CompletionResultType]::ParameterName, 'Write the results of several files or of directories to the same tree under DIR; files that need nothing are copied')
            [CompletionResult]::new('--output-dir', '--output-dir', [CompletionResultType]::ParameterName, 'Write the results of several files or of directories to the same tree under DIR; files that need nothing are copied')
            [CompletionResult]::new('-i', '-i', [CompletionResultType]::ParameterName, 'Replace each file, whole or not at all, keeping its mode and times; with SUFFIX, first copy it to its name with SUFFIX at the end')
            [CompletionResult]::new('--in-place', '--in-place', [CompletionResultType]::ParameterName, 'Replace each file, whole or not at all, keeping its mode and times; with SUFFIX, first copy it to its name with SUFFIX at the end')
            [CompletionResult]::new('--emit', '--emit', [CompletionResultType]::ParameterName, 'What to write: the transcript in its own format, the update of a LangGraph state (null if nothing changed), only the summary, or plain text to go on with elsewhere')
            [CompletionResult]::new('--archive', '--archive', [CompletionResultType]::ParameterName, 'Append the removed messages to FILE, and name FILE in the summary (`.jsonl`: a record of the original messages, for --restore; `.md`: for reading)')
            [CompletionResult]::new('--archive-note', '--archive-note', [CompletionResultType]::ParameterName, 'What the summary says of the archive, in place of how to search it and show its messages: TEXT, in which `{archive}` is its path, or `off` for nothing')
            [CompletionResult]::new('--restore', '--restore', [CompletionResultType]::ParameterName, 'Restore the transcript from such an archive (`.jsonl`), byte for byte: as many rounds of compaction as it holds, also where lines were appended between them. In a file of one conversation a line, lines that the archive does not know stay unchanged. A JSON document that grew gets its messages back without a proof by hash. tcompact refuses if nothing matches')
            [CompletionResult]::new('--rounds', '--rounds', [CompletionResultType]::ParameterName, 'With --restore: put back at most N rounds of compaction, the last one first')
            [CompletionResult]::new('--search', '--search', [CompletionResultType]::ParameterName, 'Search archives and transcripts for messages whose text holds a regular expression (`(?i)` ignores case): the place that --show takes, role, tool, and the matching lines with one around. The newest of each file first; 3 is the exit code where nothing is found. Archives hold secrets as they were; --redact masks what is shown')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'With --search: the most messages to show')
            [CompletionResult]::new('--show', '--show', [CompletionResultType]::ParameterName, 'Show messages of a transcript by their index, or what was cut from an archive (PATH, or --archive FILE): ROUND:INDEX as digests write it, INDEX in the last round, or #RECORD:INDEX by the line of the archive. A..B is a range without B. With --json, the messages as they were. Archives hold secrets as they were; --redact masks what is shown')
            [CompletionResult]::new('--limit-tokens', '--limit-tokens', [CompletionResultType]::ParameterName, 'With --show: the most tokens of each message')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'Write a JSON object a line to FILE for each conversation: the keys of --dry-run --json, its status, its tokens afterwards, the provider''s count and cost, and after how many turns that pays')
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'Write one page for a browser, which needs no network and no script: the conversation to click through, the summary, and tokens and money before and after. Several conversations get a table, and a drawing of those that shrink most')
            [CompletionResult]::new('--sort', '--sort', [CompletionResultType]::ParameterName, 'The order of the lines of --count: `size` prints the largest conversation first [default: as the inputs are given]')
            [CompletionResult]::new('--repair', '--repair', [CompletionResultType]::ParameterName, 'Repair such violations first: remove calls without a result (`drop`), or add a result that says there is none, where the format can hold it (`synthesize`). tcompact removes results without a call, moves misplaced results to their call, and repairs ids and texts')
            [CompletionResult]::new('-j', '-j', [CompletionResultType]::ParameterName, 'How many conversations to process at once [default: one for each core; 8 with a model or a command]')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'How many conversations to process at once [default: one for each core; 8 with a model or a command]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to color messages on standard error, and --diff; `auto`: on a terminal, unless `NO_COLOR` is set')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When progress is shown on standard error, which must be a terminal for it: `auto`, for several files and while a summarizer is asked, unless --quiet is given')
            [CompletionResult]::new('--list', '--list', [CompletionResultType]::ParameterName, 'Print a table and exit')
            [CompletionResult]::new('--generate', '--generate', [CompletionResultType]::ParameterName, 'Print the completion script of a shell, or the manual page, and exit')
            [CompletionResult]::new('--count', '--count', [CompletionResultType]::ParameterName, 'Only print the tokens of each conversation; with --json, also by role, tool, thinking and media. With --explain, draw these categories of all conversations together. On a terminal, the sum of several follows')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Only print the cutoff index: no request, no file. 0 means that nothing would be replaced. Several files print the path, a tab and the index; conversations on lines print PATH:LINE. With --cache and --model (or --summarizer-cmd) on the same command line, tcompact also requests the summary, shows it on standard error, and keeps it for the real run')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Only print the cutoff index: no request, no file. 0 means that nothing would be replaced. Several files print the path, a tab and the index; conversations on lines print PATH:LINE. With --cache and --model (or --summarizer-cmd) on the same command line, tcompact also requests the summary, shows it on standard error, and keeps it for the real run')
            [CompletionResult]::new('--explain', '--explain', [CompletionResultType]::ParameterName, 'Draw the conversation on standard error: roles, sizes, pins, pairs, the wanted cut and the actual one. Several conversations get a table of those that shrink most')
            [CompletionResult]::new('--diff', '--diff', [CompletionResultType]::ParameterName, 'Print the removed and the added messages, for people, instead of the transcript; writes nothing, not even an archive, except for --html')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'With --dry-run, --count or --emit summary: print a JSON object for each conversation; with --search, for each message')
            [CompletionResult]::new('--check', '--check', [CompletionResultType]::ParameterName, 'Only check the provider''s rules for calls, results, turns and texts: print each violation with the index of its message, and exit with 6 if there is any')
            [CompletionResult]::new('--resume', '--resume', [CompletionResultType]::ParameterName, 'Skip the files of a directory, or the summaries of a file, that an earlier run with the same input and rules finished')
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
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
