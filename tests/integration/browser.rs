//! Opens the page of `--html` in a real browser, in light and dark mode, narrow and wide: nothing is on the console or
//! asks the network, nothing overflows, every row opens, everything usable can be reached with the keyboard, and axe-core
//! finds nothing.
//!
//! `CHROMIUM` names the browser, and `AXE_CORE` the script of axe-core; `tests/browser` brings both. Without a browser
//! the test is skipped; without axe-core only that part is.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::left_out::left_out;
use crate::program::{FIXTURES, path, with};

const TIMEOUT: Duration = Duration::from_secs(60);

/// Opens all rows, and says what is wrong with the page.
const PROBE: &str = r"(dark => {
const wrong = [], root = document.documentElement;
const beyond = when => root.scrollWidth > innerWidth && wrong.push(`${when}: ${root.scrollWidth - innerWidth} pixels beyond the side`);
if (matchMedia('(prefers-color-scheme: dark)').matches !== dark) wrong.push('not the mode that was asked for');
const [red, green, blue] = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
if ((red + green + blue < 384) !== dark) wrong.push('the ground is not in its mode');
beyond('closed');
const rows = [...document.querySelectorAll('details')];
const name = row => row.firstElementChild.textContent.slice(0, 40);
rows.filter(row => row.open).forEach(row => wrong.push(`open at first: ${name(row)}`));
rows.forEach(row => row.firstElementChild.click());
const shows = content => content.checkVisibility() && content.getBoundingClientRect().height > 10;
rows.filter(row => !row.open || !shows(row.lastElementChild)).forEach(row => wrong.push(`does not open: ${name(row)}`));
beyond('opened');
const usable = [...document.querySelectorAll('a[href], summary, [tabindex]')].filter(one => one.checkVisibility());
const lost = usable.filter(one => { one.focus(); return document.activeElement !== one; });
if (lost.length > 0) wrong.push(`${lost.length} cannot be reached with the keyboard`);
return { wrong, rows: rows.length, usable: usable.length };
})";

/// A window of a browser.
#[derive(Debug, Clone, Copy)]
struct Window {
    width: u32,
    dark: bool,
}

/// A browser that is driven over a pipe, with one tab.
struct Browser {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    calls: u64,
    session: Option<String>,
    /// What stood on the console, and what the network was asked for.
    notes: Vec<String>,
}

