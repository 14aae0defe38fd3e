//! What a fault costs.

use std::sync::LazyLock;

use anyhow::Result;
use serde_json::json;

use crate::engine::{TaskResult, run_alone};
use crate::events::Status;
use crate::exit::{Exit, Failure};
use crate::fault::ProgramPart;
use crate::fault::failing::while_failing;
use crate::files::input::Input;
use crate::presets;
use crate::settings::Settings;
use crate::settings::layers::CommandLine;
use crate::summary::exchange::{Bill, FailureKind, NoAnswer, Reply, Request, SummaryBackend};

/// A model that was paid for.
struct Model;

impl SummaryBackend for Model {
    fn answer(&self, _: &Request, bill: &mut Bill) -> Result<Reply, NoAnswer> {
        bill.requests += 1;
        // Long enough for something to stand beside it.
        Ok(Reply { text: "It went well. The services agree. ".repeat(20), ..Reply::default() })
    }
}

/// A model that has no answer.
struct Silent;

impl SummaryBackend for Silent {
    fn answer(&self, _: &Request, _: &mut Bill) -> Result<Reply, NoAnswer> {
        Err(NoAnswer::new(FailureKind::Odd, "it has no answer".to_owned()))
    }
}

/// The input: a rule of the user, and much of the assistant's for the summary to replace.
static SOURCE: LazyLock<String> = LazyLock::new(|| {
    let report = "I compared what the old service and the new one wrote during the last week: both agree but for the time \
                  of day, which the old one rounds to the minute. ";
    json!([
        {"role": "user", "content": "Never touch the table invoices_2019, and keep below 500 ms."},
        {"role": "assistant", "content": report.repeat(10)},
        {"role": "user", "content": "last"},
    ])
    .to_string()
});

fn compacted(arguments: &[&str], answers: &dyn SummaryBackend) -> (Result<String>, Option<Status>) {
    let words = ["tcompact", "-q", "--keep=messages:1"].iter().chain(arguments).map(|word| (*word).into());
    let command_line = CommandLine::parse(words).expect("arguments");
    let resolved = command_line.resolve(&presets::values, |_| None).expect("settings");
    let settings = Settings::new(resolved, |_| None).expect("settings");
    let input = Input { name: "-".to_owned(), text: SOURCE.clone(), ..Input::default() };
    let mut conversations = Vec::new();
    let outcome = run_alone(&settings, &input, answers, &mut conversations);
    let text = outcome.map(|TaskResult { content, .. }: TaskResult| {
        let bytes = content.pieces(SOURCE.as_bytes()).collect::<Vec<_>>().concat();
        String::from_utf8(bytes).expect("a text")
    });
    (text, conversations.first().map(|conversation| conversation.status))
}

#[test]
fn a_summary_that_was_paid_for_goes_in_though_the_ledger_fails() {
    let model = ["--summarizer-cmd=true"];
    let (whole, _) = compacted(&model, &Model);
    assert!(whole.expect("a result").contains("invoices_2019"));
    let (text, status) = while_failing(ProgramPart::Ledger, || compacted(&model, &Model));
    let text = text.expect("a result");
    assert!(text.contains("It went well.") && !text.contains("invoices_2019"), "{text}");
    assert_eq!(status, Some(Status::Compacted));
}

#[test]
fn on_error_decides_where_the_embedded_summarizer_fails() {
    let failing = |how: &str, model: bool| {
        let how = format!("--on-error={how}");
        let arguments: &[&str] = if model { &[&how, "--summarizer-cmd=true"] } else { &[&how, "--ledger=400"] };
        while_failing(ProgramPart::Extractive, || compacted(arguments, &Silent))
    };
    for (how, model) in [("fail", false), ("extractive", false), ("extractive", true)] {
        let (text, status) = failing(how, model);
        let error = text.expect_err("it fails");
        let exit = error.downcast_ref::<Failure>().map(|failure| failure.exit);
        assert_eq!((exit, status), (Some(Exit::SummarizerFailed), Some(Status::Failed)), "{how}: {error}");
        assert!(error.to_string().contains("bug in tcompact") && !error.to_string().contains("secret"), "{error}");
    }
    let (text, status) = failing("passthrough", false);
    assert_eq!((text.expect("a text").as_str(), status), (SOURCE.as_str(), Some(Status::Unchanged)));
    let (text, status) = failing("embed", false);
    assert!(text.expect("a text").contains("bug in tcompact"));
    assert_eq!(status, Some(Status::Compacted));
}
