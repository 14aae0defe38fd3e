//! Checks what documents state about the program.

use std::fs;
use std::path::Path;

use crate::presets::PRESETS;
use crate::transcript::formats::FORMATS;
use tcompact::internals::PROVIDERS;
use tcompact_base::exit::MEANINGS;

fn document(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).expect("a document")
}

#[test]
fn the_tables_of_the_documents_are_those_of_the_program() {
    let names = ["README.md", "docs/options.md", "docs/presets.md", "docs/formats.md", "docs/summaries.md"];
    let [readme, options, presets, formats, summaries] = names.map(document);
    for (exit, meaning) in MEANINGS {
        assert!(options.contains(&format!("| {} | {meaning} |", exit as u8)), "exit code {}", exit as u8);
    }
    for preset in PRESETS {
        let row = format!("| `{}` | {} |", preset.name, preset.about);
        assert!(presets.contains(&row), "{row}");
    }
    for format in FORMATS {
        let row = format!("| `{}` | {} |", format.name, format.about);
        assert!(formats.contains(&row), "{row}");
    }
    assert!(readme.contains(&format!(" {} formats ", FORMATS.len())));
    for provider in PROVIDERS {
        assert!(summaries.contains(&format!("`{}:`", provider.name)), "{}", provider.name);
    }
}
