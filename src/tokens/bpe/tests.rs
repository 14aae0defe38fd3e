//! Known counts; and where the table files are made, and those of the source held against what is made.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;

use super::Encoding;
use super::classes::{BLOCKS, Classes};
use super::table::{
    FILTER_BITS, GROUP, LENGTH_BITS, LONG_BUCKET_BITS, NO_PAIR, OFFSET_BITS, PAIRS, PLACE_BITS, RANK_BITS, SHORT,
    SHORT_BUCKET_BITS, Table, long_hash, short_hash,
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

/// Each entry is found under its rank whatever follows it, and nothing else is.
#[test]
fn entries_are_found_and_nothing_else() {
    for (table, bpe, number) in [
        (Table::o200k_base(), tiktoken_rs::o200k_base(), 199_998),
        (Table::cl100k_base(), tiktoken_rs::cl100k_base(), 100_256),
    ] {
        let entries = entries(&bpe.expect("a vocabulary"), number);
        let ranks: HashMap<&[u8], i32> = (0..).zip(&entries).map(|(rank, entry)| (entry.as_slice(), rank)).collect();
        for entry in entries.iter().filter(|entry| entry.len() >= 2) {
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
    let (mut short, mut long) = (Vec::new(), Vec::new());
    let (bytes, offsets) = shared(entries.iter().filter(|entry| entry.len() > SHORT));
    let mut pairs = vec![NO_PAIR.cast_unsigned(); 1 << 16];
    let mut filter = vec![0u8; 1 << (FILTER_BITS - 3)];
    assert!(entries.len() <= 1 << RANK_BITS, "the ranks have room");
    for (rank, entry) in (0u32..).zip(entries) {
        if let [a, b] = entry[..] {
            pairs[u16::from_be_bytes([a, b]) as usize] = rank;
        }
        if entry.len() < 2 {
            continue;
        }
        assert!(entry.len() <= 1 << LENGTH_BITS, "the lengths have room");
        let hash = if entry.len() <= SHORT { short_hash(entry, entry.len()) } else { long_hash(entry) };
        let bit = hash >> (64 - FILTER_BITS);
        filter[(bit >> 3) as usize] |= 1 << (bit & 7);
        if entry.len() <= SHORT {
            assert!(!entry.contains(&0xFF), "no text has this byte");
            short.push((hash, hash << SHORT_BUCKET_BITS | u64::from(rank)));
        } else {
            let place = offsets[entry] << LENGTH_BITS | (entry.len() as u64 - 1);
            let bits_of_hash = hash << LONG_BUCKET_BITS >> PLACE_BITS << PLACE_BITS;
            long.push((hash, bits_of_hash | place << RANK_BITS | u64::from(rank)));
        }
    }
    assert!(bytes.len() < 1 << OFFSET_BITS, "the offsets have room");
    let (block_of, blocks) = blocks(&pairs, PAIRS);
    let header = [blocks.len(), short.len(), long.len()].map(u32_bytes).concat();
    let block_of = block_of.into_iter().flat_map(|block| u16::try_from(block).expect("few blocks").to_le_bytes());
    let pairs = blocks.concat().iter().flat_map(|rank| rank.to_le_bytes()).collect();
    [header, block_of.collect(), pairs, filter, table(short, SHORT_BUCKET_BITS), table(long, LONG_BUCKET_BITS), bytes]
        .concat()
}

/// For each `size` values the number of their block, and the blocks, each once.
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

/// Bytes that all entries are in, and where: an entry that is part of another needs none of its own.
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

/// A table of slots, given with their hashes.
fn table(mut slots: Vec<(u64, u64)>, bucket_bits: u32) -> Vec<u8> {
    slots.sort_unstable();
    let begin = |bucket: usize| slots.partition_point(|(hash, _)| hash >> (64 - bucket_bits) < bucket as u64);
    let begins: Vec<usize> = (0..=1 << bucket_bits).map(begin).collect();
    let groups = begins.chunks(GROUP).flat_map(|group| u32_bytes(group[0]));
    let in_group = |group: &[usize]| group.iter().map(|begin| begin - group[0]).collect::<Vec<_>>();
    let in_groups = begins.chunks(GROUP).flat_map(in_group).map(|begin| u8::try_from(begin).expect("a small group"));
    groups.chain(in_groups).chain(slots.iter().flat_map(|slot| slot.1.to_le_bytes())).collect()
}

fn u32_bytes(number: usize) -> [u8; 4] {
    u32::try_from(number).expect("a count").to_le_bytes()
}

/// The file for the classes that `class_number` gives for each code point.
fn classes(class_number: impl Fn(u32) -> u8) -> Vec<u8> {
    let numbers: Vec<u8> = (0..0x11_0000).map(class_number).collect();
    let (block_of, blocks) = blocks(&numbers, 256);
    assert_eq!(block_of.len(), BLOCKS);
    let block_of = block_of.into_iter().map(|block| u8::try_from(block).expect("fewer than 256 blocks"));
    block_of.chain(blocks.concat()).collect()
}
