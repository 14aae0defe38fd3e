//! Known counts; and where the table files are made, and those of the source held against what is made.

use std::path::Path;

use super::Encoding;
use super::classes::{BLOCKS, Classes};
use super::table::{FILTER_BITS, LENGTH_BITS, NO_PAIR, SHORT, home, long_hash, short_hash};

#[test]
fn known_counts() {
    for (text, o200k, cl100k) in [
        ("", 0, 0),
        ("a", 1, 1),
        ("hello world", 2, 2),
        ("<|endoftext|>", 7, 7),
        ("antidisestablishmentarianism", 6, 6),
        ("你好，世界", 3, 6),
    ] {
        assert_eq!(Encoding::O200kBase.count(text), o200k, "o200k {text:?}");
        assert_eq!(Encoding::Cl100kBase.count(text), cl100k, "cl100k {text:?}");
    }
}

/// Compares a file of the source with what it is made from; writes it where `TCOMPACT_REGENERATE` is set.
fn check(file: &str, made: &[u8]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tokens/bpe").join(file);
    if std::env::var_os("TCOMPACT_REGENERATE").is_some() {
        std::fs::write(&path, made).expect("the file can be written");
    }
    let committed = std::fs::read(&path).expect("the file is there");
    assert!(committed == made, "{file} is stale: run `TCOMPACT_REGENERATE=1 cargo test generated` and build again");
}

fn entries(bpe: &tiktoken_rs::CoreBPE, number: u32) -> Vec<Vec<u8>> {
    (0..number).map(|rank| bpe.decode_bytes(&[rank]).expect("a rank")).collect()
}

#[test]
fn generated_tables() {
    check("o200k_base.table", &vocabulary(&entries(&tiktoken_rs::o200k_base().expect("o200k"), 199_998)));
    check("cl100k_base.table", &vocabulary(&entries(&tiktoken_rs::cl100k_base().expect("cl100k"), 100_256)));
    check("classes.table", &classes(class_numbers()));
}

fn class_numbers() -> impl Fn(u32) -> u8 {
    let mut numbers = vec![Classes::OTHER.0; 0x11_0000];
    for (class, Classes(number)) in [
        ("[\\p{Lu}\\p{Lt}]", Classes::UPPER),
        ("\\p{Ll}", Classes::LOWER),
        ("[\\p{Lm}\\p{Lo}]", Classes::CASELESS),
        ("\\p{M}", Classes::MARK),
        ("\\p{N}", Classes::NUMBER),
        ("\\s", Classes::SPACE),
        ("[\\r\\n]", Classes::NEWLINE),
    ] {
        let hir = regex_syntax::Parser::new().parse(class).expect("a class");
        let regex_syntax::hir::HirKind::Class(regex_syntax::hir::Class::Unicode(ranges)) = hir.into_kind() else {
            panic!("{class} is no class of characters");
        };
        for range in ranges.ranges() {
            numbers[range.start() as usize..=range.end() as usize].fill(number);
        }
    }
    move |code| numbers[code as usize]
}

/// The file for a vocabulary whose entries are given in the order of their ranks.
fn vocabulary(entries: &[Vec<u8>]) -> Vec<u8> {
    let (mut short, mut long, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    let mut pairs = vec![NO_PAIR.cast_unsigned(); 1 << 16];
    let mut filter = vec![0u8; 1 << (FILTER_BITS - 3)];
    for (rank, entry) in (0u32..).zip(entries) {
        if let [a, b] = entry[..] {
            pairs[u16::from_be_bytes([a, b]) as usize] = rank;
        }
        if entry.len() < 2 {
            continue;
        }
        let hash = if entry.len() <= SHORT { short_hash(entry, entry.len()) } else { long_hash(entry) };
        let bit = hash >> (64 - FILTER_BITS);
        filter[(bit >> 3) as usize] |= 1 << (bit & 7);
        if entry.len() <= SHORT {
            assert!(!entry.contains(&0xFF), "no text has this byte");
            short.push((hash, rank));
        } else {
            let place = (bytes.len() as u64) << LENGTH_BITS | (entry.len() as u64 - 1);
            long.push((hash | place, rank));
            bytes.extend_from_slice(entry);
        }
    }
    assert!(bytes.len() < 1 << 20, "20 bits hold the offsets");
    let ((header, short), (header_of_long, long)) = (slots(short), slots(long));
    let pairs = pairs.iter().flat_map(|rank| rank.to_le_bytes()).collect();
    [header, header_of_long, pairs, filter, short, long, bytes].concat()
}

/// The numbers of homes and slots, and the slots' numbers and ranks.
fn slots(mut entries: Vec<(u64, u32)>) -> (Vec<u8>, Vec<u8>) {
    let homes = entries.len() * 5 / 4;
    entries.sort_unstable();
    let mut slots: Vec<(u64, u32)> = Vec::new();
    for (number, rank) in entries {
        slots.resize(slots.len().max(home(number, homes as u64)), (u64::MAX, 0));
        slots.push((number, rank));
    }
    // A look-up ends at an empty slot at the latest.
    slots.resize(slots.len().max(homes) + 1, (u64::MAX, 0));
    let header = [homes, slots.len()].map(|number| u32::try_from(number).expect("a count").to_le_bytes());
    let numbers = slots.iter().flat_map(|slot| slot.0.to_le_bytes());
    let ranks = slots.iter().flat_map(|slot| slot.1.to_le_bytes());
    (header.concat(), numbers.chain(ranks).collect())
}

/// The file for the classes that `class_number` gives for each code point.
fn classes(class_number: impl Fn(u32) -> u8) -> Vec<u8> {
    let mut blocks: Vec<Vec<u8>> = Vec::new();
    let mut index = Vec::new();
    for block in 0..BLOCKS {
        let first = u32::try_from(block * 256).expect("a code point");
        let classes: Vec<u8> = (first..first + 256).map(&class_number).collect();
        let known = blocks.iter().position(|known| *known == classes).unwrap_or_else(|| {
            blocks.push(classes);
            blocks.len() - 1
        });
        index.push(u8::try_from(known).expect("fewer than 256 blocks"));
    }
    index.into_iter().chain(blocks.concat()).collect()
}
