//! Calls that agents without native ones write into their texts, and the replies in the user's place.

use crate::all_cases::one_in;
use crate::bricks::Bricks;
use crate::bricks::talk::Step;
use crate::digest::{Section, as_message, digest_of};
use crate::tests::digest::results::{EVIL, assert_not_the_users};
use crate::tests::digest::{digest_of_chat, items, with_messages};
use crate::tokens::Counter;
use crate::transcript::formats::by_name;
use serde_json::json;

/// Protocols of agents without native calls: a text with a call, and the reply to it, with `EVIL` in place of its words.
const PROTOCOLS: [(&str, &str); 40] = [
    ("Thought: I look.\nAction: read\nAction Input: {\"path\": \"a.md\"}", "Observation: EVIL"),
    ("Thought 1: I look.\nAction 1: Search[a]", "Observation 1: EVIL"),
    ("**Thought:** I look.\n**Action:** read\n**Action Input:** a.md", "Observation:\nEVIL"),
    ("Action:\n```\n{\"action\": \"read\", \"action_input\": \"a.md\"}\n```", "Observation: EVIL"),
    (
        "```json\n{\"action\": \"read\", \"action_input\": \"a.md\"}\n```",
        "TOOL RESPONSE: \n-----\nEVIL\n\nUSER'S INPUT\n----",
    ),
    (
        "I look.\n<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a.md\"}}\n</tool_call>",
        "<tool_response>\nEVIL\n</tool_response>",
    ),
    ("<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a.md</arg_value>\n</tool_call>", "<|observation|>\nEVIL"),
    ("<tool_call>{\"name\": \"read\", \"arguments\": {}}</tool_call>", "<tool_result>EVIL</tool_result>"),
    ("<tool_call>{\"name\": \"read\", \"arguments\": {}}</tool_call>", "Tool result for read:\nEVIL"),
    ("I read it.\n<read_file>\n<path>README.md</path>\n</read_file>", "[read_file for 'README.md'] Result:\nEVIL"),
    (
        "<execute_command>\n<command>ls</command>\n</execute_command>",
        "[execute_command for 'ls'] Result:\nCommand executed.\nOutput:\nEVIL",
    ),
    (
        "<use_mcp_tool>\n<server_name>w</server_name>\n</use_mcp_tool>",
        "[use_mcp_tool for 'w'] Result:\n\nThe user provided the following feedback:\n<feedback>\nEVIL\n</feedback>",
    ),
    (
        "<attempt_completion>\n<result>Done.</result>\n<command>open x</command>\n</attempt_completion>",
        "[attempt_completion] Result:\nEVIL",
    ),
    ("<function=bash>\n<parameter=command>cat a</parameter>\n</function>", "OBSERVATION:\nEVIL"),
    ("DISCUSSION\nI look.\n```\nopen a.py\n```", "OBSERVATION:\nEVIL"),
    (
        "<function=execute_bash>\n<parameter=command>cat a</parameter>\n</function>",
        "EXECUTION RESULT of [execute_bash]:\nEVIL",
    ),
    ("<execute_bash>cat a</execute_bash>", "OBSERVATION:\nEVIL"),
    ("<execute_ipython>print(1)</execute_ipython>", "Observation:\nEVIL"),
    ("<execute>\nprint(1)\n</execute>", "Execution Result:\nEVIL"),
    ("Thought: I look.\nCode:\n```py\nprint(1)\n```<end_code>", "Observation:\nExecution logs:\nEVIL"),
    ("Thoughts: I look.\n<code>\nprint(1)\n</code>", "Observation:\nExecution logs:\nEVIL"),
    ("Calling tools:\n[{'id': 'call_1', 'function': {'name': 'read'}}]", "Observation:\nEVIL"),
    ("```python\nprint(1)\n```", "exitcode: 0 (execution succeeded)\nCode output: EVIL"),
    ("```sh\nls\n```", "exitcode: 1 (execution failed)\nCode output: EVIL"),
    ("I look.\n```bash\ncat a\n```", "<returncode>0</returncode>\n<output>\nEVIL\n</output>"),
    ("I look.\n```mswea_bash_command\ncat a\n```", "<output>\nEVIL\n</output>"),
    ("<tool>search</tool><tool_input>a</tool_input>", "<observation>EVIL</observation>"),
    (
        "[TOOL_CALLS] [{\"name\": \"read\", \"arguments\": {}}]",
        "[TOOL_RESULTS] {\"content\": \"EVIL\"} [/TOOL_RESULTS]",
    ),
    (
        "Action: ```json\n[{\"tool_name\": \"read\", \"parameters\": {}}]\n```",
        "<results>\nDocument: 0\nEVIL\n</results>",
    ),
    (
        "<|START_ACTION|>[{\"tool_name\": \"read\", \"parameters\": {}}]<|END_ACTION|>",
        "<|START_TOOL_RESULT|>EVIL<|END_TOOL_RESULT|>",
    ),
    (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read",
        "<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>EVIL<｜tool▁output▁end｜>",
    ),
    (
        "<function_calls>\n<invoke name=\"read\">\n<parameter name=\"path\">a</parameter>\n</invoke>\n</function_calls>",
        "<function_results>\nEVIL\n</function_results>",
    ),
    ("```tool_code\nread('a')\n```", "```tool_outputs\nEVIL\n```"),
    ("<tool_code>read('a')</tool_code>", "tool_outputs\nEVIL"),
    ("✿FUNCTION✿: read\n✿ARGS✿: {}", "✿RESULT✿: EVIL"),
    ("<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0", "## Return of functions.read:0\nEVIL"),
    ("{\"name\": \"read\", \"parameters\": {\"path\": \"a\"}}", "<tool_response>EVIL</tool_response>"),
    ("<|python_tag|>read.call(path=\"a\")", "Tool output: EVIL"),
    ("{\"thoughts\": {}, \"command\": {\"name\": \"read\", \"args\": {}}}", "Command read returned: EVIL"),
    ("<tool_use>\n{\"name\": \"read\", \"input\": {}}\n</tool_use>", "<tool_output>EVIL</tool_output>"),
];

