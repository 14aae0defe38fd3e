//! Which lines of a session are messages, told line by line: for sessions that an agent replays, and for files that are
//! too large to be held in memory.

/// What a line of a session does to the conversation so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineStep {
    /// It is not a message and changes none.
    Note,
    /// A message.
    Message,
    /// A message with which the user begins a turn.
    Turn,
    /// A message that a compaction without a list keeps, because the agent writes it anew.
    Standing,
    /// A compaction. One with a list replaces all before it; one without keeps the turns.
    Compaction { has_list: bool },
    /// A note that takes back so many turns.
    Rollback(usize),
}

impl LineStep {
    /// Whether the line is a message until a later line takes it back.
    pub fn is_message(self) -> bool {
        !matches!(self, LineStep::Note | LineStep::Rollback(_))
    }
}

/// Replays the lines of a session to find those that remain when it is resumed. Needs some 10 bytes a line.
#[derive(Debug, Default)]
pub struct LineReplay {
    /// Whether each line so far is a message.
    are_messages: Vec<bool>,
    /// The lines that are messages so far, without the standing ones.
    live: Vec<usize>,
    /// The indices of the live lines that begin a user turn.
    turns: Vec<usize>,
    /// The number of leading live lines that compactions kept; each is a turn.
    compacted_len: usize,
    /// The standing lines.
    standing: Vec<usize>,
}

impl LineReplay {
    pub fn add(&mut self, step: LineStep) {
        let place = self.are_messages.len();
        match step {
            LineStep::Note | LineStep::Message => {}
            LineStep::Turn => self.turns.push(self.live.len()),
            LineStep::Standing => self.standing.push(place),
            LineStep::Compaction { has_list: true } => self.replace_all(),
            LineStep::Compaction { has_list: false } => self.keep_turns(),
            LineStep::Rollback(turns) => self.take_back(turns),
        }
        if step.is_message() && step != LineStep::Standing {
            self.live.push(place);
        }
        self.are_messages.push(step.is_message());
    }

    /// The number of lines so far.
    pub fn len(&self) -> usize {
        self.are_messages.len()
    }

    pub fn is_empty(&self) -> bool {
        self.are_messages.is_empty()
    }

    /// Whether a line is a message after all lines so far.
    pub fn is_message(&self, line: usize) -> bool {
        self.are_messages.get(line).is_some_and(|is_message| *is_message)
    }

    /// The lines that are messages after all lines so far.
    pub fn remaining(&self) -> impl Iterator<Item = usize> {
        self.live.iter().chain(&self.standing).copied()
    }

    /// Removes the live lines from index `from` on, except some.
    fn remove_from(&mut self, from: usize, except: &[usize]) {
        for place in self.live.drain(from..) {
            if except.binary_search(&place).is_err() {
                self.are_messages[place] = false;
            }
        }
    }

    fn replace_all(&mut self) {
        self.remove_from(0, &[]);
        self.turns.clear();
        for place in self.standing.drain(..) {
            self.are_messages[place] = false;
        }
        self.compacted_len = 0;
    }

    fn keep_turns(&mut self) {
        let users: Vec<usize> = self.turns[self.compacted_len..].iter().map(|&turn| self.live[turn]).collect();
        self.remove_from(self.compacted_len, &users);
        self.live.extend(users);
        self.turns.truncate(self.compacted_len);
        self.turns.extend(self.compacted_len..self.live.len());
        self.compacted_len = self.live.len();
    }

    fn take_back(&mut self, turns: usize) {
        let first = self.turns.len().saturating_sub(turns);
        if let Some(&from) = self.turns.get(first) {
            self.remove_from(from, &[]);
            self.turns.truncate(first);
            self.compacted_len = self.compacted_len.min(from);
        }
    }
}
