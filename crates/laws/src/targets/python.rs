//! Python's output of values that it read.

use crate::presets::python::{format as filled, is_space, rstrip, strip};
use crate::tokens::python;
use crate::transcript::json::{Json, JsonKind, Token};
use crate::transcript::source::Source;

use crate::choices::split;

fn written(json: Json<'_>, format: fn(Json<'_>, &mut String)) -> String {
    let mut out = String::new();
    format(json, &mut out);
    out
}

/// Checks that JSON output is read as the same value; that numbers are written as the shortest text with the same
/// value; that `repr` has no line ends; and that padded texts are not shorter.
pub(crate) fn python(bytes: &[u8]) {
    let (text, _) = split(bytes);
    if let Ok(source) = Source::of(&text) {
        source.values().take(50).for_each(value);
    }
    if let Some(value) = Source::of_arguments(&text).as_ref().and_then(Source::first) {
        self::value(value);
    }
    let stripped = strip(&text);
    assert!(!stripped.starts_with(is_space) && !stripped.ends_with(is_space));
    assert_eq!(rstrip(stripped), stripped);
    formats(&text);
}

fn value(value: Json<'_>) {
    let repr = written(value, python::repr);
    let mut chars = python::Chars::default();
    python::repr(value, &mut chars);
    assert_eq!(chars.0, repr.chars().count(), "{repr:?}");
    assert!(!repr.contains(['\n', '\r', '\u{85}', '\u{2028}', '\t']), "{repr:?}");
    let json = written(value, python::json);
    let source = Source::of(&json).unwrap_or_else(|error| panic!("{error:?}: {json:?}"));
    let again = source.first().expect("a value");
    assert_eq!(written(again, python::json), json, "what was written is written the same again");
    // `repr` can write a lone surrogate, but a text cannot hold one.
    if !json.contains('\u{fffd}') {
        assert_eq!(written(again, python::repr), repr, "{json:?}");
    }
    for token in value.tokens() {
        if let Token::Scalar(scalar) = token
            && scalar.kind() == JsonKind::Number
        {
            number(scalar);
        }
    }
}

fn number(scalar: Json<'_>) {
    let raw = scalar.raw();
    let repr = written(scalar, python::repr);
    if raw.contains(['.', 'e', 'E']) {
        let (before, after) = (raw.parse::<f64>().expect("a number"), repr.parse::<f64>().expect("a number"));
        assert!(before.to_bits() == after.to_bits() || before == after && before == 0.0, "{raw} {repr}");
        assert!(!before.is_finite() || repr.contains(['.', 'e']), "a float shows that it is one: {raw} {repr}");
        let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).count();
        let shortest = digits(format!("{before:e}").split('e').next().unwrap_or_default());
        let own = repr.split('e').next().unwrap_or_default().trim_matches(['-', '0', '.']);
        assert!(!before.is_finite() || digits(own) <= shortest, "{raw} {repr}");
    } else if raw != "-0" && raw.bytes().any(|byte| byte.is_ascii_digit()) {
        assert_eq!(repr, raw);
    }
}

/// Checks `str.format`: braces come in pairs, and the filled text is there.
fn formats(text: &str) {
    // Python itself would pad to any width.
    if text.bytes().filter(u8::is_ascii_digit).count() > 4 || text.len() > 4_000 {
        return;
    }
    let escaped = text.replace('{', "{{").replace('}', "}}");
    assert_eq!(filled(&escaped, "m").as_deref(), Ok(text));
    assert_eq!(filled(&format!("{escaped}{{messages}}"), "m"), Ok(format!("{text}m")));
    if let Err(why) = filled(text, "some\nhistory") {
        assert!(!why.is_empty());
    }
}
