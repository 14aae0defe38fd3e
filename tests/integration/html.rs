//! `--html`: a run as one page, which must be self-contained, inert and complete.

use std::collections::HashSet;
use std::fs;

use serde_json::json;

use crate::all_cases::Sample;
use crate::program::{Run, path, piped, run, tcompact, with};
use crate::support::turns;

const KEEP: [&str; 5] = ["-q", "--keep", "messages:2", "--accept", "any"];
/// Elements without an end tag.
const VOID: [&str; 2] = ["meta", "br"];

/// Reads a page and asserts that it is well formed: tags are closed, anchors are unique, and links lead to them.
fn page(file: &str) -> String {
    let page = fs::read_to_string(file).expect("a page");
    let body = page.strip_prefix("<!DOCTYPE html>\n").expect("it is HTML");
    let (mut open, mut ids, mut links) = (Vec::new(), HashSet::new(), Vec::new());
    let mut rest = body;
    while let Some((_, tag)) = rest.split_once('<') {
        let (tag, behind) = tag.split_once('>').expect("a tag ends");
        let name = tag.split([' ', '\n']).next().expect("a name");
        assert!(name.trim_start_matches('/').chars().all(|c| c.is_ascii_alphanumeric()), "<{tag}>");
        assert_eq!(tag.matches('"').count() % 2, 0, "<{tag}>");
        assert!(!tag.contains(" on") && !tag.contains(" src="), "<{tag}>");
        assert!(!["script", "link", "img", "iframe", "object", "base"].contains(&name), "<{tag}>");
        match name.strip_prefix('/') {
            Some(name) => {
                assert_eq!(open.pop(), Some(name), "…{}", &body[body.len() - rest.len()..][..rest.len().min(300)])
            }
            None if VOID.contains(&name) => {}
            None => open.push(name),
        }
        if let Some((_, id)) = tag.split_once(" id=\"") {
            assert!(ids.insert(id[..id.find('"').expect("an end")].to_owned()), "<{tag}> is there twice");
        }
        if let Some((_, link)) = tag.split_once(" href=\"") {
            links.push(link[..link.find('"').expect("an end")].strip_prefix('#').expect("a link within").to_owned());
        }
        rest = behind;
    }
    assert!(open.is_empty(), "{open:?}");
    links.iter().for_each(|link| assert!(ids.contains(link), "#{link} leads nowhere"));
    assert!(page.contains("content=\"default-src 'none'; style-src 'unsafe-inline'"));
    for landmark in ["<html lang=\"en\">", "<header>", "<nav ", "<main id=\"content\">", "<footer>", "<h1>"] {
        assert_eq!(page.matches(landmark).count(), 1, "{landmark}");
    }
    page
}

fn compacted(more: &[&str]) -> Run {
    with(&[&KEEP[..], more].concat())
}

#[test]
fn a_page_shows_one_conversation() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, archive) = (path(folder.path(), "page.html"), path(folder.path(), "history.md"));
    let without = with(&["-q", "--keep", "messages:10", "agent-session.json"]);
    let run = with(&["-q", "--keep", "messages:10", "--html", &file, "agent-session.json"]);
    assert_eq!((run.code, &run.stdout, run.stderr.as_str()), (0, &without.stdout, ""));
    let whole = page(&file);
    for part in [
        "<h1>Compaction of <bdi>agent-session.json</bdi></h1>",
        "Cut at 51, since a cut at 52 would split the call in message 51 from its result in message 52",
        "Wanted at 52",
        "Message 51, 20 tokens, kept; belongs together with message 52.",
        "reject scans without status",
        "→ <bdi>calls write_file</bdi>",
        "## The user, in order; later words hold where two disagree\n- [1] Morning.",
        "pinned: 1 message, 144 tokens",
        "<dt>Removed messages</dt><dd><bdi>nowhere: no --archive was named</bdi></dd>",
    ] {
        assert!(whole.contains(part), "{part}");
    }
    assert!(!whole.contains("Money"), "nobody said who reads it");
    let told = ["--for", "gpt-4o", "--archive", &archive, "--html", &file, "agent-session.json"];
    assert_eq!(compacted(&told).code, 0);
    let priced = page(&file);
    assert!(priced.contains("openai:gpt-4o at $2.50 a million tokens, without a cache"));
    assert!(priced.contains(&format!("<dt>Removed messages</dt><dd><bdi>{archive}</bdi></dd>")));
}

