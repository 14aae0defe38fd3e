_tcompact_models() {
    tcompact list models 2>/dev/null | awk 'NR > 1 { print $1; if ($1 !~ /^(groq|openrouter|together):|^google:claude/) { sub(/^[^:]*:/, "", $1); print $1 } }'
}

_tcompact() {
    # Bash splits words at `:` and `=`, so the word is taken from the line.
    local line="${COMP_LINE:0:COMP_POINT}" words="" flags="" typed
    local cur="${line##*[[:space:]]}"
    local before="${line%"$cur"}"
    before="${before%"${before##*[![:space:]]}"}"
    local flag="${before##*[[:space:]]}"
    if [[ $cur == --*=* ]]; then
        flag="${cur%%=*}"
        cur="${cur#*=}"
    fi
    COMPREPLY=()
    read -ra typed <<< "$before"
    if [[ ${#typed[@]} -eq 1 && $cur != -* ]]; then
        # The first word is a command or a file. Without such a command, readline completes the name of a file.
        COMPREPLY=($(compgen -W "count check repair redact search show restore slim list completions man help" -- "$cur"))
        [[ ${#COMPREPLY[@]} -gt 0 ]] || return
        local files
        mapfile -t files < <(compgen -f -- "$cur")
        COMPREPLY+=("${files[@]}")
        compopt -o filenames
        return
    fi
    if [[ ${#typed[@]} -eq 2 && $cur != -* ]]; then
        case "${typed[1]}" in
        repair) words="drop synthesize" ;;
        list) words="formats presets providers models counters prune secrets" ;;
        completions) words="bash zsh fish powershell elvish" ;;
        help) words="count check repair redact search show restore slim list completions man help" ;;
        esac
    fi
    case "${typed[1]}" in
        help) flags="--help -h" ;;
        man) flags="--help -h" ;;
        completions) flags="--help -h" ;;
        list) flags="--help -h" ;;
        slim) flags="--dry-run -n --older --no-archive --force --from --latest --lines --config --quiet -q --verbose -v --color --help -h" ;;
        restore) flags="--rounds --output -o --in-place -i --force --config --quiet -q --verbose -v --color --help -h" ;;
        show) flags="--limit-tokens --json --archive --redact --from --latest --lines --config --quiet -q --verbose -v --color --help -h" ;;
        search) flags="--limit --case-sensitive -s --count --json --archive --redact --from --latest --lines --config --quiet -q --verbose -v --color --help -h" ;;
        redact) flags="--output -o --in-place -i --force --output-dir -O --archive --from --latest --lines --jobs -j --progress --config --quiet -q --verbose -v --color --help -h" ;;
        repair) flags="--for --thinking --redact --output -o --in-place -i --force --output-dir -O --archive --from --latest --lines --jobs -j --progress --config --quiet -q --verbose -v --color --help -h" ;;
        check) flags="--for --thinking --from --latest --lines --redact --jobs -j --progress --config --quiet -q --verbose -v --color --help -h" ;;
        count) flags="--sort --json --explain --for --context-window --counter --counter-cmd --overhead-tokens --from --latest --lines --timeout --redact --jobs -j --progress --preset --config --quiet -q --verbose -v --color --help -h" ;;
        *) flags="--trigger --keep --fit --pin --pairs --model -m --for --summarizer-cmd --summary-tokens --focus --on-error --prune --prune-except --thinking --output -o --in-place -i --force --output-dir -O --emit --report --html --dry-run -n --explain --diff --json --archive --archive-note --repair --rescue --redact --jobs -j --progress --resume --exit-status -e --preset --config --quiet -q --verbose -v --color --from --latest --lines --context-window --counter --counter-cmd --overhead-tokens --truncate-args --base-url --api-key-env --request-json --prompt-file --trim-tokens --cache --timeout --retries --rate --summary-role --summary-prefix --ledger --accept --help -h --version -V" ;;
    esac
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
        --on-error) words="fail passthrough extractive embed" ;;
        --prune) words="all none unsent thinking media reads arguments results cap" ;;
        --prune-except) compopt +o default +o bashdefault; return ;;
        --thinking) words="auto keep drop" ;;
        --output|-o) return ;;
        --in-place=) compopt +o default +o bashdefault; return ;;
        --output-dir|-O) compopt +o default +o bashdefault -o dirnames; return ;;
        --emit) words="messages update summary handoff" ;;
        --report) return ;;
        --html) return ;;
        --archive) return ;;
        --archive-note) compopt +o default +o bashdefault; return ;;
        --repair) words="drop synthesize" ;;
        --redact=) compopt +o default +o bashdefault; return ;;
        --jobs|-j) compopt +o default +o bashdefault; return ;;
        --progress) words="auto always never" ;;
        --preset) words="langchain deepagents deerflow deerflow-v1 tongyi synaptic" ;;
        --config) return ;;
        --color) words="auto always never" ;;
        --from) words="auto openai-chat openai-responses anthropic bedrock gemini langchain claude-code codex gemini-cli pi opencode copilot-cli kimi-code qwen-code openhands sharegpt ai-sdk pydantic-ai ollama inspect tau-bench" ;;
        --latest) words="claude-code codex gemini-cli pi copilot-cli kimi-code qwen-code" ;;
        --lines) words="messages conversations" ;;
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
        --sort) words="size" ;;
        --limit) compopt +o default +o bashdefault; return ;;
        --limit-tokens) compopt +o default +o bashdefault; return ;;
        --rounds) compopt +o default +o bashdefault; return ;;
        --older) compopt +o default +o bashdefault; return ;;
        *) [[ $cur == -* ]] && words="$flags" ;;
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
