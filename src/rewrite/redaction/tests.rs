//! Secrets found, and what is left alone. The secrets are put together here, so that no scanner takes them for some.

use proptest::prelude::*;

use super::*;
use crate::rewrite::apply;
use crate::transcript::framing::read;

fn masked(text: &str) -> String {
    Redactor::new().mask(text).into_owned()
}

/// Characters that look drawn at random: letters of both cases and digits.
fn random(count: usize) -> String {
    "a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTuVwXyZ".chars().cycle().take(count).collect()
}

fn hex(count: usize) -> String {
    "0a1b2c3d4e5f6789".chars().cycle().take(count).collect()
}

fn capitals(count: usize) -> String {
    "QZ7YX2WVU3TS4R5P".chars().cycle().take(count).collect()
}

fn digits(count: usize) -> String {
    "1234567890".chars().cycle().take(count).collect()
}

/// A secret of every shape.
fn of_shapes() -> Vec<(&'static str, String)> {
    let fill = |class: kinds::Class, count: usize| match class {
        kinds::Class::Digits => digits(count),
        kinds::Class::Hex => hex(count),
        kinds::Class::Capitals => capitals(count),
        _ => random(count),
    };
    kinds::SHAPES
        .iter()
        .map(|shape| {
            let before = shape.before.map(|(class, least, _)| fill(class, least)).unwrap_or_default();
            (shape.kind, format!("{before}{}{}", shape.prefix, fill(shape.class, shape.least)))
        })
        .collect()
}

#[test]
fn patterns_compile() {
    assert!(PLACEHOLDERS.is_some());
    let mut redactor = Redactor::new();
    assert_eq!(
        redactor.mask(&format!("password=hunter2 {}{}", "ghp_", random(36))),
        "password=[password-1] [github-token-1]"
    );
}

#[test]
fn every_shape_is_found_wherever_it_stands() {
    for (kind, secret) in of_shapes() {
        for (before, after) in [
            ("", ""),
            (" ", " "),
            ("\"", "\""),
            ("'", "',"),
            ("=", "\n"),
            ("(", ")"),
            ("\\n", "\\n"),
            ("\\\"", "\\\""),
            ("\u{1b}[32m", "\u{1b}[0m"),
            ("é", " "),
            ("[", "]"),
            ("`", "`."),
            ("%3D", "&x"),
        ] {
            // What stands behind some beginnings goes on with such signs.
            let text = format!("say {before}{secret}{after} done");
            let masked = masked(&text);
            assert!(masked.contains(&format!("[{kind}-1]")), "{kind}: {text} became {masked}");
            let rest: String = secret.chars().rev().take(12).collect::<Vec<_>>().into_iter().rev().collect();
            assert!(!masked.contains(&rest), "{kind}: {text} became {masked}");
        }
    }
}

