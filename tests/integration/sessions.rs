//! `--latest`, the newest session of an agent; and `--rescue`, for one that can no longer be resumed.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::program::{FIXTURES, Run, run, tcompact};

const OLD: &str = "projects/-work/0b7d8c1e-52a4-4f0e-9b61-3c2a5d4e6f70.jsonl";
const NEW: &str = "projects/-work/0b7d8c1e-52a4-4f0e-9b61-3c2a5d4e6f71.jsonl";

/// A file with this content that changed so many hours ago.
fn written(file: &Path, content: &str, hours: u64) {
    fs::create_dir_all(file.parent().expect("a folder")).expect("made");
    fs::write(file, content).expect("written");
    let time = SystemTime::now() - Duration::from_secs(hours * 3600);
    OpenOptions::new().append(true).open(file).and_then(|file| file.set_modified(time)).expect("set");
}

fn fixture(name: &str) -> String {
    fs::read_to_string(Path::new(FIXTURES).join(name)).expect("a fixture")
}

fn in_home(home: &Path, arguments: &[&str]) -> Run {
    let mut command = tcompact();
    for variable in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "KIMI_CODE_HOME", "PI_CODING_AGENT_DIR"] {
        command.env_remove(variable);
    }
    run(command.env("HOME", home).args(arguments), b"")
}

/// What lies beside sessions is newer, and never taken for one.
#[test]
fn the_newest_session_is_read_in_place_of_a_path() {
    let home = tempfile::tempdir().expect("a folder");
    let home = home.path();
    let claude = home.join(".claude");
    let session = fixture("claude-code/parallel.jsonl");
    written(&claude.join(OLD), &session, 9);
    written(&claude.join(NEW), &session.replace("Anything else", "Nothing else"), 5);
    for (name, hours) in [("projects/-work/agent-0b7d8c1e.jsonl", 1), (&*format!("{NEW}.cut.jsonl"), 2)] {
        written(&claude.join(name), &session, hours);
    }
    written(&claude.join("projects/-work/0b7d8c1e-52a4-4f0e-9b61-3c2a5d4e6f72.jsonl"), "", 1);
    let newest = claude.join(NEW).display().to_string();
    for arguments in [&["show", "last"][..], &["search", "-s", "Nothing else"], &["count"], &["check"], &["-n"]] {
        for flag in [&["--latest", "claude-code"][..], &["--latest=claude-code"]] {
            let done = in_home(home, &[arguments, flag].concat());
            assert_eq!(done.code, 0, "{arguments:?}: {done:?}");
            let is_named = done.stderr.contains(&newest) || done.stdout.contains(&newest);
            assert!(is_named || done.stdout.contains("Nothing else"), "{arguments:?}: {done:?}");
        }
    }
    // A folder that a variable names.
    let mut elsewhere = tcompact();
    elsewhere.env("HOME", "/nowhere").env("CLAUDE_CONFIG_DIR", &claude);
    assert_eq!(run(elsewhere.args(["count", "-q", "--latest", "claude-code"]), b"").code, 0);
    for (arguments, code, why) in [
        (&["count", "--latest", "codex"][..], 1, "--latest codex: there is no session in "),
        (&["count", "--latest", "claude-code", "a.json"], 2, "takes the place of a path"),
        (
            &["count", "--latest", "claude"],
            2,
            "expected claude-code, codex, gemini-cli, pi, copilot-cli, kimi-code or qwen-code",
        ),
    ] {
        let done = in_home(home, arguments);
        assert!(done.code == code && done.stderr.contains(why), "{done:?}");
    }
}

