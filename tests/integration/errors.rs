//! Every kind of error that users meet, with its full text. All of them are in `errors.txt`, to be read and judged
//! together.
//!
//! `TCOMPACT_REGENERATE=1` writes that file anew.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::program::shell;
use crate::server::{Server, Step, completion};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/integration/errors.txt");

/// Headings, and the commands below them.
const SESSION: &str = r#"
# Sizes
tcompact --trigger token:4k chat.json
tcompact --trigger messages:9,token:4k chat.json
tcompact --trigger tokens:-1 chat.json
tcompact --trigger tokens:1.5k chat.json
tcompact --trigger 20 chat.json
tcompact --trigger 20k chat.json
tcompact --keep 0 chat.json
tcompact --keep turns:0 chat.json
tcompact --keep -20 chat.json
tcompact --keep 0.8 chat.json
tcompact --keep tokens=4k chat.json
tcompact --keep '20 messages' chat.json
tcompact --keep turn chat.json
tcompact --keep step:9 chat.json
tcompact --keep bogus:3 chat.json
tcompact --keep fraction:80 chat.json
tcompact --keep fraction:80 --for gpt-4.1 chat.json
tcompact --keep fraction:0.5 chat.json
tcompact --fit 0 chat.json
tcompact --fit messages:5 chat.json
tcompact --fit steps:5 chat.json
tcompact --fit bytes:x chat.json
tcompact --fit bytes:20 chat.json
tcompact --fit 80% chat.json
tcompact --fit token:8k chat.json
tcompact --fit tokens:many chat.json

# Rules
tcompact --pin sytem chat.json
tcompact --pin frist:2 chat.json
tcompact --pin first:0 chat.json
tcompact --pin 'match:(a' chat.json
tcompact --pin usr:tokens:20k chat.json
tcompact --pin user:20k chat.json
tcompact --pin user:steps:3 chat.json
tcompact --keep from:x chat.json
tcompact --keep from:99 chat.json
tcompact --keep since:tomorrow chat.json
tcompact --keep since:1d chat.json
tcompact --emit handoff -i chat.json
tcompact --pairs strickt chat.json
tcompact --pairs window:x chat.json
tcompact --pairs windw:x chat.json
tcompact --counter o200k chat.json
tcompact --counter approx:0 chat.json
tcompact --counter byte:0 chat.json
tcompact --counter bytes chat.json
tcompact --preset langchian chat.json
tcompact --for gpt-5o chat.json
tcompact --for gpt-5.9 chat.json
tcompact -m claude chat.json
tcompact -m anthropic:claude-opus-4.9 chat.json
tcompact --for my-own-model chat.json
tcompact --for llama-3.3-70b-versatile chat.json
tcompact --for gpt-9 chat.json
tcompact -m gpt-4o-mni chat.json
tcompact -m qwen3 chat.json
tcompact -m llama-3.3-70b chat.json
tcompact -m mistral chat.json
tcompact -m deepseek-r1:14b chat.json
tcompact -m meta-llama/Llama-3 chat.json
tcompact -m nobody/nothing:free chat.json
tcompact --from openai-cat chat.json
tcompact --context-window 0 chat.json
tcompact --overhead-tokens -5 chat.json
tcompact --jobs 0 chat.json
tcompact --timeout soon chat.json
tcompact --ledger of chat.json

# Flags
tcompact --kep messages:2 chat.json
tcompact --kep 4k chat.json
tcompact --outpt new.json chat.json
tcompact --confg keep.toml chat.json
tcompact --base-ur http://127.0.0.1:1/v1 -m openai:m chat.json
tcompact --clear-tool-results tokens:5k chat.json
tcompact --truncate-args 50 chat.json
tcompact --overwrite chat.json
tcompact --no-color chat.json
tcompact --api-key-env sk-abc -m openai:m chat.json
tcompact --prune results,reads chat.json
tcompact --pin system,first:2 chat.json
tcompact --prune args chat.json
tcompact --prune all:3 chat.json
tcompact --in-place= chat.json
tcompact --force chat.json
tcompact --archive other.jsonl --keep messages:2 chat.json
tcompact --from anthropic --keep messages:2 calls.json
tcompact -keep messages:20 chat.json
tcompact --jsn chat.json
tcompact --in-plce chat.json
tcompact --frobnicate chat.json
tcompact -x chat.json
tcompact --keep messages:2 --keep messages:3 chat.json
tcompact --rate 0 chat.json
tcompact -n=true chat.json
tcompact -n=false chat.json
tcompact --json=true chat.json
tcompact --kep messages:2 --summarizer-cmd 'sh -c "echo it'\''s short"' --pin 'match:a b' chat.json
tcompact --kep messages:2 --request-json '{"seed": 7}' -m openai:m chat.json
TCOMPACT_KEEEP=messages:2 tcompact --keep messages:2 --summarizer-cmd 'exit 3' chat.json
tcompact --rate x chat.json
tcompact --rate 5000000000 chat.json
tcompact --retries -1 chat.json
tcompact --jobs many chat.json
tcompact --keep
tcompact -m
tcompact --html
tcompact --on-error ignore chat.json
tcompact --json chat.json
tcompact --diff -o out.json chat.json
tcompact -q -v chat.json
tcompact -q -q chat.json
tcompact --quiet=yes chat.json
tcompact -i -O out chat.json
tcompact --resume chat.json
tcompact -i=a/b chat.json
tcompact -n --report r.jsonl chat.json

