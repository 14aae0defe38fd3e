//! The single integration binary. It tests tcompact's promises from outside and against independent references.

mod adapting;
mod archive_notes;
mod archives;
mod bad_input;
mod bad_summaries;
mod batch;
mod benches;
mod broken_lines;
#[cfg(unix)]
mod browser;
mod by_hand;
mod cases;
#[cfg(unix)]
mod ci;
mod clock;
mod compactions;
mod completions;
mod contract;
#[cfg(unix)]
mod counting;
mod deerflow;
mod endpoint;
mod errors;
mod facts;
mod faults;
mod fitting;
mod fixtures;
mod histories;
mod hosted;
mod hostile;
mod killed;
mod layers;
mod left_out;
mod limits;
mod links;
mod lookups;
mod no_text;
mod outputs;
mod pages;
mod peers;
mod presets;
mod preview;
#[cfg(unix)]
mod privacy;
mod program;
mod providers;
mod purity;
mod read_only;
mod reading_again;
mod readme;
mod reasoning;
mod recipes;
mod redaction;
mod refusals;
mod reports;
mod restoring;
mod rounds;
mod rows;
mod secrets;
mod server;
#[cfg(target_os = "linux")]
mod side_outputs;
#[cfg(unix)]
mod signals;
mod state_updates;
mod streams;
mod synthesized;
#[cfg(unix)]
mod terminal;
mod thinking;
mod unsteady;
mod welcome;
mod wire;