#[test]
fn what_names_tell() {
    let key = random(24);
    let secret = |name: &str| format!("[{name}-1]");
    for (text, expected) in [
        // `.env` files, shells, configuration.
        (format!("FOO_API_KEY={key}"), format!("FOO_API_KEY={}", secret("env-secret"))),
        (format!("export FOO_API_KEY={key}\nX=1"), format!("export FOO_API_KEY={}\nX=1", secret("env-secret"))),
        ("DB_PASSWORD=\"hunter two\"".into(), "DB_PASSWORD=\"hunter two\"".into()),
        ("DB_PASSWORD=\"p@ss;w0rd,)\"".into(), format!("DB_PASSWORD=\"{}\"", secret("env-secret"))),
        ("DB_PASSWORD=p@ss;w0rd,)x # mine".into(), format!("DB_PASSWORD={} # mine", secret("env-secret"))),
        ("DB_PASSWORD=postgres\nDB_HOST=db".into(), format!("DB_PASSWORD={}\nDB_HOST=db", secret("env-secret"))),
        ("POSTGRES_PASSWORD: postgres".into(), format!("POSTGRES_PASSWORD: {}", secret("env-secret"))),
        (
            "docker run -e MYSQL_ROOT_PASSWORD=root1 x".into(),
            format!("docker run -e MYSQL_ROOT_PASSWORD={} x", secret("env-secret")),
        ),
        (format!("AWS_SECRET_ACCESS_KEY={key}/+{key}"), format!("AWS_SECRET_ACCESS_KEY={}", secret("env-secret"))),
        (format!("aws_secret_access_key = {key}/{key}"), format!("aws_secret_access_key = {}", secret("secret"))),
        ("$env:DB_PASSWORD = 'hunter2'".into(), format!("$env:DB_PASSWORD = '{}'", secret("env-secret"))),
        ("  password: hunter2 # x".into(), format!("  password: {} # x", secret("password"))),
        ("password: correct-horse\nuser: me".into(), format!("password: {}\nuser: me", secret("password"))),
        ("spring.datasource.password=hunter2".into(), format!("spring.datasource.password={}", secret("password"))),
        (
            format!("//registry.npmjs.org/:_authToken={key}"),
            format!("//registry.npmjs.org/:_authToken={}", secret("secret")),
        ),
        ("<password>hunter2</password>".into(), format!("<password>{}</password>", secret("password"))),
        // Code and JSON.
        (
            r#"{"client_secret": "hunter2", "x": 1}"#.into(),
            format!(r#"{{"client_secret": "{}", "x": 1}}"#, secret("secret")),
        ),
        (format!(r#"api_key="{key}""#), format!(r#"api_key="{}""#, secret("secret"))),
        (format!("const apiKey: string = '{key}';"), format!("const apiKey: string = '{}';", secret("secret"))),
        (
            format!(r#"os.environ["OPENAI_API_KEY"] = "{key}""#),
            format!(r#"os.environ["OPENAI_API_KEY"] = "{}""#, secret("env-secret")),
        ),
        (format!(r#"setenv("API_KEY", "{key}")"#), format!(r#"setenv("API_KEY", "{}")"#, secret("env-secret"))),
        ("password: str = \"hunter2\"".into(), format!("password: str = \"{}\"", secret("password"))),
        ("password = SecretStr('hunter2')".into(), format!("password = SecretStr('{}')", secret("password"))),
        (r#"{\"password\": \"hun\\\"ter2\"}"#.into(), format!(r#"{{\"password\": \"{}\"}}"#, secret("password"))),
        (r"cat .env\nDB_PASSWORD=hunter2\nX=1".into(), format!(r"cat .env\nDB_PASSWORD={}\nX=1", secret("env-secret"))),
        (r"x\napi_key=abc123def456\n".into(), format!(r"x\napi_key={}\n", secret("secret"))),
        (format!("**API key**: `{key}`"), format!("**API key**: `{}`", secret("secret"))),
        (format!("?access_token={key}&x=1"), format!("?access_token={}&x=1", secret("secret"))),
        ("the password: a9B7$#fG3&Z1, I think".into(), format!("the password: {}, I think", secret("password"))),
        ("?password=hunter2&x=1".into(), format!("?password={}&x=1", secret("password"))),
        ("Server=db;Password=hunter2;Timeout=3".into(), format!("Server=db;Password={};Timeout=3", secret("password"))),
        ("--password hunter2 --user x".into(), format!("--password {} --user x", secret("password"))),
        (format!("--api-key={key} run"), format!("--api-key={} run", secret("secret"))),
        (
            "mnemonic: \"legal winner thank year wave sausage worth useful legal winner thank yellow\"".into(),
            format!("mnemonic: \"{}\"", secret("secret")),
        ),
        (
            "connectionString=\"Server=db;User Id=sa;Pwd=x y;Timeout=3\"".into(),
            format!("connectionString=\"{}\"", secret("secret")),
        ),
        // Headers and commands.
        (format!("Authorization: Bearer {key}"), format!("Authorization: Bearer {}", secret("authorization"))),
        (
            "Authorization: Basic dXNlcjpwYXNz\r\n".into(),
            format!("Authorization: Basic {}\r\n", secret("authorization")),
        ),
        ("authorization: token abc123".into(), format!("authorization: token {}", secret("authorization"))),
        (
            format!("curl -H 'Authorization: Bearer {key}' https://x"),
            format!("curl -H 'Authorization: Bearer {}' https://x", secret("authorization")),
        ),
        (format!("curl -H \\\"X-Api-Key: {key}\\\""), format!("curl -H \\\"X-Api-Key: {}\\\"", secret("secret"))),
        (
            format!(r#"{{"Authorization": "Bearer {key}"}}"#),
            format!(r#"{{"Authorization": "Bearer {}"}}"#, secret("authorization")),
        ),
        (format!("sent bearer {key}."), format!("sent bearer {}.", secret("authorization"))),
        ("curl -u admin:hunter2 https://x".into(), format!("curl -u admin:{} https://x", secret("password"))),
        (
            "curl -s --user 'admin:hun ter2' https://x".into(),
            format!("curl -s --user 'admin:{}' https://x", secret("password")),
        ),
        ("sshpass -p hunter2 ssh x".into(), format!("sshpass -p {} ssh x", secret("password"))),
        ("mysql -u root -phunter2 db".into(), format!("mysql -u root -p{} db", secret("password"))),
        (
            "Cookie: theme=dark; session=abc123def456".into(),
            format!("Cookie: theme=dark; session={}", secret("cookie")),
        ),
        (
            "Set-Cookie: sid=abc123def456; Path=/; Max-Age=3600".into(),
            format!("Set-Cookie: sid={}; Path=/; Max-Age=3600", secret("cookie")),
        ),
        // URLs.
        ("postgres://user:p%40ss@db:5432/x".into(), format!("postgres://user:{}@db:5432/x", secret("url-password"))),
        ("redis://:hunter2@cache".into(), format!("redis://:{}@cache", secret("url-password"))),
        (
            "DATABASE_URL=mysql://u:a@b@host/x".into(),
            format!("DATABASE_URL=mysql://u:{}@host/x", secret("url-password")),
        ),
    ] {
        assert_eq!(masked(&text), expected, "{text}");
        assert_eq!(masked(&expected), expected, "masked twice");
    }
}

#[test]
fn what_holds_its_own_secret_says_so() {
    let token = format!("{}{}", "ghp_", random(36));
    let jwt = format!("eyJ{}.eyJ{}.{}", random(20), random(30), random(43));
    for (text, expected) in [
        (format!("GITHUB_TOKEN={token}"), "GITHUB_TOKEN=[github-token-1]".to_owned()),
        (format!("https://x:{token}@github.com/a/b"), "https://x:[github-token-1]@github.com/a/b".to_owned()),
        (format!("Authorization: Bearer {jwt}"), "Authorization: Bearer [jwt-1]".to_owned()),
        (format!("token: \"{jwt}\""), "token: \"[jwt-1]\"".to_owned()),
        (format!("id {jwt}."), "id [jwt-1].".to_owned()),
    ] {
        assert_eq!(masked(&text), expected, "{text}");
    }
}

#[test]
fn private_keys_go_whole() {
    let line = random(64);
    for label in [
        "PRIVATE KEY",
        "RSA PRIVATE KEY",
        "EC PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ] {
        let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
        for (text, expected) in [
            (format!("a\n{begin}\n{line}\n{line}=\n{end}\nb"), "a\n[private-key-1]\nb".to_owned()),
            (format!(r#""{begin}\n{line}\n{end}\n""#), r#""[private-key-1]\n""#.to_owned()),
            (
                format!("{begin}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{}\n\n{line}\n{line}", hex(32)),
                "[private-key-1]".to_owned(),
            ),
            (format!("{begin}\n{line}\n{line}\nand then words"), "[private-key-1]\nand then words".to_owned()),
            (format!("{begin}\\n{line}\\nabcD\" x"), "[private-key-1]\" x".to_owned()),
            (
                format!(r#"["{begin}", "{line}", "{line}", 12345678901234567890]"#),
                r#"["[private-key-1]", 12345678901234567890]"#.to_owned(),
            ),
            (
                format!(r#"{{"a":"{begin}\n{line}","{}":"x"}}"#, "name".repeat(5)),
                format!(r#"{{"a":"[private-key-1]","{}":"x"}}"#, "name".repeat(5)),
            ),
            (format!("\"{begin}\\n\" +\n  \"{line}\\n\" +\n  \"{line}\\n\";"), "\"[private-key-1]\\n\";".to_owned()),
            (format!("{begin}\n...\n{end}"), format!("{begin}\n...\n{end}")),
            (format!("It says {begin} first"), format!("It says {begin} first")),
        ] {
            assert_eq!(masked(&text), expected, "{text}");
        }
    }
}

#[test]
fn what_is_no_secret_stays() {
    let uuid = "3f2b8c1e-9a4d-4e6f-8b7a-1c2d3e4f5a6b";
    let sha = hex(40);
    let long = random(400);
    for text in [
        "API_KEY=$OTHER_KEY",
        "API_KEY=${OTHER_KEY}",
        "export TOKEN=$(cat token.txt)",
        "API_KEY=<your-key>",
        "API_KEY=your-api-key-here",
        "API_KEY=xxxxxxxxxxxxxxxx",
        "DB_PASSWORD=****",
        "DB_PASSWORD=changeme",
        "DB_PASSWORD=",
        "DB_PASSWORD=\"\"",
        "DB_PASSWORD_FILE=/run/secrets/db_password",
        "PRIVATE_KEY=./keys/dev.pem",
        "api_key = os.environ[\"OPENAI_API_KEY\"]",
        "api_key=os.environ.get('OPENAI_API_KEY')",
        "const apiKey = process.env.OPENAI_API_KEY;",
        "apiKey: process.env.OPENAI_API_KEY,",
        "api_key=api_key,",
        "api_key=self.api_key)",
        "client = OpenAI(api_key=settings.openai_api_key)",
        "password = get_password()",
        "password = getpass.getpass('Password: ')",
        "token = tokenizer.decode(x)",
        "let token = parser.next_token()?;",
        "Token::new(kind)",
        "if token == other123456:",
        "def login(user: str, password: str) -> None:",
        "password: string;",
        "password: Option<String>,",
        "token: str",
        "secret: SecretStr = Field(default=None)",
        "password: None",
        "password: required",
        r#"{"password": null, "secret": true, "token": 5}"#,
        r#"{"max_tokens": 4096, "total_tokens": 120}"#,
        "max_tokens: 4096",
        "max_tokens=4096",
        "TOKEN_LIMIT=200000",
        r#"{"token": " the", "logprob": -0.1}"#,
        r#"{"type": "password", "name": "password"}"#,
        r#"{"password": "string"}"#,
        r#"fetch(url, {credentials: "same-origin"})"#,
        "The password must be at least 8 characters long.",
        "Password: the user has to choose a new one",
        "I changed the token handling; the secret is read from Vault.",
        "Password authentication failed for user admin",
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN",
        "-H \"Authorization: Bearer ${API_TOKEN}\"",
        "f\"Bearer {token}\"",
        "Bearer authentication is used",
        "postgres://user:$PASSWORD@host/db",
        "postgres://user:${PASSWORD}@host/db",
        "http://localhost:8080/path@x",
        "https://user@host/x",
        "see https://example.com/token?x=1",
        "call_abc123 toolu_01A09q90qw90lq917835lq9 chatcmpl-abc123DEF456ghi789jkl012mno",
        "task-management-of-a-very-long-name-with-words",
        "risk-assessment sk-learn-contrib-something-longer",
        "sk-...abcd",
        "sk-your-api-key-goes-here-please",
        "class=\"sk-toggleable__content fitted sk-container-id-1\"",
        "docker run --user 1000:1000 x",
        "PWD=/home/me/project",
        "[env-secret-1] [github-token-2] API_KEY=[env-secret-1]",
        "password=[password-3], token: \"[jwt-1]\"",
        "PASS: tests/test_x.py::test_y",
        "Cookie: theme=dark; lang=en",
        "git commit -m 'token: fix refresh'",
        "from keyring import get_password",
        "primary_key=True, foreign_key=\"users.id\"",
    ] {
        assert_eq!(masked(text), text);
    }
    for text in [
        format!("commit {sha}"),
        format!("index {uuid} sha256:{}", hex(64)),
        format!("data:image/png;base64,{long}"),
        format!("\"session_id\": \"{uuid}\""),
        format!("\"password_hash\": \"{sha}\""),
    ] {
        assert_eq!(masked(&text), text);
    }
}

#[test]
fn the_same_secret_has_the_same_placeholder() {
    let (one, two) = (format!("{}{}", "ghp_", random(36)), format!("{}{}", "ghp_", random(37)));
    let mut redactor = Redactor::new();
    assert_eq!(redactor.mask(&format!("{one} {two} {one}")), "[github-token-1] [github-token-2] [github-token-1]");
    assert_eq!(redactor.mask(&format!("X_TOKEN={two}")), "X_TOKEN=[github-token-2]");
    assert_eq!(redactor.counts().get("github-token"), Some(&4));
    assert!(matches!(redactor.mask("[github-token-1] nothing"), Cow::Borrowed(_)));
    assert_eq!(redactor.counts().values().sum::<u64>(), 4);
    assert!(!format!("{redactor:?}").contains(&one));
}

#[test]
fn numbers_begin_above_those_that_stand_there() {
    let token = format!("{}{}", "ghp_", random(36));
    assert_eq!(masked(&format!("[github-token-7] {token}")), "[github-token-7] [github-token-8]");
    let mut redactor = Redactor::new();
    redactor.note("earlier: [github-token-2], [no-kind-9], [github-token-99999999999999999999999]");
    assert_eq!(redactor.mask(&token), "[github-token-3]");
}

fn edited(source: &str, indices: &[usize]) -> (String, Redactor) {
    let document = read(source, None, None).expect("a transcript");
    let mut redactor = Redactor::new();
    let edits = redactor.edits(&document.transcripts[0], indices);
    assert!(edits.is_sorted_by_key(|edit| edit.range.start));
    (apply(source, &edits), redactor)
}

#[test]
fn only_strings_with_secrets_are_edited() {
    let token = format!("{}{}", "ghp_", random(36));
    let source = format!(
        r#"{{"note":"[github-token-4]", "messages": [
  {{"role":"user", "content":"caf\u00e9 {token} \ud83d", "n": 1.50}},
  {{"role":"assistant","content":null,"tool_calls":[{{"id":"call_abc123abc123abc123","type":"function","function":{{"name":"f","arguments":"{{\"password\": \"hunter2\", \"env\": \"A_TOKEN=x1y2z3\\nB=1\", \"n\": 1}}"}}}}]}},
  {{"role":"tool","tool_call_id":"call_abc123abc123abc123","content":"caf\u00e9"}},
  {{"role":"user","content":"{token}"}}
]}}"#
    );
    let (masked, redactor) = edited(&source, &[0, 1, 2]);
    let expected = source
        .replacen(&format!(r#""caf\u00e9 {token} \ud83d""#), "\"café [github-token-5] \u{fffd}\"", 1)
        .replace(r#"\"hunter2\""#, r#"\"[password-1]\""#)
        .replace("x1y2z3", "[env-secret-1]");
    assert_eq!(masked, expected);
    assert_eq!(redactor.counts().values().sum::<u64>(), 3);
    let value: Value = serde_json::from_str(&masked).expect("still JSON");
    let arguments = value["messages"][1]["tool_calls"][0]["function"]["arguments"].as_str().expect("arguments");
    let arguments: Value = serde_json::from_str(arguments).expect("still JSON inside");
    assert_eq!(arguments["env"], "A_TOKEN=[env-secret-1]\nB=1");
}

#[test]
fn keys_say_what_their_values_are() {
    let source = r#"[{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"password","input":
      {"password":"hunter2","nested":{"api_keys":["x"],"client_secret":["hunter3"],"headers":{"Authorization":"Bearer abc123def","X":"y"}},
       "env":[{"name":"DB_PASSWORD","value":"hunter2"},{"name":"HOST","value":"hunter2"}],
       "url":"ftp://u:pw1@h","max_tokens":4096,"password_hint":"the usual"}}]}]"#;
    let expected = r#"[{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"password","input":
      {"password":"[password-1]","nested":{"api_keys":["x"],"client_secret":["[secret-1]"],"headers":{"Authorization":"Bearer [authorization-1]","X":"y"}},
       "env":[{"name":"DB_PASSWORD","value":"[password-1]"},{"name":"HOST","value":"hunter2"}],
       "url":"ftp://u:[url-password-1]@h","max_tokens":4096,"password_hint":"the usual"}}]}]"#;
    let (masked, _) = edited(source, &[0]);
    assert_eq!(masked, expected);
    assert_eq!(edited(&masked, &[0]).0, masked);
}

/// Text of the pieces that decisions depend on, so that they meet in every order.
fn pieces() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "password",
        "API_KEY",
        "token",
        "Authorization",
        "Bearer ",
        "Basic ",
        "Cookie",
        "curl -u ",
        "a:",
        "=",
        ": ",
        ":",
        " = ",
        "\"",
        "'",
        "`",
        "\\",
        "\\n",
        "\\\"",
        "\n",
        " ",
        ",",
        ";",
        "&",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "<",
        ">",
        "$",
        "://",
        "@",
        "//u:",
        "/",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "sk-",
        "ghp_",
        "eyJ",
        ".",
        "--",
        "*",
        "hunter2",
        "é",
        "\u{fffd}",
        "[password-1]",
        "[jwt-2]",
        "[github-token-",
        "AKIA",
        "mnemonic",
        "str",
        "export ",
        "connection_string",
        "SK",
    ]);
    let piece = prop_oneof![
        6 => fixed.prop_map(str::to_owned),
        1 => "[a-zA-Z0-9]{1,70}",
        1 => "[A-Z0-9]{16}",
        1 => ".{0,4}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn masking_is_safe_and_final(text in prop_oneof![pieces(), ".*"]) {
        let mut redactor = Redactor::new();
        let once = redactor.mask(&text).into_owned();
        let count = redactor.counts().clone();
        prop_assert_eq!(redactor.mask(&once), once.as_str());
        prop_assert_eq!(redactor.counts(), &count);
        prop_assert_eq!(masked(&once), once.clone());
    }

    #[test]
    fn a_planted_secret_does_not_survive(
        which in any::<prop::sample::Index>(),
        before in pieces(),
        after in pieces(),
        left in prop::sample::select(vec![" ", "\n", "\"", "=", "(", "\\n", ",", "|"]),
        right in prop::sample::select(vec![" ", "\n", "\"", ")", "\\n", ",", "|"]),
    ) {
        let shapes = of_shapes();
        let (_, secret) = which.get(&shapes);
        let masked = masked(&format!("{before}{left}{secret}{right}{after}"));
        prop_assert!(!masked.contains(secret.as_str()), "{secret} in {masked}");
    }

    #[test]
    fn a_password_with_a_name_does_not_survive(
        password in "[a-z]{3}[0-9]{3}[a-zA-Z0-9@%^+_]{2,20}",
        frame in prop::sample::select(vec![
            ("DB_PASSWORD=", "\n"), ("{\"password\": \"", "\"}"), ("password: ", "\n"), ("{\\\"api_key\\\": \\\"", "\\\"}"),
            ("Authorization: Bearer ", "\n"), ("amqp://user:", "@host"), ("export X_TOKEN='", "'"), ("<secret>", "</secret>"),
        ]),
        around in ("[ a-z\n]{0,30}", "[ a-z\n]{0,30}"),
    ) {
        let (start, end) = frame;
        let masked = masked(&format!("{}\n{start}{password}{end}{}", around.0, around.1));
        prop_assert!(!masked.contains(&password), "{masked}");
    }

    #[test]
    fn messages_stay_messages(text in pieces(), other in pieces()) {
        let inner = serde_json::json!({"command": other, "password": text}).to_string();
        let call = serde_json::json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": inner}});
        let source = serde_json::json!([
            {"role": "user", "content": text},
            {"role": "assistant", "content": null, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "content": other},
        ]).to_string();
        let (masked, _) = edited(&source, &[0, 1, 2]);
        let value: Value = serde_json::from_str(&masked).expect("still JSON");
        let arguments = value[1]["tool_calls"][0]["function"]["arguments"].as_str().expect("arguments");
        prop_assert!(serde_json::from_str::<Value>(arguments).is_ok(), "{arguments}");
        prop_assert_eq!(edited(&masked, &[0, 1, 2]).0, masked);
    }
}

/// Not for every day: `cargo test --release --lib redaction -- --ignored --nocapture`.
#[test]
#[ignore = "measures"]
#[expect(clippy::print_stdout, reason = "what it is for")]
fn speed() {
    let secrets: String = of_shapes().iter().map(|(_, secret)| format!("x = {secret}\n")).collect();
    let prose =
        "The token count of the author's key: see `api_key = settings.key` in https://host/path, password: str\n"
            .repeat(60);
    for (name, piece) in [
        ("prose", prose.clone()),
        ("secrets and prose", format!("{secrets}{prose}")),
        ("base64", random(1000)),
        ("prefixes", "sk-".to_owned()),
        ("stand-ins", "sk-ant-your-".to_owned()),
        ("tokens", "eyJ".to_owned()),
        ("parts", "eyJabcdefghi.".to_owned()),
        ("names", "password=\"".to_owned()),
        ("quotes", "a_token='b_token=\"c_token=`".to_owned()),
        ("begins", "-----BEGIN RSA PRIVATE KEY-----".to_owned()),
        ("addresses", "a://b:".to_owned()),
        ("commands", "curl -u ".to_owned()),
        ("brackets", "[a".to_owned()),
        ("cookies", "Cookie: a=".to_owned()),
    ] {
        let text = piece.repeat(10_000_000 / piece.len());
        let begun = std::time::Instant::now();
        let mut redactor = Redactor::new();
        let length = redactor.mask(&text).len();
        println!(
            "{name}: {} ms, {} bytes to {length}, {} places",
            begun.elapsed().as_millis(),
            text.len(),
            redactor.counts().values().sum::<u64>()
        );
    }
}
