//! What `search` and `show` read: the messages of transcripts, and those in the records of archives.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::PathBuf;

use anyhow::Result;

use crate::cli::places::PlaceOrigin;
use crate::compact::CompactionPolicy;
use crate::events::OtherFiles;
use crate::exit::{Failure, OtherFile};
use crate::files::input::{self, Input, LineReader, Opened, ReadOptions};
use crate::plan::size::Size;
use crate::redact::Redactor;
use crate::sanitize::Shown;
use crate::settings::LookupSettings;
use crate::summary::history;
use crate::summary::plain::role_and_tools;
use crate::transcript::entries::no_longer_sent;
use crate::transcript::formats::by_name;
use crate::transcript::json::Object;
use crate::transcript::pairing::{self, PairedResult};
use crate::transcript::record_id::RecordId;
use crate::transcript::source::Source;
use crate::transcript::view::Arena;
use crate::transcript::{Message, Transcript, framing};
use crate::wording::readable_source;

use crate::engine::inputs::{Entry, below, read};
use crate::engine::large::{is_large, read_without_unsent};
use crate::engine::prepare::with_updates;
use crate::engine::records::{RecordLines, RecordMessages, is_record};

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
    results: OnceCell<Vec<PairedResult>>,
}

/// A message that is in a session and no longer sent: it stands before the agent's own compaction, or on a branch.
pub(super) struct UnsentMessage {
    /// Its line, from 1.
    pub(super) line: usize,
    /// What a reader sees of it, with its secrets.
    text: String,
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
        let first = results.partition_point(|result| result.result.message < at);
        // The results of its calls stand near.
        let pair = results[first..].iter().take(MOST_PARALLEL).find_map(|result| match result.call?.message {
            call if result.result.message == at && call != at => Some(("←", self.index(call))),
            call if call == at && result.result.message != at => Some(("→", self.index(result.result.message))),
            _ => None,
        });
        let RecordMessages { round, id, .. } = *self.record;
        let source = self.record.source.clone();
        Found { round, record: id, origin: self.origin, source, index: self.index(at), role, tool, pair }
    }
}

