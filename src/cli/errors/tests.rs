//! What to try after an error of a command line.

use super::*;
use crate::all_cases::Sample;
use crate::cli::correction::EXAMPLES;
use crate::diagnostic::quoted;

fn command() -> clap::Command {
    CommandName::Compact.command()
}

/// What is told of words that clap does not understand.
fn told(words: &[&str]) -> String {
    let typed = typed(words);
    let error = parsed(typed.name(), typed.rest()).expect_err("a mistake");
    describe(&error, &typed)
}

fn typed(words: &[&str]) -> Typed {
    Typed { words: words.iter().map(|word| (*word).to_owned()).collect(), by_variable: Vec::new() }
}

#[test]
fn a_misspelled_flag_keeps_its_value_and_all_else() {
    const FILE: &str = "Cargo.toml";
    let mut tried = 0;
    for arg in command().get_arguments() {
        let long = arg.get_long().filter(|long| long.len() > 4);
        let Some(long) = long.filter(|_| arg.get_action().takes_values()) else { continue };
        let flag = format!("--{long}");
        let default = arg.get_default_values().first().map(|value| value.to_string_lossy().into_owned());
        let listed = arg.get_possible_values().last().map(|value| value.get_name().to_owned());
        let example = EXAMPLES.iter().find(|(name, _)| *name == flag).map(|(_, value)| (*value).to_owned());
        let mut values: Vec<String> = listed.or(default).or(example).into_iter().collect();
        // A value that is a file is not an input.
        if matches!(arg.get_value_hint(), clap::ValueHint::FilePath | clap::ValueHint::DirPath) {
            values.extend(["README.md".to_owned(), "src".to_owned()]);
        }
        let mut wrong = flag.clone();
        wrong.remove(flag.len() - 2);
        // Two flags may be as near.
        if near_flag(&command(), &wrong).as_deref() != Some(long) {
            continue;
        }
        tried += 1;
        for value in values {
            let joined = format!("{wrong}={value}");
            let mut typed = vec![["tcompact", joined.as_str(), FILE].to_vec()];
            if !arg.is_require_equals_set() {
                typed.push(vec!["tcompact", &wrong, &value, FILE]);
            }
            for words in typed {
                let told = told(&words);
                let between = if arg.is_require_equals_set() { '=' } else { ' ' };
                let next = format!("{flag}{between}{} {FILE}", quoted(&value));
                assert!(told.ends_with(&next), "{words:?}: {told}");
            }
        }
    }
    assert!(tried > 30, "{tried}");
}

#[test]
fn only_what_is_near_is_suggested() {
    const HELP: &str = "try: tcompact --help";
    for (words, next) in [
        (&["tcompact", "--overwrite", "a.json"][..], HELP),
        (&["tcompact", "--recursive", "a.json"], HELP),
        (&["tcompact", "--compress", "a.json"], HELP),
        (&["tcompact", "--no-color", "Cargo.toml"], "try: tcompact --color never Cargo.toml"),
        (&["tcompact", "--accept", "all", "Cargo.toml"], "try: tcompact --accept any Cargo.toml"),
        (&["tcompact", "--prune", "results,reads"], "try: tcompact --prune results --prune reads"),
        (&["tcompact", "--pin", "system,first:2"], "try: tcompact --pin system --pin first:2"),
        (&["tcompact", "--prune", "args"], "try: tcompact --prune arguments"),
        (
            &["tcompact", "--trigger", "fraction:1.5", "--for", "gpt-4o"],
            "try: tcompact --trigger fraction:0.8 --for gpt-4o",
        ),
        (&["tcompact", "--keep", "msgs:10"], "try: tcompact --keep messages:10"),
        (
            &["tcompact", "--base-ur", "http://localhost:1/v1", "-m", "openai:m"],
            "try: tcompact --base-url http://localhost:1/v1 -m openai:m",
        ),
        (
            &["tcompact", "--request-json", "{\"a\":1", "-m", "openai:m"],
            "try: tcompact --request-json '{\"temperature\": 0.2}' -m openai:m",
        ),
    ] {
        let told = told(words);
        assert!(told.ends_with(next), "{words:?}: {told}");
        assert!(next != HELP || !told.contains("did you mean"), "{words:?}: {told}");
    }
    for several in [&["tcompact", "--prune", "results,reads"], &["tcompact", "--pin", "system,first:2"]] {
        assert!(!told(several).contains("did you mean"), "{several:?}");
    }
}

