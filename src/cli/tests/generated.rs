//! Files that are generated from the flags: completions and the manual page. `TCOMPACT_REGENERATE=1` writes them.

use std::path::Path;

use crate::cli::{CliArguments, Generated};
use clap::{Command, CommandFactory, ValueEnum};
use clap_complete::Shell;

fn generate(generated: Generated) -> Vec<u8> {
    // The folder that cargo runs tests in must not be in a file.
    let command: Command = CliArguments::command();
    let shell = match generated {
        Generated::Bash => Shell::Bash,
        Generated::Zsh => Shell::Zsh,
        Generated::Fish => Shell::Fish,
        Generated::Powershell => Shell::PowerShell,
        Generated::Elvish => Shell::Elvish,
        Generated::Man => return super::manual::page(command).into_bytes(),
    };
    super::completions::script(shell, command)
}

#[test]
fn completions() {
    for generated in Generated::value_variants() {
        let (name, committed) = generated.file();
        let generated_file = generate(*generated);
        if std::env::var_os("TCOMPACT_REGENERATE").is_some() {
            std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("completions").join(name), &generated_file)
                .expect("written");
        } else {
            let advice = "is stale: run `TCOMPACT_REGENERATE=1 cargo test generated` and commit it";
            assert!(committed.as_bytes() == generated_file, "completions/{name} {advice}");
        }
    }
}
