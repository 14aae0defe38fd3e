//! Settings in layers: which value wins, its origin, and what is refused.

use std::ffi::OsString;
use std::fs;

use tempfile::TempDir;

use crate::cli::CompactArguments;
use crate::plan::size::Size;
use crate::settings::layers::{CommandLine, Resolved};
use crate::settings::sources::misspelled;

fn presets(name: &str, _given: &dyn Fn(&str) -> Option<String>) -> Option<Vec<(&'static str, String)>> {
    let rows: &[(&str, &str)] = match name {
        "known" => &[
            ("trigger", "tokens:4k"),
            ("trigger", "messages:50"),
            ("keep", "messages:7"),
            ("retries", "1"),
            ("accept", "any"),
            ("model", "openai:of-the-preset"),
            ("api-key-env", "PRESET_KEY"),
        ],
        "deerflow" => &[("accept", "any")],
        _ => return None,
    };
    Some(rows.iter().map(|(flag, value)| (*flag, (*value).to_owned())).collect())
}

/// The layers of a test: the words of the command line, a config file, variables.
pub(crate) struct Layers {
    words: Vec<String>,
    variables: Vec<(String, String)>,
    folder: TempDir,
}

impl Layers {
    pub(crate) fn of(words: &[&str]) -> Self {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Layers { words, variables: vec![], folder: tempfile::tempdir().expect("a folder") }
    }

    pub(crate) fn file(mut self, name: &str, text: &str) -> Self {
        let path = self.folder.path().join(name);
        fs::write(&path, text).expect("written");
        self.words.push(format!("--config={}", path.display()));
        self
    }

    fn toml(self, text: &str) -> Self {
        self.file("c.toml", text)
    }

    pub(crate) fn deerflow(self, section: &str) -> Self {
        let indented: String = section.lines().map(|line| format!("  {line}\n")).collect();
        self.file("config.yaml", &format!("models: []\nsummarization:\n{indented}"))
    }

    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn resolve(&self) -> anyhow::Result<Resolved> {
        let words = ["tcompact".to_owned()].into_iter().chain(self.words.clone()).map(OsString::from);
        let variable = |name: &str| {
            self.variables.iter().find(|(variable, _)| variable == name).map(|(_, value)| OsString::from(value))
        };
        CommandLine::parse(words)?.resolve(&presets, variable)
    }

    pub(crate) fn arguments(&self) -> CompactArguments {
        self.resolve().expect("settings").arguments
    }

    /// The notes, without the folder of the test.
    pub(crate) fn notices(&self) -> Vec<String> {
        let place = format!("{}/", self.folder.path().display());
        let resolved = self.resolve().expect("settings");
        resolved.notices.iter().chain(&resolved.origins).map(|line| line.replace(&place, "")).collect()
    }

    /// The values that are no defaults.
    pub(crate) fn values(&self) -> Vec<String> {
        let notices = self.notices().into_iter();
        notices.filter(|line| line.contains(" (from ")).collect()
    }

    pub(crate) fn error(&self) -> String {
        let place = format!("{}/", self.folder.path().display());
        self.resolve().expect_err("an error").to_string().replace(&place, "")
    }
}

pub(crate) fn triggers(arguments: &CompactArguments) -> Vec<Vec<Size>> {
    arguments.triggers.iter().map(|clause| clause.0.clone()).collect()
}

#[test]
fn a_higher_layer_wins() {
    let preset = Layers::of(&["--preset", "known"]);
    assert_eq!(preset.arguments().keep, Size::Messages(7));
    let file = preset.toml("keep = 'messages:6'");
    assert_eq!(file.arguments().keep, Size::Messages(6));
    assert_eq!(file.arguments().retries, 1, "what the file does not say stays the preset's");
    let environment = file.set("TCOMPACT_KEEP", "messages:5");
    assert_eq!(environment.arguments().keep, Size::Messages(5));
    let mut typed = environment;
    typed.words.push("--keep=messages:4".to_owned());
    assert_eq!(typed.arguments().keep, Size::Messages(4));
    assert_eq!(typed.set("TCOMPACT_TRIGGER", " ").arguments().keep, Size::Messages(4));
}

