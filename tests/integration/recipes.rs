//! Recipes of the documents that pick sessions of agents by a glob, run twice: the second run must not take what the
//! first one wrote, an archive above all, for a session.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::program::{FIXTURES, shell};
use crate::support::tree;

/// The sessions of agents, as they name them, and what they hold.
const SESSIONS: [(&str, &str); 7] = [
    (
        ".codex/sessions/2026/01/07/rollout-2026-01-07T12-00-00-0199a213-81c0-7800-8aa1-bbab2a035a53.jsonl",
        "codex/rollout.jsonl",
    ),
    (".codex/sessions/2026/01/06/rollout-1.jsonl", "codex/rollout.jsonl"),
    (".claude/projects/-home-a/5e551011-0000-4000-8000-000000000001.jsonl", "claude-code/parallel.jsonl"),
    (
        ".pi/agent/sessions/--home-a--/2026-01-07T12-00-00-000Z_0199a213-81c0-7800-8aa1-bbab2a035a53.jsonl",
        "pi/session.jsonl",
    ),
    (".kimi-code/sessions/wd_a_0a1b2c/session_0199a213/agents/main/wire.jsonl", "kimi-code/session.jsonl"),
    (".qwen/projects/-home-a/chats/5e551011-0000-4000-8000-000000000002.jsonl", "qwen-code/session.jsonl"),
    (".gemini/tmp/0a1b2c/chats/session-2026-01-07T12-00-0199a213.json", "gemini-cli/session.json"),
];

/// The blocks of `sh` of all documents for users that name a place in a home, with the document's name.
fn recipes() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut documents: Vec<PathBuf> = Vec::new();
    for folder in ["", "docs", "npm", "python", "integrations"] {
        let names = fs::read_dir(root.join(folder)).into_iter().flatten().map(|entry| entry.expect("an entry").path());
        // An integration has a README of its own.
        documents.extend(names.flat_map(|path| [path.join("README.md"), path]).filter(|path| path.is_file()));
    }
    let documents = documents.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let mut recipes = Vec::new();
    for path in documents {
        let text = fs::read_to_string(&path).expect("a document");
        let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
        let picks = |block: &&str| block.contains("~/.") && block.contains('*') && block.contains("tcompact");
        // What undoes a recipe needs it before.
        let picking = blocks.filter(|block| picks(block) && !block.contains("tcompact restore"));
        recipes.extend(picking.map(|block| (path.display().to_string(), block.to_owned())));
    }
    recipes
}

#[test]
fn a_recipe_takes_no_archive_for_a_session() {
    let recipes = recipes();
    assert!(!recipes.is_empty(), "recipes pick the newest session");
    for (document, recipe) in recipes {
        let home = tempfile::tempdir().expect("a folder");
        for (name, fixture) in SESSIONS {
            let session = home.path().join(name);
            fs::create_dir_all(session.parent().expect("a folder")).expect("made");
            let text = fs::read_to_string(Path::new(FIXTURES).join(fixture)).expect("a fixture");
            // Of some length, so that it is above the size that a recipe fits.
            let long = "Tell me each step, and weigh all of it in grams. ".repeat(12_000);
            let openings = ["How much flour", "Prices in the cart", "The rain gauge", "The oven log"];
            let longer = |text: String, opening: &str| text.replace(opening, &format!("{long}{opening}"));
            fs::write(session, openings.into_iter().fold(text, longer)).expect("written");
        }
        let run = || {
            let output = shell(&format!("set -e\n{recipe}"), home.path()).env("HOME", home.path()).output();
            let output = output.expect("it runs");
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{document}\n{recipe}\n{errors}");
            tree(home.path())
        };
        let before = tree(home.path());
        let once = run();
        let written: Vec<_> = once.iter().filter(|(path, bytes)| before.get(*path) != Some(*bytes)).collect();
        assert!(!written.is_empty(), "{document}: it does nothing\n{recipe}");
        // What the first run wrote is the newest.
        for (path, bytes) in written.iter().filter(|(path, _)| !before.contains_key(*path)) {
            std::thread::sleep(std::time::Duration::from_millis(20));
            fs::write(home.path().join(path), bytes).expect("written");
        }
        let twice = run();
        let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&once), names(&twice), "{document}: the second run took another file\n{recipe}");
        for (path, bytes) in written.iter().filter(|(path, _)| !before.contains_key(*path)) {
            assert!(twice[*path].starts_with(bytes), "{document}: {} is changed\n{recipe}", path.display());
        }
    }
}
