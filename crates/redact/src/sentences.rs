//! Finds secrets that a sentence announces, in English and in other languages: `the password is …`.
//!
//! A sentence has more to say about passwords than what they are, so a value has a letter and a digit, and is nothing that
//! such sentences are about ([`crate::values`]).

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes;

use crate::kinds::{PASSWORD, SECRET};
use crate::names::NameClass;
use crate::pattern::ascii_pattern;
use crate::places::is_stand_in;
use crate::values::ValuePlace::{self, Announced, Anywhere, Beside, Sentence};
use crate::{SecretSpan, elements, values};

/// The kind, the place, and the words before the value; words behind it follow `<>`. `§` is the word for a password in other
/// languages, `¤` the name of a key, and `~` some words that say whose it is.
#[rustfmt::skip]
const SENTENCES: &[(&str, ValuePlace, &str)] = &[
    (PASSWORD, Anywhere, r#"(?:§)\\*["']?[ \t]*(?:[:=]|：)"#),
    (PASSWORD, Sentence, r"(?:§)(?:[ \t]+(?:für|pour|para|per|de|del|do|di|voor|dla|för|для|от)[ \t]+~(?:[ \t]*:|[ \t]+(?:ist|lautet|est|es|é|è|is|to|är|это|—))|[ \t]*(?:ist|lautet|est|es|é|è|is|to|jest|это|är|er|on|je|este|là|adalah|هي|है|είναι|היא|คือ|是|为|為|は|는|은|—|-)[ \t]*:?)?"),
    (PASSWORD, Sentence, r"\b(?i:pass(?:word|phrase|code|wd)|pw)(?:[ \t]+(?:for|of|on|to)[ \t]+~(?:[ \t]*:|[ \t]+(?:is|was|(?:re)?set to|changed to)[ \t]*:?)|(?:[ \t]+(?:I|we|you)[ \t]+\w{1,16})?[ \t]+(?:is|was|will be|should be|has been|è|ist)(?:[ \t]+(?:now|still|(?:re)?set to|changed to))?[ \t]*:?|[ \t]+\w{1,32}[ \t]+=|[ \t]+(?:(?:changed|set|reset|rotated|updated|back)[ \t]+(?:to|from)|from))[ \t]"),
    (PASSWORD, Sentence, r"\b(?i:use|using|with|try|enter|type|temporary|temp|initial|default|generated|new|root|admin)[ \t]+(?:the[ \t]+)?(?:\w{1,32}[ \t]+)?(?i:pass(?:word|phrase|code))[ \t]"),
    (SECRET, Announced, r"(?:^|[^\w.-])¤(?:[ \t]+(?:for|of)[ \t]+~(?:[ \t]*:|[ \t]+(?:is|was))|[ \t]+(?:is|was|ist|lautet|est|es|è|é)(?:[ \t]+now)?[ \t]*:?|[ \t]+(?:(?:(?:re)?set|changed)[ \t]+)?to|[ \t]+(?:provided|created)[ \t]*:)[ \t]"),
    (SECRET, Announced, r"¤[ \t]*(?:是|为|為|は|는|은)"),
    (SECRET, Sentence, r"(?:^|[^\w.-])¤(?:[ \t]+-)?[ \t]"),
    (SECRET, Announced, r"(?:\b(?i:use|using|with|try|enter|nimm|verwende|utilise[rz]?|usa)[ \t]|用[ \t]?)<>[ \t]+(?:(?i:as|als|comme|como|come)[ \t]+|作为[ \t]*)(?:(?i:the|your|my|our|an?)[ \t]+)?(?:\w{1,20}[ \t]+)?¤(?:[.,;!?)]|[ \t]*$|[ \t]+(?:for|to|in|on|and|of)\b)"),
    (PASSWORD, Sentence, r"(?:\b(?i:use|using|with|try|enter|type|and|nimm|verwende|utilise[rz]?|usa)[ \t]|用[ \t]?)<>[ \t]+(?:(?i:as|als|comme|como|come)[ \t]+|作为[ \t]*)(?:(?i:the|your|my|our|an?|das|le|la)[ \t]+)?(?:\w{1,20}[ \t]+)?(?:(?i:pass(?:word|phrase|code))|§)(?:[.,;!?)]|[ \t]*$|[ \t]+(?:for|to|in|on|and|of)\b)"),
    (PASSWORD, Sentence, r"\b(?i:(?:re)?set|changed?)[ \t]+(?:(?i:the|your|my|its|a)[ \t]+)?(?:\w{1,32}[ \t]+)?(?i:pass(?:word|phrase|code))[ \t]+to[ \t]"),
    (PASSWORD, Sentence, r"\b(?i:recovery|backup)[ _-](?i:code|key)[ \t]*[:=]"),
    (PASSWORD, Beside, r"(?:^|[^\w.])(?i:pass(?:word|phrase|code)|pwd?)(?: to| –| —)? \(?"),
    (SECRET, Sentence, r"\b(?:my|your|our|the|this)[ \t]+(?:(?i:anthropic|aws|azure|claude|deploy|gemini|github|google|openai|stripe)[ \t]+)?key(?:[ \t]+is)?[ \t]"),
    (SECRET, Announced, r"(?:(?:[Cc]lé|[Cc]lef|[Cc]lave(?: de)?|[Cc]have(?: de)?|[Cc]hiave|[Kk]lucz) (?i:api)|[Ss]chlüssel|ключ|Ключ|токен|Токен|секрет|Секрет|密钥|令牌|秘密|キー|トークン|토큰|키|[Jj]eton)[ \t]*(?:[:=]|：|[ \t](?:ist|lautet|est|es|é|è|to)[ \t]|是|为|為|は|는|은)"),
    (PASSWORD, Sentence, r"\b(?i:user(?:name)?[ \t]*/[ \t]*pass(?:word)?|log[- ]?in|credentials?|creds)[ \t]*[:=][ \t]*[`*]*[\w.@+-]{1,40}[ \t]*[/:|]"),
    (PASSWORD, Beside, r"\b(?i:credentials?|creds|zugangsdaten|identifiants|credenciales)(?:[ \t]*[:=]|[ \t]+(?:are|is)[ \t]*:?)[ \t]*[`*]*[\w.@+-]{1,40}[ \t]*[/:|]"),
    (PASSWORD, Beside, r"\b(?i:default[ \t]+(?:credentials?|log[- ]?in)|log[- ]?in(?:[ \t]+(?:with|as|using))?)[ \t]+[`*]*[\w.@+-]{1,40}(?::|[ \t]/[ \t])"),
    (PASSWORD, Beside, r"\b(?i:(?:log|sign)[- ]?in[ \t]+(?:with|as|using))[ \t]+[`*]*[\w.@+-]{1,40}[`*]*[ \t]+and[ \t]"),
    // A user and a password beside each other.
    (PASSWORD, Sentence, r"\b(?i:user(?:name)?|login)[ \t]*[:=][ \t]*[`*]*[\w.@+-]{1,40}[`*]*[ \t]*[,;/|]?[ \t]*(?i:pass(?:word|wd)?|pwd?)[ \t]*[:=]"),
    (PASSWORD, Sentence, r"\b(?i:user(?:name)?|login)[ \t]+[`*]*[\w.@+-]{1,40}[`*]*[ \t]*[,;/|][ \t]*(?:and[ \t]+)?(?i:pass(?:word|wd)?|pwd?)[ \t]<>[.,;)]*[ \t]*$"),
];
/// The name of a key.
pub(super) const KEY_WORDS: &str = "(?i:(?:api|secret|access|auth|private|signing|encryption|license)[ -]?key|(?:(?:access|api|auth|bot|bearer|refresh|session)[ -]?)?token|(?:client[ -])?secret)";
/// The word for a password in languages other than English.
pub(super) const PASSWORD_WORDS: &str = "[Cc]ontraseña|\\b[Cc]lave|\\bmdp|[Mm]ot de passe|[Ss]enha|[Pp]alavra-passe|[Pp]asswort|[Kk]ennwort|[Ww]achtwoord|[Hh]asło|[Hh]eslo|\
    [Jj]elszó|[Pp]arola|şifre|Şifre|[Ll]ösenord|[Pp]assord|[Aa]dgangskode|[Kk]odeord|[Ss]alasana|[Mm]ật khẩu|[Kk]ata sandi|пароль|Пароль|\
    κωδικός|Κωδικός|סיסמה|كلمة (?:المرور|السر)|पासवर्ड|รหัสผ่าน|密码|密碼|口令|パスワード|비밀번호|비번|암호";
static ALL: LazyLock<bytes::Regex> = LazyLock::new(|| {
    // A value ends at a letter of a script without spaces: a text of nothing else would be one value behind each word.
    let value = r#"[ \t]*(?:`|\*|「|“|«)*\\*["']?([^\s"'`\\\xE0-\xF4]+)"#;
    let mut rows = Vec::new();
    for (_, _, words) in SENTENCES {
        let (before, behind) = words.split_once("<>").unwrap_or((words, ""));
        let end = if behind.is_empty() { "" } else { r#"[`*"'\\]*"# };
        rows.push(format!("{before}{value}{end}{behind}"));
    }
    let whose = r"(?:[^\s;:]{1,40}[ \t]+){0,5}?[^\s;:]{1,40}";
    let all = rows.join("|").replace('§', PASSWORD_WORDS).replace('¤', KEY_WORDS).replace('~', whose);
    ascii_pattern(&format!("(?m:{all})"))
});

/// Finds all of them in the lines of a text that can name a secret.
pub(super) fn find(text: &str, lines: &[Range<usize>], found: &mut Vec<SecretSpan>) {
    for line in lines {
        find_in_line(text, line.clone(), found);
    }
}

fn find_in_line(text: &str, line: Range<usize>, found: &mut Vec<SecretSpan>) {
    /// More bytes than a sentence with a secret has behind where its value begins. In a text without spaces, the values of
    /// all places would go on to its end.
    const MOST_BEHIND: usize = 1024;
    let mut at = line.start;
    let bytes = text.as_bytes();
    while let Some(first_end) = ALL.shortest_match_at(&bytes[..line.end], at) {
        let window = line.end.min(first_end + MOST_BEHIND);
        let Some(captures) = ALL.captures_at(&bytes[..window], at) else { break };
        let Some(sentence) = captures.get(0) else { break };
        // In `the new password is …`, the words of one row hide those of another.
        at = sentence.start() + 1;
        let mut values = captures.iter().skip(1).enumerate();
        let Some((row, value)) = values.find_map(|(row, value)| Some((row, value?))) else { continue };
        if value.end() == window && window < line.end {
            continue;
        }
        let (kind, place, _) = SENTENCES[row];
        let (start, value) = (value.start(), without_sentence(text.get(value.range()).unwrap_or_default()));
        let class = if kind == SECRET { NameClass::Key } else { NameClass::Password };
        let candidate = values::SecretCandidate { class, name: "", value, place };
        if candidate.is_secret() && !is_stand_in(value) && !values::begins_otherwise(value) {
            at = start + value.len();
            found.push(SecretSpan { range: start..at, kind });
        }
    }
}

/// A value without the marks and the letters of another script that follow it in a sentence.
fn without_sentence(value: &str) -> &str {
    let end = value.find(|c: char| c >= '\u{2000}' || c == '»').unwrap_or(value.len());
    let end = elements::before_tag(value, 0..end);
    value[..end].trim_end_matches(['.', ',', ';', ':', ')', ']', '*'])
}
