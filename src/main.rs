//! Parses the arguments, calls the app, turns an error into a message and an exit code.

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use tcompact::app;
use tcompact::cli::{Arguments, When};
use tcompact::exit::{Exit, Failure};
use tcompact::run::{output, tables};
use tcompact::settings::Settings;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return not_understood(&error),
    };
    match arguments.color {
        When::Auto => {}
        When::Always => anstream::ColorChoice::Always.write_global(),
        When::Never => anstream::ColorChoice::Never.write_global(),
    }
    match run(arguments) {
        Ok(exit) => exit.into(),
        Err(error) => {
            complain(&error.to_string());
            error.downcast_ref::<Failure>().map_or(Exit::Unreadable, |failure| failure.exit).into()
        }
    }
}

/// Help goes to standard output; an error of usage speaks like all the others.
fn not_understood(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        return match error.print() {
            Ok(()) => Exit::Success.into(),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Success.into(),
            Err(_) => Exit::Unreadable.into(),
        };
    }
    let text = error.render().to_string();
    complain(text.strip_prefix("error: ").unwrap_or(&text).trim_end());
    Exit::Usage.into()
}

fn complain(message: &str) {
    let red = clap::builder::styling::AnsiColor::Red.on_default().bold();
    // Where nobody can be told, the exit code says it.
    let _ = writeln!(anstream::stderr(), "{red}tcompact{red:#}: {message}");
}

fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    const STDOUT: Option<&Path> = None;
    if let Some(table) = arguments.list {
        output::write(&tables::draw(table), STDOUT)?;
        return Ok(Exit::Success);
    }
    if let Some(generated) = arguments.generate {
        output::write(generated.file().1, STDOUT)?;
        return Ok(Exit::Success);
    }
    app::run(&Settings::new(arguments, |name| std::env::var(name).ok())?)
}
