//! The completions: the output of `clap_complete` for each command with the values that it does not know, and our own
//! script for bash. That one offers flags wherever a file is expected. The first word is a command or a file, for which
//! `clap_complete` has no script. The integration tests run real shells.

use crate::cli::commands::{CommandName, joined};
use crate::presets::PRESETS;
use crate::prune::KINDS;
use crate::transcript::formats::FORMATS;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, ValueHint};
use clap_complete::Shell;

/// Prints the names of models: with the provider, and alone if the maker serves the model.
const MODELS: &str = "tcompact list models 2>/dev/null | awk 'NR > 1 { print $1; \
    if ($1 !~ /^(groq|openrouter|together):|^google:claude/) { sub(/^[^:]*:/, \"\", $1); print $1 } }'";

/// What a shell offers for the value of a flag.
enum Offer {
    /// These words. After a word that ends in a colon, another word follows at once.
    Words(Vec<String>),
    /// These words, and models.
    Models(Vec<String>),
    Files,
    Folders,
    Nothing,
}

fn offer(arg: &Arg) -> Offer {
    let words = |words: &[&str]| Offer::Words(words.iter().map(|word| (*word).to_owned()).collect());
    let listed = |first: &[&str], names: Vec<&str>| words(&[first, &names[..]].concat());
    match arg.get_long().unwrap_or_default() {
        "from" => listed(&["auto"], FORMATS.iter().map(|format| format.name).collect()),
        "preset" => listed(&[], PRESETS.iter().map(|preset| preset.name).collect()),
        "prune" => listed(&["all", "none"], KINDS.iter().map(|kind| kind.name).collect()),
        "pairs" => words(&["strict", "langchain", "window:"]),
        "counter" => words(&["approx", "o200k_base", "cl100k_base", "bytes:"]),
        "pin" => words(&["system", "none", "first:", "match:"]),
        "trigger" => words(&["messages:", "tokens:", "fraction:", "steps:", "turns:", "bytes:"]),
        "keep" => words(&["none", "messages:", "tokens:", "fraction:", "steps:", "turns:", "bytes:"]),
        "fit" => words(&["tokens:", "fraction:", "bytes:"]),
        "ledger" => words(&["on", "off"]),
        "trim-tokens" => words(&["none"]),
        "for" => Offer::Models(Vec::new()),
        "model" => Offer::Models(vec!["extractive".to_owned(), "none".to_owned()]),
        _ => match (arg.get_possible_values(), arg.get_value_hint()) {
            (values, _) if !values.is_empty() => {
                Offer::Words(values.iter().map(|value| value.get_name().to_owned()).collect())
            }
            (_, ValueHint::FilePath | ValueHint::AnyPath) => Offer::Files,
            (_, ValueHint::DirPath) => Offer::Folders,
            _ => Offer::Nothing,
        },
    }
}

/// The flags that take a value, with their long names and what to offer.
fn offers(command: &Command) -> Vec<(&Arg, &str, Offer)> {
    let takes = |arg: &&Arg| matches!(arg.get_action(), ArgAction::Set | ArgAction::Append) && !arg.is_hide_set();
    let args = command.get_arguments().filter(takes);
    args.filter_map(|arg| Some((arg, arg.get_long()?, offer(arg)))).collect()
}

/// The words that a command takes first, where they are a few known ones.
fn first_words(command: &Command) -> Vec<String> {
    let first = command.get_positionals().next();
    let values = first.map(Arg::get_possible_values).unwrap_or_default();
    values.iter().map(|value| value.get_name().to_owned()).collect()
}

fn command_words() -> Vec<String> {
    CommandName::NAMED.iter().map(|name| name.word().to_owned()).collect()
}

/// The flags of a command, separated by blanks.
fn flags(command: &Command) -> String {
    let mut flags = Vec::new();
    for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
        flags.extend(arg.get_long().map(|long| format!("--{long}")));
        flags.extend(arg.get_short().map(|short| format!("-{short}")));
    }
    flags.join(" ")
}

/// A command as its own script has it: with `--help`.
fn built(name: CommandName) -> Command {
    let mut command = if name == CommandName::Compact { without_version() } else { name.command() };
    if name == CommandName::Help {
        command = command.mut_arg("command", |arg| {
            arg.value_parser(PossibleValuesParser::new(CommandName::NAMED.map(CommandName::word)))
        });
    }
    command.build();
    command
}

/// The folder that cargo runs tests in must not be in a file.
fn without_version() -> Command {
    <crate::cli::CompactArguments as clap::CommandFactory>::command()
}

/// The script of `clap_complete` for one command.
fn generated(shell: Shell, mut command: Command) -> String {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut command, "tcompact", &mut out);
    String::from_utf8(out).expect("UTF-8")
}

pub(super) fn script(shell: Shell) -> Vec<u8> {
    let script = match shell {
        Shell::Bash => bash(),
        Shell::Zsh => zsh(),
        Shell::Fish => fish(),
        _ => generated(shell, joined()),
    };
    script.into_bytes()
}

