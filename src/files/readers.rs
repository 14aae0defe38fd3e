//! Who may read what is made from files: nobody who may not read each of them.

#[cfg(unix)]
use std::collections::BTreeMap;
#[cfg(unix)]
use std::fs;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
#[cfg(unix)]
use std::io::ErrorKind;
use std::path::Path;

#[cfg(unix)]
use crate::standard_streams::metadata_of_stdin;

/// The permissions of the files that go into another file.
#[derive(Debug, Default, Clone)]
pub(crate) struct Readers {
    /// Of each group, the permissions that all files of the group have.
    #[cfg(unix)]
    modes: BTreeMap<u32, u32>,
}

#[cfg(unix)]
impl Readers {
    /// Returns the readers of files, where nothing is standard input. What is not a regular file restricts nobody.
    pub(crate) fn of<'p>(files: impl IntoIterator<Item = Option<&'p Path>>) -> Self {
        let mut readers = Readers::default();
        for file in files {
            let metadata = match file.filter(|file| file.as_os_str() != "-") {
                Some(file) => fs::metadata(file).ok(),
                None => metadata_of_stdin(),
            };
            metadata.iter().for_each(|metadata| readers.add(metadata));
        }
        readers
    }

    fn add(&mut self, file: &Metadata) {
        use std::os::unix::fs::MetadataExt;
        if file.is_file() {
            *self.modes.entry(file.gid()).or_insert(0o777) &= file.mode();
        }
    }

    /// Returns the permissions that a file of a group may have.
    fn allowed(&self, group: u32) -> u32 {
        let allowed_by = |(of, mode): (&u32, &u32)| {
            let (group_bits, others) = (mode >> 3 & 0o7, mode & 0o7);
            // Members of one group are others for files of another group.
            let both = group_bits & others;
            if *of == group { 0o700 | group_bits << 3 | others } else { 0o700 | both << 3 | both }
        };
        self.modes.iter().map(allowed_by).fold(0o777, |allowed, by| allowed & by)
    }

    /// Returns the mode with which a new file in a folder is created.
    pub(crate) fn mode_in(&self, folder: &Path) -> u32 {
        use std::os::unix::fs::MetadataExt;
        // Some folders pass on their group.
        let inherited = fs::metadata(folder).ok().filter(|folder| folder.mode() & 0o2000 != 0);
        let group = inherited.map_or_else(|| rustix::process::getegid().as_raw(), |folder| folder.gid());
        0o666 & self.allowed(group)
    }

    /// Sets the mode and owner of an open file to those of `like`, as far as the system lets us, and removes the
    /// permissions that its sources do not have.
    pub(crate) fn apply(&self, file: &File, like: Option<&Metadata>) -> io::Result<()> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let mut own = file.metadata()?;
        let mut mode = own.mode();
        if let Some(like) = like {
            if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
                // Only root can change the owner. An owner can choose among the own groups.
                let _ =
                    fchown(file, Some(like.uid()), Some(like.gid())).or_else(|_| fchown(file, None, Some(like.gid())));
                own = file.metadata()?;
            }
            mode = kept_mode(like.mode(), own.uid() == like.uid(), own.gid() == like.gid());
        }
        mode &= self.allowed(own.gid()) | !0o777;
        if !own.is_file() || mode == own.mode() {
            return Ok(());
        }
        match file.set_permissions(fs::Permissions::from_mode(mode & 0o7777)) {
            // A file of another user, or a file system without permissions.
            Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) => Ok(()),
            set => set,
        }
    }
}

/// Returns the mode of a file that takes the place of another one, with the owner and the group or without.
#[cfg(unix)]
fn kept_mode(mode: u32, keeps_owner: bool, keeps_group: bool) -> u32 {
    let mode = if keeps_owner { mode } else { mode & !0o4000 };
    if keeps_group {
        return mode;
    }
    // What the group may not do, its members could do as others.
    let others = mode & 0o7 & (mode >> 3);
    mode & !0o2077 | others
}

/// Permissions have no groups there.
#[cfg(not(unix))]
impl Readers {
    /// Returns the readers of files.
    pub(crate) fn of<'p>(_files: impl IntoIterator<Item = Option<&'p Path>>) -> Self {
        Readers::default()
    }

    /// Sets the permissions of an open file to those of `like`.
    pub(crate) fn apply(&self, file: &File, like: Option<&Metadata>) -> io::Result<()> {
        let own = file.metadata()?.permissions();
        match like.map(Metadata::permissions).filter(|like| *like != own) {
            Some(like) => file.set_permissions(like),
            None => Ok(()),
        }
    }
}

impl Readers {
    /// Returns the readers of a file.
    pub(crate) fn of_file(file: Option<&Metadata>) -> Self {
        #[cfg(unix)]
        {
            let mut readers = Readers::default();
            file.into_iter().for_each(|file| readers.add(file));
            readers
        }
        #[cfg(not(unix))]
        {
            let _ = file;
            Readers::default()
        }
    }

    /// Opens a file with `options`. If that creates the file, only these readers can read it from the first moment.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(crate) fn open(&self, options: &mut OpenOptions, file: &Path) -> io::Result<File> {
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(options, self.mode_in(crate::files::paths::folder(file)));
        options.open(file)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Of each group, the mode of a file.
    fn allowed(files: &[(u32, u32)], group: u32) -> u32 {
        Readers { modes: files.iter().copied().collect() }.allowed(group)
    }

    #[test]
    fn nobody_reads_who_could_not_read_each_source() {
        for (files, group, expected) in [
            (&[][..], 7, 0o777),
            (&[(7, 0o600)], 7, 0o700),
            (&[(7, 0o640)], 7, 0o740),
            (&[(7, 0o640)], 8, 0o700),
            (&[(7, 0o644)], 8, 0o744),
            // The group of the source may not read it, and its members are others here.
            (&[(7, 0o604)], 8, 0o700),
            (&[(7, 0o640), (8, 0o640)], 7, 0o700),
            (&[(7, 0o640), (8, 0o644)], 7, 0o740),
        ] {
            assert_eq!(allowed(files, group), expected, "{files:?} {group}");
        }
    }

    #[test]
    fn a_group_that_cannot_be_kept_loses_its_permissions() {
        for (mode, owner, group, expected) in [
            (0o664, true, true, 0o664),
            (0o640, true, false, 0o600),
            (0o664, true, false, 0o604),
            (0o604, true, false, 0o600),
            (0o6755, false, false, 0o0705),
            (0o6755, false, true, 0o2755),
        ] {
            assert_eq!(kept_mode(mode, owner, group), expected, "{mode:o}");
        }
    }
}
