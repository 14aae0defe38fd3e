//! Secrets for tests, assembled here so that no scanner mistakes them for real ones.

use crate::extents::{CharRun, Class};
use crate::kinds::{Body, SHAPES};

/// Characters that look random: letters of both cases and digits.
pub(crate) fn random(count: usize) -> String {
    "a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTuVwXyZ".chars().cycle().take(count).collect()
}

pub(crate) fn hex(count: usize) -> String {
    "0a1b2c3d4e5f6789".chars().cycle().take(count).collect()
}

fn capitals(count: usize) -> String {
    "QZ7YX2WVU3TS4R5P".chars().cycle().take(count).collect()
}

fn digits(count: usize) -> String {
    "1234567890".chars().cycle().take(count).collect()
}

/// A secret of every shape that is a prefix and a run.
pub fn of_shapes() -> Vec<(&'static str, String)> {
    let fill = |run: &CharRun| match run.class {
        Class::Digits => digits(run.least),
        Class::Hex => hex(run.least),
        Class::Capitals => capitals(run.least),
        Class::Base58 => random(run.least).replace('0', "9"),
        _ => random(run.least),
    };
    let mut secrets = Vec::new();
    for shape in SHAPES {
        let Body::Run(run) = &shape.body else { continue };
        let before = shape.before.as_ref().map(fill).unwrap_or_default();
        secrets.extend(shape.prefixes.iter().map(|prefix| (shape.kind, format!("{before}{prefix}{}", fill(run)))));
    }
    secrets
}
