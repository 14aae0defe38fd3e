//! Links inside a folder that tcompact fills. tcompact writes through none of them: a link can lead anywhere.
//!
//! The folder itself may be a link, since the user named it. A link can take the place of a file between this check and
//! the writing. The result then replaces the link, since results are renamed into their place.

use std::io;
use std::path::Path;

/// Refuses a `place` with a link in its path below `home`.
///
/// # Errors
/// The first link on the way, and what to do about it.
pub(crate) fn refuse(home: &Path, place: &Path) -> io::Result<()> {
    let Ok(below) = place.strip_prefix(home) else { return Ok(()) };
    let mut path = home.to_owned();
    for part in below.components() {
        path.push(part);
        if path.is_symlink() {
            let link = path.display();
            return Err(io::Error::other(format!(
                "{link} is a link, and tcompact does not write through links; remove it and run again"
            )));
        }
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_links_below_the_folder_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |name: &str| folder.path().join(name);
        fs::create_dir_all(of("real/deep")).expect("made");
        symlink("real", of("named")).expect("a link");
        symlink("nowhere", of("real/a.json")).expect("a link");
        symlink("deep", of("real/sub")).expect("a link");
        for (place, refused) in [
            ("named/b.json", false),
            ("named/deep/c.json", false),
            ("named/a.json", true),
            ("named/sub/new/d.json", true),
        ] {
            assert_eq!(refuse(&of("named"), &of(place)).is_err(), refused, "{place}");
        }
        assert!(refuse(&of("elsewhere"), &of("named/a.json")).is_ok(), "it is not a place in that folder");
    }
}
