//! The packages that work in memory do not access the outside, and no module imports a later one of the list.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The packages that work in memory.
const PURE: [&str; 5] = ["json", "transcript", "tokens", "redact", "core"];
/// The parts of the standard library for files, network, processes, clocks, environment, threads and printing.
const OUTSIDE: [&str; 13] = [
    "std::fs",
    "std::net",
    "std::process",
    "std::env",
    "std::time",
    "std::thread",
    "std::io::std",
    "println!",
    "eprintln!",
    "clap::",
    "reqwest",
    "indicatif",
    "RandomState",
];

/// The modules of the program and of the library, each before those that may import it.
const ROOMS: [(&str, &[&str]); 2] = [
    ("src", &["events", "files", "llm", "cli", "settings", "report", "engine"]),
    ("crates/core/src", &["plan", "rewrite", "prune", "digest", "summary", "presets", "compact"]),
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .collect()
}

/// A source without its tests, which are unrestricted: they are at the end of a file, or in a file of their own.
fn code<'t>(file: &Path, text: &'t str) -> &'t str {
    const TESTS: &str = "\n#[cfg(test)]\n";
    // A declaration of tests is among the other declarations, before the code.
    let are_here = |at: &usize| {
        text[at + TESTS.len()..].lines().next().is_some_and(|line| line.contains("mod ") && line.ends_with('{'))
    };
    let end = text.match_indices(TESTS).map(|(at, _)| at).find(are_here).unwrap_or(text.len());
    if file.iter().any(|part| part == "tests" || part == "tests.rs") { "" } else { &text[..end] }
}

#[test]
fn no_room_imports_one_that_comes_after_it() {
    for (src, rooms) in ROOMS {
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join(src);
        for (at, room) in rooms.iter().enumerate() {
            let mut files = sources(&src);
            files.retain(|file| {
                let place = file.strip_prefix(&src).expect("a file of src");
                place.starts_with(room) || place == Path::new(&format!("{room}.rs"))
            });
            assert!(!files.is_empty(), "{room} is there");
            for file in files {
                let text = fs::read_to_string(&file).expect("a source");
                let lines = code(&file, &text).lines().filter(|line| !line.trim_start().starts_with("//"));
                let lines = lines.collect::<Vec<_>>().join("\n");
                let imported = used_paths(&lines);
                for later in &rooms[at + 1..] {
                    let path = format!("crate::{later}");
                    let is_imported = lines.contains(&path) || imported.iter().any(|used| used.starts_with(&path));
                    assert!(!is_imported, "{} imports {later}", file.display());
                }
            }
        }
        // A module outside the list would be unchecked.
        for entry in fs::read_dir(&src).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            let name = entry.file_name().and_then(|name| name.to_str()).expect("a name");
            assert!(!entry.is_dir() || rooms.contains(&name), "{name} is not in the list of rooms");
        }
    }
}

#[test]
fn pure_packages_stay_pure() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for package in PURE {
        let files = sources(&root.join("crates").join(package).join("src"));
        assert!(files.len() > 1, "{package} is there");
        for file in files {
            let text = fs::read_to_string(&file).expect("a source");
            let code = code(&file, &text);
            for outside in OUTSIDE {
                assert!(!code.contains(outside), "{} uses {outside}", file.display());
            }
        }
    }
}

/// The paths of a `use`: `a::{b, c::d}` has two.
fn paths(path: &str) -> Vec<String> {
    let Some((before, inside)) = path.trim().split_once('{') else { return vec![path.trim().to_owned()] };
    let inside = inside.trim_end().strip_suffix('}').expect("a list that ends");
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in inside.chars() {
        match c {
            ',' if depth == 0 => parts.push(String::new()),
            c => {
                depth += i32::from(c == '{') - i32::from(c == '}');
                parts.last_mut().expect("one at least").push(c);
            }
        }
    }
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(|part| paths(&format!("{before}{}", part.trim()))).collect()
}

/// The paths of all `use` items that begin a line.
fn used_paths(code: &str) -> Vec<String> {
    let mut used = Vec::new();
    for (at, _) in code.match_indices('\n') {
        let line = &code[at + 1..];
        let path = ["use ", "pub use ", "pub(crate) use "].iter().find_map(|word| line.strip_prefix(word));
        if let Some((path, _)) = path.and_then(|path| path.split_once(';')) {
            used.extend(paths(path));
        }
    }
    used
}

/// The folders of the sources of all packages, the program's first.
fn packages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut packages = vec![root.join("src")];
    for entry in fs::read_dir(root.join("crates")).expect("the packages") {
        packages.push(entry.expect("a package").path().join("src"));
    }
    packages
}

/// The modules of a package, with the modules that each imports.
fn imports(src: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let module = |file: &Path| {
        let place = file.strip_prefix(src).expect("a file of src").with_extension("");
        let place = if place.ends_with("mod") { place.parent().expect("a folder").to_owned() } else { place };
        place.iter().map(|part| part.to_str().expect("a name")).collect::<Vec<_>>().join("::")
    };
    let files: BTreeMap<String, PathBuf> = sources(src).into_iter().map(|file| (module(&file), file)).collect();
    let resolved = |importer: &str, path: &str| {
        let absolute = path.strip_prefix("crate::").map(str::to_owned);
        let absolute = absolute.unwrap_or_else(|| format!("{importer}::{path}"));
        let ends = absolute.match_indices("::").map(|(at, _)| at).chain([absolute.len()]);
        ends.map(|end| absolute[..end].to_owned()).filter(|module| files.contains_key(module)).last()
    };
    let imports = |(importer, file): (&String, &PathBuf)| {
        let text = fs::read_to_string(file).expect("a source");
        let found = used_paths(code(file, &text)).into_iter().filter_map(|path| resolved(importer, &path));
        (importer.clone(), found.filter(|found| found != importer).collect())
    };
    files.iter().map(imports).collect()
}

