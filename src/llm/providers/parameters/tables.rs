//! What the models of each provider accept: from the providers' documentation and SDKs as of November 2026. The first
//! row whose pattern matches counts.

use crate::llm::providers::parameters::Least::{self, Effort, Members, Off, Unasked};
use crate::llm::providers::parameters::{ModelParameters, ParameterRow, Parameters};

/// Models that still reason when they get this.
const fn thinks(patterns: &'static [&'static str], least: Least) -> ParameterRow {
    ParameterRow { patterns, accepts: ModelParameters { least, thinks: true, older: false } }
}

/// Models that do not reason when they get this.
const fn quiet(patterns: &'static [&'static str], least: Least) -> ParameterRow {
    ParameterRow { patterns, accepts: ModelParameters { least, thinks: false, older: false } }
}

/// Models that only accept the older limit of their provider.
const fn older(row: ParameterRow) -> ParameterRow {
    ParameterRow { accepts: ModelParameters { older: true, ..row.accepts }, ..row }
}

const OPENAI_ROWS: &[ParameterRow] = &[
    thinks(&["gpt-6-astra*", "gpt-6.1-sol*", "gpt-5.3-codex-spark*"], Effort("low")),
    thinks(&["gpt-5-pro"], Unasked),
    thinks(&["gpt-5.*-pro"], Effort("medium")),
    quiet(&["gpt-5-chat*"], Unasked),
    thinks(&["gpt-5.*-chat*"], Unasked),
    quiet(&["gpt-6.1-terra*", "gpt-6-sol*", "gpt-6-luna*", "gpt-5.6*", "gpt-5.5*"], Effort("none")),
    quiet(&["gpt-5.4*", "gpt-5.3*", "gpt-5.2*", "gpt-5.1*"], Unasked),
    thinks(&["gpt-5", "gpt-5-mini", "gpt-5-nano"], Effort("minimal")),
    thinks(&["o1-mini*", "o1-preview*"], Unasked),
    thinks(&["o1", "o1-pro", "o3", "o3-*", "o4-*"], Effort("low")),
    older(quiet(&["gpt-4*", "gpt-3.5*", "chatgpt-*"], Unasked)),
    older(thinks(&["gpt-oss*"], Effort("low"))),
    // Models that are not documented yet.
    thinks(&["gpt-5*", "gpt-6*", "gpt-7*", "gpt-8*", "gpt-9*"], Effort("low")),
];

/// The parameters of most servers that speak OpenAI's Chat Completions.
const USUAL: Parameters = Parameters {
    limit: "max_tokens",
    older_limit: None,
    effort: "reasoning_effort",
    off: r#"{"reasoning_effort":"none"}"#,
    rows: &[],
    vendors: &[],
};

/// OpenAI's models in Chat Completions.
pub(crate) const OPENAI: Parameters =
    Parameters { limit: "max_completion_tokens", older_limit: Some("max_tokens"), rows: OPENAI_ROWS, ..USUAL };

/// OpenAI's models in the Responses API.
pub(crate) const OPENAI_RESPONSES: Parameters = Parameters {
    limit: "max_output_tokens",
    effort: "reasoning.effort",
    off: r#"{"reasoning":{"effort":"none"}}"#,
    rows: OPENAI_ROWS,
    ..USUAL
};

