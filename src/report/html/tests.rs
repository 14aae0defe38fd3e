//! Pages of made-up rows, and the colours of the style.

use std::sync::Arc;

use crate::events::{ConversationOutcome, Drawn, PlanRow};
use crate::report::html::*;

fn conversation(source: &str, before: u64, after: u64, status: Status) -> ConversationOutcome {
    let plan = PlanRow::sample(9, before);
    let page = Drawn {
        messages: 3,
        decision: "the cut is at 7".to_owned(),
        spent: vec![("user".to_owned(), before / 4), ("run".to_owned(), before * 3 / 4)],
        picture: format!("<p>picture of {source}</p>\n"),
        summary: vec![("user, 2 tokens".to_owned(), "So far.".to_owned())],
        is_cut: true,
        archive: None,
        files: 0,
    };
    let conversation = ConversationOutcome::without_plan(source, status, None);
    ConversationOutcome { plan: Some(plan), tokens_after: Some(after), page: Some(Arc::new(page)), ..conversation }
}

fn page(conversations: Vec<ConversationOutcome>) -> String {
    let reader = PricedModel { name: "openai:gpt-4o".to_owned(), price: 2.5 };
    let mut page = Page::new(Some(reader), false);
    for conversation in conversations {
        page.add(vec![ReportRow::written(conversation)], "standard output");
    }
    page.draw()
}

#[test]
fn one_conversation_has_the_page_for_itself() {
    let page = page(vec![conversation("a.json", 1_000_000, 200_000, Status::Compacted)]);
    for part in [
        "<h1>Compaction of <bdi>a.json</bdi></h1>",
        "Compacted: 800,000 tokens less (80%). The cut is at 7.",
        "<strong>1,000,000 → 200,000</strong>",
        "<strong>$2.5000 → $0.5000</strong> <span>openai:gpt-4o at $2.50 a million tokens, without a cache</span>",
        "<p>picture of a.json</p>",
        "<td class=\"number\">750,000</td><td class=\"number\">75.0%</td>",
        "So far.",
        "<dt>The result</dt><dd><bdi>standard output</bdi></dd>",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}

#[test]
fn categories_are_of_the_window_only_where_it_is_known() {
    let unknown = conversation("a.json", 1_000, 200, Status::Compacted);
    let mut known = unknown.clone();
    known.plan.as_mut().expect("a plan").context_window = Some(4_000);
    let (unknown, known) = (page(vec![unknown]), page(vec![known]));
    assert!(unknown.contains("What filled the conversation") && unknown.contains("75.0%"), "{unknown}");
    assert!(known.contains("What filled the window") && known.contains("18.8%"), "{known}");
}

/// In any order in which they were done.
#[test]
fn of_many_all_have_rows_and_the_largest_are_drawn() {
    let count = 3 * MOST_DRAWN as u64;
    let all = |reversed: bool| {
        let mut all: Vec<ConversationOutcome> = (0..count)
            .map(|at| conversation(&format!("{at}.json"), 1_000, 900 - at, Status::Compacted))
            .chain([conversation("bad.json", 1_000, 1, Status::Failed)])
            .collect();
        if reversed {
            all.reverse();
        }
        page(all)
    };
    let page = all(false);
    assert_eq!(page, all(true));
    assert_eq!(page.matches("<tr><th scope=\"row\" class=\"name\">").count(), count as usize + 1);
    assert_eq!(page.matches("<p>picture of ").count(), MOST_DRAWN);
    assert!(page.contains("<p>picture of 29.json</p>") && !page.contains("<p>picture of 19.json</p>"));
    assert!(page.contains("<th scope=\"col\">Conversation</th><th scope=\"col\">Status</th>"));
    assert!(page.contains("30 compacted, 1 failed.") && !page.contains("picture of bad.json"));
    let (bad, best) = (page.find("<bdi>bad.json"), page.find("<a href=\"#conversation-1\"><bdi>29.json"));
    assert!(bad.is_some() && bad < best, "failures come first");
}

#[test]
fn a_page_is_no_longer_than_can_be_read() {
    let untouched =
        |at: usize| ConversationOutcome { page: None, ..conversation(&format!("x:{at}"), 9, 9, Status::Unchanged) };
    let page = page((0..3 * MOST_ROWS).map(untouched).collect());
    assert_eq!(page.matches("<tr><th scope=\"row\" class=\"name\">").count(), MOST_ROWS);
    assert!(page.contains("the totals include 10,000 more"), "{}", &page[..20_000]);
    assert!(page.contains("x:4999<") && !page.contains("x:5000<"), "in the order of the lines");
}

#[test]
fn an_empty_run_has_a_page() {
    assert!(
        page(Vec::new()).contains("<h1>Compaction of 0 conversations</h1>\n<p class=\"lead\">Nothing was read.</p>")
    );
}

#[test]
fn only_the_largest_conversations_are_stored() {
    let mut conversations: Vec<ConversationOutcome> =
        (0..20).map(|at| conversation("a", 9, 9 - at % 7, Status::Compacted)).collect();
    let mut drawn: Vec<usize> = (0..20).collect();
    keep_largest(&mut conversations, &mut drawn);
    let kept: Vec<u64> = conversations.iter().filter(|one| one.page.is_some()).map(ConversationOutcome::lost).collect();
    assert_eq!((kept.len(), drawn.len(), kept.iter().min()), (MOST_DRAWN, MOST_DRAWN, Some(&3)));
}

/// The relative luminance of a colour, as WCAG defines it.
fn luminance(colour: &str) -> f64 {
    let part = |at: usize| f64::from(u8::from_str_radix(&colour[at..at + 2], 16).expect("a colour")) / 255.0;
    let linear = |c: f64| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) };
    0.2126 * linear(part(0)) + 0.7152 * linear(part(2)) + 0.0722 * linear(part(4))
}

/// Every colour of text on every background, in light and in dark.
#[test]
fn texts_have_enough_contrast() {
    const LEAST: f64 = 4.5;
    let (_, light) = STYLE.split_once(":root {").expect("colours");
    let (_, dark) = light.split_once(":root {").expect("colours of the dark");
    for colours in [light, dark] {
        let colours = &colours[..colours.find('}').expect("an end")];
        let of = |name: &str| {
            let (_, value) = colours.split_once(&format!("--{name}: #")).expect("a colour");
            luminance(&value[..6])
        };
        for text in ["text", "quiet", "link", "kept", "summarized", "pinned", "cut", "wanted"] {
            for ground in ["ground", "sheet", "track"] {
                let (a, b) = (of(text), of(ground));
                let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
                assert!(contrast >= LEAST, "{text} on {ground}: {contrast:.2}");
            }
        }
    }
}

/// It must neither load anything nor end its element.
#[test]
fn the_style_requests_nothing() {
    assert!(!STYLE.contains("url(") && !STYLE.contains("@import") && !STYLE.contains('<'));
}
