//! Files that are generated from the flags: completions and the manual page. `TCOMPACT_REGENERATE=1` writes them.

use std::path::Path;

use crate::cli::{MANUAL, Shell};
use clap::ValueEnum;

fn script(shell: Shell) -> Vec<u8> {
    super::completions::script(match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
        Shell::Powershell => clap_complete::Shell::PowerShell,
        Shell::Elvish => clap_complete::Shell::Elvish,
    })
}

#[test]
fn completions() {
    let mut files = vec![(MANUAL, super::manual::page().into_bytes())];
    for shell in Shell::value_variants() {
        files.push((shell.file(), script(*shell)));
    }
    for ((name, committed), generated) in files {
        if std::env::var_os("TCOMPACT_REGENERATE").is_some() {
            std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("completions").join(name), &generated)
                .expect("written");
        } else {
            let advice = "is stale: run `TCOMPACT_REGENERATE=1 cargo test generated` and commit it";
            assert!(committed.as_bytes() == generated, "completions/{name} {advice}");
        }
    }
}
