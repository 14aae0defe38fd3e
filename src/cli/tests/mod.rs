//! Files that are generated from the flags: completions and the manual page.

mod completions;
mod generated;
mod manual;
