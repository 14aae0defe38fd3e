//! What `crates/laws` uses of the modules of the program. It is no API: it changes with the laws.

pub use crate::cli::retry::Typed;
pub use crate::engine::inputs::real;
pub use crate::engine::journal::{FinishedFile, Journal};
pub use crate::engine::{TaskResult, restore, run_alone};
pub use crate::events::{ConversationOutcome, Status};
pub use crate::files::append::{WaitingSections, write_section};
pub use crate::files::input::{Input, read as read_input};
pub use crate::llm::providers::{Endpoint, PROVIDERS};
pub use crate::llm::retry::{FailedAttempt, RetryPolicy};
pub use crate::settings::layers::{CommandLine, Resolved};
pub use crate::settings::{RestoreSettings, Settings};
