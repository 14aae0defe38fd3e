//! The single integration binary. It tests tcompact's promises from outside and against independent references.

mod all_cases;
mod archive_notes;
mod archives;
mod bad_summaries;
mod batch;
mod broken_lines;
#[cfg(unix)]
mod browser;
mod cases;
mod clock;
mod codex_homes;
mod compactions;
mod completions;
mod compressed_archives;
mod context_edits;
mod contract;
#[cfg(unix)]
mod counting;
mod deerflow;
mod errors;
mod failing_servers;
mod file_errors;
mod fitting;
mod fixtures;
mod html;
mod http;
mod interrupted_runs;
mod invalid_input;
mod keep_and_handoff;
mod ledger;
mod left_out;
mod links;
mod long_histories;
mod malicious_input;
mod messages_of_runs;
#[cfg(unix)]
mod nothing_left;
#[cfg(target_os = "linux")]
mod open_files;
mod outputs;
mod own_models;
mod package;
mod peers;
mod presets;
mod preview;
#[cfg(unix)]
mod privacy;
mod program;
mod provider_tools;
mod providers;
mod purity;
mod read_only;
mod reading_again;
mod readme;
mod reasoning;
mod recipes;
mod record_hashes;
mod record_ids;
mod redaction;
mod rejected_parameters;
mod repair;
mod repair_synthesize;
mod report_rows;
mod reports;
mod request_limits;
mod restoring;
mod restoring_broken;
mod restoring_grown;
mod restoring_lines;
mod restoring_lost;
mod restoring_rounds;
mod restoring_runs;
mod restoring_steps;
mod results_without_text;
mod search_and_show;
mod secrets;
mod server;
mod sessions;
mod settings;
#[cfg(target_os = "linux")]
mod side_outputs;
#[cfg(unix)]
mod signals;
mod slim;
mod state_updates;
mod streams;
mod summary_requests;
mod support;
#[cfg(target_os = "linux")]
mod system_calls;
#[cfg(unix)]
mod terminal;
mod thinking;
mod unknown_messages;
mod wording;
