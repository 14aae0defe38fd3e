//! The known systems whose rules `--preset` follows, a row for each, and all that is as it is only because another
//! system does it so. No room above it knows a system's name: what it needs of one is handed in.
//!
//! A row has values for flags, which other flags override, and what no flag sets. `settings` looks it up once and puts
//! each part of it into the policy for the step that needs it:
//!
//! | file | who calls it | with | and gets |
//! |---|---|---|---|
//! | `mod` | `settings` | the name of a preset, the flags that are given | its flags, its row |
//! | `deerflow` | `settings` | a section of `config.yaml` | the same settings as flags |
//! | `pairs` | `plan`, by `compact` | the cut that was wanted | the cut that parts no pair, by the system's rule |
//! | `recipe` | `compact`, `llm` | nothing: it is a value | how to ask for a summary, and when to ask again |
//! | `buffer` | `compact` | messages | the history as the system writes it for a model |
//! | `trim` | `compact` | a history, a limit | the part of it that the system sends |
//! | `python` | `summary`, by `compact` | a template, a history | the prompt |
//! | `deepagents` | `compact` | messages that are sent or kept | edits, and files for what they take out |
//! | `langgraph` | `engine` | a finished compaction | the update of a state, or why it is refused |
//!
//! The embedded summarizer, the budget of a digest and the splice are tcompact's own in every preset.

pub mod buffer;
pub mod deepagents;
pub mod deerflow;
pub mod langgraph;
pub mod pairs;
pub mod python;
pub mod recipe;
pub mod trim;

use crate::plan::Rules;
use crate::plan::size::Size;
use crate::tokens::models;

use recipe::Recipe;

/// A known system.
#[derive(Debug)]
pub struct Preset {
    /// The name that `--preset` takes.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// Its flags: names and values as they are typed.
    pub flags: &'static [(&'static str, &'static str)],
    /// Its flags that depend on other settings.
    pub depending: Depending,
    /// Its rules for the cut that no flag sets.
    pub rules: Rules,
    /// Its rules for the prompt that no flag sets.
    pub recipe: Recipe,
    /// How it puts a summary into a transcript.
    pub habits: SystemHabits,
}

/// Flags whose defaults depend on others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depending {
    /// None.
    Nothing,
    /// The trigger, what is kept, and when arguments are cut depend on whether the context window is known.
    OnTheWindow,
    /// Half of the trigger is kept.
    OnTheTrigger,
}

/// The habits of a system besides cutting and summarizing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SystemHabits {
    /// It reads `LangChain`'s messages: `LangChain` must convert them without an error, and its estimate counts them
    /// for every model.
    pub langchain: bool,
    /// The characters per token of its estimate, for every model.
    pub characters: Option<f64>,
    /// Its estimate counts a list of content as langchain-core 1.2.7 does.
    pub repr_lists: bool,
    /// It moves the history to a file that the summary names, and media to files beside it. The result must fit the
    /// model's input.
    pub files: bool,
    /// Its summary messages have the mark by which `LangChain` recognizes them.
    pub marks: bool,
    /// Its summaries are in a fence.
    pub fences: bool,
    /// A summary that is written alone can stand in a fence.
    pub escapes: bool,
}

impl SystemHabits {
    /// tcompact's own habits.
    pub const OWN: SystemHabits = SystemHabits {
        langchain: false,
        characters: None,
        repr_lists: false,
        files: false,
        marks: true,
        fences: true,
        escapes: true,
    };
}

const PLAIN: SystemHabits = SystemHabits { fences: false, escapes: false, ..SystemHabits::OWN };
const OF_LANGCHAIN: SystemHabits = SystemHabits { langchain: true, ..PLAIN };

/// The flags of all of them: they pin nothing and take any summary, as it is.
const OF_ALL: &[(&str, &str)] = &[("pin", "none"), ("accept", "any"), ("ledger", "off"), ("thinking", "keep")];

/// The rules of `LangChain` that differ from tcompact's own.
const LANGCHAIN: Rules = Rules {
    without_trigger: false,
    reported_triggers: true,
    reported_scales: true,
    gains: false,
    compactions: false,
    ..Rules::OWN
};