/// A module may import its own parts, as a registry imports its rows. No other import runs both ways, not even through
/// a module's parts.
#[test]
fn no_imports_form_a_circle() {
    let program = imports(&packages()[0]);
    assert!(program["engine::sink"].contains("engine::run"));
    let imports: Vec<_> = packages().iter().map(|src| imports(src)).collect();
    assert!(imports.iter().any(|package| package.get("json").is_some_and(|json| json.contains("source"))));
    for package in &imports {
        assert_no_circle(package);
    }
}

fn assert_no_circle(imports: &BTreeMap<String, BTreeSet<String>>) {
    let is_part = |of: &str, part: &str| part.strip_prefix(of).is_some_and(|rest| rest.starts_with("::"));
    for start in imports.keys() {
        let (mut seen, mut next) = (BTreeSet::new(), vec![start]);
        while let Some(at) = next.pop() {
            let imported = imports[at].iter().filter(|found| !is_part(at, found));
            let parts = imports.keys().filter(|part| is_part(at, part) && !is_part(at, start) && at != start);
            for found in imported.chain(parts) {
                assert!(found != start, "{start} is imported by {at}, which it imports");
                if seen.insert(found) {
                    next.push(found);
                }
            }
        }
    }
}

/// The list of the files that a chat goes through, at the top of the program, names files that exist.
#[test]
fn the_way_of_one_chat_names_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("src/lib.rs")).expect("a source");
    let (_, list) = text.split_once("//! # The way of one chat\n").expect("the list");
    let (list, _) = list.split_once("//! # ").expect("another heading");
    let mut files = 0;
    for line in list.lines() {
        let path = line.trim_start_matches("//! ").split(' ').next().unwrap_or_default();
        if path.ends_with(".rs") {
            files += 1;
            assert!(root.join(path).is_file(), "{path} does not exist");
        }
    }
    assert!(files > 20, "{files}");
}

/// What a package makes public has a use somewhere. The compiler says so only of what is private to a package.
#[test]
fn every_public_item_of_a_package_is_used() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["src", "crates", "tests", "benches", "fuzz/src"] {
        files.extend(sources(&root.join(folder)));
    }
    let texts: Vec<(PathBuf, String)> = files
        .into_iter()
        .map(|file| {
            let text = fs::read_to_string(&file).expect("a source");
            let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
            (file, lines.collect::<Vec<_>>().join("\n"))
        })
        .collect();
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, text) in &texts {
        for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
            *uses.entry(word).or_default() += 1;
        }
    }
    let item = regex::Regex::new(r"(?m)^\s*pub (?:const )?(?:fn|struct|enum|trait|type|const|static|mod) (\w+)")
        .expect("a pattern");
    let mut items = 0;
    for (file, text) in texts.iter().filter(|(file, _)| file.starts_with(root.join("crates"))) {
        for found in item.captures_iter(text) {
            items += 1;
            assert!(uses[&found[1]] > 1, "{}: nobody uses {}", file.display(), &found[1]);
        }
    }
    assert!(items > 1_000, "{items}");
}

/// What a format is stands in its row. Other files name formats only where they are about other programs: the presets of
/// `LangChain`, and the table of what a state of `LangGraph` takes.
#[test]
fn no_other_file_names_a_format() {
    const EXCEPTIONS: [&str; 3] = [
        // Each imitates a program, and says what that program does with its formats.
        "crates/core/src/presets/",
        // The advice for a folder of sessions has one agent as its example.
        "src/settings/sessions.rs",
        // What a correction may say has a format in an example.
        "src/cli/",
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let formats = root.join("crates/transcript/src/formats");
    let name = regex::Regex::new(r#"(?m)^    name: "([a-z-]+)","#).expect("a pattern");
    let mut names = Vec::new();
    for file in sources(&formats) {
        let text = fs::read_to_string(&file).expect("a source");
        names.extend(name.captures_iter(&text).map(|found| found[1].to_owned()));
    }
    assert!(names.len() > 15, "{names:?}");
    // These are names of providers or presets, too.
    let ambiguous = ["anthropic", "bedrock", "codex", "gemini", "langchain", "ollama", "openai-responses"];
    names.retain(|name| !ambiguous.contains(&name.as_str()));
    for file in packages().iter().flat_map(|package| sources(package)) {
        let place = file.strip_prefix(root).expect("a file of the project").to_string_lossy().into_owned();
        let is_excepted = EXCEPTIONS.iter().any(|exception| place.starts_with(exception));
        if file.starts_with(&formats) || is_excepted || place.starts_with("crates/laws") {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a source");
        let code = text.split("\n#[cfg(test)]\n").next().unwrap_or_default();
        for name in &names {
            assert!(place.contains("/tests") || !code.contains(&format!("\"{name}\"")), "{place} names {name}");
        }
    }
}