#[test]
fn a_page_shows_a_models_summary_with_what_stands_beside_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "page.html");
    let command = "for n in $(seq 40); do echo It has to be Python 3.9.; done";
    let run = compacted(&["--summarizer-cmd", command, "--html", &file, "agent-session.json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let whole = page(&file);
    assert!(whole.contains("by command, 1 request</span>"), "{whole}");
    assert!(whole.contains("It has to be Python 3.9.\n\n## Not in the summary above\n- ["), "{whole}");
}

#[test]
fn markup_in_a_conversation_is_escaped() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "page.html");
    let hostile = "</pre></style><script>alert(1)</script>\" onclick='x' <!-- &amp; \u{1b}[2J\u{0}\u{202e}\u{2066}]]>";
    let long = format!("{hostile}{}end", "x".repeat(50_000));
    let messages = json!([
        {"role": "<b>odd</b>", "content": hostile},
        {"role": "user", "name": hostile, "content": long},
        {"role": "assistant", "content": hostile, "tool_calls": [
            {"id": "<1>", "type": "function", "function": {"name": "<i>run", "arguments": format!("{{\"a\":\"{}\"}}", "<u>")}}]},
        {"role": "tool", "tool_call_id": "<1>", "content": hostile},
        {"role": "user", "content": hostile},
        {"role": "assistant", "content": hostile},
    ]);
    let arguments = [&KEEP[..], &["--from", "openai-chat", "--html", &file]].concat();
    let run = piped(&arguments, &messages.to_string());
    assert_eq!(run.code, 0, "{run:?}");
    let whole = page(&file);
    for part in [
        "&lt;/style&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot; onclick=&#39;x&#39; &lt;!-- &amp;amp; ␛[2J␀‹U+202E›‹U+2066›]]&gt;",
        "characters are left out here",
        "&lt;b&gt;odd",
        "calls &lt;i&gt;run",
    ] {
        assert!(whole.contains(part), "{part}\n{whole}");
    }
    assert!(!whole.contains(['\u{1b}', '\u{202e}', '\u{2066}', '\0']) && whole.len() < 100_000);
    assert!(whole.contains("xxend"), "the end of a long text is there");
}

#[test]
fn a_batch_and_a_stream_have_a_row_for_each() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, results) = (path(folder.path(), "page.html"), path(folder.path(), "results"));
    let inputs = ["openai-chat", "anthropic", "README.md", "agent-session.json"];
    let batch = compacted(&[&["-O", &results, "--html", &file], &inputs[..]].concat());
    let whole = page(&file);
    assert_eq!(batch.stdout, "");
    for part in [
        "agent-session.json</bdi></a></th><td class=\"became\"><strong class=\"done\">compacted</strong></td>",
        "<strong class=\"failed\">failed</strong><br><bdi>README.md",
        "openai-chat/plain.json",
        "<h2 id=\"largest\">Largest savings</h2>",
        &format!("<dt>The result</dt><dd><bdi>{results}/agent-session.json</bdi></dd>"),
    ] {
        assert!(whole.contains(part), "{part}");
    }
    let arguments = [&KEEP[..], &["openai-chat/conversations.jsonl"]].concat();
    let without = with(&arguments);
    let stream = with(&[&["--html", &file], &arguments[..]].concat());
    assert_eq!((stream.code, stream.stdout), (0, without.stdout.clone()));
    let whole = page(&file);
    let (_, table) = whole.split_once("<h2 id=\"all\">").expect("a table");
    assert_eq!(table.matches("<tr><th scope=\"row\" class=\"name\">").count(), without.stdout.lines().count());
    assert!(whole.contains("openai-chat/conversations.jsonl:2"));
}

