//! Valid JSON, the values found in it, and the errors of invalid text.

use proptest::prelude::*;
use serde::de::IgnoredAny;

use crate::json::{Json, Token};
use crate::source::scan::LARGE;
use crate::source::*;

fn raw(text: &str) -> Vec<String> {
    Source::of(text).expect("valid").values().map(|value| value.raw().to_owned()).collect()
}

fn error(text: &str) -> SyntaxError {
    Source::of(text).expect_err("not JSON")
}

#[test]
fn a_control_character_in_a_string_is_an_error_wherever_it_stands() {
    for byte in 0..b' ' {
        for before in [0, 1, 7, 31, 64, 65, 200] {
            let text = format!("\"{}{}é\\n\"", "x".repeat(before), char::from(byte));
            let column = if byte == b'\n' { 1 } else { before + 2 };
            assert_eq!(error(&text).column, column, "{text:?}");
            assert!(Source::of_arguments(&text).is_some(), "{text:?}");
        }
    }
}

#[test]
fn several_values_may_share_a_line() {
    assert_eq!(raw("{\"a\":1}{\"a\":2}\n[3]\n"), ["{\"a\":1}", "{\"a\":2}", "[3]"]);
    assert_eq!(raw("1\"a\"[2]3 true[]"), ["1", "\"a\"", "[2]", "3", "true", "[]"]);
}

#[test]
fn an_error_names_line_and_column() {
    let error = error("{\"a\": 1}\n{\"a\" 2}");
    assert_eq!((error.line, error.column), (2, 6));
    assert_eq!(error.what, "expected `:`");
}

#[test]
fn lines_that_are_not_one_value_are_broken() {
    let broken = |text: &str| -> (Vec<String>, Vec<String>) {
        let source = Source::of_file(text).expect("lines");
        assert_eq!(source.text.len(), text.len());
        let values = source.values().map(|value| value.raw().to_owned()).collect();
        (values, source.broken.iter().map(|line| text[line.clone()].to_owned()).collect())
    };
    for (text, values, others) in [
        ("[1]\n[2", &["[1]"][..], &["[2"][..]),
        ("\u{feff}[1]\r\n {\"a\": \r\n\r\n[3]\r\n", &["[1]", "[3]"], &["{\"a\":"]),
        ("\0\0\n{}\n{}\n", &["{}", "{}"], &["\0\0"]),
        ("1\n[\"ä{\"a\":1}\n,:]}\n[2][3]\n4", &["1", "4"], &["[\"ä{\"a\":1}", ",:]}", "[2][3]"]),
        ("[[1]]\n[[[2\n[[3]]", &["[[1]]", "[[3]]"], &["[[[2"]),
    ] {
        let (found_values, found_others) = broken(text);
        assert_eq!(found_values, values, "{text:?}");
        assert_eq!(found_others, others, "{text:?}");
    }
    // The whole objects of a broken line are known, as its agent may recover them.
    for (text, values, others) in [
        ("{\"a\":1}{\"a\":2}\n[\n", &["{\"a\":1}", "{\"a\":2}"][..], &["["][..]),
        (
            "{}\n {\"a\":\"}\\\"{\"} {\"b\":[1]}, {\"c\"\n{}",
            &["{}", "{\"a\":\"}\\\"{\"}", "{\"b\":[1]}", "{}"],
            &[", {\"c\""],
        ),
        ("{}\n}{\"a\":{}} {\"b\" 1}{\"c\":2} ä\n", &["{}", "{\"a\":{}}", "{\"c\":2}"], &["}", "{\"b\" 1}", "ä"]),
        ("{}\n{\"a\":\"{\"b\":1}\n", &["{}"], &["{\"a\":\"{\"b\":1}"]),
    ] {
        let (found_values, found_others) = broken(text);
        assert_eq!(found_values, values, "{text:?}");
        assert_eq!(found_others, others, "{text:?}");
        let regular = Source::of_file(text).expect("lines");
        assert!(regular.regular_values().all(|value| text.lines().any(|line| line.trim() == value.raw())), "{text:?}");
    }
    // A value that is spread over lines is not lines.
    for none in ["\n[2", "\u{feff}\n[2", "[1,\n2", "[1\n", "{\"a\": [\n{}\n", "[\n{},\n{}\n}"] {
        assert!(!Source::of_file(none).expect_err(none).what.is_empty());
    }
}

