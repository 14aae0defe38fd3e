//! Known counts; and the generation of the table files, which are compared with those in the source.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::bpe::Encoding;
use crate::bpe::classes::{BLOCKS, Classes};
use crate::bpe::table::{
    BUCKETS, LENGTH_BITS, LONG_BUCKET_BITS, NO_RANK, OFFSET_BITS, PLACE_BITS, RANK_BITS, SHORT, SHORT_BUCKET_BITS,
    TokenTable, long_hash, short_hash,
};

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

/// Whatever stands between words.
#[test]
fn a_text_has_at_least_as_many_tokens_as_words_that_can_be_seen() {
    const PARTS: [&str; 15] =
        [" ", "\u{a0}", "\n", "\r\n", "\t", "/", ";", "a", "Bc", "é", "9", "世", "\u{2009}", "'s", "\\"];
    for number in 0..PARTS.len().pow(4) {
        let text: String = (0..4).map(|place| PARTS[number / PARTS.len().pow(place) % PARTS.len()]).collect();
        let text = text.repeat(3);
        let spelled = serde_json::Value::from(text.as_str()).to_string();
        for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
            assert!(
                Encoding::least_spelled(&spelled[1..spelled.len() - 1]) <= encoding.count(&text),
                "{encoding:?} {text:?}"
            );
        }
    }
    assert_eq!(Encoding::least_spelled("six words that can be seen"), 5);
}

/// Compares a file of the source with its generated content. With `TCOMPACT_REGENERATE`, it writes the file.
fn check(file: &str, made: &[u8]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bpe").join(file);
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
    let o200k = entries(&tiktoken_rs::o200k_base().expect("o200k"), 199_998);
    let cl100k = entries(&tiktoken_rs::cl100k_base().expect("cl100k"), 100_256);
    let files = vocabularies(&o200k, &cl100k);
    for (name, file) in ["entries.table", "cl100k_base.table"].into_iter().zip(&files) {
        check(name, file);
    }
    check("classes.table", &classes(class_numbers()));
}

/// Each entry is found with its rank whatever follows it; nothing else is found, not even entries of the other
/// vocabulary.
#[test]
fn entries_are_found_and_nothing_else() {
    let o200k = entries(&tiktoken_rs::o200k_base().expect("o200k"), 199_998);
    let cl100k = entries(&tiktoken_rs::cl100k_base().expect("cl100k"), 100_256);
    for (table, own) in [(TokenTable::o200k_base(), &o200k), (TokenTable::cl100k_base(), &cl100k)] {
        let ranks: HashMap<&[u8], i32> = (0..).zip(own).map(|(rank, entry)| (entry.as_slice(), rank)).collect();
        for entry in o200k.iter().chain(&cl100k).filter(|entry| entry.len() >= 2) {
            let with_more = [entry.as_slice(), b"and more"].concat();
            let mut other = with_more.clone();
            other[entry.len() / 2] ^= 1;
            for text in [entry, &with_more, &other] {
                let known = ranks.get(&text[..entry.len()]).copied();
                assert_eq!(table.rank(text, entry.len()), known, "{}", text[..entry.len()].escape_ascii());
            }
        }
    }
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
            panic!("{class} is not a class of characters");
        };
        for range in ranges.ranges() {
            numbers[range.start() as usize..=range.end() as usize].fill(number);
        }
    }
    move |code| numbers[code as usize]
}

