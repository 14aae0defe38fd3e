//! What holds for the flags of all commands.

use clap::Arg;

use super::*;

/// The commands that have settings.
fn with_settings() -> impl Iterator<Item = CommandName> {
    CommandName::NAMED.into_iter().filter(|name| name.has_settings())
}

/// What an argument takes, as far as a user sees it.
fn takes(arg: &Arg) -> String {
    let values: Vec<String> = arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    format!(
        "{:?} {:?} {:?} {:?} {values:?} {:?}",
        arg.get_short(),
        arg.get_value_names(),
        arg.get_action(),
        arg.get_default_values(),
        arg.is_require_equals_set()
    )
}

#[test]
fn a_flag_takes_the_same_in_all_commands() {
    let compaction = CommandName::Compact.command();
    let mut shared = 0;
    for name in with_settings() {
        let command = name.command();
        for arg in command.get_opts() {
            let long = arg.get_long().expect("a long name");
            if let Some(other) = compaction.get_opts().find(|other| other.get_long() == Some(long)) {
                assert_eq!(takes(arg), takes(other), "{} --{long}", name.word());
                shared += 1;
            }
        }
    }
    assert!(shared > 50, "{shared}");
}

#[test]
fn no_flag_in_front_of_a_command_is_accepted_and_ignored() {
    for name in CommandName::NAMED {
        assert_eq!(CommandName::of_words(&["-v", name.word()]), CommandName::Compact);
        assert_eq!(CommandName::of_words(&[name.word(), "-v"]), name);
        assert_eq!(CommandName::of_words(&[&format!("./{}", name.word())]), CommandName::Compact);
    }
    assert_eq!(CommandName::of_words::<&str>(&[]), CommandName::Compact);
}

#[test]
fn a_command_refuses_the_flags_that_it_lacks() {
    let compaction = CommandName::Compact.command();
    let mut refused = 0;
    for name in with_settings() {
        let command = name.command();
        for arg in compaction.get_opts() {
            let long = arg.get_long().expect("a long name");
            if command.get_opts().any(|own| own.get_long() == Some(long)) {
                continue;
            }
            let words = ["tcompact".to_owned(), format!("--{long}=x")];
            let error = command.clone().try_get_matches_from(words).expect_err(long);
            assert_eq!(error.kind(), clap::error::ErrorKind::UnknownArgument, "{} --{long}", name.word());
            refused += 1;
        }
    }
    assert!(refused > 200, "{refused}");
}

#[test]
fn the_joined_command_has_all_of_them() {
    let joined = joined();
    let names: Vec<&str> = joined.get_subcommands().map(Command::get_name).collect();
    assert_eq!(names, CommandName::NAMED.map(CommandName::word));
    // clap checks the joined command itself.
    joined.debug_assert();
}
