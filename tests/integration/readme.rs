//! The commands of the README, run as a reader would.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::program::own_settings;
use crate::server::{Server, completion};

/// Each block of commands in turn, from a repository on: where one leaves the shell, the next begins.
#[test]
fn every_command_of_the_readme_works_and_leaves_the_repository_clean() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).expect("the README");
    let folder = tempfile::tempdir().expect("a folder");
    let [tree, home, temporary] = ["tree", "home", "tmp"].map(|name| folder.path().join(name));
    [&home, &temporary].into_iter().for_each(|folder| fs::create_dir(folder).expect("made"));
    committed(root, &tree);
    let program = Path::new(env!("CARGO_BIN_EXE_tcompact")).parent().expect("a folder");
    let outside = std::env::var("PATH").unwrap_or_default();
    let search = format!("{}:{}:{outside}", program.display(), played(root, &home).display());
    let endpoint = Server::start(vec![completion("A short summary.", "stop")]);
    let (mut tried, mut place) = (0, tree.clone());
    for block in readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()) {
        // The network is played by a server of the test's own.
        let script = block
            .replace("cargo run --release -- ", "tcompact ")
            .replace("/tmp/", &format!("{}/", temporary.display()))
            .replace("http://localhost:8080/v1", &endpoint.url)
            .replace("--model openai:gpt-4o-mini", &format!("--model openai:gpt-4o-mini --base-url {}", endpoint.url))
            .replace("OPENAI_API_KEY=…", "OPENAI_API_KEY=sk-test");
        // Building and testing is what this run does.
        if script.contains("cargo ") {
            continue;
        }
        let left = folder.path().join("left");
        let script = format!("set -e\n{script}\npwd > '{}'", left.display());
        let mut bash = Command::new("bash");
        bash.args(["-c", &script]).current_dir(&place).env("PATH", &search).envs(own_settings());
        let output = bash.env("HOME", &home).env("TMPDIR", &temporary).output().expect("bash is there");
        assert!(output.status.success(), "{block}\n{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(git(&tree, &["status", "--porcelain"]), "", "{block}");
        let next = PathBuf::from(fs::read_to_string(left).expect("a path").trim_end());
        if next != place {
            grown_old(&next.join("fixtures/openai-chat"));
        }
        place = next;
        tried += 1;
    }
    assert!(tried >= 20, "{tried} blocks of commands");
    let codex = home.join(".codex/sessions/2026/01/07/rollout-1.jsonl.cut.jsonl");
    assert!(codex.exists() && place.join("old-logs/conversations.jsonl").exists(), "recipes do something");
    assert_eq!(endpoint.requests().len(), 3, "each endpoint of the README was asked, and the one with a preview once");
}

/// What git prints of a repository.
fn git(tree: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "core.autocrlf=false"]).args(arguments);
    let output = command.current_dir(tree).env("GIT_CONFIG_GLOBAL", "/dev/null").output().expect("git is there");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// A repository of what the README needs of this one.
fn committed(root: &Path, tree: &Path) {
    fs::create_dir(tree).expect("made");
    let copied = Command::new("cp").arg("-r").arg(root.join("fixtures")).arg(tree).status();
    assert!(copied.expect("cp is there").success());
    git(tree, &["init", "--quiet"]);
    git(tree, &["add", "."]);
    git(tree, &["commit", "--quiet", "--message", "all"]);
}

/// Makes files old enough for the recipe that looks for such.
fn grown_old(folder: &Path) {
    let old = SystemTime::now() - Duration::from_secs(60 * 24 * 60 * 60);
    for file in fs::read_dir(folder).expect("fixtures") {
        let file = fs::File::options().append(true).open(file.expect("a file").path()).expect("opened");
        file.set_modified(old).expect("set back");
    }
}

/// Puts a session of Codex into a home; a folder there with stand-ins for programs that ask a model.
fn played(root: &Path, home: &Path) -> PathBuf {
    let sessions = home.join(".codex/sessions/2026/01/07");
    fs::create_dir_all(&sessions).expect("made");
    fs::copy(root.join("fixtures/codex/rollout.jsonl"), sessions.join("rollout-1.jsonl")).expect("copied");
    let folder = home.join("bin");
    fs::create_dir(&folder).expect("made");
    for name in ["llm", "ollama"] {
        let said = "#!/bin/sh\ncat > /dev/null\necho A short summary.\n";
        fs::write(folder.join(name), said).expect("written");
        let mode = Command::new("chmod").arg("+x").arg(folder.join(name)).status();
        assert!(mode.is_ok_and(|status| status.success()));
    }
    folder
}

