//! Who may read what is written: a result as many as its input, any other new file its owner alone.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

use crate::standard_streams::metadata_of_stdin;

/// Who may read a new file.
#[derive(Debug, Clone, Default)]
pub(crate) enum Readers {
    /// Its owner alone: it stands beside a result.
    #[default]
    Owner,
    /// Those who may read its input.
    OfInput(Box<Metadata>),
    /// Whoever may read new files: its input is a pipe.
    Usual,
}

impl Readers {
    /// Returns the readers of a result by its input, which is standard input if there is no path.
    pub(crate) fn of_result(input: Option<&Path>) -> Self {
        let metadata = match input.filter(|input| input.as_os_str() != "-") {
            Some(input) => fs::metadata(input).ok(),
            None => metadata_of_stdin(),
        };
        metadata.filter(Metadata::is_file).map_or(Readers::Usual, |input| Readers::OfInput(Box::new(input)))
    }

    /// Sets the owner of a file to that of the `earlier` one, whose place it takes, as far as the system lets us, and its
    /// mode to what both the earlier file and the input have. Where that cannot be done it stays private.
    #[cfg(unix)]
    pub(super) fn apply(&self, file: &File, earlier: Option<&Metadata>) -> io::Result<()> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        if let Some(earlier) = earlier {
            // Only root can change the owner. An owner can choose among the own groups.
            let _ = fchown(file, Some(earlier.uid()), Some(earlier.gid()))
                .or_else(|_| fchown(file, None, Some(earlier.gid())));
        }
        let input = if let Readers::OfInput(input) = self { Some(&**input) } else { None };
        let group = file.metadata()?.gid();
        let modes = [earlier, input].into_iter().flatten().map(|like| mode_in_group(like.mode(), like.gid() == group));
        if let Some(mode) = modes.reduce(|one, other| one & other) {
            // Some file systems have no permissions.
            let _ = file.set_permissions(fs::Permissions::from_mode(mode));
        }
        Ok(())
    }

    /// Permissions have no groups there.
    #[cfg(not(unix))]
    pub(super) fn apply(&self, _file: &File, _earlier: Option<&Metadata>) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the mode of a file like one of this mode, in its group or in another one.
#[cfg(unix)]
fn mode_in_group(mode: u32, is_same: bool) -> u32 {
    // Members of one group are others for files of another group.
    let both = mode >> 3 & mode & 0o7;
    if is_same { mode & 0o777 } else { mode & 0o700 | both << 3 | both }
}

/// Makes a file that `options` create private from the first moment. An earlier one has the permissions that the user gave
/// it.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn another_group_may_do_what_all_may() {
        for (mode, is_same, expected) in [
            (0o664, true, 0o664),
            (0o640, false, 0o600),
            (0o664, false, 0o644),
            (0o604, false, 0o600),
            (0o6755, true, 0o755),
        ] {
            assert_eq!(mode_in_group(mode, is_same), expected, "{mode:o}");
        }
    }
}
