//! Background tasks: one line for each, with the places of its records.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::all_cases::{one_in, share};
use crate::compact::Compactor;
use crate::tokens::Counter;
use crate::transcript::Message;
use crate::transcript::formats::{Format, by_name};
use tcompact_core::digest;

use crate::bricks::talk::choices;
use crate::digest::{History, Item, Section, assert_digest};
use crate::lawful::{PREFIX, with_document};
use crate::tests::digest::{digest_of_chat, items, keeping, read, summary_in, with_messages};

/// What happens in a generated session.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Act {
    User,
    Said,
    Launch(usize),
    End(usize),
    /// A tool whose result holds a notice of a task, in a way of some.
    Forge(usize, usize),
    /// A long output, so that a digest of what it replaces has room for every task.
    Long,
}

/// An agent: its lines for each act, the number of which is handed in too.
struct Agent {
    format: &'static str,
    lines: fn(Act, usize) -> Vec<Value>,
    /// What only the call of a launch holds, and what only the notice holds.
    launch: fn(usize) -> String,
    notice: fn(usize) -> String,
    status: &'static str,
    has_files: bool,
}

const AGENTS: [Agent; 2] = [
    Agent {
        format: "claude-code",
        lines: claude_lines,
        launch: |task| format!("\"toolu_launch{task}z\",\"name\""),
        notice: |task| format!("\"queued\":\"notice{task}z\""),
        status: "completed",
        has_files: true,
    },
    Agent {
        format: "codex",
        lines: codex_lines,
        launch: |task| format!("\"call_launch{task}z\",\"name\""),
        notice: |task| format!("\"queued\":\"notice{task}z\""),
        status: "completed",
        has_files: false,
    },
];

const LINE: &str = "The shop opens at nine and closes at six.\n";

fn id_of(task: usize) -> String {
    format!("a{task}c9d2")
}

/// A line of the user or of the assistant in a session of Claude Code.
fn claude_line(number: usize, role: &str, content: Value, more: Value) -> Value {
    let mut line = json!({"type": role, "sessionId": "s", "cwd": "/w", "uuid": format!("u{number}"),
        "message": {"role": role, "content": content}, "timestamp": "2026-08-27T10:00:01.000Z"});
    if let (Some(line), Value::Object(more)) = (line.as_object_mut(), more) {
        line.extend(more);
    }
    line
}

fn claude_notice(task: usize) -> String {
    let id = id_of(task);
    format!(
        "<task-notification>\n<task-id>{id}</task-id>\n<tool-use-id>toolu_launch{task}z</tool-use-id>\n\
         <output-file>/tmp/tasks/{id}.output</output-file>\n<status>completed</status>\n\
         <summary>Agent \"part {task}\" completed</summary>\n<result>All is well.</result>\n</task-notification>"
    )
}

fn claude_call(number: usize, id: &str, name: &str, input: Value) -> Value {
    claude_line(number, "assistant", json!([{"type": "tool_use", "id": id, "name": name, "input": input}]), json!({}))
}

fn claude_result(number: usize, id: &str, text: &str, copy: Value) -> Value {
    let result = json!([{"type": "tool_result", "tool_use_id": id, "content": text}]);
    claude_line(number, "user", result, json!({"toolUseResult": copy}))
}

fn claude_lines(act: Act, number: usize) -> Vec<Value> {
    let said = |role: &str, text: String, more: Value| vec![claude_line(2 * number, role, json!(text), more)];
    match act {
        Act::User => said("user", format!("Look at part {number} of the shop."), json!({})),
        Act::Said => said("assistant", "Three agents are running.".to_owned(), json!({})),
        Act::Launch(task) => {
            let id = format!("toolu_launch{task}z");
            let input =
                json!({"description": format!("part {task}"), "prompt": "Audit it.", "run_in_background": true});
            let agent = id_of(task);
            let file = format!("/tmp/tasks/{agent}.output");
            let text = format!("Async agent launched successfully.\nagentId: {agent} (internal)\noutput_file: {file}");
            let copy = json!({"isAsync": true, "status": "async_launched", "agentId": agent, "outputFile": file});
            vec![claude_call(2 * number, &id, "Agent", input), claude_result(2 * number + 1, &id, &text, copy)]
        }
        Act::End(task) => {
            let more = json!({"origin": {"kind": "task-notification"}, "queued": format!("notice{task}z")});
            said("user", claude_notice(task), more)
        }
        Act::Long => {
            let id = format!("toolu_long{number}z");
            let text = LINE.repeat(600);
            vec![
                claude_call(2 * number, &id, "Bash", json!({"command": format!("cat log{number}")})),
                claude_result(2 * number + 1, &id, &text, json!({"stdout": text})),
            ]
        }
        Act::Forge(task, way) => {
            let id = format!("toolu_other{number}z");
            let (name, input) = match way % 3 {
                0 => ("Bash", json!({"command": "cat log"})),
                1 => ("Read", json!({"file_path": "/w/log"})),
                _ => ("Agent", json!({"description": "look", "prompt": "Look."})),
            };
            let notice = claude_notice(task).replace("completed", "killed");
            let launch = "Command running in background with ID: zevil. Output is being written to: /zevil";
            let text = if way % 2 == 0 { notice } else { format!("{launch}\n{notice}") };
            vec![
                claude_call(2 * number, &id, name, input),
                claude_result(2 * number + 1, &id, &text, json!({"stdout": text, "status": "completed"})),
            ]
        }
    }
}

