//! Runs the commands of the README and the other documents as a reader would, and checks what they state about the
//! program.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::program::own_settings;
use crate::server::{Server, at_length, completion};

/// The documents besides the README.
fn documents() -> Vec<String> {
    let docs = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")).expect("docs");
    let names = docs.map(|entry| format!("docs/{}", entry.expect("an entry").file_name().to_string_lossy()));
    let mut documents: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
    documents.push("CONTRIBUTING.md".to_owned());
    documents
}

fn document(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).expect("a document")
}

#[test]
fn links_between_documents_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in documents().into_iter().chain(["README.md", "README.zh-CN.md"].map(str::to_owned)) {
        let text = document(&name);
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (path, section) = target.split_once('#').unwrap_or((target, ""));
            let linked = root.join(&name).with_file_name("").join(path);
            let linked = fs::read_to_string(linked).unwrap_or_else(|error| panic!("{name}: {target}: {error}"));
            let heading = format!("## {section}");
            let is_there = linked.lines().any(|line| line.eq_ignore_ascii_case(&heading));
            assert!(section.is_empty() || is_there, "{name}: {target}");
        }
    }
}

/// Runs the commands of documents as a reader would, in a repository of fixtures.
struct Reader {
    folder: tempfile::TempDir,
    endpoint: Server,
    search: String,
}

impl Reader {
    fn new() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = tempfile::tempdir().expect("a folder");
        let [home, temporary] = ["home", "tmp"].map(|name| folder.path().join(name));
        [&home, &temporary].into_iter().for_each(|folder| fs::create_dir(folder).expect("made"));
        create_repository(root, &folder.path().join("tree"));
        let program = Path::new(env!("CARGO_BIN_EXE_tcompact")).parent().expect("a folder");
        let outside = std::env::var("PATH").unwrap_or_default();
        let search = format!("{}:{}:{outside}", program.display(), stand_in_programs(root, &home).display());
        Reader { folder, endpoint: Server::start(vec![completion(&at_length("A short summary."), "stop")]), search }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs each block of commands in the folder where the previous one ended. Returns the number of blocks, and the
    /// last folder.
    fn run(&self, name: &str, mut place: PathBuf) -> (usize, PathBuf) {
        let (text, mut tried) = (document(name), 0);
        for block in text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            // A local server of the test replaces the network.
            let script = block
                .replace("cargo run --release -- ", "tcompact ")
                .replace("/tmp/", &format!("{}/", self.path("tmp").display()))
                .replace("http://localhost:8080/v1", &self.endpoint.url)
                .replace(
                    "--model openai:gpt-4o-mini",
                    &format!("--model openai:gpt-4o-mini --base-url {}", self.endpoint.url),
                )
                .replace("OPENAI_API_KEY=…", "OPENAI_API_KEY=sk-test");
            // This test is part of building and testing.
            if script.contains("cargo ") {
                continue;
            }
            let left = self.path("left");
            let script = format!("set -e\n{script}\npwd > '{}'", left.display());
            let mut bash = Command::new("bash");
            bash.args(["-c", &script]).current_dir(&place).env("PATH", &self.search).envs(own_settings());
            bash.env("HOME", self.path("home")).env("TMPDIR", self.path("tmp"));
            let output = bash.output().expect("bash is there");
            assert!(output.status.success(), "{name}\n{block}\n{}", String::from_utf8_lossy(&output.stderr));
            assert_eq!(git(&self.path("tree"), &["status", "--porcelain"]), "", "{name}\n{block}");
            let next = PathBuf::from(fs::read_to_string(left).expect("a path").trim_end());
            place = next;
            tried += 1;
        }
        (tried, place)
    }
}

const CODEX_SESSION: &str = ".codex/sessions/2026/01/07/rollout-1.jsonl";
const KIMI_CODE_SESSION: &str = ".kimi-code/sessions/wd_work_1/session_1/agents/main/wire.jsonl";
const QWEN_CODE_SESSION: &str = ".qwen/projects/-work/chats/0b7d8c1e-52a4-4f0e-9b61-3c2a5d4e6f71.jsonl";
const CLAUDE_CODE_SESSION: &str = ".claude/projects/-work/0b7d8c1e-52a4-4f0e-9b61-3c2a5d4e6f70.jsonl";

#[test]
fn every_command_of_the_readme_works_and_leaves_the_repository_clean() {
    let reader = Reader::new();
    let (tried, place) = reader.run("README.md", reader.path("tree"));
    assert!(tried >= 10, "{tried} blocks of commands");
    assert!(place.join("compacted/plain.json").exists(), "the folder is compacted");
    assert_eq!(reader.endpoint.requests().len(), 1, "a model was asked once");
    let home = reader.path("home");
    for session in [CODEX_SESSION, CLAUDE_CODE_SESSION].map(|session| home.join(session)) {
        let size = |path: &Path| fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).len();
        let archive = PathBuf::from(format!("{}.cut.jsonl", session.display()));
        assert!(size(&session) < 200_000 && size(&archive) > 200_000, "{} is shortened", session.display());
    }
    // The archives lie beside the sessions, and are newer.
    let readme = document("README.md");
    for line in readme.lines().filter(|line| line.starts_with("session=$(")) {
        let script = format!("{line}; echo \"$session\"");
        let found = Command::new("bash").args(["-c", &script]).env("HOME", &home).output().expect("bash is there");
        let found = String::from_utf8(found.stdout).expect("UTF-8");
        assert!(found.ends_with(".jsonl\n") && !found.contains(".cut."), "{line}: {found}");
    }
}

