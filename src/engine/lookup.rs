//! What `--search` and `--show` read: the messages of transcripts, and those in the records of archives.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::cli::places::Origin;
use crate::exit::Failure;
use crate::files::input::{self, Input, InputPiece, LineReader, Opened, ReadOptions};
use crate::hash::sha256;
use crate::redact::Redactor;
use crate::rewrite::restoring::without_end;
use crate::sanitize::reveal_line;
use crate::settings::LookupSettings;
use crate::summary::history;
use crate::transcript::formats::{Format, by_name};
use crate::transcript::framing;
use crate::transcript::pairing::{self, PairedResult};
use crate::transcript::source::Source;
use crate::transcript::{Message, Role};
use crate::wording::readable_source;

use crate::engine::inputs::{Found, below};
use crate::engine::read::{json, read_only};
use crate::engine::records::{RecordLines, RecordMessages, UnreadableLines, is_record};

/// Messages that were read together: a transcript, or a record of an archive.
pub(super) struct Part<'p, 'a> {
    pub(super) messages: &'p [Message<'a>],
    /// How its messages are named where nothing shorter names them.
    pub(super) origin: Origin,
    /// The record that holds them, in an archive.
    pub(super) record: Option<&'p RecordMessages>,
    /// Whether another record of the archive, or of one before it, is the same to the byte.
    pub(super) is_copy: bool,
    results: OnceCell<Vec<PairedResult>>,
}

impl Part<'_, '_> {
    /// Returns the index of a message in the transcript that it is from.
    pub(super) fn index(&self, at: usize) -> usize {
        self.record.and_then(|record| record.indices.get(at)).copied().unwrap_or(at)
    }

    /// Returns the role of a message, `tool` for nothing but results; and the tools that it calls, or whose results it holds.
    pub(super) fn speaker(&self, at: usize) -> (String, Option<String>) {
        let message = &self.messages[at];
        let rest = message.rare_fields();
        let answers = !message.results.is_empty() && message.role == Role::User && !message.is_user_turn();
        let role = match message.role {
            _ if answers => "tool".into(),
            Role::Other => rest.role_name.map_or("other".into(), |name| name.decode()),
            role => role.openai_name().into(),
        };
        let results = self.results.get_or_init(|| pairing::results(self.messages));
        let first = results.partition_point(|result| result.result.message < at);
        let results = results[first..].iter().take_while(|result| result.result.message == at);
        let answered = results.filter_map(|result| result.call.map(|call| call.call_of(self.messages)));
        let mut tools: Vec<String> = Vec::new();
        let names = message.calls.iter().chain(answered).filter_map(|call| call.name);
        let own = rest.name.filter(|_| matches!(message.role, Role::Tool | Role::Function));
        for name in names.chain(own) {
            let name = reveal_line(name.decode().trim());
            if !tools.contains(&name) && (own.is_none() || tools.is_empty()) {
                tools.push(name);
            }
        }
        (reveal_line(&role), Some(tools.join(",")).filter(|tools| !tools.is_empty()))
    }
}

/// The records of each round of an archive.
#[derive(Default)]
pub(super) struct Rounds {
    rounds: BTreeMap<u32, Vec<RoundRecord>>,
    /// The round of the last record.
    pub(super) last: u32,
}

/// A record as one of those of its round.
pub(super) struct RoundRecord {
    pub(super) line: usize,
    pub(super) source: String,
    /// The first and the last index.
    pub(super) indices: (usize, usize),
    result: Option<String>,
}

impl Rounds {
    fn add(&mut self, line: usize, record: &RecordMessages) {
        let RecordMessages { source, indices, messages, original_sha256, result_sha256, round, .. } = record;
        let last = indices.last().copied().unwrap_or(messages.len().saturating_sub(1));
        let one = RoundRecord {
            line,
            source: source.clone(),
            indices: (indices.first().copied().unwrap_or(0), last),
            result: result_sha256.clone(),
        };
        let records = self.rounds.entry(*round).or_default();
        // A run that repairs a text writes a record for that too. The places in its digest are those of the last one.
        records.retain(|before| before.result.is_none() || before.result != *original_sha256);
        records.push(one);
        self.last = *round;
    }

