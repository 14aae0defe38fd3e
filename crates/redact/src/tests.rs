//! Secrets that are found, and text that stays. The secrets are assembled here, so that no scanner mistakes them for
//! real ones.

use crate::samples::{hex, of_shapes, random};
use crate::transcript::edit::apply;
use crate::transcript::framing::read_for_test as read;
use crate::*;

pub(super) fn masked(text: &str) -> String {
    Redactor::default().mask(text).into_owned()
}

#[test]
fn patterns_compile() {
    let mut redactor = Redactor::default();
    assert_eq!(
        redactor.mask(&format!("password=hunter2 {}{}", "ghp_", random(36))),
        "password=[password-1] [github-token-1]"
    );
}

#[test]
fn every_shape_is_found_wherever_it_stands() {
    for (kind, secret) in of_shapes() {
        for frame in ["¦", "\"¦\"", "'¦',", "=¦\n", "(¦)", "\\n¦\\n", "\u{1b}[32m¦\u{1b}[0m", "é¦ ", "`¦`.", "%3D¦&x"]
        {
            let text = format!("say {} done", frame.replace('¦', &secret));
            let masked = masked(&text);
            assert!(masked.contains(&format!("[{kind}-1]")), "{kind}: {text} became {masked}");
            let rest: String = secret.chars().rev().take(12).collect::<Vec<_>>().into_iter().rev().collect();
            assert!(!masked.contains(&rest), "{kind}: {text} became {masked}");
        }
    }
}

