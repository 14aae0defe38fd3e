//! Copies the files of a directory to another: each to a file beside its place, which is synced with `synced`, and then
//! renamed.
//!
//! usage: copy FROM TO JOBS synced|not

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, io, thread};

fn main() -> io::Result<()> {
    let [from, to, jobs, sync] = &env::args().skip(1).collect::<Vec<_>>()[..] else {
        panic!("usage: copy FROM TO JOBS synced|not");
    };
    let mut files = Vec::new();
    find(Path::new(from), Path::new(to), &mut files)?;
    let next = AtomicUsize::new(0);
    let work = || -> io::Result<()> {
        while let Some((from, to)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            copy(from, to, sync == "synced")?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.parse().expect("a number")).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no panic"))
    })
}

fn find(from: &Path, to: &Path, files: &mut Vec<(PathBuf, PathBuf)>) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => find(&entry.path(), &place, files)?,
            false => files.push((entry.path(), place)),
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path, sync: bool) -> io::Result<()> {
    let bytes = fs::read(from)?;
    let beside = to.with_extension("part");
    let mut file = File::create_new(&beside)?;
    file.write_all(&bytes)?;
    if sync {
        file.sync_all()?;
    }
    fs::rename(beside, to)
}