/// Generates `entries.table` and `cl100k_base.table` from the entries of both vocabularies in the order of their ranks.
fn vocabularies(o200k: &[Vec<u8>], cl100k: &[Vec<u8>]) -> [Vec<u8>; 2] {
    assert!(o200k.len() < NO_RANK as usize && cl100k.len() < NO_RANK as usize, "the ranks have room");
    let other_ranks: HashMap<&Vec<u8>, u32> = cl100k.iter().zip(0..).collect();
    let in_o200k: HashSet<&Vec<u8>> = o200k.iter().collect();
    let others = cl100k.iter().filter(|entry| !in_o200k.contains(entry)).map(|entry| (entry, NO_RANK));
    let ranked: Vec<(&Vec<u8>, u32)> =
        o200k.iter().zip(0..).chain(others).filter(|(entry, _)| entry.len() > 1).collect();
    let (bytes, offsets) = shared(ranked.iter().map(|(entry, _)| *entry).filter(|entry| entry.len() > SHORT));
    assert!(bytes.len() < 1 << OFFSET_BITS, "the offsets have room");

    let (mut short, mut long) = (Vec::new(), Vec::new());
    for (entry, rank) in ranked {
        assert!(entry.len() <= 1 << LENGTH_BITS, "the lengths have room");
        let hash = if entry.len() <= SHORT { short_hash(entry, entry.len()) } else { long_hash(entry) };
        let other_rank = other_ranks.get(entry).copied();
        if entry.len() <= SHORT {
            assert!(!entry.contains(&0xFF), "no text has this byte");
            short.push((hash, hash << SHORT_BUCKET_BITS | u64::from(rank), other_rank));
        } else {
            let place = offsets[entry] << LENGTH_BITS | (entry.len() as u64 - 1);
            let bits_of_hash = hash << LONG_BUCKET_BITS >> PLACE_BITS << PLACE_BITS;
            long.push((hash, bits_of_hash | place << RANK_BITS | u64::from(rank), other_rank));
        }
    }
    short.sort_unstable();
    long.sort_unstable();
    let header = [short.len(), long.len()].map(u32_bytes).concat();
    let (short_table, long_table) = (table(&short, SHORT_BUCKET_BITS), table(&long, LONG_BUCKET_BITS));
    let ranks = short.iter().chain(&long).map(|(.., rank)| rank.unwrap_or(NO_RANK));
    let other_ranks = ranks.flat_map(|rank| rank.to_le_bytes().into_iter().take(3)).collect();
    [[header, short_table, long_table, bytes].concat(), other_ranks]
}

/// For each `size` values the number of their block, and the distinct blocks.
fn blocks<T: PartialEq>(values: &[T], size: usize) -> (Vec<usize>, Vec<&[T]>) {
    let mut blocks: Vec<&[T]> = Vec::new();
    let block_of = |block| {
        blocks.iter().position(|known| *known == block).unwrap_or_else(|| {
            blocks.push(block);
            blocks.len() - 1
        })
    };
    (values.chunks(size).map(block_of).collect(), blocks)
}

/// Bytes that contain all entries, and their places. An entry that is part of another needs no bytes.
fn shared<'e>(entries: impl Iterator<Item = &'e Vec<u8>>) -> (Vec<u8>, HashMap<&'e Vec<u8>, u64>) {
    let mut longest_first: Vec<&Vec<u8>> = entries.collect();
    longest_first.sort_by_key(|entry| Reverse(entry.len()));
    let (mut bytes, mut offsets) = (Vec::new(), HashMap::new());
    for entry in longest_first {
        let offset = memchr::memmem::find(&bytes, entry).unwrap_or(bytes.len());
        if offset == bytes.len() {
            bytes.extend_from_slice(entry);
        }
        offsets.insert(entry, offset as u64);
    }
    (bytes, offsets)
}

/// Generates a table from slots in the order of their hashes.
fn table(slots: &[(u64, u64, Option<u32>)], bucket_bits: u32) -> Vec<u8> {
    let begin = |bucket: usize| slots.partition_point(|(hash, ..)| hash >> (64 - bucket_bits) < bucket as u64);
    let begins: Vec<usize> = (0..=1 << bucket_bits).map(begin).collect();
    let sizes: Vec<u64> = begins.windows(2).map(|two| (two[1] - two[0]) as u64).collect();
    assert!(sizes.iter().all(|size| *size < 1 << 4), "the sizes have room");
    let groups = begins.chunks(BUCKETS).zip(sizes.chunks(BUCKETS)).flat_map(|(begins, sizes)| {
        let sizes = sizes.iter().rev().fold(0, |sizes, size| sizes << 4 | size);
        u32_bytes(begins[0]).into_iter().chain(sizes.to_le_bytes())
    });
    groups.chain(slots.iter().flat_map(|slot| slot.1.to_le_bytes())).collect()
}

fn u32_bytes(number: usize) -> [u8; 4] {
    u32::try_from(number).expect("a count").to_le_bytes()
}

/// Generates the file for the classes that `class_number` returns for each code point.
fn classes(class_number: impl Fn(u32) -> u8) -> Vec<u8> {
    let numbers: Vec<u8> = (0..0x11_0000).map(class_number).collect();
    let (block_of, blocks) = blocks(&numbers, 256);
    assert_eq!(block_of.len(), BLOCKS);
    let block_of = block_of.into_iter().map(|block| u8::try_from(block).expect("fewer than 256 blocks"));
    block_of.chain(blocks.concat()).collect()
}