/// What `cargo run --release --` is given in the README, given to the program that was built for this test.
#[test]
fn the_first_command_of_the_readme_runs_the_main_job() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("the README");
    let line = readme.lines().find_map(|line| line.strip_prefix("cargo run --release -- ")).expect("the command");
    let arguments: Vec<&str> = line.split(" > ").next().expect("arguments").split_whitespace().collect();
    let output = Command::new(env!("CARGO_BIN_EXE_tcompact"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .envs(own_settings())
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("Here is a summary of the conversation to date:"));
}

#[test]
fn the_picture_of_the_readme_is_what_is_drawn() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).expect("the README");
    let command = readme.lines().find(|line| line.contains("--explain")).expect("the command");
    let mut tcompact = Command::new(env!("CARGO_BIN_EXE_tcompact"));
    tcompact.args(command.split_whitespace().skip(1)).current_dir(root).envs(own_settings());
    let drawn = String::from_utf8(tcompact.output().expect("it runs").stderr).expect("UTF-8");
    assert!(readme.contains(&format!("```text\n{drawn}```")), "{drawn}");
}

/// `TCOMPACT_REGENERATE=1` draws it anew.
#[test]
fn the_drawing_at_the_top_is_what_a_terminal_shows() {
    let arguments = ["-n", "--explain", "--color", "always", "--keep", "messages:10", "agent-session.json"];
    let drawn = crate::program::with(&arguments).stderr;
    let terminal = anstyle_svg::Term::new().palette(anstyle_svg::WIN10_CONSOLE);
    // What terminals dim can still be read there.
    let svg = terminal.render_svg(&drawn).replace("opacity: 0.4", "opacity: 0.75");
    let file = Path::new(crate::program::FIXTURES).join("explain.svg");
    if std::env::var_os("TCOMPACT_REGENERATE").is_some() {
        fs::write(&file, &svg).expect("written");
    }
    let advice = "fixtures/explain.svg is stale: run `TCOMPACT_REGENERATE=1 cargo test readme` and commit it";
    assert!(fs::read_to_string(&file).is_ok_and(|committed| committed == svg), "{advice}");
}

/// How deep the heading of a section is, its code in lines, sorted, and the figures of each row of its tables.
type Section<'t> = (usize, Vec<&'t str>, Vec<Vec<String>>);

/// The blocks of code of a text, and its sections.
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
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| fs::read_to_string(root.join(name)).expect("a README");
    let (english, chinese) = (read("README.md"), read("README.zh-CN.md"));
    let (english, chinese) = (facts(&english), facts(&chinese));
    for (one, other) in english.0.iter().zip(&chinese.0) {
        assert_eq!(one, other, "blocks of code");
    }
    for (one, other) in english.1.iter().zip(&chinese.1) {
        assert_eq!((one.0, &one.1, one.2.len()), (other.0, &other.1, other.2.len()));
        for (row, translated) in one.2.iter().zip(&other.2) {
            // Months are figures in Chinese.
            assert!(row.iter().all(|figure| translated.contains(figure)), "{row:?}, {translated:?}");
        }
    }
    assert_eq!((english.0.len(), english.1.len()), (chinese.0.len(), chinese.1.len()), "blocks, and sections");
}

#[test]
fn the_tables_of_the_readme_are_those_of_the_program() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("the README");
    for (exit, meaning) in tcompact::exit::MEANINGS {
        assert!(readme.contains(&format!("| {} | {meaning} |", exit as u8)), "exit code {}", exit as u8);
    }
    for preset in tcompact::settings::presets::PRESETS {
        let row = format!("| `{}` | {} |", preset.name, preset.about);
        assert!(readme.contains(&row), "{row}");
    }
    for format in tcompact::transcript::formats::FORMATS {
        assert!(readme.contains(&format!("| `{}` | {} |", format.name(), format.about())), "{}", format.name());
    }
    for provider in tcompact::llm::providers::PROVIDERS {
        assert!(readme.contains(&format!("`{}:`", provider.name)), "{}", provider.name);
    }
}
