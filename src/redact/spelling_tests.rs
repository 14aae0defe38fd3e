//! The rows of `tables/`: spellings of secrets that are found, and texts without any that stay.

use crate::redact::tests::masked;

const SPELLINGS: &str = include_str!("tables/spellings.txt");
const INNOCENTS: &str = include_str!("tables/innocents.txt");
/// The heading of the spellings that are not found so far.
const NOT_FOUND: &str = "## not found so far";

/// Returns the rows of a table.
fn rows(table: &str) -> Vec<String> {
    table
        .lines()
        .filter(|row| !row.is_empty() && !row.starts_with("# ") && !row.starts_with("## "))
        .map(filled)
        .collect()
}

/// Returns a row with its escapes read, and characters that look random in the place of `{a12}` and the like.
fn filled(row: &str) -> String {
    let mut seed = row.bytes().fold(7_u64, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let mut next = |set: &str| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(set.as_bytes()[(seed >> 33) as usize % set.len()])
    };
    let (digits, small, capitals) = ("0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    let mut out = String::new();
    let mut rest = row;
    while let Some(c) = rest.chars().next() {
        let class = rest.strip_prefix('{').and_then(|inside| inside.split_once('}'));
        let count = class.and_then(|(inside, _)| inside.get(1..)?.parse::<usize>().ok());
        match (class, count, c) {
            (Some(("id", behind)), ..) => {
                let groups =
                    [8, 4, 4, 4, 12].map(|count| (0..count).map(|_| next("0123456789abcdef")).collect::<String>());
                out.push_str(&groups.join("-"));
                rest = behind;
            }
            (Some((inside, behind)), Some(count), _) if inside.starts_with(['a', 'l', 'u', 'h', 'd', 'w']) => {
                let set = match &inside[..1] {
                    "a" => [digits, small, capitals].concat(),
                    "l" => [digits, small].concat(),
                    "u" => [digits, capitals].concat(),
                    "h" => "0123456789abcdef".to_owned(),
                    "d" => digits.to_owned(),
                    _ => [digits, small, capitals, "_-"].concat(),
                };
                out.extend((0..count).map(|_| next(&set)));
                rest = behind;
            }
            (.., '\\') if rest.len() > 1 && "ntrea\\".contains(&rest[1..2]) => {
                out.push_str(match &rest[1..2] {
                    "n" => "\n",
                    "t" => "\t",
                    "r" => "\r",
                    "e" => "\u{1b}",
                    "a" => "\u{7}",
                    _ => "\\",
                });
                rest = &rest[2..];
            }
            _ => {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    out
}

/// Returns the secrets of a row, and its text.
fn split(row: &str) -> (Vec<String>, String) {
    let secrets = row.split('«').skip(1).filter_map(|rest| rest.split_once('»')).map(|(secret, _)| secret.to_owned());
    (secrets.collect(), row.replace(['«', '»'], ""))
}

#[test]
fn spellings_of_secrets_are_found() {
    let (found, _) = SPELLINGS.split_once(NOT_FOUND).expect("its last heading");
    let all = rows(found);
    let mut stay = Vec::new();
    for row in &all {
        let (secrets, text) = split(row);
        for frame in ["¦", "before\n¦\nbehind\n"] {
            let once = masked(&frame.replace('¦', &text));
            let shown = crate::sanitize::Shown::new(&once).map_or(once.clone(), |shown| shown.text);
            if secrets.is_empty()
                || secrets.iter().any(|secret| shown.contains(secret.as_str()))
                || masked(&once) != once
            {
                stay.push(format!("{row:?}\n  became {once:?}"));
            }
        }
    }
    assert!(all.len() > 370 && stay.is_empty(), "{} of {} stay\n{}", stay.len(), all.len(), stay.join("\n"));
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    let all = rows(INNOCENTS);
    let changed: Vec<String> =
        all.iter().filter(|row| masked(row) != **row).map(|row| format!("{row:?} became {:?}", masked(row))).collect();
    assert!(all.len() > 160 && changed.is_empty(), "{}", changed.join("\n"));
}
