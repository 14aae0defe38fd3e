//! A key is sent to its server and appears nowhere else, however a run fails.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use serde_json::json;

use crate::batch::{logs, within};
use crate::failing_servers::faults;
use crate::invalid_input::assert_fails;
use crate::program::{FIXTURES, Run, piped, run, tcompact};
use crate::server::{Server, Step, at_length, completion};
use crate::support::files;

/// The key has characters that JSON and URLs escape.
const MARKER: &str = "sk-Marker/7e6f+5d4c=3b2a";

fn assert_stands_nowhere(folder: &Path, run: &Run, what: &str) {
    let is_in = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).replace("\\/", "/").replace("\\u0073", "s").replace("&#x2F;", "/");
        // Terminals drop these characters, and JSON escapes some of them.
        let text = text.replace("\\u0000", "").replace("\\u0007", "").replace("\\u202c", "");
        let text: String = text.chars().filter(char::is_ascii_graphic).collect();
        // Half of the key is as bad as all of it.
        text.contains(MARKER) || text.contains(&MARKER[..12])
    };
    assert!(!is_in(run.stdout.as_bytes()) && !is_in(run.stderr.as_bytes()), "{what}: {run:?}");
    for file in files(folder) {
        assert!(!is_in(&fs::read(&file).expect("a file")), "{what}: {}", file.display());
        assert!(!is_in(file.to_string_lossy().as_bytes()), "{what}: {}", file.display());
    }
}

/// Servers repeat the key in all responses, plain and escaped as in JSON.
fn ways() -> Vec<(&'static str, Step)> {
    let spelled = MARKER.replace('/', "\\/").replace('s', "\\u0073");
    let plain = faults(&format!("no access for {MARKER}."));
    let with_spelling = |step: Step| match step {
        Step::Answer(status, headers, body) => Step::Answer(status, headers, body.replace(MARKER, &spelled)),
        Step::Raw(answer) => Step::Raw(answer.replace(MARKER, &spelled)),
        step => step,
    };
    let mut ways = plain.clone();
    let says = |step: &Step| matches!(step, Step::Answer(_, _, said) | Step::Raw(said) if said.contains(MARKER));
    let spelled_out = plain.into_iter().filter(|(_, step)| says(step)).map(|(name, step)| (name, with_spelling(step)));
    ways.extend(spelled_out);
    let each = |between: char| -> String { MARKER.chars().flat_map(|c| [c, between]).collect() };
    let location: &str = Box::leak(format!("location: http://127.0.0.2:9/{MARKER}?key={MARKER}\r\n").into_boxed_str());
    let status_line = format!("HTTP/1.1 418 {MARKER}\r\ncontent-length: 0\r\n\r\n");
    let head = format!("HTTP/1.1 200 OK\r\n{MARKER}\r\n{MARKER}: {MARKER}\r\ncontent-length: {MARKER}\r\n\r\n{MARKER}");
    ways.extend([
        ("redirect with the key", Step::Answer(302, location, MARKER.to_owned())),
        ("status with the key", Step::Raw(status_line)),
        ("head with the key", Step::Raw(head)),
        ("no HTTP at all", Step::Raw(MARKER.to_owned())),
        ("a summary with the key", completion(&format!("The key is {MARKER}. Remember it."), "stop")),
        ("a summary with the key between bells", completion(&each('\u{7}'), "stop")),
        ("bells", Step::Answer(401, "", each('\u{7}'))),
        ("UTF-16", Step::Answer(401, "", each('\0'))),
        ("marks of direction", Step::Answer(401, "", json!({"error": {"message": each('\u{202c}')}}).to_string())),
        ("HTML", Step::Answer(502, "", format!("<title>{}</title>", MARKER.replace('/', "&#x2F;")))),
        ("a thought with the key", completion(&format!("<think>{MARKER}</think>Notes."), "stop")),
    ]);
    ways
}

#[test]
fn a_key_stands_nowhere_however_a_run_fails() {
    let ways = ways();
    let next = AtomicUsize::new(0);
    let fails = AtomicUsize::new(0);
    let work = || {
        while let Some((at, (name, step))) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, ways.get(at)?)))
        {
            let server = Server::start(vec![step.clone()]);
            let on_error = ["fail", "embed", "passthrough", "extractive"][at % 4];
            for in_batch in [false, true] {
                let folder = tempfile::tempdir().expect("a folder");
                let mut command = tcompact();
                command.current_dir(folder.path()).env("OPENAI_API_KEY", MARKER).env("RUST_BACKTRACE", "full");
                command.args(["--model", "openai:m", "--base-url", &server.url, "--keep", "messages:1", "--verbose"]);
                command.args(["--retries", "1", "--timeout", "1", "--on-error", on_error, "--report", "report.jsonl"]);
                command.args(["--cache", "cache", "--archive", if in_batch { "cut.md" } else { "cut.jsonl" }]);
                command.arg(Path::new(FIXTURES).join("openai-chat/plain.json"));
                let run = run(command.args(if in_batch { ["-O", "out"] } else { ["-o", "out.json"] }), b"");
                fails.fetch_add(usize::from(run.code != 0), Ordering::Relaxed);
                assert!(server.requests().iter().all(|request| request.head.contains(MARKER)), "{name}");
                assert!(!server.requests().is_empty(), "{name}: {run:?}");
                assert_stands_nowhere(folder.path(), &run, &format!("{name}, --on-error {on_error}"));
            }
        }
    };
    thread::scope(|scope| {
        (0..16).for_each(|_| drop(scope.spawn(work)));
    });
    assert!(fails.into_inner() > 20, "most of them fail");
}

