//! Tests of `by_lines`.
