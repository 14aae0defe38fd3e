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
        --trigger) words="messages: tokens: fraction: steps: turns: bytes:" ;;
        --keep) words="none messages: tokens: fraction: steps: turns: bytes:" ;;
        --fit) words="tokens: fraction: bytes:" ;;
        --pin) words="system none first: match:" ;;
        --pairs) words="strict langchain window:" ;;
        --model|-m) words="extractive none $(_tcompact_models)" ;;
        --for) words=" $(_tcompact_models)" ;;
        --summarizer-cmd) compopt +o default +o bashdefault; return ;;
        --summary-tokens) compopt +o default +o bashdefault; return ;;
        --focus) compopt +o default +o bashdefault; return ;;
        --redact=) compopt +o default +o bashdefault; return ;;
        --on-error) words="fail passthrough extractive embed" ;;
        --prune) words="all none thinking media reads arguments results cap" ;;
        --prune-except) compopt +o default +o bashdefault; return ;;
        --thinking) words="auto keep drop" ;;
        --output|-o) return ;;
        --output-dir|-O) compopt +o default +o bashdefault -o dirnames; return ;;
        --in-place=) compopt +o default +o bashdefault; return ;;
        --emit) words="messages update summary handoff" ;;
        --report) return ;;
        --html) return ;;
        --sort) words="size" ;;
        --archive) return ;;
        --archive-note) compopt +o default +o bashdefault; return ;;
        --restore) return ;;
        --rounds) compopt +o default +o bashdefault; return ;;
        --search) compopt +o default +o bashdefault; return ;;
        --limit) compopt +o default +o bashdefault; return ;;
        --show) compopt +o default +o bashdefault; return ;;
        --limit-tokens) compopt +o default +o bashdefault; return ;;
        --repair) words="drop synthesize" ;;
        --jobs|-j) compopt +o default +o bashdefault; return ;;
        --lines) words="messages conversations" ;;
        --preset) words="langchain deepagents deerflow deerflow-v1 tongyi synaptic" ;;
        --config) return ;;
        --color) words="auto always never" ;;
        --progress) words="auto always never" ;;
        --list) words="formats presets providers models counters prune secrets" ;;
        --generate) words="bash zsh fish powershell elvish man" ;;
        --from) words="auto openai-chat openai-responses anthropic bedrock gemini langchain claude-code codex gemini-cli pi openhands sharegpt ai-sdk pydantic-ai ollama inspect tau-bench" ;;
        --context-window) compopt +o default +o bashdefault; return ;;
        --counter) words="approx o200k_base cl100k_base bytes:" ;;
        --counter-cmd) compopt +o default +o bashdefault; return ;;
        --overhead-tokens) compopt +o default +o bashdefault; return ;;
        --truncate-args) compopt +o default +o bashdefault; return ;;
        --base-url) compopt +o default +o bashdefault; return ;;
        --api-key-env) compopt +o default +o bashdefault; return ;;
        --request-json) compopt +o default +o bashdefault; return ;;
        --prompt-file) return ;;
        --trim-tokens) words="none" ;;
        --cache) compopt +o default +o bashdefault -o dirnames; return ;;
        --timeout) compopt +o default +o bashdefault; return ;;
        --retries) compopt +o default +o bashdefault; return ;;
        --rate) compopt +o default +o bashdefault; return ;;
        --summary-role) words="user system assistant" ;;
        --summary-prefix) compopt +o default +o bashdefault; return ;;
        --ledger) words="on off" ;;
        --accept) words="smaller any" ;;
        *) [[ $cur == -* ]] && words="--trigger --keep --fit --pin --pairs --model -m --for --summarizer-cmd --summary-tokens --focus --redact --on-error --prune --prune-except --thinking --output -o --output-dir -O --in-place -i --force --emit --report --html --dry-run -n --explain --diff --count --sort --json --archive --archive-note --restore --rounds --search --limit --show --limit-tokens --check --repair --jobs -j --resume --lines --exit-status -e --preset --config --quiet -q --verbose -v --color --progress --list --generate --from --context-window --counter --counter-cmd --overhead-tokens --truncate-args --base-url --api-key-env --request-json --prompt-file --trim-tokens --cache --timeout --retries --rate --summary-role --summary-prefix --ledger --accept --help -h --version -V" ;;
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