#[test]
fn secrets_are_masked_on_the_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "page.html");
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let kept = format!("sk-proj-{}", "Zz9Yy8Xx7Ww6".repeat(4));
    let said = |role: &str, text: String| json!({"role": role, "content": text});
    let filler = "The gate opens at eight and closes at six, except on Sundays. ".repeat(20);
    let messages = json!([
        said("user", format!("Push with {secret} to the fork. Never push to main. {filler}")),
        said("assistant", format!("I pushed with {secret}. {filler}")),
        said("user", format!("Now use {kept} instead.")),
        said("assistant", "Done.".to_owned()),
    ]);
    let redacted = [&KEEP[..], &["--redact", "--html", &file]].concat();
    assert_eq!(piped(&redacted, &messages.to_string()).code, 0);
    let whole = page(&file);
    assert!(!whole.contains(&secret) && !whole.contains(&kept), "{whole}");
    assert!(whole.contains("Push with [github-token-1] to the fork"), "{whole}");
    assert!(whole.contains("<dt>Secrets masked</dt>"));
    let untouched = ["-q", "--redact", "--html", &file];
    assert_eq!(piped(&untouched, &messages.to_string()).code, 0);
    let whole = page(&file);
    assert!(whole.contains("Unchanged: "), "{whole}");
    assert!(!whole.contains(&secret) && !whole.contains(&kept), "also where nothing is compacted");
}

#[test]
fn a_diff_has_a_page_and_writes_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, archive) = (path(folder.path(), "page.html"), path(folder.path(), "history.md"));
    let run = compacted(&["--diff", "--archive", &archive, "--html", &file, "openai-chat/plain.json"]);
    assert!(run.code == 0 && run.stdout.starts_with("--- openai-chat/plain.json"), "{run:?}");
    assert!(page(&file).contains("<h1>Planned compaction of <bdi>openai-chat/plain.json</bdi></h1>"));
    assert!(page(&file).contains(&format!("would go to {archive}")));
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
}

/// A failed run writes no page, and an existing page stays.
#[test]
fn a_page_is_whole_or_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "page.html");
    fs::write(&file, "another").expect("written");
    for arguments in [&["--summarizer-cmd", "false", "openai-chat/plain.json"][..], &["README.md"], &["missing.json"]] {
        assert_ne!(compacted(&[&["--html", &file], arguments].concat()).code, 0);
        assert_eq!(fs::read_to_string(&file).expect("read"), "another");
    }
    let left = ["--summarizer-cmd", "false", "--on-error", "passthrough", "--html", &file, "openai-chat/plain.json"];
    assert_eq!(compacted(&left).code, 0);
    assert!(page(&file).contains("<dt>Error</dt>"));
    let lost = path(folder.path(), "deep");
    fs::create_dir(&lost).expect("a folder");
    let command = format!("rmdir {lost}; echo > {lost}; echo Short.");
    let within = format!("{lost}/page.html");
    let run = compacted(&["--summarizer-cmd", &command, "--html", &within, "openai-chat/plain.json"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("deep/page.html cannot be written"), "{run:?}");
    assert!(run.stderr.contains("; the result is written anyway"), "{run:?}");
    assert!(run.stdout.contains("Short."), "the transcript is not lost");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2, "nothing else is left behind");
}

#[test]
fn an_impossible_page_is_refused_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, result) = (path(folder.path(), "page.html"), path(folder.path(), "result.json"));
    for (arguments, code, words) in [
        (&["-n", "--html", &file][..], 2, "'--dry-run' cannot be used with '--html <FILE>'"),
        (&["--html", "-"], 2, "--html -: standard output carries the transcript"),
        (&["--html", "openai-chat/plain.json"], 2, "is another file of this command"),
        (&["--html", &result, "-o", &result], 2, "is another file of this command"),
        (&["--html", &file, "--report", &file], 2, "is another file of this command"),
        (&["--html", &file, "--archive", &file], 2, "--archive"),
        (&["--html", "no/such/folder/page.html"], 1, "no/such/folder/page.html cannot be written"),
        (&["--html", "openai-chat"], 1, "openai-chat cannot be written: it is a directory"),
    ] {
        let run = compacted(&[arguments, &["openai-chat/plain.json"]].concat());
        assert_eq!((run.code, run.stdout.as_str()), (code, ""), "{arguments:?} {run:?}");
        assert!(run.stderr.contains(words), "{arguments:?} {run:?}");
    }
    assert!(!fs::exists(&result).expect("looked"));
}

