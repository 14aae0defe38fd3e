//! Splits a message of the model into statements.
//!
//! A statement is a whole sentence, together with the one before if it refers back to that, or an item of a list. Short
//! items state little alone, so they stand in one statement with what announces them: `It is safe because: nothing
//! writes; all reads come later`.

use crate::summary::record::cues;
use crate::summary::record::segmentation::{GAP, Paragraph, clip_middle, sentences, split_paragraphs, words_of};

/// Most characters of a statement.
pub(super) const LONGEST: usize = 320;

/// The first statements under the heading of a conclusion that belong to it.
const MOST_CONCLUSIONS: usize = 3;

/// A statement as its message has it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MessageStatement {
    pub(super) text: String,
    /// Whether it is one of several items, which may be options.
    pub(super) is_option: bool,
    /// Whether it concludes something, by its opening or its heading.
    pub(super) concludes: bool,
}

/// Splits a message into statements.
pub(super) fn statements(text: &str) -> Vec<MessageStatement> {
    let all = split_paragraphs(text);
    let is_option = all.iter().filter(|paragraph| paragraph.is_item).count() > 1;
    let mut splitter = Splitter { is_option, ..Splitter::default() };
    for (at, paragraph) in all.iter().enumerate() {
        splitter.is_last = at + 1 == all.len();
        splitter.add(paragraph);
    }
    splitter.finish_list();
    splitter.found
}

/// The statements so far, and what the next paragraph may need.
#[derive(Default)]
struct Splitter<'p> {
    found: Vec<MessageStatement>,
    is_option: bool,
    /// Whether this is the last paragraph.
    is_last: bool,
    /// The statements that the heading of a conclusion still promises.
    conclusions_left: usize,
    /// The heading of the paragraphs that follow, if none has it yet.
    heading: Option<Heading>,
    /// The sentence that announces what follows, which states nothing alone.
    announcement: Option<String>,
    /// The short items that are not a statement yet.
    list: Option<ShortItems>,
    /// The announcement or heading of the list, for items that did not fit beside it.
    lead: Option<String>,
    /// The paragraph before, if the next can refer to it.
    before: Option<&'p Paragraph>,
}

/// A heading, or an item with text below it.
struct Heading {
    text: String,
    /// Whether it says more than what kind of text follows.
    says_something: bool,
}

/// Short items of a list, joined.
struct ShortItems {
    text: String,
    /// The indentation of the last of them.
    indent: usize,
    /// Whether there is only one.
    is_lone: bool,
}

impl<'p> Splitter<'p> {
    fn add(&mut self, paragraph: &'p Paragraph) {
        if paragraph.is_heading || paragraph.is_title {
            self.finish_list();
            self.lead = None;
            self.conclusions_left = if cues::CONCLUSION.is_in(&paragraph.text) { MOST_CONCLUSIONS } else { 0 };
            let text = paragraph.text.clone();
            let says_something = words_of(&text).nth(3).is_some();
            (self.heading, self.announcement, self.before) = (Some(Heading { text, says_something }), None, None);
            return;
        }
        if paragraph.is_item && is_short_item(&paragraph.text) {
            self.add_short_item(paragraph);
            self.before = None;
        } else {
            // A lone item is the heading of what is written below it.
            let heads = |list: &mut ShortItems| list.is_lone && list.indent < paragraph.indent;
            match self.list.take_if(heads) {
                Some(item) => self.heading = Some(Heading { text: item.text, says_something: true }),
                None => self.finish_list(),
            }
            self.add_sentences(paragraph);
            self.before = Some(paragraph);
        }
    }

    fn add_short_item(&mut self, Paragraph { text, indent, .. }: &Paragraph) {
        /// Most characters of items in one statement.
        const LONGEST_LIST: usize = 240;
        let fits = |list: &&mut ShortItems| {
            *indent >= list.indent && list.text.chars().count() + text.chars().count() <= LONGEST_LIST
        };
        if let Some(list) = self.list.as_mut().filter(fits) {
            list.text.push_str(if *indent > list.indent { ": " } else { "; " });
            list.text.push_str(text);
            (list.indent, list.is_lone) = (*indent, false);
            return;
        }
        let goes_on = self.list.as_ref().is_some_and(|list| *indent >= list.indent);
        self.finish_list();
        let text = self.with_lead(text, goes_on);
        self.list = Some(ShortItems { text, indent: *indent, is_lone: true });
    }

