//! One conversation on a page: the decision, the sizes, the picture, the summary, and the files.

use crate::events::{Drawn, Status};

use crate::report::html::escape::{block, escaped};
use crate::report::html::{Page, PageRow, PricedModel};
use crate::report::shares::Shares;
use crate::wording::{counted, grouped, grouped_and_counted};

/// The most characters of a summary.
const MOST_OF_SUMMARY: usize = 60_000;

/// A part of a page.
pub(super) struct PagePart {
    pub(super) anchor: &'static str,
    pub(super) title: &'static str,
    pub(super) markup: String,
}

impl Page {
    /// Draws a page for one conversation.
    pub(super) fn of_one(&self, row: &PageRow, drawn: &Drawn) -> String {
        let head = format!(
            "<h1>{} <bdi>{}</bdi></h1>\n<p class=\"lead\">{}</p>\n{}",
            self.heading(),
            row.name(),
            self.lead(row, drawn),
            self.cards(row, Some(drawn))
        );
        Self::framed(&row.name(), &head, &self.parts(row, drawn))
    }

    /// The beginning of the heading.
    pub(super) fn heading(&self) -> &'static str {
        if self.is_planned { "Planned compaction of" } else { "Compaction of" }
    }

    pub(super) fn parts(&self, row: &PageRow, drawn: &Drawn) -> Vec<PagePart> {
        let mut parts = vec![PagePart { anchor: "picture", title: "The picture", markup: drawn.picture.clone() }];
        if !drawn.spent.is_empty() {
            let window = row.conversation.outcome.plan.as_ref().and_then(|plan| plan.context_window);
            let title = if window.is_some() { "What filled the window" } else { "What filled the conversation" };
            parts.push(PagePart { anchor: "spent", title, markup: categories(&drawn.spent, window) });
        }
        if !drawn.summary.is_empty() {
            parts.push(PagePart { anchor: "summary", title: "The summary", markup: summary(drawn) });
        }
        parts.push(PagePart { anchor: "places", title: "Files and costs", markup: self.places(row, drawn) });
        parts
    }

    /// Draws the numbers of a conversation, each on a card.
    pub(super) fn cards(&self, row: &PageRow, drawn: Option<&Drawn>) -> String {
        let mut cards = Vec::new();
        if let Some((before, after)) = row.conversation.sizes() {
            cards.push(sizes("Tokens", before, after));
            cards.extend(self.reader.as_ref().map(|reader| money(reader, before, after)));
        }
        if let Some((plan, drawn)) = row.conversation.outcome.plan.as_ref().zip(drawn) {
            let (before, after) = (grouped(plan.messages as u64), grouped(drawn.messages as u64));
            let few = format!("{} ({})", plan.format, plan.counter);
            cards.push(card("Messages", &format!("{before} → {after}"), &escaped(&few), ""));
        }
        if let Some(tokens) = row.conversation.outcome.summary_tokens {
            let by = row.conversation.outcome.provider.as_deref().unwrap_or_default();
            let tokens = grouped_and_counted(tokens, "token");
            cards.push(card("Summary", &tokens, &escaped(&format!("by {by}{}", summary_costs(row))), ""));
        }
        format!("<dl class=\"cards\">\n{}</dl>\n", cards.concat())
    }

    fn places(&self, row: &PageRow, drawn: &Drawn) -> String {
        let mut places: Vec<(&str, String)> = vec![("The result", escaped(&row.to))];
        let removed = match &drawn.archive {
            Some(archive) if self.is_planned => Some(format!("would go to {archive}")),
            Some(archive) => Some(archive.clone()),
            None => drawn.is_cut.then(|| "nowhere: no --archive was named".to_owned()),
        };
        let what = if drawn.summary.is_empty() { "Pruned text" } else { "Removed messages" };
        places.extend(removed.map(|place| (what, escaped(&place))));
        if drawn.files > 0 {
            places.push(("Beside the archive", grouped_and_counted(drawn.files as u64, "file")));
        }
        if let Some(economy) = row.conversation.economy() {
            let sentence = economy.sentence(false, self.reader.as_ref().map(|reader| reader.name.as_str()));
            places.push(("Savings", escaped(&sentence)));
        }
        if let Some(masked) = row.conversation.outcome.redacted.as_ref() {
            let counts: Vec<String> = masked.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            let counts = if counts.is_empty() { "none was found".to_owned() } else { counts.join(", ") };
            places.push(("Secrets masked", escaped(&counts)));
        }
        if let Some(repaired) = &row.conversation.outcome.repaired {
            let (violations, messages) =
                (counted(repaired.violations as u64, "violation"), counted(repaired.messages as u64, "message"));
            let what = if self.is_planned { "Would be repaired" } else { "Repaired" };
            places.push((what, format!("{violations} of the provider's rules, in an input of {messages}")));
        }
        if let Some(error) = row.conversation.error() {
            places.push(("Error", escaped(error)));
        }
        let rows = places.iter().map(|(what, place)| format!("<dt>{what}</dt><dd><bdi>{place}</bdi></dd>\n"));
        format!("<dl class=\"places\">\n{}</dl>\n", rows.collect::<String>())
    }

    /// Describes the result and the decision.
    pub(super) fn lead(&self, row: &PageRow, drawn: &Drawn) -> String {
        let conversation = &row.conversation;
        let is_left = drawn.decision.contains("unchanged");
        let is_only_repaired = is_left && conversation.outcome.repaired.is_some();
        // The history of such a conversation stays, and its masks were set before all else.
        let is_only_masked = is_left && conversation.status() == Status::Compacted;
        let result = match (conversation.status(), conversation.sizes()) {
            _ if is_only_repaired && self.is_planned => "Would be repaired. ".to_owned(),
            _ if is_only_repaired => "Repaired. ".to_owned(),
            _ if is_only_masked && self.is_planned => "Secrets would be masked. ".to_owned(),
            _ if is_only_masked => "Secrets masked. ".to_owned(),
            (Status::Compacted, Some((before, after))) => format!("Compacted: {}. ", less(before, after)),
            (Status::Compacted, None) => "Compacted. ".to_owned(),
            _ => String::new(),
        };
        let decision = if is_only_repaired || is_only_masked {
            drawn.decision.replacen("unchanged", "nothing is summarized", 1)
        } else {
            drawn.decision.clone()
        };
        let mut decision = decision.chars();
        let first: String = decision.next().into_iter().flat_map(char::to_uppercase).collect();
        escaped(&format!("{result}{first}{}.", decision.as_str()))
    }
}