/// All presets, in the order of the table.
pub static PRESETS: &[Preset] = &[
    Preset {
        name: "langchain",
        about: "LangChain 1.5.2, its SummarizationMiddleware; does nothing without --trigger",
        flags: &[("keep", "messages:20"), ("pairs", "langchain"), ("trim-tokens", "4000"), ("retries", "2")],
        depending: Depending::Nothing,
        rules: LANGCHAIN,
        recipe: Recipe::LANGCHAIN,
        habits: OF_LANGCHAIN,
    },
    Preset {
        name: "deepagents",
        about: "DeepAgents 0.7.32: sizes by the context window, old arguments cut, the history in a file",
        flags: &[("pairs", "langchain"), ("truncate-args", "2000"), ("retries", "2")],
        depending: Depending::OnTheWindow,
        rules: LANGCHAIN,
        recipe: Recipe::LANGCHAIN,
        habits: SystemHabits { files: true, ..OF_LANGCHAIN },
    },
    Preset {
        name: "deerflow",
        about: "DeerFlow at present (August 2026): carries an earlier summary on, keeps the user's request",
        flags: &[
            ("keep", "messages:20"),
            ("pairs", "langchain"),
            ("trim-tokens", "4000"),
            ("retries", "0"),
            ("on-error", "passthrough"),
        ],
        depending: Depending::Nothing,
        rules: Rules { carries: true, ..LANGCHAIN },
        recipe: Recipe::DEERFLOW,
        habits: OF_LANGCHAIN,
    },
    Preset {
        name: "deerflow-v1",
        about: "DeerFlow as first documented (January 2026), which was LangChain 1.2.3",
        flags: &[("keep", "messages:20"), ("pairs", "langchain"), ("trim-tokens", "4000"), ("retries", "0")],
        depending: Depending::Nothing,
        rules: Rules { reported_scales: false, ..LANGCHAIN },
        recipe: Recipe::DEERFLOW_V1,
        habits: SystemHabits { marks: false, repr_lists: true, ..OF_LANGCHAIN },
    },
    Preset {
        name: "tongyi",
        about: "the variant for Qwen: tokens:4000, a window of 5 for pairs, in Chinese",
        flags: &[
            ("trigger", "tokens:4000"),
            ("keep", "messages:20"),
            ("pairs", "window:5"),
            ("summary-prefix", "## 对话历史摘要"),
            ("retries", "0"),
        ],
        depending: Depending::Nothing,
        rules: Rules { gains: false, compactions: false, ..Rules::OWN },
        recipe: Recipe::TONGYI,
        habits: SystemHabits { characters: Some(4.0), marks: false, ..OF_LANGCHAIN },
    },
    Preset {
        name: "synaptic",
        about: "Synaptic 0.4.0: above tokens:4000 by bytes:4, keeps half of that, looks at no pairs",
        flags: &[
            ("trigger", "tokens:4000"),
            ("pairs", "window:0"),
            ("counter", "bytes:4"),
            ("summary-role", "system"),
            ("summary-prefix", "[Previous conversation summary]: "),
            ("retries", "0"),
        ],
        depending: Depending::OnTheTrigger,
        rules: Rules { exceed: true, last_stays: false, gains: false, compactions: false, ..Rules::OWN },
        recipe: Recipe::SYNAPTIC,
        habits: SystemHabits { marks: false, ..PLAIN },
    },
];

/// tcompact's own rules, which are not in the table.
pub static OWN: Preset = Preset {
    name: "",
    about: "",
    flags: &[],
    depending: Depending::Nothing,
    rules: Rules::OWN,
    recipe: Recipe::OWN,
    habits: SystemHabits::OWN,
};

pub fn by_name(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// The tokens that `DeepAgents` allows a conversation for a model with this context window.
pub fn input_budget(context_window: u64) -> u64 {
    const SHARE: f64 = 0.95;
    (context_window as f64 * SHARE) as u64
}

/// The tools whose arguments `DeepAgents` cuts: the files have what they wrote.
pub const WRITING_TOOLS: &[&str] = &["write_file", "edit_file"];

/// The flags of a preset. `given` returns the value of a flag in the higher layers.
pub fn values(name: &str, given: &dyn Fn(&str) -> Option<String>) -> Option<Vec<(&'static str, String)>> {
    let preset = by_name(name)?;
    let fixed = preset.flags.iter().chain(OF_ALL);
    let mut values: Vec<(&str, String)> = fixed.map(|(flag, value)| (*flag, (*value).to_owned())).collect();
    match preset.depending {
        Depending::Nothing => {}
        Depending::OnTheWindow => {
            let is_known = |flag: &str| given(flag).is_some_and(|name| models::find(&name).is_some());
            let known = given("context-window").is_some() || is_known("for") || is_known("model");
            let (trigger, keep) =
                if known { ("fraction:0.85", "fraction:0.1") } else { ("tokens:170000", "messages:6") };
            values.extend([("trigger", trigger.to_owned()), ("keep", keep.to_owned())]);
        }
        Depending::OnTheTrigger => {
            let own = values.iter().find(|(flag, _)| *flag == "trigger").map(|(_, size)| size.clone());
            let trigger = given("trigger").or(own).unwrap_or_default();
            let half = trigger.split(',').find_map(|size| match size.parse() {
                Ok(Size::Tokens(tokens)) => Some(Size::Tokens((tokens / 2).max(1))),
                Ok(Size::Fraction(fraction)) => Some(Size::Fraction(fraction / 2.0)),
                _ => None,
            });
            values.extend(half.map(|half| ("keep", half.to_string())));
        }
    }
    Some(values)
}
