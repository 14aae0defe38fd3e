//! Drives the targets without libFuzzer.
//!
//! usage: drive TARGET|all SECONDS [SEED]     mutates seeds, and counts; keeps inputs that break a law in artifacts/
//!        drive TARGET FILE...                runs a target on files
//!        drive list                          prints the targets

use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, thread};

use tcompact_fuzz::{Mutator, TARGETS, Target, seeds_of, target};

/// The longest that an input may take; the slowest so far took a hundredth of it.
const LONGEST: Duration = Duration::from_secs(60);

/// The number of findings after which a target ends: most are the same.
const ENOUGH: usize = 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["list"] => TARGETS.iter().for_each(|target| println!("{:<11} {}", target.name, target.about)),
        ["all", seconds, seed @ ..] => {
            let broken = TARGETS.iter().map(|target| drive(target, seconds, seed)).sum::<usize>();
            return if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
        [name, seconds, seed @ ..] if seconds.parse::<u64>().is_ok() => {
            return if drive(target(name), seconds, seed) == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
        [name, files @ ..] if !files.is_empty() => {
            files.iter().for_each(|file| tcompact_fuzz::run(name, &fs::read(file).expect("a file")));
        }
        _ => {
            eprintln!("usage: drive TARGET|all SECONDS [SEED], drive TARGET FILE..., drive list");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn artifacts(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("artifacts").join(name);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// The message of the last panic.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// The current input: when it began, its target, the name of its file, and its bytes.
static CURRENT: Mutex<Option<(Instant, &str, String, Vec<u8>)>> = Mutex::new(None);

/// Ends the program if an input takes too long, and keeps the input.
fn watch() -> ! {
    loop {
        thread::sleep(Duration::from_secs(1));
        let given = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, name, file, input)) = given.as_ref().filter(|(since, ..)| since.elapsed() > LONGEST) {
            let file = artifacts(name).join(file);
            fs::write(&file, input).expect("written");
            println!("{name}: {}\n  it takes longer than {LONGEST:?}", file.display());
            process::exit(1);
        }
    }
}

/// Runs a target on mutated inputs for some seconds, and returns how many broke a law.
fn drive(target: &Target, seconds: &str, seed: &[&str]) -> usize {
    let seed = seed.first().map_or(1, |seed| seed.parse().expect("SEED is a number"));
    let until = Instant::now() + Duration::from_secs(seconds.parse().expect("SECONDS is a number"));
    panic::set_hook(Box::new(|info| {
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string();
    }));
    thread::spawn(watch);
    let mut mutator = Mutator::new(seeds_of(target.name), seed);
    let (mut inputs, mut broken, mut slowest) = (0_u64, 0, Duration::ZERO);
    while Instant::now() < until && broken < ENOUGH {
        let input = mutator.next_input();
        inputs += 1;
        let began = Instant::now();
        let give = |given| *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = given;
        give(Some((began, target.name, format!("{seed}-{inputs}"), input.clone())));
        if panic::catch_unwind(AssertUnwindSafe(|| tcompact_fuzz::run(target.name, &input))).is_err() {
            broken += 1;
            let file = artifacts(target.name).join(format!("{seed}-{inputs}"));
            fs::write(&file, &input).expect("written");
            let message = PANIC.lock().unwrap_or_else(PoisonError::into_inner).clone();
            println!("{}: {}\n  {}", target.name, file.display(), message.chars().take(1_500).collect::<String>());
        }
        give(None);
        slowest = slowest.max(began.elapsed());
    }
    let _ = panic::take_hook();
    println!("{:<11} {inputs} inputs, seed {seed}, {broken} broke a law; the slowest took {slowest:?}", target.name);
    broken
}
