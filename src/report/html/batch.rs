//! Several conversations on a page: their sums, their table, and the pictures of those that save most.

use crate::events::Status;

use crate::report::html::conversation::{PagePart, card, dollars, less, money, percent, sizes};
use crate::report::html::escape::escaped;
use crate::report::html::{Page, PageRow};
use crate::wording::{grouped, grouped_and_counted};

/// The sums over all conversations, with or without a row.
#[derive(Debug, Default, Clone)]
pub(super) struct Sums {
    pub(super) conversations: u64,
    compacted: u64,
    unchanged: u64,
    skipped: u64,
    failed: u64,
    /// Tokens before and after, of conversations with a result.
    before: u64,
    after: u64,
    requests: u64,
    cached: u64,
    cost: f64,
}

impl Sums {
    pub(super) fn add(&mut self, row: &PageRow) {
        self.conversations += 1;
        match row.conversation.status() {
            Status::Compacted => self.compacted += 1,
            Status::Unchanged | Status::PassedThrough => self.unchanged += 1,
            Status::Finished | Status::LeftOut => self.skipped += 1,
            Status::Failed => self.failed += 1,
        }
        if let Some((before, after)) = row.conversation.sizes() {
            self.before += before;
            self.after += after;
        }
        self.requests += row.conversation.outcome.requests;
        self.cached += row.conversation.outcome.cached;
        self.cost += cost(row).unwrap_or(0.0);
    }

    /// Describes how many conversations have each status.
    fn counts(&self) -> String {
        let counts = [
            (self.compacted, "compacted"),
            (self.unchanged, "unchanged"),
            (self.failed, "failed"),
            (self.skipped, "skipped"),
        ];
        let clauses =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{} {what}", grouped(*count)));
        clauses.collect::<Vec<_>>().join(", ")
    }
}

fn cost(row: &PageRow) -> Option<f64> {
    row.conversation.outcome.usage?.cost_usd
}

impl Page {
    /// Draws a page for any number of conversations.
    pub(super) fn of_many(&self) -> String {
        let Sums { conversations, .. } = self.sums;
        let title = grouped_and_counted(conversations, "conversation");
        let lead = if conversations == 0 { "Nothing was read".to_owned() } else { self.sums.counts() };
        let head = format!(
            "<h1>{} {title}</h1>\n<p class=\"lead\">{lead}.</p>\n<dl class=\"cards\">\n{}</dl>\n",
            self.heading(),
            self.sums()
        );
        let mut parts = Vec::new();
        let drawn = self.largest();
        if !drawn.is_empty() {
            parts.push(PagePart { anchor: "largest", title: "Largest savings", markup: drawn });
        }
        if !self.rows.is_empty() {
            parts.push(PagePart { anchor: "all", title: "All conversations", markup: self.table() });
        }
        Self::framed(&title, &head, &parts)
    }

    /// Draws the cards of the sums.
    fn sums(&self) -> String {
        let Sums { before, after, requests, cached, cost, .. } = self.sums;
        let mut cards = Vec::new();
        if before > 0 {
            cards.push(sizes("Tokens", before, after));
            cards.extend(self.reader.as_ref().map(|reader| money(reader, before, after)));
        }
        if requests > 0 || cached > 0 {
            let cost = if cost > 0.0 { dollars(cost) } else { String::new() };
            let cached = if cached > 0 {
                format!("{} from the cache {cost}", grouped_and_counted(cached, "answer"))
            } else {
                cost
            };
            cards.push(card("Requests", &grouped(requests), &cached, ""));
        }
        cards.concat()
    }

