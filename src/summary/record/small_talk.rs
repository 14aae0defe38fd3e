//! Recognizes small talk: thanks, praise, greetings and agreement.

use std::collections::HashSet;
use std::sync::LazyLock;

use foldhash::fast::RandomState;

use crate::summary::record::segmentation::sentences;

/// Whether a sentence is small talk: thanks, praise, a greeting or agreement.
pub(super) fn is_small_talk(sentence: &str) -> bool {
    const LONG: usize = 60;
    const WORDS: &str = "thanks thank you very so much many a lot ok okay alright all right great good nice well cool fine perfect excellent \
        awesome wonderful super lovely amazing brilliant neat sweet yes yeah yep no sure hm hmm um uh oh ah hi hello hey there morning afternoon \
        evening work job going far looks look sounds sound like it this that is are i we see got understood noted appreciate it's that's i'm back \
        now again and then to me here please just really indeed exactly agreed right bye goodbye ty thx cheers pls had a glad thumbs ta seems fun \
        谢谢 谢谢你 多谢 好 好的 很好 不错 嗯 是的 可以 对 收到 明白 辛苦了 你好 干得好 没问题 早上好 下午好 晚上好 哈哈 行 太好了 不客气";
    if sentence.len() > LONG {
        return false;
    }
    let words = sentence.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty());
    static IDLE_WORDS: LazyLock<HashSet<&str, RandomState>> = LazyLock::new(|| WORDS.split_whitespace().collect());
    let known = |word: &&str| IDLE_WORDS.contains(word.to_lowercase().as_str());
    let words: Vec<&str> = words.collect();
    let idle = words.iter().filter(|word| known(word)).count();
    let thanks = words.iter().any(|word| ["thank", "thanks", "谢谢"].contains(&word.to_lowercase().as_str()));
    // Thanks may name their reason.
    !words.is_empty() && (idle == words.len() || thanks && idle * 10 >= words.len() * 7)
}

/// Whether a message is only small talk.
pub(super) fn is_only_small_talk(text: &str) -> bool {
    sentences(text.trim()).into_iter().all(is_small_talk)
}

/// Removes small talk from the start of a text.
pub(super) fn without_leading_small_talk(text: &str) -> String {
    let all = sentences(text);
    let idle = all.iter().take_while(|sentence| is_small_talk(sentence)).count();
    match all.get(idle).filter(|_| idle > 0) {
        Some(first) => text.find(first).map_or(text, |at| &text[at..]).to_owned(),
        None => text.to_owned(),
    }
}

/// Whether a text begins with small talk that neither agrees nor denies, and so answers nothing: `Lovely.`
pub(super) fn is_praise(text: &str) -> bool {
    const ANSWERS: [&str; 24] = [
        "yes",
        "yeah",
        "yep",
        "no",
        "nope",
        "sure",
        "ok",
        "okay",
        "right",
        "exactly",
        "agreed",
        "indeed",
        "fine",
        "all",
        "it",
        "that",
        "好",
        "好的",
        "是",
        "是的",
        "对",
        "可以",
        "没问题",
        "行",
    ];
    let opening = sentences(text).into_iter().next().filter(|opening| is_small_talk(opening)).unwrap_or("");
    let mut words = opening.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).peekable();
    words.peek().is_some() && words.all(|word| !ANSWERS.contains(&word.to_lowercase().as_str()))
}