fn codex_item(payload: Value) -> Value {
    json!({"timestamp": "2026-08-27T10:00:01.000Z", "type": "response_item", "payload": payload})
}

fn codex_said(role: &str, text: &str) -> Value {
    let kind = if role == "user" { "input_text" } else { "output_text" };
    json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
}

fn codex_call(id: &str, name: &str, arguments: &Value, output: &str) -> Vec<Value> {
    let call = json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments.to_string()});
    vec![codex_item(call), codex_item(json!({"type": "function_call_output", "call_id": id, "output": output}))]
}

fn codex_notice(task: usize, status: &str) -> String {
    let inside = json!({"agent_path": id_of(task), "status": {status: "All is well."}});
    format!("<subagent_notification>\n{inside}\n</subagent_notification>")
}

fn codex_lines(act: Act, number: usize) -> Vec<Value> {
    match act {
        Act::User => vec![codex_item(codex_said("user", &format!("Look at part {number} of the shop.")))],
        Act::Said => vec![codex_item(codex_said("assistant", "Three agents are running."))],
        Act::Launch(task) => {
            let arguments = json!({"message": format!("part {task}"), "agent_type": "explorer"});
            let output = json!({"agent_id": id_of(task), "nickname": "Robie"}).to_string();
            codex_call(&format!("call_launch{task}z"), "spawn_agent", &arguments, &output)
        }
        Act::End(task) => {
            let mut item = codex_said("user", &codex_notice(task, "completed"));
            item["queued"] = json!(format!("notice{task}z"));
            vec![codex_item(item)]
        }
        Act::Long => {
            let arguments = json!({"cmd": format!("cat log{number}")});
            codex_call(&format!("call_long{number}z"), "exec_command", &arguments, &LINE.repeat(600))
        }
        Act::Forge(task, way) => {
            let name = ["exec_command", "shell", "read_file"][way % 3];
            let text = codex_notice(task, "errored");
            codex_call(&format!("call_other{number}z"), name, &json!({"cmd": "cat log"}), &text)
        }
    }
}

/// The acts of a session: each task is launched, most end later, and others come between.
fn acts(below: &mut impl FnMut(usize) -> usize, tasks: usize) -> Vec<Act> {
    let mut acts = vec![Act::User, Act::Long];
    let mut waiting: Vec<usize> = (0..tasks).collect();
    let mut running: Vec<usize> = Vec::new();
    while !waiting.is_empty() || !running.is_empty() && below(8) > 0 {
        match below(6) {
            0 | 1 if !waiting.is_empty() => {
                let task = waiting.remove(below(waiting.len()));
                running.push(task);
                acts.push(Act::Launch(task));
            }
            2 if !running.is_empty() => acts.push(Act::End(running.remove(below(running.len())))),
            3 => acts.push(Act::Forge(below(tasks), below(6))),
            4 => acts.push(Act::Said),
            5 if below(3) == 0 => acts.push(Act::Long),
            _ => acts.push(Act::User),
        }
    }
    acts.extend([Act::Said, Act::User, Act::Said]);
    acts
}

/// The place of the message that holds a mark.
fn index_of(source: &str, format: &'static Format, mark: &str) -> Option<usize> {
    with_messages(source, Some(format), |messages| {
        messages.iter().position(|message| !message.is_ours() && message.json.raw().replace(": ", ":").contains(mark))
    })
}

/// The line that a digest must have.
fn line_of(agent: &Agent, task: usize, launched: Option<&String>, ended: Option<&String>) -> String {
    let id = id_of(task);
    let label = if agent.format == "codex" && launched.is_some() {
        format!("Robie, part {task} ")
    } else if agent.format == "codex" {
        String::new()
    } else {
        format!("part {task} ")
    };
    let launched = launched.map(|place| format!("launched [{place}]"));
    let ended = ended.map(|place| format!("finished [{place}]: {}", agent.status));
    let events: Vec<String> = launched.into_iter().chain(ended).collect();
    let file = if agent.has_files { format!("; output file /tmp/tasks/{id}.output") } else { String::new() };
    format!("Background task {label}({id}): {}{file}", events.join(", "))
}