    /// Draws the pictures, each to be opened.
    fn largest(&self) -> String {
        let mut out = String::new();
        for (at, row) in self.rows.iter().enumerate() {
            let Some(drawn) = &row.conversation.outcome.page else { continue };
            let size = row.conversation.sizes().map(|(before, after)| less(before, after)).unwrap_or_default();
            out.push_str(&format!(
                "<details class=\"conversation\"><summary><h3><bdi>{}</bdi></h3> <span>{size}</span></summary>\n\
                 <div id=\"conversation-{at}\">\n<p class=\"lead\">{}</p>\n{}",
                row.name(),
                self.lead(row, drawn),
                self.cards(row, Some(drawn))
            ));
            let parts = self.parts(row, drawn).into_iter();
            out.extend(parts.map(|PagePart { title, markup, .. }| format!("<h4>{title}</h4>\n{markup}")));
            out.push_str("</div>\n</details>\n");
        }
        out
    }

    fn table(&self) -> String {
        let costs = self.rows.iter().any(|row| cost(row).is_some());
        let mut out = String::new();
        let left_out = self.sums.conversations - self.rows.len() as u64;
        if left_out > 0 {
            out.push_str(&format!(
                "<p>The page shows the {} that failed or shrink most; the totals include {} more, and --report lists each.</p>\n",
                grouped(self.rows.len() as u64),
                grouped(left_out)
            ));
        }
        let numbers = ["Messages", "Tokens before", "and after", "Less", "Requests"].into_iter();
        let numbers = numbers.chain(costs.then_some("Cost"));
        let numbers: String = numbers.map(|name| format!("<th scope=\"col\" class=\"number\">{name}</th>")).collect();
        out.push_str(&format!(
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table of conversations\">\n<table>\n<thead><tr>\
             <th scope=\"col\">Conversation</th><th scope=\"col\">Status</th>{numbers}</tr></thead>\n<tbody>\n"
        ));
        for (at, row) in self.rows.iter().enumerate() {
            let above = at.checked_sub(1).and_then(|above| self.rows[above].conversation.why());
            table_row(row, &RowContext { at, costs, above }, &mut out);
        }
        out.push_str("</tbody>\n</table>\n</div>\n");
        out
    }
}

/// Where a row of the table stands.
struct RowContext<'r> {
    at: usize,
    /// Whether the table has a column of costs.
    costs: bool,
    /// The error of the row above.
    above: Option<&'r str>,
}

/// Draws a row of the table.
fn table_row(row: &PageRow, &RowContext { at, costs, above }: &RowContext<'_>, out: &mut String) {
    let name = match row.conversation.outcome.page {
        Some(_) => format!("<a href=\"#conversation-{at}\"><bdi>{}</bdi></a>", row.name()),
        None => format!("<bdi>{}</bdi>", row.name()),
    };
    let (word, class) = match row.conversation.status() {
        Status::Compacted => ("compacted", "done"),
        Status::Unchanged | Status::PassedThrough => ("unchanged", "left"),
        Status::Failed => ("failed", "failed"),
        Status::Finished | Status::LeftOut => ("skipped", "left"),
    };
    let why = match row.conversation.why() {
        None => String::new(),
        // Where a file cannot be written, all of its lines fail for the same reason.
        error if error == above => "<br>for the same reason".to_owned(),
        Some(error) => format!("<br><bdi>{}</bdi>", escaped(error)),
    };
    let number = |number: Option<u64>| number.map(grouped).unwrap_or_default();
    let plan = row.conversation.outcome.plan.as_ref();
    let saved = row.conversation.sizes().map(|(before, after)| percent(before, after));
    let mut cells = vec![
        number(plan.map(|plan| plan.messages as u64)),
        number(plan.map(|plan| plan.tokens)),
        number(row.conversation.sizes().map(|(_, after)| after)),
        saved.unwrap_or_default(),
        number(Some(row.conversation.outcome.requests).filter(|requests| *requests > 0)),
    ];
    if costs {
        cells.push(cost(row).map(dollars).unwrap_or_default());
    }
    let cells: String = cells.iter().map(|cell| format!("<td class=\"number\">{cell}</td>")).collect();
    out.push_str(&format!(
        "<tr><th scope=\"row\" class=\"name\">{name}</th><td class=\"became\"><strong class=\"{class}\">{word}</strong>{why}</td>{cells}</tr>\n"
    ));
}
