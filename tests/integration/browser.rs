//! Checks the page in a real browser, in light and dark mode, narrow and wide: nothing overflows, everything usable can
//! be reached with the keyboard, and axe-core finds nothing. Without Chromium the test is skipped; without axe-core
//! (`npm install -g axe-core`, or its script in `AXE_CORE`) only that part is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::left_out::left_out;
use crate::program::{path, with};

/// Measures its page and reports to the page around it.
const PROBE: &str = r"
document.querySelectorAll('details').forEach((details, at) => { if (at < 3) details.open = true; });
const usable = [...document.querySelectorAll('a[href], summary, [tabindex]')].filter(one => one.checkVisibility());
const lost = usable.filter(one => { one.focus(); return document.activeElement !== one; }).length;
const tell = violations => parent.postMessage(
  `width=${innerWidth} dark=${matchMedia('(prefers-color-scheme: dark)').matches} ` +
  `beyond=${Math.max(0, document.documentElement.scrollWidth - innerWidth)} usable=${usable.length > 5} lost=${lost} ` +
  `violations=${violations}`, '*');
if (window.axe) axe.run().then(found => tell(found.violations.map(one => one.id + '@' + one.nodes[0].target).join(',')));
else tell('');
";

fn browser() -> Option<&'static str> {
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        let status = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    })
}

fn axe() -> Option<String> {
    let named = std::env::var_os("AXE_CORE").map(PathBuf::from);
    let installed = || {
        let root = Command::new("npm").args(["root", "-g"]).output().ok()?;
        Some(Path::new(String::from_utf8(root.stdout).ok()?.trim()).join("axe-core/axe.min.js"))
    };
    fs::read_to_string(named.or_else(installed)?).ok()
}

/// A window of a browser.
#[derive(Clone, Copy)]
struct Window {
    /// The width in pixels.
    width: u32,
    dark: bool,
}

/// Returns the probe's report on a page.
fn probed(browser: &str, folder: &Path, page: &str, axe: &str, Window { width, dark }: Window) -> String {
    // The page forbids all scripts.
    let (before, rest) = page.split_once("<meta http-equiv=\"Content-Security-Policy\"").expect("a policy");
    let rest = rest.split_once('>').expect("its end").1;
    let page =
        format!("{before}{rest}").replace("</body>", &format!("<script>{axe}</script><script>{PROBE}</script></body>"));
    fs::write(folder.join("inner.html"), page).expect("written");
    let outer = format!(
        "<!DOCTYPE html><pre id=\"told\"></pre><iframe src=\"inner.html\" width=\"{width}\" height=\"900\" style=\"border:0\"></iframe>\
         <script>addEventListener('message', event => document.getElementById('told').textContent = event.data)</script>"
    );
    fs::write(folder.join("outer.html"), outer).expect("written");
    let scheme = format!("--blink-settings=preferredColorScheme={}", if dark { 0 } else { 1 });
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom"])
        .args(["--window-size=1400,1000", &scheme, &profile])
        .arg(format!("file://{}", folder.join("outer.html").display()))
        .stderr(Stdio::null())
        .output()
        .expect("it starts");
    let document = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = document.split("<pre id=\"told\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    told.unwrap_or_default().to_owned()
}

#[test]
fn the_page_in_light_and_dark_narrow_and_wide() {
    let Some(browser) = browser() else {
        return left_out("browser");
    };
    let axe = axe();
    if axe.is_none() {
        left_out("axe-core");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (one, many) = (path(folder.path(), "one.html"), path(folder.path(), "many.html"));
    let run = with(&["-q", "--keep", "messages:10", "--for", "gpt-4o", "--html", &one, "agent-session.json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let out = path(folder.path(), "out");
    let run = with(&["-q", "--keep", "messages:3", "--html", &many, "-O", &out, "openai-chat"]);
    assert_eq!(run.code, 0, "{run:?}");
    for file in [&one, &many] {
        let page = fs::read_to_string(file).expect("a page");
        for (width, dark) in [(320, false), (320, true), (1200, false), (1200, true)] {
            let told =
                probed(browser, folder.path(), &page, axe.as_deref().unwrap_or_default(), Window { width, dark });
            let expected = format!("width={width} dark={dark} beyond=0 usable=true lost=0 violations=");
            assert_eq!(told, expected, "{file}");
        }
    }
}
