//! How agents record their background tasks: sub-agents and commands that run beside the conversation. Each agent's forms
//! are a table in the folder of its format ([`crate::format::Format::background`]); they are read in
//! [`crate::background`].
//!
//! A transcript can have been converted, so every form is believed in every format.

/// The forms of an agent.
#[derive(Debug, Clone, Copy)]
pub struct BackgroundForms {
    /// What its program writes in the user's place when a task has ended.
    pub notices: &'static [TaskNotice],
    /// The kinds of inserted messages that can be such a notice.
    pub inserted: &'static [&'static str],
    /// The kind of a message of the program's own in which a task answers, if there is one.
    pub answer: Option<TaskAnswer>,
    /// Its own tools that launch tasks, ask for them and stop them.
    pub tools: &'static [TaskTool],
}

impl BackgroundForms {
    /// Those of an agent without background tasks.
    pub const NONE: BackgroundForms = BackgroundForms { notices: &[], inserted: &[], answer: None, tools: &[] };
}

/// A frame in which a program says that a task has ended.
#[derive(Debug, Clone, Copy)]
pub struct TaskNotice {
    /// It begins a text, or stands behind one of the openings below.
    pub opening: &'static str,
    pub closing: &'static str,
    pub behind: &'static [&'static str],
    /// How a sentence of the program's begins that can follow.
    pub endings: &'static [&'static str],
    /// The names of its elements, or of the members of the object inside. Of several names the first that is there counts.
    pub ids: &'static [&'static str],
    pub status: &'static str,
    pub file: &'static str,
    /// The elements with texts of others: first the sentence in which the name of the task stands in quotes. Each can hold
    /// whole notices, so nothing is read behind the beginning of one.
    pub texts: &'static [&'static str],
    /// How one of these texts begins where the agent's request to its model failed. Its status can be that of success.
    pub failures: &'static [&'static str],
}

/// A message in which a task answers. No tool can write one.
#[derive(Debug, Clone, Copy)]
pub struct TaskAnswer {
    /// The role of the message.
    pub role: &'static str,
    /// The member of its item with the id of the task.
    pub id: &'static str,
    /// What stands before the status, with which the text begins.
    pub before_status: &'static str,
    /// The statuses of an answer that is the last.
    pub statuses: &'static [&'static str],
}

/// Tools of an agent, by their names.
#[derive(Debug, Clone, Copy)]
pub struct TaskTool {
    pub names: &'static [&'static str],
    pub form: ToolForm,
}

/// What the result of a tool says of tasks.
#[derive(Debug, Clone, Copy)]
pub enum ToolForm {
    Launch(LaunchForm),
    /// The status of the task that one of the arguments names.
    Status(StatusForm),
    /// The statuses of several tasks that an argument lists: a member of the result has each under the id of its task.
    Statuses {
        ids: &'static [&'static str],
        member: &'static str,
    },
    Stop(StopForm),
    /// The task that one of the arguments names goes on.
    Input {
        ids: &'static [&'static str],
    },
}

/// Where an agent records what its tool did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordPlace {
    /// In one of these members of the message, beside the result. No tool can write it.
    Beside(&'static [&'static str]),
    /// The result is an object of the agent's own.
    Result,
}

/// A task is launched.
#[derive(Debug, Clone, Copy)]
pub struct LaunchForm {
    /// The arguments that say what the task is; the first that is there counts.
    pub labels: &'static [&'static str],
    pub record: RecordPlace,
    /// Members of the record: the id, the name that the agent gave the task, and the file of its result.
    pub ids: &'static [&'static str],
    pub name: &'static str,
    pub file: &'static str,
    /// The statuses of a launch, where the record has one in every case.
    pub statuses: &'static [&'static str],
    pub sentence: Option<LaunchSentence>,
}

/// The sentences in which the result of a launch says so, where there is no record.
#[derive(Debug, Clone, Copy)]
pub struct LaunchSentence {
    /// The argument that must be true, for a tool whose results begin as others like.
    pub asked: Option<&'static str>,
    /// How a result begins.
    pub openings: &'static [&'static str],
    /// What stands in front of the id, and of the file of the result.
    pub before_id: &'static str,
    pub before_file: &'static str,
}

/// The status of a task is asked for.
#[derive(Debug, Clone, Copy)]
pub struct StatusForm {
    pub ids: &'static [&'static str],
    /// The members of the message that can hold the record, beside the result.
    pub beside: &'static [&'static str],
    /// The member of the record with the task, if it is inside of one.
    pub inside: &'static str,
    pub status: &'static str,
    /// Where there is no record, the result has the status in an element before these.
    pub outputs: &'static [&'static str],
}

/// A task is stopped.
#[derive(Debug, Clone, Copy)]
pub struct StopForm {
    pub ids: &'static [&'static str],
    /// How a result begins that says so.
    pub openings: &'static [&'static str],
    /// The members of the result with the status that the task had before.
    pub statuses: &'static [&'static str],
}
