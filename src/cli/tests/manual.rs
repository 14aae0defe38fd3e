//! The manual page, generated from the flags and the tables of the program.

use crate::cli::CompactArguments;
use crate::cli::commands::CommandName;
use crate::cli::help::GROUPS;
use crate::exit::MEANINGS;
use crate::llm::providers::PROVIDERS;
use clap::{Arg, ArgAction, Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

/// Headings, each with the indented text below it.
type Entries = &'static [(&'static str, &'static str)];

const SYNOPSIS: [&str; 9] = [
    "[OPTION]... [PATH]...",
    "count|check|redact [OPTION]... [PATH]...",
    "repair [OPTION]... drop|synthesize [PATH]...",
    "search [OPTION]... PATTERN [PATH]...",
    "show [OPTION]... INDEXES [PATH]",
    "restore [OPTION]... ARCHIVE [PATH]",
    "list TABLE",
    "completions SHELL",
    "help [COMMAND]",
];

const ENVIRONMENT: Entries = &[
    (
        "TCOMPACT_KEEP, TCOMPACT_SEARCH_LIMIT, ...",
        "The value of a flag, by its long name in capitals with underscores; of a flag of a command, behind its name. White space separates the values of a flag \
         that can be repeated; of several lines, each is one value. An empty variable counts as not set. Flags win over the environment, the environment wins \
         over the config file.",
    ),
    (
        "OPENAI_BASE_URL, ANTHROPIC_BASE_URL",
        "The address of openai:, openai-responses: and anthropic:. --base-url wins.",
    ),
    ("XDG_CONFIG_HOME", "The folder that holds tcompact/config.toml, instead of ~/.config."),
    ("HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY", "The proxies for requests to a provider."),
    ("SSL_CERT_FILE", "The certificates to trust, instead of the system's."),
    ("NO_COLOR", "If set, --color auto uses no colours."),
];

const FILES: Entries = &[
    (
        "~/.config/tcompact/config.toml",
        "Settings, with the long names of the flags as keys; those of a command in a table of its name. --config names \
         another file.",
    ),
    (
        "DIR/.tcompact/journal.jsonl",
        "What a batch has finished, for --resume. With --in-place, DIR is the first directory, or the folder of the first \
         file.",
    ),
    ("DIR/.tcompact/summaries/", "The summaries that a batch has paid for."),
];

const SEE_ALSO: &str = "README.md and docs/ of tcompact describe formats, summaries, presets, costs and security.";

/// The page in roff.
pub(crate) fn page() -> String {
    let man = Man::new(CompactArguments::command());
    let mut title = Roff::new();
    // The library omits an empty date, which would shift the other arguments.
    title.control("TH", ["TCOMPACT", "1", "\"\"", concat!("tcompact ", env!("CARGO_PKG_VERSION")), "User Commands"]);
    let mut page = title.render();
    // No justification and no hyphens: a flag is never broken, and can be searched for.
    page.push_str(&section("NAME", |roff| {
        roff.control("nh", []).control("ad", ["l"]);
        roff.text([roman("tcompact - shorten transcripts of LLM agents, and keep the recent messages byte for byte")]);
    }));
    page.push_str(&section("SYNOPSIS", |roff| {
        for line in SYNOPSIS {
            roff.text([bold("tcompact"), roman(format!(" {line}"))]).control("br", []);
        }
    }));
    page.push_str(&render(|out| man.render_description_section(out)));
    page.push_str(&section("COMMANDS", |roff| {
        roff.text([roman("A command is the first word. A file of that name is ./count.")]);
        for name in CommandName::NAMED {
            command(roff, name);
        }
    }));
    page.push_str(&options(&man));
    page.push_str(&section("EXAMPLES", |roff| {
        roff.control("nf", []);
        for line in examples() {
            roff.text([roman(line)]);
        }
        roff.control("fi", []);
    }));
    page.push_str(&section("EXIT STATUS", |roff| {
        for (exit, meaning) in MEANINGS {
            entry(roff, bold((exit as u8).to_string()), meaning);
        }
    }));
    page.push_str(&section("ENVIRONMENT", |roff| {
        let mut keys: Vec<&str> = Vec::new();
        for key in PROVIDERS.iter().flat_map(|provider| provider.key_variables) {
            if !keys.contains(key) {
                keys.push(key);
            }
        }
        let about = "The key for a provider (tcompact list providers). --api-key-env names another variable.";
        entry(roff, bold(keys.join(", ")), about);
        ENVIRONMENT.iter().for_each(|(name, about)| entry(roff, bold(*name), about));
    }));
    page.push_str(&section("FILES", |roff| FILES.iter().for_each(|(name, about)| entry(roff, italic(*name), about))));
    page.push_str(&section("SEE ALSO", |roff| {
        roff.text([bold("jq"), roman("(1), "), bold("less"), roman("(1), "), bold("parallel"), roman("(1)")]);
        roff.control("PP", []).text([roman(SEE_ALSO)]);
    }));
    page
}

/// The commands of all groups.
fn examples() -> Vec<&'static str> {
    GROUPS.iter().flat_map(|group| group.example.lines()).collect()
}

