//! What an agent sends of a session file: written from what the agents do when they load one, and not from the readers of
//! this crate, so that the two can be compared.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

/// The formats of session files.
pub(crate) const AGENTS: [&str; 9] =
    ["claude-code", "codex", "copilot-cli", "gemini-cli", "kimi-code", "opencode", "openhands", "pi", "qwen-code"];

/// The entries of a session file that its agent sends as messages, in the order of the file.
pub(crate) fn sent(agent: &str, text: &str) -> Vec<Value> {
    let mut entries = entries(text);
    if agent == "gemini-cli" {
        entries = behind_the_last_list(entries);
    }
    let sent = match agent {
        "claude-code" => sent_by_claude_code(&entries),
        "codex" => sent_by_codex(&entries),
        "gemini-cli" => sent_by_gemini_cli(&entries),
        "copilot-cli" => sent_by_copilot_cli(&entries),
        "opencode" => sent_by_opencode(&entries),
        "kimi-code" => sent_by_kimi_code(&entries),
        "openhands" => sent_by_openhands(&entries),
        "pi" => sent_by_pi(&entries),
        "qwen-code" => sent_by_qwen_code(&entries),
        _ => panic!("{agent} is not an agent with session files"),
    };
    sent.into_iter().map(|index| entries[index].clone()).collect()
}

/// The entries of a file: its lines, or the elements of its list.
pub(crate) fn entries(text: &str) -> Vec<Value> {
    let values: Vec<Value> =
        serde_json::Deserializer::from_str(text).into_iter().map_while(|value| value.ok()).collect();
    if let [only] = &values[..] {
        let lists = [Some(only), only.get("loglines"), only.get("messages"), only.get("history")];
        if let Some(list) = lists.into_iter().flatten().find_map(Value::as_array) {
            return list.clone();
        }
    }
    values
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

/// Claude Code goes from the last line to its parent, and on. It adds the other lines of the answers on the way, and
/// their results. Of lines with one id, the last one holds, at the place of the first.
fn sent_by_claude_code(lines: &[Value]) -> Vec<usize> {
    let is_message =
        |line: &Value| matches!(text(line, "type"), Some("user" | "assistant")) && line["message"].is_object();
    let is_aside = |line: &Value| line["isSidechain"] == true;
    let is_empty = |line: &Value| line["subtype"] == "informational" && line["content"] == "";
    let only_aside = lines.iter().filter(|line| is_message(line) || is_empty(line)).all(is_aside);
    let is_linked = |line: &Value| line.get("parentUuid").is_some() && line["uuid"].is_string();
    if !lines.iter().any(is_linked) {
        return (0..lines.len()).filter(|index| is_message(&lines[*index])).collect();
    }
    let tree: Vec<usize> = (0..lines.len())
        .filter(|index| is_linked(&lines[*index]) && (only_aside || !is_aside(&lines[*index])))
        .collect();
    let id = |index: usize| lines[index]["uuid"].as_str().expect("an id");
    let by_id: HashMap<&str, usize> = tree.iter().map(|index| (id(*index), *index)).collect();
    let parent = |index: usize| by_id.get(text(&lines[index], "parentUuid")?).copied();
    let says_the_same = |one: usize, other: usize| lines[one]["message"] == lines[other]["message"];
    // A line that was written again as it was is not the newest.
    let first = |index: usize| *tree.iter().find(|other| id(**other) == id(index)).expect("itself");
    let is_news = |index: usize| index == first(index) || !says_the_same(first(index), index);
    let mut ends =
        tree.iter().copied().filter(|index| is_news(*index) && text(&lines[*index], "type") != Some("progress"));
    let Some(mut at) = ends.next_back().map(|index| by_id[id(index)]) else { return Vec::new() };
    let mut seen = HashSet::new();
    while seen.insert(at) {
        let follows = |index: &usize| parent(*index) == Some(at) && text(&lines[*index], "type") != Some("progress");
        at = tree.iter().rev().copied().find(follows).map_or(at, |index| by_id[id(index)]);
    }
    let mut chain = Vec::new();
    let mut next = Some(at);
    while let Some(index) = next.filter(|index| !chain.contains(index)) {
        chain.push(index);
        next = if text(&lines[index], "subtype") == Some("compact_boundary") { None } else { parent(index) };
    }
    let answer = |index: usize| lines[index]["message"]["id"].as_str().filter(|_| lines[index]["type"] == "assistant");
    let answers: HashSet<&str> = chain.iter().filter_map(|index| answer(*index)).collect();
    let boundary = chain.iter().copied().find(|index| text(&lines[*index], "subtype") == Some("compact_boundary"));
    let is_behind = |index: &usize| boundary.is_none_or(|boundary| *index > boundary);
    let mut sent: HashSet<usize> = chain.iter().copied().collect();
    sent.extend(tree.iter().filter(|index| answer(**index).is_some_and(|id| answers.contains(id)) && is_behind(index)));
    let is_result = |index: usize| lines[index]["message"]["content"][0]["type"] == "tool_result";
    let of_answers: Vec<usize> = tree
        .iter()
        .copied()
        .filter(|index| is_result(*index) && is_behind(index))
        .filter(|index| {
            parent(*index).is_some_and(|parent| sent.contains(&parent) && lines[parent]["type"] == "assistant")
        })
        .collect();
    sent.extend(of_answers);
    let mut places: Vec<usize> = sent.into_iter().filter(|index| is_message(&lines[*index])).collect();
    // The first line that says what the last one says stands for all with its id.
    for place in &mut places {
        let same = tree.iter().copied().filter(|other| id(*other) == id(*place));
        *place = same.into_iter().find(|other| says_the_same(*other, by_id[id(*place)])).unwrap_or(*place);
    }
    places.sort_unstable();
    places.dedup();
    places
}

/// Codex replays its lines. A rollback takes the last turns of the user back, and a compaction replaces all before it: by
/// a list, or by what the user said.
fn sent_by_codex(lines: &[Value]) -> Vec<usize> {
    let is_said_by_user = |index: &usize| {
        let payload = &lines[*index]["payload"];
        payload["role"] == "user" && !payload.to_string().contains("<environment_context>")
    };
    let mut sent: Vec<usize> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let payload = line.get("payload").unwrap_or(line);
        let kind = text(payload, "type").unwrap_or_default();
        match text(line, "type") {
            Some("response_item") if kind != "ghost_snapshot" => sent.push(index),
            Some("compacted") => {
                let has_list = payload["replacement_history"].is_array();
                sent.retain(|index| !has_list && lines[*index]["payload"]["role"] == "user");
                sent.push(index);
            }
            Some("event_msg") if kind == "thread_rolled_back" => {
                for _ in 0..payload["num_turns"].as_u64().unwrap_or_default() {
                    let turn = sent.iter().rposition(is_said_by_user);
                    sent.truncate(turn.unwrap_or(sent.len()));
                }
            }
            _ => {}
        }
    }
    sent
}