/// A value that is wrong is shown with what is wrong in it, unless it can hold a key.
#[test]
fn a_wrong_value_with_a_key_is_not_shown() {
    for key in ["sk-proj-Ab3dEf6hIj9kLmN0pQr5", "a1b2c3d4e5f6a7b8c9d0"] {
        for arguments in [
            &["--request-json", &format!(r#"{{"api_key":"{key}""#)][..],
            &["--request-json", &format!(r#""{key}""#)],
            &[&format!("--request-json=[\"{key}\"]")],
            &["--request-json", &format!(r#"{{"a":1}} {key}"#)],
        ] {
            let run = piped(arguments, "[]");
            assert_fails(&run, 2, &["--request-json", "not shown since it can hold a key"]);
            assert!(!run.stderr.contains(key), "{run:?}");
        }
    }
    let run = piped(&["--request-json", r#"{"top_p": 1,"#], "[]");
    assert_fails(&run, 2, &[r#"invalid value '{"top_p": 1,'"#]);
}

#[test]
fn an_unusable_key_is_not_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = Path::new(FIXTURES).join("openai-chat/plain.json");
    let broken = format!("{MARKER}\n{MARKER}");
    for (key, arguments) in [
        (broken.as_str(), &["--model", "openai:m"][..]),
        (MARKER, &["--model", "openai:m", "--base-url", "http://127.0.0.1:9"]),
        (MARKER, &["--model", "openai:m", "--base-url", "http://no-such-host.invalid/v1"]),
        (MARKER, &["--model", "openai:m", "--keep", "nonsense"]),
        (MARKER, &["--model", "openai:m", "--config", "nowhere.toml"]),
        (MARKER, &["--model", "openai:m", "--dry-run", "--json"]),
        (MARKER, &["--summarizer-cmd", "exit 9"]),
    ] {
        let mut command = tcompact();
        command.current_dir(folder.path()).env("OPENAI_API_KEY", key).args(arguments).arg("-vv");
        command.args(["--retries", "0", "--timeout", "5", "--report", "report.jsonl"]).arg(&file);
        let run = run(&mut command, b"");
        assert_stands_nowhere(folder.path(), &run, &format!("{arguments:?}"));
    }
}

/// The files beside the results of a batch, and a second run with them.
#[test]
fn a_key_is_not_kept_beside_the_results() {
    let logs = logs();
    let server = Server::start(vec![completion(&at_length(&format!("Remember {MARKER}.")), "stop")]);
    for _ in 0..2 {
        let mut command = tcompact();
        command.current_dir(logs.path()).env("OPENAI_API_KEY", MARKER).args(["-O", "out", "--resume", "logs"]);
        command.args(["--model", "openai:m", "--base-url", &server.url, "--keep", "messages:4", "--verbose"]);
        let run = run(&mut command, b"");
        assert_eq!(run.code, 0, "{run:?}");
        assert!(files(&logs.path().join("out/.tcompact")).len() > 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(logs.path().join("out/.tcompact")).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "nobody else reads summaries of what may be private");
        }
        assert_stands_nowhere(logs.path(), &run, "a batch");
    }
    let offline = within(logs.path(), &["--model", "extractive", "-O", "new", "logs"]);
    assert_stands_nowhere(logs.path(), &offline, "without a model");
}

#[cfg(target_os = "linux")]
#[test]
fn a_key_is_in_no_arguments_and_in_no_core() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(vec![Step::Silence]);
    // The shell enables core dumps, if permitted; the program that replaces it disables them.
    let script = r#"ulimit -c unlimited 2>/dev/null; exec "$0" "$@""#;
    let mut child = Command::new("sh")
        .args(["-c", script])
        .arg(tcompact().get_program())
        .args(["--model", "openai:m", "--base-url", &server.url, "--keep", "messages:2"])
        .arg(Path::new(FIXTURES).join("openai-chat/plain.json"))
        .envs(crate::program::own_settings())
        .env("OPENAI_API_KEY", MARKER)
        .current_dir(folder.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    while server.requests().is_empty() {
        thread::sleep(std::time::Duration::from_millis(10));
    }
    let told = |name: &str| fs::read(format!("/proc/{}/{name}", child.id())).expect("it runs");
    assert!(!String::from_utf8_lossy(&told("cmdline")).contains(MARKER));
    let limits = String::from_utf8_lossy(&told("limits")).into_owned();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).expect("a limit");
    assert!(matches!(core.split_whitespace().nth(4), Some("0" | "1")), "{core}");
    // Programs that a shell starts in the background ignore the quit signal.
    let aborted = Command::new("kill").args(["-ABRT", &child.id().to_string()]).status();
    assert!(aborted.expect("kill is there").success());
    let status = child.wait().expect("it ends");
    assert!(!std::os::unix::process::ExitStatusExt::core_dumped(&status), "{status:?}");
    assert!(files(folder.path()).is_empty(), "{:?}", files(folder.path()));
}