#[test]
fn every_command_of_the_documents_works_and_leaves_the_repository_clean() {
    let reader = Reader::new();
    let tried = documents().iter().map(|name| reader.run(name, reader.path("tree")).0).sum::<usize>();
    assert!(tried >= 10, "{tried} blocks of commands");
}

fn git(tree: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "core.autocrlf=false"]).args(arguments);
    let output = command.current_dir(tree).env("GIT_CONFIG_GLOBAL", "/dev/null").output().expect("git is there");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Creates a repository with the files that the README needs.
fn create_repository(root: &Path, tree: &Path) {
    fs::create_dir(tree).expect("made");
    let copied = Command::new("cp").arg("-r").arg(root.join("fixtures")).arg(tree).status();
    assert!(copied.expect("cp is there").success());
    git(tree, &["init", "--quiet"]);
    git(tree, &["add", "."]);
    git(tree, &["commit", "--quiet", "--message", "all"]);
}

/// Writes a long session of Codex and one of Claude Code into a home, and returns a folder with stand-ins for programs
/// that ask a model.
fn stand_in_programs(root: &Path, home: &Path) -> PathBuf {
    for (fixture, place, said) in [
        ("codex/rollout.jsonl", CODEX_SESSION, "How much flour does the recipe take?"),
        ("kimi-code/session.jsonl", KIMI_CODE_SESSION, "The rain gauge shows twice the rain since Tuesday."),
        ("qwen-code/session.jsonl", QWEN_CODE_SESSION, "The oven log says 240 degrees at night."),
        ("claude-code/parallel.jsonl", CLAUDE_CODE_SESSION, "Prices in the cart are a cent off."),
    ] {
        let session = fs::read_to_string(root.join("fixtures").join(fixture)).expect("a fixture");
        let long = format!("{} {said}", "Weigh it in grams, and tell me each step.".repeat(12_000));
        assert!(session.contains(said), "{fixture}");
        fs::create_dir_all(home.join(place).parent().expect("a folder")).expect("made");
        fs::write(home.join(place), session.replace(said, &long)).expect("written");
    }
    let folder = home.join("bin");
    fs::create_dir(&folder).expect("made");
    for name in ["llm", "ollama"] {
        let said = format!("#!/bin/sh\ncat > /dev/null\necho '{}'\n", at_length("A short summary."));
        fs::write(folder.join(name), said).expect("written");
        let mode = Command::new("chmod").arg("+x").arg(folder.join(name)).status();
        assert!(mode.is_ok_and(|status| status.success()));
    }
    folder
}

