//! Finds secrets that a sentence announces, in English and in other languages: `the password is …`.
//!
//! A sentence has more to say about passwords than what they are, so a value has a letter and a digit, and is nothing that
//! such sentences are about ([`crate::values`]).

use std::sync::LazyLock;

use regex::bytes;

use crate::kinds::{PASSWORD, SECRET};
use crate::names::NameClass;
use crate::pattern::ascii_pattern;
use crate::places::is_stand_in;
use crate::values::ValuePlace::{self, Anywhere, Beside, Sentence};
use crate::{SecretSpan, elements, values};

/// The kind, the place, and the words before the value. `§` is the word for a password in other languages, and `~` some words
/// that say whose it is.
#[rustfmt::skip]
const SENTENCES: &[(&str, ValuePlace, &str)] = &[
    (PASSWORD, Anywhere, r#"(?:§)\\*["']?[ \t]*(?:[:=]|：)"#),
    (PASSWORD, Sentence, r"(?:§)(?:[ \t]+(?:für|pour|para|per|de|del|do|di|voor|dla|för|для)[ \t]+~(?:[ \t]*:|[ \t]+(?:ist|lautet|est|es|é|è|is|to|är|это))|[ \t]*(?:ist|lautet|est|es|é|è|is|to|jest|это|är|er|on|je|este|là|adalah|هي|है|είναι|היא|คือ|是|为|為|は|는|은|—|-))?"),
    (PASSWORD, Sentence, r"\b(?i:pass(?:word|phrase|code|wd))(?:[ \t]+(?:for|of|on|to)[ \t]+~(?:[ \t]*:|[ \t]+(?:is|was|(?:re)?set to|changed to)[ \t]*:?)|(?:[ \t]+(?:I|we|you)[ \t]+\w{1,16})?[ \t]+(?:is|was|will be|should be|has been|è|ist)(?:[ \t]+(?:now|still|(?:re)?set to|changed to))?[ \t]*:?|[ \t]+\w{1,32}[ \t]+=|[ \t]+(?:(?:changed|set|reset|rotated|updated|back)[ \t]+(?:to|from)|from))[ \t]"),
    (PASSWORD, Sentence, r"\b(?i:use|using|with|try|enter|type|temporary|temp|initial|default|generated|new|root|admin)[ \t]+(?:the[ \t]+)?(?:\w{1,32}[ \t]+)?(?i:pass(?:word|phrase|code))[ \t]"),
    (SECRET, Sentence, r"(?:^|[^\w.-])(?i:(?:api|secret|access|auth|private|signing|encryption|license)[ -]?key|(?:(?:access|api|auth|bot|bearer|refresh|session)[ -]?)?token|(?:client[ -])?secret)(?:[ \t]+(?:for|of)[ \t]+~(?:[ \t]*:|[ \t]+(?:is|was))|[ \t]+(?:is|was)(?:[ \t]+now)?[ \t]*:?|[ \t]+(?:(?:re)?set|changed)[ \t]+to)?[ \t]"),
    (PASSWORD, Beside, r"(?:^|[^\w.])(?i:pass(?:word|phrase|code)|pw)(?: to)? \(?"),
    (SECRET, Sentence, r"\b(?:my|your|our|the|this)[ \t]+key(?:[ \t]+is)?[ \t]"),
    (SECRET, Sentence, r"(?:(?:[Cc]lé|[Cc]lef|[Cc]lave(?: de)?|[Cc]have(?: de)?|[Cc]hiave|[Kk]lucz) (?i:api)|[Ss]chlüssel|ключ|Ключ|токен|Токен|секрет|Секрет|密钥|令牌|秘密|キー|トークン|토큰|키)[ \t]*(?:[:=]|：)"),
    (PASSWORD, Sentence, r"\b(?i:user(?:name)?[ \t]*/[ \t]*pass(?:word)?|log[- ]?in|credentials?|creds)[ \t]*[:=][ \t]*[`*]*[\w.@+-]{1,40}[ \t]*[/:|]"),
];
/// The word for a password in languages other than English.
const PASSWORD_WORDS: &str = "[Cc]ontraseña|\\b[Cc]lave|\\bmdp|[Mm]ot de passe|[Ss]enha|[Pp]alavra-passe|[Pp]asswort|[Kk]ennwort|[Ww]achtwoord|[Hh]asło|[Hh]eslo|\
    [Jj]elszó|[Pp]arola|şifre|Şifre|[Ll]ösenord|[Pp]assord|[Aa]dgangskode|[Kk]odeord|[Ss]alasana|[Mm]ật khẩu|[Kk]ata sandi|пароль|Пароль|\
    κωδικός|Κωδικός|סיסמה|كلمة (?:المرور|السر)|पासवर्ड|รหัสผ่าน|密码|密碼|口令|パスワード|비밀번호|비번|암호";
static ALL: LazyLock<bytes::Regex> = LazyLock::new(|| {
    let value = r#"[ \t]*(?:`|\*|「|“|«)*\\*["']?([^\s"'`\\]+)"#;
    let rows: Vec<String> = SENTENCES.iter().map(|(_, _, words)| format!("{words}{value}")).collect();
    let whose = r"(?:[^\s;:]{1,40}[ \t]+){0,5}?[^\s;:]{1,40}";
    ascii_pattern(&format!("(?m:{})", rows.join("|").replace('§', PASSWORD_WORDS).replace('~', whose)))
});

/// Finds all of them in a text.
pub(super) fn find(text: &str, found: &mut Vec<SecretSpan>) {
    let mut at = 0;
    while let Some(captures) = ALL.captures_at(text.as_bytes(), at) {
        let Some(sentence) = captures.get(0) else { break };
        // In `the new password is …`, the words of one row hide those of another.
        at = sentence.start() + 1;
        let mut values = captures.iter().skip(1).enumerate();
        let Some((row, value)) = values.find_map(|(row, value)| Some((row, value?))) else { continue };
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