    /// Returns an item after what announces its list. A short announcement is repeated where the items before it are
    /// another statement, since it may be what the item means: `Rejected:`. A heading is repeated only if a list
    /// `goes_on` that is too long for one statement.
    fn with_lead(&mut self, item: &str, goes_on: bool) -> String {
        const SHORT_LEAD: usize = 48;
        let heading = self.heading.take().map(|heading| heading.text);
        if let Some(lead) = self.announcement.take().or(heading) {
            let joined = join(&lead, item);
            self.lead = Some(lead).filter(|lead| lead.chars().count() <= SHORT_LEAD);
            return joined;
        }
        match self.lead.as_ref().filter(|lead| goes_on || lead.ends_with([':', '：'])) {
            Some(lead) => join(lead, &format!("{GAP} {item}")),
            None => item.to_owned(),
        }
    }

    /// Ends the list, which becomes a statement.
    fn finish_list(&mut self) {
        if let Some(ShortItems { text, .. }) = self.list.take() {
            self.push(text, self.is_option);
        }
    }

    fn push(&mut self, text: String, is_option: bool) {
        let concludes = self.conclusions_left > 0 || cues::CONCLUDES.is_in(&text);
        self.conclusions_left = self.conclusions_left.saturating_sub(1);
        self.found.push(MessageStatement { text, is_option, concludes });
    }

    fn add_sentences(&mut self, paragraph: &Paragraph) {
        /// Most characters of an announcement that states nothing alone.
        const LONGEST_LEAD: usize = 160;
        let mut texts = self.sentences_of(paragraph);
        if paragraph.is_item {
            if let Some(first) = texts.first_mut() {
                *first = self.with_lead(first, false);
            }
        } else {
            self.lead = None;
        }
        let is_lead = |text: &String| is_announcement(text) && text.chars().count() <= LONGEST_LEAD;
        // Code may stand between an announcement and what follows.
        self.announcement = texts.pop_if(|text| is_lead(text)).filter(|text| !text.ends_with(GAP));
        // An announcement of something else than a list states nothing.
        texts.retain(|text| !is_lead(text));
        if self.is_last {
            join_question_context(&mut texts);
        }
        if let Some(first) = texts.first_mut()
            && let Some(heading) = self.heading.take().filter(|heading| heading.says_something)
        {
            let joined = join(&heading.text, first);
            if joined.chars().count() <= LONGEST {
                *first = joined;
            }
        }
        let is_option = self.is_option && paragraph.is_item;
        texts.into_iter().for_each(|text| self.push(text, is_option));
    }

    /// Returns the sentences of a paragraph, each with those that refer to it.
    fn sentences_of(&self, paragraph: &Paragraph) -> Vec<String> {
        if paragraph.is_item && paragraph.text.chars().count() <= LONGEST {
            return vec![paragraph.text.clone()];
        }
        let mut found: Vec<String> = Vec::new();
        for sentence in sentences(&paragraph.text) {
            let points_back = cues::REFERS.is_in(sentence) || cues::LEANS.is_in(sentence);
            let may_join =
                |last: &&mut String| points_back && last.chars().count() + sentence.chars().count() < LONGEST;
            if let Some(last) = found.last_mut().filter(may_join) {
                if !last.ends_with(|c: char| c >= '\u{2e80}') {
                    last.push(' ');
                }
                last.push_str(sentence);
                continue;
            }
            let may_lead = |before: &&Paragraph| {
                points_back && before.text.chars().count() < LONGEST / 2 && !is_announcement(&before.text)
            };
            let context = self.before.filter(|before| found.is_empty() && may_lead(before));
            let text = context.map_or_else(|| sentence.to_owned(), |before| format!("{} {sentence}", before.text));
            found.push(clip_middle(&text, LONGEST));
        }
        found
    }
}

