//! The script that a change must pass says what it could not check, and the crate is whole.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::left_out::left_out;

/// Runs the script where cargo passes everything, but has only some of its tools; returns whether it succeeded and what
/// it printed.
fn checked(has: &str, fails: &str) -> (bool, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let cargo = folder.path().join("cargo");
    // `cargo deny --version` and the like ask whether a tool is there.
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in {fails}) exit 1;; *--version*) case \"$*\" in *{has}*) ;; *) exit 1;; esac;; esac\n"
    );
    // Without Node and Python, whose packages have tests of their own.
    let other = |name| (folder.path().join(name), "#!/bin/sh\nexit 1\n".to_owned());
    for (path, script) in [(cargo, script), other("node"), other("python3")] {
        fs::write(&path, script).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap_or_default());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/run");
    // Nothing is built here, so that nothing is run inside agents.
    let output = Command::new("bash").arg(script).env("PATH", path).env("CARGO_TARGET_DIR", folder.path()).output();
    let output = output.expect("bash is there");
    (output.status.success(), String::from_utf8(output.stdout).expect("UTF-8"))
}

#[test]
fn the_end_names_what_was_not_checked() {
    if !Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/run").exists() {
        // It is not part of the package.
        return left_out("repository");
    }
    let last = |printed: &str| printed.rsplit_once("NOT CHECKED, ").map(|(_, list)| list.to_owned()).expect("a list");
    let (passed, printed) = checked("nothing", "never");
    assert!(passed, "{printed}");
    let missing = [
        "integrations",
        "dependencies (bans, licenses, sources, advisories)",
        "fuzzing",
        "tests that take long",
        "the npm package",
        "the Python package",
    ];
    for missing in missing {
        assert!(last(&printed).contains(&format!("!! {missing}")), "{printed}");
    }
    let (_, printed) = checked("deny", "never");
    assert!(!last(&printed).contains("dependencies"), "{printed}");
    let (_, printed) = checked("deny", "*fetch*");
    assert!(last(&printed).contains("!! advisories on dependencies"), "{printed}");
    // What fails ends it, and nothing is said to hold.
    for fails in ["fmt*", "clippy*", "test*", "doc*", "deny*check*"] {
        let (passed, printed) = checked("deny", fails);
        assert!(!passed && !printed.contains("holds"), "{fails}: {printed}");
    }
}

#[test]
fn the_crate_has_all_of_its_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = Command::new(env!("CARGO"))
        .args(["package", "--list", "--locked", "--offline", "--allow-dirty"])
        .current_dir(root)
        .output()
        .expect("cargo is there");
    assert!(list.status.success(), "{list:?}");
    let list = String::from_utf8(list.stdout).expect("UTF-8");
    let packed: HashSet<&Path> = list.lines().map(Path::new).collect();
    let mut folders = vec![root.join("src")];
    let mut sources = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).expect("inside");
                assert!(packed.contains(name), "{} is left out of the crate", name.display());
                sources += 1;
            }
        }
    }
    assert!(sources > 300, "{sources}");
    let is_apart =
        |path: &&Path| ["npm", "python", "integrations", "fuzz"].iter().any(|folder| path.starts_with(folder));
    assert!(!packed.iter().any(is_apart));
}
