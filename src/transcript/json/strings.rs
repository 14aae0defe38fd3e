//! The strings in a value.

use crate::transcript::json::{Json, JsonKind, Token};

/// Every string in a value that is not a key, in order, with the key of the innermost member around it; in one pass at
/// any depth.
pub(crate) fn named_strings(value: Json<'_>) -> Vec<(Option<Json<'_>>, Json<'_>)> {
    /// An open object or array: the key of its current member, and whether a key comes next.
    struct Open<'a> {
        kind: JsonKind,
        key: Option<Json<'a>>,
        key_is_next: bool,
    }
    let mut found = Vec::new();
    let mut open: Vec<Open<'_>> = Vec::new();
    for token in value.tokens() {
        match token {
            Token::Open(kind) => {
                let key = open.last().and_then(|around| around.key);
                open.push(Open { kind, key, key_is_next: kind == JsonKind::Object });
                continue;
            }
            Token::Close => _ = open.pop(),
            Token::Scalar(scalar) => match open.last_mut() {
                Some(around) if around.key_is_next => {
                    (around.key, around.key_is_next) = (Some(scalar), false);
                    continue;
                }
                around if scalar.kind() == JsonKind::String => {
                    found.push((around.and_then(|around| around.key), scalar))
                }
                _ => {}
            },
        }
        // A value ends here.
        if let Some(around) = open.last_mut() {
            around.key_is_next = around.kind == JsonKind::Object;
        }
    }
    found
}
