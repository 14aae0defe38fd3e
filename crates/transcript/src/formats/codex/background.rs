//! How Codex records its sub-agents.

use crate::background_forms::{
    BackgroundForms, LaunchForm, RecordPlace, StopForm, TaskAnswer, TaskNotice, TaskTool, ToolForm,
};

/// The type of an item in which one agent writes to another.
pub(super) const FROM_AGENT: &str = "agent_message";

/// The arguments that name an agent.
const IDS: &[&str] = &["target", "id", "agent_id"];

pub(super) const FORMS: BackgroundForms = BackgroundForms {
    notices: &[TaskNotice {
        opening: "<subagent_notification>",
        closing: "</subagent_notification>",
        behind: &[],
        endings: &[],
        ids: &["agent_path", "agent_id"],
        status: "status",
        file: "",
        texts: &[],
        failures: &[],
    }],
    inserted: &[],
    answer: Some(TaskAnswer {
        role: FROM_AGENT,
        id: "author",
        before_status: "Message Type: ",
        statuses: &["FINAL_ANSWER"],
    }),
    tools: &[
        TaskTool {
            names: &["spawn_agent"],
            form: ToolForm::Launch(LaunchForm {
                labels: &["message", "task_name"],
                record: RecordPlace::Result,
                ids: &["agent_id", "task_name"],
                name: "nickname",
                file: "",
                statuses: &[],
                sentence: None,
            }),
        },
        TaskTool {
            names: &["wait", "wait_agent"],
            form: ToolForm::Statuses { ids: &["ids", "targets"], member: "status" },
        },
        TaskTool {
            names: &["close_agent"],
            form: ToolForm::Stop(StopForm {
                ids: IDS,
                openings: &["{\"status\"", "{\"previous_status\""],
                statuses: &["previous_status", "status"],
            }),
        },
        TaskTool { names: &["send_input", "resume_agent", "followup_task"], form: ToolForm::Input { ids: IDS } },
    ],
};
