//! Tests of what tool calls do, with the tools of known agents.

use super::*;

/// The files of a call, each as `r path`, `c path` or `n path`, with how much of it is read.
fn files(name: &str, arguments: &str) -> Vec<String> {
    ToolUse::parse(name, arguments).files.iter().map(shown).collect()
}

fn shown(file: &FileUse) -> String {
    let access = match file.access {
        Access::Read => 'r',
        Access::Changed => 'c',
        Access::Named => 'n',
    };
    let extent = match &file.extent {
        Extent::Whole => String::new(),
        Extent::Lines(first, last) => format!(" {first}-{}", last.map_or(String::new(), |last| last.to_string())),
        Extent::Excerpt(what) => format!(" [{what}]"),
    };
    format!("{access} {}{extent}", file.full_path())
}

#[test]
fn files_that_the_tools_of_agents_read() {
    for (name, arguments, expected) in [
        ("Read", r#"{"file_path":"/w/a.rs"}"#, "r /w/a.rs"),
        ("Read", r#"{"file_path":"/w/a.rs","offset":100,"limit":50}"#, "r /w/a.rs 100-149"),
        ("read", r#"{"path":"a.rs","limit":50}"#, "r a.rs 0-49"),
        ("read_file", r#"{"absolute_path":"/w/a.rs","offset":0,"limit":20}"#, "r /w/a.rs 0-19"),
        ("read_file", r#"{"path":"src/./b/../a.rs","start_line":3,"end_line":9}"#, "r src/a.rs 3-9"),
        ("read_file", r#"{"file_path":"/a.rs","offset":0,"description":"why"}"#, "r /a.rs"),
        ("str_replace_editor", r#"{"command":"view","path":"/w/a.rs","view_range":[1,80]}"#, "r /w/a.rs 1-80"),
        ("str_replace_editor", r#"{"command":"view","path":"/w/a.rs","view_range":[1,-1]}"#, "r /w/a.rs"),
        ("developer__text_editor", r#"{"command":"view","path":"/w/a.rs"}"#, "r /w/a.rs"),
        ("ReadFile", r#"{"path":"a.rs","line_offset":5,"n_lines":2}"#, "r a.rs 5-6"),
        ("view_file", r#"{"AbsolutePath":"/a.rs","StartLine":1,"EndLine":7}"#, "r /a.rs 1-7"),
        ("open", r#"{"path":"a.rs","line_number":120}"#, "r a.rs [   linenumber=120]"),
        ("read", r#"{"path":"a.rs","start":0,"end":-1,"impl_source":"default"}"#, "r a.rs"),
        ("Read", r#"{"file_path":"a.pdf","pages":"1-3"}"#, r#"r a.pdf [   pages="1-3"]"#),
    ] {
        assert_eq!(files(name, arguments), [expected], "{name} {arguments}");
        assert!(ToolUse::parse(name, arguments).only_reads, "{name} {arguments}");
        assert_eq!(ToolUse::parse(name, arguments).command, None);
    }
    assert_eq!(files("read_many_files", r#"{"paths":["a.rs","src/*.rs","b.rs"]}"#), ["r a.rs", "r b.rs"]);
    assert_eq!(
        files("read_file", r#"{"files":[{"path":"a.rs"},{"path":"b.rs","start_line":2}]}"#),
        ["r a.rs", "r b.rs 2-"]
    );
}

#[test]
fn files_that_the_tools_of_agents_change() {
    for (name, arguments, expected) in [
        ("Edit", r#"{"file_path":"/w/a.rs","old_string":"a","new_string":"b"}"#, "c /w/a.rs"),
        ("Write", r#"{"file_path":"/w/a.rs","content":"x"}"#, "c /w/a.rs"),
        ("NotebookEdit", r#"{"notebook_path":"/w/a.ipynb","new_source":"x"}"#, "c /w/a.ipynb"),
        ("edit", r#"{"path":"a.rs","oldText":"a","newText":"b"}"#, "c a.rs"),
        ("edit", r#"{"filePath":"a.rs","oldString":"a","newString":"b"}"#, "c a.rs"),
        ("replace", r#"{"file_path":"/a.rs","old_string":"a","new_string":"b"}"#, "c /a.rs"),
        ("replace_in_file", r#"{"path":"a.rs","diff":"x"}"#, "c a.rs"),
        ("write_to_file", r#"{"path":"a.rs","content":"x"}"#, "c a.rs"),
        ("str_replace_editor", r#"{"command":"create","path":"/a.rs","file_text":"x"}"#, "c /a.rs"),
        ("str_replace_editor", r#"{"command":"undo_edit","path":"/a.rs"}"#, "c /a.rs"),
        ("StrReplaceFile", r#"{"path":"a.rs","edit":{"old":"a","new":"b"}}"#, "c a.rs"),
        ("apply_patch", r#"{"input":"*** Begin Patch\n*** Add File: b.py\n+x"}"#, "c b.py"),
        ("apply_patch", "*** Begin Patch\n*** Delete File: b.py\n*** End Patch", "c b.py"),
        ("shell", r#"{"command":["apply_patch","*** Begin Patch\n*** Update File: b.py\n"]}"#, "c b.py"),
        ("delete_file", r#"{"path":"a.rs"}"#, "c a.rs"),
    ] {
        assert_eq!(files(name, arguments), [expected], "{name} {arguments}");
        assert!(!ToolUse::parse(name, arguments).only_reads, "{name} {arguments}");
    }
}

#[test]
fn tools_that_only_name_a_file_or_none() {
    assert_eq!(files("present_files", r#"{"filepaths":["a.md"]}"#), ["n a.md"]);
    assert_eq!(files("lint", r#"{"path":"a.rs"}"#), ["n a.rs"]);
    for (name, arguments) in [
        ("Grep", r#"{"pattern":"x","path":"src"}"#),
        ("LS", r#"{"path":"src"}"#),
        ("list_dir", r#"{"path":"src"}"#),
        ("find_file", r#"{"file_name":"a.rs"}"#),
        ("TodoWrite", r#"{"todos":[]}"#),
        ("get_weather", r#"{"city":"Rome"}"#),
        ("read_file", "no JSON"),
        ("read_file", r#"{"path":""}"#),
    ] {
        assert_eq!(ToolUse::parse(name, arguments), ToolUse::default(), "{name} {arguments}");
    }
}

#[test]
fn commands_by_all_their_names() {
    for (name, arguments) in [
        ("Bash", r#"{"command":"cargo test","description":"Tests"}"#),
        ("shell", r#"{"command":["bash","-lc","cargo test"],"workdir":"/w"}"#),
        ("exec_command", r#"{"cmd":"cargo test"}"#),
        ("run_shell_command", r#"{"command":"cargo test"}"#),
        ("execute_bash", "cargo test"),
    ] {
        let of = ToolUse::parse(name, arguments);
        assert_eq!(of.command.as_deref(), Some("cargo test"), "{name} {arguments}");
        assert_eq!((of.files.len(), of.only_reads), (0, false));
    }
}

#[test]
fn files_of_commands() {
    let described = |command: &str| {
        let of = ToolUse::parse("bash", &serde_json::json!({ "command": command }).to_string());
        let only = if of.only_reads { "only " } else { "" };
        format!("{only}{}", of.files.iter().map(shown).collect::<Vec<_>>().join(", "))
    };
    for (command, expected) in [
        ("cat src/a.rs", "only r src/a.rs"),
        ("cat a.rs Makefile", "only r a.rs, r Makefile"),
        ("cd /w && cat a.rs", "only r /w/a.rs"),
        ("cd /w; cd b && cat ../a.rs 2>/dev/null", "only r /w/a.rs"),
        ("cat ./a.py | head -400", "only r a.py 1-400"),
        ("nl -ba a.py | sed -n '10,20p'", "only r a.py 10-20"),
        ("sed -n '10,$p' a.py", "only r a.py 10-"),
        ("head -n 30 a.py", "only r a.py 1-30"),
        ("tail -n 5 a.log", "only r a.log [-n 5]"),
        ("cat a.py | grep -n x", "only r a.py [Whole grep -n x]"),
        ("cat a.py && pytest", "r a.py"),
        ("cat $FILE", ""),
        ("cat src/*.rs", ""),
        ("cat >> fix.py << 'EOF'\nx\nEOF", "c fix.py"),
        ("cat > fix.py << 'EOF'\nopen('x') > y.py\nEOF", "c fix.py"),
        ("echo hi >> 'my notes.txt' 2>&1", "c my notes.txt"),
        ("cd /testbed && sed -i 's/a > b/c/' src/tools.py", "c /testbed/src/tools.py"),
        ("make | tee out.log", "c out.log"),
        ("mv a.rs b.rs", "c a.rs, c b.rs"),
        ("cargo test 2>&1 > /dev/null", ""),
        ("cargo test 2> errors.txt", ""),
        ("", ""),
        ("| | > > <", ""),
    ] {
        assert_eq!(described(command), expected, "{command}");
    }
    assert!(ToolUse::parse("bash", r#"{"command":"cd /w && ls"}"#).changes_directory);
}

#[test]
fn what_one_read_shows_of_another() {
    let lines = Extent::Lines;
    assert!(Extent::Whole.covers(&lines(3, Some(9))) && !lines(3, Some(9)).covers(&Extent::Whole));
    assert!(lines(1, Some(9)).covers(&lines(3, Some(9))) && lines(3, None).covers(&lines(3, Some(9))));
    assert!(!lines(3, Some(9)).covers(&lines(3, None)) && !lines(4, None).covers(&lines(3, Some(9))));
    let excerpt = |what: &str| Extent::Excerpt(what.to_owned());
    assert!(excerpt("grep x").covers(&excerpt("grep x")) && !excerpt("grep x").covers(&excerpt("grep y")));
}

#[test]
fn what_changes_something_elsewhere_is_told_apart() {
    use purpose::{Purpose, purpose_of};
    let of_command = |command: &str| {
        let arguments = serde_json::json!({"command": command}).to_string();
        purpose_of("Bash", &ToolUse::parse("Bash", &arguments), "")
    };
    for command in [
        "git add -A && git commit -m x && git push origin main",
        "curl -s -X POST https://api.example.com/v1/products -H 'Accept: */*'",
        "curl https://api.example.com/v1/prices -d amount=2900",
        "npx vercel deploy --prod",
        "vercel --prod --yes",
        "gh pr create --fill",
        "npm publish",
        "kubectl -n shop apply -f a.yaml",
        "scp a.tar host:/srv",
    ] {
        assert_eq!(of_command(command), Purpose::Effects, "{command}");
    }
    for command in ["curl -sL https://example.com/a.json", "gh pr list", "git status", "npm test", "kubectl get pods"] {
        assert_ne!(of_command(command), Purpose::Effects, "{command}");
    }
    for command in ["Get-Content a.ts", "Get-ChildItem -Recurse src | Select-String x"] {
        assert_eq!(of_command(command), Purpose::Reads, "{command}");
    }
    let of_tool = |name: &str| purpose_of(name, &ToolUse::parse(name, "{}"), "ok");
    for name in ["book_reservation", "send_email", "mcp__calendar__create_event"] {
        assert_eq!(of_tool(name), Purpose::Effects, "{name}");
    }
    for name in ["update_topic", "get_order", "wait_agent", "create_file"] {
        assert_ne!(of_tool(name), Purpose::Effects, "{name}");
    }
}
