//! The crate that is published is whole.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::Command;

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
