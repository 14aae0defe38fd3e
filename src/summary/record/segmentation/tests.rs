//! Tests of splitting texts into paragraphs and sentences.

use super::*;

fn texts(text: &str) -> Vec<String> {
    paragraphs(text).into_iter().map(|paragraph| paragraph.text).collect()
}

#[test]
fn sentences_end_where_they_end() {
    assert_eq!(
        sentences("Version 1.2 is out. Yes! Use it now! 他走了。他回来了"),
        ["Version 1.2 is out.", "Yes!", "Use it now!", "他走了。", "他回来了"]
    );
    assert!(sentences("... - !").is_empty());
    let whole = [
        "We meet Dr. Kim on Nov. 20th at 5 p.m. in room no. 7 (e.g. for lunch).",
        "It rained in Nov.",
        "Prices incl. VAT for N.N. in the list, each of them.",
        "It takes 3 ms.",
        "Kim is away until May 5.",
        "Never edit it.",
    ];
    assert_eq!(sentences(&whole.join(" ")), whole);
    assert_eq!(sentences("The answer is no. Ask them again."), ["The answer is no.", "Ask them again."]);
}

#[test]
fn wrapped_lines_are_one_paragraph_and_items_are_their_own() {
    assert_eq!(
        texts(
            "The importer should take its rows from the stream\nand never hold them all.\n\n- keep the API\n- drop 3.8\n1. Add hints\nNo mocks."
        ),
        [
            "The importer should take its rows from the stream and never hold them all.",
            "keep the API",
            "drop 3.8",
            "1. Add hints",
            "No mocks."
        ]
    );
    assert_eq!(texts("#foo stays.\n# Title\n> 他走了\n回来了"), ["#foo stays.", "Title", "他走了", "回来了"]);
    assert_eq!(texts("What is left:\nthe docs"), ["What is left: the docs"]);
}

#[test]
fn what_was_pasted_is_marked() {
    let log = "2026-03-01 INFO cart.load id=4711 in 12ms\nWARN cart queue length 4711\nGET /cart/1 200 3ms trace=ab12";
    assert_eq!(texts(&format!("No new dependencies.\n\n{log}")), ["No new dependencies. …"]);
    assert_eq!(texts(&format!("It fails:\n{log}\nDEBUG x: y 1")), ["It fails: …"]);
    assert_eq!(
        texts("Use this:\n```\necho DONE\n```\nOr else:\n```\na\nb\n```"),
        ["Use this: `echo DONE`", "Or else: …"]
    );
    assert_eq!(
        texts("Port 8080.\nTimeout: 30 s\nRetries: 3\nBackoff: 2"),
        ["Port 8080.", "Timeout: 30 s", "Retries: 3", "Backoff: 2"]
    );
}

#[test]
fn tags_frame_sentences_and_are_none() {
    assert_eq!(
        texts("<task>Fix the parser.</task>\n<uploaded_files>\n<!-- a hint\n1 < 2 holds here\n<b>Bold</b> words here"),
        ["Fix the parser.", "1 < 2 holds here", "Bold words here"]
    );
}

#[test]
fn a_version_at_the_start_of_a_line_is_no_number_of_an_item() {
    assert_eq!(texts("The parser of the recipes is pinned at\n2.4.177.").len(), 1);
    assert_eq!(texts("The steps of the recipes are as follows\n2. Bake.").len(), 2);
}

#[test]
fn comments_of_several_lines_are_hidden() {
    let text =
        "It fails.\n<!-- Please search first to see if a similar\nissue is open.\n\n-->\nThen it hangs.\nBye to all.";
    assert_eq!(texts(text), ["It fails.", "Then it hangs.", "Bye to all."]);
    let text = "It fails.\n<!-- start of head\nNever deploy on a Friday.\nFrom cart --> checkout it hangs.";
    assert!(texts(text).iter().any(|text| text.contains("Never deploy on a Friday.")), "{:?}", texts(text));
    assert_eq!(texts("Keep this <!-- note\nand this --> line.").len(), 1);
}

#[test]
fn long_texts_are_clipped_between_words() {
    let long = clip(&"word ".repeat(200));
    assert!(long.ends_with("word…") && long.chars().count() <= LONGEST_SENTENCE + 1);
    let ends = clip_middle(&format!("first {}last", "word ".repeat(200)), 60);
    assert!(ends.starts_with("first word") && ends.ends_with("word last") && ends.contains(" … "), "{ends}");
    assert!(ends.chars().count() <= 63, "{ends}");
    assert_eq!(clip_middle("short", 60), "short");
}

#[test]
fn tags_go_and_brackets_stay() {
    for (line, kept) in [
        ("<p>Read it.</p>", "Read it."),
        ("<!-- no --> Read it.", "Read it."),
        ("<<<api>>> the call, <<<code>>>: none >", "<<<api>>> the call, <<<code>>>: none >"),
        ("a < b and c >", "a < b and c >"),
        ("Never edit files in <build>", "Never edit files in <build>"),
        ("One line<br>", "One line"),
        ("<output>", ""),
    ] {
        assert_eq!(strip_tags(line), kept, "{line}");
    }
}

#[test]
fn a_sentence_goes_on_after_a_line_of_code() {
    let text =
        "Change line 602 from:\n```python\ndiff(index)\n```\nto:\n```python\ndiff(index.view())\n```\nThen run it.";
    assert_eq!(texts(text), ["Change line 602 from: `diff(index)` to: `diff(index.view())`", "Then run it."]);
}