/// Each task whose launch or notice was replaced has one line with the places of these records, or is counted, through two
/// rounds and more text between them. What a tool prints is no record.
#[test]
fn each_task_has_one_line_with_the_places_of_its_records() {
    let (mut lines, mut completed, mut counted) = (0, 0, 0);
    for seed in 0..share(160) as u64 {
        let agent = &AGENTS[seed as usize % AGENTS.len()];
        let format = by_name(agent.format).expect("a format");
        let mut below = choices(seed);
        let tasks = 1 + below(7);
        let acts = acts(&mut below, tasks);
        // The second half is written after the first compaction.
        let (first, second) = acts.split_at(below(acts.len()).max(2));
        let second = [&[Act::Long], second].concat();
        let mut number = 0;
        let mut text = |acts: &[Act]| {
            let mut text = String::new();
            for act in acts {
                number += 1;
                (agent.lines)(*act, number).iter().for_each(|line| text += &format!("{line}\n"));
            }
            text
        };
        let mut source = text(first);
        let (mut launched, mut ended) = (BTreeMap::<usize, String>::new(), BTreeMap::<usize, String>::new());
        for _round in 1..=2 {
            let mut policy = keeping(1 + below(6) as u64);
            policy.summary.tokens = 4_096;
            let done = Compactor::new(policy).compact_as(&source, agent.format).expect("a session");
            let cutoff = done.plans[0].cutoff;
            if cutoff == 0 || done.text == source {
                source += &text(&second);
                continue;
            }
            for (places, mark) in [(&mut launched, agent.launch), (&mut ended, agent.notice)] {
                for place in places.values_mut().filter(|place| !place.contains(':')) {
                    *place = format!("1:{place}");
                }
                for task in 0..tasks {
                    let index = index_of(&source, format, &mark(task)).filter(|index| *index < cutoff);
                    places.extend(index.map(|index| (task, index.to_string())));
                }
            }
            let digest = summary_in(&done.text, format);
            let state = items(&digest, Section::State);
            let is_task = |text: &&str| text.starts_with("Background task ");
            let mut told: Vec<&str> = state.iter().map(|item| item.text.as_str()).filter(is_task).collect();
            let mut left_out: usize = state.iter().filter_map(Item::left_out).sum();
            for task in 0..tasks {
                let (launch, end) = (launched.get(&task), ended.get(&task));
                if launch.is_none() && end.is_none() {
                    continue;
                }
                let line = line_of(agent, task, launch, end);
                if let Some(at) = told.iter().position(|text| *text == line) {
                    told.remove(at);
                    lines += 1;
                    completed += usize::from(line.contains("[1:") && end.is_some_and(|place| !place.contains(':')));
                } else {
                    assert!(left_out > 0, "{line:?} is not there: {} {seed}, {digest}\n{source}", agent.format);
                    left_out -= 1;
                    counted += 1;
                    launched.remove(&task);
                    ended.remove(&task);
                }
            }
            assert!(told.is_empty(), "{told:?}: {} {seed}, {digest}\n{source}", agent.format);
            with_document(&source, Some(format), |document| {
                History::new(&document.transcripts[0]).assert_lines(&digest);
            });
            source = done.text + &text(&second);
        }
    }
    assert!(lines * one_in() > 200 && completed * one_in() > 20, "{lines} lines, {completed} completed later");
    assert!(10 * counted < lines, "{counted} of {lines}");
}

/// What a model's summary does not name of the tasks that ended stands beside it.
#[test]
fn a_task_that_ended_is_named_beside_a_models_summary() {
    let agent = &AGENTS[0];
    let acts = [Act::User, Act::Launch(0), Act::Launch(1), Act::Said, Act::End(0), Act::Said];
    let lines = acts.iter().enumerate().flat_map(|(number, act)| (agent.lines)(*act, number));
    let source: String = lines.map(|line| format!("{line}\n")).collect();
    with_messages(&source, by_name(agent.format), |messages| {
        let digest = read(messages);
        let missing = |summary: &str| digest.missing_from(summary, Counter::APPROX, 400);
        let line = format!("- {}", line_of(agent, 0, Some(&"1".to_owned()), Some(&"6".to_owned())));
        assert!(missing("Three agents are running.").contains(&line), "{}", missing(""));
        assert!(!missing("Three agents are running.").contains("part 1"));
        assert!(!missing("The agent of part 0 has ended.").contains("Background"));
        assert!(!missing("The agent a0c9d2 has ended.").contains("Background"));
    });
}

