//! Tells what stands in the place of a secret and is none: a word, a reference to a variable or a vault, a path, code that
//! gets it.

use std::sync::LazyLock;

use regex::Regex;

use crate::extents::varied;
use crate::letters::is_scrambled;
use crate::pattern::pattern;

/// Words in place of a secret, whatever the name.
static NOTHING: LazyLock<Regex> = LazyLock::new(|| {
    let words = "any|api_?key|(?:proxy-)?authorization|x-api-key|basic|bearer|blank|bool|boolean|bytes|change(?:me|it)|default|description|disabled|dummy|empty|\
        enabled|encrypted|enum|env|environment|example|false|hidden|include|inherit|input|int|integer|invalid|literal|masked|ngform|ngmodel|\
        missing|n/a|never|nil|no|none|not-set|null|number|object|off|omit|omitted|on|optional|optionalstring|\
        placeholder|prompt|redacted|required|same-origin|secretstr|select|set|str|string|text|token|true|undefined|\
        unknown|unset|unused|value|varchar|write|yes|passwort|kennwort|(?:mot de |palavra-)?passe|contraseña|senha|wachtwoord|hasło|\
        api[- ]schlüssel|clé|geheimnis|jeton|ключ|пароля|секрет|токен|密钥|令牌|秘密|\
        пароль|密码|密碼|パスワード|비밀번호|lösenord|salasana|şifre|parola|heslo|jelszó|adgangskode|passord";
    pattern(&format!("^(?i:{words})$"))
});
/// References to the place of a secret (a variable, a file, a vault), and stand-ins for one.
static REFERENCES: LazyLock<Regex> = LazyLock::new(|| {
    let variables = r"\$[a-z_][\w:]{0,63}(?:-|[\[{]\w{0,63}[\]}]?)?$|%\w{1,63}%$|%env\([\w:.-]+\)%$|@(?-i:[a-z][a-z0-9]*(?:[._-][a-z0-9]+)+)@$|\$[{(\[]+<?[a-z_]|\$\{[0-9][:}]|\{+[\s%#]*[a-z_][\w\s.:/()\[\]|-]*\}*$|(?:<|&lt;)[/!|]?[a-z][\w\s.:/|(),-]*(?:>|&gt;?)?$|<\|[\w-]+\|?>?$|\{+$|<+$|%[({]|[#@]\{|\$env:|\$[0-9]{1,2}$|!!(?:null|str|int|bool|map|seq)$|!(?:ref|sub|vault|secret|getatt|importvalue|env|env_?var|include)\d?(?:\s|$)|:(?-i:[a-z][a-z_]*)\d?$|(?-i:(?:Get|Read|New|Import|Invoke|ConvertTo|ConvertFrom)-[A-Z][A-Za-z]+)\d?$";
    // Paths and variables; a text in quotes inside of them can be a secret.
    let templates = r"\{\{-?\s*(?:env\s+)?[.$`][\w.$]*`?\s*-?\}\}$|<%=?\s*env\[['\x22]\w+['\x22]\]\s*%>$|@@(?-i:[A-Z][A-Z0-9_]*)@@$";
    let places = r"enc\[|op://|ref\+[a-z]+://|@microsoft\.keyvault\(|arn:|vault:|secret://|env[:.]|os\.environ|os\.getenv|process\.env|import\.meta|secrets\.";
    let others = r"[0-]{12,}$|0x[0-9a-f]{1,8}(?:_?[ui](?:8|16|32|64))?;?$|%[-0-9.]{0,4}[sdif]\b|file:/|sops:|ssm:|https?://[^@]*$|your[-_ ]|your(?:api)?(?:key|token|password)|insert[-_]|replace[-_]";
    // What a form checks, and which secret a build mounts.
    let forms = r"(?:required|nullable|sometimes|bail|confirmed|string)\||(?:min|max|size|same|between):[\w,]+$";
    let mounts = r"(?:id|src|source|target|type)=[\w./-]+(?:,|$)";
    // What a manual demands: `length>=8`, `8-64chars`.
    let least = r"(?-i:min|length|len)[<>=_-]{0,2}[0-9]{1,3}$";
    let lengths = r"(?:(?:at-?least|max|min|only|with|without)[_-]?)?[0-9]{1,3}(?:[-–+][0-9]{0,3})?[_-]?(?:bit|byte|char|code|digit|letter|symbol)[a-z]{0,8}$";
    pattern(&format!(
        r"^(?i:[*x.•…_?\#=-]*$|{variables}|{templates}|{places}|{others}|{forms}|{mounts}|{least}|{lengths})"
    ))
});
/// Parts of such values, and marks of a cut.
static STAND_INS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)[-_]your[-_]|change[-_]?me|placeholder|redacted|replace[-_]?me|[-_]goes[-_]here"));
/// A file path.
static PATHS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:~|\.\.?|@)?/(?:[\w. -]{1,32}/)+[\w. -]{0,32}$|^(?:~|\.\.?)?/[\w-]{1,32}\.[a-z]{1,5}$|^projects/[\w.-]+/(?:locations/[\w-]+/)?secrets/[\w./-]+$|^secret/(?:meta)?data/[\w./-]+$",
    )
});
/// A call, an element, or an attribute of something.
static CALLS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^[&*!@:]*[A-Za-z_][\w.:?]*!?[(\[<]|^[&*!@:]*(?:[A-Za-z_]\w*::)+[A-Za-z_]\w*$|^[&*!@]*[A-Za-z_]+\d?(?:[.:?]+[A-Za-z_]+\d{0,2})+$",
    )
});
/// A variable with the name of a secret.
static VARIABLES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?i)[&*!@]*[a-z_]*(?:passw(?:or)?d|pwd|secret|token|key|credential|auth_?header)[a-z_]*\d{0,2}$")
});