fn bash() -> String {
    let (mut values, mut firsts, mut all_flags) = (Vec::new(), String::new(), String::new());
    for name in [CommandName::Compact].into_iter().chain(CommandName::NAMED) {
        let command = built(name);
        for (arg, long, offer) in offers(&command) {
            let case = bash_case(arg, long, offer);
            // A flag means the same in all commands.
            if !values.contains(&case) {
                values.push(case);
            }
        }
        let words = first_words(&command);
        if !words.is_empty() {
            firsts.push_str(&format!("        {}) words=\"{}\" ;;\n", name.word(), words.join(" ")));
        }
        let word = if name == CommandName::Compact { "*" } else { name.word() };
        let own = format!("        {word}) flags=\"{}\" ;;\n", flags(&command));
        all_flags = if name == CommandName::Compact { own } else { own + &all_flags };
    }
    let (values, commands) = (values.concat(), command_words().join(" "));
    format!(
        r#"_tcompact_models() {{
    {MODELS}
}}

_tcompact() {{
    # Bash splits words at `:` and `=`, so the word is taken from the line.
    local line="${{COMP_LINE:0:COMP_POINT}}" words="" flags="" typed
    local cur="${{line##*[[:space:]]}}"
    local before="${{line%"$cur"}}"
    before="${{before%"${{before##*[![:space:]]}}"}}"
    local flag="${{before##*[[:space:]]}}"
    if [[ $cur == --*=* ]]; then
        flag="${{cur%%=*}}"
        cur="${{cur#*=}}"
    fi
    COMPREPLY=()
    read -ra typed <<< "$before"
    if [[ ${{#typed[@]}} -eq 1 && $cur != -* ]]; then
        # The first word is a command or a file. Without such a command, readline completes the name of a file.
        COMPREPLY=($(compgen -W "{commands}" -- "$cur"))
        [[ ${{#COMPREPLY[@]}} -gt 0 ]] || return
        local files
        mapfile -t files < <(compgen -f -- "$cur")
        COMPREPLY+=("${{files[@]}}")
        compopt -o filenames
        return
    fi
    if [[ ${{#typed[@]}} -eq 2 && $cur != -* ]]; then
        case "${{typed[1]}}" in
{firsts}        esac
    fi
    case "${{typed[1]}}" in
{all_flags}    esac
    case "$flag" in
{values}        *) [[ $cur == -* ]] && words="$flags" ;;
    esac
    # Without words, readline completes the name of a file.
    [[ -n $words ]] || return
    compopt +o default +o bashdefault
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    if [[ $COMP_WORDBREAKS == *:* ]]; then
        local stem="${{cur%"${{cur##*:}}"}}"
        COMPREPLY=("${{COMPREPLY[@]#"$stem"}}")
    fi
    [[ "${{COMPREPLY[*]}}" == *: ]] && compopt -o nospace
}}

complete -F _tcompact -o bashdefault -o default tcompact
"#
    )
}

/// What bash does behind a flag.
fn bash_case(arg: &Arg, long: &str, offer: Offer) -> String {
    let short = arg.get_short().map(|short| format!("|-{short}")).unwrap_or_default();
    let what = match offer {
        Offer::Words(words) => format!("words=\"{}\"", words.join(" ")),
        Offer::Models(words) => format!("words=\"{} $(_tcompact_models)\"", words.join(" ")),
        Offer::Files => "return".to_owned(),
        Offer::Folders => "compopt +o default +o bashdefault -o dirnames; return".to_owned(),
        Offer::Nothing => "compopt +o default +o bashdefault; return".to_owned(),
    };
    // The value follows `=` only.
    if arg.is_require_equals_set() {
        return format!("        --{long}=) compopt +o default +o bashdefault; return ;;\n");
    }
    format!("        --{long}{short}) {what} ;;\n")
}

/// The words that end in a colon, and the others.
fn open_and_closed(words: &[String]) -> (Vec<&str>, Vec<&str>) {
    words.iter().map(String::as_str).partition(|word| word.ends_with(':'))
}

fn zsh() -> String {
    let (mut cases, mut functions, mut commands) = (Vec::new(), String::new(), String::new());
    for name in [CommandName::Compact].into_iter().chain(CommandName::NAMED) {
        let command = built(name);
        functions.push_str(&zsh_function(name, &command, &mut cases));
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        if name != CommandName::Compact {
            let about = about.trim_end_matches('.').replace('\'', "'\\''").replace(':', "\\:");
            commands.push_str(&format!("            '{}:{about}'\n", name.word()));
        }
    }
    let cases = cases.concat();
    format!(
        r#"#compdef tcompact

autoload -U is-at-least

_tcompact_models() {{
    {MODELS}
}}

_tcompact_words() {{
    local -a open closed
    case $1 in
{cases}    esac
    compadd -S '' -- $open
    compadd -- $closed
}}

{functions}# The first word is a command or a file.
_tcompact() {{
    if (( CURRENT > 2 )) && (( $+functions[_tcompact_command_$words[2]] )); then
        local name=$words[2]
        shift words
        (( CURRENT-- ))
        _tcompact_command_$name
    elif (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
        local -a commands
        commands=(
{commands}        )
        _describe -t commands command commands
        _files
    else
        _tcompact_compaction
    fi
}}

if [ "$funcstack[1]" = "_tcompact" ]; then
    _tcompact "$@"
else
    compdef _tcompact tcompact
fi
"#
    )
}

/// The function of a command. What it offers behind flags is added to `cases`.
fn zsh_function(name: CommandName, command: &Command, cases: &mut Vec<String>) -> String {
    let script = generated(Shell::Zsh, command.clone());
    let (_, function) = script.split_once("_tcompact() {").expect("a function");
    let (function, _) = function.split_once("\n}\n").expect("its end");
    let mut lines: Vec<String> = function.lines().map(str::to_owned).collect();
    for (arg, long, offer) in offers(command) {
        // The values that clap knows have descriptions.
        if !arg.get_possible_values().is_empty() {
            continue;
        }
        let words = match offer {
            Offer::Words(words) => {
                let (open, closed) = open_and_closed(&words);
                format!("open=({}) closed=({})", open.join(" "), closed.join(" "))
            }
            Offer::Models(words) => format!("closed=({} ${{(f)\"$(_tcompact_models)\"}})", words.join(" ")),
            Offer::Files | Offer::Folders => continue,
            Offer::Nothing => String::new(),
        };
        let names = [format!("--{long}=["), arg.get_short().map_or("\0".to_owned(), |short| format!("-{short}+["))];
        for line in lines.iter_mut().filter(|line| names.iter().any(|name| line.contains(name.as_str()))) {
            *line = line.replace(":_default'", &format!(": _tcompact_words {long}'"));
        }
        let case = format!("        {long}) {words} ;;\n");
        if !words.is_empty() && !cases.contains(&case) {
            cases.push(case);
        }
    }
    // A colon would end the name of a value.
    let mut body = lines.join("\n");
    for (arg, ..) in offers(command) {
        let name = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string).unwrap_or_default();
        body = body.replace(&format!("]:{name}:"), &format!("]:{}:", name.replace(':', "\\:")));
    }
    // Flags may follow a file.
    let body = body.replace("'*::paths", "'*:paths");
    let own = if name == CommandName::Compact { "compaction".to_owned() } else { format!("command_{}", name.word()) };
    format!("_tcompact_{own}() {{{body}\n}}\n\n")
}

fn fish() -> String {
    let words = command_words().join(" ");
    let mut out = format!(
        r#"function __tcompact_models
    {MODELS}
end

# Whether the first word is a command, or none.
function __tcompact_is
    set -l typed (commandline -opc)
    set -l command none
    contains -- "$typed[2]" {words}; and set command $typed[2]
    test "$command" = "$argv[1]"
end

function __tcompact_is_first
    test (count (commandline -opc)) -eq $argv[1]
end

"#
    );
    for name in CommandName::NAMED {
        let about = name.command().get_about().map(ToString::to_string).unwrap_or_default();
        let about = about.trim_end_matches('.').replace('\'', "\\'");
        out.push_str(&format!("complete -c tcompact -n '__tcompact_is_first 1' -a {} -d '{about}'\n", name.word()));
    }
    for name in [CommandName::Compact].into_iter().chain(CommandName::NAMED) {
        let command = built(name);
        let word = if name == CommandName::Compact { "none" } else { name.word() };
        let words = first_words(&command);
        if !words.is_empty() {
            let condition = format!("'__tcompact_is {word}; and __tcompact_is_first 2'");
            out.push_str(&format!("complete -c tcompact -n {condition} -f -a \"{}\"\n", words.join(" ")));
        }
        let (script, offers) = (generated(Shell::Fish, command.clone()), offers(&command));
        for line in script.lines() {
            out.push_str(&fish_line(line, word, &offers));
        }
    }
    out
}

/// A line of the script for one command, with its condition and the values that `clap_complete` does not know.
fn fish_line(line: &str, word: &str, offers: &[(&Arg, &str, Offer)]) -> String {
    let of = |long: &str| line.contains(&format!(" -l {long} ")) && line.ends_with(" -r");
    let offer = offers.iter().find(|(_, long, _)| of(long)).map(|(.., offer)| offer);
    let line = match offer {
        Some(Offer::Words(words)) => format!("{line} -f -a \"{}\"", words.join(" ")),
        Some(Offer::Models(words)) => format!("{line} -f -a \"{} (__tcompact_models)\"", words.join(" ")),
        Some(Offer::Nothing) => format!("{line} -f"),
        _ => line.to_owned(),
    };
    let condition = format!("complete -c tcompact -n '__tcompact_is {word}' ");
    line.replacen("complete -c tcompact ", &condition, 1) + "\n"
}
