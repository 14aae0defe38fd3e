
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
            cand --trigger 'When to compact: only a conversation that has reached every SIZE. Repeat it for "or". Without it: always'
            cand --keep 'How much stays unchanged: the end, up to SIZE. The messages before it become one summary'
            cand --fit 'How large the result may be: tokens:N (or N), fraction:F or bytes:N. tcompact prunes first, and summarizes only if it must'
            cand --pin 'Messages before the cut that stay too: `system`, `user[:SIZE]` (the newest of the user''s), `first:N`, `match:REGEX`. With --fit, what the user typed stays too, up to a quarter of its SIZE. Repeatable: rules add to `system`, and `none` clears those before it and what --fit pins'
            cand --pairs 'How to move a cut that would part a tool call from its result: `strict` parts none, `langchain` does as LangChain does, `window:N` looks only at N messages before it'
            cand -m 'Writes the summary: PROVIDER:MODEL, the name of a model at its maker, `extractive` (offline) or `none` (prunes only) [default: extractive]'
            cand --model 'Writes the summary: PROVIDER:MODEL, the name of a model at its maker, `extractive` (offline) or `none` (prunes only) [default: extractive]'
            cand --for 'Reads the result: its context window, tokenizer and price are looked up. It is sent nothing. PROVIDER:MODEL is taken as it is'
            cand --summarizer-cmd 'Run CMD with `sh -c` (on Windows `cmd /C`) for a summary: the prompt on its standard input, the summary from its standard output'
            cand --summary-tokens 'The size to ask of the summary, in tokens. The embedded summarizer never exceeds it'
            cand --focus 'What the next work is about: the summary puts that first. In a --prompt-file, {focus} is its place'
            cand --redact 'Mask secrets in what a summarizer is sent and in the summary; with =all, in everything that is written. An archive holds what was there'
            cand --on-error 'What to do when the summarizer fails for good'
            cand --prune 'What to remove: `results[:SIZE]`, `reads`, `cap[:N]`, `thinking`, `media[:SIZE]`, `arguments[:N]`, `all` or `none` (`--list prune`). Repeatable [default: none; all with --fit]'
            cand --prune-except 'Tools whose calls and results --prune does not change'
            cand --thinking 'What to do with Claude''s signed thinking in the kept messages: the newest models refuse it when the history before it has changed'
            cand -o 'Write to FILE instead of standard output, whole or not at all'
            cand --output 'Write to FILE instead of standard output, whole or not at all'
            cand -O 'Write the results of several files or of folders to the same tree under DIR; files that need nothing are copied'
            cand --output-dir 'Write the results of several files or of folders to the same tree under DIR; files that need nothing are copied'
            cand -i 'Replace each file, whole or not at all; with =SUFFIX, first copy it to its name with SUFFIX at the end'
            cand --in-place 'Replace each file, whole or not at all; with =SUFFIX, first copy it to its name with SUFFIX at the end'
            cand --emit 'What to write'
            cand --report 'Write a JSON object a line to FILE for each conversation: the keys of --dry-run --json, its status, tokens afterwards, requests and cost'
            cand --html 'Write one page for a browser: the conversation to click through, the summary, tokens and money before and after'
            cand --sort 'With --count: `size` prints the largest conversation first'
            cand --archive 'Append the removed messages to FILE, and name FILE in the summary: `.jsonl` for --restore, --search and --show, `.md` for reading'
            cand --archive-note 'What the summary says of the archive: TEXT, in which `{archive}` is its path and `{id}` the id of the record, or `off` for nothing'
            cand --restore 'Put back what such an archive (`.jsonl`) holds, byte for byte, also where the transcript grew since. tcompact refuses if nothing matches'
            cand --rounds 'With --restore: put back at most N rounds of compaction, the last one first'
            cand --search 'Search archives and transcripts for a regular expression (`(?i)` ignores case), the newest message of each file first. Exit with 3 if nothing is found. --redact masks what is shown'
            cand --limit 'With --search: the most messages to show'
            cand --show 'Show messages of a transcript, or of an archive (PATH, or --archive FILE): INDEX or `last`, ROUND:INDEX as summaries write it, ID:INDEX as notes write it, or #RECORD:INDEX by the line of the archive. A..B is without B. --redact masks what is shown'
            cand --limit-tokens 'With --show: the most tokens of each message'
            cand --repair 'Repair such violations on the way: what to do with calls without a result'
            cand -j 'How many conversations to process at once [default: one for each core; 8 with a model or a command]'
            cand --jobs 'How many conversations to process at once [default: one for each core; 8 with a model or a command]'
            cand --lines 'How to read a JSONL file: one message a line, or one conversation a line. By default, the first line decides'
            cand --preset 'Use the rules of a known system (`--list presets`); other flags override them'
            cand --config 'Read settings from a TOML or YAML file, with the names of the flags as keys, or from a DeerFlow config.yaml [default: tcompact/config.toml in $XDG_CONFIG_HOME or ~/.config, if it exists]'
            cand --color 'When to color standard error and --diff: `auto` (on a terminal, unless `NO_COLOR` is set), `always`, `never`'
            cand --progress 'When to show progress on standard error, if it is a terminal: `auto` (several files, or a model writes), `always`, `never`'
            cand --list 'Print a table and exit'
            cand --generate 'Print the completion script of a shell, or the manual page, and exit'
            cand --from 'The format of the transcript, one of `--list formats`; `auto` looks at all messages'
            cand --context-window 'The context window in tokens, in place of the one of --for'
            cand --counter 'How to count tokens: `estimate`, `approx`, `approx:CHARS`, `o200k_base`, `cl100k_base`, `bytes:N` or `recorded` [default: the tokenizer of --for, else estimate for the model that the session names]'
            cand --counter-cmd 'Run CMD with `sh -c` (on Windows `cmd /C`) to count: it starts once, reads each text as a JSON string on a line, and writes the number on a line'
            cand --overhead-tokens 'Tokens of every request beside its messages, such as tools and the system prompt [default: those of the transcript]'
            cand --truncate-args 'With --preset deepagents: cut arguments of tools longer than N characters'
            cand --base-url 'The address of the provider''s API, including its version [default: the provider''s own]'
            cand --api-key-env 'The environment variable that holds the key [default: the provider''s own]'
            cand --request-json 'Merge this JSON into the body of each request (RFC 7396: `null` removes a member), but no key, prompt or model'
            cand --prompt-file 'A template for the prompt; {messages} is where the history goes, {{ and }} are braces [default: the built-in template]'
            cand --trim-tokens 'How many tokens of the end of the history to send to the summarizer; `none` sends everything'
            cand --cache 'Keep summaries in DIR, by the hash of all that decides them, so that none is requested twice'
            cand --timeout 'The most seconds that a request or a command may take'
            cand --retries 'How often to retry a request after a transport error or the status 408, 409, 429 or 5xx'
            cand --rate 'The most requests a minute [default: no limit]'
            cand --summary-role 'The role of the summary message, if the format''s provider accepts it'
            cand --summary-prefix 'The beginning of the summary message. The default also puts the summary between <summary> and </summary>'
            cand --ledger 'Append to a model''s summary what it lacks of the user''s last message, short rules, failures and changed files: at most N tokens; `on` is a fifth of --summary-tokens, and at least 200'
            cand --accept 'Which summaries to accept'
            cand --force 'With --in-place: replace also a file that another process has open for writing'
            cand -n 'Only print the index of the first kept message; 0 if nothing would be summarized. Several files print PATH, a tab and the index. With --cache and a summarizer on the same command line, tcompact also asks for the summary and shows it'
            cand --dry-run 'Only print the index of the first kept message; 0 if nothing would be summarized. Several files print PATH, a tab and the index. With --cache and a summarizer on the same command line, tcompact also asks for the summary and shows it'
            cand --explain 'Draw the conversation on standard error: roles, sizes, pins, pairs, the wanted cut and the actual one'
            cand --diff 'Print what is removed and added, for people, instead of the transcript; write nothing but --html'
            cand --count 'Only print the tokens of each conversation; with --json, also by role, tool, thinking and media; with --explain, draw these'
            cand --json 'Print JSON, with --dry-run, --count, --emit summary, --search or --show'
            cand --check 'Only check the provider''s rules for calls, results, turns and texts: print each violation with the index of its message, and exit with 6 if there is any'
            cand --resume 'Skip what an earlier run with the same input and rules finished'
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
