//! Runs the built program.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The folder of the fixtures.
pub(crate) const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

/// The variables that name a proxy, or the address of a provider.
#[rustfmt::skip]
const ADDRESSES: [&str; 10] = [
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL",
];

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A command for the built program, without the variables of the person who runs the tests.
pub(crate) fn tcompact() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tcompact"));
    without_own_variables(&mut command).current_dir(FIXTURES);
    command
}

/// A command for a shell in a folder that finds the built program, without the variables of the person who runs the
/// tests.
pub(crate) fn shell(line: &str, folder: &Path) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_tcompact")).parent().expect("a folder");
    let search = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    without_own_variables(&mut shell).args(["-c", line]).current_dir(folder).env("PATH", search).stdin(Stdio::null());
    shell
}

/// Removes keys, addresses, settings and what decides on colors from a command.
fn without_own_variables(command: &mut Command) -> &mut Command {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for variable in names.filter(|name| name.ends_with("_API_KEY")) {
        command.env_remove(variable);
    }
    for variable in ["NO_COLOR", "CLICOLOR_FORCE", "CI"].iter().chain(&ADDRESSES) {
        command.env_remove(variable);
    }
    command.envs(own_settings())
}

/// Variables that hide the settings of the person who runs the tests: an empty variable counts as unset.
pub(crate) fn own_settings() -> Vec<(String, &'static str)> {
    let variables = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let ours = variables.filter(|name| name.starts_with("TCOMPACT_")).map(|name| (name, ""));
    ours.chain([("XDG_CONFIG_HOME".to_owned(), "/nowhere")]).collect()
}

/// Runs `command` with `input` on its standard input.
pub(crate) fn run(command: &mut Command, input: &[u8]) -> Run {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    // A program with wrong arguments does not read its input.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("the writer ends");
    Run {
        code: output.status.code().expect("an exit code"),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// Runs tcompact with arguments and nothing on its standard input.
pub(crate) fn with(arguments: &[&str]) -> Run {
    run(tcompact().args(arguments), b"")
}

/// Runs tcompact with arguments and a text on its standard input.
pub(crate) fn piped(arguments: &[&str], input: &str) -> Run {
    run(tcompact().args(arguments), input.as_bytes())
}

pub(crate) fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().expect("a UTF-8 path").to_owned()
}

/// The description of each row in a table of `list`.
pub(crate) fn rows(table: &str) -> Vec<String> {
    let run = with(&["list", table]);
    let first = |row: &str| row.split_whitespace().next().map(str::to_owned);
    run.stdout.lines().skip(1).filter_map(first).collect()
}
