//! Digests of generated conversations and of fixtures, through several rounds and whole compactions.

use std::collections::HashSet;
use std::fs;

use crate::all_cases::{one_in, share};
use crate::compact::Compactor;
use crate::tokens::Counter;
use crate::transcript::formats::{FORMATS, by_name};

use crate::bricks::Bricks;
use crate::bricks::talk::{Step, choices, steps};
use crate::digest::{COUNTERS, History, Item, Section, as_message, assert_digest, digest_of};
use crate::fixtures;
use crate::lawful::with_document;
use crate::tests::digest::{assert_speakers, for_cases, items, keeping, summary_in, users, with_messages};

#[test]
fn laws_of_generated_conversations_through_five_rounds() {
    for_cases(340, |bricks, format, seed| {
        let mut below = choices(seed);
        let counter = COUNTERS[below(3)];
        let limit = [60, 200, 700, 4_000][below(4)] * if counter == COUNTERS[1] { 5 } else { 1 };
        let mut before: Option<String> = None;
        let mut ever: HashSet<String> = HashSet::new();
        for round in 0..5 {
            let mut said = steps(&mut below, 100 * round..100 * round + 12);
            let texts =
                said.iter().filter_map(|step| if let Step::User(text) = step { Some(text.trim()) } else { None });
            ever.extend(texts.map(str::to_owned));
            said.splice(..0, before.take().map(|digest| Step::User(as_message(&digest))));
            let source = bricks.conversation(&said, below(12));
            let digest = with_document(&source, Some(format), |document| {
                assert_digest(&document.transcripts[0], counter, limit)
            });
            assert!(!digest.is_empty(), "{limit} {source}");
            assert_speakers(&digest);
            let user = items(&digest, Section::User);
            let shown = user.iter().filter(|item| item.index.is_some() && item.question().is_none());
            let shown: usize = shown.map(|item| item.stands_for).sum();
            let left_out: usize = user.iter().filter_map(Item::left_out).sum();
            assert!(
                ever.len() <= shown + left_out,
                "{shown} and {left_out} of {}, round {round}: {digest}",
                ever.len()
            );
            before = Some(digest);
        }
    });
}

/// The same through the whole of a compaction, where later rounds keep less of one document.
#[test]
fn laws_of_compacted_documents() {
    let mut rounds = 0;
    for seed in 0..share(68) as u64 {
        let format = FORMATS[seed as usize % FORMATS.len()];
        let said = steps(&mut choices(seed), 0..44);
        let mut source = Bricks::of(format.name).conversation(&said, seed as usize);
        for keep in [34, 26, 18, 9, 2] {
            let mut policy = keeping(keep);
            policy.summary.tokens = [300, 1_024][seed as usize % 2];
            let done = Compactor::new(policy).compact_as(&source, format.name).expect("a transcript");
            // Of a history of a few tokens nothing can be said in fewer.
            if done.plans[0].cutoff == 0 || done.text == source {
                continue;
            }
            let digest = summary_in(&done.text, format);
            assert!(!digest.is_empty(), "{source}");
            assert_speakers(&digest);
            with_document(&source, Some(format), |document| {
                let history = History::new(&document.transcripts[0]);
                history.assert_user(&digest, done.plans[0].cutoff);
                history.assert_lines(&digest);
            });
            rounds += 1;
            source = done.text;
        }
    }
    assert!(rounds * one_in() > 200, "{rounds}");
}

#[test]
fn laws_of_fixtures() {
    let mut written = 0;
    for (name, file) in fixtures::all() {
        let text = fs::read_to_string(&file).expect("a fixture");
        with_document(&text, by_name(name), |document| {
            for (transcript, limit) in document.transcripts.iter().flat_map(|one| [(one, 120), (one, 1_500)]) {
                written += usize::from(!assert_digest(transcript, Counter::APPROX, limit).is_empty());
            }
        });
    }
    assert!(written > 140, "{written}");
}

#[test]
fn five_rounds_lose_no_message_that_one_keeps() {
    for_cases(68, |bricks, format, seed| {
        let mut below = choices(seed);
        let said: Vec<Step> = (0..5 + below(56))
            .flat_map(|number| {
                let rule = ["Never touch", "Do not rename", "Only look at", "Use at most 3 copies of"][below(4)];
                let report = Step::Assistant(format!("That is done. za{number}"));
                [Step::User(format!("{rule} the part with the name zu{number}.")), report]
            })
            .collect();
        let limit = [150, 300, 700, 2_000][below(4)];
        // The mark of a carried line takes some room.
        let source = bricks.conversation(&said, 0);
        let once =
            with_messages(&source, Some(format), |messages| digest_of(messages, Counter::APPROX, limit * 9 / 10));
        let mut digest = String::new();
        for part in said.chunks(said.len().div_ceil(5)) {
            let earlier = Some(Step::User(as_message(&digest))).filter(|_| !digest.is_empty());
            let part: Vec<Step> = earlier.into_iter().chain(part.iter().cloned()).collect();
            let source = bricks.conversation(&part, 0);
            digest = with_messages(&source, Some(format), |messages| digest_of(messages, Counter::APPROX, limit));
        }
        let (once_users, users) = (users(&once), users(&digest));
        assert!(!users.is_empty() && users.is_sorted(), "{users:?} {digest}");
        // Where these fill more than half of the room of the user, some have to go.
        let fill_room = said.len() as u64 / 2 * 20 > limit / 4;
        if fill_room {
            return;
        }
        let lost: Vec<&u32> = once_users.iter().filter(|user| !users.contains(user)).collect();
        assert!(
            lost.is_empty(),
            "{} of {} {lost:?} at {limit}\n{digest}\n-- once --\n{once}",
            format.name,
            said.len() / 2
        );
    });
}