impl Found {
    /// The line above the message: its place, who speaks, and where the other message of a call is.
    pub(super) fn header(&self, origin: PlaceOrigin) -> String {
        let tool = self.tool.iter().map(|tool| format!(" {tool}")).collect::<String>();
        let pair = self.pair.map(|(arrow, index)| format!(" {arrow} [{}]", origin.place(index)));
        format!("[{}] {}{tool}{}", origin.place(self.index), self.role, pair.unwrap_or_default())
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
    fn add(&mut self, part: &ReadPart<'_, '_>) {
        let RecordMessages { id, round, .. } = *part.record;
        let end = part.messages.len().checked_sub(1).map_or(0, |last| part.index(last) + 1);
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
    fn settle(&mut self) {
        for parts in self.parts.values_mut() {
            // The texts that were summarized, or became those; and the texts that each run read.
            let (mut summarized, mut read) = (HashSet::new(), HashSet::new());
            let (mut named, mut unnamed) = (Vec::new(), Vec::new());
            for part in std::mem::take(parts).into_iter().rev() {
                let is_summarized = part.result.as_ref().is_some_and(|result| summarized.contains(result));
                let is_read =
                    part.result.clone().is_some_and(|hash| read.contains(&(part.summarized_at.clone(), hash)));
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

    /// Lists the first and the last message of all parts.
    pub(super) fn listing(&self) -> Vec<String> {
        let one = |part: &KnownPart| {
            let (first, end) = part.indices;
            let origin = self.origin_of_part(part);
            format!("{} to {}", origin.place(first), origin.place(end.saturating_sub(1)))
        };
        self.all().map(one).collect()
    }
}

/// Takes the messages of a file part by part.
pub(super) type Visit<'v> = &'v mut dyn FnMut(&ReadPart<'_, '_>, &mut Masks);

/// Masks secrets, if the user asks for it.
pub(super) struct Masks(Option<Redactor>);

impl Masks {
    fn take(&mut self) -> Self {
        Masks(self.0.take())
    }

    /// Begins another file.
    fn begin_another(&mut self) {
        self.0.iter_mut().for_each(Redactor::begin_another);
    }

    /// Masks the secrets of a file that was looked through wherever they stand.
    fn know_all(&mut self) {
        if let Some(redactor) = &mut self.0 {
            redactor.know_all();
        }
    }

    /// All that a reader sees of a message.
    pub(super) fn text(&mut self, message: &Message<'_>) -> String {
        self.masked(history::readable(message))
    }

    /// All that a reader sees of a message that is no longer sent.
    pub(super) fn text_of_unsent(&mut self, message: &UnsentMessage) -> String {
        self.masked(message.text.clone())
    }

    fn masked(&mut self, text: String) -> String {
        let text = Shown::new(&text).map_or(text, |shown| shown.text);
        match &mut self.0 {
            Some(redactor) => redactor.mask(&text).into_owned(),
            None => text,
        }
    }
}

/// Reads files for a lookup.
pub(super) struct Lookup<'s> {
    settings: &'s LookupSettings,
    masks: Masks,
    /// The hashes of the records so far.
    seen: HashSet<String>,
    /// What could not be read, a sentence for each file.
    pub(super) damage: Vec<String>,
    /// Whether the messages are wanted, too, that are no longer sent.
    pub(super) reads_unsent: bool,
    /// The files of directories that are not read, by what they are.
    pub(super) other_files: OtherFiles,
    /// Whether a file is only looked through for its secrets.
    looks_through: bool,
}

impl<'s> Lookup<'s> {
    pub(super) fn new(settings: &'s LookupSettings) -> Self {
        let masks = Masks(settings.masks.then(Redactor::default));
        Lookup {
            settings,
            masks,
            seen: HashSet::new(),
            damage: Vec::new(),
            reads_unsent: false,
            other_files: OtherFiles::default(),
            looks_through: false,
        }
    }

    /// Passes the messages of a file, or of standard input, to `visit`. Nothing is returned for what is neither a transcript
    /// nor an archive, where the user did not name it.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn read(&mut self, file: &Entry, visit: Visit<'_>) -> Result<Option<Contents>> {
        self.masks.begin_another();
        // A pipe can be read only once; its parts are looked through one by one.
        let is_file = file.path.as_ref().is_some_and(|path| path.is_file());
        if self.masks.0.is_some() && is_file {
            let mut first = Lookup { masks: self.masks.take(), ..Lookup::new(self.settings) };
            first.looks_through = true;
            let read = first.read_once(file, &mut |_, _| {});
            self.masks = first.masks;
            self.masks.know_all();
            read?;
        }
        self.read_once(file, visit)
    }

    fn read_once(&mut self, file: &Entry, visit: Visit<'_>) -> Result<Option<Contents>> {
        let lines = self.settings.input.lines;
        let reading = ReadOptions { lines, may_be_other: !file.named, hashed: false, is_record: Some(is_record) };
        let mut contents = Contents::default();
        let opened = match self.opened_without_unsent(file)? {
            Some(input) => Opened::Whole(input),
            None => input::open(file.path.as_deref(), reading)?.0,
        };
        let done = match opened {
            Opened::Other(other) => {
                self.leave_out(file, &other);
                return Ok(None);
            }
            Opened::Lines(lines) => self.read_lines(lines, &mut contents, visit),
            Opened::Whole(input) => self.read_transcripts(&input, &mut contents, visit),
        };
        let other = done.as_ref().err().and_then(|error| error.downcast_ref::<Failure>()?.other_file.as_ref());
        if let Some(other) = other.filter(|_| !file.named) {
            self.leave_out(file, other);
            return Ok(None);
        }
        match done {
            _ if self.settings.has_archive && file.named && !contents.is_archive => {
                let what =
                    format!("--archive {} is not an archive: it has no record as tcompact writes them", file.name());
                Err(Failure::unreadable(what).into())
            }
            done => done.map(|()| {
                contents.settle();
                Some(contents)
            }),
        }
    }

    /// Notes what a file of a directory is that is not read, where that is known.
    fn leave_out(&mut self, file: &Entry, other: &OtherFile) {
        if let Some(kind) = &other.kind {
            self.other_files.add(kind, file.name());
        }
    }

    /// A large session; none where it is another file.
    fn opened_without_unsent(&self, file: &Entry) -> Result<Option<Input>> {
        let input = &self.settings.input;
        match &file.path {
            Some(path) if fs::metadata(path).is_ok_and(|it| it.is_file() && is_large(input, path, it.len())) => {
                read_without_unsent(input, path, self.reads_unsent)
            }
            _ => Ok(None),
        }
    }

    fn read_transcripts(&mut self, input: &Input, contents: &mut Contents, visit: Visit<'_>) -> Result<()> {
        let (input, arena) = (with_updates(input, &self.settings.input)?, Arena::default());
        let document = read(&self.settings.input, &CompactionPolicy::keeping(Size::Nothing), &input, &arena)?;
        for transcript in &document.transcripts {
            let record = RecordMessages {
                format: transcript.format.name.to_owned(),
                messages: transcript.messages.iter().map(|message| Cow::Borrowed(message.json.raw())).collect(),
                ..RecordMessages::default()
            };
            let line = transcript.line.map(|line| PlaceOrigin::Line(line, transcript.nth_of_line));
            let unsent = if self.reads_unsent { unsent(transcript) } else { Vec::new() };
            self.take(&record, &unsent, line.unwrap_or(PlaceOrigin::Last), false, contents, visit);
        }
        Ok(())
    }

    /// Reads lines, each a record or a conversation.
    fn read_lines(&mut self, lines: LineReader, contents: &mut Contents, visit: Visit<'_>) -> Result<()> {
        let (name, mut lines) = (lines.name.clone(), RecordLines::new(lines));
        while let Some((line, place)) = lines.next_line()? {
            let is_read = if let Ok(record) = serde_json::from_str(line) {
                let record: RecordMessages<'_> = record;
                let is_copy = !self.seen.insert(record.hash_of_cut());
                contents.is_archive = true;
                self.take(&record, &[], PlaceOrigin::Line(place.line, 1), is_copy, contents, visit)
            } else {
                let (text, lines_before) = (line.to_owned(), place.line - 1);
                let input = Input { name: name.clone(), text, as_lines: true, lines_before, ..Input::default() };
                !contents.is_archive && self.read_transcripts(&input, contents, visit).is_ok()
            };
            if !is_read {
                lines.unreadable.add(place.line);
            }
        }
        let what = if contents.is_archive { "record" } else { "conversation" };
        self.damage.extend(lines.damaged(readable_source(&name), what));
        Ok(())
    }

    /// Reads messages on their own, with their secrets masked if the user asks for it. Returns whether they are messages of
    /// their format.
    fn take(
        &mut self,
        record: &RecordMessages<'_>,
        unsent: &[UnsentMessage],
        origin: PlaceOrigin,
        is_copy: bool,
        contents: &mut Contents,
        visit: Visit<'_>,
    ) -> bool {
        // The record of a `RemoveMessage` or another change without messages.
        if record.messages.is_empty() && record.format.is_empty() {
            return true;
        }
        if let Some(redactor) = &mut self.masks.0
            && !redactor.is_looked_through()
        {
            record.messages.iter().for_each(|message| drop(redactor.mask_strings(message)));
            if self.looks_through {
                return true;
            }
            redactor.know_all();
        }
        let mut masked = |message| match &mut self.masks.0 {
            Some(redactor) => redactor.mask_strings(message),
            None => Cow::Borrowed(message),
        };
        let mut list = String::from("[");
        for message in &record.messages {
            list.push_str(if list.len() > 1 { "," } else { "" });
            list.push_str(&masked(message));
        }
        list.push(']');
        let Some((format, source)) = by_name(&record.format).zip(Source::of(&list).ok()) else { return false };
        let messages = framing::messages(&source, format).unwrap_or_default();
        let part = ReadPart { messages: &messages, record, origin, is_copy, unsent, results: OnceCell::new() };
        let is_whole = messages.len() == record.messages.len() && !record.indices.contains(&usize::MAX);
        if is_whole && !is_copy {
            contents.add(&part);
        }
        if is_whole {
            visit(&part, &mut self.masks);
        }
        is_whole
    }
}

/// The messages of a session that its agent no longer sends, with their lines.
fn unsent(transcript: &Transcript<'_>) -> Vec<UnsentMessage> {
    let mut unsent = Vec::new();
    let (mut line, mut counted) = (1, 0);
    for (note, is_unsent) in transcript.notes.iter().zip(no_longer_sent(&transcript.notes)) {
        let message = transcript.format.read(&Object::of(note.json));
        let Some(message) = message.ok().filter(|_| is_unsent) else { continue };
        let start = note.json.span().start;
        line += memchr::memchr_iter(b'\n', &transcript.source.as_bytes()[counted..start]).count();
        counted = start;
        unsent.push(UnsentMessage { line, text: history::readable(&message) });
    }
    unsent
}

/// The files of some paths, and the paths that cannot be searched with the reason.
pub(super) fn files(paths: &[PathBuf]) -> (Vec<Entry>, Vec<String>) {
    let (mut files, mut unsearched) = (Vec::new(), Vec::new());
    for path in paths {
        if !path.is_dir() {
            files.push(Entry::named(Some(path)));
            continue;
        }
        for entry in below(path) {
            match entry {
                Err((path, why)) => unsearched.push(format!("{path} cannot be read: {why}")),
                Ok(entry) if !entry.file_type().is_file() => {}
                Ok(entry) => files.push(Entry { named: false, ..Entry::named(Some(&entry.into_path())) }),
            }
        }
    }
    if paths.is_empty() {
        files.push(Entry::named(None));
    }
    (files, unsearched)
}
