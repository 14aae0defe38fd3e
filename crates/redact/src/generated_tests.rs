//! Random values of many kinds behind many names, and texts that are no secrets: at most one of fifty values stays, no part
//! of one does, and no innocent text changes.

use proptest::strategy::{Strategy, ValueTree};
use proptest::string::string_regex;
use proptest::test_runner::TestRunner;

use crate::tests::masked;

/// What generators of passwords and keys write: as patterns, so that no scanner takes them for secrets. `'` and `"` are in
/// none of them, and only the last has white space.
#[rustfmt::skip]
const KINDS: &[&str] = &[
    "[A-Za-z]{16}", "[a-z]{20}", "[A-Za-z]{24}", "[A-Za-z0-9]{16}", "[A-Za-z0-9]{32}", "[A-Za-z0-9+/]{40}", "/[A-Za-z0-9+/]{39}",
    "[A-Za-z0-9_-]{43}", "-[A-Za-z0-9_-]{31}", "[+][A-Za-z0-9+/]{39}", "[A-Za-z0-9+/]{43}=", "[a-f0-9]{32}[a-f][0-9]",
];
/// Kinds with marks, which only quotes hold together.
const MARKED: &[&str] = &[
    "[A-Z][a-z][0-9][!#%^*()_+.:?~]{2}[A-Za-z0-9!#%^*()_+.:?~]{15}",
    "[A-Z][a-z][0-9][A-Za-z0-9!@#%^*()_ \\[\\]{}~+=,.;:/?|-]{59}[0-9]",
];
/// Text of elements with entities, and of sections.
const ENTITIES: &[&str] = &[
    "[a-z]{2}[0-9]{2}[a-z]{2}&amp;[A-Z]{2}[0-9]{2}[a-z]{4}",
    "[A-Z][a-z][0-9]&lt;[a-z][A-Z]{2}[a-z][0-9]&amp;[A-Z][a-z]",
    "[A-Z][a-z]{2}[0-9]&#38;[a-z]{3}[0-9]{3}",
];

/// Texts with `¦` in place of a value.
#[rustfmt::skip]
const PLACES: &[&str] = &[
    "AWS_SECRET_ACCESS_KEY=¦\nX=1", "aws_secret_access_key = ¦\nregion = x", "{\"SecretAccessKey\": \"¦\"}", "db:\n  user: app\n  password: ¦\n  port: 5432",
    "[client]\npassword = ¦\nuser = app", "tool --password ¦ --host db", "variable \"db_password\" {\n  default = \"¦\"\n}", "curl -u 'bob:¦' https://x.example/",
    "{\"password\": \"¦\"}", "<password>¦</password>", "<DB_PASSWORD>¦</DB_PASSWORD><HOST>db</HOST>", "api_key: ¦\nhost: x",
    "password: &pw ¦\nother: *pw", "export API_TOKEN='¦'", "- name: db_password\n  value: \"¦\"", "<code>DB_PASSWORD=¦</code>",
    "const s3 = new S3({ credentials: { accessKeyId: id, secretAccessKey: \"¦\" } });", "| API_KEY | ¦ |",
];
/// Places with quotes or brackets around all of a value.
#[rustfmt::skip]
const QUOTED: &[&str] = &[
    "define('AUTH_KEY', '¦');", "define( 'NONCE_SALT', '¦' );", "api_key = \"¦\"", "password = \"¦\"", "{\"client_secret\": \"¦\"}", "SECRET_KEY = '¦'",
    "<add key=\"Password\" value=\"¦\" />", "ENV['API_KEY'] = '¦'",
];
/// Places in XML and HTML.
#[rustfmt::skip]
const MARKUP: &[&str] = &[
    "<password>¦</password>", "<secret>¦</secret><host>db</host>", "<key>password</key>\n<string>¦</string>", "<password encrypted=\"false\">¦</password>",
    "<add name=\"x\" connectionString=\"Server=db;Password=¦;User Id=sa\" />", "<DB_PASSWORD>¦</DB_PASSWORD>", "<password><![CDATA[¦]]></password>",
    "<property name=\"hibernate.connection.password\">¦</property>", "<wsse:Password>¦</wsse:Password>", "<password>\n  ¦\n</password>",
];

/// How often each kind is put into each place.
const EACH: usize = 3;

