//! Words by which a sentence commands, forbids, limits or corrects.
//!
//! Also: lists of words, and whether a text has one of them. A list is one string, with `|` between the words.
//!
//! Also: what the next work is about, as words: sentences and calls that share them come first among their kind.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;

/// A language a row, at most 24 words each. `*` stands for any ending, and `n't` for every verb that has it.
const CUES: [&str; 7] = [
    "never|no|not|n't|must|only|always|at most|at least|avoid|keep|ensure|make|should|without|instead|actually|stop|from now on|require*|exact*|forbid*|max|rule*",
    "nie|niemals|nicht|kein*|muss|müssen|nur|immer|höchstens|mindestens|maximal|soll*|ohne|statt*|sondern|vermeid*|ab jetzt|verboten|unbedingt|genau|darf|dürfen|regel*|bleib*",
    "jamais|ne|pas|doit|doivent|seulement|uniquement|toujours|au plus|au moins|sans|plutôt|au lieu|désormais|interdit*|obligatoire*|exactement|il faut|évite*|garde*|aucun*|maximum|règle*|arrête*",
    "nunca|no|debe*|solo|sólo|solamente|siempre|como máximo|al menos|evita*|sin|en vez|en lugar|a partir de ahora|prohibido|exactamente|hay que|tiene que|mantén|ningún*|jamás|únicamente|regla*|deja de",
    "não|nunca|deve*|só|somente|apenas|sempre|no máximo|pelo menos|evite*|sem|em vez|ao invés|a partir de agora|proibido|exatamente|precisa|tem que|mantenha|nenhum*|jamais|regra*|pare|obrigatóri*",
    "никогда|не|нельзя|должен|должн*|только|всегда|не более|не менее|максимум|минимум|обязательно|без|вместо|запрещ*|отныне|избега*|ровно|лишь|прекрати*|надо|нужно|никто|правил*",
    "mai|non|deve*|solo|soltanto|sempre|al massimo|almeno|evita*|senza|invece|anziché|d'ora in poi|vietato|esattamente|bisogna|mantieni|nessun*|unicamente|smetti|obbligatori*|devono|regol*|massimo",
];

/// The same in scripts that join words or their endings.
const WITHOUT_BLANKS: [&str; 3] = [
    "不要|不得|不能|不可|不许|必须|只能|务必|禁止|一律|别|请勿|至少|最多|不超过|改为|改成|而不是|从现在起|应该|保持|避免|总是|规则",
    "必ず|ないで|禁止|だけ|のみ|以内|以上|以下|最大|最低|代わりに|べき|なければ|てはいけ|てはなら|ずに|今後|やめて|避け|絶対|常に|決して|変更して|ルール",
    "반드시|지 마|지 말|금지|최대|최소|대신|항상|절대|해야|안 됩|안 돼|말고|이제부터|없이|이하|이상|유지|피하|피해|만 사용|꼭|규칙|지 않",
];

static CUE: LazyLock<Regex> = LazyLock::new(|| {
    let word = |word: &str| match word {
        "n't" => r"(?:\w+n['’]t|dont|cant|wont)".to_owned(),
        word => regex::escape(word.trim_end_matches('*')).replace(' ', r"\s+").replace('\'', "['’]"),
    };
    let (stems, words): (Vec<&str>, Vec<&str>) =
        CUES.iter().flat_map(|row| row.split('|')).partition(|word| word.ends_with('*'));
    let of = |words: Vec<&str>| words.into_iter().map(word).collect::<Vec<_>>().join("|");
    // Without look-around: texts in any script are searched as fast.
    pattern(&format!(r"(?i)(?:^|[^\w'’])(?:(?:{})(?:$|\W)|{})|{}", of(words), of(stems), WITHOUT_BLANKS.join("|")))
});

/// Whether a text commands, forbids, limits or corrects.
pub(super) fn has_cue(text: &str) -> bool {
    CUE.is_match(text)
}

/// Builds the pattern of this file.
#[cfg(test)]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&*CUE]
}

/// Whether a text begins with one of the words, whatever its case. The words are in lower case.
pub(super) fn opens_with(text: &str, words: &str) -> bool {
    let text = text.trim_start();
    words.split('|').any(|word| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)))
}

/// Whether a text in lower case has one of the words.
pub(super) fn has(lower: &str, words: &str) -> bool {
    words.split('|').any(|word| lower.contains(word))
}

/// Whether a text has one of the words, or a longer one that begins so, whatever its case.
pub(super) fn has_word(text: &str, words: &str) -> bool {
    let lower = text.to_lowercase();
    let is_start = |at: usize, word: &str| !word.is_ascii() || !lower[..at].ends_with(char::is_alphanumeric);
    words.split('|').any(|word| lower.match_indices(word).any(|(at, _)| is_start(at, word)))
}

