//! The folder that an agent's record says a message was written or a call ran in.

use crate::transcript::{Message, Role};

/// The folder that a message records: a member of its line, or the description of the environment for the model.
pub(crate) fn recorded_folder(message: &Message<'_>) -> Option<String> {
    /// Bytes at the beginning of a description in which the folder stands.
    const OPENING: usize = 600;
    let json = message.json;
    let member = json.get_text("cwd").or_else(|| json.at(&["extras", "metadata", "working_dir"])?.text());
    if let Some(folder) = member {
        return clean_folder(folder.decode().into_owned());
    }
    if message.role != Role::User {
        return None;
    }
    message.content.texts().iter().find_map(|text| {
        let raw = text.raw();
        let rest = raw[..raw.floor_char_boundary(OPENING)].trim_start().strip_prefix("<environment_context>")?;
        let (folder, _) = rest.split_once("<cwd>")?.1.split_once("</cwd>")?;
        clean_folder(folder.to_owned())
    })
}

/// A folder without its last slash, if it is absolute and more than the root.
pub(crate) fn clean_folder(folder: String) -> Option<String> {
    let folder = folder.trim_end_matches('/');
    (folder.starts_with('/') && !folder.contains('\n')).then(|| folder.to_owned())
}
