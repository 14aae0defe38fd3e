
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
            cand --keep 'How much of the end stays as it is; `none` for nothing, so that all is summarized'
            cand --pin 'Messages before the cut that stay too, before the summary: `system`, `first:N`, `match:REGEX` or `none`. Repeatable; rules that are given replace the default'
            cand --pairs 'How to move a cut that would split a tool call from its result: `strict`, to where it splits none; `langchain`, as LangChain does; `window:N`, looking only at N messages before it'
            cand --for 'The model that will read the result: tcompact looks up its context window, tokenizer and price (`--list models`). A name alone is the model as its maker serves it; PROVIDER:MODEL is taken as it is'
            cand --context-window 'The context window in tokens, over any table'
            cand --counter 'How tokens are counted: `approx`, `approx:CHARS`, `o200k_base`, `cl100k_base` or `bytes:N` [default: told by --for, else approx]'
            cand --overhead-tokens 'Tokens that are sent with every request and are not in the transcript (tools, system prompt)'
            cand --preset 'The rules of a known system (`--list presets`); other flags override it'
            cand --config 'Settings from a file: TOML, or YAML where its name ends in .yaml or .yml, with the names of the flags as keys; or a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it is there]'
            cand --prune 'What to remove before anything is summarized, from the messages before the kept part: `results[:SIZE]`, `reads`, `cap[:N]`, `thinking`, `media[:SIZE]`, `arguments[:N]`, `all` or `none` (`--list prune`). Repeatable [default: none; all with --fit]'
            cand --prune-except 'Tools whose calls and results --prune does not change'
            cand --fit 'The size that the result has at most (tokens:N, fraction:F): pruned as far as it takes, oldest and cheapest first, and summarized where that is not enough. Without --keep, the end that stays takes at most half of it [default: fraction:0.5, and --trigger fraction:0.85, where the window is known and none of --keep, --fit and --trigger is given]'
            cand --clear-tool-results 'Short for --prune results:SIZE'
            cand --truncate-args 'Short for --prune arguments:N'
            cand --thinking 'What becomes of Claude''s signed thinking in the messages that stay, once the history before it has changed: the newest models refuse it then. `auto` removes all of it where --for or the transcript names such a model'
            cand -m 'Who writes the summary: `extractive`, which is embedded and needs no network; PROVIDER:MODEL with a provider of `--list providers`; the name of a model alone, for the API of its maker; or `none` for nobody, so that --prune alone makes the transcript smaller [default: extractive]'
            cand --model 'Who writes the summary: `extractive`, which is embedded and needs no network; PROVIDER:MODEL with a provider of `--list providers`; the name of a model alone, for the API of its maker; or `none` for nobody, so that --prune alone makes the transcript smaller [default: extractive]'
            cand --base-url 'Where the provider''s API is, up to and with its version [default: the provider''s own]'
            cand --api-key-env 'The environment variable that holds the key [default: the provider''s own]'
            cand --request-json 'Change the body of each request as this JSON merge patch says (RFC 7396; `null` removes a member): parameters that tcompact does not know. What tcompact writes there itself (prompt, model) and keys are refused'
            cand --summarizer-cmd 'Run CMD with `sh -c` for a summary: the prompt on its standard input, the summary from its standard output'
            cand --prompt-file 'A template for the prompt; {messages} is where the history goes, {{ and }} are braces [default: the built-in template]'
            cand --trim-tokens 'How many tokens of the end of the history the summarizer is sent; `none` sends all of it'
            cand --summary-tokens 'The size asked of the summary, in tokens. The embedded summarizer never exceeds it, and counts the words around the summary'
            cand --summary-role 'The role of the summary message, where the format''s provider accepts it'
            cand --summary-prefix 'What the summary message begins with; a blank line follows unless TEXT ends in white space. With the default, the summary stands between <summary> and </summary>; with another, there is nothing else around it'
            cand --ledger 'Facts that a model''s summary must not lose (rules of the user''s, files, commands, errors, names, numbers) are found without a model, and those that it lacks are appended to it: in at most N tokens, or half of --summary-tokens (`on`)'
            cand --timeout 'Seconds a request or a command may take'
            cand --retries 'How often a request is tried again after a transport error or the status 408, 409, 429 or 5xx'
            cand --rate 'Requests a minute, at most [default: as many as are wanted]'
            cand --cache 'Keep summaries in DIR, and ask for none twice: a file each, by the hash of the model, its address, the prompt and all parameters. With --dry-run, and --model or --summarizer-cmd beside it, the summary is shown, and asked for if it is not there yet'
            cand --on-error 'What is done when the summarizer fails for good'
            cand --accept 'Which summaries are taken'
            cand -o 'Write to FILE instead of standard output, whole or not at all'
            cand --output 'Write to FILE instead of standard output, whole or not at all'
            cand -O 'Write what becomes of several files or of directories to the same tree under DIR; files that need nothing are copied'
            cand --output-dir 'Write what becomes of several files or of directories to the same tree under DIR; files that need nothing are copied'
            cand -i 'Replace each file, whole or not at all, keeping its mode and times; with SUFFIX, after a copy of it with SUFFIX at the end of its name is made'
            cand --in-place 'Replace each file, whole or not at all, keeping its mode and times; with SUFFIX, after a copy of it with SUFFIX at the end of its name is made'
            cand --emit 'What is written: the transcript in its own format, the update of a LangGraph state (null if nothing was done), or the summary alone'
            cand --archive 'Append what is cut away to FILE, and have the summary name it (`.jsonl`: a record with the messages as they were, for --restore; `.md`: for reading)'
            cand --restore 'Put back what such an archive (`.jsonl`) holds of the transcript, byte for byte, however often it was compacted. Where it has one conversation a line, lines that the archive does not know stay. Refused where the hashes do not match'
            cand --report 'Write to FILE what became of each conversation, a JSON object a line: the keys of --dry-run --json, and status, tokens afterwards, what the provider counts and what it costs, and after how many turns that pays'
            cand --html 'Draw what was done on one page for a browser, which needs no network and no script: the conversation to click through, the summary, the facts that were kept, what went where, tokens and money before and after. Of several conversations, a table and those that lose most'
            cand --repair 'Repair such violations first: remove calls without a result (`drop`), or add a result that says there is none, where the format can hold it (`synthesize`). tcompact removes results without a call, and moves misplaced results to their call'
            cand -j 'How many conversations are worked on at once [default: one for each core; 8 where a model or a command is asked]'
            cand --jobs 'How many conversations are worked on at once [default: one for each core; 8 where a model or a command is asked]'
            cand --color 'When messages on standard error, and --diff, are coloured; `auto`: on a terminal, unless `NO_COLOR` is set'
            cand --progress 'When progress is shown on standard error, which must be a terminal for it: `auto`, for several files, unless --quiet is given'
            cand --list 'Print a table and exit'
            cand --generate 'Print the completion script of a shell, or the manual page, and exit'
            cand --redact 'Mask secrets (keys, tokens, passwords, private keys, authorization headers, .env lines) in what the summarizer is sent and in the summary, each by a placeholder such as [github-token-1]'
            cand --count 'Print the tokens of each conversation and do nothing else; with --json, what they are spent on: roles, tools, thinking and media'
            cand -n 'Print the cutoff index and do nothing else: no request, no file. 0 means that nothing would be replaced. Of several files, the path, a tab and the index; of conversations on lines, PATH:LINE. Only with --cache and --model (or --summarizer-cmd) on the same command line, the summary is asked for, shown on standard error, and kept for the real run, which does not ask again'
            cand --dry-run 'Print the cutoff index and do nothing else: no request, no file. 0 means that nothing would be replaced. Of several files, the path, a tab and the index; of conversations on lines, PATH:LINE. Only with --cache and --model (or --summarizer-cmd) on the same command line, the summary is asked for, shown on standard error, and kept for the real run, which does not ask again'
            cand --explain 'Draw the conversation on standard error: roles, sizes, pins, what belongs together, where a cut was wanted and where it is. Of several conversations, a table of those that lose most'
            cand --diff 'Print what is taken away and put in, for people, instead of the transcript; nothing is written, not even an archive, except for --html'
            cand --json 'With --dry-run, --count or --emit summary: print a JSON object for each conversation'
            cand --check 'Only check the provider''s rules for calls, results and turns: print each violation with the index of its message, and exit with 6 if there is any'
            cand --resume 'Skip what an earlier run with the same input and the same rules has finished: files of the same directory, or summaries for the same file'
            cand -e 'Exit with 3 when nothing was compacted'
            cand --exit-status 'Exit with 3 when nothing was compacted'
            cand -q 'Report only errors'
            cand --quiet 'Report only errors'
            cand -v 'Report decisions, and settings that are no defaults, on standard error'
            cand --verbose 'Report decisions, and settings that are no defaults, on standard error'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
    ]
    $completions[$command]
}