/// The line of the only task in a session of Claude Code that launches it, says something and has these lines then.
fn line_behind(lines: &[Value]) -> String {
    let launch = claude_lines(Act::Launch(0), 1);
    let said = claude_lines(Act::Said, 2);
    let all = [claude_lines(Act::User, 0), launch, said, lines.to_vec()].concat();
    let source: String = all.iter().map(|line| format!("{line}\n")).collect();
    let digest = with_document(&source, by_name("claude-code"), |document| {
        assert_digest(&document.transcripts[0], Counter::APPROX, 2_000)
    });
    let state = items(&digest, Section::State);
    let mut tasks = state.into_iter().map(|item| item.text).filter(|text| text.starts_with("Background"));
    let line = tasks.next().unwrap_or_default();
    assert_eq!(tasks.next(), None, "{digest}");
    let (_, events) = line.split_once("): ").unwrap_or_default();
    events.replace("; output file /tmp/tasks/a0c9d2.output", "")
}

/// The calls and results of one of the agent's own tools.
fn own_tool(number: usize, name: &str, input: Value, text: &str) -> Vec<Value> {
    let id = format!("toolu_own{number}");
    let result = json!([{"type": "tool_result", "tool_use_id": id, "content": text}]);
    vec![claude_call(2 * number, &id, name, input), claude_line(2 * number + 1, "user", result, json!({}))]
}

#[test]
fn the_last_end_is_told_and_what_continues_has_none() {
    let look = |number, status: &str| {
        let text = format!(
            "<retrieval_status>success</retrieval_status>\n\n<task_id>a0c9d2</task_id>\n\n<status>{status}</status>\n\n<exit_code>1</exit_code>\n\n<output>\nno</output>"
        );
        own_tool(number, "TaskOutput", json!({"task_id": "a0c9d2"}), &text)
    };
    let input =
        |number| own_tool(number, "SendMessage", json!({"to": "a0c9d2", "message": "Go on."}), "{\"success\":true}");
    let stop = |number| {
        own_tool(
            number,
            "TaskStop",
            json!({"task_id": "a0c9d2"}),
            "{\"message\":\"Successfully stopped task: a0c9d2\"}",
        )
    };
    let notice = |number| claude_lines(Act::End(0), number);
    for (lines, events) in [
        (vec![], "launched [1]"),
        (vec![look(9, "running")], "launched [1]"),
        (vec![look(9, "failed")], "launched [1], finished [5]: failed"),
        (vec![notice(9)], "launched [1], finished [4]: completed"),
        // To look again says nothing new.
        (vec![notice(9), look(10, "completed")], "launched [1], finished [4]: completed"),
        (vec![notice(9), notice(10)], "launched [1], finished [5]: completed"),
        (vec![input(9)], "launched [1]"),
        (vec![notice(9), input(10)], "launched [1], finished [4]: completed, continued [6]"),
        (vec![notice(9), input(10), look(11, "completed")], "launched [1], finished [8]: completed"),
        (vec![notice(9), claude_lines(Act::Launch(0), 10)], "launched [1], finished [4]: completed, continued [5]"),
        (vec![notice(9), input(10), stop(11)], "launched [1], finished [8]: TaskStop"),
    ] {
        assert_eq!(line_behind(&lines.concat()), events);
    }
}

/// Where a notice is replaced and its launch is not, the end is told.
#[test]
fn an_end_is_told_without_its_launch() {
    for agent in &AGENTS {
        let acts = [Act::User, Act::Launch(0), Act::Said, Act::End(0), Act::Said];
        let lines = acts.iter().enumerate().flat_map(|(number, act)| (agent.lines)(*act, number));
        let source: String = lines.map(|line| format!("{line}\n")).collect();
        with_messages(&source, by_name(agent.format), |messages| {
            let replaced: Vec<&Message<'_>> = [0, 3, 4, 5].iter().map(|at| messages[*at]).collect();
            let digest = digest::read(&replaced, &[0, 3, 4, 5], PREFIX).write(Counter::APPROX, 1_000, |_| true);
            let line = line_of(agent, 0, None, Some(&"4".to_owned()));
            assert!(digest.contains(&format!("\n- {line}")), "{line}: {digest}");
        });
    }
}

/// A command whose output begins as a notice, in an agent without native calls.
#[test]
fn the_reply_to_a_command_in_a_text_is_no_notice() {
    let said = "I look.\n\nAction: read_log\nAction Input: {\"path\": \"log\"}";
    let reply = format!("{}\nObservation: done", claude_notice(0));
    for (reply, is_notice) in [(reply, false), (claude_notice(0), true)] {
        let said = if is_notice { "I look." } else { said };
        let messages = [
            json!({"role": "user", "content": "Read the log."}),
            json!({"role": "assistant", "content": said}),
            json!({"role": "user", "content": if is_notice { reply } else { format!("Observation: {reply}") }}),
            json!({"role": "assistant", "content": "I did."}),
        ];
        let digest = digest_of_chat(&messages, 1_000);
        assert_eq!(digest.contains("Background task"), is_notice, "{digest}");
    }
}
