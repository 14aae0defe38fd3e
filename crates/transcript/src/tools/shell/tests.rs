use super::*;

/// The commands, each with its folder in front and with what stands behind it.
fn shown(text: &str) -> Vec<String> {
    let shown = |command: SimpleCommand<'_>| {
        let folder = command.folder.map_or(String::new(), |folder| format!("{folder}: "));
        let outputs: Vec<String> = command
            .outputs
            .iter()
            .map(|output| format!(" {} {}", if output.appends { ">>" } else { ">" }, output.path))
            .collect();
        let here = command.here.map_or(String::new(), |here| format!(" << {here}"));
        let after = match command.after {
            Operator::Then => "",
            Operator::And => " &&",
            Operator::Or => " ||",
            Operator::Pipe => " |",
            Operator::Background => " &",
        };
        format!("{folder}{}{}{here}{after}", command.words.join(" "), outputs.concat())
    };
    commands(text, None).into_iter().map(shown).collect()
}

#[test]
fn a_command_line_is_its_simple_commands() {
    for (text, expected) in [
        (
            "cd /w && cat > a.py << 'EOF'\nx; y\nEOF\npython a.py 2>&1 | tail -3; echo \"a && b\"",
            &["/w: cd /w &&", "/w: cat > a.py << x; y", "/w: python a.py |", "/w: tail -3", "/w: echo a && b"][..],
        ),
        ("git commit -m \"one\n\ntwo; three\" && make", &["git commit -m one\n\ntwo; three &&", "make"]),
        ("edit 1:2\nprint(1)\nend_of_edit\nls", &["edit 1:2 << print(1)", "ls"]),
        ("cp a \\\n  b \\\n  d/\nls", &["cp a b d/", "ls"]),
        ("(cd web && make) | tail; touch a", &["web: cd web &&", "web: make |", "tail", "touch a"]),
        ("(make; true) && ls", &["make", "true &&", "ls"]),
        ("make &&\n# it's a comment\nls & curl http://a?b&c", &["make &&", "ls &", "curl http://a?b&c"]),
        ("A=1 make 2>&1 >| log; B=2", &["make > log", ""]),
        (
            "git commit -m \"$(cat <<'E'\nsay \"a > b\"; it's\nE\n)\"; ls",
            &["git commit -m $(cat <<'E'\nsay \"a > b\"; it's\nE\n)", "ls"],
        ),
        ("\n# nothing\n", &[]),
        ("| | > > <", &[" >  > "]),
        ("cd web & rm a; cd x | cat; rm b", &["cd web &", "rm a", "cd x |", "cat", "rm b"]),
        ("echo $'it\\'s' > q; rm w", &["echo it's > q", "rm w"]),
        (
            "echo $((1 > 2)) ${x:-a > b}; (( a > b )); [[ $a > c ]]; ls",
            &["echo $((1 > 2)) ${x:-a > b}", "[[ $a c ]]", "ls"],
        ),
        ("n=$(( 1 << k ))\nls; x=$(date; echo hi > y)", &["", "ls", ""]),
        ("ls | tee >(cat > a) > b", &["ls |", "tee > b"]),
        ("echo ${x $((y", &["echo ${x $((y"]),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}