/// Gemini CLI replays its records. A record replaces the one with its id, and `$rewindTo` takes back what follows.
fn sent_by_gemini_cli(records: &[Value]) -> Vec<usize> {
    const NOT_SENT_AGAIN: [&str; 4] = ["/", "?", "<session_context>", "<hook_context>"];
    let mut current: Vec<(&str, usize)> = Vec::new();
    for (index, record) in records.iter().enumerate() {
        if let Some(target) = text(record, "$rewindTo") {
            let kept = current.iter().position(|(id, _)| *id == target).unwrap_or(current.len());
            current.truncate(kept);
        } else if let Some(id) = text(record, "id").filter(|_| record.get("type").is_some()) {
            match current.iter_mut().find(|(known, _)| *known == id) {
                Some(known) => known.1 = index,
                None => current.push((id, index)),
            }
        }
    }
    let is_message = |index: &usize| {
        let record = &records[*index];
        let said = text(record, "content").or_else(|| text(&record["content"][0], "text")).unwrap_or_default();
        match text(record, "type") {
            Some("user") => !NOT_SENT_AGAIN.iter().any(|start| said.trim_start().starts_with(start)),
            kind => kind == Some("gemini"),
        }
    };
    current.into_iter().map(|(_, index)| index).filter(is_message).collect()
}

/// The messages that the last record of Gemini CLI with all messages sets, and the records behind it.
fn behind_the_last_list(mut records: Vec<Value>) -> Vec<Value> {
    let Some(last) = records.iter().rposition(|record| record["$set"]["messages"].is_array()) else { return records };
    let behind = records.split_off(last + 1);
    let mut set = records.pop().map_or(Value::Null, |mut record| record["$set"]["messages"].take());
    let mut entries = set.as_array_mut().map(std::mem::take).unwrap_or_default();
    entries.extend(behind);
    entries
}

