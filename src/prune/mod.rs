//! What can go before anything is summarized: results of tools that nobody needs any more, files that were read again,
//! thinking, pictures, long arguments. A rule is a file and a row of [`KINDS`].
//!
//! A rule looks at a conversation and gives the edits that it would make, in messages that may be touched; whether they
//! are made is decided here. A message that was pruned says so, and is not pruned again.

mod arguments;
mod cap;
mod media;
mod note;
mod reads;
mod results;
mod thinking;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::diagnostic::{Diagnostic, nearest};
use crate::plan::size::{Size, whole};
use crate::rewrite::media::Moved;
use crate::rewrite::thinking::Removal;
use crate::tokens::{Counter, Tally};
use crate::transcript::edit::{Edit, edited, sort};
use crate::transcript::formats::lone;
use crate::transcript::formats::outputs::Output;
use crate::transcript::pairing::{self, Part};
use crate::transcript::{Call, Transcript};

pub use note::is_pruned;

/// Every kind of rule, from the cheapest to the dearest: what is lost least goes first.
pub static KINDS: [&Kind; 6] =
    [&thinking::KIND, &media::KIND, &reads::KIND, &arguments::KIND, &results::KIND, &cap::KIND];

/// A kind of rule.
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What it takes behind a colon; empty where it takes nothing.
    pub takes: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// What it takes where nothing is given.
    default: Amount,
    find: fn(&Scene<'_, '_>, Amount) -> Vec<Change>,
}

/// What a rule is told: how old, or how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// Nothing.
    None,
    /// All but the last so many results, or media.
    Last(u64),
    /// All that is older than this.
    Before(Size),
    /// So many tokens or characters.
    Length(u64),
}

/// A rule.
#[derive(Clone, Copy)]
pub struct Rule {
    kind: &'static Kind,
    amount: Amount,
}

impl Rule {
    /// The name of its kind.
    pub fn name(&self) -> &'static str {
        self.kind.name
    }

    /// The rule that cuts arguments that are longer than so many characters.
    pub fn arguments(characters: u64) -> Self {
        Rule { kind: &arguments::KIND, amount: Amount::Length(characters) }
    }

    /// The rule that cuts results that are longer than so many tokens.
    pub fn cap(tokens: u64) -> Self {
        Rule { kind: &cap::KIND, amount: Amount::Length(tokens) }
    }

    /// Whether it needs the context window to be known.
    pub fn needs_window(&self) -> bool {
        matches!(self.amount, Amount::Before(Size::Fraction(_)))
    }

    fn of(kind: &'static Kind) -> Self {
        Rule { kind, amount: kind.default }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.kind.name)?;
        match self.amount {
            Amount::None => Ok(()),
            Amount::Last(number) | Amount::Length(number) => write!(out, ":{number}"),
            Amount::Before(size) => write!(out, ":{size}"),
        }
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        (self.name(), self.amount) == (other.name(), other.amount)
    }
}

/// What can be given to `--prune`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Choice {
    /// Every rule, as it is by default.
    All,
    /// No rule.
    None,
    /// This rule.
    One(Rule),
}

impl FromStr for Choice {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        let (name, value) = text.split_once(':').map_or((text, None), |(name, value)| (name, Some(value)));
        match (name, value) {
            ("all", None) => return Ok(Choice::All),
            ("none", None) => return Ok(Choice::None),
            _ => {}
        }
        let Some(kind) = KINDS.iter().find(|kind| kind.name == name) else {
            let names = KINDS.iter().map(|kind| kind.name).chain(["all", "none"]);
            let what = format!("`{name}` is no rule: {}", names.clone().collect::<Vec<_>>().join(", "));
            return Err(Diagnostic::new(what).at(0..name.len()).meant(nearest(name, names)));
        };
        let amount = match value {
            None => kind.default,
            Some(value) => kind.amount(value).map_err(|diagnostic| {
                diagnostic.in_part(name.len() + 1, value.len()).meant_whole(Rule::of(kind).to_string())
            })?,
        };
        Ok(Choice::One(Rule { kind, amount }))
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::All => out.write_str("all"),
            Choice::None => out.write_str("none"),
            Choice::One(rule) => rule.fmt(out),
        }
    }
}