/// The section of the flags, with the headings of the help.
fn options(man: &Man) -> String {
    let section = render(|out| man.render_options_section(out));
    let lines = section.lines().map(|line| {
        let heading = line.strip_prefix(".SH ").map(|heading| heading.trim_matches('"'));
        let group = heading.and_then(|heading| GROUPS.iter().find(|group| group.heading.eq_ignore_ascii_case(heading)));
        group.map_or_else(
            || format!("{line}\n"),
            |group| format!(".SS \"{}\"\n{}\n", group.heading, group.about.replace('-', "\\-")),
        )
    });
    lines.collect()
}

/// A command: its words, what it does, and the flags that only it has.
fn command(roff: &mut Roff, name: CommandName) {
    let command = name.command();
    let mut words = vec![bold(name.word())];
    for arg in command.get_positionals() {
        let value = value_name(arg);
        let many = if matches!(arg.get_action(), ArgAction::Append) { "..." } else { "" };
        words.push(roman(if arg.is_required_set() { format!(" {value}") } else { format!(" [{value}]{many}") }));
    }
    roff.control("TP", []).text(words);
    roff.text([roman(about(&command).replace("\n\n", " "))]);
    for arg in command.get_positionals().filter(|arg| arg.is_required_set() && arg.get_help().is_some()) {
        line(roff, value_name(arg), "", arg);
    }
    for arg in command.get_arguments().filter(|arg| is_own(arg)) {
        let value = match arg.get_action().takes_values() {
            true if arg.is_require_equals_set() => format!("[={}]", value_name(arg)),
            true => format!(" {}", value_name(arg)),
            false => String::new(),
        };
        line(roff, format!("--{}", arg.get_long().unwrap_or_default()), &value, arg);
    }
}

/// A line of a command, with the help of an argument.
fn line(roff: &mut Roff, name: String, value: &str, arg: &Arg) {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    roff.control("br", []).text([bold(name), roman(value), roman(format!(": {help}"))]);
}

fn about(command: &Command) -> String {
    command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default()
}

fn value_name(arg: &Arg) -> String {
    arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string).unwrap_or_default()
}

/// Whether compaction has no flag of this name, or another one.
fn is_own(arg: &Arg) -> bool {
    let Some(long) = arg.get_long().filter(|long| *long != "help") else { return false };
    let compaction = CompactArguments::command();
    let other = compaction.get_arguments().find(|other| other.get_long() == Some(long));
    other.is_none_or(|other| other.get_help().map(ToString::to_string) != arg.get_help().map(ToString::to_string))
}

fn entry(roff: &mut Roff, name: Inline, about: &str) {
    roff.control("TP", []).text([name]).text([roman(about)]);
}

fn section(heading: &str, fill: impl FnOnce(&mut Roff)) -> String {
    let mut roff = Roff::new();
    roff.control("SH", [heading]);
    fill(&mut roff);
    render(|out| roff.to_writer(out))
}

/// A section without the macros for apostrophes that begin the page.
fn render(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).expect("a page");
    let text = String::from_utf8(out).expect("UTF-8");
    text.split_once(".SH").map(|(_, rest)| format!(".SH{rest}")).expect("a heading")
}

/// The sections are in the order that readers of manual pages expect.
#[test]
fn the_page_has_the_usual_sections_and_lines_that_fit() {
    let page = page();
    let sections: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix(".SH ")).collect();
    let usual = [
        "NAME",
        "SYNOPSIS",
        "DESCRIPTION",
        "COMMANDS",
        "OPTIONS",
        "EXAMPLES",
        "\"EXIT STATUS\"",
        "ENVIRONMENT",
        "FILES",
        "\"SEE ALSO\"",
    ];
    assert_eq!(sections, usual);
    let examples = examples();
    assert!(examples.len() > 5);
    // The page indents by seven columns, the help by two.
    assert!(examples.iter().all(|line| line.len() <= 80 - 7), "{examples:?}");
    assert_eq!(SYNOPSIS.iter().filter(|line| line.len() + 7 + "tcompact ".len() > 80).count(), 0);
}
