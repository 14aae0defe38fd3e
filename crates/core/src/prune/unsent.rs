//! Media in entries that an agent no longer sends: what it compacted, what was taken back. They count nothing, so rules
//! with an amount do not ask for their age; only the file shrinks.

use crate::prune::rule::{inside_quotes, is_element, note};
use crate::prune::{Rule, media};
use crate::rewrite::media::OffloadedFile;
use crate::transcript::edit::{Edit, is_inside, sort};
use crate::transcript::entries::no_longer_sent;
use crate::transcript::json::{Json, named_strings};
use crate::transcript::media::{Medium, data_of, find, in_text};
use crate::transcript::{Note, Transcript};

/// What is pruned of entries that no model is sent.
#[derive(Debug, Default, Clone)]
pub struct PrunedUnsent {
    /// The edits within entries, in order.
    pub edits: Vec<Edit>,
    /// The number of entries.
    pub entries: usize,
    /// Removed bytes that the archive keeps.
    pub files: Vec<OffloadedFile>,
}

/// Replaces the media in entries that are no longer sent, where a rule replaces media. `gone` says which of the entries are
/// removed whole.
pub fn prune_unsent(transcript: &Transcript<'_>, rules: &[Rule], gone: &[bool], has_archive: bool) -> PrunedUnsent {
    let mut pruned = PrunedUnsent::default();
    if !rules.iter().any(|rule| rule.name() == media::KIND.name) {
        return pruned;
    }
    let notes = transcript.notes.iter().zip(no_longer_sent(&transcript.notes)).zip(gone);
    for ((entry, _), _) in notes.filter(|((_, is_unsent), gone)| *is_unsent && !**gone) {
        let before = pruned.edits.len();
        pruned.add(transcript, entry, has_archive);
        pruned.entries += usize::from(pruned.edits.len() > before);
    }
    sort(&mut pruned.edits);
    pruned
}

impl PrunedUnsent {
    fn add(&mut self, transcript: &Transcript<'_>, entry: &Note<'_>, has_archive: bool) {
        let found = find(entry.json);
        let spans: Vec<_> = found.iter().map(|(json, _)| json.span()).collect();
        for (json, kind) in found {
            let note = self.note(&Medium::of(kind, json), has_archive);
            self.edits.extend(replace(transcript, entry, json, &note));
        }
        for (_, text) in named_strings(entry.json).into_iter().filter(|(_, text)| !is_inside(&spans, &text.span())) {
            let raw = text.raw();
            for data in in_text(raw) {
                let note = self.note(&Medium::of_text(&raw[data.clone()]), has_archive);
                let start = text.span().start;
                self.edits.push(Edit { range: start + data.start..start + data.end, text: inside_quotes(&note) });
            }
        }
    }

    /// Makes the note for a medium, and keeps its bytes for the archive.
    fn note(&mut self, medium: &Medium<'_>, has_archive: bool) -> String {
        let (what, file) = media::removed(medium, has_archive);
        self.files.extend(file);
        note(&what)
    }
}

/// Replaces an object that is a medium: by a block of text where it is one of several, or else the data in it, so that the
/// agent can still read what is around it.
fn replace(transcript: &Transcript<'_>, entry: &Note<'_>, json: Json<'_>, note: &str) -> Option<Edit> {
    let is_element = is_element(transcript.source, json);
    let is_item = json.get("role").is_some()
        || json.get_text("type").is_some_and(|kind| {
            let kind = kind.decode();
            ["_call", "_output", "_result"].iter().any(|end| kind.ends_with(end))
        });
    let block = || transcript.format.write_text_block(json, note);
    if is_element
        && !is_item
        && json.span() != entry.json.span()
        && let Some(block) = block()
    {
        return Some(Edit { range: json.span(), text: block.to_string() });
    }
    let data = data_of(json)?;
    Some(Edit { range: data.span(), text: serde_json::Value::from(note).to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prune::{Choice, chosen};
    use crate::transcript::edit::apply;
    use crate::transcript::framing::read_for_test as read;

    /// Prunes a text in which `PNG` stands for a picture. Returns it with `NOTE` in place of the notes.
    fn pruned(text: &str) -> String {
        let data = format!("iVBORw0KGgo{}", "A".repeat(601));
        let source = text.replace("PNG", &data);
        let document = read(&source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        let gone = vec![false; transcript.notes.len()];
        let edits = prune_unsent(transcript, &chosen(&[Choice::All]), &gone, false).edits;
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