# Commands
tcompact list
tcompact list model
tcompact list models chat.json
tcompact completions bsh
tcompact help nonsense
tcompact help serch
tcompact search
tcompact search '(a' chat.json
tcompact search -x chat.json
tcompact search --limt 5 x chat.json
tcompact search --limit 0 x chat.json
tcompact show
tcompact show chat.json
tcompact check -O out
tcompact show 1..x chat.json
tcompact show 99 chat.json
tcompact show 0 no-messages.json
tcompact show 1..3 chat.json
tcompact show 3-1 chat.json
tcompact show 1:1..0 removed.jsonl
tcompact show 1 2 chat.json
tcompact show chat.json 1
tcompact show 3fa81c02 removed.jsonl
tcompact show 1:1-0 removed.jsonl
tcompact show 1 chat.json other.json
tcompact repair chat.json
tcompact repair chat.json drop
tcompact repair dorp chat.json
tcompact restore
tcompact count --keep messages:3 chat.json
tcompact count -n chat.json
tcompact count --cuonter approx chat.json
tcompact check nowhere.json
tcompact check prose
tcompact --redact all chat.json
tcompact redact -o chat.json chat.json
tcompact redact -O out -i chat.json
tcompact --keep messages:3 count chat.json
tcompact -v count chat.json
tcompact serach x chat.json
tcompact serach --limit 3 x chat.json
tcompact chek
tcompact undo removed.jsonl chat.json
tcompact --count chat.json
tcompact --count --keep messages:3 -j 2 --json chat.json
tcompact --check --repair drop chat.json
tcompact chat.json --search '(?i)a b' --limit 3
tcompact --mode check chat.json
tcompact --command=search x chat.json
tcompact -i check breach.json
tcompact --search=-x --count chat.json
tcompact --show 1-2 --archive removed.jsonl
tcompact --restore removed.jsonl -i=.bak chat.json
tcompact --list models
tcompact --list
tcompact --generate zsh
tcompact --generate man

# Summarizers
tcompact -m gpt-4o-mini -v chat.json
tcompact -m extractve chat.json
tcompact -m :x chat.json
tcompact -m :gpt-4o chat.json
tcompact -m openai: chat.json
tcompact -m openai chat.json
tcompact -m opnai:gpt-4o-mini chat.json
tcompact -m openai:gpt-4o-mini chat.json
tcompact -m openai:m --base-url localhost:8080 chat.json
tcompact -m openai:m --base-url ftp://example.com chat.json
tcompact --base-url http://localhost:8080/v1 chat.json
tcompact -m openai:m --base-url $URL --request-json '[1]' chat.json
tcompact -m openai:m --base-url $URL --request-json '{"top_p": 1,' chat.json
tcompact -m openai:m --base-url $URL --request-json '{"top_p": 1, "stream": true}' chat.json
tcompact -m openai:m --base-url $URL --request-json '{"api_key": "sk-1234567890"}' chat.json
tcompact --request-json '{"top_p": 1}' chat.json
tcompact --summarizer-cmd cat -m openai:m chat.json
tcompact --prompt-file nowhere.txt chat.json
tcompact --prompt-file no-place.txt chat.json
tcompact --prompt-file field.txt chat.json
tcompact --prompt-file mine.txt --focus refunds --summarizer-cmd cat chat.json
tcompact --focus refunds --model none chat.json
tcompact -m openai:m --base-url $URL --cache chat.json chat.json