#[test]
fn for_every_flag_there_is_something_to_try() {
    for arg in command().get_arguments() {
        let Some(long) = arg.get_long().filter(|_| !arg.is_hide_set()) else { continue };
        let next = attempt(&format!("--{long}"), None, &Typed::default()).lines().join("\n");
        assert!(next.contains(&format!("--{long}")), "--{long}: {next}");
    }
}

#[test]
fn the_rest_of_what_was_typed_comes_along() {
    for (advice, wrong, words, retried) in [
        (
            Advice::command(["--keep", "tokens:4k"]),
            "--keep",
            &["tcompact", "-v", "--keep", "4k", "-o", "out", "a.json"][..],
            "try: tcompact -v --keep tokens:4k -o out a.json",
        ),
        (
            Advice::command(["--keep", "tokens:4k"]),
            "--kep",
            &["tcompact", "--kep=4k", "a.json"],
            "try: tcompact --keep tokens:4k a.json",
        ),
        (
            Advice::command(["--model", "openai:a"]),
            "--model",
            &["tcompact", "-m", "a", "a.json"],
            "try: tcompact -m openai:a a.json",
        ),
        (
            Advice::command(["--retries", "3"]),
            "--retries",
            &["tcompact", "--retries", "-1", "a.json"],
            "try: tcompact --retries 3 a.json",
        ),
        (
            Advice::command(["--pin", "match:a b"]).note("as it was"),
            "--pin",
            &["tcompact", "--pin", "x", "a b.json"],
            "try: tcompact --pin 'match:a b' 'a b.json'\n  as it was",
        ),
        (
            Advice::command(["list", "models"]),
            "--for",
            &["tcompact", "--for", "x", "a.json"],
            "try: tcompact list models",
        ),
        (
            Advice::without("compact".to_owned()),
            "",
            &["tcompact", "-v", "compact", "--focus=compact", "--", "a.json"],
            "try: tcompact -v --focus=compact -- a.json",
        ),
        (
            Advice::variable("TCOMPACT_KEEP=messages:3".to_owned()),
            "",
            &["tcompact", "a.json"],
            "try: TCOMPACT_KEEP=messages:3 tcompact a.json",
        ),
        (
            Advice::command(["--timeout", "9"]),
            "",
            &["tcompact", "--request-json", r#"{"seed": 7}"#, "-m", "openai:m", "Cargo.toml"],
            r#"try: tcompact --timeout 9 --request-json '{"seed": 7}' -m openai:m Cargo.toml"#,
        ),
        (
            Advice::command(["--timeout", "9"]),
            "",
            &["tcompact", "--summarizer-cmd", "cat | head -n '5'", "Cargo.toml"],
            r#"try: tcompact --timeout 9 --summarizer-cmd 'cat | head -n '\''5'\''' Cargo.toml"#,
        ),
        (
            Advice::command(["--timeout", "9"]),
            "",
            &["tcompact", "--summarizer-cmd", r#"curl -H "X-Api-Key: f9a8b7c6d5e4" x"#, "Cargo.toml"],
            "try: the same with --timeout 9",
        ),
        (
            Advice::command(["--timeout", "9"]).note("to wait"),
            "",
            &["tcompact", "--archive", "README.md", "--request-json", r#"{"key": "a1b2c3d4e5f6a7b8"}"#, "Cargo.toml"],
            "try: the same with --timeout 9, to wait",
        ),
        (
            Advice::command(["--timeout", "9"]),
            "--timeout",
            &["tcompact", "--timeout", "x", "--base-url", "https://a:b@c", "a.json"],
            "try: the same with --timeout 9",
        ),
        (
            Advice::command(["--in-place"]),
            "--output",
            &["tcompact", "-v", "-o", "a.json", "a.json"],
            "try: tcompact -v --in-place a.json",
        ),
        (
            Advice::command(["--color", "never"]),
            "--no-color",
            &["tcompact", "--no-color", "-o", "x", "Cargo.toml"],
            "try: tcompact --color never -o x Cargo.toml",
        ),
        (
            Advice::command(["--color", "never"]),
            "--no-color",
            &["tcompact", "--no-color", "new.json"],
            "try: tcompact --color never new.json",
        ),
        (
            Advice::command(["--keep", "messages:20"]),
            "--kep",
            &["tcompact", "--kep", "-v", "Cargo.toml"],
            "try: tcompact --keep messages:20 -v Cargo.toml",
        ),
        (
            Advice::command(["--keep", "messages:20"]),
            "--keep",
            &["tcompact", "--keep", "-ox.json", "Cargo.toml"],
            "try: tcompact --keep messages:20 -ox.json Cargo.toml",
        ),
        (
            Advice::command(["--trigger", "tokens:4k"]),
            "--trigger",
            &["tcompact", "--trigger", "messages:9", "--trigger", "tokns:4k", "--trigger=turns:3", "a.json"],
            "try: tcompact --trigger messages:9 --trigger tokens:4k --trigger=turns:3 a.json",
        ),
        (
            Advice::command(["--pin", "first:2"]),
            "--pin",
            &["tcompact", "--pin", "system", "--pin", "frist:2", "a.json"],
            "try: tcompact --pin system --pin first:2 a.json",
        ),
        (
            Advice::command(["--pin", "none"]),
            "",
            &["tcompact", "--pin", "system", "--pin", "first:2", "a.json"],
            "try: tcompact --pin none a.json",
        ),
        (
            Advice::command(["--prune", "all"]),
            "",
            &["tcompact", "--prune", "reads", "--prune", "none", "a.json"],
            "try: tcompact --prune reads --prune all a.json",
        ),
        (
            Advice::command(["--prune-except", "Read"]),
            "--prune-except",
            &["tcompact", "--prune-except", "Bash", "--prune-except=", "a.json"],
            "try: tcompact --prune-except Bash --prune-except=Read a.json",
        ),
        (
            Advice::command(["--from", "openai-chat"]),
            "",
            &["tcompact", "--from", "src", "README.md"],
            "try: tcompact --from openai-chat README.md",
        ),
        (
            Advice::command(["--in-place"]),
            "--output",
            &["tcompact", "-oa.json", "a.json"],
            "try: tcompact --in-place a.json",
        ),
        // Flags that share a word are parted only where one of them is wrong.
        (
            Advice::command(["--in-place"]),
            "--output",
            &["tcompact", "-evo", "a.json", "-nv", "a.json"],
            "try: tcompact -e -v --in-place -nv a.json",
        ),
        (
            Advice::command(["--output-dir", "compacted"]),
            "",
            &["tcompact", "-o", "out.json", "-e", "a.json", "--keep", "turns:2", "b.json"],
            "try: tcompact --output-dir compacted -e a.json --keep turns:2 b.json",
        ),
        // What else is wrong is corrected, too.
        (
            Advice::command(["--keep", "messages:3"]),
            "--kep",
            &["tcompact", "--kep", "3", "-q", "--trigger", "token:4k", "--jsn", "--dry-run", "a.json"],
            "try: tcompact --keep messages:3 -q --trigger tokens:4k --json --dry-run a.json",
        ),
        // Of two typed flags that exclude each other, one may only look, and the other write.
        (
            Advice::command(["--keep", "messages:3"]),
            "--kep",
            &["tcompact", "-i", "--diff", "--kep", "messages:3", "a.json"],
            "try: the same with --keep messages:3",
        ),
        (
            Advice::command(["--keep", "messages:3"]),
            "--keep",
            &["tcompact", "--focus", "the key sk-ant-api03-abcdefghijklmnop", "--keep", "x", "a.json"],
            "try: the same with --keep messages:3",
        ),
        (
            Advice::command(["--jobs", "2"]),
            "",
            &["tcompact", "--focus", "a \u{fffd}", "a.json"],
            "try: the same with --jobs 2",
        ),
        (
            Advice::instead("x".to_owned(), "y".to_owned()),
            "",
            &["tcompact", "search", "--limit=3", "x", "x", "a.jsonl"],
            "try: tcompact search --limit=3 y x a.jsonl",
        ),
    ] {
        assert_eq!(completed(&advice, wrong, &typed(words)).lines().join("\n"), retried);
    }
}

#[test]
fn secrets_are_not_repeated() {
    for words in [
        &["--api-key-env", "sk-proj-abc123"][..],
        &["--api-key-env=sk-proj-abc123"],
        &["--base-url", "https://user:pass@host/v1"],
        &["--base-url", "https://host/v1?key=abc123"],
        &["--summarizer-cmd", "curl -H 'Authorization: Bearer sk-ant-abc123'"],
        &["--request-json", "{\"a\":\"sk-ant-abc123\"}"],
    ] {
        let words = words.iter().copied();
        assert_eq!(
            completed(&Advice::command(words), "--x", &typed(&["tcompact", "a.json"])),
            Advice::command(["--help"])
        );
    }
}

/// Whatever is wrong, all else stays as it was typed: in its words, in its order.
#[test]
fn what_is_right_is_repeated_as_it_was_typed() {
    /// What is wrong, and what takes its place.
    const WRONG: [(&[&str], &str); 21] = [
        (&["--trigger", "20"], "--trigger messages:20"),
        (&["--trigger=20"], "--trigger=messages:20"),
        (&["--kep", "20"], "--keep 20"),
        (&["--kep=20"], "--keep 20"),
        (&["-keep", "20"], "--keep 20"),
        (&["--keep", "turns:1", "--keep=turns:2"], "--keep=turns:2"),
        (&["--trigger", "token:4k"], "--trigger tokens:4k"),
        (&["--trigger", "tokens:9k", "--trigger", "turn"], "--trigger tokens:9k --trigger turns:3"),
        (&["--prune", "results,reads"], "--prune results --prune reads"),
        (&["--counter", "byte:0"], "--counter bytes:4"),
        (&["-j", "0"], "-j 4"),
        (&["-j0"], "-j 4"),
        (&["-j=0"], "-j=4"),
        (&["--retries", "-1"], "--retries 3"),
        (&["--accept", "all"], "--accept any"),
        (&["--accept=all"], "--accept=any"),
        (&["--no-color"], "--color never"),
        (&["--explain=yes"], "--explain"),
        (&["--explain", "--explain"], "--explain"),
        (&["-x=1"], "--help"),
        (&["--resum"], "--resume"),
    ];
    const BESIDE: [&[&str]; 12] = [
        &["-o", "out.json"],
        &["-vo", "it's \"out\" $x.json"],
        &["-oout.json", "-e"],
        &["--output=out.json", "-ev"],
        &["-i=.bak"],
        &["-O", "-"],
        &["--in-place", "--focus", "two\nlines\t"],
        &["-o", "x", "--pin", "match:a b", "--pin=first:2", "--pin", "none"],
        &["-o", "x", "--request-json", r#"{"seed": 7}"#, "-m", "openai:m"],
        &["-o", "x", "--summary-prefix=", "--prune-except", "Read", "--prune-except=B c"],
        &["-o", "x", "--archive", "\u{65e5}\u{672c}.jsonl", "--redact"],
        &["-o", "x", "--ledger", "off", "--redact=all", "--context-window", "128k"],
    ];
    const INPUTS: [&[&str]; 6] =
        [&[], &["-"], &["Cargo.toml"], &["src", "README.md", "new.json"], &["--", "-x", "--keep"], &["a b", "--", "c"]];
    let mut sample = Sample::default();
    for (wrong, right) in WRONG {
        for beside in BESIDE {
            for inputs in INPUTS {
                if !sample.takes_next() {
                    continue;
                }
                for (before, behind) in [(beside, &[][..]), (&[][..], beside)] {
                    let told = told(&[&["tcompact"], before, wrong, behind, inputs].concat());
                    let words = |words: &[&[&str]]| joined(&typed(&words.concat()).words);
                    let line = ["try: tcompact", &words(&[before]), right, &words(&[behind, inputs])].join(" ");
                    let line = line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
                    let expected = if right == "--help" { "try: tcompact --help" } else { &line };
                    assert!(told.ends_with(expected), "{wrong:?} {beside:?} {inputs:?}\n{told}\n{expected}");
                }
            }
        }
    }
}

/// A flag that a variable sets is not tried again.
#[test]
fn variables_are_flags_too() {
    for (words, variable, tried) in [
        (&["tcompact", "--keep", "0.8", "a.json"][..], "", "--keep fraction:0.8 --for gpt-4o a.json"),
        (&["tcompact", "--keep", "0.8", "a.json"], "--for", "--keep fraction:0.8 a.json"),
        (&["tcompact", "--base-ur", "http://a/v1"], "", "--model openai:gpt-4o-mini --base-url http://a/v1"),
        (&["tcompact", "--base-ur", "http://a/v1"], "--model", "--base-url http://a/v1"),
        (&["tcompact", "-e", "--jsn"], "--emit", "-e --json"),
    ] {
        let typed = Typed { by_variable: vec![variable.to_owned()], ..typed(words) };
        let error = command().try_get_matches_from(&typed.words).expect_err("a mistake");
        let told = describe(&error, &typed);
        assert!(told.ends_with(&format!("try: tcompact {tried}")), "{words:?} {variable}: {told}");
    }
}