#[test]
fn errors_are_in_plain_words() {
    let unclosed = |text: &str| {
        let error = error(text);
        (error.is_unclosed, error.what, error.line, error.column)
    };
    for (text, what, line, column) in [
        ("{\n \"a\": \"b", "the string", 2, 7),
        ("{\"a\": \"b\n\"}", "the string", 1, 7),
        ("[\"\\", "the string", 1, 2),
        ("[\"\\u00", "the string", 1, 2),
        ("[1,\n{\"a\"", "the object", 2, 1),
        ("[1,\n", "the list", 1, 1),
        ("[[1], tru", "the list", 1, 1),
    ] {
        assert_eq!(unclosed(text), (true, what.to_owned(), line, column), "{text:?}");
    }
    assert_eq!(unclosed("[1]\ntru"), (false, "the text ends inside a value".to_owned(), 2, 3));
    for text in ["[\"a\0\"]", "[\0]", "\0"] {
        assert_eq!(error(text).what, "a NUL byte", "{text:?}");
    }
}

#[test]
fn lines_with_several_values_are_known() {
    let shared = |text: &str| Source::of(text).expect("valid").irregular_lines;
    assert_eq!(shared("{}\n{} {}[]\n[]\n1 \"a\""), [3..10, 14..19]);
    assert!(shared("{}\n{\n}{}\n{}{\n}").is_empty(), "a value on several lines");
}

#[test]
fn values_nest_so_deep_and_no_deeper() {
    let deep = |levels: usize, open: &str, close: &str| format!("{}1{}", open.repeat(levels), close.repeat(levels));
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        assert!(Source::of(&deep(MAX_DEPTH, open, close)).is_ok());
        for levels in [MAX_DEPTH + 1, 12_000, 200_000] {
            let text = deep(levels, open, close);
            let error = error(&text);
            assert_eq!((error.what.as_str(), error.line), (TOO_DEEP, 1));
            assert_eq!(error.column, open.len() * MAX_DEPTH + 1);
            assert!(Source::of_arguments(&text).is_none());
        }
    }
    assert!(TOO_DEEP.contains(&format!(" {MAX_DEPTH} ")), "{TOO_DEEP}");
    // Whatever else is broken.
    let lines = format!("{{}}\n{{\n{}\n", deep(MAX_DEPTH + 1, "{\"a\":", "}"));
    assert_eq!(Source::of_file(&lines).map_err(|error| (error.what, error.line)).err(), Some((TOO_DEEP.to_owned(), 3)));
    // Side by side they are not deep.
    assert!(Source::of(&"[[1]]\n".repeat(MAX_DEPTH)).is_ok());
}

#[test]
fn merge_conflicts_are_called_by_their_name() {
    for (source, line) in [("<<<<<<< HEAD\n[]\n", 1), ("[1,\n=======\n2]", 2)] {
        let error = error(source);
        assert_eq!((error.line, error.column), (line, 1));
        assert!(error.what.contains("merge conflict"), "{}", error.what);
    }
}

