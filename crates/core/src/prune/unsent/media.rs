//! Media in what is not sent: they become notes, as those do that were sent. They count nothing, so a rule with an amount
//! does not ask for their age.

use crate::prune::media;
use crate::prune::note::note;
use crate::prune::rule::{inside_quotes, is_element};
use crate::transcript::edit::{Edit, is_inside};
use crate::transcript::json::{Json, named_strings};
use crate::transcript::media::{Medium, data_of, find, in_text};

use super::{FormattedText, UnsentChange};

/// What people call media.
const PICTURES: &str = "pictures";

/// Adds the edits that replace the media in an entry that is not a message.
pub(super) fn add_notes(text: FormattedText<'_>, entry: Json<'_>, offloads: bool, change: &mut UnsentChange) {
    let found = find(entry);
    let spans: Vec<_> = found.iter().map(|(json, _)| json.span()).collect();
    for (json, kind) in found {
        let note = removal_note(&Medium::of(kind, json), offloads, change);
        if let Some(edit) = replace(text, entry, json, &note) {
            change.add(PICTURES, edit);
        }
    }
    for (_, string) in named_strings(entry) {
        if is_inside(&spans, &string.span()) {
            continue;
        }
        let raw = string.raw();
        for data in in_text(raw) {
            let note = removal_note(&Medium::of_text(&raw[data.clone()]), offloads, change);
            let start = string.span().start;
            let edit = Edit { range: start + data.start..start + data.end, text: inside_quotes(&note) };
            change.add(PICTURES, edit);
        }
    }
}

/// Adds the edits that empty the media in a member of a message. A note within a message would say that its history was
/// pruned, and what is sent was not.
pub(super) fn empty(value: Json<'_>, change: &mut UnsentChange) {
    let found = find(value);
    let spans: Vec<_> = found.iter().map(|(json, _)| json.span()).collect();
    for (json, _) in found {
        if let Some(data) = data_of(json) {
            change.add(PICTURES, Edit { range: data.span(), text: "\"\"".to_owned() });
        }
    }
    for (_, text) in named_strings(value) {
        if is_inside(&spans, &text.span()) {
            continue;
        }
        for data in in_text(text.raw()) {
            let start = text.span().start;
            change.add(PICTURES, Edit { range: start + data.start..start + data.end, text: String::new() });
        }
    }
}

/// Makes the note for a medium, and keeps its bytes for the archive.
fn removal_note(medium: &Medium<'_>, offloads: bool, change: &mut UnsentChange) -> String {
    let (what, file) = media::removed(medium, offloads);
    change.files.extend(file);
    note(&what)
}

/// Replaces an object that is a medium: by a block of text where it is one of several, or else the data in it, so that the
/// agent can still read what is around it.
fn replace(text: FormattedText<'_>, entry: Json<'_>, json: Json<'_>, note: &str) -> Option<Edit> {
    if is_element(text.text, json)
        && !is_item(json)
        && json.span() != entry.span()
        && let Some(block) = text.format.write_text_block(json, note)
    {
        return Some(Edit { range: json.span(), text: block.to_string() });
    }
    let data = data_of(json)?;
    Some(Edit { range: data.span(), text: serde_json::Value::from(note).to_string() })
}

