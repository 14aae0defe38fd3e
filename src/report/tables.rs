//! The tables of `--list`, drawn from the registries.

use crate::cli::Table;
use crate::llm::providers::PROVIDERS;
use crate::presets::PRESETS;
use crate::prune::{KINDS, Kind};
use crate::redact;
use crate::tokens::COUNTERS;
use crate::tokens::models::{self, PRICES_OF};
use crate::transcript::formats::FORMATS;

/// Draws a table as lines of columns. The first line has their names.
pub(crate) fn draw(table: Table) -> String {
    let rows = match table {
        Table::Formats => formats(),
        Table::Presets => presets(),
        Table::Providers => providers(),
        Table::Models => models_table(),
        Table::Counters => counters(),
        Table::Prune => prune(),
        Table::Secrets => secrets(),
    };
    aligned(&rows)
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

fn formats() -> Vec<Vec<String>> {
    let rows = FORMATS.iter().map(|format| row([format.name(), format.about()]));
    std::iter::once(row(["format", "what it is"])).chain(rows).collect()
}

fn presets() -> Vec<Vec<String>> {
    let rows = PRESETS.iter().map(|preset| row([preset.name, preset.about]));
    std::iter::once(row(["preset", "whose rules"])).chain(rows).collect()
}

fn providers() -> Vec<Vec<String>> {
    let rows =
        PROVIDERS.iter().map(|provider| row([provider.name, &provider.key_variables.join(" or "), provider.base_url]));
    std::iter::once(row(["provider", "key variable", "address"])).chain(rows).collect()
}

fn counters() -> Vec<Vec<String>> {
    let rows = COUNTERS.iter().map(|(name, about)| row([name, about]));
    std::iter::once(row(["counter", "what it counts"])).chain(rows).collect()
}

fn prune() -> Vec<Vec<String>> {
    let named = |kind: &Kind| {
        if kind.takes.is_empty() { kind.name.to_owned() } else { format!("{}[:{}]", kind.name, kind.takes) }
    };
    let rows = KINDS.iter().map(|kind| row([&named(kind), kind.about]));
    let all = row(["all", "all of these, in their defaults; none of them is none"]);
    std::iter::once(row(["rule", "what goes"])).chain(rows).chain([all]).collect()
}

fn secrets() -> Vec<Vec<String>> {
    let rows = redact::secrets().into_iter().map(|(kind, about)| row([kind, &about]));
    std::iter::once(row(["secret", "how it is recognized"])).chain(rows).collect()
}

fn models_table() -> Vec<Vec<String>> {
    let price = |price: Option<f64>| price.map_or("-".to_owned(), |price| price.to_string());
    let rows = models::all().map(|model| {
        vec![
            format!("{}:{}", model.provider, model.name),
            model.context_window.to_string(),
            model.max_output.map_or("-".to_owned(), |tokens| tokens.to_string()),
            model.counter().to_string(),
            price(model.input_price),
            price(model.output_price),
            price(model.cached_price),
            price(model.cache_write_price),
        ]
    });
    let write = format!("cache write (prices of {PRICES_OF})");
    let columns = ["model", "context window", "output", "counter", "$/M in", "$/M out", "cached", &write];
    std::iter::once(row(columns)).chain(rows).collect()
}

/// Aligns columns to their widest cells, two spaces apart.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0))
        .collect();
    rows.iter()
        .map(|row| {
            let cells: String = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}  ")).collect();
            format!("{}\n", cells.trim_end())
        })
        .collect()
}
