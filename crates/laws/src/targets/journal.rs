//! The journal of a directory with any content.

use std::fs;

use tcompact_base::hash::sha256;

use crate::choices::split;
use tcompact::internals::{FinishedFile, Journal, real};

const RULES: &str = "rules";

/// Checks that a run finds what the previous one noted, whatever was in the journal before; that it finds nothing that
/// was not noted; and that nothing is removed from the journal.
pub(crate) fn journal(bytes: &[u8]) {
    let (text, mut choices) = split(bytes);
    let home = tempfile::tempdir().expect("a folder");
    let [input, output] = ["in", "out"].map(|name| home.path().join(name));
    fs::write(&input, "before").expect("written");
    fs::write(&output, "after").expect("written");
    let real_output = real(&output);
    let (before, after) = (sha256(b"before"), sha256(b"after"));
    let file = home.path().join(".tcompact").join("journal.jsonl");
    fs::create_dir(home.path().join(".tcompact")).expect("a folder");
    let rules = sha256(RULES.as_bytes());
    // So that mutation can produce valid lines.
    let text = text.replace("$RULES", &rules).replace("$IN", &before).replace("$OUT", &after);
    fs::write(&file, &text).expect("written");
    let open = || Journal::open(home.path(), RULES).expect("a journal");
    let known = open().find(&input, &output, &real_output).is_some();
    assert!(!known || text.contains(&rules) && text.contains(&after), "nobody noted this: {text:?}");
    let other = Journal::open(home.path(), "other rules").expect("a journal");
    assert!(other.find(&input, &output, &real_output).is_none(), "of other rules");
    drop(other);
    let finished = FinishedFile { real_path: &real_output, read: &before, result: &after };
    open().note(&finished, vec![], choices.below(2) == 1).expect("noted");
    assert!(open().find(&input, &output, &real_output).is_some(), "what was noted is known: {text:?}");
    fs::write(&input, "something else").expect("written");
    assert!(open().find(&input, &output, &real_output).is_none(), "of another input");
    fs::write(&input, "before").expect("written");
    fs::write(&output, "something else").expect("written");
    assert!(open().find(&input, &output, &real_output).is_none(), "another output");
    assert!(fs::read_to_string(&file).expect("a journal").starts_with(&text), "nothing is taken out");
}