/// Each agent's sessions are found where it keeps them.
#[test]
fn every_agent_has_a_newest_session() {
    let home = tempfile::tempdir().expect("a folder");
    const ID: &str = "0b7d8c1e-52a4-4f0e-9b61-3c2a5d4e6f70";
    for (agent, name, content) in [
        ("codex", format!(".codex/sessions/2026/01/07/rollout-2026-01-07T10-00-00-{ID}.jsonl"), "codex/rollout.jsonl"),
        ("gemini-cli", ".gemini/tmp/0a1b/chats/session-2026-01-07T10-00-0b7d8c1e.json".to_owned(), "gemini-cli"),
        (
            "kimi-code",
            format!(".kimi-code/sessions/wd_work_1/session_{ID}/agents/main/wire.jsonl"),
            "kimi-code/session.jsonl",
        ),
        ("qwen-code", format!(".qwen/projects/-work/chats/{ID}.jsonl"), "qwen-code/session.jsonl"),
        ("pi", format!(".pi/agent/sessions/--work--/2026-01-07T10-00-00-000Z_{ID}.jsonl"), "pi"),
    ] {
        let content = if content.contains('/') { content.to_owned() } else { first_fixture(content) };
        written(&home.path().join(name), &fixture(&content), 1);
        let done = in_home(home.path(), &["count", "--latest", agent]);
        assert_eq!(done.code, 0, "{agent}: {done:?}");
    }
}

