//! How `search` and `show` read: the messages of transcripts, and those in the records of archives, part by part.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use anyhow::Result;

use crate::cli::places::PlaceOrigin;
use crate::compact::CompactionPolicy;
use crate::events::OtherFiles;
use crate::exit::{Failure, OtherFile};
use crate::files::input::{self, Input, LineReader, Opened, ReadOptions};
use crate::files::record_hash::has_wrong_hash;
use crate::plan::size::Size;
use crate::redact::Redactor;
use crate::sanitize::Shown;
use crate::settings::LookupSettings;
use crate::summary::history;
use crate::transcript::entries::no_longer_sent;
use crate::transcript::formats::by_name;
use crate::transcript::json::Object;
use crate::transcript::source::Source;
use crate::transcript::view::Arena;
use crate::transcript::{Message, Transcript, framing};
use crate::wording::readable_source;

use crate::engine::contents::{Contents, ReadPart, UnsentMessage};
use crate::engine::inputs::{Entry, below};
use crate::engine::large::{is_large, read_without_unsent};
use crate::engine::prepare::with_updates;
use crate::engine::reading::read;
use crate::engine::records::{RecordLines, RecordMessages, is_record};

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
        if let Some(redactor) = &mut self.0 {
            redactor.begin_another();
        }
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
        let text = match Shown::new(&text) {
            Some(shown) => shown.text,
            None => text,
        };
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
    /// What could not be read, a sentence for each file or each missing beginning.
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
        if !file.named
            && let Err(error) = &done
            && let Some(other) = error.downcast_ref::<Failure>().and_then(|failure| failure.other_file.as_ref())
        {
            self.leave_out(file, other);
            return Ok(None);
        }
        if self.settings.has_archive && file.named && !contents.is_archive {
            let what = format!("--archive {} is not an archive: it has no record as tcompact writes them", file.name());
            return Err(Failure::unreadable(what).into());
        }
        done?;
        contents.settle();
        Ok(Some(contents))
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
        let is_alone = matches!(self.settings.input.paths.as_slice(), [path] if path.is_file());
        for transcript in &document.transcripts {
            if let Some(redactor) = &mut self.masks.0
                && !redactor.is_looked_through()
            {
                // What is beside the messages tells secrets, too.
                for note in &transcript.notes {
                    drop(redactor.mask_strings(note.json.raw()));
                }
                let is_own = transcript.line.is_some() || document.transcripts.len() == 1;
                if is_own && let Some(envelope) = transcript.envelope {
                    drop(redactor.mask_strings(envelope.raw()));
                }
            }
            if is_alone
                && !self.looks_through
                && let Some(base) = transcript.format.history_base(transcript)
            {
                self.damage.push(format!("{}: {}", readable_source(&input.name), base.warning()));
            }
            let record = RecordMessages {
                format: transcript.format.name.to_owned(),
                messages: transcript.messages.iter().map(|message| Cow::Borrowed(message.json.raw())).collect(),
                ..RecordMessages::default()
            };
            let origin = match transcript.line {
                Some(line) => PlaceOrigin::Line(line, transcript.nth_of_line),
                None => PlaceOrigin::Last,
            };
            let unsent = if self.reads_unsent { unsent(transcript) } else { Vec::new() };
            self.take(&record, &unsent, origin, false, contents, visit);
        }
        Ok(())
    }

    /// Reads lines, each a record or a conversation.
    fn read_lines(&mut self, lines: LineReader, contents: &mut Contents, visit: Visit<'_>) -> Result<()> {
        let (name, mut lines) = (lines.name.clone(), RecordLines::new(lines));
        while let Some((line, place)) = lines.next_line()? {
            let is_read = if let Ok(record) = serde_json::from_str(line) {
                let record: RecordMessages<'_> = record;
                if has_wrong_hash(line.as_bytes()) {
                    contents.is_archive = true;
                    lines.changed.add(place.line);
                    continue;
                }
                let is_copy = !self.seen.insert(record.hash_of_cut());
                contents.is_archive = true;
                if let Some(redactor) = &mut self.masks.0
                    && !redactor.is_looked_through()
                {
                    // A record has what stood beside its messages, too.
                    drop(redactor.mask_strings(line));
                }
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
            for message in &record.messages {
                drop(redactor.mask_strings(message));
            }
            if self.looks_through {
                return true;
            }
            redactor.know_all();
        }
        let mut list = String::from("[");
        for message in &record.messages {
            list.push_str(if list.len() > 1 { "," } else { "" });
            match &mut self.masks.0 {
                Some(redactor) => list.push_str(&redactor.mask_strings(message)),
                None => list.push_str(message),
            }
        }
        list.push(']');
        let (Some(format), Ok(source)) = (by_name(&record.format), Source::of(&list)) else { return false };
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
        if !is_unsent {
            continue;
        }
        let Ok(message) = transcript.format.read(&Object::of(note.json)) else { continue };
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
