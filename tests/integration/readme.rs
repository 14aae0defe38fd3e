//! The commands of the README, run as a reader would.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::program::own_settings;
use crate::server::{Server, completion};

#[test]
fn every_command_of_the_readme_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).expect("the README");
    let folder = tempfile::tempdir().expect("a folder");
    let copied = Command::new("cp").arg("-r").arg(root.join("fixtures")).arg(folder.path()).status();
    assert!(copied.expect("cp is there").success());
    let program = Path::new(env!("CARGO_BIN_EXE_tcompact")).parent().expect("a folder");
    let search = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut tried = 0;
    let endpoint = Server::start(vec![completion("A short summary.", "stop")]);
    for block in readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()) {
        // Building is what the test run has just done.
        if block.contains("cargo ") {
            continue;
        }
        // The network is played by a server of the test's own.
        let script = format!("set -e\n{block}")
            .replace("http://localhost:8080/v1", &endpoint.url)
            .replace("--model openai:gpt-4o-mini", &format!("--model openai:gpt-4o-mini --base-url {}", endpoint.url))
            .replace("OPENAI_API_KEY=…", "OPENAI_API_KEY=sk-test");
        let mut bash = Command::new("bash");
        bash.args(["-c", &script]).current_dir(folder.path()).env("PATH", &search).envs(own_settings());
        let output = bash.output().expect("bash is there");
        assert!(output.status.success(), "{block}\n{}", String::from_utf8_lossy(&output.stderr));
        tried += 1;
    }
    assert!(tried >= 6, "{tried} blocks of commands");
    assert_eq!(endpoint.requests().len(), 3, "each endpoint of the README was asked, and the one with a preview once");
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

#[test]
fn the_tables_of_the_readme_are_those_of_the_program() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("the README");
    for (exit, meaning) in tcompact::exit::MEANINGS {
        assert!(readme.contains(&format!("| {} | {meaning} |", exit as u8)), "exit code {}", exit as u8);
    }
    for preset in tcompact::presets::PRESETS {
        let row = format!("| `{}` | {} |", preset.name, preset.about);
        assert!(readme.contains(&row), "{row}");
    }
    for format in tcompact::transcript::format::FORMATS {
        assert!(readme.contains(&format!("| `{}` | {} |", format.name(), format.about())), "{}", format.name());
    }
    for provider in tcompact::summary::provider::PROVIDERS {
        assert!(readme.contains(&format!("`{}:`", provider.name)), "{}", provider.name);
    }
}
