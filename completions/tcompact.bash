_tcompact_models() {
    tcompact --list models 2>/dev/null | awk 'NR > 1 { print $1; if ($1 !~ /^(groq|openrouter|together):|^google:claude/) { sub(/^[^:]*:/, "", $1); print $1 } }'
}

_tcompact() {
    # Bash splits words at `:` and `=`, so the word is taken from the line.
    local line="${COMP_LINE:0:COMP_POINT}" words=""
    local cur="${line##*[[:space:]]}"
    local before="${line%"$cur"}"
    before="${before%"${before##*[![:space:]]}"}"
    local flag="${before##*[[:space:]]}"
    if [[ $cur == --*=* ]]; then
        flag="${cur%%=*}"
        cur="${cur#*=}"
    fi
    COMPREPLY=()
    case "$flag" in
        --from) words="auto openai-chat openai-responses anthropic bedrock gemini langchain claude-code codex gemini-cli pi openhands sharegpt ai-sdk pydantic-ai ollama inspect tau-bench" ;;
        --lines) words="messages conversations" ;;
        --trigger) words="messages: tokens: fraction: turns:" ;;
        --keep) words="none messages: tokens: fraction: turns:" ;;
        --pin) words="system none first: match:" ;;
        --pairs) words="strict langchain window:" ;;
        --for) words=" $(_tcompact_models)" ;;
        --context-window) compopt +o default +o bashdefault; return ;;
        --counter) words="approx o200k_base cl100k_base bytes:" ;;
        --overhead-tokens) compopt +o default +o bashdefault; return ;;
        --preset) words="langchain deepagents deerflow deerflow-v1 tongyi synaptic anthropic-context-editing" ;;
        --config) return ;;
        --prune) words="all none thinking media reads arguments results cap" ;;
        --prune-except) compopt +o default +o bashdefault; return ;;
        --fit) words="tokens: fraction:" ;;
        --clear-tool-results) words="messages: tokens: fraction: turns:" ;;
        --truncate-args) compopt +o default +o bashdefault; return ;;
        --thinking) words="auto keep drop" ;;
        --model|-m) words="extractive none $(_tcompact_models)" ;;
        --base-url) compopt +o default +o bashdefault; return ;;
        --api-key-env) compopt +o default +o bashdefault; return ;;
        --request-json) compopt +o default +o bashdefault; return ;;
        --summarizer-cmd) compopt +o default +o bashdefault; return ;;
        --prompt-file) return ;;
        --focus) compopt +o default +o bashdefault; return ;;
        --trim-tokens) words="none" ;;
        --summary-tokens) compopt +o default +o bashdefault; return ;;
        --summary-role) words="user system assistant" ;;
        --summary-prefix) compopt +o default +o bashdefault; return ;;
        --ledger) words="on off" ;;
        --redact=) compopt +o default +o bashdefault; return ;;
        --timeout) compopt +o default +o bashdefault; return ;;
        --retries) compopt +o default +o bashdefault; return ;;
        --rate) compopt +o default +o bashdefault; return ;;
        --cache) compopt +o default +o bashdefault -o dirnames; return ;;
        --on-error) words="fail passthrough extractive embed" ;;
        --accept) words="smaller any" ;;
        --output|-o) return ;;
        --output-dir|-O) compopt +o default +o bashdefault -o dirnames; return ;;
        --in-place=) compopt +o default +o bashdefault; return ;;
        --emit) words="messages update summary handoff" ;;
        --archive) return ;;
        --archive-note) compopt +o default +o bashdefault; return ;;
        --restore) return ;;
        --rounds) compopt +o default +o bashdefault; return ;;
        --search) compopt +o default +o bashdefault; return ;;
        --limit) compopt +o default +o bashdefault; return ;;
        --show) compopt +o default +o bashdefault; return ;;
        --limit-tokens) compopt +o default +o bashdefault; return ;;
        --report) return ;;
        --html) return ;;
        --sort) words="size" ;;
        --repair) words="drop synthesize" ;;
        --jobs|-j) compopt +o default +o bashdefault; return ;;
        --color) words="auto always never" ;;
        --progress) words="auto always never" ;;
        --list) words="formats presets providers models counters prune secrets" ;;
        --generate) words="bash zsh fish powershell elvish man" ;;
        *) [[ $cur == -* ]] && words="--from --lines --trigger --keep --pin --pairs --for --context-window --counter --overhead-tokens --preset --config --prune --prune-except --fit --clear-tool-results --truncate-args --thinking --model -m --base-url --api-key-env --request-json --summarizer-cmd --prompt-file --focus --trim-tokens --summary-tokens --summary-role --summary-prefix --ledger --redact --timeout --retries --rate --cache --on-error --accept --output -o --output-dir -O --in-place -i --emit --archive --archive-note --restore --rounds --search --limit --show --limit-tokens --report --html --count --sort --dry-run -n --explain --diff --json --check --repair --jobs -j --resume --exit-status -e --quiet -q --verbose -v --color --progress --list --generate --help -h --version -V" ;;
    esac
    # Without words, readline completes the name of a file.
    [[ -n $words ]] || return
    compopt +o default +o bashdefault
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    if [[ $COMP_WORDBREAKS == *:* ]]; then
        local stem="${cur%"${cur##*:}"}"
        COMPREPLY=("${COMPREPLY[@]#"$stem"}")
    fi
    [[ "${COMPREPLY[*]}" == *: ]] && compopt -o nospace
}

complete -F _tcompact -o bashdefault -o default tcompact