# Config files and the environment
tcompact --config nowhere.toml chat.json
tcompact --config wrong-key.toml chat.json
tcompact --config wrong-value.toml chat.json
tcompact --config wrong-kind.toml chat.json
tcompact --config broken.toml chat.json
tcompact --config broken.yaml chat.json
tcompact --config wrong-model.toml chat.json
tcompact --config no-command.toml chat.json
tcompact --config no-setting.toml chat.json
tcompact search --config no-limit.toml x chat.json
tcompact count --config as-value.toml chat.json
TCOMPACT_SEARCH_LIMIT=many tcompact search x chat.json
TCOMPACT_KEEP=message:3 tcompact chat.json
TCOMPACT_CLEAR_TOOL_RESULTS=3 tcompact chat.json
TCOMPACT_QUIET=maybe tcompact chat.json
TCOMPACT_FOR=gpt-4o-mni tcompact chat.json

# What else was given
tcompact -o out.json chat.json other.json
tcompact -eo out.json --keep=messages:2 chat.json other.json --pin 'match:a b' --pin=first:2
tcompact -e --output=out.json folder --prune-except Read -j2
tcompact -oout.json chat.json other.json -q
tcompact -keep messages:20 -v --jsn -n chat.json
tcompact -e --keep mesages:20 --trigger token:4k -q chat.json
tcompact compact -e --keep=messages:2 chat.json
tcompact -eo chat.json --keep messages:2 chat.json
tcompact --keep mesages:20 -i=.bak -- chat.json
tcompact -n --focus 'it'\''s "here"' --trigger messages:4 --trigger turn chat.json
tcompact --keep mesages:20 --focus "$(printf 'two\nlines')" chat.json
tcompact --keep mesages:20 --request-json '{"user": "a1b2c3d4e5f6a7b8"}' -m openai:m chat.json
tcompact -e -m gpt-4o-mni --keep messages:2 chat.json
TCOMPACT_OUTPUT=out.json tcompact -e chat.json other.json

# Inputs
tcompact nowhere.json
tcompact prose.txt
tcompact broken.json
tcompact object.json
tcompact empty.json
tcompact binary.json
tcompact --lines conversations broken.json
tcompact --from anthropic --summary-role system chat.json
tcompact --emit update --from gemini gemini.json
tcompact damaged.json.gz

# Outputs
tcompact -o nowhere/out.json chat.json
tcompact -o chat.json -v chat.json
tcompact compact chat.json
tcompact ''
tcompact --emit summary -i chat.json
tcompact chat.json other.json
tcompact -O chat.json/out folder
tcompact -i < chat.json
tcompact --report - chat.json
tcompact --report nowhere/r.jsonl chat.json
tcompact --report chat.json chat.json
tcompact --html nowhere/p.html chat.json
tcompact --keep messages:2 --html /dev/full -o out.json chat.json
tcompact --archive chat.json chat.json
tcompact restore nowhere.jsonl chat.json
tcompact restore other.jsonl --keep messages:2 chat.json
tcompact restore other.jsonl chat.json
tcompact restore chat.json removed.jsonl
tcompact restore -i other.jsonl removed.jsonl
tcompact restore --archive removed.jsonl chat.json
tcompact search chat.json lamps
tcompact search -s chat.json lamps other.json
tcompact show 12345678 removed.jsonl
tcompact show 12345678 chat.json

# What goes wrong on the way
tcompact --keep messages:2 -m openai:m --base-url $REFUSES --retries 0 chat.json
tcompact --keep messages:2 -m openai:m --base-url $FAILS --retries 0 chat.json
tcompact --keep messages:2 -m openai:m --base-url $SILENT --retries 0 --timeout 0.2 chat.json
tcompact --keep messages:2 -m openai:m --base-url $EMPTY chat.json
tcompact --keep messages:2 -m openai:m --base-url $CUT chat.json
tcompact --keep messages:2 -m openai:m --base-url $LONG chat.json
tcompact --keep messages:2 -m openai:m --base-url $PROSE --retries 0 chat.json
tcompact --keep messages:2 -m openai:m --base-url http://127.0.0.1:1/v1 --retries 0 chat.json
tcompact --keep messages:2 --summarizer-cmd 'echo no >&2; exit 3' chat.json
tcompact --keep messages:2 --summarizer-cmd 'sleep 9' --timeout 0.2 chat.json
tcompact count --counter-cmd 'echo no >&2; exit 3' chat.json
tcompact count --counter-cmd 'sleep 9' --timeout 0.2 chat.json
tcompact count --counter-cmd 'echo five; cat' chat.json
tcompact count --counter-cmd wc --counter approx chat.json
tcompact --keep messages:2 --summarizer-cmd true chat.json
tcompact --keep messages:2 --summarizer-cmd 'echo null' chat.json
tcompact --keep messages:2 --summarizer-cmd 'cat page.html' chat.json
tcompact --keep messages:2 --summarizer-cmd 'echo "Error: 429 Too Many Requests"' chat.json
tcompact --keep messages:2 --summarizer-cmd 'echo ok' calls.json
tcompact --keep messages:2 --accept any -O out folder
tcompact check breach.json
tcompact check --lines conversations breaches.jsonl
"#;

