//! Where agents keep their sessions, which of their files are sessions, and what a session's first line says of its file.

use crate::json::Json;
use crate::wording::counted;

/// The files of an agent's sessions.
#[derive(Debug)]
pub struct SessionFiles {
    /// The variable that names the agent's own folder; empty where there is none.
    pub variable: &'static str,
    /// That folder below the user's, where no variable names it.
    pub home: &'static str,
    /// The folder of the sessions below the agent's own.
    pub folder: &'static str,
    /// Whether a file with this name is a session: copies, archives and the conversations of sub-agents lie beside them.
    pub is_session: fn(&str) -> bool,
    /// The name of the folder that a session is in, where only that tells it from those of sub-agents.
    pub parent: Option<&'static str>,
    /// What depends on the bytes of these files, where anything does.
    pub dependents: Option<Dependents>,
}

/// What depends on the bytes of an agent's session files: other sessions, and a database.
#[derive(Debug)]
pub struct Dependents {
    /// Reads the first line of a session.
    pub head: fn(Json<'_>) -> SessionHead,
    /// The folders with sessions, below the agent's own.
    pub folders: &'static [&'static str],
    /// What the name of a database in the agent's own folder begins with, which names places in sessions.
    pub database: &'static str,
    /// The agent's name.
    pub agent: &'static str,
}

/// What the first line of a session says of its file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SessionHead {
    /// Whether it is the conversation of a sub-agent.
    pub is_of_subagent: bool,
    /// Where the conversation begins, if that is in another file.
    pub base: Option<HistoryBase>,
}

/// The beginning of a conversation that is the beginning of another file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryBase {
    /// The id that the other file's name ends with.
    pub thread: String,
    /// The number of that file's bytes.
    pub bytes: u64,
}

impl HistoryBase {
    /// The warning for what is counted or shown without that beginning, to follow the name of the conversation.
    pub fn warning(&self) -> String {
        let (bytes, thread) = (counted(self.bytes, "byte"), &self.thread);
        format!("the first {bytes} of the conversation are in the session {thread}, and are not read")
    }
}

/// The name of a file without the ending of lines, if the rest is a name that an agent gives.
pub fn stem_of_lines(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(".jsonl")?;
    if stem.contains('.') { None } else { Some(stem) }
}

/// The UUID that the name of a file of lines ends with.
pub fn id_in_name(name: &str) -> Option<&str> {
    const LENGTH: usize = 36;
    let stem = stem_of_lines(name)?;
    if !ends_with_uuid(stem) {
        return None;
    }
    stem.get(stem.len().checked_sub(LENGTH)?..)
}

/// Whether a name ends with a UUID.
pub fn ends_with_uuid(name: &str) -> bool {
    const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
    const LENGTH: usize = 36;
    let Some(start) = name.len().checked_sub(LENGTH) else { return false };
    let Some(id) = name.get(start..) else { return false };
    let groups: Vec<&str> = id.split('-').collect();
    if groups.len() != GROUPS.len() {
        return false;
    }
    for (group, length) in groups.iter().zip(GROUPS) {
        if group.len() != length || !group.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use crate::formats::by_name;

    #[test]
    fn sessions_are_told_from_what_lies_beside_them() {
        const ID: &str = "0196f0e2-1c1b-7c3e-9a53-2f4b7c8d9e0f";
        for (format, name, is_session) in [
            ("claude-code", "ID.jsonl", true),
            ("claude-code", "ID.jsonl.bak", false),
            ("claude-code", "ID.jsonl.cut.jsonl", false),
            ("claude-code", "agent-0196f0e2.jsonl", false),
            ("claude-code", "sessions-index.json", false),
            ("codex", "rollout-2026-11-02T09-14-03-ID.jsonl", true),
            ("codex", "rollout-2026-11-02T09-14-03-ID.jsonl.cut.jsonl", false),
            ("codex", "history.jsonl", false),
            ("gemini-cli", "session-2026-11-02T09-14-0196f0e2.json", true),
            ("gemini-cli", "session-2026-11-02T09-14-0196f0e2.jsonl", true),
            ("gemini-cli", "session-2026-11-02T09-14-0196f0e2.json.cut.jsonl", false),
            ("gemini-cli", "logs.json", false),
            ("kimi-code", "wire.jsonl", true),
            ("kimi-code", "wire.jsonl.cut.jsonl", false),
            ("kimi-code", "wire.jsonl.bak", false),
            ("qwen-code", "ID.jsonl", true),
            ("qwen-code", "ID.jsonl.cut.jsonl", false),
            ("qwen-code", "agent-0196f0e2.jsonl", false),
            ("pi", "2026-11-02T09-14-03-123Z_ID.jsonl", true),
            ("pi", "2026-11-02T09-14-03-123Z_ID.jsonl.cut.jsonl", false),
            ("pi", "settings.json", false),
            ("copilot-cli", "events.jsonl", true),
            ("copilot-cli", "events.jsonl.cut.jsonl", false),
            ("copilot-cli", "workspace.yaml", false),
        ] {
            let files = by_name(format).and_then(|format| format.session_files.as_ref()).expect("an agent");
            assert_eq!((files.is_session)(&name.replace("ID", ID)), is_session, "{format} {name}");
        }
        assert!(by_name("openai-chat").expect("a format").session_files.is_none());
    }
}
