//! The one integration binary: what tcompact promises, held against references that are not its own.

mod approx_tokens;
mod exact_tokens;
mod generated;
