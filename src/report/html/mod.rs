//! What a run did, for people, as one page that needs nothing but a browser: no network, no script. Rows for what became
//! of each conversation, and pictures to click through of those that lose most.
//!
//! It is drawn of what was done, and does nothing: a page is a text made of plain data. Where that comes from is
//! `crate::engine::page`, and where the text goes is `crate::engine`. Every text in it is taken to be hostile (`escape`), and
//! no more of a conversation is shown than a browser can bear.

mod batch;
mod conversation;
mod escape;
mod facts;
mod picture;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;

use crate::events::{Conversation, Event, Listener, Status};
use crate::sync::{lock, unpoisoned};

pub(crate) use picture::{Shown, picture};

use batch::Sums;
use escape::escaped;

const STYLE: &str = include_str!("style.css");

/// Conversations of a batch that are drawn: those that lose most.
pub(crate) const MOST_DRAWN: usize = 10;
/// Rows of the table of a batch.
const MOST_ROWS: usize = 5_000;

/// A model that reads on, and what it costs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reader {
    /// Its full name.
    pub(crate) name: String,
    /// US dollars a million tokens that it reads.
    pub(crate) price: f64,
}

impl Reader {
    /// What it costs to read so many tokens once.
    fn cost(&self, tokens: u64) -> f64 {
        const MILLION: f64 = 1e6;
        tokens as f64 * self.price / MILLION
    }
}

/// A row of the page's table: what became of a conversation.
#[derive(Debug)]
struct Row {
    told: Conversation,
    /// Where the result went.
    to: String,
}

impl Row {
    fn text(&self, key: &str) -> &str {
        self.told.plan.get(key).and_then(|value| value.as_str()).unwrap_or_default()
    }

    fn number(&self, key: &str) -> Option<u64> {
        self.told.plan.get(key).and_then(|value| value.as_u64())
    }

    fn name(&self) -> String {
        escaped(&crate::wording::readable_source(self.text("source")))
    }

    /// Failures first, then those that lose most; which was done first does not matter.
    fn order(&self) -> (bool, Reverse<u64>, &str, usize) {
        let source = self.text("source");
        let line = source.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
        let (file, line) = line.unwrap_or((source, 0));
        (self.told.status != Status::Failed, Reverse(self.told.lost()), file, line)
    }
}

/// A page in the making, which is told what became of conversations.
#[derive(Debug)]
pub(crate) struct PageInTheMaking {
    page: Mutex<Page>,
    /// Tokens that a conversation must lose, at least, to be drawn: others are that lose more.
    least_drawn: AtomicU64,
}

impl PageInTheMaking {
    /// One of no conversation yet.
    pub(crate) fn new(page: Page) -> Self {
        PageInTheMaking { page: Mutex::new(page), least_drawn: AtomicU64::new(0) }
    }

    /// Whether a conversation that loses so many tokens is drawn, as far as that is known.
    pub(crate) fn may_draw(&self, lost: u64) -> bool {
        lost >= self.least_drawn.load(Ordering::Relaxed)
    }

    /// The page, once all is told.
    pub(crate) fn finish(self) -> String {
        unpoisoned(self.page.into_inner()).draw()
    }
}

impl Listener for PageInTheMaking {
    fn hear(&self, event: &Event<'_>) -> Result<()> {
        if let Event::Done { conversations, to } = event {
            let mut page = lock(&self.page);
            page.add(conversations.to_vec(), to);
            self.least_drawn.store(page.least_drawn(), Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Rows, sums, and the pictures of what loses most, however many conversations there are.
#[derive(Debug)]
pub(crate) struct Page {
    reader: Option<Reader>,
    /// Whether nothing but the page is written.
    looked: bool,
    sums: Sums,
    rows: Vec<Row>,
    /// How many of them are drawn.
    drawn: usize,
    least_drawn: u64,
}

impl Page {
    /// A page of no conversation yet; `reader` is the model that reads on, and `looked` says that no result is written.
    pub(crate) fn new(reader: Option<Reader>, looked: bool) -> Self {
        Page { reader, looked, sums: Sums::default(), rows: Vec::new(), drawn: 0, least_drawn: 0 }
    }

    /// Adds conversations whose result went `to` some place.
    pub(crate) fn add(&mut self, conversations: Vec<Conversation>, to: &str) {
        for mut told in conversations {
            told.page = told.page.filter(|_| told.status != Status::Failed);
            self.drawn += usize::from(told.page.is_some());
            self.rows.push(Row { told, to: to.to_owned() });
            if let Some(row) = self.rows.last() {
                self.sums.add(row);
            }
            // Not each time: that would take too long where there are many.
            if self.drawn > 2 * MOST_DRAWN || self.rows.len() > 2 * MOST_ROWS {
                self.settle();
            }
        }
    }

    /// Puts the rows in order, and lets go what is too much.
    fn settle(&mut self) {
        self.rows.sort_by(|a, b| a.order().cmp(&b.order()));
        self.rows.truncate(MOST_ROWS);
        let mut drawn: Vec<&mut Row> = self.rows.iter_mut().filter(|row| row.told.page.is_some()).collect();
        drawn.iter_mut().skip(MOST_DRAWN).for_each(|row| row.told.page = None);
        drawn.truncate(MOST_DRAWN);
        self.least_drawn = drawn.get(MOST_DRAWN - 1).map_or(0, |row| row.told.lost());
        self.drawn = drawn.len();
    }

    fn least_drawn(&self) -> u64 {
        self.least_drawn
    }

    /// The whole page.
    pub(crate) fn draw(mut self) -> String {
        self.settle();
        match self.rows.as_slice() {
            [row] if self.sums.conversations == 1 => match &row.told.page {
                Some(drawn) => self.of_one(row, drawn),
                None => self.of_many(),
            },
            _ => self.of_many(),
        }
    }

    /// A page around what its parts are: the anchor and the title of each, and its markup.
    fn framed(title: &str, head: &str, parts: &[(String, &str, String)]) -> String {
        let links: String =
            parts.iter().map(|(id, title, _)| format!("<li><a href=\"#{id}\">{title}</a></li>\n")).collect();
        let sections: String = parts
            .iter()
            .map(|(id, title, markup)| {
                format!("<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{title}</h2>\n{markup}</section>\n")
            })
            .collect();
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

/// Has no more than [`MOST_DRAWN`] of some conversations keep what is drawn of them; `drawn` are the indices of those that
/// have it.
pub(crate) fn keep_largest(conversations: &mut [Conversation], drawn: &mut Vec<usize>) {
    if drawn.len() > MOST_DRAWN {
        drawn.sort_by_key(|&at| Reverse(conversations[at].lost()));
        drawn.drain(MOST_DRAWN..).for_each(|at| conversations[at].page = None);
    }
}
