//! The table of facts in the removed messages: each with its kind, its message, and whether the summary has it.

use crate::events::{Fact, FactPlace};
use crate::report::columns::fitted;

use crate::report::html::escape::{escaped, grouped};

/// The most rows of the table.
const MOST: usize = 200;
/// The most columns of a fact.
const COLUMNS: usize = 400;

fn word(place: FactPlace) -> &'static str {
    match place {
        FactPlace::Summary => "in the summary",
        FactPlace::Appended => "appended to it",
        FactPlace::Gone => "not in it",
    }
}

/// Draws the table, and the number of facts in each place. `anchor` returns the anchor of a message that is shown.
pub(super) fn table(facts: &[Fact], anchor: impl Fn(usize) -> Option<String>) -> String {
    let of = |place: FactPlace| facts.iter().filter(|fact| fact.place == place).count() as u64;
    let counts = [
        format!("{} in the words of the summary", grouped(of(FactPlace::Summary))),
        format!("{} appended to it", grouped(of(FactPlace::Appended))),
        format!("{} not in it", grouped(of(FactPlace::Gone))),
    ];
    let found = grouped(facts.len() as u64);
    let mut out = format!("<p>{found} facts were found in what was summarized: {}.</p>\n", counts.join(", "));
    let mut shown: Vec<&Fact> = facts.iter().take(MOST).collect();
    if shown.is_empty() {
        return out;
    }
    if shown.len() < facts.len() {
        out.push_str(&format!("<p>The {MOST} that weigh most are shown.</p>\n"));
    }
    shown.sort_by_key(|fact| fact.kind);
    out.push_str(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Facts\">\n<table>\n<thead><tr>\
         <th scope=\"col\">Kind</th><th scope=\"col\">Fact</th><th scope=\"col\">Message</th>\
         <th scope=\"col\">Where it is now</th></tr></thead>\n<tbody>\n",
    );
    for fact in shown {
        let message = match fact.message.map(|index| (index, anchor(index))) {
            Some((index, Some(id))) => format!("<a href=\"#{id}\">{index}</a>"),
            Some((index, None)) => index.to_string(),
            None => "earlier".to_owned(),
        };
        out.push_str(&format!(
            "<tr><th scope=\"row\">{}</th><td class=\"fact\"><bdi>{}</bdi></td><td class=\"number\">{message}</td><td class=\"place\">{}</td></tr>\n",
            fact.kind.name(),
            escaped(&fitted(&fact.text, COLUMNS)),
            word(fact.place)
        ));
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
    out
}
