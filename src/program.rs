//! The program, from its arguments to its exit code.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use clap::ValueEnum;

use crate::cli::commands::{CommandName, long_help};
use crate::cli::{self, Typed, When};
use crate::exit::{Exit, Failure};
use crate::sanitize::sanitize_line;
use crate::settings::Invocation;
use crate::settings::layers::CommandLine;
use crate::standard_streams::{check_stdout, complain};
use crate::{engine, fault, interrupt, wording};

/// Runs the program: parses the arguments, runs the command, and turns an error into a message and an exit code.
pub fn run_program() -> ExitCode {
    fault::install_hook();
    interrupt::survive_file_size_limit();
    let done = fault::caught(fault::ProgramPart::Program, run).unwrap_or_else(|fault| Err(anyhow::anyhow!("{fault}")));
    interrupt::end_commands();
    match done {
        Ok(exit) => exit.into(),
        Err(error) => match error.downcast::<clap::Error>() {
            Ok(error) => not_understood(&error),
            Err(error) => report_error(&error),
        },
    }
}

/// Prints an error that is not of the command line itself, with what to try.
fn report_error(error: &anyhow::Error) -> ExitCode {
    let mut lines = vec![sanitize_line(&error.to_string())];
    let mut exit = Exit::Unreadable;
    if let Some(failure) = error.downcast_ref::<Failure>() {
        exit = failure.exit;
        let typed = typed();
        let wrong = match failure.flag {
            Some(flag) => format!("--{flag}"),
            None => String::new(),
        };
        for line in failure.shown_with(|advice| cli::errors::completed(advice, &wrong, &typed)) {
            lines.push(sanitize_line(&line));
        }
    }
    complain(&lines.join("\n"));
    exit.into()
}

/// Prints help to standard output, and an error of usage like any other error.
fn not_understood(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        complain(&cli::errors::describe(error, &typed()));
        return Exit::Usage.into();
    }
    match print_help(error) {
        Ok(()) => Exit::Success.into(),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Success.into(),
        Err(error) => {
            complain(&wording::unwritable("standard output", &error));
            Exit::Unreadable.into()
        }
    }
}

/// Prints the help or the version that the user asked for.
fn print_help(error: &clap::Error) -> io::Result<()> {
    check_stdout()?;
    if name_of_command(&words()) != CommandName::Compact && !cli::asks_for_all(error) {
        return error.print();
    }
    if cli::asks_briefly(error) {
        return write!(io::stdout(), "{}", cli::BRIEF);
    }
    match error.kind() {
        clap::error::ErrorKind::DisplayHelp => write!(anstream::stdout(), "{}", long_help()),
        _ => error.print(),
    }
}

/// What the user gave.
fn typed() -> Typed {
    let words = words();
    let command = name_of_command(&words).word();
    let mut by_variable = Vec::new();
    for (name, value) in std::env::vars_os() {
        if !value.is_empty()
            && let Some(name) = name.to_str()
            && let Some(flag) = flag_of_variable(name, command)
        {
            by_variable.push(flag);
        }
    }
    Typed { words, by_variable }
}

/// The flag that a variable sets for a command, whose name the variable may have.
fn flag_of_variable(name: &str, command: &str) -> Option<String> {
    let name = name.strip_prefix("TCOMPACT_")?.to_lowercase().replace('_', "-");
    if let Some(rest) = name.strip_prefix(command)
        && let Some(flag_of_command) = rest.strip_prefix('-')
    {
        return Some(format!("--{flag_of_command}"));
    }
    Some(format!("--{name}"))
}

/// The command that the words of the command line name.
fn name_of_command(words: &[String]) -> CommandName {
    CommandName::of_words(words.get(1..).unwrap_or_default())
}

/// The words of the command line.
fn words() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

fn run() -> anyhow::Result<Exit> {
    // Help and what is wrong with the flags are coloured before these are understood.
    if let Some(when) = typed_colour(&words()) {
        colour(when);
    }
    let command_line = CommandLine::parse(std::env::args_os())?;
    engine::run(&Invocation::new(command_line, |name| std::env::var_os(name), colour)?)
}

/// What `--color` says, where it was typed.
fn typed_colour(words: &[String]) -> Option<When> {
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let typed = &words[..end];
    for at in (0..typed.len()).rev() {
        if let Some(value) = cli::value_at(typed, at, "--color")
            && let Ok(when) = When::from_str(value, false)
        {
            return Some(when);
        }
    }
    None
}

fn colour(when: When) {
    match when {
        When::Auto => {}
        When::Always => anstream::ColorChoice::Always.write_global(),
        When::Never => anstream::ColorChoice::Never.write_global(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_known_before_the_flags_are_understood() {
        for (words, when) in [
            (&["tcompact", "--kep", "--color", "never"][..], Some(When::Never)),
            (&["tcompact", "--color=always", "--help"], Some(When::Always)),
            (&["tcompact", "--color=always", "--color", "never"], Some(When::Never)),
            (&["tcompact", "--color", "pink"], None),
            (&["tcompact", "--", "--color=never"], None),
            (&["tcompact", "--colored=never"], None),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(typed_colour(&words), when, "{words:?}");
        }
    }
}
