//! The completions: the output of `clap_complete` with the values that it does not know, and our own script for bash.
//! That one offers flags wherever a file is expected. The integration tests run real shells.

use crate::presets::PRESETS;
use crate::prune::KINDS;
use crate::transcript::formats::FORMATS;
use clap::{Arg, ArgAction, Command, ValueHint};
use clap_complete::Shell;

/// Prints the names of models: with the provider, and alone if the maker serves the model.
const MODELS: &str = "tcompact --list models 2>/dev/null | awk 'NR > 1 { print $1; \
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
        "from" => listed(&["auto"], FORMATS.iter().map(|format| format.name()).collect()),
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

pub(super) fn script(shell: Shell, mut command: Command) -> Vec<u8> {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut command, "tcompact", &mut out);
    let script = String::from_utf8(out).expect("UTF-8");
    let adapted = match shell {
        Shell::Bash => bash(&command),
        Shell::Zsh => zsh(&script, &command),
        Shell::Fish => fish(&script, &command),
        _ => script,
    };
    adapted.into_bytes()
}

fn bash(command: &Command) -> String {
    let flags = command.get_arguments().filter(|arg| !arg.is_hide_set()).flat_map(|arg| {
        let long = arg.get_long().map(|long| format!("--{long}"));
        long.into_iter().chain(arg.get_short().map(|short| format!("-{short}")))
    });
    let flags = flags.collect::<Vec<_>>().join(" ");
    let mut cases = String::new();
    for (arg, long, offer) in offers(command) {
        let short = arg.get_short().map(|short| format!("|-{short}")).unwrap_or_default();
        let what = match offer {
            Offer::Words(words) => format!("words=\"{}\"", words.join(" ")),
            Offer::Models(words) => format!("words=\"{} $(_tcompact_models)\"", words.join(" ")),
            Offer::Files => "return".to_owned(),
            Offer::Folders => "compopt +o default +o bashdefault -o dirnames; return".to_owned(),
            Offer::Nothing => "compopt +o default +o bashdefault; return".to_owned(),
        };
        // The value follows `=` only.
        let (own, what) = if arg.is_require_equals_set() {
            (format!("--{long}="), "compopt +o default +o bashdefault; return".to_owned())
        } else {
            (format!("--{long}{short}"), what)
        };
        cases.push_str(&format!("        {own}) {what} ;;\n"));
    }
    format!(
        r#"_tcompact_models() {{
    {MODELS}
}}

_tcompact() {{
    # Bash splits words at `:` and `=`, so the word is taken from the line.
    local line="${{COMP_LINE:0:COMP_POINT}}" words=""
    local cur="${{line##*[[:space:]]}}"
    local before="${{line%"$cur"}}"
    before="${{before%"${{before##*[![:space:]]}}"}}"
    local flag="${{before##*[[:space:]]}}"
    if [[ $cur == --*=* ]]; then
        flag="${{cur%%=*}}"
        cur="${{cur#*=}}"
    fi
    COMPREPLY=()
    case "$flag" in
{cases}        *) [[ $cur == -* ]] && words="{flags}" ;;
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

/// The words that end in a colon, and the others.
fn open_and_closed(words: &[String]) -> (Vec<&str>, Vec<&str>) {
    words.iter().map(String::as_str).partition(|word| word.ends_with(':'))
}

fn zsh(script: &str, command: &Command) -> String {
    let mut cases = String::new();
    let mut lines: Vec<String> = script.lines().map(str::to_owned).collect();
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
        if !words.is_empty() {
            cases.push_str(&format!("        {long}) {words} ;;\n"));
        }
    }
    let functions = format!(
        "_tcompact_models() {{\n    {MODELS}\n}}\n\n_tcompact_words() {{\n    local -a open closed\n    case $1 in\n{cases}    \
         esac\n    compadd -S '' -- $open\n    compadd -- $closed\n}}\n\n_tcompact() {{"
    );
    // Flags may follow a file.
    let script = lines.join("\n").replacen("_tcompact() {", &functions, 1).replace("'*::paths", "'*:paths") + "\n";
    // A colon would end the name of a value.
    script.replace("]:PROVIDER:MODEL:", "]:PROVIDER\\:MODEL:")
}

fn fish(script: &str, command: &Command) -> String {
    let mut lines = vec![format!("function __tcompact_models\n    {MODELS}\nend")];
    let offers = offers(command);
    for line in script.lines() {
        let of = |long: &str| line.contains(&format!(" -l {long} ")) && line.ends_with(" -r");
        let offer = offers.iter().find(|(_, long, _)| of(long)).map(|(.., offer)| offer);
        lines.push(match offer {
            Some(Offer::Words(words)) => format!("{line} -f -a \"{}\"", words.join(" ")),
            Some(Offer::Models(words)) => format!("{line} -f -a \"{} (__tcompact_models)\"", words.join(" ")),
            Some(Offer::Nothing) => format!("{line} -f"),
            _ => line.to_owned(),
        });
    }
    lines.join("\n") + "\n"
}
