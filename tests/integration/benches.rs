//! The comparison with other programs, if these are not installed or fail.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::left_out::left_out;
use crate::program::path;

/// Returns the rows of the comparison with `python` as the interpreter of the other programs.
fn rows(python: &str) -> Option<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("python3");
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers.py"));
    command.args(["--binary", env!("CARGO_BIN_EXE_tcompact"), "--python", python, "--runs", "1"]);
    command.args(["--folder", &path(folder.path(), "data"), "dry", "tokens", "ttok", "summary"]);
    let Ok(output) = command.output() else {
        left_out("python3");
        return None;
    };
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    Some(String::from_utf8(output.stdout).expect("UTF-8"))
}

#[test]
fn a_peer_that_is_not_there_or_fails_has_a_row_that_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    // Like a failed download of a vocabulary: the program is installed but ends with a traceback.
    let script = "#!/bin/sh\n[ \"$1\" = -c ] && exit\necho Traceback >&2\nexit 1\n";
    for name in ["python", "ttok"] {
        let file = folder.path().join(name);
        fs::write(&file, script).expect("written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("made executable");
    }
    for (python, why) in [("python", "fails"), ("elsewhere/python", "not installed")] {
        let Some(table) = rows(&path(folder.path(), python)) else { return };
        let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| ")).skip(2).collect();
        assert_eq!(rows.len(), 8, "{table}");
        assert!(rows.iter().all(|row| row.contains(&format!("| {why} |"))), "{table}");
    }
}
