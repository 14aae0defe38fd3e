//! What an item of a digest is worth, by its kind: the one place where a digest is tuned.
//!
//! The figures were set by what blind readers could answer from digests, not derived. Only their ratios count.

use crate::digest::grammar::Section;

/// The kind of an item: who says it, and in which situation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A summary that another program or a model wrote.
    EarlierSummary,
    /// The user's first message.
    FirstMessage,
    /// The user's last message.
    LastMessage,
    /// A message of the user that commands, forbids, limits or corrects, or a standing wish: one that the assistant
    /// answered without a call.
    Rule,
    /// Any other message that the user typed.
    Typed,
    /// A message that answers no question and only says that it is well, or to go on: `done`, `1`.
    Remark,
    /// A line that says that the user interrupted the agent.
    Interruption,
    /// A message of which a program sent several that are equal but for digits, or that opens as a program's text.
    FromProgram,
    Plan,
    /// A file with the calls on it.
    File,
    Task,
    LoadedTools,
    FilesRead,
    /// A line of the state in an earlier digest.
    CarriedState,
    /// The commanding sentences of a file that was read.
    RulesRead,
    /// A call at the end of the history that has no result yet.
    OpenCall,
    FailedCall,
    /// A call that failed before a like one succeeded.
    MendedCall,
    /// A call that changed something elsewhere, which no file here shows: it sent, booked, deployed, pushed.
    Effect,
    /// A call that does something else: it installs, commits, tests, runs a script.
    Action,
    /// A call that looks up values.
    LookUp,
    /// A call that shows or searches files.
    Read,
    /// A search of files that found nothing. Nothing is worth less.
    FoundNothing,
    /// The last text that the assistant wrote for the user.
    LastReport,
    /// Another text that ends a turn.
    Report,
    /// A text between calls.
    Step,
    /// A text between calls that only says which call comes next.
    Announcement,
    Thought,
}

/// What an item of a kind is worth.
#[derive(Debug, Clone, Copy)]
pub(super) struct Worth {
    pub(super) section: Section,
    /// The value of its first byte.
    pub(super) first: f32,
    /// The length in bytes at which a further byte is worth a quarter of the first.
    pub(super) length: f32,
    /// The most bytes of it that a digest holds.
    pub(super) most: usize,
    /// The share of its value that the oldest item of its kind has. The newest has all of it.
    pub(super) oldest: f32,
}

impl Kind {
    pub(super) fn worth(self) -> Worth {
        use Section::{Calls, Earlier, Rules, Said, State, User};
        let (section, first, length, most, oldest) = match self {
            Kind::EarlierSummary => (Earlier, 25.0, 1_500.0, 8_000, 1.0),
            Kind::LastMessage => (User, 90.0, 1_200.0, 4_000, 1.0),
            Kind::FirstMessage => (User, 50.0, 400.0, 2_000, 1.0),
            Kind::Rule => (User, 40.0, 300.0, 2_000, 0.85),
            Kind::Typed => (User, 30.0, 220.0, 2_000, 0.6),
            Kind::Remark => (User, 10.0, 60.0, 64, 0.6),
            Kind::Interruption => (User, 15.0, 60.0, 64, 1.0),
            Kind::FromProgram => (User, 5.0, 90.0, 500, 1.0),
            Kind::Plan => (State, 30.0, 400.0, 1_500, 1.0),
            Kind::File => (State, 28.0, 100.0, 300, 0.5),
            Kind::Task => (State, 24.0, 120.0, 400, 0.5),
            Kind::LoadedTools => (State, 6.0, 100.0, 400, 1.0),
            Kind::FilesRead => (State, 16.0, 150.0, 600, 1.0),
            Kind::CarriedState => (State, 12.0, 150.0, 700, 1.0),
            Kind::RulesRead => (Rules, 8.0, 500.0, 1_500, 1.0),
            Kind::OpenCall => (Calls, 30.0, 150.0, 400, 1.0),
            Kind::FailedCall => (Calls, 15.0, 150.0, 700, 0.3),
            Kind::MendedCall => (Calls, 3.0, 150.0, 400, 0.3),
            Kind::Effect => (Calls, 16.0, 150.0, 700, 0.8),
            Kind::Action => (Calls, 14.0, 150.0, 700, 0.3),
            Kind::LookUp => (Calls, 11.0, 200.0, 1_500, 0.3),
            Kind::Read => (Calls, 2.5, 150.0, 700, 0.3),
            Kind::FoundNothing => (Calls, 0.04, 150.0, 200, 0.3),
            Kind::LastReport => (Said, 40.0, 500.0, 3_000, 1.0),
            Kind::Report => (Said, 12.0, 500.0, 3_000, 0.6),
            Kind::Step => (Said, 4.0, 200.0, 700, 0.3),
            Kind::Announcement => (Said, 1.0, 150.0, 400, 0.3),
            Kind::Thought => (Said, 1.5, 150.0, 400, 0.3),
        };
        Worth { section, first, length, most, oldest }
    }
}

/// How much of a digest a section and one of its lines may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shares {
    /// The share of all lines of the section together, of what all sections have taken so far.
    pub(super) section: f32,
    /// The bytes that they may take whatever the others have.
    pub(super) free: f32,
    /// The share of one line.
    pub(super) item: f32,
}

impl Kind {
    /// Whether it tells so little that it has room only where nothing else wants it.
    pub(super) fn is_filler(self) -> bool {
        matches!(self, Kind::Remark | Kind::Announcement | Kind::FoundNothing)
    }

    /// The bytes that a line of this kind may take whatever the others have. The last message is the task at hand.
    pub(super) fn free_bytes(self) -> f32 {
        if self == Kind::LastMessage { 1_200.0 } else { 400.0 }
    }
}

impl Section {
    pub(super) fn shares(self) -> Shares {
        let (section, free, item) = match self {
            Section::Earlier => (0.3, 160.0, 0.3),
            Section::User => (0.36, 300.0, 0.25),
            Section::State => (0.15, 160.0, 0.14),
            Section::Rules => (0.1, 160.0, 0.12),
            Section::Calls => (0.22, 160.0, 0.1),
            Section::Said => (0.28, 120.0, 0.22),
        };
        Shares { section, free, item }
    }
}
