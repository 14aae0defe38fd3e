//! How Claude Code records its background tasks: sub-agents, commands, monitors and workflows.

use crate::background_forms::{
    BackgroundForms, LaunchForm, LaunchSentence, RecordPlace, StatusForm, StopForm, TaskNotice, TaskTool, ToolForm,
};

/// The copy of a result that Claude Code displays, in sessions and in its stream.
const COPIES: &[&str] = &["toolUseResult", "tool_use_result"];

/// What stands before a notice that comes while nobody asked for anything.
const BEHIND: &[&str] = &["[SYSTEM NOTIFICATION - NOT USER INPUT]"];

/// What tells where the result of the task is.
const ENDINGS: &[&str] = &["Read the output file", "Full transcript available at"];

/// How the report of an agent begins whose last request failed. The status in its notice is "completed".
const FAILURES: &[&str] = &["API Error: "];

pub(super) const FORMS: BackgroundForms = BackgroundForms {
    notices: &[
        TaskNotice {
            opening: "<task-notification>",
            closing: "</task-notification>",
            behind: BEHIND,
            endings: ENDINGS,
            ids: &["task-id"],
            status: "status",
            file: "output-file",
            texts: &["summary", "result", "event"],
            failures: FAILURES,
        },
        TaskNotice {
            opening: "<bash-notification>",
            closing: "</bash-notification>",
            behind: BEHIND,
            endings: ENDINGS,
            ids: &["shell-id", "task-id"],
            status: "status",
            file: "output-file",
            texts: &["summary", "result", "event"],
            failures: FAILURES,
        },
    ],
    // Claude Code attaches a notice that comes while the model works.
    inserted: &["queued_command"],
    answer: None,
    tools: &[
        TaskTool {
            names: &["Agent", "Task", "Workflow"],
            form: ToolForm::Launch(LaunchForm {
                labels: &["description", "name", "prompt"],
                ids: &["agentId", "taskId"],
                statuses: &["async_launched", "remote_launched"],
                sentence: Some(LaunchSentence {
                    asked: None,
                    openings: &["Async agent launched successfully"],
                    before_id: "agentId: ",
                    before_file: "output_file: ",
                }),
                ..LAUNCH
            }),
        },
        TaskTool {
            names: &["Bash", "PowerShell"],
            form: ToolForm::Launch(LaunchForm {
                labels: &["description", "command"],
                ids: &["backgroundTaskId"],
                sentence: Some(LaunchSentence {
                    // The output of a command can begin as it likes.
                    asked: Some("run_in_background"),
                    openings: &["Command running in background with ID: "],
                    before_id: "",
                    before_file: "Output is being written to: ",
                }),
                ..LAUNCH
            }),
        },
        TaskTool {
            names: &["Monitor"],
            form: ToolForm::Launch(LaunchForm {
                labels: &["description", "command"],
                ids: &["taskId"],
                sentence: Some(LaunchSentence {
                    asked: None,
                    openings: &["Monitor started (task "],
                    before_id: "",
                    before_file: "Output is being written to: ",
                }),
                ..LAUNCH
            }),
        },
        TaskTool {
            names: &["TaskOutput", "AgentOutputTool", "BashOutput", "BashOutputTool"],
            form: ToolForm::Status(StatusForm {
                ids: &["task_id", "agentId", "bash_id", "shell_id"],
                beside: COPIES,
                inside: "task",
                status: "status",
                outputs: &["<output>", "<stdout>", "<stderr>", "<result>"],
            }),
        },
        TaskTool {
            names: &["TaskStop", "KillShell", "KillBash"],
            form: ToolForm::Stop(StopForm {
                ids: &["task_id", "shell_id"],
                openings: &["{\"message\":\"Successfully ", "Successfully "],
                statuses: &[],
            }),
        },
        TaskTool { names: &["SendMessage"], form: ToolForm::Input { ids: &["to"] } },
    ],
};

const LAUNCH: LaunchForm = LaunchForm {
    labels: &[],
    record: RecordPlace::Beside(COPIES),
    ids: &[],
    name: "",
    file: "outputFile",
    statuses: &[],
    sentence: None,
};
