//! Checks the laws on generated conversations.
//!
//! usage: laws [CASES [SEED [FIRST]]]
//!
//! A case follows from the seed and its number: `laws 1 SEED NUMBER` runs it again.

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use tcompact_laws::Cases;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|number| number.parse::<u64>().expect("a number"));
    let (cases, seed) = (numbers.next().unwrap_or(1_000_000), numbers.next().unwrap_or(2026));
    let first = numbers.next().unwrap_or(0);
    println!("{cases} generated conversations from number {first}, seed {seed}");
    let began = Instant::now();
    let all = Cases::new(seed);
    let (next, broken) = (AtomicU64::new(first), AtomicU64::new(0));
    let printing = Mutex::new(());
    panic::set_hook(Box::new(|_| ()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= first + cases {
                        break;
                    }
                    if number > first && (number - first).is_multiple_of(50_000) {
                        println!("{} so far, {:.0} s", number - first, began.elapsed().as_secs_f64());
                    }
                    let Err(why) = panic::catch_unwind(AssertUnwindSafe(|| all.check(number))) else {
                        continue;
                    };
                    let why = why.downcast_ref::<String>().map(String::as_str).or(why.downcast_ref::<&str>().copied());
                    let _alone = printing.lock().unwrap_or_else(PoisonError::into_inner);
                    if broken.fetch_add(1, Ordering::Relaxed) < 20 {
                        println!("{}\n  {}", all.shown(number), why.unwrap_or("it panicked"));
                    }
                }
            });
        }
    });
    let broken = broken.into_inner();
    println!("{}; {broken} broke a law; {:.0} s", all.counts(), began.elapsed().as_secs_f64());
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
