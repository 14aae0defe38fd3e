//! What a transcript or an archive holds, as `search` and `show` read it, and the places of its messages.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::cli::places::PlaceOrigin;
use crate::summary::plain::role_and_tools;
use crate::transcript::Message;
use crate::transcript::pairing::{self, PairedResult};
use crate::transcript::record_id::RecordId;

use crate::engine::records::RecordMessages;

/// Messages that were read together: a transcript, or a record of an archive.
pub(super) struct ReadPart<'p, 'a> {
    pub(super) messages: &'p [Message<'a>],
    /// What holds them: a record, or a transcript as one without a round and indices.
    pub(super) record: &'p RecordMessages<'p>,
    /// What names them whatever else the file holds.
    pub(super) origin: PlaceOrigin,
    /// Whether another record, of this archive or one before it, has the same messages: it was copied, or the run repeated.
    pub(super) is_copy: bool,
    /// The messages of a session that its agent no longer sends, where a search wants them.
    pub(super) unsent: &'p [UnsentMessage],
    pub(super) results: OnceCell<Vec<PairedResult>>,
}

/// A message that is in a session and no longer sent: it stands before the agent's own compaction, or on a branch.
pub(super) struct UnsentMessage {
    /// Its line, from 1.
    pub(super) line: usize,
    /// What a reader sees of it, with its secrets.
    pub(super) text: String,
}

/// The most results among which that of a call is looked for.
const MOST_PARALLEL: usize = 64;

/// A message that was found.
pub(super) struct Found {
    pub(super) round: u32,
    /// The id of its record.
    pub(super) record: Option<RecordId>,
    pub(super) origin: PlaceOrigin,
    /// The conversation that its record is of; empty in a transcript.
    pub(super) source: String,
    pub(super) index: usize,
    pub(super) role: String,
    pub(super) tool: Option<String>,
    /// The message of the first call that it answers or, behind an arrow, of the first result of its calls.
    pub(super) pair: Option<(&'static str, usize)>,
}

impl ReadPart<'_, '_> {
    /// The index in the transcript of the message that is at `at` in the record.
    pub(super) fn index(&self, at: usize) -> usize {
        self.record.indices.get(at).copied().unwrap_or(at)
    }

    /// Describes a message.
    pub(super) fn found(&self, at: usize) -> Found {
        let results = self.results.get_or_init(|| pairing::results(self.messages));
        let (role, tool) = role_and_tools(self.messages, results, at);
        let RecordMessages { round, id, .. } = *self.record;
        Found {
            round,
            record: id,
            origin: self.origin,
            source: self.record.source.clone(),
            index: self.index(at),
            role,
            tool,
            pair: self.pair(results, at),
        }
    }

    /// The message of the first call that a message answers or, behind an arrow, of the first result of its calls.
    fn pair(&self, results: &[PairedResult], at: usize) -> Option<(&'static str, usize)> {
        let first = results.partition_point(|result| result.result.message < at);
        // The results of its calls stand near.
        for paired in results[first..].iter().take(MOST_PARALLEL) {
            let Some(call) = paired.call else { continue };
            let (calling, answering) = (call.message, paired.result.message);
            if answering == at && calling != at {
                return Some(("←", self.index(calling)));
            }
            if calling == at && answering != at {
                return Some(("→", self.index(answering)));
            }
        }
        None
    }
}

impl Found {
    /// The line above the message: its place, who speaks, and where the other message of a call is.
    pub(super) fn header(&self, origin: PlaceOrigin) -> String {
        let mut header = format!("[{}] {}", origin.place(self.index), self.role);
        if let Some(tool) = &self.tool {
            header += &format!(" {tool}");
        }
        if let Some((arrow, index)) = self.pair {
            header += &format!(" {arrow} [{}]", origin.place(index));
        }
        header
    }
}

/// What a file holds.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) is_archive: bool,
    /// The records that each round names, without their copies; all conversations of a transcript.
    parts: BTreeMap<u32, Vec<KnownPart>>,
    /// The records that no round names.
    unnamed: Vec<KnownPart>,
    /// The round of the last record.
    pub(super) last: u32,
    /// The number of records with each id, without their copies.
    ids: HashMap<RecordId, usize>,
}

