//! What is made from the flags: completions and the manual page.

mod generated;
mod manual;