#[test]
fn generated_values_go_whole_and_alone() {
    let mut runner = TestRunner::deterministic();
    let (mut cases, mut whole, mut parts) = (0, Vec::new(), Vec::new());
    for (places, kinds) in [(PLACES, KINDS), (QUOTED, KINDS), (QUOTED, MARKED), (MARKUP, ENTITIES)] {
        for (place, kind) in places.iter().flat_map(|place| kinds.iter().map(move |kind| (place, kind))) {
            let strategy = string_regex(kind).expect("a pattern");
            for _ in 0..EACH {
                let value = strategy.new_tree(&mut runner).expect("a value").current();
                let text = place.replace('¦', &value);
                let masked = masked(&text);
                let (before, behind) = place.split_once('¦').expect("a place");
                let mask = masked.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind));
                let is_mask = |mask: &str| mask.starts_with('[') && mask.ends_with("-1]") && !mask.contains(' ');
                cases += 1;
                if masked == text {
                    whole.push(text);
                } else if !mask.is_some_and(is_mask) {
                    parts.push(format!("{text:?} became {masked:?}"));
                }
            }
        }
    }
    assert!(cases >= 200, "{cases}");
    assert!(parts.is_empty(), "{} of {cases} in part\n{}", parts.len(), parts.join("\n"));
    assert!(whole.len() * 50 <= cases, "{} of {cases} stay\n{}", whole.len(), whole.join("\n"));
}

/// Words and names of code, each of which is put into each text of [`OF_NAMES`].
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "defaultSettingsPath", "default_settings_path", "userConfigCache", "buildDataIndexTokenConfig", "sunshine", "required", "acknowledgment", "HTTPServerTLSConfig",
    "userPasswordFromKeychain", "SecretKeyProvider", "base_url_of_service", "myVaultReference", "weekday_cycle_forward", "enjoyable", "ConfigurationSection",
];
/// Texts in which a name is no secret; `§` is the name.
#[rustfmt::skip]
const OF_NAMES: &[&str] = &[
    "password: *§", "secret: &§\n  a: 1", "password = self.§", "password = §(x)", "secret: projects/p/secrets/§/versions/3", "tool --password § --host db",
    "re_§_§ = re.compile(x)", "token = §;", "password = var.§", "secretName: §", "def §(password, token=None):", "secretKeyRef: {name: §, key: password}",
    "password_file: /etc/§.txt", "credentials: { provider: §, region: x }", "api_key: config.§", "TOKEN=$(cat /run/secrets/§)",
];
/// Other innocent texts.
#[rustfmt::skip]
const INNOCENT: &[&str] = &[
    "4969:3374:87a6:90fa:9894:c9a7:3ee9:1039", "fe80:0000:0000:0000:0204:61ff:fe9d:f156", "2001:0db8:85a3:0000:0000:8a2e:0370:7334",
    "const client = new S3({ credentials: { accessKeyId: id, secretAccessKey: key } });", "credentials: { type: 'oauth', scopes: ['a', 'b'] },",
    "<password>{{ pw }}</password>", "<password>${env.PASS}</password>", "<password>' + pw + '</password>", "<password></password>",
    "<label for=\"password\">Enter your Password (8+)</label>", "<password>Enter your password</password>", "<b>password</b> is required",
    "<Button variant=\"secret\">Save changes</Button>", "password: [*a, *b]", "password: *user-config-cache", "secret: projects/p/secrets/user-config-cache/versions/3", "password: !!null", "secret: secret/data/app/db", "PASSWORD_FILE=/run/secrets/db",
    "curl -u bob: https://x.example/", "curl -u bob:/ https://x.example/", "tool --password -v", "api_key = \"[A-Za-z0-9]{32}\"", "password: put your unique phrase here",
    "define('AUTH_KEY', 'put your unique phrase here');", "{\"id\": \"password\", \"value\": \"\"}", "{\"id\": \"token\", \"value\": \"next\"}", "<button id=\"forgot_password\" value=\"Continue\">",
];

#[test]
fn innocent_texts_stay() {
    let of_names = OF_NAMES.iter().flat_map(|text| NAMES.iter().map(move |name| text.replace('§', name)));
    let all: Vec<String> = of_names.chain(INNOCENT.iter().map(|text| (*text).to_owned())).collect();
    let changed: Vec<String> = all
        .iter()
        .filter(|text| masked(text) != **text)
        .map(|text| format!("{text:?} became {:?}", masked(text)))
        .collect();
    assert!(all.len() >= 200, "{}", all.len());
    assert!(changed.is_empty(), "{} of {}\n{}", changed.len(), all.len(), changed.join("\n"));
}
