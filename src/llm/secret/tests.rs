//! Keys in every encoding, and in every encoding of an encoding.

use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;

use crate::llm::secret::*;

#[test]
fn a_key_does_not_print() {
    let key = Secret::new(" sk-live\n").expect("a key");
    assert_eq!(format!("{key:?}"), "[key]");
    assert_eq!(format!("{:?}", key.header("Bearer ")), "Some(Sensitive)");
    assert_eq!(key.mask("no sk-live here"), "no [key] here");
    assert!(Secret::new("two\nlines").is_none());
}

/// An encoding: its name and its function.
type Disguise = (&'static str, fn(&str) -> String);

fn each(text: &str, spell: impl Fn(char) -> String) -> String {
    text.chars().map(spell).collect()
}

/// Encodes the characters that are neither letters nor digits.
fn some(text: &str, spell: impl Fn(char) -> String) -> String {
    each(text, |c| if c.is_ascii_alphanumeric() { c.to_string() } else { spell(c) })
}

/// Encodes the bytes of each character.
fn bytes(text: &str, spell: impl Fn(u8) -> String) -> String {
    text.bytes().map(spell).collect()
}

const DISGUISES: &[Disguise] = &[
    ("bells", |text| each(text, |c| format!("{c}\u{7}"))),
    ("escapes", |text| each(text, |c| format!("{c}\u{1b}"))),
    ("deletes", |text| each(text, |c| format!("{c}\u{7f}"))),
    ("C1", |text| each(text, |c| format!("{c}\u{9b}"))),
    ("overrides", |text| each(text, |c| format!("\u{202e}{c}\u{202c}"))),
    ("zero width", |text| each(text, |c| format!("{c}\u{200b}\u{2060}\u{ad}\u{feff}"))),
    ("lines", |text| each(text, |c| format!("{c}\r\n"))),
    ("one null", |text| {
        let (before, after) = text.split_at(text.floor_char_boundary(text.len() / 2));
        format!("{before}\0{after}")
    }),
    ("bytes that are no text", |text| each(text, |c| format!("{c}\u{fffd}"))),
    ("UTF-16", |text| each(text, |c| if c.is_ascii() { format!("{c}\0") } else { c.into() })),
    ("UTF-16, the other way", |text| each(text, |c| if c.is_ascii() { format!("\0{c}") } else { c.into() })),
    (WIDE, |text| each(text, |c| if c == '/' { '／'.into() } else { c.into() })),
    ("percent", |text| bytes(text, |byte| format!("%{byte:02x}"))),
    ("percent where needed", |text| some(text, |c| bytes(&c.to_string(), |byte| format!("%{byte:02X}")))),
    ("HTML decimal", |text| each(text, |c| format!("&#{};", u32::from(c)))),
    ("HTML hexadecimal", |text| each(text, |c| format!("&#x{:X};", u32::from(c)))),
    ("HTML with zeros", |text| some(text, |c| format!("&#X{:08x};", u32::from(c)))),
    ("HTML by name", |text| text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")),
    ("\\u", |text| text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()),
    ("JSON", |text| serde_json::json!(text).to_string().trim_matches('"').replace('/', "\\/")),
    (BASE64, |text| STANDARD.encode(text)),
    (BASE64_FOR_ADDRESSES, |text| URL_SAFE_NO_PAD.encode(format!("Bearer {text}"))),
    NO_DISGUISE,
];

const NO_DISGUISE: Disguise = ("nothing", str::to_owned);

/// A character that looks like a slash. Escapes of bytes split it.
const WIDE: &str = "wide";
const BASE64: &str = "Base64";
const BASE64_FOR_ADDRESSES: &str = "Base64 for addresses";

/// The text around a key. None of it is masked.
const AROUND: [(&str, &str); 8] = [
    ("", ""),
    ("no access for ", "."),
    ("{\"key\": \"", "\"}"),
    ("Bearer ", "\n"),
    ("?key=", "&x=1"),
    ("é", "é"),
    ("'", "' <b>&amp; 100 %</b>"),
    ("\\n", "\\n"),
];

/// Keys as providers issue them: letters and digits behind a prefix, some with characters that addresses and JSON
/// escape.
fn keys() -> impl Strategy<Value = String> {
    let keys = ("(sk-|sk-proj-|gsk_|AIza|xai-|)", "[A-Za-z0-9_/+=.-]{20,60}").prop_map(|(prefix, rest)| prefix + &rest);
    keys.prop_filter("the text around it could be more of it", |key| is_distinct(key))
}

/// Whether a key has no five characters twice, and no four of the text around it. Of other keys, a part can end in that
/// text, which is masked then.
fn is_distinct(key: &str) -> bool {
    let times = |part: &str| key.matches(part).count();
    (5..=key.len()).all(|end| times(&key[end - 5..end]) == 1)
        && ["sfor", "arer", "key="].iter().all(|part| times(part) == 0)
}

/// Masks a key in two encodings, the second over the first.
///
/// # Errors
/// The rest of the key that is still visible.
fn check(key: &str, inner: Disguise, outer: Disguise, around: (&str, &str)) -> Result<(), String> {
    let packed = |name: &str| name == BASE64 || name == BASE64_FOR_ADDRESSES;
    let outer = if inner.0 == WIDE || packed(inner.0) && packed(outer.0) { NO_DISGUISE } else { outer };
    let secret = Secret::new(key).expect("a key");
    let text = format!("{}{}{}", around.0, outer.1(&inner.1(key)), around.1);
    let masked = secret.mask(&text);
    let name = format!("{} in {} of {key}: {text:?} became {masked:?}", inner.0, outer.0);
    let middle = masked.strip_prefix(around.0).and_then(|rest| rest.strip_suffix(around.1));
    let Some(middle) = middle.filter(|middle| middle.contains(MASK)) else { return Err(name) };
    // Text beside the key can stay: the rest of a last escape, a word before it, the padding of base64.
    let left: String = middle.replace(MASK, "");
    let seen = (0..key.len() - 8).any(|at| left.contains(&key[at..at + 8]));
    // A second pass finds no more.
    if seen || secret.mask(&masked) != masked { Err(name) } else { Ok(()) }
}

#[test]
fn a_key_is_masked_in_every_pair_of_disguises() {
    let key = "sk-Marker/7e6f+5d4c=3b2a_9Zx";
    let pairs = (0..DISGUISES.len()).flat_map(|inner| (0..DISGUISES.len()).map(move |outer| (inner, outer)));
    let check = |(inner, outer)| check(key, DISGUISES[inner], DISGUISES[outer], AROUND[(inner + outer) % AROUND.len()]);
    let seen: Vec<String> = pairs.filter_map(|pair| check(pair).err()).collect();
    assert!(seen.is_empty(), "{} pairs: {:#?}", seen.len(), seen);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_key_is_masked_in_any_pair_of_disguises(
        key in keys(),
        inner in 0..DISGUISES.len(),
        outer in 0..DISGUISES.len(),
        around in 0..AROUND.len(),
    ) {
        prop_assert_eq!(check(&key, DISGUISES[inner], DISGUISES[outer], AROUND[around]), Ok(()));
    }

    #[test]
    fn what_holds_no_key_stays_to_the_byte(key in keys(), text in r#"(.|[%&#;\\=<>x0-9a-fu{}\x00-\x1f]){0,200}"#) {
        let secret = Secret::new(&key).expect("a key");
        prop_assert_eq!(secret.mask(&text), text);
    }
}

#[test]
fn a_clipped_key_is_masked_in_every_disguise() {
    let key = "sk-Marker/7e6f+5d4c=3b2a_9Zx";
    let secret = Secret::new(key).expect("a key");
    let mut seen = Vec::new();
    for start in 0..=key.len() - 8 {
        for end in start + 8..=key.len() {
            // A digit of Base64 can belong to what is beside the part.
            for (name, disguise) in DISGUISES {
                let masked = secret.mask(&format!("key {}… is wrong", disguise(&key[start..end])));
                let is_prefixed = *name == BASE64_FOR_ADDRESSES || *name == WIDE;
                if !masked.contains(MASK) && !is_prefixed {
                    seen.push(format!("{name}: {:?} became {masked:?}", &key[start..end]));
                }
            }
        }
    }
    assert!(seen.is_empty(), "{} parts: {:#?}", seen.len(), &seen[..seen.len().min(9)]);
    assert_eq!(secret.mask("sk-Mark… is short"), "sk-Mark… is short");
}

#[test]
fn ordinary_texts_stay_as_they_are() {
    let text = include_str!("../../../CHANGELOG.md");
    for key in ["sk-Marker/7e6f+5d4c=3b2a", "sk-1", "test", "ollama", "EMPTY", "lm-studio", "not-needed"] {
        assert_eq!(Secret::new(key).expect("a key").mask(text), text, "{key}");
    }
    let key = Secret::new("test").expect("a word that a server of one's own takes");
    assert_eq!(key.mask("the tests of t\0est"), "the tests of t\0est");
    assert_eq!(Secret::new("").expect("none").mask("a"), "a");
}

#[test]
fn a_hostile_text_takes_no_longer_than_another() {
    const SIZE: usize = 1 << 14;
    let secret = Secret::new("sk-Marker/7e6f+5d4c=3b2a").expect("a key");
    for part in ["%25", "%", "&#59;", "&", "&#x0000", "\\", "\\u00", "sk-Marker/", "c2stTWFya2Vy", ";", "A", "é", "\0"]
    {
        let text = part.repeat(SIZE / part.len());
        let started = Instant::now();
        let _ = secret.mask(&text);
        assert!(started.elapsed() < Duration::from_secs(30), "{part:?}: {:?}", started.elapsed());
    }
}

#[test]
fn a_key_in_letters_of_another_style_is_masked() {
    const KEY: &str = "sk-Qx7Zp2LmV9RtW4sKd8HyBn3JcF6gTaUe";
    let styled = |small: u32, capital: u32, digit: u32| {
        each(KEY, |c| {
            let (first, place) = match c {
                'a'..='z' => (small, u32::from(c) - u32::from('a')),
                'A'..='Z' => (capital, u32::from(c) - u32::from('A')),
                '1'..='9' => (digit, u32::from(c) - u32::from('1')),
                _ => (u32::from(c), 0),
            };
            char::from_u32(first + place).expect("a character").into()
        })
    };
    for shown in [
        styled(0x1d5ba, 0x1d5a0, 0x1d7e3),
        styled(0x24d0, 0x24b6, 0x2460),
        styled(u32::from('a'), 0x1f130, u32::from('1')),
        "𝕤𝕜-ℚ𝕩𝟟ℤ𝕡𝟚𝕃𝕞𝕍𝟡ℝ𝕥𝕎".to_owned(),
    ] {
        let masked = Secret::new(KEY).expect("a key").mask(&format!("The key is <<{shown}>>"));
        assert_eq!(masked, "The key is <<[key]>>");
    }
}