/// Copilot CLI sends what its main agent said and heard, in the order of the file. A compaction leaves the words of the
/// user, which are quoted in front of it, and takes the results of the calls before it along.
fn sent_by_copilot_cli(lines: &[Value]) -> Vec<usize> {
    let mut sent: Vec<usize> = Vec::new();
    let (mut open, mut gone): (HashSet<&str>, HashSet<&str>) = (HashSet::new(), HashSet::new());
    for (index, line) in lines.iter().enumerate() {
        let data = &line["data"];
        let id = text(data, "toolCallId").unwrap_or_default();
        let is_sent = match text(line, "type").filter(|_| line.get("agentId").is_none()) {
            Some("user.message" | "system.notification") => true,
            Some("assistant.message") => {
                let calls = data["toolRequests"].as_array().into_iter().flatten();
                open.extend(calls.filter_map(|call| text(call, "toolCallId")));
                true
            }
            Some("tool.execution_complete") => {
                open.remove(id);
                !gone.contains(id)
            }
            Some("session.compaction_complete") if data["success"] == true => {
                sent.retain(|index| lines[*index]["type"] == "user.message");
                gone.extend(open.drain());
                true
            }
            _ => false,
        };
        if is_sent {
            sent.push(index);
        }
    }
    sent
}

/// opencode goes from the last message back to a message of the user with a compaction that an answer finished, and on to
/// the first message that this compaction kept. It sends no answers that failed, and nothing of what only it reads.
fn sent_by_opencode(messages: &[Value]) -> Vec<usize> {
    let mark = |index: usize| {
        let parts = messages[index]["parts"].as_array().filter(|_| messages[index]["info"]["role"] == "user");
        parts.and_then(|parts| parts.iter().find(|part| part["type"] == "compaction"))
    };
    let is_summary_of = |message: &Value, id: &Value| {
        let info = &message["info"];
        info["summary"] == true && info["finish"].is_string() && info["error"].is_null() && info["parentID"] == *id
    };
    let mut first = 0;
    for index in (0..messages.len()).rev() {
        let id = &messages[index]["info"]["id"];
        let Some(mark) = mark(index) else { continue };
        if messages[index..].iter().any(|message| is_summary_of(message, id)) {
            let tail = messages[..index].iter().position(|message| message["info"]["id"] == mark["tail_start_id"]);
            first = if mark.get("tail_start_id").is_some() { tail.unwrap_or(0) } else { index };
            break;
        }
    }
    let is_sent_part = |role: &Value, part: &Value| match part["type"].as_str() {
        Some("text") if role == "user" => part["ignored"] != true,
        Some("file") => part["mime"] != "text/plain" && part["mime"] != "application/x-directory",
        Some("step-start" | "step-finish" | "snapshot" | "patch" | "agent" | "retry" | "compaction") => false,
        _ => true,
    };
    let is_sent = |index: &usize| {
        let message = &messages[*index];
        let parts = message["parts"].as_array().into_iter().flatten();
        message["info"]["error"].is_null() && parts.into_iter().any(|part| is_sent_part(&message["info"]["role"], part))
    };
    (first..messages.len()).filter(is_sent).collect()
}

/// Kimi Code replays its lines. Each part and each call of an answer is a line of its own. A compaction that says how many
/// prompts it keeps leaves all prompts, and any other one the messages from the one that it counts on, where the lines of
/// an answer are one message.
fn sent_by_kimi_code(lines: &[Value]) -> Vec<usize> {
    let is_typed = |message: &[usize]| {
        let inner = &lines[message[0]]["message"];
        inner["role"] == "user" && (inner.get("origin").is_none() || inner["origin"]["kind"] == "user")
    };
    let mut context: Vec<Vec<usize>> = Vec::new();
    let mut step = None;
    for (index, line) in lines.iter().enumerate() {
        let event = &line["event"];
        match (text(line, "type").unwrap_or_default(), text(event, "type").unwrap_or_default()) {
            ("context.append_message", _) => context.push(vec![index]),
            ("context.append_loop_event", "step.begin") => {
                step = Some(context.len());
                context.push(Vec::new());
            }
            ("context.append_loop_event", "content.part" | "tool.call") => {
                context[step.expect("an answer has begun")].push(index);
            }
            ("context.append_loop_event", "tool.result") => context.push(vec![index]),
            ("context.append_loop_event", "step.end") => context.retain(|message| !message.is_empty()),
            ("context.clear", _) => context.clear(),
            ("context.undo", _) => {
                for _ in 0..line["count"].as_u64().expect("a number") {
                    let prompt = context.iter().rposition(|message| is_typed(message));
                    context.truncate(prompt.unwrap_or(context.len()));
                }
            }
            ("context.apply_compaction", _) if line.get("keptUserMessageCount").is_some() => {
                context.retain(|message| is_typed(message));
                context.push(vec![index]);
            }
            ("context.apply_compaction", _) => {
                let count = line["compactedCount"].as_u64().expect("a number") as usize;
                context.drain(..count);
                context.insert(0, vec![index]);
            }
            _ => {}
        }
    }
    let mut sent: Vec<usize> = context.into_iter().flatten().collect();
    sent.sort_unstable();
    sent
}

