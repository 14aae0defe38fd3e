//! What is said of a restored text.

use std::path::Path;

use crate::events::{RestoredRounds, RunOnOtherFile};
use crate::wording::{counted, readable_source};

/// Says how many lines an archive restored, where the text has lines, and which part of the archive is damaged.
pub(super) fn lines(archive: &Path, done: &RestoredRounds, all: usize, damaged: Option<&str>) -> Vec<String> {
    let mut said: Vec<String> = damaged.map(str::to_owned).into_iter().collect();
    let archive = archive.display();
    let rounds = counted(done.rounds as u64, "round");
    if done.grown > 0 {
        let grown = match done.grown {
            grown if grown == done.rounds => String::new(),
            grown => format!(" in {grown} of them"),
        };
        said.push(format!("{rounds} put back; the text has grown since{grown} and begins with all that was left"));
    } else if done.rounds > 1 {
        said.push(format!("{rounds} put back"));
    }
    if let Some(round) = done.missing {
        let rounds = if round > 1 { format!("rounds 1 to {round}") } else { "round 1".to_owned() };
        said.push(format!("{archive} has nothing of {rounds}"));
    } else if let Some(id) = &done.lost {
        said.push(format!("{archive} lacks the record {id} of the run before"));
    }
    if let Some(other) = &done.goes_on_in {
        said.push(format!("the run before is in {}; restore by that archive next", other.display()));
    }
    if done.notes_left > 0 {
        let notes = counted(done.notes_left as u64, "note");
        said.push(format!("{notes} of pruned content still in the text: {archive} has nothing of it"));
    }
    if let Some(time) = &done.undone_before {
        said.push(format!(
            "the text begins with what stood there before the run of {time}, which counts as put back; nothing tells whether what it removed was written again"
        ));
    }
    if let Some(RunOnOtherFile { file, time }) = &done.on_other_file {
        said.push(format!(
            "the run of {time} on {} left what this text begins with, too, and was not put back; if this is that file, give it that name",
            readable_source(file)
        ));
    }
    for line in &done.lines_setting_messages {
        said.push(format!(
            "line {line} was written later and sets all messages anew; the agent goes on from it. Remove that line to go on from what was put back"
        ));
    }
    let lines = done.lines.len();
    if lines > 0 && lines < all {
        let were = if lines == 1 { "was" } else { "were" };
        said.push(format!("{lines} of {all} lines {were} put back; the others stay as they are"));
    }
    said
}