/// Whether an object is a message, a call or a result, and not a part of one.
fn is_item(json: Json<'_>) -> bool {
    if json.get("role").is_some() {
        return true;
    }
    let Some(kind) = json.get_text("type") else { return false };
    let kind = kind.decode();
    ["_call", "_output", "_result"].iter().any(|end| kind.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prune::{chosen, prune_unsent};
    use crate::transcript::edit::apply;
    use crate::transcript::framing::read_for_test as read;

    /// Prunes a text in which `PNG` stands for a picture. Returns it with `NOTE` in place of the notes.
    fn pruned(text: &str) -> String {
        let data = format!("iVBORw0KGgo{}", "A".repeat(601));
        let source = text.replace("PNG", &data);
        let document = read(&source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        let edits = prune_unsent(transcript, &chosen(&["media".parse().expect("a rule")]), false).edits;
        let (note, _) = media::removed(&Medium::of_text(&data), false);
        apply(&source, &edits).replace(&super::note(&note), "NOTE").replace(&data, "PNG")
    }

    /// An entry that is no longer sent and its media, before and after.
    #[test]
    fn media_no_longer_sent_become_notes() {
        let codex = |kind: &str, payload: &str| {
            let time = r#""timestamp":"2026-01-01T00:00:00Z""#;
            format!(r#"{{{time},"type":"{kind}","payload":{payload}}}"#)
        };
        let item = |content: &str| format!(r#"{{"type":"message","role":"user","content":[{content}]}}"#);
        let picture = r#"{"type":"input_image","image_url":"data:image/png;base64,PNG"}"#;
        let text = r#"{"type":"input_text","text":"NOTE"}"#;
        let output = |block: &str| format!(r#"{{"type":"function_call_output","call_id":"c","output":[{block}]}}"#);
        let made = |data: &str| {
            format!(r#"{{"type":"image_generation_call","id":"i","status":"completed","result":"{data}"}}"#)
        };
        let event =
            |data: &str| codex("event_msg", &format!(r#"{{"type":"user_message","message":"m","images":["{data}"]}}"#));
        let of_codex = |entry: &str| {
            let last = codex("compacted", &format!(r#"{{"message":"m","replacement_history":[{}]}}"#, item(picture)));
            let next = codex("response_item", &item(picture));
            format!("{entry}\n{last}\n{}\n{next}", event("data:image/png;base64,PNG"))
        };
        let replaced = |items: &[String]| {
            codex("compacted", &format!(r#"{{"message":"m","replacement_history":[{}]}}"#, items.join(",")))
        };
        let claude = |block: &str, file: &str| {
            let image = format!(
                r#"{{"type":"user","uuid":"1","parentUuid":null,"sessionId":"s","message":{{"role":"user","content":[{block}]}},"toolUseResult":{{"type":"image","file":{{"base64":"{file}","type":"image/png"}}}}}}"#
            );
            let boundary = r#"{"type":"system","subtype":"compact_boundary","uuid":"2","parentUuid":null,"logicalParentUuid":"1","sessionId":"s"}"#;
            let last = r#"{"type":"user","uuid":"3","parentUuid":"2","sessionId":"s","message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"PNG"}}]}}"#;
            format!("{image}\n{boundary}\n{last}")
        };
        let block = r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"PNG"}}"#;
        let roo = |content: &str| {
            format!(
                r#"[{{"role":"user","content":[{content}],"condenseParent":"k"}},{{"role":"user","content":[{{"type":"text","text":"s"}},{block}],"isSummary":true,"condenseId":"k"}}]"#
            )
        };
        for (before, after) in [
            (of_codex(&codex("response_item", &item(picture))), of_codex(&codex("response_item", &item(text)))),
            (of_codex(&replaced(&[item(picture), output(picture)])), of_codex(&replaced(&[item(text), output(text)]))),
            (of_codex(&replaced(&[made("PNG"), item(text)])), of_codex(&replaced(&[made("NOTE"), item(text)]))),
            (
                of_codex(&[codex("response_item", &item(text)), event("data:image/png;base64,PNG")].join("\n")),
                of_codex(&[codex("response_item", &item(text)), event("NOTE")].join("\n")),
            ),
            (claude(block, "PNG"), claude(r#"{"type":"text","text":"NOTE"}"#, "NOTE")),
            (roo(block), roo(r#"{"type":"text","text":"NOTE"}"#)),
            (
                roo(r#"{"type":"text","text":"see data:image/png;base64,PNG) here"}"#),
                roo(r#"{"type":"text","text":"see NOTE) here"}"#),
            ),
        ] {
            assert_eq!(pruned(&before), after);
            assert_eq!(pruned(&after), after, "again");
        }
    }
}