impl Browser {
    fn start(program: &Path, profile: &Path) -> Self {
        // The browser reads from the third file descriptor and writes to the fourth.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null", "sh"])
            .arg(program)
            .args(["--headless", "--no-sandbox", "--no-zygote", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--remote-debugging-pipe", &format!("--user-data-dir={}", profile.display()), "about:blank"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let (input, output) = child.stdin.take().zip(child.stdout.take()).expect("pipes");
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(output).split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).expect("a message");
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let mut browser = Browser { child, input, messages, calls: 0, session: None, notes: Vec::new() };
        let tab = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let tab = json!({"targetId": tab["targetId"], "flatten": true});
        browser.session = browser.call("Target.attachToTarget", &tab)["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.calls += 1;
        let mut call = json!({"id": self.calls, "method": method, "params": params});
        if let Some(session) = &self.session {
            call["sessionId"] = session.as_str().into();
        }
        write!(self.input, "{call}\0").expect("the browser runs");
        loop {
            let message = self.messages.recv_timeout(TIMEOUT).expect("an answer of the browser");
            if message["id"] == self.calls {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            self.note(&message);
        }
    }

    /// Notes an event that a page must not cause.
    fn note(&mut self, event: &Value) {
        let params = &event["params"];
        let note = match event["method"].as_str().unwrap_or_default() {
            "Runtime.consoleAPICalled" => &params["args"],
            "Runtime.exceptionThrown" => &params["exceptionDetails"],
            "Log.entryAdded" => &params["entry"]["text"],
            "Network.requestWillBeSent" if params["type"] != "Document" => &params["request"]["url"],
            _ => return,
        };
        self.notes.push(note.to_string());
    }

    /// Evaluates an expression, and waits where it is a promise.
    fn evaluate(&mut self, expression: &str) -> Value {
        let done = json!({"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true});
        let done = self.call("Runtime.evaluate", &done);
        assert!(done["exceptionDetails"].is_null(), "{done}");
        done["result"]["value"].clone()
    }

    /// Opens a page, and says what is wrong with it.
    fn probed(&mut self, page: &Path, Window { width, dark }: Window, axe: Option<&str>) -> Vec<String> {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let mode = json!([{"name": "prefers-color-scheme", "value": if dark { "dark" } else { "light" }}]);
        self.call("Emulation.setEmulatedMedia", &json!({"features": mode}));
        let opened = self.call("Page.navigate", &json!({"url": format!("file://{}", page.display())}));
        assert!(opened["errorText"].is_null(), "{opened}");
        self.evaluate(
            "new Promise(done => document.readyState === 'complete' ? done() : addEventListener('load', done))",
        );
        let found = self.evaluate(&format!("{PROBE}({dark})"));
        let mut wrong: Vec<String> =
            found["wrong"].as_array().expect("a list").iter().map(ToString::to_string).collect();
        if found["rows"].as_u64() < Some(2) || found["usable"].as_u64() < Some(5) {
            wrong.push(format!("little is on the page: {found}"));
        }
        // A row of a person who types.
        self.evaluate("document.querySelector('details').open = false; document.querySelector('summary').focus()");
        for (kind, text) in [("keyDown", "\r"), ("keyUp", "")] {
            let key = json!({"type": kind, "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": text});
            self.call("Input.dispatchKeyEvent", &key);
        }
        if self.evaluate("document.querySelector('details').open") != json!(true) {
            wrong.push("Enter opens no row".to_owned());
        }
        wrong.append(&mut self.notes);
        if let Some(axe) = axe {
            self.evaluate(&format!("{axe};0"));
            let told =
                "axe.run().then(({ violations }) => violations.map(one => `${one.id}@${one.nodes[0].target}`).join())";
            let told = self.evaluate(told);
            wrong.extend(told.as_str().filter(|told| !told.is_empty()).map(str::to_owned));
            // What axe-core itself writes is not of the page.
            self.notes.clear();
        }
        wrong
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn browser() -> Option<PathBuf> {
    let named = std::env::var_os("CHROMIUM").filter(|name| !name.is_empty()).map(PathBuf::from);
    let known = ["chromium", "chromium-browser", "google-chrome"].map(PathBuf::from);
    named.map_or_else(|| known.to_vec(), |named| vec![named]).into_iter().find(|program| {
        let status = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    })
}

fn axe() -> Option<String> {
    let named = std::env::var_os("AXE_CORE").filter(|name| !name.is_empty()).map(PathBuf::from);
    let installed = || {
        let root = Command::new("npm").args(["root", "-g"]).output().ok()?;
        Some(Path::new(String::from_utf8(root.stdout).ok()?.trim()).join("axe-core/axe.min.js"))
    };
    fs::read_to_string(named.or_else(installed)?).ok()
}

/// A conversation of texts that break a layout.
fn hostile() -> String {
    let word = "Donaudampfschifffahrtsgesellschaft".repeat(1_500);
    let line = "A line without an end has many words. ".repeat(1_400);
    let table = format!("|{}\n|{}\n", " a column |".repeat(300), " --- |".repeat(300));
    let right = "שלום עולם ‏مرحبا بالعالم\u{202e}abc\u{202c} ".repeat(60);
    let marks = format!("a{}", "\u{301}".repeat(2_000));
    let path = format!("/{}", "a-very-long-name_of_a_folder.d/".repeat(100));
    let spaces = format!("{}x\t{}y", "\u{a0}".repeat(4_000), "\t".repeat(500));
    let wide = "漢字かな交じり文。".repeat(2_000);
    let markup = "<table><tr><td style='width:9999px'>&nbsp;</td></tr></table><pre>".repeat(40);
    let mut messages = Vec::new();
    for (at, text) in [word, line, table, right, marks, path, spaces, wide, markup].into_iter().enumerate() {
        let name = format!("{}{at}", "tool_with_a_long_name".repeat(40));
        let call = json!({"id": at.to_string(), "type": "function", "function": {"name": name, "arguments": json!({"text": text}).to_string()}});
        messages.push(json!({"role": "user", "name": text, "content": text}));
        messages.push(json!({"role": "assistant", "content": text, "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": at.to_string(), "content": text}));
    }
    messages.extend_from_within(..);
    json!(messages).to_string()
}

/// Writes the pages; returns them with their names.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let (out, long) = (path(folder, "out"), path(folder, &format!("{}.json", "anamewithoutaspace".repeat(13))));
    fs::write(&long, hostile()).expect("written");
    let session = format!("{FIXTURES}/agent-session.json");
    let many = vec!["--keep", "messages:3", "-O", &out, "openai-chat/plain.json", &session, &long];
    let runs = [
        ("compacted", vec!["--keep", "messages:10", "--for", "gpt-4o", &session]),
        ("pruned", vec!["-m", "none", "--prune", "all", &session]),
        ("unchanged", vec!["--trigger", "tokens:1m", &session]),
        ("many", many),
        ("hostile", vec!["--keep", "messages:4", &long]),
        ("hostile-pruned", vec!["-m", "none", "--prune", "all", "--keep", "messages:4", &long]),
    ];
    let pages = runs.into_iter().map(|(name, arguments)| {
        let page = folder.join(format!("{name}.html"));
        let run = with(&[&["-q", "--html", page.to_str().expect("UTF-8")], &arguments[..]].concat());
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
        page
    });
    pages.collect()
}

#[test]
fn the_page_in_light_and_dark_narrow_and_wide() {
    let Some(program) = browser() else {
        return left_out("browser");
    };
    let axe = axe();
    if axe.is_none() {
        left_out("axe-core");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut browser = Browser::start(&program, &folder.path().join("profile"));
    for page in pages(folder.path()) {
        for (width, dark) in [(320, true), (400, true), (400, false), (1200, false)] {
            // The slowest part: once for each mode, as colours differ. Texts do not matter to it.
            let is_hostile = page.to_string_lossy().contains("hostile");
            let axe = axe.as_deref().filter(|_| width == 400 && !is_hostile);
            let wrong = browser.probed(&page, Window { width, dark }, axe);
            assert!(wrong.is_empty(), "{} at {width}, dark: {dark}: {wrong:#?}", page.display());
        }
    }
    // What would be wrong is seen.
    let broken = folder.path().join("broken.html");
    let policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'\">";
    let body = "<details open><summary>a</summary></details><p style=\"width:9999px\">b</p><img src=\"c.png\">";
    fs::write(&broken, format!("<!DOCTYPE html>{policy}<body>{body}<pre>{}</pre>", "x".repeat(9_999)))
        .expect("written");
    let wrong = browser.probed(&broken, Window { width: 400, dark: false }, None).join("\n");
    for part in ["beyond the side", "Content Security Policy", "open at first", "not open", "the ground", "little is"] {
        assert!(wrong.contains(part), "{part}: {wrong}");
    }
}