impl Kind {
    fn amount(&self, value: &str) -> Result<Amount, Diagnostic> {
        match self.default {
            Amount::None => Err(Diagnostic::new(format!("{} takes no size", self.name))),
            Amount::Length(_) => whole(value).map(Amount::Length).map_err(Diagnostic::new),
            Amount::Last(_) | Amount::Before(_) if value == "0" => Ok(Amount::Last(0)),
            Amount::Last(_) | Amount::Before(_) => match whole(value) {
                Ok(number) => Ok(Amount::Last(number)),
                Err(_) if !value.contains(':') => Err(Diagnostic::new(format!(
                    "`{value}` is neither a number nor a size: messages:N, tokens:N, fraction:F or turns:N"
                ))),
                Err(_) => value.parse().map(Amount::Before),
            },
        }
    }
}

/// The rules that some choices come to, in the order of [`KINDS`]: each of a kind takes the place of one before it, and
/// `none` of all.
pub fn chosen(choices: &[Choice]) -> Vec<Rule> {
    let mut of_kind: [Option<Rule>; KINDS.len()] = [None; KINDS.len()];
    for choice in choices {
        match choice {
            Choice::All => {
                KINDS.iter().zip(&mut of_kind).for_each(|(kind, rule)| *rule = rule.or(Some(Rule::of(kind))))
            }
            Choice::None => of_kind = [None; KINDS.len()],
            Choice::One(rule) => {
                let places = KINDS.iter().zip(&mut of_kind).filter(|(kind, _)| kind.name == rule.name());
                places.for_each(|(_, place)| *place = Some(*rule));
            }
        }
    }
    of_kind.into_iter().flatten().collect()
}

/// A conversation as rules see it.
pub struct Scene<'s, 'a> {
    /// The conversation.
    pub transcript: &'s Transcript<'a>,
    /// How large its messages are.
    pub tally: &'s Tally<'s, 'a>,
    /// The context window, in tokens, where it is known.
    pub context_window: Option<u64>,
    /// What a summary message begins with, by which one is told from a turn of the user's.
    pub summary_prefix: &'s str,
    /// For each message, whether it may be touched.
    pub touchable: Vec<bool>,
    /// Names of tools whose calls and results stay.
    pub except: &'s [String],
    /// Where what goes is kept, as messages are to name it.
    pub archive: Option<&'s str>,
    results: OnceCell<Vec<ToolResult<'s, 'a>>>,
}

/// A result with its call.
pub(crate) struct ToolResult<'s, 'a> {
    /// The message that it is in.
    pub(crate) message: usize,
    /// What it answers; nothing where that is nowhere before it.
    pub(crate) call: Option<&'s Call<'a>>,
    /// Where it stands.
    pub(crate) output: Output<'a>,
}

impl<'s, 'a> Scene<'s, 'a> {
    /// A conversation of which the messages may be touched that are so marked.
    pub fn new(transcript: &'s Transcript<'a>, tally: &'s Tally<'s, 'a>, touchable: Vec<bool>) -> Self {
        Scene {
            transcript,
            tally,
            context_window: None,
            summary_prefix: crate::plan::SUMMARY_PREFIX,
            touchable,
            except: &[],
            archive: None,
            results: OnceCell::new(),
        }
    }

    fn counter(&self) -> Counter {
        self.tally.counter()
    }

    /// Every result that can be shortened, in order.
    fn results(&self) -> &[ToolResult<'s, 'a>] {
        self.results.get_or_init(|| {
            let messages = &self.transcript.messages;
            let found = pairing::results(messages).into_iter().filter_map(|found| {
                let Part { message, index } = found.result;
                let read = &messages[message];
                let output = self.transcript.format.output(read, &read.answers[index])?;
                Some(ToolResult { message, call: found.call.map(|call| call.call_of(messages)), output })
            });
            let mut found: Vec<ToolResult<'s, 'a>> = found.collect();
            // One text may answer several calls.
            found.dedup_by_key(|result| result.output.value.span().start);
            found
        })
    }

    /// Whether a tool is one of those whose calls and results stay.
    fn is_excepted(&self, call: Option<&Call<'_>>) -> bool {
        let name = call.and_then(|call| call.name);
        name.is_some_and(|name| self.except.iter().any(|excepted| name.is(excepted)))
    }

    /// Whether a result may be shortened.
    fn may_touch(&self, result: &ToolResult<'_, '_>) -> bool {
        self.touchable[result.message] && !self.is_excepted(result.call)
    }

