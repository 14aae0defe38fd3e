//! Tests that need what a machine may lack.

use std::collections::HashSet;
use std::io::Write;
use std::sync::Mutex;

/// Reports that the current test is left out, or a part of it, as the machine lacks something. The line is written past
/// the capture of the test runner.
///
/// # Panics
/// In continuous integration, where `CI` is set: a test that never runs must not pass. `TESTS_MAY_LACK` has the names of
/// what may be lacking all the same, with spaces between them.
pub(crate) fn left_out(lacking: &str) {
    static REPORTED: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    let thread = std::thread::current();
    let line = format!("NOT CHECKED: {}, for lack of {lacking}", thread.name().unwrap_or("a test"));
    let is_new = REPORTED.lock().is_ok_and(|mut lines| lines.get_or_insert_default().insert(line.clone()));
    if is_new {
        // The runner captures only what `eprintln!` writes.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
    let allowed = std::env::var("TESTS_MAY_LACK").unwrap_or_default();
    let is_allowed = allowed.split_whitespace().any(|name| name == lacking);
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    assert!(is_allowed || !is_ci, "{line}; install it, or name it in TESTS_MAY_LACK");
}