/// The page of a long conversation stays small enough for a browser.
#[test]
fn a_long_conversation_has_a_short_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "page.html");
    let text = "All work and no play makes a long conversation. ".repeat(20);
    let messages = turns(0..4_000, |at| format!("{at} {text}"));
    let run = run(tcompact().args(KEEP).args(["--html", &file]), json!(messages).to_string().as_bytes());
    assert_eq!(run.code, 0);
    let whole = page(&file);
    assert!(whole.len() < 2_500_000, "{}", whole.len());
    assert!(whole.contains("messages are left out here"));
}

#[cfg(unix)]
#[test]
fn a_page_overwrites_nothing_else_of_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let within = |arguments: &[&str]| run(tcompact().current_dir(folder.path()).args(KEEP).args(arguments), b"");
    let original = fs::read(path(crate::program::FIXTURES.as_ref(), "openai-chat/plain.json")).expect("a fixture");
    let file = path(folder.path(), "a.json");
    fs::write(&file, &original).expect("written");
    for (flag, place, more) in [
        ("--html", "a.json.bak", &["-i=.bak"][..]),
        ("--report", "a.json.bak", &["-i=.bak"]),
        ("--html", "out/.tcompact/journal.jsonl", &["-O", "out"]),
    ] {
        let run = within(&[&[flag, place, "a.json"], more].concat());
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains(&format!("{flag} {place}")), "{run:?}");
        assert_eq!(fs::read(&file).expect("as it was"), original);
    }
    let result = fs::File::create(path(folder.path(), "result.json")).expect("made");
    for place in ["/dev/stdout", "result.json"] {
        let mut command = tcompact();
        command.current_dir(folder.path()).args(KEEP).args(["--html", place, "a.json"]);
        let status = command.stdout(result.try_clone().expect("a file")).stderr(std::process::Stdio::null()).status();
        assert_eq!(status.expect("it runs").code(), Some(2), "{place}");
    }
    assert_eq!(within(&["-i=.bak", "--html", "page.html", "a.json"]).code, 0);
    assert_eq!(fs::read(path(folder.path(), "a.json.bak")).expect("a copy"), original);
}

#[test]
fn errors_of_a_summarizer_are_masked_on_the_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, report) = (path(folder.path(), "page.html"), path(folder.path(), "report.jsonl"));
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let complains = format!("echo 'no: {secret}' >&2; exit 1");
    let run = with(
        &[
            &KEEP[..],
            &["--redact", "--on-error", "passthrough", "--summarizer-cmd", &complains, "--report", &report],
            &["--html", &file, "openai-chat/plain.json"],
        ]
        .concat(),
    );
    assert_eq!(run.code, 0, "{run:?}");
    for file in [&file, &report] {
        let text = fs::read_to_string(file).expect("written");
        assert!(!text.contains(secret) && text.contains("[github-token-1]"), "{text}");
    }
}

