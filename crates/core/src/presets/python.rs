//! How Python handles text: `str.strip`, and `str.format` with one field, `messages`, because `LangChain` and related
//! systems fill prompts with it.
//!
//! `{messages}` may be converted (`!r`, `!s`, `!a`), indexed (`[0]`) and padded (`:>80`); `{{` and `}}` are braces.
//! Errors are those of Python, with its messages.

use crate::redact::beginning;
use crate::tokens::python as notation;
use crate::transcript::text::Text;

/// Removes Python's white space at both ends of a text.
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Removes Python's white space at the end of a text.
pub fn rstrip(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

/// Whether a character is white space for Python's `str.isspace`: that of Unicode, and four separators of ASCII.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// Fills a template as [`format`] does, and removes the white space at its end.
///
/// # Errors
/// Those of [`format`].
pub fn format_stripped(template: &str, messages: &str) -> Result<String, String> {
    format(template, messages).map(|filled| rstrip(&filled).to_owned())
}

/// Fills each field of the template with the text.
///
/// # Errors
/// The error in the template, in Python's words.
pub fn format(template: &str, messages: &str) -> Result<String, String> {
    let mut out = String::with_capacity(template.len() + messages.len());
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        let (plain, brace) = rest.split_at(at);
        out.push_str(plain);
        if let Some(after) = brace.strip_prefix("{{").or_else(|| brace.strip_prefix("}}")) {
            out.push_str(&brace[..1]);
            rest = after;
        } else if brace.starts_with('}') {
            return Err("Single '}' encountered in format string".to_owned());
        } else {
            let (field, after) = field(&brace[1..])?;
            out.push_str(&fill_field(field, messages)?);
            rest = after;
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// Splits the text after an opening brace at the brace that closes it.
fn field(text: &str) -> Result<(&str, &str), String> {
    if text.is_empty() {
        return Err("Single '{' encountered in format string".to_owned());
    }
    let mut depth = 1;
    let mut in_brackets = false;
    let mut in_name = true;
    for (at, c) in text.char_indices() {
        match c {
            '[' if in_name => in_brackets = true,
            ']' => in_brackets = false,
            ':' | '!' if !in_brackets => in_name = false,
            '{' if !in_brackets => depth += 1,
            '}' if !in_brackets => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Ok((&text[..at], &text[at + 1..]));
        }
    }
    Err("expected '}' before end of string".to_owned())
}

fn fill_field(field: &str, messages: &str) -> Result<String, String> {
    let (name, spec) = match field.find([':', '!']) {
        Some(at) => field.split_at(at),
        None => (field, ""),
    };
    let end = name.find(['.', '[']).unwrap_or(name.len());
    let (name, path) = name.split_at(end);
    match name {
        "messages" => {}
        "" => return Err("Replacement index 0 out of range for positional args tuple".to_owned()),
        _ if name.bytes().all(|byte| byte.is_ascii_digit()) => {
            return Err(format!("Replacement index {name} out of range for positional args tuple"));
        }
        _ if name.contains('{') => return Err("unexpected '{' in field name".to_owned()),
        _ => return Err(repr(name)),
    }
    let value = index(messages, path)?;
    match spec.strip_prefix('!') {
        None => pad(value, spec.strip_prefix(':').unwrap_or_default()),
        Some(conversion) => {
            let mut chars = conversion.chars();
            let kind = chars.next().ok_or("end of string while looking for conversion specifier")?;
            let spec = match chars.as_str() {
                "" => "",
                after => after.strip_prefix(':').ok_or("expected ':' after conversion specifier")?,
            };
            pad(&convert(value, kind)?, spec)
        }
    }
}

/// A character of the text by its index; no other member of Python's strings yields text.
fn index<'t>(messages: &'t str, path: &str) -> Result<&'t str, String> {
    if path.is_empty() {
        return Ok(messages);
    }
    let Some(index) = path.strip_prefix('[').and_then(|path| path.strip_suffix(']')) else {
        let attribute = path.trim_start_matches('.').split(['.', '[']).next().unwrap_or_default();
        return Err(format!("'str' object has no attribute '{attribute}'"));
    };
    // Python's indices have only digits; Rust's numbers may have a sign.
    let index: usize = match index.parse() {
        Ok(number) if !index.starts_with('+') => number,
        _ => return Err("string indices must be integers, not 'str'".to_owned()),
    };
    let (at, c) = messages.char_indices().nth(index).ok_or("string index out of range")?;
    Ok(&messages[at..at + c.len_utf8()])
}

fn repr(text: &str) -> String {
    let mut repr = String::new();
    notation::string(Text::plain(text), &mut repr);
    repr
}

/// A character as Python's `ascii` writes it.
fn ascii(c: char) -> String {
    match u32::from(c) {
        0..=0x7f => c.to_string(),
        point @ 0x80..=0xff => format!("\\x{point:02x}"),
        point @ 0x100..=0xffff => format!("\\u{point:04x}"),
        point => format!("\\U{point:08x}"),
    }
}

fn convert(value: &str, kind: char) -> Result<String, String> {
    match kind {
        's' => Ok(value.to_owned()),
        'r' => Ok(repr(value)),
        'a' => Ok(repr(value).chars().map(ascii).collect()),
        _ => Err(format!("Unknown conversion specifier {kind}")),
    }
}

/// Pads a value by `[[fill]align][0][width][.precision][s]`, the whole syntax for strings.
fn pad(value: &str, spec: &str) -> Result<String, String> {
    let chars: Vec<char> = spec.chars().collect();
    let (fill, align, rest) = match chars.as_slice() {
        [fill, align @ ('<' | '>' | '^' | '='), rest @ ..] => (*fill, *align, rest),
        [align @ ('<' | '>' | '^' | '='), rest @ ..] => (' ', *align, rest),
        rest => (' ', '<', rest),
    };
    // A zero before the width is the fill character unless one is given; it does not align text.
    let has_fill = matches!(chars.as_slice(), [_, '<' | '>' | '^' | '=', ..]);
    let (fill, rest) = match rest {
        ['0', rest @ ..] => (if has_fill { fill } else { '0' }, rest),
        rest => (fill, rest),
    };
    if align == '=' {
        return Err("'=' alignment not allowed in string format specifier".to_owned());
    }
    if matches!(rest.first(), Some('+' | '-' | ' ')) {
        return Err("Sign not allowed in string format specifier".to_owned());
    }
    let rest: String = rest.iter().collect();
    if let Some(code) = rest.chars().last()
        && code.is_alphabetic()
        && code != 's'
    {
        return Err(format!("Unknown format code '{code}' for object of type 'str'"));
    }
    let rest = rest.strip_suffix('s').unwrap_or(&rest);
    let (width, precision) = match rest.split_once('.') {
        Some((width, precision)) => (width, Some(precision)),
        None => (rest, None),
    };
    let value: String = match precision {
        Some(precision) => beginning(value, number(precision)?).to_owned(),
        None => value.to_owned(),
    };
    /// Wider than any intended prompt.
    const WIDEST: usize = 1 << 20;
    let width = if width.is_empty() { 0 } else { number(width)? };
    if width > WIDEST {
        return Err(format!("a width of {width} is more than any prompt needs"));
    }
    let missing = width.saturating_sub(value.chars().count());
    let before = match align {
        '>' => missing,
        '^' => missing / 2,
        _ => 0,
    };
    let fill = String::from(fill);
    Ok(fill.repeat(before) + &value + &fill.repeat(missing - before))
}

fn number(digits: &str) -> Result<usize, String> {
    digits.parse().map_err(|_| "Invalid format specifier".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_is_python_s() {
        assert_eq!(strip("\u{1c}\u{3000} a\u{200b} \u{85}\n"), "a\u{200b}");
        assert_eq!(rstrip(" a\u{1f}\u{a0}"), " a");
    }

    /// The expected texts are from `python3.11`: `template.format(messages="it's é")`.
    #[test]
    fn as_python_formats() {
        for (template, text) in [
            ("a {messages} {{b}} }}", "a it's é {b} }"),
            ("none", "none"),
            ("{messages!r}|{messages!s}|{messages!a}", "\"it's é\"|it's é|\"it's \\xe9\""),
            (
                "{messages:>8}|{messages:*^9}|{messages:.2}|{messages:<7s}|{messages:08}",
                "  it's é|*it's é**|it|it's é |it's é00",
            ),
            ("{messages[0]}{messages[5]}", "ié"),
            ("{messages!r:>12}", "    \"it's é\""),
            ("{{{messages}}}", "{it's é}"),
            ("{messages:[>8}|{messages:>08}|{messages:*<08}", "[[it's é|00it's é|it's é**"),
        ] {
            assert_eq!(format(template, "it's é").as_deref(), Ok(text), "{template}");
        }
    }

    #[test]
    fn what_python_refuses() {
        for (template, error) in [
            ("{other}", "'other'"),
            ("{mess{ages}}", "unexpected '{' in field name"),
            ("{messages:d}", "Unknown format code 'd' for object of type 'str'"),
            ("{}", "Replacement index 0 out of range"),
            ("{0}", "Replacement index 0 out of range"),
            ("}", "Single '}' encountered"),
            ("{", "Single '{' encountered"),
            ("{messages", "expected '}' before end of string"),
            ("{messages:=5}", "'=' alignment not allowed"),
            ("{messages:+}", "Sign not allowed"),
            ("{messages[x]}", "string indices must be integers"),
            ("{messages[9]}", "string index out of range"),
            ("{messages!x}", "Unknown conversion specifier"),
            ("{messages.nope}", "'str' object has no attribute 'nope'"),
            ("{messages:9999999999}", "is more than any prompt needs"),
        ] {
            let found = format(template, "abc").expect_err(template);
            assert!(found.contains(error), "{template}: {found}");
        }
    }

    #[test]
    fn what_is_put_in_is_not_read_again() {
        assert_eq!(format("{messages}", "{messages} {x}").as_deref(), Ok("{messages} {x}"));
    }
}