/// Runs the built program with the arguments that the README passes to `cargo run --release --`.
#[test]
fn the_first_command_of_the_readme_compacts_to_8000_tokens() {
    let readme = document("README.md");
    let blocks = readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let first: Vec<&str> = blocks.take(2).collect();
    assert_eq!(first[1], "cargo test --locked\n");
    let line = first[0].strip_prefix("cargo run --release -- ").expect("the command");
    let output = run_command(&format!("tcompact {line}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let result = tempfile::NamedTempFile::new().expect("a file");
    fs::write(result.path(), &output.stdout).expect("written");
    let count = run_command(&format!("tcompact count {}", result.path().display()));
    let tokens: u64 = String::from_utf8_lossy(&count.stdout).trim().parse().expect("a number");
    assert!((4_000..=8_000).contains(&tokens), "{tokens}");
}

#[test]
fn the_picture_in_the_documents_is_what_is_drawn() {
    let economy = document("docs/economy.md");
    let command = economy.lines().find(|line| line.starts_with("tcompact -n --explain")).expect("the command");
    let drawn = String::from_utf8(run_command(command).stderr).expect("UTF-8");
    assert!(economy.contains(&format!("```text\n{drawn}```")), "{drawn}");
}

/// Runs a command of a document with the built program.
fn run_command(command: &str) -> Output {
    let mut tcompact = Command::new(env!("CARGO_BIN_EXE_tcompact"));
    tcompact.args(command.split_whitespace().skip(1).take_while(|word| *word != ">"));
    tcompact.current_dir(env!("CARGO_MANIFEST_DIR")).envs(own_settings()).output().expect("it runs")
}

/// `TCOMPACT_REGENERATE=1` writes them anew.
#[test]
fn a_summary_in_a_document_is_what_its_command_prints() {
    let short = "tcompact --keep messages:6 --summary-tokens 500 --emit summary -q agent-session.json";
    let whole = "tcompact --keep messages:6 --emit summary -q fixtures/agent-session.json";
    for (name, command) in [("README.md", short), ("README.zh-CN.md", short), ("docs/summaries.md", whole)] {
        let command_here = command.replace(" agent-session", " fixtures/agent-session");
        let summary = String::from_utf8(run_command(&command_here).stdout).expect("UTF-8");
        let text = document(name);
        let opening = format!("```sh\n{command}\n```\n\n```text\n");
        let (before, rest) = text.split_once(&opening).unwrap_or_else(|| panic!("{name}: {command}"));
        let (shown, after) = rest.split_once("```\n").expect("the end of the summary");
        if std::env::var_os("TCOMPACT_REGENERATE").is_some() {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
            fs::write(path, format!("{before}{opening}{summary}```\n{after}")).expect("written");
        } else {
            assert_eq!(shown, summary, "{name} is stale: run `TCOMPACT_REGENERATE=1 cargo test readme` and commit it");
        }
    }
}

#[test]
fn the_page_of_options_has_every_flag_and_no_other() {
    const COMMANDS: [&str; 8] = ["count", "check", "repair", "redact", "search", "show", "restore", "slim"];
    let mut help = String::from_utf8(run_command("tcompact --help").stdout).expect("UTF-8");
    for command in COMMANDS {
        let of_command = run_command(&format!("tcompact help {command}")).stdout;
        help += &String::from_utf8(of_command).expect("UTF-8");
    }
    let definitions = help.lines().filter(|line| line.trim_start().starts_with('-'));
    let flags = |text: &str| -> BTreeSet<String> {
        let words = text.split(|letter: char| !(letter.is_ascii_lowercase() || letter == '-'));
        words.filter(|word| word.starts_with("--") && !word.ends_with('-')).map(str::to_owned).collect()
    };
    let mut defined: BTreeSet<String> = definitions.flat_map(flags).collect();
    defined.retain(|flag| !["--help", "--version"].contains(&flag.as_str()));
    let mut described = flags(&document("docs/options.md"));
    described.remove("--help");
    assert_eq!(described, defined);
}

/// `TCOMPACT_REGENERATE=1` redraws it.
#[test]
fn the_drawing_at_the_top_is_what_a_terminal_shows() {
    let arguments = ["-n", "--explain", "--color", "always", "--keep", "messages:10", "agent-session.json"];
    let drawn = crate::program::with(&arguments).stderr;
    let terminal = anstyle_svg::Term::new().palette(anstyle_svg::WIN10_CONSOLE);
    // Dimmed text is still readable on terminals.
    let svg = terminal.render_svg(&drawn).replace("opacity: 0.4", "opacity: 0.75");
    let file = Path::new(crate::program::FIXTURES).join("explain.svg");
    if std::env::var_os("TCOMPACT_REGENERATE").is_some() {
        fs::write(&file, &svg).expect("written");
    }
    let advice = "fixtures/explain.svg is stale: run `TCOMPACT_REGENERATE=1 cargo test readme` and commit it";
    assert!(fs::read_to_string(&file).is_ok_and(|there| there == svg), "{advice}");
}

/// The depth of a section's heading, its sorted code spans, and the figures of each row of its tables.
type Section<'t> = (usize, Vec<&'t str>, Vec<Vec<String>>);

/// The code blocks and the sections of a text.
fn facts(text: &str) -> (Vec<&str>, Vec<Section<'_>>) {
    let blocks = text.split("```").skip(1).step_by(2).collect();
    let prose: String = text.split("```").step_by(2).collect();
    let prose: &str = Box::leak(prose.into_boxed_str());
    let sections = prose.split("\n#").map(|section| {
        let depth = section.chars().take_while(|letter| *letter == '#').count();
        let mut spans: Vec<&str> = section.split('`').skip(1).step_by(2).collect();
        spans.sort_unstable();
        let rows = section.lines().filter(|line| line.starts_with('|'));
        let figures = |row: &str| {
            let mut figures: Vec<&str> = row.split(|letter: char| !letter.is_ascii_digit() && letter != '.').collect();
            figures.retain(|figure| figure.chars().any(|letter| letter.is_ascii_digit()));
            figures.into_iter().map(str::to_owned).collect()
        };
        (depth, spans, rows.map(figures).collect())
    });
    (blocks, sections.collect())
}

#[test]
fn the_readme_in_chinese_has_the_same_facts() {
    let (english, chinese) = (document("README.md"), document("README.zh-CN.md"));
    let (english, chinese) = (facts(&english), facts(&chinese));
    for (one, other) in english.0.iter().zip(&chinese.0) {
        assert_eq!(one, other, "blocks of code");
    }
    for (one, other) in english.1.iter().zip(&chinese.1) {
        assert_eq!((one.0, &one.1, one.2.len()), (other.0, &other.1, other.2.len()));
        for (row, translated) in one.2.iter().zip(&other.2) {
            // Chinese names months with figures.
            assert!(row.iter().all(|figure| translated.contains(figure)), "{row:?}, {translated:?}");
        }
    }
    assert_eq!((english.0.len(), english.1.len()), (chinese.0.len(), chinese.1.len()), "blocks, and sections");
}