#[test]
fn lists_never_mix_across_layers() {
    let preset = Layers::of(&["--preset", "known"]);
    assert_eq!(triggers(&preset.arguments()), [[Size::Tokens(4_000)], [Size::Messages(50)]]);
    let file = preset.toml("trigger = ['tokens:1,messages:2', 'messages:3']");
    let of_file = vec![vec![Size::Tokens(1), Size::Messages(2)], vec![Size::Messages(3)]];
    assert_eq!(triggers(&file.arguments()), of_file);
    let environment = file.set("TCOMPACT_TRIGGER", "messages:8\n tokens:9");
    assert_eq!(triggers(&environment.arguments()), [[Size::Messages(8)], [Size::Tokens(9)]]);
    let mut typed = environment;
    typed.words.push("--trigger=messages:1".to_owned());
    assert_eq!(triggers(&typed.arguments()), [[Size::Messages(1)]]);
}

#[test]
fn the_name_of_a_preset_may_come_from_any_layer() {
    assert_eq!(Layers::of(&[]).toml("preset = 'known'").arguments().keep, Size::Messages(7));
    assert_eq!(Layers::of(&[]).set("TCOMPACT_PRESET", "known").arguments().keep, Size::Messages(7));
    let both = Layers::of(&["--preset", "deerflow"]).toml("preset = 'known'");
    assert_eq!(both.arguments().keep, Size::Messages(20), "the preset that counts is the only one");
    let unknown = "there is no such preset; there are langchain, deepagents, deerflow, deerflow-v1, tongyi, synaptic";
    assert_eq!(Layers::of(&["--preset", "lang"]).error(), format!("--preset lang: {unknown}"));
    assert_eq!(Layers::of(&[]).toml("preset = 'x'").error(), format!("c.toml: preset = \"x\": {unknown}"));
    assert_eq!(Layers::of(&[]).set("TCOMPACT_PRESET", "x").error(), format!("TCOMPACT_PRESET: \"x\": {unknown}"));
}

#[test]
fn both_kinds_of_file_say_the_same() {
    let toml =
        "keep = 'tokens:3k'\npin = ['system', 'first:2']\nretries = 5\ntimeout = 1.5\nquiet = true\njson = false\n";
    let yaml = "keep: tokens:3k\npin: [system, 'first:2']\nretries: 5\ntimeout: 1.5\nquiet: true\njson: false\n";
    for (name, text) in [("c.toml", toml), ("c.yaml", yaml), ("c.YML", yaml), ("c.toml", &format!("\u{feff}{toml}"))] {
        let arguments = Layers::of(&[]).file(name, text).arguments();
        assert_eq!((arguments.keep, arguments.pins.len(), arguments.retries), (Size::Tokens(3_000), 2, 5));
        assert_eq!((arguments.timeout, arguments.general.quiet, arguments.json), (1.5, true, false));
    }
    for (name, text) in [("c.toml", ""), ("c.yaml", ""), ("c.yaml", "# nothing\n")] {
        assert_eq!(Layers::of(&[]).file(name, text).arguments().keep, Size::Messages(20), "{name} is empty");
    }
}

#[test]
fn switches_are_on_or_off_in_the_environment() {
    for (value, on) in [("1", true), ("true", true), ("YES", true), ("0", false), ("false", false), ("no", false)] {
        let layers = Layers::of(&[]).toml(&format!("exit-status = {}", !on)).set("TCOMPACT_EXIT_STATUS", value);
        assert_eq!(layers.arguments().exit_status, on, "{value} overrides the file");
    }
    assert!(Layers::of(&[]).toml("exit-status = true").set("TCOMPACT_EXIT_STATUS", "").arguments().exit_status);
    assert_eq!(
        Layers::of(&[]).set("TCOMPACT_QUIET", "perhaps").error(),
        "TCOMPACT_QUIET: \"perhaps\": expected 1, true or yes, or 0, false or no"
    );
}

