//! The bodies of requests and answers, changes of their members, and the changes that a server asks for.
//!
//! Also reads on a thread of its own, so that the receiver can stop waiting. What was not received stays in memory: a reader
//! has a limit.

use std::io::{self, ErrorKind, Read};
use std::sync::mpsc::{Receiver, channel};
use std::{fmt, thread};

use serde_json::{Map, Value, json};

use crate::summary::exchange::Request;

/// Applies a JSON merge patch (RFC 7396): members are set or, where they are `null`, removed.
pub(super) fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    let mut members = match std::mem::take(target) {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    for (key, value) in patch {
        if value.is_null() {
            members.shift_remove(&key);
        } else {
            merge(members.entry(key).or_insert(Value::Null), value);
        }
    }
    *target = Value::Object(members);
}

/// Sets a member. The path has dots.
pub(super) fn put(target: &mut Value, path: &str, value: Value) {
    let patch = path.rsplit('.').fold(value, |inner, key| Value::Object(Map::from_iter([(key.to_owned(), inner)])));
    merge(target, patch);
}

/// The member at a path, which has dots between its keys.
pub(super) fn get<'v>(target: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(target, |value, key| value.get(key))
}

/// Removes a member, and each object that is empty without it. The path has dots.
pub(super) fn take(target: &mut Value, path: &str) -> Option<Value> {
    let members = target.as_object_mut()?;
    let Some((first, rest)) = path.split_once('.') else { return members.shift_remove(path) };
    let inner = members.get_mut(first)?;
    let taken = take(inner, rest);
    if inner.as_object().is_some_and(Map::is_empty) {
        members.shift_remove(first);
    }
    taken
}

/// A change of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// The parameter is not sent.
    Without(&'static str),
    /// Its value is sent under another name.
    Renamed { refused: &'static str, instead: &'static str },
    /// The limit has the tokens of the summary alone.
    WithLess(&'static str),
}

impl Change {
    pub(super) fn refused(self) -> &'static str {
        match self {
            Change::Without(refused) | Change::Renamed { refused, .. } | Change::WithLess(refused) => refused,
        }
    }

    /// Applies the change to a body.
    pub(super) fn apply(self, body: &mut Value, request: &Request) {
        let Some(value) = take(body, self.refused()) else { return };
        match self {
            Change::Without(_) => {}
            Change::Renamed { instead, .. } => put(body, instead, value),
            Change::WithLess(limit) => put(body, limit, json!(request.limit)),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Without(refused) => write!(out, "without {refused}"),
            Change::Renamed { refused, instead } => write!(out, "with {instead} instead of {refused}"),
            Change::WithLess(refused) => write!(out, "with less {refused}"),
        }
    }
}

/// What a reader gives, piece by piece. The channel is disconnected at the end, and after an error.
///
/// # Errors
/// No thread can be started.
pub(super) fn chunks(mut reader: impl Read + Send + 'static) -> io::Result<Receiver<io::Result<Vec<u8>>>> {
    let (sender, chunks) = channel();
    thread::Builder::new().spawn(move || {
        let mut buffer = [0; 16 << 10];
        loop {
            let chunk = match reader.read(&mut buffer) {
                Ok(0) => return,
                Ok(count) => Ok(buffer[..count].to_vec()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let failed = chunk.is_err();
            // The receiver can be gone.
            if sender.send(chunk).is_err() || failed {
                return;
            }
        }
    })?;
    Ok(chunks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The examples of RFC 7396, appendix A.
    #[test]
    fn merge_patches() {
        for (target, patch, merged) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (json!({"a": "b"}), json!(["c"]), json!(["c"])),
            (json!({"a": "foo"}), json!(null), json!(null)),
            (json!({"a": "foo"}), json!("bar"), json!("bar")),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ] {
            let mut value = target.clone();
            merge(&mut value, patch.clone());
            assert_eq!(value, merged, "{target} {patch}");
        }
    }

    #[test]
    fn paths() {
        let mut body = json!({"a": 1});
        put(&mut body, "b.c", json!(2));
        put(&mut body, "b.d", json!(3));
        assert_eq!((get(&body, "b.c"), get(&body, "b.x"), get(&body, "a.b")), (Some(&json!(2)), None, None));
        assert_eq!(take(&mut body, "b.c"), Some(json!(2)));
        assert_eq!(body, json!({"a": 1, "b": {"d": 3}}));
        assert_eq!((take(&mut body, "b.d"), take(&mut body, "b.d")), (Some(json!(3)), None));
        assert_eq!(body, json!({"a": 1}), "nothing empty is left");
    }
}
