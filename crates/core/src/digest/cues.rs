//! Words by which a sentence commands, forbids, limits or corrects.

use std::sync::LazyLock;

use crate::digest::focus::is_wide;

/// A language a row, at most 24 words each. `*` stands for any ending, and `n't` for every verb that has it.
#[rustfmt::skip]
const CUES: [&[&str]; 7] = [
    &[
        "never", "no", "not", "n't", "must", "only", "always", "at most", "at least", "avoid", "keep", "ensure",
        "make", "should", "without", "instead", "actually", "stop", "from now on", "require*", "exact*", "forbid*",
        "max", "rule*",
    ],
    &[
        "nie", "niemals", "nicht", "kein*", "muss", "müssen", "nur", "immer", "höchstens", "mindestens", "maximal",
        "soll*", "ohne", "statt*", "sondern", "vermeid*", "ab jetzt", "verboten", "unbedingt", "genau", "darf",
        "dürfen", "regel*", "bleib*",
    ],
    &[
        "jamais", "ne", "pas", "doit", "doivent", "seulement", "uniquement", "toujours", "au plus", "au moins",
        "sans", "plutôt", "au lieu", "désormais", "interdit*", "obligatoire*", "exactement", "il faut", "évite*",
        "garde*", "aucun*", "maximum", "règle*", "arrête*",
    ],
    &[
        "nunca", "no", "debe*", "solo", "sólo", "solamente", "siempre", "como máximo", "al menos", "evita*", "sin",
        "en vez", "en lugar", "a partir de ahora", "prohibido", "exactamente", "hay que", "tiene que", "mantén",
        "ningún*", "jamás", "únicamente", "regla*", "deja de",
    ],
    &[
        "não", "nunca", "deve*", "só", "somente", "apenas", "sempre", "no máximo", "pelo menos", "evite*", "sem",
        "em vez", "ao invés", "a partir de agora", "proibido", "exatamente", "precisa", "tem que", "mantenha",
        "nenhum*", "jamais", "regra*", "pare", "obrigatóri*",
    ],
    &[
        "никогда", "не", "нельзя", "должен", "должн*", "только", "всегда", "не более", "не менее", "максимум",
        "минимум", "обязательно", "без", "вместо", "запрещ*", "отныне", "избега*", "ровно", "лишь", "прекрати*",
        "надо", "нужно", "никто", "правил*",
    ],
    &[
        "mai", "non", "deve*", "solo", "soltanto", "sempre", "al massimo", "almeno", "evita*", "senza", "invece",
        "anziché", "d'ora in poi", "vietato", "esattamente", "bisogna", "mantieni", "nessun*", "unicamente",
        "smetti", "obbligatori*", "devono", "regol*", "massimo",
    ],
];

/// The same in scripts that join words or their endings.
#[rustfmt::skip]
const WITHOUT_BLANKS: [&[&str]; 3] = [
    &[
        "不要", "不得", "不能", "不可", "不许", "必须", "只能", "务必", "禁止", "一律", "别", "请勿", "至少", "最多", "不超过", "改为", "改成", "而不是",
        "从现在起", "应该", "保持", "避免", "总是", "规则",
    ],
    &[
        "必ず", "ないで", "禁止", "だけ", "のみ", "以内", "以上", "以下", "最大", "最低", "代わりに", "べき", "なければ", "てはいけ", "てはなら", "ずに",
        "今後", "やめて", "避け", "絶対", "常に", "決して", "変更して", "ルール",
    ],
    &[
        "반드시", "지 마", "지 말", "금지", "최대", "최소", "대신", "항상", "절대", "해야", "안 됩", "안 돼", "말고", "이제부터", "없이", "이하", "이상",
        "유지", "피하", "피해", "만 사용", "꼭", "규칙", "지 않",
    ],
];

/// The cues of languages with blanks, by their first byte.
static BY_FIRST_BYTE: LazyLock<[Vec<Cue>; 256]> = LazyLock::new(|| {
    let mut found = [const { Vec::new() }; 256];
    for cue in CUES.into_iter().flatten().filter(|cue| **cue != "n't") {
        let mut words = cue.trim_end_matches('*').split(' ');
        let first = words.next().unwrap_or_default();
        let cue = Cue { first, rest: words.collect(), is_stem: cue.ends_with('*') };
        found[usize::from(first.as_bytes()[0])].push(cue);
    }
    found
});

/// A cue of one or more words.
struct Cue {
    first: &'static str,
    rest: Vec<&'static str>,
    /// Whether its last word stands for all that begin so.
    is_stem: bool,
}

impl Cue {
    /// Whether the words of a text in lower case begin with it.
    fn begins(&self, words: &[&str]) -> bool {
        let wanted = std::iter::once(&self.first).chain(&self.rest);
        if words.len() < 1 + self.rest.len() {
            return false;
        }
        for (number, (wanted, word)) in wanted.zip(words).enumerate() {
            let is_last = number == self.rest.len();
            let is_it = if is_last && self.is_stem { word.starts_with(wanted) } else { word == wanted };
            if !is_it {
                return false;
            }
        }
        true
    }
}

/// Whether a line of a text, or a sentence of it, commands, forbids, limits or corrects, and is not a question.
pub(super) fn commands(text: &str) -> bool {
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let ends = match c {
            '?' | '？' => {
                start = at + c.len_utf8();
                continue;
            }
            '\n' | '。' | '！' => true,
            '.' | '!' => text[at + 1..].starts_with(char::is_whitespace),
            _ => false,
        };
        if ends {
            if has_cue(&text[start..at]) {
                return true;
            }
            start = at + c.len_utf8();
        }
    }
    has_cue(&text[start..])
}

/// Whether a text commands, forbids, limits or corrects.
pub(super) fn has_cue(text: &str) -> bool {
    if text.contains(is_wide) && WITHOUT_BLANKS.iter().any(|row| row.iter().any(|word| text.contains(word))) {
        return true;
    }
    let lower = text.to_lowercase().replace('’', "'");
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '_').filter(|word| !word.is_empty()).collect();
    for (at, word) in words.iter().enumerate() {
        let is_negated = word.ends_with("n't") && word.len() > "n't".len() || matches!(*word, "dont" | "cant" | "wont");
        let cues = &BY_FIRST_BYTE[usize::from(word.as_bytes()[0])];
        if is_negated || cues.iter().any(|cue| cue.begins(&words[at..])) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_24_words_a_language() {
        for row in CUES.iter().chain(&WITHOUT_BLANKS) {
            assert!(row.len() <= 24, "{}: {row:?}", row.len());
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
