//! The packages that are published are whole.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn each_package_has_all_of_its_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut packages = vec![root.to_owned()];
    for entry in fs::read_dir(root.join("crates")).expect("the packages") {
        packages.push(entry.expect("a package").path());
    }
    let sources: usize = packages.iter().map(|package| packed_sources(package)).sum();
    assert!(sources > 300, "{sources}");
}

/// The number of sources of a package, all of which are packed.
fn packed_sources(package: &Path) -> usize {
    let list = Command::new(env!("CARGO"))
        .args(["package", "--list", "--locked", "--offline", "--allow-dirty"])
        .current_dir(package)
        .output()
        .expect("cargo is there");
    assert!(list.status.success(), "{list:?}");
    let list = String::from_utf8(list.stdout).expect("UTF-8");
    let packed: HashSet<&Path> = list.lines().map(Path::new).collect();
    let mut folders = vec![package.join("src")];
    let mut sources = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(package).expect("inside");
                assert!(packed.contains(name), "{} is left out of the package", path.display());
                sources += 1;
            }
        }
    }
    let is_apart = |path: &&Path| {
        ["npm", "python", "integrations", "fuzz", "crates"].iter().any(|folder| path.starts_with(folder))
    };
    assert!(!packed.iter().any(is_apart));
    sources
}
