//! Parses the arguments, calls the app, turns an error into a message and an exit code.

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use tcompact::app;
use tcompact::cli::{Arguments, When};
use tcompact::exit::{Exit, Failure};
use tcompact::run::{output, tables};
use tcompact::settings::Settings;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.color {
        When::Auto => {}
        When::Always => anstream::ColorChoice::Always.write_global(),
        When::Never => anstream::ColorChoice::Never.write_global(),
    }
    match run(arguments) {
        Ok(exit) => exit.into(),
        Err(error) => {
            let red = clap::builder::styling::AnsiColor::Red.on_default().bold();
            anstream::eprintln!("{red}tcompact{red:#}: {error}");
            error.downcast_ref::<Failure>().map_or(Exit::Unreadable, |failure| failure.exit).into()
        }
    }
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
