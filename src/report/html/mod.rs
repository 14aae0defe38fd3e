//! The page of `--html`: one file for a browser, without network access or scripts. It has a row for each conversation,
//! and pictures to click through for those that save most.
//!
//! A page is a text made of plain data, which `crate::engine::page` collects and `crate::engine` writes. Every text in
//! it is treated as hostile (`escape`), and no more of a conversation is shown than a browser can handle.

mod batch;
mod conversation;
mod escape;
mod picture;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::events::{ConversationOutcome, Event, Listener, ReportRow, Status};
use crate::sync::{lock, unpoisoned};

pub(crate) use picture::{Shown, picture};

use batch::Sums;
use conversation::PagePart;
use escape::escaped;

const STYLE: &str = include_str!("style.css");

/// The most conversations of a batch that are drawn: those that save most.
pub(crate) const MOST_DRAWN: usize = 10;
/// The most rows of the table of a batch.
const MOST_ROWS: usize = 5_000;

/// The model that reads the result, and its price.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PricedModel {
    pub(crate) name: String,
    /// US dollars per million tokens of input.
    pub(crate) price: f64,
}

impl PricedModel {
    /// The cost of reading so many tokens once.
    fn cost(&self, tokens: u64) -> f64 {
        const MILLION: f64 = 1e6;
        tokens as f64 * self.price / MILLION
    }
}

/// A conversation on the page, and the place of its result.
#[derive(Debug, Clone)]
struct PageRow {
    conversation: ReportRow,
    /// The place of the result.
    to: String,
}

impl PageRow {
    fn name(&self) -> String {
        escaped(&crate::wording::readable_source(&self.conversation.outcome.source))
    }

    /// The sort key: failures first, then those that save most, whatever the order in which they were done.
    fn order(&self) -> (bool, Reverse<u64>, &str, usize) {
        let source = self.conversation.outcome.source.as_str();
        let line = source.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
        let (file, line) = line.unwrap_or((source, 0));
        (self.conversation.status() != Status::Failed, Reverse(self.conversation.lost()), file, line)
    }
}

/// A page in progress, which listens for finished conversations.
#[derive(Debug)]
pub(crate) struct PageBuilder {
    page: Mutex<Page>,
    /// The tokens that a conversation must save to be drawn.
    least_drawn: AtomicU64,
}

impl PageBuilder {
    pub(crate) fn new(page: Page) -> Self {
        PageBuilder { page: Mutex::new(page), least_drawn: AtomicU64::new(0) }
    }

    /// Whether a conversation that saves so many tokens can still be drawn.
    pub(crate) fn may_draw(&self, lost: u64) -> bool {
        lost >= self.least_drawn.load(Ordering::Relaxed)
    }

    /// The page as it is with `conversations` too; `to` is the place of their result.
    pub(crate) fn with(&self, conversations: &[ReportRow], to: &str) -> String {
        let mut page = lock(&self.page).clone();
        page.add(conversations.to_vec(), to);
        page.draw()
    }

    pub(crate) fn finish(self) -> String {
        unpoisoned(self.page.into_inner()).draw()
    }
}

impl Listener for PageBuilder {
    fn handle(&self, event: &Event<'_>) {
        if let Event::Done { conversations, to } = event {
            let mut page = lock(&self.page);
            page.add(conversations.to_vec(), to);
            self.least_drawn.store(page.least_drawn, Ordering::Relaxed);
        }
    }
}

/// The rows, the sums, and the pictures of the conversations that save most. Its size is limited.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    reader: Option<PricedModel>,
    /// Whether no result is written.
    is_planned: bool,
    sums: Sums,
    rows: Vec<PageRow>,
    /// The number of rows that are drawn.
    drawn: usize,
    least_drawn: u64,
}

impl Page {
    /// `reader` is the model that reads the result; `is_planned` says that no result is written.
    pub(crate) fn new(reader: Option<PricedModel>, is_planned: bool) -> Self {
        Page { reader, is_planned, sums: Sums::default(), rows: Vec::new(), drawn: 0, least_drawn: 0 }
    }

    /// Adds conversations; `to` is the place of their result.
    pub(crate) fn add(&mut self, conversations: Vec<ReportRow>, to: &str) {
        for mut conversation in conversations {
            if conversation.status() == Status::Failed {
                conversation.outcome.page = None;
            }
            self.drawn += usize::from(conversation.outcome.page.is_some());
            self.rows.push(PageRow { conversation, to: to.to_owned() });
            if let Some(row) = self.rows.last() {
                self.sums.add(row);
            }
            // Settling after every row would be slow for many rows.
            if self.drawn > 2 * MOST_DRAWN || self.rows.len() > 2 * MOST_ROWS {
                self.settle();
            }
        }
    }

    /// Sorts the rows, and drops those that exceed the limits.
    fn settle(&mut self) {
        self.rows.sort_by(|a, b| a.order().cmp(&b.order()));
        self.rows.truncate(MOST_ROWS);
        let mut drawn: Vec<&mut PageRow> =
            self.rows.iter_mut().filter(|row| row.conversation.outcome.page.is_some()).collect();
        drawn.iter_mut().skip(MOST_DRAWN).for_each(|row| row.conversation.outcome.page = None);
        drawn.truncate(MOST_DRAWN);
        self.least_drawn = drawn.get(MOST_DRAWN - 1).map_or(0, |row| row.conversation.lost());
        self.drawn = drawn.len();
    }

    pub(crate) fn draw(mut self) -> String {
        self.settle();
        let only = self.rows.first().filter(|_| self.sums.conversations == 1);
        match only.and_then(|row| Some((row, row.conversation.outcome.page.as_ref()?))) {
            Some((row, drawn)) => self.of_one(row, drawn),
            None => self.of_many(),
        }
    }

    fn framed(title: &str, head: &str, parts: &[PagePart]) -> String {
        let (mut links, mut sections) = (String::new(), String::new());
        for PagePart { anchor, title, markup } in parts {
            links.push_str(&format!("<li><a href=\"#{anchor}\">{title}</a></li>\n"));
            sections.push_str(&format!(
                "<section aria-labelledby=\"{anchor}\">\n<h2 id=\"{anchor}\">{title}</h2>\n{markup}</section>\n"
            ));
        }
        let policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
        let version = env!("CARGO_PKG_VERSION");
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title} – tcompact</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#content\">Skip to the content</a>\n\
             <header>\n{head}<nav aria-label=\"Parts of this page\">\n<ul>\n{links}</ul>\n</nav>\n</header>\n\
             <main id=\"content\">\n{sections}</main>\n\
             <footer>\n<p>Drawn by tcompact {version}. This page holds text of the conversation: share it as you would \
             share that.</p>\n</footer>\n</body>\n</html>\n"
        )
    }
}

/// Keeps the drawings of at most [`MOST_DRAWN`] conversations; `drawn` has the indices of those with one.
pub(crate) fn keep_largest(conversations: &mut [ConversationOutcome], drawn: &mut Vec<usize>) {
    if drawn.len() > MOST_DRAWN {
        drawn.sort_by_key(|&at| Reverse(conversations[at].lost()));
        drawn.drain(MOST_DRAWN..).for_each(|at| conversations[at].page = None);
    }
}
