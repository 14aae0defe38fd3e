//! Tests of the rule on media, inside and beside the text of messages.

use super::*;

#[test]
fn pictures_become_notes() {
    let data = "iVBORw0KGgo=".repeat(20);
    let picture =
        format!(r#"{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{}"}}}}"#, "AAAA".repeat(20));
    let source = format!(r#"[{{"role":"user","content":[{{"type":"text","text":"look"}}, {picture}]}},{END}]"#);
    let hash = &crate::hash::sha256(&[0; 60])[..16];
    let note = format!(r#"{{"type":"text","text":"[tcompact: image/png, 60 bytes, sha256 {hash}, removed]"}}"#);
    assert_eq!(pruned(&source, &["media:0"]), source.replace(&picture, &note));
    assert_eq!(pruned(&source, &["media"]), source, "the last two stay");
    let claude = format!(
        r#"[{{"role":"user","content":[{{"type":"image","source":{{"type":"base64","media_type":"image/jpeg","data":"{data}"}}}}]}},{END}]"#
    );
    assert!(pruned(&claude, &["media:0"]).contains(r#"[{"type":"text","text":"[tcompact: image/jpeg, "#));
    let gemini = format!(
        r#"[{{"role":"user","parts":[{{"inlineData":{{"mimeType":"audio/wav","data":"{data}"}}}}]}},{{"role":"model","parts":[{{"text":"a"}}]}}]"#
    );
    assert!(pruned(&gemini, &["media:0"]).contains(r#""parts":[{"text":"[tcompact: audio/wav, "#));
    let address = r#"[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]},{"role":"user","content":"u"}]"#;
    assert!(pruned(address, &["media:0"]).contains("[tcompact: image at https://example.com/a.png removed]"));
}

#[test]
fn a_picture_that_was_attached_becomes_a_file_of_text() {
    let file = r#"{"type":"image","file":{"base64":"iVBORw0KGgo=","type":"image/png","originalSize":8}}"#;
    let attachment = format!(
        r#"{{"parentUuid":"1","sessionId":"s","type":"attachment","attachment":{{"type":"file","filename":"p.png","content":{file},"displayPath":"p.png"}},"uuid":"2"}}"#
    );
    let user = |id: u8, parent: &str| {
        format!(
            r#"{{"parentUuid":{parent},"sessionId":"s","type":"user","message":{{"role":"user","content":"u"}},"uuid":"{id}"}}"#
        )
    };
    let source = [user(1, "null"), attachment, user(3, "\"2\"")].join("\n");
    let out = pruned(&source, &["media:0"]);
    let (before, behind) = source.split_once(file).expect("the picture");
    let text = out.strip_prefix(before).and_then(|out| out.strip_suffix(behind)).expect("nothing else changes");
    let text: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!((&text["type"], &text["file"]["startLine"]), (&Value::from("text"), &Value::from(1)));
    assert!(text["file"]["content"].as_str().expect("a note").starts_with("[tcompact: image/png, 8 bytes, sha256 "));
}

#[test]
fn attachments_become_lines_of_the_text() {
    let (png, gif) = ("iVBORw0KGgo=", "R0lGODlhAQ==");
    let hash = |data: &str| {
        crate::hash::sha256(&crate::transcript::media::base64_data::decode_like_python(data).expect("Base64"))[..16]
            .to_owned()
    };
    let note = |kind: &str, bytes: usize, data: &str| {
        format!("[tcompact: {kind}, {bytes} bytes, sha256 {}, removed]", hash(data))
    };
    let (png_note, gif_note) = (note("image/png", 8, png), note("image/gif", 7, gif));
    let answer = r#"{"role":"assistant","content":"","thinking":"hm","tool_calls":[{"function":{"name":"f","arguments":{}}}]},{"role":"tool","tool_name":"f","content":"r"}"#;
    let ollama = |members: &str| format!(r#"[{{"role":"user",{members}}},{answer},{END}]"#);
    for (before, after) in [
        (r#""content":"look","images":["PNG", "GIF"]"#, r#""content":"look\nPNG_NOTE\nGIF_NOTE","images":[]"#),
        (r#""images": [ "GIF" ] ,"content":"""#, r#""images": [] ,"content":"GIF_NOTE""#),
        (r#""content":null,"images":["GIF"]"#, r#""content":"GIF_NOTE","images":[]"#),
        (r#""images":["GIF"]"#, r#""content":"GIF_NOTE","images":[]"#),
    ] {
        let before = ollama(&before.replace("PNG", png).replace("GIF", gif));
        let after = after.replace("PNG_NOTE", &png_note).replace("GIF_NOTE", &gif_note);
        let out = pruned(&before, &["media:0"]);
        let text = |source: &str| serde_json::from_str::<Value>(source).expect("JSON");
        assert_eq!(text(&out), text(&ollama(&after)), "{out}");
    }
    let three = ollama(&format!(r#""content":"look","images":["{png}", "{gif}", "{gif}"]"#));
    let first = format!(r#""content":"look\n{png_note}","images":["{gif}", "{gif}"]"#);
    assert_eq!(pruned(&three, &["media:2"]), ollama(&first), "the last two stay");
    let of_tool = format!(
        r#"[{{"role":"user","content":"u"}},{},{END}]"#,
        answer.replace(r#""r""#, &format!(r#""r","images":["{png}"]"#))
    );
    assert!(pruned(&of_tool, &["media:0"]).contains(&png_note));
    let excepted = pruned_but(&of_tool, &["media:0"], 1, &["f".to_owned()]).0;
    assert_eq!(excepted, of_tool, "its tool is excepted");

    let url = format!("data:image/gif;base64,{gif}");
    let version_4 = |members: &str| {
        format!(r#"[{{"id":"a","role":"user",{members}}},{{"id":"b","role":"assistant","content":"a"}}]"#)
    };
    let attachment = format!(r#"{{"name":"a.gif","contentType":"image/gif","url":"{url}"}}"#);
    let beside = format!(r#""content":"look","experimental_attachments":[{attachment}]"#);
    let noted = format!(r#""content":"look\n{gif_note}","experimental_attachments":[]"#);
    assert_eq!(pruned(&version_4(&beside), &["media:0"]), version_4(&noted));
    let parts = r#","parts":[{"type":"text","text":"look"}"#;
    let line = format!(r#",{{"type":"text","text":"{gif_note}"}}"#);
    assert_eq!(
        pruned(&version_4(&format!("{beside}{parts}]")), &["media:0"]),
        version_4(&format!(r#""content":"look","experimental_attachments":[]{parts}{line}]"#))
    );

    let event = |text: &str, urls: &str| {
        format!(
            r#"[{{"id":0,"source":"user","action":"message","args":{{"content":"{text}","image_urls":[{urls}]}}}},{{"id":1,"source":"user","action":"message","args":{{"content":"u"}}}}]"#
        )
    };
    assert_eq!(pruned(&event("look", &format!(r#""{url}""#)), &["media:0"]), event(&format!("look\\n{gif_note}"), ""));
}

#[test]
fn attachments_are_counted() {
    let bare = [
        (r#"[{"role":"user","content":"u","images":["AA=="]}]"#, "images"),
        (
            r#"[{"role":"user","content":"u","experimental_attachments":[{"contentType":"image/png","url":"https://example.com/a"}]}]"#,
            "experimental_attachments",
        ),
        (
            r#"[{"id":0,"source":"user","action":"message","args":{"content":"u","image_urls":["data:image/png;base64,AA=="]}}]"#,
            "image_urls",
        ),
    ];
    for (source, member) in bare {
        let tokens = |source: &str| {
            let document = read(source, None, None).expect("a transcript");
            Counter::APPROX.count(&document.transcripts[0].messages[0])
        };
        let without = source.replace(member, "other");
        assert_eq!(tokens(source), tokens(&without) + 1_500, "{source}");
    }
}
