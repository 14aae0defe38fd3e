//! Keys in every encoding, and in every encoding of an encoding.

use std::time::{Duration, Instant};

use ::base64::Engine;
use ::base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
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

fn code(c: char) -> u32 {
    u32::from(c)
}

/// Encodes the bytes of each character.
fn bytes(text: &str, spell: impl Fn(u8) -> String) -> String {
    text.bytes().map(spell).collect()
}

const DISGUISES: &[Disguise] =
    &[
        ("bells", |text| each(text, |c| format!("{c}\u{7}"))),
        ("nulls", |text| each(text, |c| format!("{c}\0"))),
        ("escapes", |text| each(text, |c| format!("{c}\u{1b}"))),
        ("deletes", |text| each(text, |c| format!("{c}\u{7f}"))),
        ("C1", |text| each(text, |c| format!("{c}\u{9b}"))),
        ("overrides", |text| each(text, |c| format!("\u{202e}{c}\u{202c}"))),
        ("zero width", |text| each(text, |c| format!("{c}\u{200b}\u{2060}\u{ad}\u{feff}"))),
        ("variations", |text| each(text, |c| format!("{c}\u{fe0f}"))),
        ("accents", |text| each(text, |c| format!("{c}\u{332}"))),
        ("lines", |text| each(text, |c| format!("{c}\r\n"))),
        ("one null", |text| {
            let (before, after) = text.split_at(text.floor_char_boundary(text.len() / 2));
            format!("{before}\0{after}")
        }),
        ("bytes that are no text", |text| each(text, |c| format!("{c}\u{fffd}"))),
        ("UTF-16", |text| each(text, |c| if c.is_ascii() { format!("{c}\0") } else { c.into() })),
        ("UTF-16, the other way", |text| each(text, |c| if c.is_ascii() { format!("\0{c}") } else { c.into() })),
        (WIDE, |text| each(text, |c| if c == '/' { '／'.into() } else { c.into() })),
        ("colours", |text| each(text, |c| format!("{c}\u{1b}[31m"))),
        ("C1 colours", |text| each(text, |c| format!("{c}\u{9b}0;31m"))),
        ("titles", |text| each(text, |c| format!("{c}\u{1b}]0;a title\u{7}"))),
        ("links", |text| each(text, |c| format!("{c}\u{1b}]8;;x\u{1b}\\"))),
        ("backspaces", |text| each(text, |c| format!("x\u{8}{c}"))),
        ("tags", |text| each(text, |c| format!("{c}<wbr><!--x-->"))),
        ("percent", |text| bytes(text, |byte| format!("%{byte:02x}"))),
        ("percent where needed", |text| some(text, |c| bytes(&c.to_string(), |byte| format!("%{byte:02X}")))),
        ("quoted-printable", |text| bytes(text, |byte| format!("={byte:02X}"))),
        ("HTML decimal", |text| each(text, |c| format!("&#{};", code(c)))),
        ("HTML hexadecimal", |text| each(text, |c| format!("&#x{:X};", code(c)))),
        ("HTML with zeros", |text| some(text, |c| format!("&#X{:08x};", code(c)))),
        ("HTML without end", |text| each(text, |c| format!("&#{}", code(c)))),
        ("HTML by name", |text| {
            some(text, |c| {
                let name =
                    [('/', "sol"), ('+', "plus"), ('=', "equals"), ('_', "lowbar"), ('&', "amp"), ('%', "percnt")];
                name.iter().find(|(named, _)| *named == c).map_or(c.to_string(), |(_, name)| format!("&{name};"))
            })
        }),
        ("\\x", |text| bytes(text, |byte| format!("\\x{byte:02x}"))),
        ("\\u", |text| text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()),
        ("\\U", |text| each(text, |c| format!("\\U{:08x}", code(c)))),
        ("\\u{}", |text| each(text, |c| format!("\\u{{{:x}}}", code(c)))),
        ("\\x{}", |text| some(text, |c| format!("\\x{{{:04X}}}", code(c)))),
        ("octal", |text| bytes(text, |byte| format!("\\{byte:03o}"))),
        ("backslashes", |text| each(text, |c| if c.is_ascii_punctuation() { format!("\\{c}") } else { c.into() })),
        ("JSON", |text| serde_json::json!(text).to_string().trim_matches('"').replace('/', "\\/")),
        ("\\0", |text| {
            each(text, |c| match c {
                '0'..='9' => format!("\\x00{c}"),
                '\\' => "\\0\\\\".to_owned(),
                c => format!("\\0{c}"),
            })
        }),
        ("base64", |text| STANDARD.encode(text)),
        ("base64 for addresses", |text| URL_SAFE_NO_PAD.encode(format!("Bearer {text}"))),
        ("hexadecimal", |text| bytes(text, |byte| format!("{byte:02x}"))),
        ("a dump", |text| bytes(text, |byte| format!("0x{byte:02X}, "))),
        ("backwards", |text| text.chars().rev().collect()),
        ("the other case", |text| {
            each(text, |c| {
                if c.is_ascii_lowercase() { c.to_ascii_uppercase().into() } else { c.to_ascii_lowercase().into() }
            })
        }),
        NO_DISGUISE,
    ];

const NO_DISGUISE: Disguise = ("nothing", str::to_owned);

/// Encodings that do not work inside each other: a terminal shows the rest of a sequence that another one interrupts.
const SEQUENCES: [&str; 11] =
    ["bells", "escapes", "C1", "colours", "C1 colours", "titles", "links", "backspaces", "tags", "backslashes", "\\0"];