    /// The first message that is not older than a size.
    fn first_within(&self, size: Size) -> usize {
        let messages = &self.transcript.messages;
        let within = |tokens: Option<u64>| tokens.map_or(0, |tokens| self.tally.suffix_within(tokens));
        match size {
            Size::Messages(number) => messages.len().saturating_sub(usize::try_from(number).unwrap_or(usize::MAX)),
            Size::Tokens(_) | Size::Fraction(_) => within(size.in_tokens(self.context_window)),
            Size::Turns(number) => {
                let turns = messages.iter().enumerate().rev();
                let mut turns =
                    turns.filter(|(_, message)| message.is_user_turn() && !message.is_summary(self.summary_prefix));
                let nth = usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
                turns.nth(nth).map_or(0, |(index, _)| index)
            }
        }
    }

    /// Which of some items, by the messages that they are in, are older than an amount.
    fn is_old(&self, amount: Amount, messages: &[usize]) -> Vec<bool> {
        match amount {
            Amount::Before(size) => {
                let first = self.first_within(size);
                messages.iter().map(|message| *message < first).collect()
            }
            Amount::Last(number) => {
                let old = messages.len().saturating_sub(usize::try_from(number).unwrap_or(usize::MAX));
                (0..messages.len()).map(|at| at < old).collect()
            }
            Amount::None | Amount::Length(_) => vec![true; messages.len()],
        }
    }
}

/// What a rule would do to a message.
#[derive(Debug, Default)]
pub(crate) struct Change {
    message: usize,
    edits: Vec<Edit>,
    /// Whether nothing is left of it, so that it goes.
    gone: bool,
    /// What is to be kept of it elsewhere.
    files: Vec<Moved>,
}

/// Puts the changes of one message together.
fn by_message(changes: impl IntoIterator<Item = Change>) -> Vec<Change> {
    let mut of: BTreeMap<usize, Change> = BTreeMap::new();
    for change in changes {
        let whole = of.entry(change.message).or_insert_with(|| Change { message: change.message, ..Change::default() });
        whole.edits.extend(change.edits);
        whole.gone |= change.gone;
        whole.files.extend(change.files);
    }
    of.into_values().collect()
}

/// What one rule did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// The rule's name.
    pub rule: &'static str,
    /// How many messages it shortened.
    pub messages: usize,
    /// How many tokens that saved.
    pub tokens: u64,
}

/// What one rule did to one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saving {
    rule: &'static str,
    message: usize,
    tokens: u64,
}

/// A conversation that was pruned.
#[derive(Debug, Default, Clone)]
pub struct Pruned {
    /// The edits within messages, in order.
    pub edits: Vec<Edit>,
    /// Messages of which nothing is left, in order.
    pub emptied: Vec<usize>,
    /// What each rule did to each message, in the order of [`KINDS`].
    pub savings: Vec<Saving>,
    /// What went that is to be kept elsewhere.
    pub files: Vec<Moved>,
    /// Tokens of the messages that were touched.
    pub sizes: BTreeMap<usize, u64>,
}

impl Pruned {
    /// How many tokens that saved.
    pub fn saved(&self) -> u64 {
        self.savings.iter().map(|saving| saving.tokens).sum()
    }

    /// What each rule did to messages from one on, where it did anything.
    pub fn accounts(&self, from: usize) -> Vec<Account> {
        let mut accounts: Vec<Account> = Vec::new();
        for saving in self.savings.iter().filter(|saving| saving.message >= from) {
            match accounts.last_mut().filter(|account| account.rule == saving.rule) {
                Some(account) => {
                    account.messages += 1;
                    account.tokens += saving.tokens;
                }
                None => accounts.push(Account { rule: saving.rule, messages: 1, tokens: saving.tokens }),
            }
        }
        accounts
    }

    /// The messages from one on that lost something which was said, in order.
    pub fn lost(&self, from: usize) -> Vec<usize> {
        const SAYS: [&str; 4] = [reads::KIND.name, arguments::KIND.name, results::KIND.name, cap::KIND.name];
        let lost = self.savings.iter().filter(|saving| SAYS.contains(&saving.rule) && saving.message >= from);
        let mut lost: Vec<usize> = lost.map(|saving| saving.message).collect();
        lost.sort_unstable();
        lost.dedup();
        lost
    }

    /// Whether the thinking of a message was removed.
    pub fn has_no_thinking(&self, message: usize) -> bool {
        self.savings.iter().any(|saving| saving.rule == thinking::KIND.name && saving.message == message)
    }