/// Asserts that text between `«kind:` and `»` is replaced by its placeholder, and nothing else changes. `KEY`, `HEX`
/// and `LONG` in it are replaced by 24 letters and digits, 40 hexadecimal digits, and 64 letters and digits.
fn assert_masked(rows: &[&str]) {
    let marked = Regex::new("(?s)«([a-z0-9-]+):(.*?)»").expect("a pattern");
    let mut failed = Vec::new();
    for row in rows {
        let row = row.replace("@KEY@", &random(24)).replace("@HEX@", &hex(40)).replace("@LONG@", &random(64));
        let (text, expected) = (marked.replace_all(&row, "$2"), marked.replace_all(&row, "[$1-1]"));
        let once = masked(&text);
        if once != expected || masked(&once) != once {
            failed.push(format!("{text}\n  became {once}\n  not    {expected}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A mask may cover more than the secret; the secret alone is masked all the same.
#[test]
fn a_token_is_known_without_what_is_around_it() {
    let token = random(24);
    for told in [
        "Cookie: theme=dark; session=¦",
        "http --auth bob:¦ GET x.io",
        "Username/Password: bob/¦",
        "user=a password=¦,host=b",
        "authorization=Bearer%20¦",
        "password: ~s(¦)",
        "API_KEYS=¦,other",
    ] {
        let texts = [told.replace('¦', &token), format!("it is {token} again")];
        let mut redactor = Redactor::default();
        redactor.look_through_texts(texts.iter().map(String::as_str));
        let masked: Vec<String> = texts.iter().map(|text| redactor.mask(text).into_owned()).collect();
        assert!(masked.iter().all(|text| !text.contains(&token)), "{masked:?}");
    }
}

#[test]
fn environment_variables() {
    assert_masked(&[
        "FOO_API_KEY=«env-secret:@KEY@»",
        "export FOO_API_KEY=«env-secret:@KEY@»\nX=1",
        "DB_PASSWORD=\"«env-secret:hunter two»\"",
        "DB_PASSWORD=\"«env-secret:correct horse battery staple»\"",
        "MY_PASSPHRASE=\"«env-secret:open sesame now»\"",
        "DB_PASSWORD=\"«env-secret:p@ss;w0rd,)»\"",
        "DB_PASSWORD=«env-secret:p@ss;w0rd,)x» # mine",
        "DB_PASSWORD=«env-secret:postgres»\nDB_HOST=db",
        "DB_PASSWORD=«env-secret:secret»",
        "JWT_SECRET=«env-secret:mysecret»",
        "JWT_SECRET=«env-secret:supersecretkey»\n",
        "ALGOLIA_KEY=«env-secret:@HEX@»",
        "AZURE_DEVOPS_PAT=«env-secret:@LONG@»",
        "AUTH_SALT=«env-secret:pepper» SLACK_SIGNING_SECRET=x",
        "SLACK_SIGNING_SECRET=«env-secret:@HEX@»",
        "DATABASE_DSN=«env-secret:user:pass1234@tcp(127.0.0.1:3306)/app»",
        "POSTGRES_PASSWORD: «env-secret:postgres»",
        "docker run -e MYSQL_ROOT_PASSWORD=«env-secret:root1» x",
        "AWS_SECRET_ACCESS_KEY=«env-secret:@KEY@/+@KEY@»",
        "$env:DB_PASSWORD = '«env-secret:hunter2»'",
        "os.environ[\"OPENAI_API_KEY\"] = \"«env-secret:@KEY@»\"",
        r"cat .env\nDB_PASSWORD=«env-secret:hunter2»\nX=1",
        "STRIPE_SECRET_KEY_EU=«env-secret:abcd»",
    ]);
}

#[test]
fn what_names_tell() {
    assert_masked(&[
        "aws_secret_access_key = «secret:@KEY@/@KEY@»",
        "  password: «password:hunter2» # x",
        "password: «password:correct-horse»\nuser: me",
        "spring.datasource.password=«password:hunter2»",
        "//registry.example.com/:_authToken=«secret:@KEY@»",
        "<password>«password:hunter2»</password>",
        r#"{"client_secret": "«secret:hunter2»", "x": 1}"#,
        "api_key=\"«secret:@KEY@»\"",
        "const apiKey: string = '«secret:@KEY@»';",
        "password: str = \"«password:hunter2»\"",
        r#"{\"password\": \"«password:hun\\\"ter2»\"}"#,
        r"x\napi_key=«secret:abc123def456»\n",
        "**API key**: `«secret:@KEY@»`",
        "?access_token=«secret:@KEY@»&x=1",
        "?password=«password:hunter2»&x=1",
        "the password: «password:a9B7$#fG3&Z1», I think",
        "Server=db;Password=«password:hunter2»;Timeout=3",
        "Server=db;Password=«password:Pa ss»;Timeout=3",
        "Server=db;Password=«password:Tr0ub4dor&3YwG»;Encrypt=True",
        "the API key («secret:@KEY@») leaked",
        "Password for user bob set to «password:@KEY@»",
        "https://x.io/reset?reset_token=«secret:@KEY@»",
        "Unseal Key: «secret:@KEY@»",
        "recovery_code: «secret:@KEY@»",
        r#"{"password": "«password:{\"a\":\"@KEY@\"}»"}"#,
        "EXISTING_API_KEY=«env-secret:@KEY@»",
        "password: «password:Welcome!»\nuser: x",
        "https://api_key:«secret:@KEY@/x»",
        "<secret key=\"«secret:@KEY@»\">",
        "kind: Secret\nstringData:\n  conf: \"«secret:host: db1, pw: correcthorse»\"\n",
        "PEPPER=«env-secret:@HEX@»",
        "token: («secret:@KEY@»)",
        "the API key [«secret:@KEY@»] leaked",
        "https://gitlab-ci-token:«url-password:@KEY@»@gitlab.com/acme/shop.git",
        "redis://token:«url-password:@KEY@»@cache.acme.io:6379/0",
        "pip install -i https://__token__:«url-password:@KEY@»@pypi.acme.io/simple",
        "kind: Secret\nmetadata:\n  name: db\nstringData:\n  password: «password:@KEY@»\n  x.yaml: |\n    a:\n",
        r#"{"Name":"db","SecretString":"{\"username\":\"app\",\"password\":\"«password:@KEY@»\",\"host\":\"db.acme.io\"}"}"#,
        "--password «password:hunter2» --user x",
        "--api-key=«secret:@KEY@» run",
        "token: \"«secret:@KEY@»\"",
        "curl -u admin:«password:hunter2» https://x",
        "curl -s --user 'admin:«password:hun ter2»' https://x",
        "sshpass -p «password:hunter2» ssh x",
        "mysql -u root -p«password:hunter2» db",
        "mysqldump -u root -p'«password:hunter2»' db",
        "curl -u \"me:«password:hun'ter2»\" https://x",
        "docker login -u me -p «password:hunter2» registry",
        "machine h login me password «password:hunter2»\n",
    ]);
}

#[test]
fn headers_keep_their_scheme() {
    assert_masked(&[
        "Authorization: Bearer «authorization:@KEY@»",
        "Authorization: Bearer «authorization:mytoken»",
        "Authorization: Bearer «authorization:supersecrettoken»\r\nHost: x",
        "Authorization: Basic «authorization:dXNlcjpwYXNz»\r\n",
        "authorization: token «authorization:abc123»",
        "Authorization: Token «authorization:token=\"abc123def456\"»\nX: y",
        "Authorization: ApiKey «authorization:abcdefghijklmn»",
        "Authorization: SharedKey «authorization:acct:dXNlcjpwYXNzdXNlcjpwYXNz»",
        "Authorization: AWS4-HMAC-SHA256 «authorization:Credential=x/20200101/y, SignedHeaders=host;date, Signature=@HEX@»\n",
        "Authorization: Digest «authorization:username=\"Mufasa\", response=\"@HEX@\"»\n",
        "Authorization: Hawk «authorization:id=\"a\", ts=\"1\", mac=\"6R4rV5iE+NPoym\"»",
        "Authorization: OAuth «authorization:oauth_token=\"a\", oauth_signature=\"b%3D\"»",
        "curl -H 'Authorization: Bearer «authorization:@KEY@»' https://x",
        "curl -H \"Authorization: Bearer «authorization:mytoken»\" https://x",
        "curl -H \\\"X-Api-Key: «authorization:@KEY@»\\\"",
        "X-Api-Key: «authorization:correcthorse»\n",
        "X-Auth-Token: «authorization:correcthorse»",
        r#"{"Authorization": "Bearer «authorization:@KEY@»"}"#,
        r#"{"Authorization": "Basic «authorization:dXNlcjpwYQ==»", "x": "y"}"#,
        r#"{"Authorization": "«authorization:mysecretvalue1»"}"#,
        r#"{\"x-api-key\": \"«authorization:abcdefghijklmn»\"}"#,
        "sent bearer «authorization:@KEY@».",
        "Cookie: «cookie:theme=dark; session=abc123def456»\nX: y",
        "-H 'Cookie: «cookie:sid=abc; a=b»'",
        "Set-Cookie: «cookie:sid=abc123def456; Path=/; Max-Age=3600»\n",
    ]);
}

#[test]
fn addresses_lose_their_passwords() {
    let long = "p1".repeat(300);
    assert_masked(&[
        "postgres://user:«url-password:p%40ss»@db:5432/x",
        "redis://:«url-password:hunter2»@cache",
        "redis://:«url-password:123456»@cache",
        "DATABASE_URL=mysql://u:«url-password:a@b»@host/x",
        "postgres://u:«url-password:p#w»@h/d",
        "postgres://u:«url-password:p@ss/w0rd»@db/x",
        "postgres://u:«url-password:a/b»@db/x and http://localhost:8080/a@b",
        "https://«url-password:@HEX@»@github.com/a/b",
        "https://«url-password:@HEX@»@o1.ingest.sentry.io/2",
        &format!("postgres://u:«url-password:{long}»@h/d"),
    ]);
}

#[test]
fn what_holds_its_own_secret_says_so() {
    let google = format!("{}{}", "AQ.Ab8RN6", random(40));
    let (token, jwt) =
        (format!("{}{}", "ghp_", random(36)), format!("eyJ{}.eyJ{}.{}", random(20), random(30), random(43)));
    assert_masked(&[
        &format!("GITHUB_TOKEN=«github-token:{token}»"),
        &format!("https://x:«github-token:{token}»@github.com/a/b"),
        &format!("Authorization: Bearer «jwt:{jwt}»"),
        &format!("token: \"«jwt:{jwt}»\""),
        &format!("id «jwt:{jwt}»."),
        &format!("use «google-key:{google}» then"),
        "Public-Lines: 1\nAAAA\nPrivate-Lines: 2\n«private-key:@LONG@\n@KEY@»\nPrivate-MAC: x",
    ]);
}

#[test]
fn private_keys_go_whole() {
    let line = random(64);
    for label in ["PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"] {
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
                format!(r#"{{"a":"{begin}\n{line}","{}":"x"}}"#, "name".repeat(5)),
                format!(r#"{{"a":"[private-key-1]","{}":"x"}}"#, "name".repeat(5)),
            ),
            (format!("{begin}\n...\n{end}"), format!("{begin}\n...\n{end}")),
            (format!("It says {begin} first"), format!("It says {begin} first")),
        ] {
            assert_eq!(masked(&text), expected, "{text}");
        }
    }
}

/// Texts without secrets, separated by `¦` and lines.
const NO_SECRETS: &str = r##"API_KEY=$OTHER_KEY ¦ API_KEY=${OTHER_KEY} ¦ export TOKEN=$(cat token.txt) ¦ API_KEY=<your-key>
API_KEY=your-api-key-here ¦ API_KEY=xxxxxxxxxxxxxxxx ¦ DB_PASSWORD=**** ¦ DB_PASSWORD=changeme ¦ DB_PASSWORD=
DB_PASSWORD="" ¦ DB_PASSWORD_FILE=/run/secrets/db_password ¦ PRIVATE_KEY=./keys/dev.pem
api_key = os.environ["OPENAI_API_KEY"] ¦ api_key=os.environ.get('OPENAI_API_KEY')
const apiKey = process.env.OPENAI_API_KEY; ¦ apiKey: process.env.OPENAI_API_KEY, ¦ api_key=api_key,
api_key=self.api_key) ¦ client = OpenAI(api_key=settings.openai_api_key) ¦ password = get_password()
password = getpass.getpass('Password: ') ¦ token = tokenizer.decode(x) ¦ let token = parser.next_token()?;
Token::new(kind) ¦ if token == other123456: ¦ def login(user: str, password: str) -> None: ¦ password: string;
password: Option<String>, ¦ token: str ¦ secret: SecretStr = Field(default=None) ¦ password: None
password: required ¦ {"password": null, "secret": true, "token": 5} ¦ {"max_tokens": 4096, "total_tokens": 120}
max_tokens: 4096 ¦ max_tokens=4096 ¦ TOKEN_LIMIT=200000 ¦ {"token": " the", "logprob": -0.1}
{"type": "password", "name": "password"} ¦ {"password": "string"} ¦ fetch(url, {credentials: "same-origin"})
The password must be at least 8 characters long. ¦ Password: the user has to choose a new one
I changed the token handling; the secret is read from Vault. ¦ Password authentication failed for user admin
Authorization: Bearer <token> ¦ Authorization: Bearer $TOKEN ¦ -H "Authorization: Bearer ${API_TOKEN}"
f"Bearer {token}" ¦ Bearer authentication is used ¦ postgres://user:$PASSWORD@host/db
postgres://user:${PASSWORD}@host/db ¦ http://localhost:8080/path@x ¦ https://user@host/x
see https://example.com/token?x=1
call_abc123 toolu_01A09q90qw90lq917835lq9 chatcmpl-abc123DEF456ghi789jkl012mno
task-management-of-a-very-long-name-with-words ¦ risk-assessment sk-learn-contrib-something-longer ¦ sk-...abcd
sk-your-api-key-goes-here-please ¦ class="sk-toggleable__content fitted sk-container-id-1"
docker run --user 1000:1000 x ¦ PWD=/home/me/project ¦ [env-secret-1] [github-token-2] API_KEY=[env-secret-1]
password=[password-3], token: "[jwt-1]" ¦ PASS: tests/test_x.py::test_y ¦ document.cookie = name
the bearer of bad news ¦ token: 4f3a2b1c99 ¦ API_KEY=get_key(name)
salt and pepper: 2tsp5x ¦ file 9f86d081884c7d659a2feaa0c55ad015.Ab3dEf5hIj7kLm9o.js ¦ password: String? ¦ val password: String? = null ¦ secret: Uint8Array ¦ password=@/run/secrets/pw1
headers["Authorization"] = authHeader1 ¦ <li key="item-12ab"> ¦ <Item key="row-12ab" /> ¦ existingSecret: my-secret-name
headers = {"Authorization": f"Bearer {token}"} ¦ Authorization: the user has to log in
{"x-api-key": "${API_KEY}"} ¦ https://cdn.example/npm/react@18.2.0/index.js https://medium.com/@me/x
AUTH_TIMEOUT=30 KEYBOARD=us SSH_AUTH_SOCK=/tmp/x/agent.1 ¦ {"password": ["The password is required"]}
The password is required ¦ git commit -m 'token: fix refresh' ¦ from keyring import get_password
primary_key=True, foreign_key="users.id""##;

#[test]
fn what_is_no_secret_stays() {
    let uuid = "3f2b8c1e-9a4d-4e6f-8b7a-1c2d3e4f5a6b";
    let sha = hex(40);
    let long = random(400);
    for text in NO_SECRETS.lines().flat_map(|line| line.split(" ¦ ")) {
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
    let mut redactor = Redactor::default();
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
    let mut redactor = Redactor::default();
    redactor.reserve_placeholders("earlier: [github-token-2], [no-kind-9], [github-token-99999999999999999999999]");
    assert_eq!(redactor.mask(&token), "[github-token-3]");
}

pub(super) fn edited(source: &str, indices: &[usize]) -> (String, Redactor) {
    let document = read(source, None, None).expect("a transcript");
    let mut redactor = Redactor::default();
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
       "env":[{"name":"DB_PASSWORD","value":"[password-1]"},{"name":"HOST","value":"[password-1]"}],
       "url":"ftp://u:[url-password-1]@h","max_tokens":4096,"password_hint":"the usual"}}]}]"#;
    let (masked, _) = edited(source, &[0]);
    assert_eq!(masked, expected);
    assert_eq!(edited(&masked, &[0]).0, masked);
}