/// What is known of a transcript or a record without its messages.
pub(super) struct KnownPart {
    round: u32,
    id: Option<RecordId>,
    pub(super) origin: PlaceOrigin,
    /// The conversation that a record is of.
    pub(super) source: String,
    /// The first index, and the one behind the last.
    pub(super) indices: (usize, usize),
    has_summary: bool,
    summarized_at: String,
    /// The hashes of the text before and after.
    original: Option<String>,
    result: Option<String>,
}

impl Contents {
    pub(super) fn add(&mut self, part: &ReadPart<'_, '_>) {
        let RecordMessages { id, round, .. } = *part.record;
        let end = match part.messages.len() {
            0 => 0,
            length => part.index(length - 1) + 1,
        };
        let known = KnownPart {
            round,
            id,
            origin: part.origin,
            source: part.record.source.clone(),
            indices: (part.index(0), end),
            has_summary: part.record.summary_sha256.is_some(),
            summarized_at: part.record.summarized_at.clone(),
            original: part.record.original_sha256.clone(),
            result: part.record.result_sha256.clone(),
        };
        self.parts.entry(round).or_default().push(known);
        self.last = round;
        if let Some(id) = id {
            *self.ids.entry(id).or_default() += 1;
        }
    }

    /// Decides which records a round names. The places in a digest are those of the text that was summarized: a record of
    /// what was done to it before, by the same run or in the same round, has other ones.
    pub(super) fn settle(&mut self) {
        for parts in self.parts.values_mut() {
            // The texts that were summarized, or became those; and the texts that each run read.
            let (mut summarized, mut read) = (HashSet::new(), HashSet::new());
            let (mut named, mut unnamed) = (Vec::new(), Vec::new());
            for part in std::mem::take(parts).into_iter().rev() {
                let (mut is_summarized, mut is_read) = (false, false);
                if let Some(result) = &part.result {
                    is_summarized = summarized.contains(result);
                    is_read = read.contains(&(part.summarized_at.clone(), result.clone()));
                }
                if let Some(original) = &part.original {
                    if is_summarized || part.has_summary {
                        summarized.insert(original.clone());
                    }
                    read.insert((part.summarized_at.clone(), original.clone()));
                }
                if is_summarized || is_read { unnamed.push(part) } else { named.push(part) }
            }
            parts.extend(named.into_iter().rev());
            self.unnamed.extend(unnamed.into_iter().rev());
        }
    }

    /// The parts of a round: one, unless it is ambiguous.
    pub(super) fn of(&self, round: u32) -> &[KnownPart] {
        self.parts.get(&round).map_or(&[], Vec::as_slice)
    }

    fn all(&self) -> impl Iterator<Item = &KnownPart> {
        self.parts.values().flatten().chain(&self.unnamed)
    }

    /// Whether its records are of more than one conversation.
    pub(super) fn has_several_sources(&self) -> bool {
        let mut sources = self.all().map(|part| &part.source);
        let first = sources.next();
        sources.any(|source| Some(source) != first)
    }

    /// The records with an id.
    pub(super) fn with_id(&self, id: RecordId) -> Vec<&KnownPart> {
        self.all().filter(|part| part.id == Some(id)).collect()
    }

    /// Where indices count from in a part with this round, id and origin, as shortly as `show` takes it.
    fn origin(&self, round: u32, id: Option<RecordId>, origin: PlaceOrigin) -> PlaceOrigin {
        match (self.of(round), id) {
            ([only], _) if only.origin == origin && !self.is_archive => PlaceOrigin::Last,
            ([only], _) if only.origin == origin && round > 0 => PlaceOrigin::Round(round),
            (_, Some(id)) if self.ids.get(&id) == Some(&1) => PlaceOrigin::Record(id),
            _ => origin,
        }
    }

    /// The same of a message.
    pub(super) fn origin_of(&self, found: &Found) -> PlaceOrigin {
        self.origin(found.round, found.record, found.origin)
    }

    /// The shortest name of a part.
    pub(super) fn origin_of_part(&self, part: &KnownPart) -> PlaceOrigin {
        self.origin(part.round, part.id, part.origin)
    }

    /// Lists the first and the last message of all parts that have any.
    pub(super) fn listing(&self) -> Vec<String> {
        let mut names = Vec::new();
        for part in self.all() {
            let (first, end) = part.indices;
            if first < end {
                let origin = self.origin_of_part(part);
                names.push(format!("{} to {}", origin.place(first), origin.place(end - 1)));
            }
        }
        names
    }
}