/// The formats in which agents without native calls talk.
const CHATS: [&str; 9] =
    ["openai-chat", "anthropic", "sharegpt", "ollama", "gemini", "langchain", "claude-code", "ai-sdk", "bedrock"];

fn protocol(call: &str, reply: &str) -> [Step; 4] {
    [
        Step::User("Fix the parser and keep the tests green zu0.".to_owned()),
        Step::Assistant(call.to_owned()),
        Step::User(reply.to_owned()),
        Step::Assistant("The parser is fixed, all 14 tests pass. za3".to_owned()),
    ]
}

#[test]
fn a_reply_to_a_call_in_a_text_is_the_calls_result() {
    let protocols = CHATS.iter().flat_map(|format| PROTOCOLS.map(|protocol| (*format, protocol)));
    for (format, (call, reply)) in protocols.step_by(one_in()) {
        let source = Bricks::of(format).conversation(&protocol(call, &reply.replace("EVIL", EVIL)), 0);
        assert_not_the_users(&source, format, call);
        let digest = with_messages(&source, by_name(format), |messages| digest_of(messages, Counter::APPROX, 1_500));
        let calls = items(&digest, Section::Calls);
        // A file that was read stands in the state.
        let is_told = calls.iter().any(|item| item.text.contains("zqevil")) || digest.contains("- Read: ");
        assert!(is_told, "{format} {call}: {digest}");
    }
}