fn files(folder: &Path) {
    let fixture = |name: &str| fs::read_to_string(format!("{}/{name}", crate::program::FIXTURES)).expect("a fixture");
    let chat = fixture("openai-chat/plain.json");
    let breach = r#"[{"role":"user","content":"a"},{"role":"tool","tool_call_id":"1","content":"b"}]"#;
    fs::create_dir(folder.join("folder")).expect("a folder");
    fs::create_dir(folder.join("prose")).expect("a folder");
    fs::create_dir(folder.join("check")).expect("a folder");
    for (name, text) in [
        ("chat.json", chat.as_str()),
        ("other.json", &chat),
        ("calls.json", &fixture("agent-session.json")),
        ("prose/prose.txt", "Dear diary,\n"),
        ("folder/good.json", &chat),
        ("folder/bad.json", "[{\"role\": \"user\","),
        ("gemini.json", &fixture("gemini/request.json")),
        ("prose.txt", "Dear diary,\n"),
        ("broken.json", "[\n  {\"role\": \"user\" \"content\": \"a\"}\n]"),
        ("object.json", "{\"temperature\": 1}"),
        ("empty.json", ""),
        ("no-messages.json", "[]"),
        ("binary.json", "\u{0}\u{1}"),
        ("damaged.json.gz", "\u{1f}\u{8b}"),
        ("breach.json", breach),
        ("breaches.jsonl", breach),
        ("other.jsonl", "{\"a\":1}\n"),
        (
            "removed.jsonl",
            "{\"source\":\"chat.json\",\"id\":\"3fa81c02\",\"format\":\"openai-chat\",\"round\":1,\"indices\":[1],\"messages\":[\"{\\\"role\\\":\\\"user\\\",\\\"content\\\":\\\"a\\\"}\"],\"summarized_at\":\"2026-01-01T00:00:00Z\"}\n",
        ),
        ("page.html", "<!DOCTYPE html>\n<html><head><title>Log in</title></head></html>\n"),
        ("no-place.txt", "Summarize this."),
        ("field.txt", "Summarize {history}."),
        ("mine.txt", "Summarize {messages}."),
        ("keep.toml", "keep = \"messages:3\"\n"),
        ("wrong-key.toml", "kepe = \"messages:3\"\n"),
        ("wrong-value.toml", "keep = \"mesages:3\"\n"),
        ("wrong-kind.toml", "quiet = \"yes\"\n"),
        ("broken.toml", "quiet = true\nkeep = messages:3\n"),
        ("broken.yaml", "keep: [messages:3\n"),
        ("no-command.toml", "[serach]\nlimit = 5\n"),
        ("no-setting.toml", "[search]\nlimt = 5\n"),
        ("no-limit.toml", "[search]\nlimit = 0\n"),
        ("as-value.toml", "count = true\n"),
        ("wrong-model.toml", "for = \"gpt-4o-mni\"\n"),
    ] {
        fs::write(folder.join(name), text).expect("written");
    }
}

fn servers() -> Vec<(&'static str, Server)> {
    let refuses = r#"{"error":{"message":"Incorrect API key provided."}}"#;
    let too_long = "It was a long day in the garden shop. ".repeat(200);
    let answer = |code: u16, body: &str| Step::Answer(code, "retry-after: 0\r\n", body.to_owned());
    vec![
        ("URL", Server::start(vec![completion("Short.", "stop")])),
        ("REFUSES", Server::start(vec![answer(401, refuses)])),
        ("FAILS", Server::start(vec![answer(503, "")])),
        ("SILENT", Server::start(vec![Step::Silence])),
        ("EMPTY", Server::start(vec![completion("", "stop")])),
        ("CUT", Server::start(vec![completion("The user wan", "length")])),
        ("LONG", Server::start(vec![completion(&too_long, "stop")])),
        ("PROSE", Server::start(vec![answer(200, "<html>Welcome</html>")])),
    ]
}