#[test]
fn a_private_key_goes_whole_behind_numbers_times_and_in_base64() {
    let lines: Vec<String> = (0..5).map(|at| random(64 + at).split_off(at)).collect();
    let key = |end: &str| format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n{end}", lines.join("\n"));
    let prefixed = |prefix: &dyn Fn(usize) -> String, key: &str| {
        let lines = key.lines().enumerate().map(|(at, line)| prefix(at + 1) + line);
        lines.collect::<Vec<_>>().join("\n")
    };
    let prefixes: [&dyn Fn(usize) -> String; 9] = [
        &|_| String::new(),
        &|at| format!("{at:>6}\t"),
        &|at| format!("{at}: "),
        &|at| format!("{at:>6}→"),
        &|at| format!("  {at} | "),
        &|at| format!("2026-01-01T00:00:{at:02}Z "),
        &|at| format!("[2026-01-01 00:00:{at:02},123] INFO "),
        &|_| "app_1  | ".to_owned(),
        &|_| "    ".to_owned(),
    ];
    for end in ["-----END RSA PRIVATE KEY-----\n", "", "and then words"] {
        for prefix in prefixes {
            let masked = masked(&format!("a\n{}\nb", prefixed(prefix, &key(end))));
            assert!(lines.iter().all(|line| !masked.contains(&line[20..28])), "{masked}");
            assert!(masked.starts_with("a\n") && masked.ends_with("\nb"), "{masked}");
            assert!(masked.contains("[private-key-1]"), "{masked}");
        }
    }
    for base64 in ["LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0t", "LS0tLS1CRUdJTiBQR1AgUFJJVkFURSBLRVkgQkxP"] {
        let wrapped = format!("{base64}{}\n{}\n{}", &lines[0][..36], lines[1], lines[2]);
        assert_eq!(masked(&format!("key:\n{wrapped}\n\nb")), "key:\n[private-key-1]\n\nb");
    }
}