#[test]
fn what_flags_do_not_take_is_refused_with_its_place() {
    for (text, error) in [
        (
            "keep = 'mesages:3'",
            "c.toml: keep = \"mesages:3\": `mesages` is not one of messages, tokens, fraction, steps, turns, bytes",
        ),
        ("trigger = 20", "c.toml: trigger = \"20\": a number alone is ambiguous here: messages:20 or tokens:20"),
        ("keep = true", "c.toml: keep = true: expected a string or a number"),
        ("keep = ['messages:3']", "c.toml: keep = a list: expected a string or a number"),
        ("keep = {messages = 3}", "c.toml: keep = a table: expected a string or a number"),
        ("timeout = inf", "c.toml: timeout = nothing: expected a string or a number"),
        ("pin = []", "c.toml: pin = an empty list: expected a string, a number or a list of them that is not empty"),
        ("pin = [true]", "c.toml: pin = true: expected a string or number in each place of the list"),
        ("pin = ['system', 'no']", "c.toml: pin = \"no\": "),
        ("quiet = 'yes'", "c.toml: quiet = \"yes\": expected true or false"),
        ("accept = 'al'", "c.toml: accept = \"al\": expected smaller or any"),
        ("retries = -1", "c.toml: retries = \"-1\": "),
        ("context_window = 5", "c.toml: there is no setting \"context_window\""),
        ("kepe = 'messages:3'", "c.toml: there is no setting \"kepe\""),
        (
            "clear-tool-results = 3",
            "c.toml: there is no setting \"clear-tool-results\"; --prune results:SIZE has replaced it",
        ),
        ("zzz = 1", "c.toml: there is no setting \"zzz\"; settings have the names of the flags, as --help shows them"),
        ("config = 'x'", "c.toml: config is for the command line and cannot be set here"),
        ("list = 'models'", "c.toml: there are no settings of the command list"),
        ("count = true", "c.toml: count is a command, and its settings are a table: [count]"),
        ("paths = 'chat.json'", "c.toml: paths is for the command line"),
        ("quiet = true\nverbose = true", "c.toml: quiet and c.toml: verbose exclude each other; leave one out"),
        ("model = 'openai:x'\nsummarizer-cmd = 'y'", "c.toml: model and c.toml: summarizer-cmd exclude each other"),
        ("[summarization]\nenabled = true", "c.toml: there is no setting \"summarization\""),
        ("keep = 1\nkeep = 2", "c.toml: not TOML: duplicate key (line 2 column 1)"),
        ("keep: x", "c.toml: not TOML: "),
    ] {
        let found = Layers::of(&[]).toml(text).error();
        assert!(found.starts_with(error), "{text}: {found}");
    }
    assert!(
        Layers::of(&[]).set("TCOMPACT_KEEP", "mesages:3").error().starts_with("TCOMPACT_KEEP: \"mesages:3\": `mes")
    );
    let excluding = Layers::of(&[]).set("TCOMPACT_QUIET", "1").set("TCOMPACT_VERBOSE", "1").error();
    assert_eq!(excluding, "TCOMPACT_QUIET and TCOMPACT_VERBOSE exclude each other; leave one out");
    let not_text = std::os::unix::ffi::OsStringExt::from_vec(vec![0xff]);
    let words = [OsString::from("tcompact")];
    let error = CommandLine::parse(words)
        .expect("no arguments")
        .resolve::<CompactArguments>(&presets, |name| (name == "TCOMPACT_FOR").then(|| OsString::clone(&not_text)));
    assert_eq!(error.expect_err("an error").to_string(), "TCOMPACT_FOR: the variable is not UTF-8");
    for variable in ["TCOMPACT_CONFIG", "TCOMPACT_LIST", "TCOMPACT_HELP", "TCOMPACT_KEPE", "TCOMPACT_PATH"] {
        assert!(Layers::of(&["-v"]).set(variable, "x").notices().is_empty(), "{variable} is nobody's");
    }
    // An error on the command line is clap's, and comes first.
    assert!(Layers::of(&["--keep", "x"]).toml("zzz = 1").resolve().expect_err("an error").is::<clap::Error>());
}