#[test]
fn nan_and_infinity_of_python_are_read() {
    let source = Source::of(r#"[NaN, -Infinity, {"NaN": "Infinity \" NaN"}]"#).expect("as Python reads it");
    let items: Vec<&str> = source.first().expect("one").items().map(|item| item.raw()).collect();
    assert_eq!(items, ["NaN", "-Infinity", r#"{"NaN": "Infinity \" NaN"}"#]);
    for none in ["[nan]", "[1NaN]", "[-NaN]", "[1Infinity]", "[NaN1]", "[Infinity.5]", "[NaNe5]"] {
        error(none);
    }
    assert_eq!(error("[NaN]\n[1,]").line, 2);
    assert!(error("[\"\t\"]").what.starts_with("a control character"));
    assert!(Source::of_arguments("{\"a\": \"\t\n\"}").is_some());
    assert!(Source::of_arguments("{} {}").is_none() && Source::of_arguments(" ").is_none());
}

/// Generates text from pieces of JSON, which is often valid, and often almost.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\"a\"",
        "\"a\":",
        "\\",
        "\\\"",
        "\\u00",
        "\\ud83d",
        "0",
        "-",
        "1.5e3",
        "e",
        ".",
        " ",
        "\n",
        "\t",
        "true",
        "tru",
        "null",
        "\u{1}",
        "é",
        "😀",
        "01",
        "+",
        "\u{7f}",
        "\u{20ac}",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// Generates values with strings and lists long enough to be indexed.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "[a-z\"\\\\\n\u{e9}]{0,200}".prop_map(|text| serde_json::Value::from(text).to_string()),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(|number| number.to_string()),
        Just("null".to_owned()),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(|items| format!("[ {} ]", items.join(" ,"))),
            prop::collection::vec(("[a-z\\\\\"]{0,80}", inner), 0..6).prop_map(|members| {
                let member = |(key, value)| format!("{}: {value}", serde_json::Value::from(key));
                format!("{{{}}}", members.into_iter().map(member).collect::<Vec<_>>().join(","))
            }),
        ]
    })
}

/// Whether a walk finds the same in a value as `serde_json`.
fn is_same(found: Json<'_>, known: &serde_json::Value) -> bool {
    match known {
        serde_json::Value::Array(items) => {
            items.len() == found.items().count()
                && items.iter().zip(found.items()).all(|(known, found)| is_same(found, known))
        }
        serde_json::Value::Object(members) => {
            members.iter().all(|(key, known)| found.get(key).is_some_and(|found| is_same(found, known)))
        }
        serde_json::Value::String(text) => {
            found.text().is_some_and(|found| found.is(text) && found.code_point_count() == text.chars().count())
        }
        known => serde_json::from_str::<serde_json::Value>(found.raw()).is_ok_and(|found| found == *known),
    }
}

proptest! {
    #[test]
    fn serde_json_accepts_the_same_texts(text in pieces()) {
        let known: Result<Vec<IgnoredAny>, _> = serde_json::Deserializer::from_str(&text).into_iter().collect();
        let found = Source::of(&text);
        prop_assert_eq!(found.is_ok(), known.is_ok(), "{:?} {:?}", found.map(|_| ()), known.map(|_| ()));
        if let (Ok(source), Ok(known)) = (Source::of(&text), serde_json::Deserializer::from_str(&text).into_iter().collect::<Result<Vec<IgnoredAny>, _>>()) {
            prop_assert_eq!(source.values().count(), known.len());
        }
    }

    #[test]
    fn every_value_is_found_however_long(text in value()) {
        // Of a large text, the index has short values as far as it has room for them: few at its beginning, then all.
        let spaces = " ".repeat(LARGE);
        let large = if text.len().is_multiple_of(2) { format!("{text}{spaces}") } else { format!("{spaces}{text}") };
        let known = serde_json::from_str(&text).expect("valid");
        for source in [&text, &large] {
            let source = Source::of(source).expect("valid");
            let value = source.first().expect("one value");
            prop_assert_eq!(value.raw(), text.as_str());
            prop_assert!(is_same(value, &known));
            let opened = value.tokens().filter(|token| matches!(token, Token::Open(_))).count();
            let closed = value.tokens().filter(|token| matches!(token, Token::Close)).count();
            prop_assert_eq!(opened, closed);
        }
    }
}
