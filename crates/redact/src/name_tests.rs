//! Spellings of secrets that are found, and texts without any that stay: the rows of `tables/`. And random secrets behind
//! names, in the forms in which programs and people write them: nothing of a value may stay, and all of the text around it
//! must.

use proptest::strategy::{Strategy, ValueTree};
use proptest::string::string_regex;
use proptest::test_runner::TestRunner;

use crate::tests::masked;
use crate::*;

const SPELLINGS: &str = include_str!("tables/spellings.txt");
const INNOCENTS: &str = include_str!("tables/innocents.txt");
/// The heading of the spellings that are not found so far.
const NOT_FOUND: &str = "## not found so far";

/// The rows of a table.
fn rows(table: &str) -> Vec<String> {
    table
        .lines()
        .filter(|row| !row.is_empty() && !row.starts_with("# ") && !row.starts_with("## "))
        .map(row_read)
        .collect()
}

/// A row with its escapes read, and characters that look random in the place of `{a12}` and the like.
fn row_read(row: &str) -> String {
    let mut seed = row.bytes().fold(7_u64, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let mut next = |set: &str| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(set.as_bytes()[(seed >> 33) as usize % set.len()])
    };
    let (digits, small, capitals) = ("0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    let mut out = String::new();
    let mut rest = row;
    while let Some(c) = rest.chars().next() {
        let class = rest.strip_prefix('{').and_then(|inside| inside.split_once('}'));
        let count = class.and_then(|(inside, _)| inside.get(1..)?.parse::<usize>().ok());
        match (class, count, c) {
            (Some(("id", behind)), ..) => {
                let groups =
                    [8, 4, 4, 4, 12].map(|count| (0..count).map(|_| next("0123456789abcdef")).collect::<String>());
                out.push_str(&groups.join("-"));
                rest = behind;
            }
            (Some((inside, behind)), Some(count), _) if inside.starts_with(['a', 'l', 'u', 'h', 'd', 'w']) => {
                let set = match &inside[..1] {
                    "a" => [digits, small, capitals].concat(),
                    "l" => [digits, small].concat(),
                    "u" => [digits, capitals].concat(),
                    "h" => "0123456789abcdef".to_owned(),
                    "d" => digits.to_owned(),
                    _ => [digits, small, capitals, "_-"].concat(),
                };
                out.extend((0..count).map(|_| next(&set)));
                rest = behind;
            }
            (.., '\\') if rest.len() > 1 && "ntrea\\".contains(&rest[1..2]) => {
                out.push_str(match &rest[1..2] {
                    "n" => "\n",
                    "t" => "\t",
                    "r" => "\r",
                    "e" => "\u{1b}",
                    "a" => "\u{7}",
                    _ => "\\",
                });
                rest = &rest[2..];
            }
            _ => {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    out
}

/// The secrets of a row, and its text.
fn split(row: &str) -> (Vec<String>, String) {
    let secrets = row.split('«').skip(1).filter_map(|rest| rest.split_once('»')).map(|(secret, _)| secret.to_owned());
    (secrets.collect(), row.replace(['«', '»'], ""))
}

#[test]
fn spellings_of_secrets_are_found() {
    let (found, _) = SPELLINGS.split_once(NOT_FOUND).expect("its last heading");
    let all = rows(found);
    let mut stay = Vec::new();
    for row in &all {
        let (secrets, text) = split(row);
        for frame in ["¦", "before\n¦\nbehind\n"] {
            let once = masked(&frame.replace('¦', &text));
            let shown = crate::sanitize::Shown::new(&once).map_or(once.clone(), |shown| shown.text);
            if secrets.is_empty()
                || secrets.iter().any(|secret| shown.contains(secret.as_str()))
                || masked(&once) != once
            {
                stay.push(format!("{row:?}\n  became {once:?}"));
            }
        }
    }
    assert!(all.len() > 1_400 && stay.is_empty(), "{} of {} stay\n{}", stay.len(), all.len(), stay.join("\n"));
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    let all = rows(INNOCENTS);
    let changed: Vec<String> =
        all.iter().filter(|row| masked(row) != **row).map(|row| format!("{row:?} became {:?}", masked(row))).collect();
    assert!(all.len() > 700 && changed.is_empty(), "{}", changed.join("\n"));
}

/// Values with nothing but letters and digits.
const PLAIN: &str = "[a-z]{3}[0-9]{2}[A-Z][a-zA-Z0-9]{6,14}";
/// Values with brackets and marks in them.
const BRACKETS: &str = "[A-Z][a-z]0[a-z]{2}[(\\[{][0-9][a-z]{3}[&%!][0-9][)\\]}]";
/// Values that begin like a placeholder.
const OPENED: &str = "[<{$][0-9a-f][a-zA-Z0-9]{4}[#!%][A-Z0-9]{4,8}";
/// Values of several words.
const WORDS: &str = "[a-z]{5,8} [b-z]{6,9} [c-z]{5,7}";

const EVERY: &[&str] = &[PLAIN, BRACKETS, OPENED, WORDS];
/// Where white space ends a value.
const NO_WORDS: &[&str] = &[PLAIN, BRACKETS, OPENED];
const ONLY_PLAIN: &[&str] = &[PLAIN];

/// A text with `¦` in place of a value, and the values that can be there.
#[rustfmt::skip]
const FRAMES: &[(&str, &[&str])] = &[
    // A name and its value in two members.
    ("env:\n  - name: DB_PASSWORD\n    value: ¦\n  - name: HOST\n    value: db", NO_WORDS),
    ("env:\n  - name: DB_PASSWORD\n    value: \"¦\"\n", EVERY),
    ("env:\n  - value: '¦'\n    name: API_TOKEN\n", EVERY),
    ("- name: \"SMTP_PASS\"\n  value: \"¦\"", EVERY),
    ("{\"Name\":\"DB_PASSWORD\",\"Value\":\"¦\"}", EVERY),
    ("{\"Value\":\"¦\",\"Name\":\"DB_PASSWORD\"}", EVERY),
    ("[{\"name\": \"API_KEY\", \"value\": \"¦\"}, {\"name\": \"HOST\", \"value\": \"db\"}]", EVERY),
    ("[{\"value\": \"¦\", \"name\": \"API_KEY\"}]", EVERY),
    ("got {\"key\": \"client_secret\", \"value\": \"¦\", \"type\": 1}", NO_WORDS),
    (r#"{"content": "- name: DB_PASSWORD\n  value: ¦\n- name: X\n"}"#, NO_WORDS),
    (r#"{"output": "{\"Name\":\"DB_PASSWORD\",\"Value\":\"¦\"}"}"#, NO_WORDS),
    ("name = \"DB_PASSWORD\"\nvalue = \"¦\"", EVERY),
    // Blocks and lists.
    ("password: |\n  ¦\nhost: db", EVERY),
    ("password: >-\n    ¦\nhost: db", NO_WORDS),
    ("db:\n  client_secret: |-\n    ¦\n  host: db", NO_WORDS),
    ("{\"passwords\": [\"¦\", \"¦\"], \"host\": \"db\"}", EVERY),
    ("here: \"passwords\": [\"¦\"] there", EVERY),
    ("passwords: [¦, ¦]", ONLY_PLAIN),
    ("passwords:\n  - ¦\n  - ¦\nhosts:\n  - db", NO_WORDS),
    ("passwords:\n- \"¦\"\n", EVERY),
    ("PASSWORDS=(\"¦\" '¦')", EVERY),
    ("secrets = ['¦', '¦']", EVERY),
    // XML.
    ("<db password=\"¦\" host=\"db\"/>", EVERY),
    ("<db host='db' Password='¦'></db>", EVERY),
    ("<add key=\"DbPassword\" value=\"¦\" />", EVERY),
    ("<add value=\"¦\" key=\"DbPassword\" />", NO_WORDS),
    ("<property name=\"hibernate.connection.password\" value=\"¦\"/>", NO_WORDS),
    ("<password type=\"plain\">¦</password>", ONLY_PLAIN),
    ("<password>¦</password>", ONLY_PLAIN),
    ("<string name=\"api_key\">¦</string>", ONLY_PLAIN),
    ("<key>password</key>\n  <string>¦</string>", ONLY_PLAIN),
    ("<name>db.password</name>\n<value>¦</value>", ONLY_PLAIN),
    // Commands that set variables.
    ("FROM alpine\nENV DB_PASSWORD ¦\nRUN true", EVERY),
    ("ENV DB_PASSWORD=\"¦\"\n", EVERY),
    ("set -x DB_PASSWORD ¦\nset -x HOST db", EVERY),
    ("set -gx API_TOKEN ¦\n", NO_WORDS),
    ("set -Ux API_TOKEN '¦'\n", EVERY),
    ("setenv DB_PASSWORD ¦\n", EVERY),
    ("setenv DB_PASSWORD \"¦\"\n", EVERY),
    ("SetEnv DB_PASSWORD ¦\n", NO_WORDS),
    ("setx DB_PASSWORD \"¦\"\r\n", EVERY),
    ("#define DB_PASSWORD \"¦\"\n", EVERY),
    ("#define API_KEY ¦\n", ONLY_PLAIN),
    ("define('DB_PASSWORD', '¦');", EVERY),
    ("os.environ.setdefault(\"DB_PASSWORD\", \"¦\")", NO_WORDS),
    // Other operators.
    ("DB_PASSWORD ?= ¦\n", NO_WORDS),
    ("DB_PASSWORD?=¦\n", NO_WORDS),
    ("DB_PASSWORD += ¦\n", NO_WORDS),
    ("DB_PASSWORD+=¦\n", NO_WORDS),
    ("DB_PASSWORD := ¦\n", NO_WORDS),
    ("DB_PASSWORD ::= ¦\n", NO_WORDS),
    ("password ||= \"¦\"", EVERY),
    ("password ??= '¦'", EVERY),
    ("'password' => '¦',", EVERY),
    (":password => \"¦\"", EVERY),
    ("db_password <- \"¦\"", EVERY),
    ("let password: &str = \"¦\";", EVERY),
    // Values with marks, and of several words.
    ("DB_PASSWORD=¦\nX=1", NO_WORDS),
    ("DB_PASSWORD='¦'\nX=1", EVERY),
    ("password: ¦\nhost: db", EVERY),
    ("password: \"¦\"", EVERY),
    ("{\"password\": \"¦\"}", EVERY),
    ("{\"db\": {\"passphrase\": \"¦\", \"host\": \"db\"}}", EVERY),
    ("spring.datasource.password=¦\n", NO_WORDS),
    ("--password '¦' --user me", EVERY),
    ("db_password = \"¦\"", EVERY),
];

fn values(pattern: &str, runner: &mut TestRunner) -> [String; 2] {
    let strategy = string_regex(pattern).expect("a pattern");
    let of_sentence = |value: &String| value.split(' ').all(|word| word.len() > 4);
    let strategy =
        strategy.prop_filter("no words of sentences", move |value| !value.contains(' ') || of_sentence(value));
    [(); 2].map(|()| strategy.new_tree(runner).expect("a value").current())
}

/// Puts values into a frame, one after another.
fn filled(frame: &str, values: &[String; 2]) -> String {
    let mut values = values.iter().cycle();
    let mut parts = frame.split('¦');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + values.next().expect("a value") + part)
}

/// Whether eight characters in a row of a secret are in a text.
fn shows(text: &str, secret: &str) -> bool {
    let chars: Vec<char> = secret.chars().collect();
    let length = chars.len().min(8);
    chars.windows(length).any(|part| text.contains(&part.iter().collect::<String>()))
}

#[test]
fn values_behind_names_go_whole() {
    let mut runner = TestRunner::deterministic();
    let (mut cases, mut failed) = (0, Vec::new());
    for (frame, patterns) in FRAMES {
        for pattern in *patterns {
            let values = values(pattern, &mut runner);
            let text = filled(frame, &values);
            let masked = Redactor::default().mask(&text).into_owned();
            let around = frame.split('¦').map(|part| part.trim()).all(|part| masked.contains(part));
            cases += 1;
            if values.iter().any(|value| shows(&masked, value)) || !around {
                failed.push(format!("{text:?}\n  became {masked:?}"));
            }
        }
    }
    assert!(cases >= 100, "{cases}");
    assert!(failed.is_empty(), "{} of {cases} stay\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn members_of_what_has_a_secret_name_are_secret() {
    for (text, expected) in [
        (
            r#"{"credentials": {"user": "x", "value": "hunter2"}}"#,
            r#"{"credentials": {"user": "x", "value": "[password-1]"}}"#,
        ),
        (
            r#"{"credentials": [{"user": "x", "value": "hunter2"}]}"#,
            r#"{"credentials": [{"user": "x", "value": "[password-1]"}]}"#,
        ),
        (
            r#"{"db_password": {"plain": "hunter2", "type": "text"}}"#,
            r#"{"db_password": {"plain": "[password-1]", "type": "text"}}"#,
        ),
        ("credentials:\n  user: x\n  value: hunter2\n", "credentials:\n  user: x\n  value: [password-1]\n"),
        ("- \"password\":\n    value: 'hunter2'", "- \"password\":\n    value: '[password-1]'"),
        (
            "[credentials]\nuser = \"x\"\nvalue = \"hunter2\"\n",
            "[credentials]\nuser = \"x\"\nvalue = \"[password-1]\"\n",
        ),
        ("So:\n\"secret\": {\n  \"value\": \"hunter2\"\n}", "So:\n\"secret\": {\n  \"value\": \"[secret-1]\"\n}"),
    ] {
        assert_eq!(masked(text).replace("[secret-1]", "[password-1]"), expected.replace("[secret-1]", "[password-1]"));
    }
    for text in [
        r#"{"credentials": {"user": "admin1234", "type": "basic1234", "id": "abcd1234"}}"#,
        r#"{"token": {"value": "the", "index": 3}}"#,
        r#"{"settings": {"value": "hunter2"}, "password": {"required": true}}"#,
        "settings:\n  value: hunter2\n",
        "password:\n  required: true\nother:\n  value: hunter2\n",
        "[server]\nvalue = \"hunter2\"\n",
    ] {
        assert_eq!(masked(text), text);
    }
}

#[test]
fn a_string_with_a_prefix_and_a_wide_colon_are_read() {
    for text in [
        "password = b'@'",
        "password = \"\"\"@\"\"\"",
        "char password[] = \"@\";",
        "CREATE USER x WITH PASSWORD '@';",
        "(setq password \"@\")",
        "set(DB_PASSWORD \"@\")",
        "{:user \"x\" :password \"@\"}",
        "default login me password @",
        "machine h login me account a password @",
        "string password = @\"@\";",
        "export DB_PASSWORD=$'@'",
        "password：@",
        "set -xg DB_PASSWORD @",
        "set --export DB_PASSWORD '@'",
    ] {
        let (before, behind) = text.rsplit_once('@').expect("a place");
        let masked = masked(&format!("{before}Tr0ub!4dor{behind}"));
        assert!(masked.starts_with(before) && masked.ends_with(&format!("-1]{behind}")), "{text}: {masked}");
    }
    for text in [
        "password = f\"{user}\"",
        "password = b''",
        "token = r\"[a-z]+\"",
        "password = \"\"\"\"\"\"",
        "the password 'admin' and the token \"next\"",
        "password = r\"^(?=.*[A-Z]).{8,}$\"",
        "unknown password \"min_length:8\"",
        "hashes a password \"pbkdf2_sha256\"",
        "class=\"password\" id=\"a1b2c3d4\"",
        "password = @user",
    ] {
        assert_eq!(masked(text), text);
    }
}

#[test]
fn a_private_key_without_its_first_line_goes_up_to_its_last() {
    let lines: Vec<String> = (0..5).map(|at| "Ab1/Cd2+".chars().cycle().skip(at).take(64).collect()).collect();
    let prefixes: [&dyn Fn(usize) -> String; 4] =
        [&|_| String::new(), &|at| format!("{at:>6}\t"), &|at| format!("2026-01-01T00:00:{at:02}Z "), &|_| {
            "  ".to_owned()
        }];
    for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"] {
        let end = format!("-----END {label}-----");
        for prefix in prefixes {
            let all = lines.iter().map(String::as_str).chain(["abcd1234==", &end]);
            let key: Vec<String> = all.enumerate().map(|(at, line)| prefix(at + 10) + line).collect();
            for separator in ["\n", "\r\n", "\\n"] {
                let masked = masked(&format!("the rest:\n{}{separator}and then words", key.join(separator)));
                assert!(lines.iter().all(|line| !masked.contains(&line[..12])), "{masked}");
                assert!(masked.starts_with("the rest:\n") && masked.ends_with("and then words"), "{masked}");
                assert!(masked.contains("[private-key-1]") && !masked.contains("END"), "{masked}");
            }
        }
    }
    let certificate = format!("{}\n-----END CERTIFICATE-----", lines[0]);
    for text in
        ["It ends with -----END RSA PRIVATE KEY-----", "a long-enough word\n-----END PRIVATE KEY-----", &certificate]
    {
        assert_eq!(masked(text), text);
    }
}
