//! Finds the lines of a text that can name a secret, so that slower rules read no others.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// A part of each word for a secret or for a login, in the languages in which sentences are read, without the letters that are
/// different as capitals and not of ASCII.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "pass", "pw", "psw", "mdp", "key", "token", "secret", "login", "log in", "log-in", "logged", "cred", "backup", "recovery",
    "contrase", "clave", "senha", "kennwort", "wachtwoord", "asło", "heslo", "jelsz", "parola", "ifre", "senord", "kode",
    "salasana", "khẩu", "sandi", "арол", "ωδικός", "סיסמה", "كلمة", "पासवर्ड", "รหัสผ่าน", "密", "口令", "パスワード", "비밀번호", "비번",
    "암호", "clé", "clef", "chave", "chiave", "klucz", "hlüssel", "люч", "окен", "екрет", "令牌", "キー", "トークン", "토큰", "키",
    "jeton", "zugang", "identifiant",
];
static SEARCH: LazyLock<AhoCorasick> =
    LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(WORDS).expect("the words"));

/// The lines with such a word, in order and without their ends.
pub(super) fn naming(text: &str) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut at = 0;
    while let Some(word) = SEARCH.find(&text[at..]) {
        let word = at + word.start();
        let start = memchr::memrchr(b'\n', &text.as_bytes()[at..word]).map_or(at, |end| at + end + 1);
        let end = memchr::memchr(b'\n', &text.as_bytes()[word..]).map_or(text.len(), |end| word + end);
        lines.push(start..end);
        at = text.len().min(end + 1);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::naming;

    #[test]
    fn only_lines_that_name_a_secret_are_read() {
        let text = "a\nMy Password: x\n\nb\n密码\nkey";
        let lines: Vec<&str> = naming(text).into_iter().map(|line| &text[line]).collect();
        assert_eq!(lines, ["My Password: x", "密码", "key"]);
        assert!(naming("a\nb\n").is_empty());
    }
}
