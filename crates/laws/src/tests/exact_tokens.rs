//! Compares exact counts with tiktoken-rs, whose vocabularies and patterns are those of Python's tiktoken.

use std::sync::LazyLock;

use crate::all_cases::share;
use crate::tokens::bpe::Encoding;
use proptest::prelude::*;
use tiktoken_rs::CoreBPE;

use crate::tests::cases;

static REFERENCES: LazyLock<[(Encoding, CoreBPE); 2]> = LazyLock::new(|| {
    [
        (Encoding::O200kBase, tiktoken_rs::o200k_base().expect("o200k_base")),
        (Encoding::Cl100kBase, tiktoken_rs::cl100k_base().expect("cl100k_base")),
    ]
});

fn assert_equal(text: &str) {
    for (encoding, reference) in REFERENCES.iter() {
        let expected = reference.encode_ordinary(text).len() as u64;
        let shown: String = text.chars().take(200).collect();
        assert_eq!(encoding.count(text), expected, "{} of {shown:?}", encoding.name());
    }
}

/// Fragments that meet at every boundary of the patterns: case, marks, contractions, white space, line ends, digits.
fn awkward_text() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        4 => "[a-zA-Z]{1,12}",
        2 => "[ \t]{1,5}",
        2 => "[\r\n]{1,3}",
        2 => "[0-9]{1,7}",
        2 => "[!-/:-@\\[-`{-~]{1,6}",
        1 => prop::sample::select(vec![
            "'s", "'S", "'ſ", "'re", "'LL", "'Ve", "'d", "'x", "'", "ſ", "K", "ǅ", "ʰ", "\u{301}", "e\u{301}", "\u{20dd}", "ª",
            "中文字", "かな", "한국어", "Привет", "مرحبا", "ไทย", "हिन्दी", "😀", "👩‍👩‍👧", "½", "Ⅷ", "٣", "𝟘", "𐐀", "\u{85}", "\u{a0}", "\u{2028}",
            "\u{3000}", "\u{200b}", "\u{feff}", "\u{0}", "\u{7f}", "<|endoftext|>", "<|fim_prefix|>", "//", "\u{fffd}", "\u{10ffff}",
        ]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(fragment, 0..24).prop_map(|fragments| fragments.concat())
}

/// Long runs of characters of three bytes, with other characters among them.
fn text_without_spaces() -> impl Strategy<Value = String> {
    let run = prop_oneof![
        4 => "[的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学]{1,60}",
        3 => "[\u{4e00}-\u{9fff}，。、：；！？]{1,60}",
        2 => "[\u{3041}-\u{30ff}]{1,40}",
        2 => "[\u{ac00}-\u{d7a3}]{1,30}",
        2 => "[\u{800}-\u{ffff}]{1,30}",
        1 => "[\u{900}-\u{97f}]{1,30}|[\u{e00}-\u{e7f}]{1,30}|[\u{10a0}-\u{10ff}]{1,30}",
        1 => "[a-z0-9 éя😀]{1,4}",
    ];
    prop::collection::vec(run, 0..6).prop_map(|runs| runs.concat())
}

proptest! {
    #![proptest_config(cases(4_000))]

    #[test]
    fn awkward_texts_count_as_tiktoken_counts(text in awkward_text()) {
        assert_equal(&text);
    }

    #[test]
    fn texts_without_spaces_count_as_tiktoken_counts(text in text_without_spaces()) {
        assert_equal(&text);
    }

    #[test]
    fn any_characters_count_as_tiktoken_counts(text in prop::collection::vec(any::<char>(), 0..40)) {
        assert_equal(&text.into_iter().collect::<String>());
    }
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn long_words_count_as_tiktoken_counts(text in "[ab]{200,3000}|[a-z]{200,3000}|[A-Za-z0-9+/]{200,3000}|[中文的是了]{200,800}") {
        assert_equal(&text);
    }
}

#[test]
fn long_runs_of_one_character_count_as_tiktoken_counts() {
    for c in ['a', 'Z', '/', '!', '0', '=', '中', '\n', ' ', '\u{301}', '😀'] {
        for length in [255, 256, 257, 511, 513, 10_000] {
            assert_equal(&c.to_string().repeat(length));
            assert_equal(&format!("{}x", c.to_string().repeat(length)));
        }
    }
}

/// tiktoken-rs and Python's tiktoken overflow their stacks on this text, so its count is extrapolated from a shorter
/// run.
#[test]
fn a_megabyte_of_spaces_is_counted() {
    let eighths = share(1 << 17);
    let spaces = " ".repeat(8 * eighths);
    for (encoding, reference) in REFERENCES.iter() {
        let eighth = reference.encode_ordinary(&spaces[..eighths]).len() as u64;
        let found = encoding.count(&spaces);
        assert!(found.abs_diff(eighth * 8) <= 8, "{}: {found} for eight times {eighth}", encoding.name());
        assert!(encoding.count(&format!("{spaces}x")) >= found);
    }
}