#[test]
fn every_error_says_what_is_wrong_and_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    files(folder.path());
    let servers = servers();
    let (mut told, mut wrong) = (String::new(), Vec::new());
    for line in SESSION.trim().lines() {
        if line.is_empty() || line.starts_with('#') {
            told.push_str(&format!("{line}\n"));
            continue;
        }
        let mut shell = shell(line, folder.path());
        shell.envs(servers.iter().map(|(name, server)| (name, &server.url)));
        let output = shell.output().expect("sh is there");
        let code = output.status.code().expect("an exit code");
        let mut stderr = String::from_utf8(output.stderr).expect("UTF-8");
        for (name, server) in &servers {
            let host = server.url.trim_start_matches("http://").trim_end_matches("/v1").to_owned();
            stderr = stderr.replace(&server.url, &format!("${name}")).replace(&host, &format!("{name}:1"));
        }
        let speaks = stderr.lines().next().is_some_and(|first| first.starts_with("tcompact: "));
        // Output beside it comes from a batch, a check, or a stream.
        if code == 0 || !speaks || code < 6 && !output.stdout.is_empty() {
            wrong.push(line);
        }
        told.push_str(&format!("$ {line}\n{}[{code}]\n\n", stderr));
    }
    if std::env::var_os("TCOMPACT_REGENERATE").is_some() {
        fs::write(FILE, &told).expect("written");
    }
    assert!(wrong.is_empty(), "no errors: {wrong:#?}");
    let expected = fs::read_to_string(FILE).unwrap_or_default();
    for (told, expected) in told.lines().zip(expected.lines()) {
        assert_eq!(told, expected, "tests/integration/errors.txt; TCOMPACT_REGENERATE=1 writes it anew");
    }
    assert_eq!(told.len(), expected.len(), "tests/integration/errors.txt");
}

#[test]
fn every_suggested_command_is_valid() {
    /// The flags with files of their own or without a transcript as output, which exclude a dry run.
    const NOT_DRY: [&str; 5] = ["--dry-run", " -n ", "--diff", "--html", "--report"];
    /// The commands that read standard input.
    const WITHOUT_FILE: [&str; 4] = [
        "tcompact --keep messages:20",
        "tcompact -m openai:gpt-4o-mini",
        "tcompact --html page.html",
        "tcompact check",
    ];
    const ALONE: [&str; 6] =
        ["--help", "tcompact list", "tcompact completions", "tcompact help", "tcompact man", " error ."];
    /// The commands that only some flags of compaction have.
    const COMMANDS: [&str; 7] = ["count", "check", "repair", "redact", "search", "show", "restore"];
    let folder = tempfile::tempdir().expect("a folder");
    files(folder.path());
    let session = fs::read_to_string(FILE).expect("the errors");
    let tries: BTreeSet<&str> = session.lines().filter_map(|line| line.strip_prefix("try: ")).collect();
    let commands = tries.iter().filter(|line| line.starts_with("tcompact "));
    let commands: Vec<&str> = commands.copied().collect();
    assert!(commands.len() > 30, "{commands:#?}");
    for command in commands {
        let has = |flags: &[&str]| flags.iter().any(|flag| command.contains(flag));
        let is_command = command.split(' ').nth(1).is_some_and(|word| COMMANDS.contains(&word));
        // A dry run sends no request.
        let is_dry = !is_command && !has(&ALONE) && !has(&NOT_DRY);
        let line = if is_dry { format!("{command} --dry-run") } else { command.to_owned() };
        let has_file =
            ["chat.json", " folder", "other", ".json", "prose.txt"].iter().any(|file| command.contains(file));
        assert!(has_file || has(&ALONE) || WITHOUT_FILE.contains(&command), "no file: {command}");
        let mut shell = shell(&line, folder.path());
        let addresses = ["URL", "REFUSES", "FAILS", "SILENT", "EMPTY", "CUT", "LONG", "PROSE"];
        shell.envs(addresses.iter().map(|name| (name, "http://localhost:9/v1")));
        let output = shell.output().expect("sh is there");
        assert_ne!(output.status.code(), Some(2), "{line}\n{}", String::from_utf8_lossy(&output.stderr));
        assert!(!has(&["…", "<", "["]), "{line}");
    }
}
