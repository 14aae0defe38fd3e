//! The table of `--explain` for a batch: the conversations that save most.

use crate::events::Largest;
use crate::report::columns::{StyledLine, fitted_end, plain_line};
use crate::report::explain::status::MessageStatus;
use crate::report::explain::{BOLD, DIM};
use crate::wording::counted;

/// Draws the table in at most so many columns; nothing for no conversation. `is_planned` says that nothing was done
/// yet.
pub(crate) fn draw_savings(largest: &Largest, columns: usize, is_planned: bool) -> String {
    let mut out = String::new();
    if largest.conversations == 0 {
        return out;
    }
    let verb = if is_planned { "tokens to be summarized" } else { "tokens saved" };
    let mut title = StyledLine::default();
    let of = counted(largest.conversations, "conversation");
    title.add(BOLD, format!("{} {verb} in {} of {of}", largest.saved, largest.smaller));
    title.end(columns, &mut out);
    let saved = largest.rows.iter().map(|row| row.saved.to_string().len()).max().unwrap_or(0);
    let tokens = largest.rows.iter().map(|row| row.tokens.to_string().len()).max().unwrap_or(0);
    let bar = (columns / 5).min(24);
    for row in &largest.rows {
        let mut line = StyledLine::default();
        line.plain(format!("{:>saved$}", row.saved));
        line.add(DIM, format!(" of {:>tokens$}", row.tokens));
        let share = row.saved as f64 / row.tokens.max(1) as f64;
        let cells = ((share * bar as f64).round() as usize).min(bar);
        line.plain(format!("  {:>3.0}% ", share * 100.0));
        line.add(MessageStatus::Summarized.style(), MessageStatus::Summarized.sign().repeat(cells));
        line.add(MessageStatus::Kept.style(), MessageStatus::Kept.sign().repeat(bar - cells));
        let taken = saved + 4 + tokens + 7 + bar + 2;
        line.plain(format!("  {}", fitted_end(&row.source, columns.saturating_sub(taken))));
        line.end(columns, &mut out);
    }
    let others = largest.smaller - largest.rows.len() as u64;
    if others > 0 {
        let rest = largest.saved - largest.rows.iter().map(|row| row.saved).sum::<u64>();
        plain_line(format!("{rest:>saved$} in {others} more"), columns, &mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use proptest::prelude::*;

    use super::*;
    use crate::events::Saving;

    fn saving(source: &str, tokens: u64, saved: u64) -> Saving {
        Saving { source: source.to_owned(), messages: 9, tokens, saved }
    }

    fn largest(savings: &[Saving]) -> Largest {
        let mut largest = Largest::default();
        savings.iter().for_each(|saving| largest.add(saving));
        largest
    }

    #[test]
    fn the_largest_come_first() {
        assert_eq!(draw_savings(&Largest::default(), 80, true), "");
        let mut savings: Vec<Saving> = (1..=12).map(|at| saving(&format!("{at}.json"), 1000, at * 10)).collect();
        savings.push(saving("logs/of/a/long/path/with/日本語/session.jsonl:7", 20_000, 18_000));
        savings.push(saving("unchanged.json", 300, 0));
        let table = draw_savings(&largest(&savings), 60, false);
        assert_eq!(
            strip_str(&table).to_string(),
            "\
18780 tokens saved in 13 of 14 conversations
18000 of 20000   90% ░░░░░░░░░░░█  …h/日本語/session.jsonl:7
  120 of  1000   12% ░███████████  12.json
  110 of  1000   11% ░███████████  11.json
  100 of  1000   10% ░███████████  10.json
   90 of  1000    9% ░███████████  9.json
   80 of  1000    8% ░███████████  8.json
   70 of  1000    7% ░███████████  7.json
   60 of  1000    6% ░███████████  6.json
   50 of  1000    5% ░███████████  5.json
   40 of  1000    4% ████████████  4.json
   60 in 3 more
"
        );
        let nothing = draw_savings(&largest(&[saving("unchanged.json", 300, 0)]), 60, true);
        assert_eq!(strip_str(&nothing).to_string(), "0 tokens to be summarized in 0 of 1 conversation\n");
    }

    #[test]
    fn joined_they_are_as_if_added_one_by_one() {
        let savings: Vec<Saving> = (0..40).map(|at| saving(&format!("{at}.json"), 1000, at * 7 % 30)).collect();
        let mut joined = largest(&savings[..15]);
        joined.join(&largest(&savings[15..]));
        assert_eq!(joined, largest(&savings));
    }

    #[test]
    fn the_order_of_equals_is_not_that_in_which_they_were_done() {
        let (a, b) = (saving("a", 9, 5), saving("b", 9, 5));
        assert_eq!(largest(&[a.clone(), b.clone()]), largest(&[b, a]));
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_terminal(source in "\\PC*", tokens in 0..u64::MAX, columns in 1..200usize) {
            let table = strip_str(&draw_savings(&largest(&[saving(&source, tokens, tokens / 2)]), columns, true)).to_string();
            prop_assert!(table.lines().all(|line| crate::report::columns::width(line) <= columns), "{table}");
        }
    }
}