    /// Returns the records of a round: one, unless it is ambiguous.
    pub(super) fn of(&self, round: u32) -> &[RoundRecord] {
        self.rounds.get(&round).map_or(&[], Vec::as_slice)
    }

    /// Returns the shortest name of a record's messages.
    pub(super) fn origin(&self, round: u32, line: usize) -> Origin {
        match self.of(round) {
            [only] if round > 0 && only.line == line => Origin::Round(round),
            _ => Origin::Line(line, 1),
        }
    }

    /// Returns the records of all rounds, in order.
    pub(super) fn all(&self) -> impl Iterator<Item = (u32, &RoundRecord)> {
        self.rounds.iter().flat_map(|(round, records)| records.iter().map(|record| (*round, record)))
    }
}

/// What a file holds.
pub(super) enum FileKind {
    Transcripts,
    Archive(Rounds),
    /// Neither; a directory can hold anything.
    Other,
}

/// Takes the messages of a file part by part.
pub(super) type Visit<'v> = &'v mut dyn FnMut(&Part<'_, '_>, &mut Masks);

/// Masks secrets, if the user asks for it.
pub(super) struct Masks(Option<Redactor>);

impl Masks {
    /// Returns all that a reader sees of a message.
    pub(super) fn text(&mut self, message: &Message<'_>) -> String {
        let text = history::readable(message);
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
    /// Lines that could not be read, a sentence for each file.
    pub(super) damage: Vec<String>,
}

impl<'s> Lookup<'s> {
    pub(super) fn new(settings: &'s LookupSettings) -> Self {
        let masks = Masks(settings.masks.then(Redactor::default));
        Lookup { settings, masks, seen: HashSet::new(), damage: Vec::new() }
    }

    /// Passes the messages of a file, or of standard input, to `visit`. What is `named` must be a transcript or an archive.
    ///
    /// # Errors
    /// The file cannot be read, or is neither.
    pub(super) fn read(&mut self, path: Option<&Path>, named: bool, visit: Visit<'_>) -> Result<FileKind> {
        let lines = self.settings.input.lines;
        let reading = ReadOptions { lines, may_be_other: !named, hashed: false, is_record: Some(is_record) };
        let (opened, _) = input::open(path, reading)?;
        if self.settings.is_archive && named && !matches!(opened, Opened::Records(_)) {
            let path = path.unwrap_or(Path::new("-")).display();
            let why = format!("--archive {path} is not an archive: its lines are not records as tcompact writes them");
            return Err(Failure::unreadable(why).into());
        }
        match opened {
            Opened::Other => Ok(FileKind::Other),
            Opened::Records(lines) => self.read_records(lines, visit).map(FileKind::Archive),
            Opened::Lines(lines) => self.read_lines(lines, visit).map(|()| FileKind::Transcripts),
            Opened::Whole(input) => match self.read_transcripts(&input, visit) {
                Err(error) if !named && is_of_other_file(&error) => Ok(FileKind::Other),
                read => read.map(|()| FileKind::Transcripts),
            },
        }
    }

    fn read_transcripts(&mut self, input: &Input, visit: Visit<'_>) -> Result<()> {
        let source = json(input)?;
        let document = read_only(&self.settings.input, input, &source)?;
        for transcript in &document.transcripts {
            let line = transcript.line.map(|line| Origin::Line(line, transcript.nth_of_line));
            let origin = line.unwrap_or(Origin::Last);
            if self.masks.0.is_some() {
                let messages = transcript.messages.iter().map(|message| message.json.raw());
                self.with_masked(messages, transcript.format, |messages, masks| {
                    visit(&Part { messages, origin, record: None, is_copy: false, results: OnceCell::new() }, masks);
                });
            } else {
                let messages = &transcript.messages;
                let part = Part { messages, origin, record: None, is_copy: false, results: OnceCell::new() };
                visit(&part, &mut self.masks);
            }
        }
        Ok(())
    }

