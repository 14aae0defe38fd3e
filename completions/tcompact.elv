
use builtin;
use str;

set edit:completion:arg-completer[tcompact] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'tcompact'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'tcompact'= {
            cand --from 'The format of the transcript, one of `--list formats`; `auto` looks at all messages'
            cand --lines 'How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides. tcompact writes conversations in order, each as soon as it is done'
            cand --trigger 'Compact when every SIZE is reached (messages:N, tokens:N, fraction:F, turns:N; k and m as in tokens:170k). Repeat for "or". Always, if not given'
            cand --keep 'How much of the end to keep unchanged; `none` summarizes everything. `from:INDEX` keeps that message and all behind it, as --pairs moves the cut (only on the command line). `since:TIME` keeps the first message at or after a time and all behind it: RFC 3339, or `1d`, `6h` or `30m` before the last message'
            cand --pin 'Messages before the cut to keep too, in front of the summary: `system`, `user[:SIZE]` (what the user said, the newest up to SIZE, as in user:tokens:20k), `first:N` or `match:REGEX`. Repeatable; your rules add to `system`, and `none` clears those before it'
            cand --pairs 'How to move a cut that would split a tool call from its result: `strict`, to where it splits none; `langchain`, as LangChain does; `window:N`, looking only at N messages before it'
            cand --for 'The model that will read the result: tcompact looks up its context window, tokenizer and price (`--list models`). A name alone is the model as its maker serves it; PROVIDER:MODEL is taken as it is'
            cand --context-window 'The context window in tokens, over any table'
            cand --counter 'How to count tokens: `approx`, `approx:CHARS`, `o200k_base`, `cl100k_base` or `bytes:N` [default: the tokenizer of --for, else approx]'
            cand --overhead-tokens 'Tokens of every request that are not in the transcript (tools, system prompt)'
            cand --preset 'Use the rules of a known system (`--list presets`); other flags override them'
            cand --config 'Read settings from a file: TOML, or YAML if its name ends in .yaml or .yml, with the names of the flags as keys; or a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]'
            cand --prune 'What to remove before summarizing, from the messages before the kept part: `results[:SIZE]`, `reads`, `cap[:N]`, `thinking`, `media[:SIZE]`, `arguments[:N]`, `all` or `none` (`--list prune`). Repeatable [default: none; all with --fit]'
            cand --prune-except 'Tools whose calls and results --prune does not change'
            cand --fit 'The largest size of the result (tokens:N, fraction:F). tcompact prunes as much as it takes, oldest and cheapest first, and summarizes if that is not enough. Without --keep, the kept end takes at most half of it [default: fraction:0.5, and --trigger fraction:0.85, if the window is known and you give none of --keep, --fit and --trigger]'
            cand --clear-tool-results 'Short for --prune results:SIZE'
            cand --truncate-args 'Short for --prune arguments:N'
            cand --thinking 'What to do with Claude''s signed thinking in the kept messages when the history before it changes, since the newest models refuse it then. `auto` removes all of it if --for or the transcript names such a model'
            cand -m 'The model that writes the summary: `extractive`, the embedded summarizer, which needs no network and quotes the conversation without understanding it; PROVIDER:MODEL with a provider of `--list providers`; the name of a model alone, for the API of its maker; or `none`, so that only --prune makes the transcript smaller [default: extractive]'
            cand --model 'The model that writes the summary: `extractive`, the embedded summarizer, which needs no network and quotes the conversation without understanding it; PROVIDER:MODEL with a provider of `--list providers`; the name of a model alone, for the API of its maker; or `none`, so that only --prune makes the transcript smaller [default: extractive]'
            cand --base-url 'The address of the provider''s API, including its version [default: the provider''s own]'
            cand --api-key-env 'The environment variable that holds the key [default: the provider''s own]'
            cand --request-json 'Apply this JSON merge patch (RFC 7396; `null` removes a member) to the body of each request, for parameters that tcompact does not know. tcompact refuses patches of its own parts (prompt, model) and keys'
            cand --summarizer-cmd 'Run CMD with `sh -c` (on Windows `cmd /C`) for a summary: the prompt on its standard input, the summary from its standard output'
            cand --prompt-file 'A template for the prompt; {messages} is where the history goes, {{ and }} are braces [default: the built-in template]'
            cand --focus 'What the next work is about. A model is told; where --prompt-file is given, {focus} is where TEXT goes. The embedded summarizer puts calls and sentences of the assistant with words of TEXT before others'
            cand --trim-tokens 'How many tokens of the end of the history to send to the summarizer; `none` sends everything'
            cand --summary-tokens 'The size to request for the summary, in tokens. The embedded summarizer never exceeds it, also with --fit, and counts the words around the summary'
            cand --summary-role 'The role of the summary message, if the format''s provider accepts it'
            cand --summary-prefix 'The beginning of the summary message; a blank line follows unless TEXT ends in white space. The default also puts the summary between <summary> and </summary>; another TEXT does not'
            cand --ledger 'Append to a model''s summary what it lacks of the user''s last message, short rules of the user, failures and changed files, found without a model. N is the most tokens for that; `on` is a fifth of --summary-tokens, and at least 200. However short the summary is, the result stays smaller than what it replaces'
            cand --redact 'Mask secrets (keys, tokens, passwords, private keys, authorization headers, .env lines) in the text for the summarizer and in the summary, each by a placeholder such as [github-token-1]; with all, in everything that is written. An archive holds what was there'
            cand --timeout 'The most seconds that a request or a command may take'
            cand --retries 'How often to retry a request after a transport error or the status 408, 409, 429 or 5xx'
            cand --rate 'The most requests a minute [default: no limit]'
            cand --cache 'Keep summaries in DIR, so that none is requested twice: a file each, by the hash of the model, its address, the prompt and all parameters. With --dry-run and --model or --summarizer-cmd, tcompact also shows the summary, and requests it if DIR lacks it'
            cand --on-error 'What to do when the summarizer fails for good'
            cand --accept 'Which summaries to accept'
            cand -o 'Write to FILE instead of standard output, whole or not at all'
            cand --output 'Write to FILE instead of standard output, whole or not at all'
            cand -O 'Write the results of several files or of directories to the same tree under DIR; files that need nothing are copied'
            cand --output-dir 'Write the results of several files or of directories to the same tree under DIR; files that need nothing are copied'
            cand -i 'Replace each file, whole or not at all, keeping its mode and times; with SUFFIX, first copy it to its name with SUFFIX at the end'
            cand --in-place 'Replace each file, whole or not at all, keeping its mode and times; with SUFFIX, first copy it to its name with SUFFIX at the end'
            cand --emit 'What to write: the transcript in its own format, the update of a LangGraph state (null if nothing changed), only the summary, or plain text to go on with elsewhere'
            cand --archive 'Append the removed messages to FILE, and name FILE in the summary (`.jsonl`: a record of the original messages, for --restore; `.md`: for reading)'
            cand --archive-note 'What the summary says of the archive, in place of how to search it and show its messages: TEXT, in which `{archive}` is its path, or `off` for nothing'
            cand --restore 'Restore the transcript from such an archive (`.jsonl`), byte for byte: as many rounds of compaction as it holds, also where lines were appended between them. In a file of one conversation a line, lines that the archive does not know stay unchanged. A JSON document that grew gets its messages back without a proof by hash. tcompact refuses if nothing matches'
            cand --rounds 'With --restore: put back at most N rounds of compaction, the last one first'
            cand --search 'Search archives and transcripts for messages whose text holds a regular expression (`(?i)` ignores case): the place that --show takes, role, tool, and the matching lines with one around. The newest of each file first; 3 is the exit code where nothing is found. Archives hold secrets as they were; --redact masks what is shown'
            cand --limit 'With --search: the most messages to show'
            cand --show 'Show messages of a transcript by their index, or what was cut from an archive (PATH, or --archive FILE): ROUND:INDEX as digests write it, INDEX in the last round, or #RECORD:INDEX by the line of the archive. A..B is a range without B. With --json, the messages as they were. Archives hold secrets as they were; --redact masks what is shown'
            cand --limit-tokens 'With --show: the most tokens of each message'
            cand --report 'Write a JSON object a line to FILE for each conversation: the keys of --dry-run --json, its status, its tokens afterwards, the provider''s count and cost, and after how many turns that pays'
            cand --html 'Write one page for a browser, which needs no network and no script: the conversation to click through, the summary, and tokens and money before and after. Several conversations get a table, and a drawing of those that shrink most'
            cand --sort 'The order of the lines of --count: `size` prints the largest conversation first [default: as the inputs are given]'
            cand --repair 'Repair such violations first: remove calls without a result (`drop`), or add a result that says there is none, where the format can hold it (`synthesize`). tcompact removes results without a call, moves misplaced results to their call, and repairs ids and texts'
            cand -j 'How many conversations to process at once [default: one for each core; 8 with a model or a command]'
            cand --jobs 'How many conversations to process at once [default: one for each core; 8 with a model or a command]'
            cand --color 'When to color messages on standard error, and --diff; `auto`: on a terminal, unless `NO_COLOR` is set'
            cand --progress 'When progress is shown on standard error, which must be a terminal for it: `auto`, for several files and while a summarizer is asked, unless --quiet is given'
            cand --list 'Print a table and exit'
            cand --generate 'Print the completion script of a shell, or the manual page, and exit'
            cand --count 'Only print the tokens of each conversation; with --json, also by role, tool, thinking and media. With --explain, draw these categories of all conversations together. On a terminal, the sum of several follows'
            cand -n 'Only print the cutoff index: no request, no file. 0 means that nothing would be replaced. Several files print the path, a tab and the index; conversations on lines print PATH:LINE. With --cache and --model (or --summarizer-cmd) on the same command line, tcompact also requests the summary, shows it on standard error, and keeps it for the real run'
            cand --dry-run 'Only print the cutoff index: no request, no file. 0 means that nothing would be replaced. Several files print the path, a tab and the index; conversations on lines print PATH:LINE. With --cache and --model (or --summarizer-cmd) on the same command line, tcompact also requests the summary, shows it on standard error, and keeps it for the real run'
            cand --explain 'Draw the conversation on standard error: roles, sizes, pins, pairs, the wanted cut and the actual one. Several conversations get a table of those that shrink most'
            cand --diff 'Print the removed and the added messages, for people, instead of the transcript; writes nothing, not even an archive, except for --html'
            cand --json 'With --dry-run, --count or --emit summary: print a JSON object for each conversation; with --search, for each message'
            cand --check 'Only check the provider''s rules for calls, results, turns and texts: print each violation with the index of its message, and exit with 6 if there is any'
            cand --resume 'Skip the files of a directory, or the summaries of a file, that an earlier run with the same input and rules finished'
            cand -e 'Exit with 3 when nothing was compacted'
            cand --exit-status 'Exit with 3 when nothing was compacted'
            cand -q 'Report only errors'
            cand --quiet 'Report only errors'
            cand -v 'Report decisions, and settings that differ from the defaults, on standard error'
            cand --verbose 'Report decisions, and settings that differ from the defaults, on standard error'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
    ]
    $completions[$command]
}
