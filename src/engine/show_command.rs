//! The command that shows what a note of `show` or `search` leaves out.

use crate::cli::commands::DEFAULT_LIMIT_TOKENS;
use crate::diagnostic::{PROGRAM, joined, quoted};
use crate::settings::LookupSettings;
use crate::transcript::framing::Lines;

use crate::engine::inputs::Entry;

/// The command that shows messages of one file.
pub(super) struct ShowCommand {
    /// Its words behind the place: the file and flags; nothing where no shell can repeat them.
    pub(super) arguments: Option<Vec<String>>,
}

impl ShowCommand {
    pub(super) fn of(settings: &LookupSettings, file: &Entry) -> Self {
        let Some(name) = file.path.as_ref().and_then(|path| path.to_str()) else {
            return ShowCommand { arguments: None };
        };
        let name = if name.starts_with('-') { format!("./{name}") } else { name.to_owned() };
        let mut words = vec![name];
        if let Some(format) = settings.input.from {
            words.extend(["--from".to_owned(), format.name.to_owned()]);
        }
        if let Some(lines) = settings.input.lines {
            let lines = if lines == Lines::Messages { "messages" } else { "conversations" };
            words.extend(["--lines".to_owned(), lines.to_owned()]);
        }
        if settings.masks {
            words.push("--redact".to_owned());
        }
        ShowCommand { arguments: Some(words) }
    }

    /// What a note says to do for the whole of the message at a place, which has so many tokens.
    pub(super) fn to_see_all(&self, place: &str, tokens: u64) -> String {
        let is_above_limit = tokens > u64::from(DEFAULT_LIMIT_TOKENS);
        let flag = if is_above_limit { Some(tokens.next_multiple_of(1000).to_string()) } else { None };
        match (&self.arguments, flag) {
            (None, None) => format!("show {} prints all", quoted(place)),
            (None, Some(tokens)) => format!("--limit-tokens {tokens} shows them"),
            (Some(arguments), flag) => {
                let mut words = vec!["show".to_owned(), place.to_owned()];
                words.extend(arguments.iter().cloned());
                if let Some(tokens) = flag {
                    words.extend(["--limit-tokens".to_owned(), tokens]);
                }
                format!("to see all: {PROGRAM} {}", joined(&words))
            }
        }
    }
}