    fn read_lines(&mut self, mut lines: LineReader, visit: Visit<'_>) -> Result<()> {
        let (mut unreadable, mut buffer, name) = (UnreadableLines::default(), Vec::new(), lines.name.clone());
        let mut number = 0;
        while let Some(piece) = lines.next(false, std::mem::take(&mut buffer))? {
            number += 1;
            let InputPiece::Lines(input) = piece else {
                unreadable.add(number);
                continue;
            };
            let is_blank = input.text.trim_ascii().is_empty();
            if !is_blank && self.read_transcripts(&input, visit).is_err() {
                unreadable.add(input.lines_before + 1);
            }
            number = input.lines_before + memchr::memchr_iter(b'\n', input.text.as_bytes()).count();
            buffer = input.text.into_bytes();
        }
        self.damage.extend(unreadable.sentence(readable_source(&name), "conversations"));
        Ok(())
    }

    fn read_records(&mut self, lines: LineReader, visit: Visit<'_>) -> Result<Rounds> {
        let (name, mut lines, mut rounds) = (lines.name.clone(), RecordLines::new(lines), Rounds::default());
        while let Some((line, place)) = lines.next_line()? {
            let record: Option<RecordMessages> = serde_json::from_str(line).ok();
            let format = record.as_ref().and_then(|record| by_name(&record.format));
            let is_copy = !self.seen.insert(sha256(without_end(line.as_bytes())));
            let is_read = record.zip(format).is_some_and(|(record, format)| {
                let messages = record.messages.iter().map(String::as_str);
                self.with_masked(messages, format, |messages, masks| {
                    if messages.len() != record.messages.len() {
                        return false;
                    }
                    if !is_copy {
                        rounds.add(place.line, &record);
                    }
                    let (origin, record) = (Origin::Line(place.line, 1), Some(&record));
                    visit(&Part { messages, origin, record, is_copy, results: OnceCell::new() }, masks);
                    true
                })
                .unwrap_or(false)
            });
            if !is_read {
                lines.unreadable.add(place.line);
            }
        }
        self.damage.extend(lines.unreadable.sentence(readable_source(&name), "records"));
        Ok(rounds)
    }

    /// Reads messages on their own, with their secrets masked if the user asks for it; `None` if they are not of a format.
    fn with_masked<'m, T>(
        &mut self,
        messages: impl Iterator<Item = &'m str>,
        format: &dyn Format,
        then: impl FnOnce(&[Message<'_>], &mut Masks) -> T,
    ) -> Option<T> {
        let mut list = String::from("[");
        for message in messages {
            if list.len() > 1 {
                list.push(',');
            }
            match &mut self.masks.0 {
                Some(redactor) => list.push_str(&redactor.mask_strings(message)),
                None => list.push_str(message),
            }
        }
        list.push(']');
        let source = Source::of(&list).ok()?;
        let messages = framing::messages(&source, format).ok()?;
        Some(then(&messages, &mut self.masks))
    }
}

fn is_of_other_file(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Failure>().is_some_and(|failure| failure.other_file.is_some())
}

/// A file of a lookup, and whether the user named it.
pub(super) struct LookupFile {
    pub(super) path: Option<PathBuf>,
    pub(super) named: bool,
}

impl LookupFile {
    pub(super) fn name(&self) -> String {
        self.path.as_ref().map_or("-".to_owned(), |path| path.display().to_string())
    }
}

/// Returns the files of some paths, and those that cannot be searched with the reason. Nothing is standard input.
pub(super) fn files(paths: &[PathBuf]) -> (Vec<LookupFile>, Vec<String>) {
    let (mut files, mut unsearched) = (Vec::new(), Vec::new());
    for path in paths {
        if !path.is_dir() {
            let path = Some(path.clone()).filter(|path| path.as_os_str() != "-");
            files.push(LookupFile { path, named: true });
            continue;
        }
        for found in below(path) {
            match found {
                Found::File(path) => files.push(LookupFile { path: Some(path), named: false }),
                Found::Other(_) => {}
                Found::Unsearched(path, why) => unsearched.push(format!("{path} cannot be read: {why}")),
            }
        }
    }
    if paths.is_empty() {
        files.push(LookupFile { path: None, named: true });
    }
    (files, unsearched)
}
