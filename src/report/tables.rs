//! The tables of `--list`, drawn from the registries.

use crate::cli::Table;
use crate::llm::providers::{PROVIDERS, Provider};
use crate::presets::PRESETS;
use crate::prune::{KINDS, RuleKind};
use crate::redact;
use crate::tokens::COUNTERS;
use crate::tokens::models::{self, PRICES_OF};
use crate::transcript::formats::FORMATS;

/// Draws a table as lines of columns. The first line has their names.
pub(crate) fn draw(table: Table) -> String {
    match table {
        Table::Formats => {
            table_of(["format", "what it is"], FORMATS.iter().map(|format| cells([format.name(), format.about()])))
        }
        Table::Presets => {
            table_of(["preset", "whose rules"], PRESETS.iter().map(|preset| cells([preset.name, preset.about])))
        }
        Table::Providers => {
            let row = |row: &Provider| cells([row.name, &row.key_variables.join(" or "), row.base_url]);
            table_of(["provider", "key variable", "address"], PROVIDERS.iter().map(row))
        }
        Table::Models => models_table(),
        Table::Counters => {
            table_of(["counter", "what it counts"], COUNTERS.iter().map(|(name, about)| cells([name, about])))
        }
        Table::Prune => {
            let takes =
                |kind: &RuleKind| if kind.takes.is_empty() { String::new() } else { format!("[:{}]", kind.takes) };
            let rows = KINDS.iter().map(|kind| cells([&format!("{}{}", kind.name, takes(kind)), kind.about]));
            let all = cells(["all", "all of these with their defaults; `none` turns pruning off"]);
            table_of(["rule", "what goes"], rows.chain([all]))
        }
        Table::Secrets => {
            let rows = redact::secrets().into_iter().map(|(kind, about)| cells([kind, &about]));
            table_of(["secret", "how it is recognized"], rows)
        }
    }
}

fn cells<const N: usize>(cells: [&str; N]) -> [String; N] {
    cells.map(str::to_owned)
}

fn models_table() -> String {
    let price = |price: Option<f64>| price.map_or("-".to_owned(), |price| price.to_string());
    let rows = models::all().map(|model| {
        [
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
    table_of(["model", "context window", "output", "counter", "$/M in", "$/M out", "cached", &write], rows)
}

/// Draws rows below the names of their columns, aligned to the widest cells, two spaces apart.
fn table_of<const N: usize>(columns: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let rows: Vec<[String; N]> = std::iter::once(cells(columns)).chain(rows).collect();
    let widths: [usize; N] =
        std::array::from_fn(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0));
    rows.iter()
        .map(|row| {
            let cells: String = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}  ")).collect();
            format!("{}\n", cells.trim_end())
        })
        .collect()
}