/// A character that looks like a slash. Escapes of bytes split it.
const WIDE: &str = "wide";

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

/// Whether a key has no five characters twice, in either direction, and no four of the text around it. Of other keys, a
/// part can end in that text, which is masked then: `.aaaaaaa` before a point reads as `aaaaaaa.` backwards.
fn is_distinct(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let bare: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
    [key, bare].iter().all(|key| {
        let backwards: String = key.chars().rev().collect();
        let times = |part: &str| key.matches(part).count() + backwards.matches(part).count();
        (5..=key.len()).all(|end| times(&key[end - 5..end]) == 1)
            && ["sfor", "arer", "bamp", "amp1"].iter().all(|part| times(part) == 0)
    })
}

#[test]
fn a_key_that_the_text_around_it_continues_is_masked_with_that_text() {
    let key = ".aaaaaaaaaaaaaaaaaaaaaaa";
    assert!(!is_distinct(key));
    let masked = Secret::new(key).expect("a key").mask(&format!("no access for {}.", key.replace('.', "%2E")));
    assert_eq!(masked, "no access for [key]");
}

/// Masks a key in two encodings, the second over the first.
///
/// # Errors
/// The rest of the key that is still visible.
fn check(key: &str, inner: Disguise, outer: Disguise, around: (&str, &str)) -> Result<(), String> {
    let none = SEQUENCES.contains(&inner.0) && SEQUENCES.contains(&outer.0) || inner.0 == WIDE;
    // No reader decodes an escape backwards or in the other case.
    let outer = if none || ["backwards", "the other case"].contains(&outer.0) { NO_DISGUISE } else { outer };
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

/// Keys that were once not masked, or masked with what is beside them.
#[test]
fn a_key_of_few_letters_is_masked_alone() {
    for (key, inner, outer, around) in [("sk-AAaA_L0A0AAa++aB0=B0", 0, 0, 6), ("=0A_aa+aB_-AB+=b0-Aa", 9, 0, 4)] {
        assert!(is_distinct(key), "{key}");
        assert_eq!(check(key, DISGUISES[inner], DISGUISES[outer], AROUND[around]), Ok(()));
    }
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
            // A digit of Base64 or of octal can belong to what is beside the part.
            for (name, disguise) in DISGUISES {
                let masked = secret.mask(&format!("key {}… is wrong", disguise(&key[start..end])));
                let is_prefixed = *name == "base64 for addresses" || *name == WIDE;
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
    for part in [
        "%25",
        "%",
        "&#59",
        "&",
        "&#x0000",
        "\\",
        "\\u{0",
        "\\0",
        "\u{1b}]",
        "\u{1b}[0",
        "\u{8}",
        "<",
        "a<b>",
        "ag\u{8}",
        "sk-Marker/",
        "736b2d",
        "c2stTWFya2Vy",
        ";",
        "}",
        "=3D",
        "A",
        "é",
        "\0",
    ] {
        let text = part.repeat(SIZE / part.len());
        let started = Instant::now();
        let _ = secret.mask(&text);
        assert!(started.elapsed() < Duration::from_secs(30), "{part:?}: {:?}", started.elapsed());
    }
}

/// A server can show a key in pieces, in a list of its characters, in bold type, or in letters of another style.
#[test]
fn a_key_between_marks_or_in_another_style_is_masked() {
    const KEY: &str = "sk-Qx7Zp2LmV9RtW4sKd8HyBn3JcF6gTaUe";
    let styled = |small: u32, capital: u32, digit: u32| {
        each(KEY, |c| {
            let (first, place) = match c {
                'a'..='z' => (small, code(c) - code('a')),
                'A'..='Z' => (capital, code(c) - code('A')),
                '1'..='9' if digit > 0 => (digit, code(c) - code('1')),
                _ => (code(c), 0),
            };
            char::from_u32(first + place).expect("a character").into()
        })
    };
    let pieces = |between: &str| {
        let characters: Vec<char> = KEY.chars().collect();
        characters.chunks(5).map(String::from_iter).collect::<Vec<_>>().join(between)
    };
    for shown in [
        pieces("**"),
        pieces("-"),
        pieces(" / "),
        pieces("\" + \""),
        each(KEY, |c| format!("'{c}', ")),
        each(KEY, |c| format!("({c})")),
        KEY.replace('-', ""),
        styled(0x1d5ba, 0x1d5a0, 0x1d7e3),
        styled(0x24d0, 0x24b6, 0x2460),
        styled(code('a'), 0x1f130, 0),
        "𝕤𝕜-ℚ𝕩𝟟ℤ𝕡𝟚𝕃𝕞𝕍𝟡ℝ𝕥𝕎".to_owned(),
    ] {
        let masked = Secret::new(KEY).expect("a key").mask(&format!("The key is <<{shown}>>"));
        let left = masked.split_once("<<").expect("a mark").1.replace(MASK, "");
        assert!(masked.contains(MASK) && left.chars().filter(|c| c.is_alphanumeric()).count() < 8, "{shown}: {masked}");
    }
    // Words of a key stay where they are only words.
    let dummy = Secret::new("lm-studio-key-for-the-proxy").expect("a key");
    let prose = "LM Studio: set the key for the proxy.";
    assert_eq!(dummy.mask(prose), prose);
}
