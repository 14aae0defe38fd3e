use base64::Engine;

use super::*;
use crate::source::Source;

/// A PNG of 800 by 600 pixels, as far as its header goes, and so many bytes.
pub(super) fn png(bytes: usize) -> String {
    let mut data = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x03\x20\0\0\x02\x58\x08\x06\0\0\0".to_vec();
    data.extend((data.len()..bytes).map(|at| (at * 31 % 251) as u8));
    base64::engine::general_purpose::STANDARD.encode(data)
}

fn found(value: &str) -> Vec<(String, MediaKind)> {
    let source = Source::of(value).expect("JSON");
    find(source.first().expect("a value")).into_iter().map(|(json, kind)| (json.raw().to_owned(), kind)).collect()
}

#[test]
fn media_are_found_by_what_they_hold() {
    use MediaKind::*;
    let (long, short) = (png(3_000), png(60));
    for (value, whole, kind) in [
        (format!(r#"{{"type":"image","data":"{short}","mimeType":"image/png"}}"#), true, Picture),
        (
            format!(r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{short}"}}}}"#),
            true,
            Picture,
        ),
        (format!(r#"{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{short}"}}}}"#), true, Picture),
        (
            format!(
                r#"{{"type":"resource","resource":{{"uri":"a://b.pdf","mimeType":"application/pdf","blob":"{short}"}}}}"#
            ),
            true,
            Document,
        ),
        (format!(r#"{{"inlineData":{{"mimeType":"audio/wav","data":"{short}"}}}}"#), true, Sound),
        (format!(r#"{{"data":"{short}","media_type":"video/mp4","kind":"binary","identifier":"x"}}"#), true, Video),
        (format!(r#"{{"type":"computer_screenshot","image_url":"data:image/png;base64,{long}"}}"#), true, Picture),
        (format!(r#"{{"type":"image","result":"{}"}}"#, long.replace('/', "\\/")), true, Picture),
        (
            format!(r#"{{"text":"{}","thumb":{{"kind":"binary","data":"{long}"}}}}"#, "a word ".repeat(90)),
            false,
            Picture,
        ),
    ] {
        let found = found(&format!("[1,{value},{{\"text\":\"no\"}}]"));
        assert_eq!(found.len(), 1, "{value}: {found:?}");
        assert_eq!((found[0].0 == value, found[0].1), (whole, kind), "{value}");
    }
}

/// What stands beside the data stays.
#[test]
fn words_beside_data_are_no_part_of_it() {
    let data = png(500);
    for words in [r#""caption":"never build a flat roof""#, r#""ocr":"Invoice 4711","rows":[1,2]"#] {
        let value = format!(r#"{{"mimeType":"image/png","data":"{data}",{words}}}"#);
        assert_eq!(found(&value), [(format!("\"{data}\""), MediaKind::Picture)]);
    }
}

#[test]
fn text_is_not_a_medium() {
    for value in [
        format!(r#"{{"format":"markdown","text":"{}"}}"#, "some words ".repeat(90)),
        format!(r#"{{"sha":"{}"}}"#, "0123456789abcdef".repeat(60)),
        format!(r#"{{"word":"{}"}}"#, "x".repeat(4_000)),
        format!(r#"{{"mimeType":"text/plain","text":"{}"}}"#, "def f(x): return x\\n".repeat(60)),
        format!(r#"{{"mimeType":"application/octet-stream","content":"{}"}}"#, "0123456789abcdef".repeat(40)),
        format!(r#"{{"mimeType":"text/plain","content":"{}"}}"#, "AWordOfSixteenCh".repeat(40)),
        format!(r#"{{"path":"a.gz","mimeType":"application/gzip","sha512":"{}"}}"#, "0123456789abcdef".repeat(8)),
        format!(r#"[{{"filename":"a.pdf","mimeType":"application/pdf","attachmentId":"{}"}}]"#, "ANGjdJ8".repeat(40)),
        format!(r#"{{"mimeType":"image/png","nextPageToken":"{}","note":"ask again"}}"#, "CiAKGj".repeat(40)),
        format!(r#"{{"screenshot":"{}"}}"#, png(3_000)),
        format!(r#""{}""#, png(3_000)),
        format!(r#"{{"screenshot":"data:image/png;base64,{}"}}"#, png(3_000)),
        format!(r#"{{"image_url":"https://a.example/{}.png"}}"#, "x".repeat(90)),
    ] {
        assert_eq!(found(&value), [], "{value}");
    }
}

#[test]
fn a_picture_has_the_size_of_its_header_and_a_lie_has_none() {
    let size = |value: &str| {
        let source = Source::of(value).expect("JSON");
        Medium::of(MediaKind::Picture, source.first().expect("a value")).size()
    };
    assert_eq!(size(&format!(r#"{{"data":"{}","mimeType":"image/png"}}"#, png(500))), Some((800, 600)));
    assert_eq!(size(&format!(r#""data:image/png;base64,{}""#, png(500))), Some((800, 600)));
    let cut: String = png(500).chars().take(20).collect();
    for lie in [cut.as_str(), "", "?", "iVBORw0KGgo", &"A".repeat(5_000), &"é".repeat(90)] {
        assert_eq!(size(&format!(r#"{{"data":"{lie}","mimeType":"image/png"}}"#)), None, "{lie}");
    }
}

/// Each text has data in quotation marks that are taken out.
#[test]
fn data_is_found_in_texts_as_it_stands_there() {
    let long = png(3_000);
    let wrapped = |end: &str| {
        let lines: Vec<&str> =
            long.as_bytes().chunks(76).map(|line| std::str::from_utf8(line).expect("ASCII")).collect();
        lines.join(end)
    };
    for text in [
        format!("see «data:image/png;base64,{}» here", png(60)),
        format!("![x](«data:image/png;base64,{long}»)\nand ![y](«data:image/webp;base64,{}»)", "A".repeat(64)),
        format!("«{long}»"),
        format!("base64 a.png\n«{long}»\nNext words"),
        format!("base64 a.png\\n«{long}»\\nNext words"),
        format!("$ base64 a.png\n«{}»\nNext words", wrapped("\n")),
        format!("$ base64 a.png\r\n«{}»\r\n$", wrapped("\r\n")),
        format!("{{\\\"a\\\": \\\"«{}»\\\"}}", wrapped("\\n")),
        format!("\"«{}»\"", long.replace('/', "\\/")),
        format!("{}«{long}» and «{long}»", "é word ".repeat(99)),
        format!("PNG_B64=«{long}»"),
        format!("$ show --data=«{long}»"),
    ] {
        let plain: String = text.split(['«', '»']).collect();
        let mut expected = Vec::new();
        let (mut at, mut is_data) = (0, false);
        for part in text.split(['«', '»']) {
            if is_data && part.len() > 3 {
                expected.push(at..at + part.len());
            }
            (at, is_data) = (at + part.len(), !is_data);
        }
        assert_eq!(in_text(&plain), expected, "{text}");
        let shorter = without_data(&plain);
        assert!(shorter.len() < plain.len() && shorter.contains("[image/"), "{shorter}");
        assert_eq!(without_data(&shorter), shorter);
    }
}

#[test]
fn text_that_looks_like_data_stays() {
    for text in [
        "0123456789abcdef".repeat(600),
        "deadbeef\n".repeat(400),
        format!("{}\n", "x".repeat(70)).repeat(90),
        "a/path/to/somewhere/".repeat(80),
        "-".repeat(4_000),
        format!("Qk0{}", "A".repeat(900)),
        format!("/9j/ACGT{}", "ACGT".repeat(300)),
        base64::engine::general_purpose::STANDARD.encode("nothing that has a header, ".repeat(90)),
        png(60),
        "data:image/png;base64,AAAA".to_owned(),
        ";base64,".repeat(100),
        "data:text words;base64,".to_owned() + &"A".repeat(99),
    ] {
        assert!(in_text(&text).is_empty(), "{text}");
    }
}