#[test]
fn hostile_files_cost_little() {
    let deep = |open: &str, close: &str| format!("pin: {}{}", open.repeat(20_000), close.repeat(20_000));
    let mut laughs = "a: &a [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (last, next) in "abcdefghi".chars().zip("bcdefghij".chars()) {
        let aliases = vec![format!("*{last}"); 10].join(",");
        laughs.push_str(&format!("{next}: &{next} [{aliases}]\n"));
    }
    for (name, text) in [
        ("c.yaml", deep("[", "]")),
        ("c.yaml", deep("{a: ", "}")),
        ("c.toml", deep("[", "]").replacen(':', "=", 1)),
        ("c.yaml", laughs),
        ("c.yaml", format!("keep: {}", "é".repeat(1 << 20))),
        ("c.yaml", "keep: messages:1\n---\nkeep: messages:2\n".to_owned()),
        ("c.yaml", "keep: messages:1\nkeep: messages:2\n".to_owned()),
        ("c.yaml", "- keep\n".to_owned()),
        ("c.yaml", "keep: !!binary '??'\n".to_owned()),
    ] {
        let error = Layers::of(&[]).file(name, &text).error();
        assert!(error.starts_with(&format!("{name}: ")) && error.len() < 400 && !error.contains('\n'), "{error}");
    }
}

#[test]
fn an_address_or_a_key_never_meets_another_layers_model() {
    let full = "model = 'deepseek:theirs'\nbase-url = 'http://inside/v1'\napi-key-env = 'INSIDE_KEY'";
    let summarizer = |layers: Layers| {
        let arguments = layers.arguments();
        (arguments.model, arguments.summarizer_cmd, arguments.base_url, arguments.api_key_env)
    };
    let text = |text: &str| Some(text.to_owned());
    let whole = (text("deepseek:theirs"), None, text("http://inside/v1"), text("INSIDE_KEY"));
    assert_eq!(summarizer(Layers::of(&[]).toml(full)), whole);
    assert_eq!(summarizer(Layers::of(&["-m", "openai:mine"]).toml(full)), (text("openai:mine"), None, None, None));
    assert_eq!(
        summarizer(Layers::of(&[]).set("TCOMPACT_MODEL", "openai:mine").toml(full)),
        (text("openai:mine"), None, None, None)
    );
    assert_eq!(summarizer(Layers::of(&["--summarizer-cmd", "cat"]).toml(full)), (None, text("cat"), None, None));
    assert_eq!(
        summarizer(Layers::of(&["--preset", "known"]).toml("model = 'openai:mine'")),
        (text("openai:mine"), None, None, None),
        "a preset's key is not for the file's model"
    );
    // An address without a model goes with the model of another layer.
    let address = "base-url = 'http://inside/v1'";
    assert_eq!(
        summarizer(Layers::of(&["-m", "openai:mine"]).toml(address)),
        (text("openai:mine"), None, text("http://inside/v1"), None)
    );
    assert_eq!(
        summarizer(Layers::of(&["--api-key-env", "MINE"]).toml(full)),
        (text("deepseek:theirs"), None, text("http://inside/v1"), text("MINE"))
    );
    // Without a model, the address has no effect.
    for words in [&[][..], &["-m", "extractive"], &["--summarizer-cmd", "cat"]] {
        assert_eq!(summarizer(Layers::of(words).toml(address)).2, None, "{words:?}");
    }
}