/// The words of a text, without single letters; of a script without blanks every pair of characters.
pub(crate) fn words_of(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric()).flat_map(|word| {
        let is_wide: Vec<char> = word.chars().filter(|c| *c >= '\u{2e80}').collect();
        match (is_wide.is_empty(), word.chars().nth(1).is_some()) {
            (true, true) => vec![word.to_owned()],
            (true, false) => Vec::new(),
            _ => is_wide.windows(2).map(|pair| pair.iter().collect()).collect(),
        }
    })
}

/// The words of a text of the user.
#[derive(Debug, Default)]
pub(super) struct Focus(HashSet<String>);

impl Focus {
    pub(super) fn new(text: &str) -> Self {
        Focus(words(text).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many of the words each text shares, without words that many of the texts have.
    pub(super) fn shared(&self, texts: impl ExactSizeIterator<Item = String>) -> Vec<usize> {
        /// A word of more texts than these, and of more than one in so many, tells none from another.
        const FEW: usize = 2;
        const ONE_IN: usize = 4;
        if self.is_empty() {
            return vec![0; texts.len()];
        }
        let shares = |text: String| words(&text).filter(|word| self.0.contains(word)).collect::<HashSet<_>>();
        let found: Vec<HashSet<String>> = texts.map(shares).collect();
        let mut times: HashMap<&str, usize> = HashMap::new();
        found.iter().flatten().for_each(|word| *times.entry(word).or_default() += 1);
        let tells = |word: &&String| times[word.as_str()] <= FEW.max(found.len() / ONE_IN);
        found.iter().map(|words| words.iter().filter(tells).count()).collect()
    }
}

/// The words of a text and the parts of its names, in lower case and without a plural's end: those of three letters or
/// more, and pairs of a script without blanks.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut parts = format!("{text} ");
    // `parseConfig` has two parts, and is a word as a whole.
    for c in text.chars() {
        if c.is_uppercase() && parts.ends_with(char::is_lowercase) {
            parts.push(' ');
        }
        parts.push(c);
    }
    let words: Vec<String> = words_of(&parts.to_lowercase()).collect();
    let is_long = |word: &String| word.chars().count() > 2 || word.chars().any(|c| c >= '\u{2e80}');
    words.into_iter().filter(is_long).map(|word| word.strip_suffix('s').map(str::to_owned).unwrap_or(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_24_words_a_language() {
        for row in CUES.iter().chain(&WITHOUT_BLANKS) {
            assert!(row.split('|').count() <= 24, "{}: {row}", row.split('|').count());
        }
    }

    #[test]
    fn rules_and_corrections_have_a_cue() {
        for rule in [
            "Only Pia may merge into release.",
            "Never touch the migrations folder",
            "dont push",
            "It mustn’t block.",
            "Make the timeout 45 seconds instead of 30.",
            "Retries: at most 3.",
            "MAX 3 retries",
            "no new dependencies",
            "Actually, use the queue.",
            "请不要删除任何文件",
            "必须用 Python 3.9",
            "テストを変更しないでください",
            "마이그레이션은 건드리지 마세요",
            "Bitte niemals direkt pushen.",
            "Ne touche pas aux migrations.",
            "Nunca borres la tabla.",
            "Não apague a tabela.",
            "Никогда не удаляй таблицу.",
            "Usa solo Python 3.9.",
        ] {
            assert!(has_cue(rule), "{rule}");
        }
    }

    #[test]
    fn requests_have_none() {
        for request in [
            "Now look at issue 17.",
            "Turn 0: please look at file number 0 of the report and tell me what its heading says.",
            "Deploy the docs now.",
            "go on",
            "Note the notion of nodes.",
            "I see range(MAX_RETRIES + 1) in the diff.",
            "I want the agent to open the file.",
            "Lies jetzt Datei 7.",
            "看一下第七个文件。",
        ] {
            assert!(!has_cue(request), "{request}");
        }
    }
}

#[cfg(test)]
mod focus_tests {
    use super::*;

    #[test]
    fn words_are_shared_in_any_script_and_in_parts_of_names() {
        for (focus, text, shared) in [
            ("the refunds", "cat src/refund.rs", 1),
            ("parse config", "`parseConfig` fails", 2),
            ("src/list_view.rs", "The view of the list.", 2),
            ("退款处理", "先看退款。", 1),
            ("таймаут шлюза", "Таймаут вырос.", 1),
            ("an it", "an it", 0),
            ("", "anything", 0),
        ] {
            assert_eq!(Focus::new(focus).shared([text.to_owned()].into_iter()), [shared], "{focus}: {text}");
        }
    }

    #[test]
    fn a_word_of_many_texts_tells_none_from_another() {
        let texts = (0..12).map(|at| format!("the line {at}{}", if at == 7 { " of refunds" } else { "" }));
        let shared = Focus::new("the refund").shared(texts);
        assert_eq!(shared.iter().sum::<usize>(), 1);
        assert_eq!(shared[7], 1);
    }
}
