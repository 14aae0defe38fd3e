//! Looking for breaches of the provider's rules, and mending them before anything else is done.

use anyhow::Result;

use crate::exit::Failure;
use crate::plan::breaches::breaches;
use crate::rewrite::repair::{Repair, mended, without_way};
use crate::rewrite::{self, Edit};
use crate::run::input::{Input, spoken};
use crate::run::said::Said;
use crate::settings::Settings;
use crate::transcript::framing::Document;

use super::archive::{self, Archived, Changed};
use super::{json, read, source_name};

/// Rounds of mending after which what is left cannot be mended. Each kind of breach takes one or two, and a chain in which
/// one makes the next as many as it is long.
const ROUNDS: usize = 256;

/// Says every breach of an input, and whether there is any.
///
/// # Errors
/// The input cannot be read.
pub(super) fn check(settings: &Settings, input: &Input) -> Result<bool> {
    let source = json(input)?;
    let document = read(settings, input, &source)?;
    let said = Said::new(settings);
    let mut found = false;
    for transcript in &document.transcripts {
        for breach in breaches(transcript) {
            said.breach(&source_name(input, transcript), &breach);
            found = true;
        }
    }
    Ok(found)
}

/// Mends every breach of an input: its text is then the mended one. Gives what is to be kept of the one before.
///
/// # Errors
/// The input cannot be read; or a breach is left, since the format has no way to mend it.
pub(super) fn repair(settings: &Settings, input: &mut Input, how: Repair) -> Result<Archived> {
    let mut archived = Archived::default();
    let breaches_in = |document: &Document<'_>| document.transcripts.iter().map(|one| breaches(one).len()).sum();
    let mut rounds = 0;
    let left: usize = loop {
        let source = json(input)?;
        let document = match read(settings, input, &source) {
            // What was read before and is none now has lost all its messages.
            Err(_) if rounds > 0 => {
                let source = spoken(&input.name);
                let message = format!("{source}: --repair would leave nothing: there are only results without calls");
                return Err(Failure::unreadable(message).into());
            }
            read => read?,
        };
        if rounds == 0 {
            let said = Said::new(settings);
            said.repairing(&input.name, breaches_in(&document));
            if how == Repair::Synthesize {
                said.dropping(&input.name, document.transcripts.iter().map(without_way).sum());
            }
        }
        let found = breaches_in(&document);
        let of_one = |transcript| Changed {
            transcript,
            source: source_name(input, transcript),
            edits: mended(transcript, how),
            summarized: Vec::new(),
            archived: Archived::default(),
        };
        let mut changed: Vec<Changed<'_, '_>> = document.transcripts.iter().map(of_one).collect();
        changed.retain(|one| !one.edits.is_empty());
        if changed.is_empty() || rounds == ROUNDS {
            break found;
        }
        let edits: Vec<Edit> = changed.iter().flat_map(|one| one.edits.iter().cloned()).collect();
        let text = rewrite::apply(document.source, &edits);
        archived.extend(archive::kept(settings, document.source, &edits, changed));
        input.text = text;
        rounds += 1;
    };
    if left > 0 {
        let message = format!(
            "{}: --repair cannot mend {left} of the breaches that --check prints; without it the transcript is read as it is",
            spoken(&input.name)
        );
        return Err(Failure::unreadable(message).into());
    }
    Ok(archived)
}