    /// The same with what another pruning did to messages behind all of these.
    #[must_use]
    pub fn and(mut self, other: Pruned) -> Self {
        self.edits.extend(other.edits);
        self.emptied.extend(other.emptied);
        self.savings.extend(other.savings);
        self.files.extend(other.files);
        self.sizes.extend(other.sizes);
        self
    }

    /// All edits, those included that take messages away; in order. Only where nothing else is done to the transcript.
    pub fn all_edits(self, transcript: &Transcript<'_>) -> Vec<Edit> {
        let Pruned { edits, emptied, .. } = self;
        Removal { edits, emptied, ..Removal::default() }.all_edits(transcript)
    }

    /// Whether nothing was done.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty() && self.emptied.is_empty()
    }
}

/// Makes the edits of some rules, the cheapest rule and the oldest message first; where there is a goal only until so
/// many tokens are saved, and none that saves nothing.
pub fn prune(scene: &Scene<'_, '_>, rules: &[Rule], goal: Option<u64>) -> Pruned {
    let mut work = Work { scene, messages: BTreeMap::new(), savings: Vec::new(), saved: 0 };
    for rule in rules {
        if goal.is_some_and(|goal| work.saved >= goal) {
            break;
        }
        for change in by_message((rule.kind.find)(scene, rule.amount)) {
            if goal.is_some_and(|goal| work.saved >= goal) {
                break;
            }
            work.make(rule.name(), change, goal.is_some());
        }
    }
    work.done()
}

/// Pruning, while it goes on.
struct Work<'w, 's, 'a> {
    scene: &'w Scene<'s, 'a>,
    messages: BTreeMap<usize, Touched>,
    savings: Vec<Saving>,
    saved: u64,
}

/// A message that was touched.
#[derive(Debug, Default)]
struct Touched {
    edits: Vec<Edit>,
    gone: bool,
    tokens: u64,
    files: Vec<Moved>,
}

impl Work<'_, '_, '_> {
    /// Makes a change beside those of the rules before it.
    fn make(&mut self, rule: &'static str, change: Change, only_gains: bool) {
        let index = change.message;
        let before = self.messages.get(&index);
        if before.is_some_and(|touched| touched.gone) {
            return;
        }
        let tokens_before = before.map_or_else(|| self.scene.tally.message(index), |touched| touched.tokens);
        let edits = together(before.map_or(&[], |touched| &touched.edits), change.edits);
        if !change.gone && before.map_or(edits.is_empty(), |touched| touched.edits == edits) {
            return;
        }
        let tokens = if change.gone { 0 } else { self.tokens(index, &edits).unwrap_or(tokens_before) };
        if only_gains && tokens >= tokens_before {
            return;
        }
        let files = before.map(|touched| touched.files.clone()).unwrap_or_default();
        let files = files.into_iter().chain(change.files).collect();
        self.messages.insert(index, Touched { edits, gone: change.gone, tokens, files });
        let saved = tokens_before.saturating_sub(tokens);
        self.saved += saved;
        self.savings.push(Saving { rule, message: index, tokens: saved });
    }

    fn tokens(&self, index: usize, edits: &[Edit]) -> Option<u64> {
        let transcript = self.scene.transcript;
        let counter = self.scene.counter();
        lone(transcript.format, &edited(transcript, index, edits), |message| counter.count(message))
    }

    fn done(self) -> Pruned {
        let mut pruned = Pruned { savings: self.savings, ..Pruned::default() };
        for (index, touched) in self.messages {
            pruned.sizes.insert(index, touched.tokens);
            pruned.files.extend(touched.files);
            match touched.gone {
                true => pruned.emptied.push(index),
                false => pruned.edits.extend(touched.edits),
            }
        }
        pruned
    }
}

/// Edits of a message with others beside them: what takes the place of more wins, and what cannot be made beside it is
/// left out. In order.
fn together(before: &[Edit], more: Vec<Edit>) -> Vec<Edit> {
    let mut edits = before.to_vec();
    for edit in more {
        let is_within =
            |inner: &Edit, outer: &Edit| outer.range.start <= inner.range.start && inner.range.end <= outer.range.end;
        let meets = |other: &Edit| edit.range.start < other.range.end && other.range.start < edit.range.end;
        if edits.iter().any(|other| meets(other) && !is_within(other, &edit) || other.range == edit.range) {
            continue;
        }
        edits.retain(|other| !meets(other));
        edits.push(edit);
    }
    sort(&mut edits);
    edits
}

#[cfg(test)]
mod tests;
