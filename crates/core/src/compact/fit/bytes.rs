//! `--fit bytes:N`: the limit in tokens with which the messages as they are written have at most so many bytes. It is
//! found by trying, as the bytes of a token differ from message to message.

use std::rc::Rc;

use crate::compact::decide::Decided;
use crate::compact::fit::search::least_limit;
use crate::compact::fit::{Candidate, Fitted, without_draft};
use crate::compact::message::message_bytes;
use crate::wording::counted;

/// Limits in tokens that are tried, at most.
const MOST_TRIALS: usize = 10;
/// Room of less than this part of the limit stays unused.
const SPARE: u64 = 50;

/// Makes a conversation fit so many bytes. `fit_tokens` is the same for a limit of tokens, and `written` returns the bytes
/// of the messages for a plan, where it can be carried out.
pub(in crate::compact) fn fit_bytes<'t>(
    decided: Rc<Decided<'t>>,
    limit: u64,
    fit_tokens: impl Fn(u64) -> Fitted<'t>,
    written: impl Fn(Fitted<'t>) -> Option<u64>,
) -> Fitted<'t> {
    let bytes = message_bytes(decided.transcript);
    if !decided.may_act() {
        return without_draft(decided, None);
    }
    if bytes <= limit {
        let within = format!("it has {}, within --fit bytes:{limit}", counted(bytes, "byte"));
        let unchanged = Candidate::unchanged(&decided, within);
        return Fitted::new(decided, unchanged.into());
    }
    let trial = |tokens| {
        let fitted = fit_tokens(tokens);
        if fitted.is_met() { written(fitted) } else { None }
    };
    let whole = decided.tokens();
    if let Some(tokens) = largest_within(limit, bytes, whole, trial) {
        return fit_tokens(tokens);
    }
    let unmet = without_draft(decided.clone(), Some(1)).unmet;
    let tokens = unmet.map_or(1, |unmet| least_limit(&decided, 1, unmet.least().min(whole)));
    let fitted = fit_tokens(tokens);
    match trial(tokens).unwrap_or(bytes) {
        least if least > limit => fitted.with_least_bytes(least),
        _ => fitted,
    }
}

/// The tokens for `limit` bytes where so many tokens have so many bytes.
fn scaled(tokens: u64, bytes: u64, limit: u64) -> u64 {
    (tokens as f64 * limit as f64 / bytes.max(1) as f64) as u64
}

/// The largest limit in tokens, of those tried, with which a result has at most so many bytes. `bytes` and
/// `tokens` are those of the whole conversation.
fn largest_within(limit: u64, bytes: u64, tokens: u64, trial: impl Fn(u64) -> Option<u64>) -> Option<u64> {
    let (mut below, mut above) = (0, tokens);
    let mut next = scaled(tokens, bytes, limit);
    let (mut found, mut exceeded) = (None, 0);
    for _ in 0..MOST_TRIALS {
        if above - below <= 1 {
            break;
        }
        let tried = next.clamp(below + 1, above - 1);
        next = match trial(tried) {
            Some(bytes) if bytes <= limit => {
                (found, below) = (Some(tried), tried);
                if limit - bytes < limit / SPARE {
                    break;
                }
                scaled(tried, bytes, limit)
            }
            // A little less than the nearest, since a message is kept or not; and far less where that is too much again.
            Some(bytes) => {
                (above, exceeded) = (tried, exceeded + 1);
                let nearest = scaled(tried, bytes, limit);
                if exceeded > 1 { below.midpoint(tried) } else { nearest - nearest / SPARE }
            }
            None => {
                below = tried;
                tried.midpoint(above)
            }
        };
        if !(below..above).contains(&next) {
            next = below.midpoint(above);
        }
    }
    found
}
