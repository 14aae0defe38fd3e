//! The program, from its arguments to its exit code.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::ValueEnum;

use crate::cli::commands::{CommandName, long_help};
use crate::cli::{self, Typed, When};
use crate::diagnostic::Advice;
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
            Err(error) => {
                let failure = error.downcast_ref::<Failure>();
                let typed = typed();
                let wrong =
                    failure.and_then(|failure| failure.flag).map(|flag| format!("--{flag}")).unwrap_or_default();
                let completed = |advice: &Advice| cli::errors::completed(advice, &wrong, &typed);
                let shown = failure.map(|failure| failure.shown_with(completed)).unwrap_or_default();
                let shown = shown.iter().map(|line| sanitize_line(line));
                let lines: Vec<String> = [sanitize_line(&error.to_string())].into_iter().chain(shown).collect();
                complain(&lines.join("\n"));
                failure.map_or(Exit::Unreadable, |failure| failure.exit).into()
            }
        },
    }
}

/// Prints help to standard output, and an error of usage like any other error.
fn not_understood(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let words = words();
        let is_of_command = CommandName::of_words(words.get(1..).unwrap_or_default()) != CommandName::Compact
            && !cli::asks_for_all(error);
        let print = || match error.kind() {
            _ if is_of_command => error.print(),
            _ if cli::asks_briefly(error) => write!(std::io::stdout(), "{}", cli::BRIEF),
            clap::error::ErrorKind::DisplayHelp => write!(anstream::stdout(), "{}", long_help()),
            _ => error.print(),
        };
        return match check_stdout().and_then(|()| print()) {
            Ok(()) => Exit::Success.into(),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Success.into(),
            Err(error) => {
                complain(&wording::unwritable("standard output", &error));
                Exit::Unreadable.into()
            }
        };
    }
    complain(&cli::errors::describe(error, &typed()));
    Exit::Usage.into()
}

/// What the user gave.
fn typed() -> Typed {
    let words = words();
    let command = CommandName::of_words(words.get(1..).unwrap_or_default()).word();
    let flag = |name: &str| {
        let name = name.strip_prefix("TCOMPACT_")?.to_lowercase().replace('_', "-");
        let own = name.strip_prefix(command).and_then(|rest| rest.strip_prefix('-'));
        Some(format!("--{}", own.unwrap_or(&name)))
    };
    let given = std::env::vars_os().filter(|(_, value)| !value.is_empty());
    let by_variable = given.filter_map(|(name, _)| flag(name.to_str()?)).collect();
    Typed { words, by_variable }
}

/// The words of the command line.
fn words() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

fn run() -> anyhow::Result<Exit> {
    // Help and what is wrong with the flags are coloured before these are understood.
    typed_colour(&words()).into_iter().for_each(colour);
    let command_line = CommandLine::parse(std::env::args_os())?;
    engine::run(&Invocation::new(command_line, |name| std::env::var_os(name), colour)?)
}

/// What `--color` says, where it was typed.
fn typed_colour(words: &[String]) -> Option<When> {
    let typed = words.split(|word| word == "--").next().unwrap_or_default();
    let when = |at| When::from_str(cli::value_at(typed, at, "--color")?, false).ok();
    (0..typed.len()).rev().find_map(when)
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
