//! The groups of arguments, which say what may stand beside what.

use clap::{Arg, Command};

/// The group of the flags that do not determine a result.
pub(crate) const ASIDE: &str = "aside";
/// The group of the arguments that no layer of settings can have.
pub(crate) const COMMAND_LINE: &str = "command-line";
/// The group of the arguments that `--restore` allows beside it: it makes no decisions, so it takes no rules.
pub(super) const BESIDE_RESTORE: &str = "beside-restore";
/// The group of the arguments that `--search` and `--show` allow beside them, which only read.
pub(super) const BESIDE_LOOKUP: &str = "beside-lookup";

/// Whether an argument of a command is in a group.
pub(crate) fn is_in(command: &Command, group: &str, arg: &Arg) -> bool {
    let mut groups = command.get_groups().filter(|known| known.get_id() == group);
    groups.any(|group| group.get_args().any(|id| id == arg.get_id()))
}