#[test]
fn words_end_with_the_string_that_they_are_in() {
    for (value, kept) in [("strBearer b{", "strBearer b{"), ("correct horse battery", "[password-1]")] {
        let json = |value: &str| serde_json::json!({"a": format!("password: {value}"), "b": 1}).to_string();
        assert_eq!(masked(&json(value)), json(kept));
    }
    assert_eq!(masked("\"password: my \"quoted\" pass\""), "\"password: [password-1]\"");
}

/// A mask that began with the letter of an escape would leave its backslash.
#[test]
fn a_secret_begins_behind_an_escape() {
    assert_eq!(masked(r#"{"a": "password: [a-\u00000\\\""}"#), r#"{"a": "password: [a-\u0000[password-1]\\\""}"#);
    let key = "000000AA00a0A0A0\n-----END PRIVATE KEY-----";
    for before in ["\n", "\t", "\u{1}"] {
        let text = serde_json::json!({"command": format!("{before}{key}")}).to_string();
        let masked = masked(&text);
        assert!(serde_json::from_str::<Value>(&masked).is_ok() && !masked.contains("000000AA"), "{masked}");
    }
}

#[test]
fn a_seal_is_one_only_where_the_format_puts_it() {
    let token = format!("{}{}", "ghp_", random(36));
    let parts = |text: &str| {
        serde_json::json!([
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "so", "signature": text},
                {"type": "tool_use", "id": "t", "name": "f", "input": {"signature": text, "encrypted_content": text}},
            ]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [
                {"type": "text", "text": serde_json::json!({"thoughtSignature": text}).to_string()},
            ]}]},
        ])
    };
    let (masked, _) = edited(&parts(&token).to_string(), &[0, 1]);
    let mut expected = parts("[github-token-1]");
    expected[0]["content"][0]["signature"] = Value::from(token);
    assert_eq!(serde_json::from_str::<Value>(&masked).expect("JSON"), expected);
}

#[test]
fn a_hostile_text_takes_no_longer_than_another() {
    const SIZE: usize = 1 << 15;
    for part in [
        "password: value = { key: | secret token [ \"a\", ( name= \\n ",
        "value=\"x\" ",
        "keys: [",
        "password:\n  - a\n",
        "password: |\n ",
        "<password a=\"",
        "ENV PASSWORD a b ",
        "-----BEGIN PRIVATE KEY-----\n1 ",
        "LS0tLS1CRUdJTiBSU0Eg",
        "[jwt-",
    ] {
        let started = std::time::Instant::now();
        let _ = masked(&part.repeat(SIZE / part.len()));
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "{part:?}: {:?}", started.elapsed());
    }
}
