//! What a run has to know of those before it: the rounds of their summaries, and the record of the last one on each text.
//! Each record names the one before it, so that `restore` misses a record that was removed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::Deserialize;

use crate::compact::{CompactionPolicy, Section, is_lines};
use crate::files::input::LineReader;
use crate::files::record_hash::has_wrong_hash;
use crate::hash::sha256;
use crate::plan::summaries::number_rounds;
use crate::rewrite::restoring::{file_of_source, path_components};
use crate::transcript::framing::Document;

use crate::engine::records::RecordLines;

/// What the records of an archive tell, which is read once.
#[derive(Default)]
pub(super) struct ArchivedRuns(OnceLock<RunsBefore>);

/// The runs of an archive.
#[derive(Default)]
pub(super) struct RunsBefore {
    /// The round of each summary by the hash of its text.
    rounds: HashMap<String, u32>,
    /// The id of the last record of each text.
    last_ids: HashMap<TextName, String>,
}

/// A file, and the line of a text where the file has one a line.
type TextName = (PathBuf, Option<usize>);

/// The members of a record that tell of its run.
#[derive(Deserialize)]
struct RunMembers {
    source: String,
    id: Option<String>,
    line: Option<usize>,
    at_line: Option<usize>,
    original_sha256: Option<String>,
    result_sha256: Option<String>,
    #[serde(default)]
    round: u32,
    summary_sha256: Option<String>,
}

impl RunMembers {
    /// The text that the run changed, and the id of the record; nothing where nothing is put back by the record.
    fn text_and_id(&self) -> Option<(TextName, String)> {
        self.result_sha256.as_ref()?;
        let file = path_components(file_of_source(&self.source, self.line.or(self.at_line))).into_iter().collect();
        Some(((file, self.line), self.id.clone()?))
    }
}

impl ArchivedRuns {
    /// Numbers the rounds of the summaries of tcompact in a document. What the archive says of one holds.
    pub(super) fn number(&self, policy: &CompactionPolicy, document: &mut Document<'_>) {
        let Some(archive) = policy.archive.as_deref() else { return };
        if !policy.has_records() {
            return;
        }
        let rounds = &self.of(archive).rounds;
        if rounds.is_empty() {
            return;
        }
        for transcript in &mut document.transcripts {
            number_rounds(transcript, &policy.cut, |text| rounds.get(&sha256(text.as_bytes())).copied());
        }
    }

    /// The runs of the archive of this run.
    pub(super) fn of(&self, archive: &Path) -> &RunsBefore {
        self.0.get_or_init(|| RunsBefore::read(archive))
    }
}

impl RunsBefore {
    /// Reads an archive. Lines that are not records tell nothing, nor does an archive that is not there yet.
    pub(super) fn read(archive: &Path) -> Self {
        let mut runs = RunsBefore::default();
        if !is_lines(archive) || !archive.is_file() {
            return runs;
        }
        let Ok(lines) = LineReader::open(archive) else { return runs };
        let mut lines = RecordLines::new(lines);
        while let Ok(Some((line, _))) = lines.next_line() {
            let Ok(record) = serde_json::from_str::<RunMembers>(line) else { continue };
            // A damaged record is of a run, too: without it, the run after it would follow the one before it.
            runs.last_ids.extend(record.text_and_id());
            if has_wrong_hash(line.as_bytes()) {
                continue;
            }
            if let Some(summary) = record.summary_sha256 {
                runs.rounds.insert(summary, record.round);
            }
        }
        runs
    }

    /// Lets each record name the one before it of its text, if there is one. The records of one run on a text share it, but
    /// those of a later step of the run follow those of the step before.
    pub(super) fn name_previous(&self, records: &mut [Section]) {
        struct Named {
            id: String,
            original: Option<String>,
            previous: Option<String>,
        }
        let mut of_this_run: HashMap<TextName, Named> = HashMap::new();
        for record in records {
            let Section::Record(text) = record else { continue };
            let Ok(run) = serde_json::from_str::<RunMembers>(text) else { continue };
            let Some((name, id)) = run.text_and_id() else { continue };
            let previous = match of_this_run.get(&name) {
                Some(named) if named.original == run.original_sha256 => named.previous.clone(),
                Some(named) => Some(named.id.clone()),
                None => self.last_ids.get(&name).cloned(),
            };
            if let Some(previous) = &previous {
                record.add_member(&format!("\"previous\":\"{previous}\""));
            }
            of_this_run.insert(name, Named { id, original: run.original_sha256, previous });
        }
    }
}