#[test]
fn what_excludes_a_higher_layers_flag_is_set_aside() {
    let quiet = Layers::of(&["-q"]).toml("verbose = true").set("TCOMPACT_VERBOSE", "1").arguments();
    assert!(quiet.general.quiet && !quiet.general.verbose);
    let verbose = Layers::of(&[]).toml("quiet = true").set("TCOMPACT_VERBOSE", "1").arguments();
    assert!(verbose.general.verbose && !verbose.general.quiet);
    let not_quiet = Layers::of(&[]).toml("verbose = true").set("TCOMPACT_QUIET", "0").arguments();
    assert!(not_quiet.general.verbose, "what is off excludes nothing");
    let json = |words: &[&str]| Layers::of(words).toml("json = true").arguments().json;
    assert!(json(&["-n"]) && !json(&[]), "--json waits for --dry-run");
}

#[test]
fn each_value_says_where_it_comes_from() {
    let layers = Layers::of(&["-v", "--preset=known", "-o", "my out", "-m", "extractive"])
        .toml("pin = ['none']\nsummary-prefix = ''\ntimeout = 5")
        .set("TCOMPACT_KEEP", "messages:6")
        .set("TCOMPACT_COLOR", "never")
        .set("TCOMPACT_JSON", "no");
    let notices = layers.notices();
    for line in [
        "trigger = tokens:4k messages:50 (from --preset known)",
        "keep = messages:6 (from TCOMPACT_KEEP)",
        "pin = none (from c.toml)",
        "preset = known (from --preset)",
        "model = extractive (from --model)",
        "summary-prefix = \"\" (from c.toml)",
        "timeout = 5 (from c.toml)",
        "output = \"my out\" (from --output)",
        "color = never (from TCOMPACT_COLOR)",
    ] {
        assert!(notices.iter().any(|notice| notice == line), "{line}: {notices:#?}");
    }
    assert!(
        notices.iter().all(|line| !line.contains("pairs") && !line.contains("verbose")),
        "no default is listed: {notices:#?}"
    );
    assert!(Layers::of(&["-n"]).toml("keep = 'messages:1'").notices().is_empty());
}

#[test]
fn a_flag_alone_is_shown_as_a_file_gives_it() {
    let mut shown = Vec::new();
    for arg in crate::cli::commands::CommandName::Compact.command().get_arguments() {
        let is_optional = arg.get_num_args().is_some_and(|values| values.min_values() == 0 && values.takes_values());
        let Some(long) = arg.get_long().filter(|_| is_optional) else { continue };
        let typed = Layers::of(&["-v", &format!("--{long}")]).notices();
        let set = Layers::of(&["-v"]).toml(&format!("{long} = true")).notices();
        for line in typed.iter().chain(&set) {
            assert!(!line.contains(['\0', '\\']), "{line}");
        }
        shown.extend(typed.into_iter().chain(set));
    }
    let origins = [
        "redact = sent (from --redact)",
        "redact = true (from c.toml)",
        "in-place = true (from --in-place)",
        "in-place = true (from c.toml)",
    ];
    assert!(
        shown.len() == origins.len() && origins.iter().all(|line| shown.iter().any(|shown| shown == line)),
        "{shown:#?}"
    );
}

#[test]
fn a_variable_that_sets_nothing_is_named() {
    let told = |name: &str| misspelled([OsString::from(name)].into_iter());
    for (name, near) in [("TCOMPACT_KEEEP", "TCOMPACT_KEEP"), ("TCOMPACT_SUMARY_TOKEN", "TCOMPACT_SUMMARY_TOKENS")] {
        assert!(told(name)[0].ends_with(&format!("{name} is not a setting and has no effect; did you mean {near}?")));
    }
    assert!(told("TCOMPACT_NONSENSE")[0].ends_with("TCOMPACT_NONSENSE is not a setting and has no effect"));
    for name in ["TCOMPACT_KEEP", "TCOMPACT_BIN", "TCOMPACT_NO_ARCHIVE", "TCOMPACT_PYTHON", "TCOMPACT_", "KEEEP"] {
        assert_eq!(told(name), Vec::<String>::new(), "{name}");
    }
}
