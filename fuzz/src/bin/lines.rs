//! Checks the laws of facts and of the embedded summarizer on generated lines, built from what the ledger looks for.
//!
//! usage: lines [LINES [SEED]]

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::time::Instant;

use tcompact::laws::lines;

/// The lines of one conversation.
const OF_ONE: usize = 20;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|number| number.parse::<u64>().expect("a number"));
    let (wanted, seed) = (numbers.next().unwrap_or(1_000_000), numbers.next().unwrap_or(2026));
    let tokens = lines::Tokens::of_ledger();
    println!("{wanted} lines of {} words and of shapes, seed {seed}", tokens.count());
    let began = Instant::now();
    let (mut lines, mut broken) = (0, 0);
    for number in 0..wanted.div_ceil(OF_ONE as u64) {
        let mut below = lines::choices(seed.wrapping_mul(1 << 32).wrapping_add(number));
        let conversation = lines::conversation(&tokens, OF_ONE, &mut below);
        lines += OF_ONE as u64;
        if panic::catch_unwind(AssertUnwindSafe(|| lines::assert_read(&conversation, &mut below))).is_err() {
            broken += 1;
            println!("conversation {number} of seed {seed}: {conversation}");
            if broken == 20 {
                break;
            }
        }
        if lines.is_multiple_of(1_000_000) {
            println!("{lines} so far, {:.0} s", began.elapsed().as_secs_f64());
        }
    }
    println!("{lines} lines, {broken} conversations broke a law; {:.0} s", began.elapsed().as_secs_f64());
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