/// Joins an announcement or a heading to what follows it.
fn join(lead: &str, text: &str) -> String {
    /// Openings that a line of a summary has for another reason, if they are capitalized.
    const KNOWN: [&str; 8] = ["Changed", "Created", "Deleted", "Renamed", "Restored", "Read", "Done", "Gone"];
    let is_known = KNOWN.contains(&lead.trim_end_matches([':', ' ']));
    let lead = if is_known { &lead.to_lowercase() } else { lead };
    let between = if lead.ends_with([':', '?', '!', GAP]) {
        " "
    } else if lead.ends_with(['：', '？', '！']) {
        ""
    } else {
        ": "
    };
    format!("{lead}{between}{text}")
}

/// Whether an item of a list is too short to be a statement. What is still to be done stays on its own.
fn is_short_item(text: &str) -> bool {
    const SHORT: usize = 120;
    const ENDS: [char; 9] = ['.', '!', '?', '。', '！', '？', ':', '：', '；'];
    let text = text.trim_end_matches([GAP, ' ']);
    text.chars().count() <= SHORT && !text.ends_with(ENDS) && !cues::AHEAD.is_in(text) && !cues::UNSOLVED.is_in(text)
}

fn is_announcement(text: &str) -> bool {
    text.trim_end_matches([GAP, ' ']).ends_with([':', '：', ',', '，'])
}

/// Joins the sentences before a final question to it, while they are short: `I am done with this. Shall I …?`
fn join_question_context(texts: &mut Vec<String>) {
    while let [.., before, asked] = texts.as_slice()
        && asked.ends_with(['?', '？'])
        && before.chars().count() + asked.chars().count() < LONGEST * 2 / 3
        && !cues::AHEAD.is_in(before)
    {
        let between = if before.ends_with(|c: char| c >= '\u{2e80}') { "" } else { " " };
        let joined = format!("{before}{between}{asked}");
        texts.truncate(texts.len() - 2);
        texts.push(joined);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(message: &str) -> Vec<String> {
        statements(message).into_iter().map(|statement| statement.text).collect()
    }

    #[test]
    fn short_items_stand_with_what_announces_them() {
        let message = "You could remove the lock because:\n- All writes happen before `main()`\n\
            - All reads happen after it\n\nBut I would keep it.";
        let expected = [
            "You could remove the lock because: All writes happen before `main()`; All reads happen after it",
            "But I would keep it.",
        ];
        assert_eq!(texts(message), expected);
    }

    #[test]
    fn nested_items_stand_with_their_item() {
        let message = "### Changes made\n\n1. **Modern sorting** in `registry.go`\n   - `sort.Slice` is `slices.Sort`\n\
            \x20  - Fixed a warning\n2. A test";
        let expected = [
            "Changes made: 1. Modern sorting in `registry.go`: `sort.Slice` is `slices.Sort`; Fixed a warning",
            "2. A test",
        ];
        assert_eq!(texts(message), expected);
    }

    #[test]
    fn an_item_heads_what_is_written_below_it() {
        let message = "1. **Speed of `find()`** (registry.go:388)\n   ```go\n   for {\n   ```\n   \n   \
            **Problem**: It makes an instance of each.\n\n2. **Names**\n   Fine as they are.";
        let expected = [
            "1. Speed of `find()` (registry.go:388) … Problem: It makes an instance of each.",
            "2. Names: Fine as they are.",
        ];
        assert_eq!(texts(message), expected);
    }

    #[test]
    fn a_heading_that_says_something_stands_with_its_first_sentence() {
        let message = "## Summary\n\nIt works.\n\n## Why is the lock still there?\n\nIt costs nothing. It is clear.";
        assert_eq!(texts(message), ["It works.", "Why is the lock still there? It costs nothing. It is clear."]);
    }

    #[test]
    fn whole_sentences_and_open_items_are_statements_of_their_own() {
        let message = "State:\n- The parser is done.\n- The tests are not done\n- Docs\n- Examples";
        let expected = ["State: The parser is done.", "The tests are not done", "State: … Docs; Examples"];
        assert_eq!(texts(message), expected.map(|text| text.replace("The tests", "State: … The tests")));
    }

    #[test]
    fn items_of_any_length_keep_what_they_mean() {
        let message = "Rejected:\n- A lock in Redis. It needs a new server.\n- Polling. It is slow.\n\nDone:\n- Docs";
        let expected =
            ["Rejected: A lock in Redis. It needs a new server.", "Rejected: … Polling. It is slow.", "done: Docs"];
        assert_eq!(texts(message), expected);
    }
}