/// `OpenHands` sends all events that speak, call or answer, but for those that a condensation forgot.
fn sent_by_openhands(events: &[Value]) -> Vec<usize> {
    const SILENT: [&str; 2] = ["agent_state_changed", "recall"];
    let kind = |event: &Value| text(event, "action").or(text(event, "observation")).unwrap_or_default().to_owned();
    (0..events.len()).filter(|index| !SILENT.contains(&kind(&events[*index]).as_str())).collect()
}

/// pi goes from the last entry to its parent, and on. Behind the last compaction on the way it sends the summary, the
/// entries from the first that the compaction kept, and those after it.
fn sent_by_pi(entries: &[Value]) -> Vec<usize> {
    let linked: Vec<usize> = (0..entries.len()).filter(|index| entries[*index].get("parentId").is_some()).collect();
    let by_id: HashMap<&str, usize> =
        linked.iter().filter_map(|index| Some((text(&entries[*index], "id")?, *index))).collect();
    let mut path = Vec::new();
    let mut next = linked.last().copied();
    while let Some(index) = next.filter(|index| !path.contains(index)) {
        path.push(index);
        next = text(&entries[index], "parentId").and_then(|parent| by_id.get(parent)).copied();
    }
    path.reverse();
    if linked.is_empty() {
        // Entries of old versions have no ids: they are one list.
        path = (0..entries.len()).collect();
    }
    if let Some(place) = path.iter().rposition(|index| entries[*index]["type"] == "compaction") {
        let compaction = &entries[path[place]];
        let kept = text(compaction, "firstKeptEntryId");
        let by_index = compaction["firstKeptEntryIndex"].as_u64();
        let is_kept = |index: usize| match by_index {
            Some(kept) => index as u64 == kept,
            None => text(&entries[index], "id") == kept,
        };
        let first = path[..place].iter().position(|index| is_kept(*index)).unwrap_or(place);
        path.drain(..first);
    }
    const SENT: [&str; 4] = ["message", "compaction", "branch_summary", "custom_message"];
    path.retain(|index| SENT.contains(&text(&entries[*index], "type").unwrap_or_default()));
    path
}

/// Qwen Code goes from the last record to its parent, and on. A compression on the way takes the place of what is before
/// it, and the answer of a command takes back the command, unless another record of a command stands between.
fn sent_by_qwen_code(lines: &[Value]) -> Vec<usize> {
    let is_record = |line: &Value| line["uuid"].is_string() && line.get("parentUuid").is_some();
    let mut by_id: HashMap<&str, usize> = HashMap::new();
    let mut next = None;
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| is_record(line)) {
        next = Some(*by_id.entry(line["uuid"].as_str().expect("an id")).or_insert(index));
    }
    let mut path = Vec::new();
    while let Some(index) = next.filter(|index| !path.contains(index)) {
        path.push(index);
        next = text(&lines[index], "parentUuid").and_then(|parent| by_id.get(parent)).copied();
    }
    let (mut sent, mut is_fenced) = (Vec::new(), false);
    for index in path.into_iter().rev() {
        let line = &lines[index];
        match text(line, "subtype") {
            Some("chat_compression") => sent = vec![index],
            Some("code_mode_tool_result") => {}
            Some("slash_command") => {
                let typed =
                    sent.last().filter(|_| !is_fenced).map(|last: &usize| &lines[*last]["message"]["parts"][0]["text"]);
                if typed == Some(&line["systemPayload"]["rawCommand"]) {
                    sent.pop();
                }
                is_fenced = true;
            }
            _ if line["type"] != "system" => {
                sent.push(index);
                is_fenced = false;
            }
            _ => {}
        }
    }
    sent.sort_unstable();
    sent
}