/// Draws what a conversation's tokens were spent on: a bar for each category, as a share of the context window where
/// that is known.
fn categories(tokens: &[(String, u64)], window: Option<u64>) -> String {
    let shares = Shares::new(tokens.iter().map(|(_, tokens)| tokens).sum(), window);
    let of = if shares.is_window { "Of the window" } else { "Share" };
    let mut out = format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"Tokens by category\">\n<table class=\"spent\">\n\
         <thead><tr><th scope=\"col\">What</th><th scope=\"col\" class=\"number\">Tokens</th>\
         <th scope=\"col\" class=\"number\">{of}</th><td></td></tr></thead>\n<tbody>\n"
    );
    for (name, tokens) in tokens {
        let share = shares.of(*tokens) * 100.0;
        out.push_str(&format!(
            "<tr><th scope=\"row\"><bdi>{}</bdi></th><td class=\"number\">{}</td>\
             <td class=\"number\">{share:.1}%</td><td class=\"share\" aria-hidden=\"true\">\
             <span class=\"bar\"><i class=\"pinned\" style=\"width:{share:.1}%\"></i></span></td></tr>\n",
            escaped(name),
            grouped(*tokens)
        ));
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
    out
}

fn summary(drawn: &Drawn) -> String {
    let messages = drawn.summary.iter().map(|(role, text)| {
        format!(
            "<div class=\"message put\"><p class=\"about\">{}</p>\n{}</div>\n",
            escaped(role),
            block(text, MOST_OF_SUMMARY)
        )
    });
    messages.collect()
}

/// Describes what the summary took: requests, retries, money.
fn summary_costs(row: &PageRow) -> String {
    let conversation = &row.conversation.outcome;
    let mut costs = String::new();
    let counts = [
        (conversation.requests, "request", "requests"),
        (conversation.retries, "retry", "retries"),
        (conversation.cached, "answer from the cache", "answers from the cache"),
    ];
    for (count, one, many) in counts.into_iter().filter(|(count, ..)| *count > 0) {
        costs.push_str(&format!(", {count} {}", if count == 1 { one } else { many }));
    }
    if let Some(cost) = conversation.usage.and_then(|usage| usage.cost_usd) {
        costs.push_str(&format!(", {}", dollars(cost)));
    }
    costs
}

/// Draws a number before and after, with bars.
pub(super) fn sizes(what: &str, before: u64, after: u64) -> String {
    let share = (after as f64 * 100.0 / before.max(1) as f64).min(100.0);
    let bars = format!(
        "<span class=\"sizes\" aria-hidden=\"true\"><i class=\"before\"></i><i class=\"kept\" style=\"width:{share:.1}%\"></i></span>"
    );
    card(what, &format!("{} → {}", grouped(before), grouped(after)), &less(before, after), &bars)
}

/// Draws the cost of a request before and after.
pub(super) fn money(reader: &PricedModel, before: u64, after: u64) -> String {
    let (before, after) = (reader.cost(before), reader.cost(after));
    let decimals = decimals(before).max(decimals(after));
    let both = format!("${before:.decimals$} → ${after:.decimals$}");
    let price = format!("{} at ${:.2} a million tokens, without a cache", reader.name, reader.price);
    card("Cost of each request", &both, &escaped(&price), "")
}

/// Draws a card: a number with its name and a remark.
pub(super) fn card(what: &str, number: &str, about: &str, more: &str) -> String {
    format!("<div><dt>{what}</dt><dd><strong>{number}</strong> <span>{about}</span>{more}</dd></div>\n")
}

/// Describes the difference between two numbers of tokens.
pub(super) fn less(before: u64, after: u64) -> String {
    match before.checked_sub(after) {
        Some(0) => "as many as before".to_owned(),
        Some(saved) => format!("{} less ({})", grouped_and_counted(saved, "token"), percent(before, after)),
        None => format!("{} more", grouped_and_counted(after - before, "token")),
    }
}

/// The saved share in percent: 100 only where nothing is left.
pub(super) fn percent(before: u64, after: u64) -> String {
    let gone = (before.saturating_sub(after) as f64 * 100.0 / before.max(1) as f64).round();
    format!("{}%", if after > 0 { gone.min(99.0) } else { gone })
}

/// Formats US dollars, with more digits for small sums.
pub(super) fn dollars(sum: f64) -> String {
    format!("${sum:.0$}", decimals(sum))
}

fn decimals(sum: f64) -> usize {
    match sum {
        1.0.. => 2,
        0.001.. => 4,
        _ => 6,
    }
}