/// Any edit without a summary: its conversation is drawn, and what it lost shows.
#[test]
fn a_page_shows_what_was_pruned_without_a_summary() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "page.html");
    let pruning = ["-q", "-m", "none", "--keep", "messages:1", "--prune", "all", "--html", &file];
    let (mut pruned, mut sample) = (0, Sample::default());
    for format in fs::read_dir(crate::program::FIXTURES).expect("fixtures") {
        let format = format.expect("an entry");
        let name = format.file_name().into_string().expect("UTF-8");
        if !format.path().is_dir() || ["bricks", "expected", "inspect", "presets"].contains(&name.as_str()) {
            continue;
        }
        for input in fs::read_dir(format.path()).expect("a folder") {
            let input = input.expect("an entry").path().display().to_string();
            for more in [&[][..], &["--thinking", "drop"], &["--repair", "drop"], &["--redact"], &["--redact=all"]] {
                if !sample.takes_next() {
                    continue;
                }
                let _ = fs::remove_file(&file);
                let run = with(&[&pruning, more, &[input.as_str()]].concat());
                if run.code != 0 || !fs::exists(&file).expect("looked") {
                    continue;
                }
                let whole = page(&file);
                let drawn = whole.matches("<ol class=\"picture\">").count();
                assert!(drawn > 0 || whole.contains("There are no messages"), "{input} {more:?}\n{}", &whole[..2_000]);
                let lead = whole.split("<p class=\"lead\">").nth(1).and_then(|rest| rest.split("</p>").next());
                let lead = lead.expect("a lead");
                assert!(!(lead.contains("Compacted") && lead.contains("nchanged")), "{input} {more:?}: {lead}");
                if lead.contains("Compacted: ") && drawn == 1 {
                    pruned += 1;
                    assert!(lead.contains("Nothing is summarized; ") && lead.contains(" pruned from "), "{lead}");
                    assert!(whole.contains("</i> pruned: ") && whole.contains(" stay</li>"), "{input} {more:?}");
                    let shown = whole.matches("reads now:</p>").count() + whole.matches("removed whole").count();
                    assert!(shown > 0, "{input} {more:?}");
                    assert!(whole.contains("<dt>Pruned text</dt><dd><bdi>nowhere: "), "{input} {more:?}");
                }
            }
        }
    }
    assert!(pruned > 0, "nothing was pruned");
}

#[test]
fn a_page_of_pruning_names_sizes_archive_and_messages_that_go_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, archive) = (path(folder.path(), "page.html"), path(folder.path(), "cut.jsonl"));
    let pruning = ["-q", "--prune", "all", "--fit", "tokens:7k", "--archive", &archive, "--html", &file];
    assert_eq!(with(&[&pruning[..], &["agent-session.json"]].concat()).code, 0);
    let whole = page(&file);
    for part in [
        "Nothing is summarized; ",
        " messages pruned from ",
        "<span class=\"fate pruned\">pruned</span>",
        "<i class=\"removed\" style=\"width:",
        &format!("<dt>Pruned text</dt><dd><bdi>{archive}</bdi></dd>"),
    ] {
        assert!(whole.contains(part), "{part}");
    }
    // Thinking is all that some messages have.
    let pruning = ["-q", "-m", "none", "--prune", "all", "--keep", "messages:1"];
    for more in [&["--html", &file][..], &["--redact", "--html", &file]] {
        let run = with(&[&pruning[..], more, &["claude-code/parallel.jsonl"]].concat());
        assert_eq!(run.code, 0, "{run:?}");
        let whole = page(&file);
        assert!(whole.contains("pruned to 0; ") || whole.contains("pruned to 0."), "{whole}");
        assert!(whole.contains("It is removed whole, as nothing is left of it."), "{whole}");
    }
    let run = with(&[&pruning[..], &["--diff", "--redact", "claude-code/parallel.jsonl"]].concat());
    assert!(run.code == 0 && run.stdout.contains("removed by thinking"), "{run:?}");
}

/// Masks alone change no history.
#[test]
fn a_page_says_masked_and_repaired_where_that_is_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "page.html");
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let messages = json!([{"role": "user", "content": token}, {"role": "assistant", "content": "Yes."}]).to_string();
    let masking = ["-q", "--redact=all", "-m", "none", "--html", &file];
    for (more, lead) in [(&[][..], "Secrets masked. "), (&["--diff"], "Secrets would be masked. ")] {
        assert_eq!(piped(&[&masking[..], more].concat(), &messages).code, 0);
        let whole = page(&file);
        assert!(whole.contains(&format!("<p class=\"lead\">{lead}Nothing is summarized: ")), "{whole}");
        assert!(whole.contains("[github-token-1]") && !whole.contains("Unchanged"), "{whole}");
    }
}