/// Claude.
pub(crate) const ANTHROPIC: Parameters = Parameters {
    effort: "output_config.effort",
    off: r#"{"thinking":{"type":"disabled"}}"#,
    rows: &[
        thinks(
            &["claude-sonnet-5-5"],
            // A request without tools has no time between tools, so the model reasons least.
            Members(r#"{"thinking":{"type":"between_tools"},"output_config":{"effort":"low"}}"#),
        ),
        quiet(&["claude-haiku-5-5", "claude-opus-5", "claude-sonnet-5"], Off),
        quiet(
            &["claude-opus-4*", "claude-sonnet-4*", "claude-haiku-4*", "claude-3*", "claude-2*", "claude-instant*"],
            Unasked,
        ),
        // Fable, Mythos, Opus 5.5, and later models.
        thinks(&["claude-*"], Effort("low")),
        // A custom name can stand for any of them.
        thinks(&["*"], Unasked),
    ],
    ..USUAL
};

/// Gemini.
pub(crate) const GOOGLE: Parameters = Parameters {
    limit: "generationConfig.maxOutputTokens",
    effort: "generationConfig.thinkingConfig.thinkingLevel",
    off: r#"{"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}"#,
    rows: &[
        quiet(&["*-tts*", "gemini-2.5-flash-image*", "gemini-2.0*", "gemini-1*"], Unasked),
        quiet(&["gemini-2.5-flash*"], Off),
        thinks(&["gemini-2.5-pro*"], Members(r#"{"generationConfig":{"thinkingConfig":{"thinkingBudget":128}}}"#)),
        thinks(&["gemini-3.7-flash*", "gemini-3.8-flash*"], Effort("low")),
        thinks(&["gemini-3-flash*", "gemini-3.*-flash*", "gemma-4*"], Effort("minimal")),
        // Every other model from 3 on accepts this level.
        thinks(&["gemini-3*", "gemini-4*", "gemini-5*", "gemini-pro-latest", "gemini-flash*-latest"], Effort("low")),
    ],
    ..USUAL
};

/// `DeepSeek`.
pub(crate) const DEEPSEEK: Parameters = Parameters {
    off: r#"{"thinking":{"type":"disabled"}}"#,
    rows: &[
        thinks(&["deepseek-reasoner*", "deepseek-r1*"], Unasked),
        quiet(&["deepseek-chat*"], Unasked),
        quiet(&["deepseek-*"], Off),
    ],
    ..USUAL
};

/// Qwen and the other models of DashScope.
pub(crate) const DASHSCOPE: Parameters = Parameters {
    off: r#"{"enable_thinking":false}"#,
    rows: &[
        thinks(&["*-thinking*", "qwq*", "qvq*", "deepseek-r1*"], Unasked),
        quiet(&["*-instruct*", "*-coder*"], Unasked),
        quiet(
            &["qwen3*", "qwen4*", "qwen-plus*", "qwen-turbo*", "qwen-flash*", "deepseek-v*", "glm-*", "kimi-k*"],
            Off,
        ),
    ],
    ..USUAL
};

/// Groq.
pub(crate) const GROQ: Parameters = Parameters {
    limit: "max_completion_tokens",
    rows: &[
        thinks(&["gpt-oss*"], Effort("low")),
        quiet(&["qwen3*"], Effort("none")),
        thinks(&["deepseek-r1*", "qwen-qwq*"], Unasked),
    ],
    ..USUAL
};

/// Mistral.
pub(crate) const MISTRAL: Parameters = Parameters {
    rows: &[
        thinks(&["mistral-large-4*"], Effort("low")),
        thinks(&["magistral*"], Unasked),
        quiet(
            &["mistral-small-2603", "mistral-small-latest", "mistral-medium-3.5*", "mistral-medium-latest"],
            Effort("none"),
        ),
    ],
    ..USUAL
};

/// `OpenRouter`. The tables of the models' vendors count first.
pub(crate) const OPENROUTER: Parameters = Parameters {
    effort: "reasoning.effort",
    off: r#"{"reasoning":{"enabled":false}}"#,
    rows: &[
        quiet(&["*-instruct*", "llama-*", "gemma-2*", "gemma-3*"], Unasked),
        thinks(&["deepseek-r1*", "*-thinking*", "minimax-m*", "gpt-oss*"], Effort("low")),
        // It accepts this for every model, and reports a model that cannot switch its reasoning off.
        quiet(&["*"], Off),
    ],
    vendors: &[
        ("openai", &OPENAI),
        ("anthropic", &ANTHROPIC),
        ("google", &GOOGLE),
        ("mistralai", &MISTRAL),
        ("x-ai", &XAI),
    ],
    ..USUAL
};

/// Together.
pub(crate) const TOGETHER: Parameters = Parameters {
    off: r#"{"reasoning":{"enabled":false}}"#,
    rows: &[
        thinks(&["gpt-oss*"], Effort("low")),
        thinks(&["deepseek-r1*", "*-thinking*", "minimax-m*"], Unasked),
        quiet(&["*-instruct*", "*-coder*"], Unasked),
        quiet(&["qwen3*", "deepseek-v3.*", "deepseek-v4*", "glm-*", "kimi-k*"], Off),
    ],
    ..USUAL
};

/// Grok.
pub(crate) const XAI: Parameters = Parameters {
    limit: "max_completion_tokens",
    rows: &[
        thinks(&["grok-3-mini*", "grok-4.5*", "grok-4.6*", "grok-4.7*", "grok-build-latest"], Effort("low")),
        thinks(&["grok-code*"], Unasked),
        quiet(&["grok-4.3*", "grok-3*", "grok-4", "grok-4-*", "grok-latest"], Effort("none")),
        quiet(&["grok-2*"], Unasked),
        thinks(&["grok-*"], Effort("low")),
    ],
    ..USUAL
};

/// Ollama.
pub(crate) const OLLAMA: Parameters = Parameters {
    limit: "options.num_predict",
    effort: "think",
    off: r#"{"think":false}"#,
    // Models without reasoning accept this as well.
    rows: &[thinks(&["gpt-oss*"], Effort("low")), quiet(&["*"], Off)],
    ..USUAL
};