/// A sub-agent of Codex has a file of its own, which is newer than the session that waits for it.
#[test]
fn a_sub_agents_session_is_not_the_newest() {
    let home = tempfile::tempdir().expect("a folder");
    let place = |last: u8| {
        let id = format!("0196f0e2-1c1b-7c3e-9a53-2f4b7c8d9e0{last}");
        home.path().join(format!(".codex/sessions/2026/01/07/rollout-2026-01-07T10-00-00-{id}.jsonl"))
    };
    let session = fixture("codex/rollout.jsonl");
    written(&place(0), &session, 9);
    for (last, of_subagent) in [
        (1, r#""thread_source":"subagent""#),
        (2, r#""source":{"subagent":{"thread_spawn":{"parent_thread_id":"0","depth":1}}}"#),
        (3, r#""source":{"subagent":"review"}"#),
    ] {
        let head =
            format!(r#"{{"timestamp":"2026-01-07T10:00:00Z","type":"session_meta","payload":{{{of_subagent}}}}}"#);
        written(&place(last), &format!("{head}\n{session}"), 1);
    }
    let done = in_home(home.path(), &["count", "--latest", "codex"]);
    assert!(done.code == 0 && done.stderr.contains(&place(0).display().to_string()), "{done:?}");
}

/// The first fixture of a format.
fn first_fixture(format: &str) -> String {
    let folder = fs::read_dir(Path::new(FIXTURES).join(format)).expect("a folder");
    let mut names: Vec<String> =
        folder.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    format!("{format}/{}", names[0])
}

/// A session that an agent writes to is passed over, and named where there is no other one.
#[cfg(target_os = "linux")]
#[test]
fn a_session_that_is_open_is_not_the_newest() {
    let home = tempfile::tempdir().expect("a folder");
    let home = home.path();
    let files = [OLD, NEW].map(|name| home.join(".claude").join(name));
    for (file, hours) in files.iter().zip([2, 1]) {
        written(file, &fixture("claude-code/parallel.jsonl"), hours);
    }
    let mut agents = Vec::new();
    let mut taken = Vec::new();
    for file in files.iter().rev() {
        taken.push(in_home(home, &["count", "--latest", "claude-code"]));
        let open = OpenOptions::new().append(true).open(file).expect("opened");
        let agent = std::process::Command::new("sleep").arg("60").stdout(open).spawn().expect("sleep is there");
        agents.push(agent);
    }
    let none = in_home(home, &["count", "--latest", "claude-code"]);
    for agent in &mut agents {
        agent.kill().and_then(|()| agent.wait()).expect("killed");
    }
    for (run, file) in taken.iter().zip(files.iter().rev()) {
        assert!(run.stderr.contains(&file.display().to_string()), "{run:?}");
    }
    let skips: Vec<bool> = taken.iter().map(|run| run.stderr.contains("--latest claude-code skips ")).collect();
    assert_eq!(skips, [false, true], "{taken:?}");
    let skipped = taken[1].stderr.lines().find(|line| line.contains(" skips ")).expect("a line");
    assert!(skipped.contains(NEW) && skipped.contains("sleep (process "), "{skipped}");
    assert!(none.code == 1 && none.stderr.contains("sleep (process "), "{none:?}");
    assert!(none.stderr.contains(NEW) && none.stderr.contains("there is no other session"), "{none:?}");
}

/// A long session with a call that has no result.
fn broken_session(model: &str) -> String {
    let mut messages = Vec::new();
    for at in 0..400 {
        let id = format!("c{at}");
        messages.push(json!({"role": "user", "content": format!("Look at bed {at}.")}));
        let call = json!({"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}});
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call], "model": model}));
        if at != 399 {
            let seen = format!("bed {at}: {}", "it is dry and needs much water ".repeat(100));
            messages.push(json!({"role": "tool", "tool_call_id": id, "content": seen}));
        }
    }
    json!({"model": model, "messages": messages}).to_string()
}

#[test]
fn a_rescued_session_is_whole_and_fits_and_can_be_undone() {
    for (model, more, most) in [
        ("claude-opus-4-5", &[][..], 100_000),
        ("nobody-knows-it", &[], 50_000),
        ("nobody-knows-it", &["--context-window", "128k"], 64_000),
        ("claude-opus-4-5", &["--fit", "tokens:20k"], 20_000),
    ] {
        let home = tempfile::tempdir().expect("a folder");
        let (file, session) = (home.path().join("s.json"), broken_session(model));
        fs::write(&file, &session).expect("written");
        let name = file.display().to_string();
        let done = in_home(home.path(), &[&["--rescue", &*name], more].concat());
        assert_eq!((done.code, done.stdout.as_str()), (0, ""), "{done:?}");
        assert!(done.stderr.lines().count() == 1 && done.stderr.contains(" tokens"), "one line: {done:?}");
        assert_eq!(fs::read_to_string(home.path().join("s.json.bak")).expect("a copy"), session);
        assert_eq!(in_home(home.path(), &["check", &name]).code, 0);
        let count = in_home(home.path(), &["count", &name]).stdout.trim().parse::<u64>().expect("a number");
        assert!(count <= most && count > most / 4, "{model}: {count} of {most}");
        let archive = format!("{name}.cut.jsonl");
        let undone = in_home(home.path(), &["restore", "-q", &archive, &name]);
        let [undone, session] =
            [&undone.stdout, &session].map(|text| serde_json::from_str::<Value>(text).expect("JSON"));
        assert_eq!(undone, session);
    }
    for (arguments, why) in [
        (&["--rescue"][..], "name its file, or --latest AGENT"),
        (
            &["--rescue", "-q", "--summary-tokens", "900"],
            "try: tcompact --rescue -q --summary-tokens 900 --latest claude-code",
        ),
        (&["--rescue", "a.json", "b.json"], "name its file, or --latest AGENT"),
        (&["--rescue", "openai-chat"], "is not a file"),
    ] {
        let done = in_home(Path::new("/nowhere"), arguments);
        assert!(done.code == 2 && done.stderr.contains(why), "{done:?}");
    }
}

/// A session that needs nothing is told so with the size that was meant; one that grew is rescued again.
#[test]
fn a_second_rescue_keeps_the_first_copy() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("s.json");
    fs::write(&file, broken_session("claude-opus-4-5")).expect("written");
    let name = file.display().to_string();
    assert_eq!(in_home(home.path(), &["--rescue", &name]).code, 0);
    let first = fs::read(home.path().join("s.json.bak")).expect("a copy");
    let between = fs::read(&file).expect("a file");
    let unchanged = in_home(home.path(), &["--rescue", "--repair", "drop", &name]);
    let size =
        "--rescue fits into 100000 tokens, half of the window of claude-opus-4-5; --fit SIZE fits into another size";
    assert!(unchanged.code == 0 && unchanged.stderr.ends_with(&format!("{size}\n")), "{unchanged:?}");
    assert_eq!(in_home(home.path(), &["--rescue", "--fit", "tokens:20k", &name]).code, 0);
    assert_eq!(fs::read(home.path().join("s.json.bak")).expect("a copy"), first);
    assert_eq!(fs::read(home.path().join("s.json.bak2")).expect("a copy"), between);
}