/// A cut can part a call from its reply; the call is the last thing that the summary tells then.
#[test]
fn a_reply_behind_the_summary_with_its_call_is_no_word_of_the_user() {
    for (call, reply) in PROTOCOLS {
        let reply = reply.replace("EVIL", EVIL);
        let [user, call, reply, end] = protocol(call, &reply);
        let bricks = Bricks::of("openai-chat");
        let digest = |said: &[Step]| {
            let source = bricks.conversation(said, 0);
            with_messages(&source, by_name("openai-chat"), |messages| digest_of(messages, Counter::APPROX, 900))
        };
        let before = digest(&[user, call]);
        let source = bricks.conversation(&[Step::User(as_message(&before)), reply, end], 0);
        let mut digest = String::new();
        crate::lawful::with_document(&source, by_name("openai-chat"), |document| {
            let messages: Vec<_> = document.transcripts[0].messages.iter().collect();
            digest = digest_of(&messages, Counter::APPROX, 900);
        });
        let user = items(&digest, Section::User);
        assert!(user.iter().all(|item| !item.text.contains("zqevil")), "{before}\n{digest}");
    }
}

/// One sign is not enough: without a call before it a reply is what a person pasted, and a call alone is a text.
#[test]
fn what_looks_like_a_reply_without_a_call_is_the_users_word() {
    for (_, reply) in PROTOCOLS {
        let pasted = reply.replace("EVIL", "use the zebra");
        let said = |role: &str, text: &str| json!({"role": role, "content": text});
        let messages = [said("user", "Look."), said("assistant", "It is fine."), said("user", &pasted)];
        let digest = digest_of_chat(&messages, 900);
        assert!(items(&digest, Section::User).iter().any(|item| item.text.contains("zebra")), "{pasted}: {digest}");
    }
    for (call, _) in PROTOCOLS {
        let said = |role: &str, text: &str| json!({"role": role, "content": text});
        let messages = [said("user", "Look."), said("assistant", call), said("user", "No, use the zebra.")];
        let digest = digest_of_chat(&messages, 900);
        assert!(items(&digest, Section::User).iter().any(|item| item.text == "No, use the zebra."), "{call}: {digest}");
    }
}

#[test]
fn the_users_answer_to_a_question_in_a_text_is_the_users_word() {
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    for (call, reply) in [
        (
            "<ask_followup_question>\n<question>Which?</question>\n</ask_followup_question>",
            "[ask_followup_question for 'Which?'] Result:\n<answer>\nUse the zebra.\n</answer>",
        ),
        (
            "<attempt_completion>\n<result>Done.</result>\n</attempt_completion>",
            "[attempt_completion] Result:\n<feedback>\nUse the zebra.\n</feedback>",
        ),
        (
            "<plan_mode_respond>\n<response>A plan.</response>\n</plan_mode_respond>",
            "[plan_mode_respond] Result:\n<user_message>\nUse the zebra.\n</user_message>",
        ),
    ] {
        let digest = digest_of_chat(&[said("user", "Look."), said("assistant", call), said("user", reply)], 900);
        assert!(items(&digest, Section::User).iter().any(|item| item.text.contains("Use the zebra.")), "{digest}");
    }
    // Feedback that stands in a text of its own, and the same words in a result.
    let text = |text: &str| json!({"type": "text", "text": text});
    let feedback = "The user provided the following feedback:\n<feedback>\nUse the zebra.\n</feedback>";
    for (texts, is_users) in [
        (vec![text("[execute_command for 'ls'] Result:"), text("a.md"), text(feedback)], true),
        (vec![text("[execute_command for 'ls'] Result:"), text(feedback)], false),
    ] {
        let call = "<execute_command>\n<command>ls</command>\n</execute_command>";
        let messages = [said("user", "Look."), said("assistant", call), json!({"role": "user", "content": texts})];
        let digest = digest_of_chat(&messages, 900);
        let user = items(&digest, Section::User);
        assert_eq!(user.iter().any(|item| item.text == "Use the zebra."), is_users, "{digest}");
        assert_eq!(user.len(), 1 + usize::from(is_users), "{digest}");
    }
}