/// Whether a text names variables that a shell or a template puts in.
pub(super) fn has_references(text: &str) -> bool {
    ["${", "$(", "{{", "%{"].iter().any(|opening| text.contains(opening))
}

/// Whether a value refers to the place of a secret, or stands in for one: dots, crosses, `your-key`.
pub(super) fn is_reference(value: &str) -> bool {
    let is_cut = value.contains("...") || value.contains('…') || value.contains("***");
    let is_short = || value.trim_matches(['.', '…', '*', 'x', 'X']).len() < 16;
    // Stand-ins are short; a long value with such a word by chance is a key.
    (is_cut && is_short())
        || is_blotted(value)
        || is_pattern(value)
        || REFERENCES.is_match(value)
        || (value.len() <= 80 && STAND_INS.is_match(value))
}

/// Whether one character stands in the place of most of the others: `sk-xxxxxxxx`, `ghp_00000000`. Without a prefix it is one
/// that nobody takes for a password.
fn is_blotted(value: &str) -> bool {
    const SHORTEST: usize = 8;
    const LONGEST: usize = 160;
    if value.len() > LONGEST {
        return false;
    }
    let runs = value.as_bytes().chunk_by(|first, second| first == second);
    let Some(longest) = runs.max_by_key(|run| run.len()) else { return false };
    let may_be = value.contains(['-', '_']) || b"xX*.#?".contains(&longest[0]);
    let count = value.bytes().filter(|byte| *byte == longest[0]).count();
    may_be && longest.len() >= SHORTEST && count * 2 > value.len()
}

/// Whether a value is a regular expression: it has a range of letters or digits in brackets.
fn is_pattern(value: &str) -> bool {
    let is_negated = value.split_once("[^").is_some_and(|(_, rest)| rest.contains(']'));
    is_negated || ["[a-z", "[A-Z", "[0-9", "(?=", "(?!", "(?:"].iter().any(|range| value.contains(range))
}

/// Whether a value is not a secret, whatever its name.
pub(super) fn is_nothing(value: &str) -> bool {
    !value.chars().any(char::is_alphanumeric)
        || NOTHING.is_match(value.trim_end_matches('!'))
        || is_reference(value)
        || is_path(value)
}

/// Whether a value is the path of a file or of a resource, and not Base64 that a slash begins or parts.
fn is_path(value: &str) -> bool {
    PATHS.is_match(value) && !(varied(value) && is_scrambled(value))
}

/// Whether an unquoted value is a call, an element or an attribute.
pub(super) fn is_call(value: &str) -> bool {
    let value = value.split(',').next().unwrap_or(value).trim_end_matches([';', ')', '}']);
    let is_opened = value.trim_start_matches(['&', '*']).starts_with(['(', '[', '{', '|', '\\']);
    (is_opened && !is_random_in_brackets(value)) || (CALLS.is_match(value) && !is_random_in_brackets(value))
}

/// Whether a value with brackets is random characters and not code: letters and digits alternate before a bracket, or
/// marks that code does not put there are beside it.
fn is_random_in_brackets(value: &str) -> bool {
    let word = value.trim_start_matches(['(', '[', '{', '<', '$']);
    let (word, rest) = word.split_at(word.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(word.len()));
    let is_macro = ["![", "!(", "!{"].iter().any(|bracket| rest.starts_with(bracket));
    let changes =
        word.as_bytes().windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
    let is_mixed = changes >= 2 && word.bytes().any(|byte| byte.is_ascii_uppercase()) && !word.contains("64");
    // The parameters of a type: `PrivatePkcs8KeyDer<'_>`.
    let is_type = rest.starts_with('<') && changes == 2 && word.len() >= 8 && !is_scrambled(word);
    let is_mixed = is_mixed && !is_type;
    let marks = value.bytes().filter(|byte| b"!#%^~@$&;?".contains(byte)).count();
    is_mixed || (marks > 1 && !is_macro && !value.contains(['"', '\'']))
}

/// Words that end in `key` and name none. Passwords have them.
const WITHOUT_KEYS: [&str; 6] = ["monkey", "donkey", "turkey", "hockey", "jockey", "whiskey"];

/// Whether an unquoted value is code: a call, or a variable with the name of a secret.
pub(super) fn is_code(value: &str) -> bool {
    if is_call(value) {
        return true;
    }
    let is_named =
        WITHOUT_KEYS.iter().any(|word| value.get(..word.len()).is_some_and(|first| first.eq_ignore_ascii_case(word)));
    !is_named && VARIABLES.is_match(value.trim_end_matches([',', ';', ')', '}']))
}

/// Builds the patterns of this file.
#[cfg(any(test, feature = "tests"))]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&*NOTHING, &*REFERENCES, &*STAND_INS, &*PATHS, &*CALLS, &*VARIABLES]
}
