
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
            [CompletionResult]::new('--keep', '--keep', [CompletionResultType]::ParameterName, 'How much of the end stays as it is; `none` for nothing, so that all is summarized')
            [CompletionResult]::new('--pin', '--pin', [CompletionResultType]::ParameterName, 'Messages before the cut that stay too, before the summary: `system`, `first:N`, `match:REGEX` or `none`. Repeatable; rules that are given replace the default')
            [CompletionResult]::new('--pairs', '--pairs', [CompletionResultType]::ParameterName, 'How to move a cut that would split a tool call from its result: `strict`, to where it splits none; `langchain`, as LangChain does; `window:N`, looking only at N messages before it')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'The model that will read the result: tcompact looks up its context window, tokenizer and price (`--list models`). A name alone is the model as its maker serves it; PROVIDER:MODEL is taken as it is')
            [CompletionResult]::new('--context-window', '--context-window', [CompletionResultType]::ParameterName, 'The context window in tokens, over any table')
            [CompletionResult]::new('--counter', '--counter', [CompletionResultType]::ParameterName, 'How tokens are counted: `approx`, `approx:CHARS`, `o200k_base`, `cl100k_base` or `bytes:N` [default: told by --for, else approx]')
            [CompletionResult]::new('--overhead-tokens', '--overhead-tokens', [CompletionResultType]::ParameterName, 'Tokens that are sent with every request and are not in the transcript (tools, system prompt)')
            [CompletionResult]::new('--preset', '--preset', [CompletionResultType]::ParameterName, 'The rules of a known system (`--list presets`); other flags override it')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Settings from a file: TOML, or YAML where its name ends in .yaml or .yml, with the names of the flags as keys; or a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it is there]')
            [CompletionResult]::new('--prune', '--prune', [CompletionResultType]::ParameterName, 'What to remove before anything is summarized, from the messages before the kept part: `results[:SIZE]`, `reads`, `cap[:N]`, `thinking`, `media[:SIZE]`, `arguments[:N]`, `all` or `none` (`--list prune`). Repeatable [default: none; all with --fit]')
            [CompletionResult]::new('--prune-except', '--prune-except', [CompletionResultType]::ParameterName, 'Tools whose calls and results --prune does not change')
            [CompletionResult]::new('--fit', '--fit', [CompletionResultType]::ParameterName, 'The size that the result has at most (tokens:N, fraction:F): pruned as far as it takes, oldest and cheapest first, and summarized where that is not enough. Without --keep, the end that stays takes at most half of it [default: fraction:0.5, and --trigger fraction:0.85, where the window is known and none of --keep, --fit and --trigger is given]')
            [CompletionResult]::new('--clear-tool-results', '--clear-tool-results', [CompletionResultType]::ParameterName, 'Short for --prune results:SIZE')
            [CompletionResult]::new('--truncate-args', '--truncate-args', [CompletionResultType]::ParameterName, 'Short for --prune arguments:N')
            [CompletionResult]::new('--thinking', '--thinking', [CompletionResultType]::ParameterName, 'What becomes of Claude''s signed thinking in the messages that stay, once the history before it has changed: the newest models refuse it then. `auto` removes all of it where --for or the transcript names such a model')
            [CompletionResult]::new('-m', '-m', [CompletionResultType]::ParameterName, 'Who writes the summary: `extractive`, which is embedded and needs no network; PROVIDER:MODEL with a provider of `--list providers`; the name of a model alone, for the API of its maker; or `none` for nobody, so that --prune alone makes the transcript smaller [default: extractive]')
            [CompletionResult]::new('--model', '--model', [CompletionResultType]::ParameterName, 'Who writes the summary: `extractive`, which is embedded and needs no network; PROVIDER:MODEL with a provider of `--list providers`; the name of a model alone, for the API of its maker; or `none` for nobody, so that --prune alone makes the transcript smaller [default: extractive]')
            [CompletionResult]::new('--base-url', '--base-url', [CompletionResultType]::ParameterName, 'Where the provider''s API is, up to and with its version [default: the provider''s own]')
            [CompletionResult]::new('--api-key-env', '--api-key-env', [CompletionResultType]::ParameterName, 'The environment variable that holds the key [default: the provider''s own]')
            [CompletionResult]::new('--request-json', '--request-json', [CompletionResultType]::ParameterName, 'Change the body of each request as this JSON merge patch says (RFC 7396; `null` removes a member): parameters that tcompact does not know. What tcompact writes there itself (prompt, model) and keys are refused')
            [CompletionResult]::new('--summarizer-cmd', '--summarizer-cmd', [CompletionResultType]::ParameterName, 'Run CMD with `sh -c` for a summary: the prompt on its standard input, the summary from its standard output')
            [CompletionResult]::new('--prompt-file', '--prompt-file', [CompletionResultType]::ParameterName, 'A template for the prompt; {messages} is where the history goes, {{ and }} are braces [default: the built-in template]')
            [CompletionResult]::new('--trim-tokens', '--trim-tokens', [CompletionResultType]::ParameterName, 'How many tokens of the end of the history the summarizer is sent; `none` sends all of it')
            [CompletionResult]::new('--summary-tokens', '--summary-tokens', [CompletionResultType]::ParameterName, 'The size asked of the summary, in tokens. The embedded summarizer never exceeds it, and counts the words around the summary')
            [CompletionResult]::new('--summary-role', '--summary-role', [CompletionResultType]::ParameterName, 'The role of the summary message, where the format''s provider accepts it')
            [CompletionResult]::new('--summary-prefix', '--summary-prefix', [CompletionResultType]::ParameterName, 'What the summary message begins with; a blank line follows unless TEXT ends in white space. With the default, the summary stands between <summary> and </summary>; with another, there is nothing else around it')
            [CompletionResult]::new('--ledger', '--ledger', [CompletionResultType]::ParameterName, 'Facts that a model''s summary must not lose (rules of the user''s, files, commands, errors, names, numbers) are found without a model, and those that it lacks are appended to it: in at most N tokens, or half of --summary-tokens (`on`)')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Seconds a request or a command may take')
            [CompletionResult]::new('--retries', '--retries', [CompletionResultType]::ParameterName, 'How often a request is tried again after a transport error or the status 408, 409, 429 or 5xx')
            [CompletionResult]::new('--rate', '--rate', [CompletionResultType]::ParameterName, 'Requests a minute, at most [default: as many as are wanted]')
            [CompletionResult]::new('--cache', '--cache', [CompletionResultType]::ParameterName, 'Keep summaries in DIR, and ask for none twice: a file each, by the hash of the model, its address, the prompt and all parameters. With --dry-run, and --model or --summarizer-cmd beside it, the summary is shown, and asked for if it is not there yet')
            [CompletionResult]::new('--on-error', '--on-error', [CompletionResultType]::ParameterName, 'What is done when the summarizer fails for good')
            [CompletionResult]::new('--accept', '--accept', [CompletionResultType]::ParameterName, 'Which summaries are taken')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write to FILE instead of standard output, whole or not at all')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write to FILE instead of standard output, whole or not at all')
            [CompletionResult]::new('-O', '-O ', [CompletionResultType]::ParameterName, 'Write what becomes of several files or of directories to the same tree under DIR; files that need nothing are copied')
            [CompletionResult]::new('--output-dir', '--output-dir', [CompletionResultType]::ParameterName, 'Write what becomes of several files or of directories to the same tree under DIR; files that need nothing are copied')
            [CompletionResult]::new('-i', '-i', [CompletionResultType]::ParameterName, 'Replace each file, whole or not at all, keeping its mode and times; with SUFFIX, after a copy of it with SUFFIX at the end of its name is made')
            [CompletionResult]::new('--in-place', '--in-place', [CompletionResultType]::ParameterName, 'Replace each file, whole or not at all, keeping its mode and times; with SUFFIX, after a copy of it with SUFFIX at the end of its name is made')
            [CompletionResult]::new('--emit', '--emit', [CompletionResultType]::ParameterName, 'What is written: the transcript in its own format, the update of a LangGraph state (null if nothing was done), or the summary alone')
            [CompletionResult]::new('--archive', '--archive', [CompletionResultType]::ParameterName, 'Append what is cut away to FILE, and have the summary name it (`.jsonl`: a record with the messages as they were, for --restore; `.md`: for reading)')
            [CompletionResult]::new('--restore', '--restore', [CompletionResultType]::ParameterName, 'Put back what such an archive (`.jsonl`) holds of the transcript, byte for byte, however often it was compacted. Where it has one conversation a line, lines that the archive does not know stay. Refused where the hashes do not match')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'Write to FILE what became of each conversation, a JSON object a line: the keys of --dry-run --json, and status, tokens afterwards, what the provider counts and what it costs, and after how many turns that pays')
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'Draw what was done on one page for a browser, which needs no network and no script: the conversation to click through, the summary, the facts that were kept, what went where, tokens and money before and after. Of several conversations, a table and those that lose most')
            [CompletionResult]::new('--repair', '--repair', [CompletionResultType]::ParameterName, 'Repair such violations first: remove calls without a result (`drop`), or add a result that says there is none, where the format can hold it (`synthesize`). tcompact removes results without a call, and moves misplaced results to their call')
            [CompletionResult]::new('-j', '-j', [CompletionResultType]::ParameterName, 'How many conversations are worked on at once [default: one for each core; 8 where a model or a command is asked]')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'How many conversations are worked on at once [default: one for each core; 8 where a model or a command is asked]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When messages on standard error, and --diff, are coloured; `auto`: on a terminal, unless `NO_COLOR` is set')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When progress is shown on standard error, which must be a terminal for it: `auto`, for several files, unless --quiet is given')
            [CompletionResult]::new('--list', '--list', [CompletionResultType]::ParameterName, 'Print a table and exit')
            [CompletionResult]::new('--generate', '--generate', [CompletionResultType]::ParameterName, 'Print the completion script of a shell, or the manual page, and exit')
            [CompletionResult]::new('--redact', '--redact', [CompletionResultType]::ParameterName, 'Mask secrets (keys, tokens, passwords, private keys, authorization headers, .env lines) in what the summarizer is sent and in the summary, each by a placeholder such as [github-token-1]')
            [CompletionResult]::new('--count', '--count', [CompletionResultType]::ParameterName, 'Print the tokens of each conversation and do nothing else; with --json, what they are spent on: roles, tools, thinking and media')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Print the cutoff index and do nothing else: no request, no file. 0 means that nothing would be replaced. Of several files, the path, a tab and the index; of conversations on lines, PATH:LINE. Only with --cache and --model (or --summarizer-cmd) on the same command line, the summary is asked for, shown on standard error, and kept for the real run, which does not ask again')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print the cutoff index and do nothing else: no request, no file. 0 means that nothing would be replaced. Of several files, the path, a tab and the index; of conversations on lines, PATH:LINE. Only with --cache and --model (or --summarizer-cmd) on the same command line, the summary is asked for, shown on standard error, and kept for the real run, which does not ask again')
            [CompletionResult]::new('--explain', '--explain', [CompletionResultType]::ParameterName, 'Draw the conversation on standard error: roles, sizes, pins, what belongs together, where a cut was wanted and where it is. Of several conversations, a table of those that lose most')
            [CompletionResult]::new('--diff', '--diff', [CompletionResultType]::ParameterName, 'Print what is taken away and put in, for people, instead of the transcript; nothing is written, not even an archive, except for --html')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'With --dry-run, --count or --emit summary: print a JSON object for each conversation')
            [CompletionResult]::new('--check', '--check', [CompletionResultType]::ParameterName, 'Only check the provider''s rules for calls, results and turns: print each violation with the index of its message, and exit with 6 if there is any')
            [CompletionResult]::new('--resume', '--resume', [CompletionResultType]::ParameterName, 'Skip what an earlier run with the same input and the same rules has finished: files of the same directory, or summaries for the same file')
            [CompletionResult]::new('-e', '-e', [CompletionResultType]::ParameterName, 'Exit with 3 when nothing was compacted')
            [CompletionResult]::new('--exit-status', '--exit-status', [CompletionResultType]::ParameterName, 'Exit with 3 when nothing was compacted')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Report only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Report only errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Report decisions, and settings that are no defaults, on standard error')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Report decisions, and settings that are no defaults, on standard error')
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
