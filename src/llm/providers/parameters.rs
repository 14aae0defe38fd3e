//! The parameters that models take beside the prompt: which one limits the answer, and how a model is asked to think as
//! little as it can. Notes need little thought, and thoughts count towards the limit and the bill.
//!
//! The tables are the providers' documentation and SDKs as of November 2026. The first row whose pattern matches counts.
//! What they lack or have wrong is learned from the server's own answer, by [`crate::llm::adapt`].

/// The parameters of one provider's models.
#[derive(Debug)]
pub(crate) struct Parameters {
    /// The member that limits the answer, as a path with points.
    pub(crate) limit: &'static str,
    /// The one that is older, where there is one: servers that are compatible with the provider may know it alone.
    pub(crate) older_limit: Option<&'static str>,
    /// The member that takes an effort, as a path with points.
    pub(crate) effort: &'static str,
    /// What switches thinking off, as a JSON merge patch.
    pub(crate) off: &'static str,
    /// What a model is sent that cannot be switched off, in the place of that, as a JSON merge patch.
    pub(crate) must_think: &'static str,
    /// What models take, the first pattern first.
    rows: &'static [Row],
    /// Those whose tables count before, by the part of a name before the slash.
    vendors: &'static [(&'static str, &'static Parameters)],
}

/// What a model takes.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// Names, with `*` for any characters.
    patterns: &'static [&'static str],
    wants: Wants,
}

/// What a model is sent so that it thinks little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wants {
    /// How it is asked to think as little as it can.
    pub(crate) least: Least,
    /// Whether it thinks all the same, so that its answer needs room for that.
    pub(crate) thinks: bool,
    /// Whether it takes the older limit, wherever it is served.
    older: bool,
}

/// The least thinking that a model can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Least {
    /// It is not asked: it does not think by itself, or does not let itself be asked.
    Unasked,
    /// None.
    Off,
    /// An effort, in its provider's words.
    Effort(&'static str),
    /// Other members, as a JSON merge patch.
    Members(&'static str),
}

/// Models that think even when they are asked to think as little as this.
const fn thinks(patterns: &'static [&'static str], least: Least) -> Row {
    Row { patterns, wants: Wants { least, thinks: true, older: false } }
}

/// Models that do not think where they are asked like this.
const fn quiet(patterns: &'static [&'static str], least: Least) -> Row {
    Row { patterns, wants: Wants { least, thinks: false, older: false } }
}

/// The same models, which are older than the limit that their provider has today.
const fn older(row: Row) -> Row {
    Row { wants: Wants { older: true, ..row.wants }, ..row }
}

const OPENAI_ROWS: &[Row] = &[
    thinks(&["gpt-6-astra*", "gpt-6.1-sol*", "gpt-5.3-codex-spark*"], Least::Effort("low")),
    thinks(&["gpt-5-pro"], Least::Unasked),
    thinks(&["gpt-5.*-pro"], Least::Effort("medium")),
    quiet(&["gpt-5-chat*"], Least::Unasked),
    thinks(&["gpt-5.*-chat*"], Least::Unasked),
    quiet(&["gpt-6.1-terra*", "gpt-6-sol*", "gpt-6-luna*", "gpt-5.6*", "gpt-5.5*"], Least::Effort("none")),
    quiet(&["gpt-5.4*", "gpt-5.3*", "gpt-5.2*", "gpt-5.1*"], Least::Unasked),
    thinks(&["gpt-5", "gpt-5-mini", "gpt-5-nano"], Least::Effort("minimal")),
    thinks(&["o1-mini*", "o1-preview*"], Least::Unasked),
    thinks(&["o1", "o1-pro", "o3", "o3-*", "o4-*"], Least::Effort("low")),
    older(quiet(&["gpt-4*", "gpt-3.5*", "chatgpt-*"], Least::Unasked)),
    older(thinks(&["gpt-oss*"], Least::Effort("low"))),
    // Those of which nothing is known yet.
    thinks(&["gpt-5*", "gpt-6*", "gpt-7*", "gpt-8*", "gpt-9*"], Least::Effort("low")),
];

/// OpenAI's models, in Chat Completions.
pub(crate) const OPENAI: Parameters = Parameters {
    limit: "max_completion_tokens",
    older_limit: Some("max_tokens"),
    effort: "reasoning_effort",
    off: r#"{"reasoning_effort":"none"}"#,
    must_think: r#"{"reasoning_effort":"low"}"#,
    rows: OPENAI_ROWS,
    vendors: &[],
};

/// The same, in the Responses API.
pub(crate) const OPENAI_RESPONSES: Parameters = Parameters {
    limit: "max_output_tokens",
    older_limit: None,
    effort: "reasoning.effort",
    off: r#"{"reasoning":{"effort":"none"}}"#,
    must_think: r#"{"reasoning":{"effort":"low"}}"#,
    rows: OPENAI_ROWS,
    vendors: &[],
};

/// Claude.
pub(crate) const ANTHROPIC: Parameters = Parameters {
    limit: "max_tokens",
    older_limit: None,
    effort: "output_config.effort",
    off: r#"{"thinking":{"type":"disabled"}}"#,
    must_think: r#"{"output_config":{"effort":"low"}}"#,
    rows: &[
        thinks(
            &["claude-sonnet-5-5"],
            // Without tools there is nothing between them.
            Least::Members(r#"{"thinking":{"type":"between_tools"},"output_config":{"effort":"low"}}"#),
        ),
        quiet(&["claude-haiku-5-5", "claude-opus-5", "claude-sonnet-5"], Least::Off),
        quiet(
            &["claude-opus-4*", "claude-sonnet-4*", "claude-haiku-4*", "claude-3*", "claude-2*", "claude-instant*"],
            Least::Unasked,
        ),
        // Fable, Mythos, Opus 5.5, and what comes after them.
        thinks(&["claude-*"], Least::Effort("low")),
        // A name that somebody chose may be that of any of them.
        thinks(&["*"], Least::Unasked),
    ],
    vendors: &[],
};

/// Gemini.
pub(crate) const GOOGLE: Parameters = Parameters {
    limit: "generationConfig.maxOutputTokens",
    older_limit: None,
    effort: "generationConfig.thinkingConfig.thinkingLevel",
    off: r#"{"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}"#,
    must_think: r#"{"generationConfig":{"thinkingConfig":{"thinkingBudget":128}}}"#,
    rows: &[
        quiet(&["*-tts*", "gemini-2.5-flash-image*", "gemini-2.0*", "gemini-1*"], Least::Unasked),
        quiet(&["gemini-2.5-flash*"], Least::Off),
        thinks(
            &["gemini-2.5-pro*"],
            Least::Members(r#"{"generationConfig":{"thinkingConfig":{"thinkingBudget":128}}}"#),
        ),
        thinks(&["gemini-3.7-flash*", "gemini-3.8-flash*"], Least::Effort("low")),
        thinks(&["gemini-3-flash*", "gemini-3.*-flash*", "gemma-4*"], Least::Effort("minimal")),
        // The level that every other model from 3 on takes.
        thinks(
            &["gemini-3*", "gemini-4*", "gemini-5*", "gemini-pro-latest", "gemini-flash*-latest"],
            Least::Effort("low"),
        ),
    ],
    vendors: &[],
};

/// `DeepSeek`.
pub(crate) const DEEPSEEK: Parameters = Parameters {
    limit: "max_tokens",
    older_limit: None,
    effort: "reasoning_effort",
    off: r#"{"thinking":{"type":"disabled"}}"#,
    must_think: r#"{"reasoning_effort":"low"}"#,
    rows: &[
        thinks(&["deepseek-reasoner*", "deepseek-r1*"], Least::Unasked),
        quiet(&["deepseek-chat*"], Least::Unasked),
        quiet(&["deepseek-*"], Least::Off),
    ],
    vendors: &[],
};

/// Qwen and what else Alibaba serves.
pub(crate) const DASHSCOPE: Parameters = Parameters {
    limit: "max_tokens",
    older_limit: None,
    effort: "reasoning_effort",
    off: r#"{"enable_thinking":false}"#,
    must_think: "{}",
    rows: &[
        thinks(&["*-thinking*", "qwq*", "qvq*", "deepseek-r1*"], Least::Unasked),
        quiet(&["*-instruct*", "*-coder*"], Least::Unasked),
        quiet(
            &["qwen3*", "qwen4*", "qwen-plus*", "qwen-turbo*", "qwen-flash*", "deepseek-v*", "glm-*", "kimi-k*"],
            Least::Off,
        ),
    ],
    vendors: &[],
};

/// Groq.
pub(crate) const GROQ: Parameters = Parameters {
    limit: "max_completion_tokens",
    older_limit: None,
    effort: "reasoning_effort",
    off: r#"{"reasoning_effort":"none"}"#,
    must_think: r#"{"reasoning_effort":"low"}"#,
    rows: &[
        thinks(&["gpt-oss*"], Least::Effort("low")),
        quiet(&["qwen3*"], Least::Effort("none")),
        thinks(&["deepseek-r1*", "qwen-qwq*"], Least::Unasked),
    ],
    vendors: &[],
};

/// Mistral.
pub(crate) const MISTRAL: Parameters = Parameters {
    limit: "max_tokens",
    older_limit: None,
    effort: "reasoning_effort",
    off: r#"{"reasoning_effort":"none"}"#,
    must_think: r#"{"reasoning_effort":"low"}"#,
    rows: &[
        thinks(&["mistral-large-4*"], Least::Effort("low")),
        thinks(&["magistral*"], Least::Unasked),
        quiet(
            &["mistral-small-2603", "mistral-small-latest", "mistral-medium-3.5*", "mistral-medium-latest"],
            Least::Effort("none"),
        ),
    ],
    vendors: &[],
};

/// `OpenRouter`, by the tables of those whose models it hands requests on to.
pub(crate) const OPENROUTER: Parameters = Parameters {
    limit: "max_tokens",
    older_limit: None,
    effort: "reasoning.effort",
    off: r#"{"reasoning":{"enabled":false}}"#,
    must_think: r#"{"reasoning":{"effort":"low"}}"#,
    rows: &[
        quiet(&["*-instruct*", "llama-*", "gemma-2*", "gemma-3*"], Least::Unasked),
        thinks(&["deepseek-r1*", "*-thinking*", "minimax-m*", "gpt-oss*"], Least::Effort("low")),
        // It takes this for every model, and says so where a model must think.
        quiet(&["*"], Least::Off),
    ],
    vendors: &[
        ("openai", &OPENAI),
        ("anthropic", &ANTHROPIC),
        ("google", &GOOGLE),
        ("mistralai", &MISTRAL),
        ("x-ai", &XAI),
    ],
};

/// Together.
pub(crate) const TOGETHER: Parameters = Parameters {
    limit: "max_tokens",
    older_limit: None,
    effort: "reasoning_effort",
    off: r#"{"reasoning":{"enabled":false}}"#,
    must_think: "{}",
    rows: &[
        thinks(&["gpt-oss*"], Least::Effort("low")),
        thinks(&["deepseek-r1*", "*-thinking*", "minimax-m*"], Least::Unasked),
        quiet(&["*-instruct*", "*-coder*"], Least::Unasked),
        quiet(&["qwen3*", "deepseek-v3.*", "deepseek-v4*", "glm-*", "kimi-k*"], Least::Off),
    ],
    vendors: &[],
};

/// Grok.
pub(crate) const XAI: Parameters = Parameters {
    limit: "max_completion_tokens",
    older_limit: None,
    effort: "reasoning_effort",
    off: r#"{"reasoning_effort":"none"}"#,
    must_think: r#"{"reasoning_effort":"low"}"#,
    rows: &[
        thinks(&["grok-3-mini*", "grok-4.5*", "grok-4.6*", "grok-4.7*", "grok-build-latest"], Least::Effort("low")),
        thinks(&["grok-code*"], Least::Unasked),
        quiet(&["grok-4.3*", "grok-3*", "grok-4", "grok-4-*", "grok-latest"], Least::Effort("none")),
        quiet(&["grok-2*"], Least::Unasked),
        thinks(&["grok-*"], Least::Effort("low")),
    ],
    vendors: &[],
};

/// Ollama.
pub(crate) const OLLAMA: Parameters = Parameters {
    limit: "options.num_predict",
    older_limit: None,
    effort: "think",
    off: r#"{"think":false}"#,
    must_think: r#"{"think":"low"}"#,
    // What cannot think takes this as well.
    rows: &[thinks(&["gpt-oss*"], Least::Effort("low")), quiet(&["*"], Least::Off)],
    vendors: &[],
};

impl Parameters {
    /// The member that limits a model's answer, at an address of the provider's own or at another's.
    pub(crate) fn limit_of(&self, model: &str, is_own: bool) -> &'static str {
        let is_older = match self.of(model) {
            Some(wants) => wants.older && !is_own,
            // A name that somebody chose.
            None => !is_own,
        };
        self.older_limit.filter(|_| is_older).unwrap_or(self.limit)
    }

    /// What a model takes, by its provider's name for it; nothing where the tables do not know.
    pub(crate) fn of(&self, model: &str) -> Option<Wants> {
        let name = plain(model);
        let vendor = model.split_once('/').map_or("", |(vendor, _)| vendor);
        let vendor = self.vendors.iter().find(|(name, _)| *name == vendor);
        match vendor.and_then(|(_, parameters)| found(parameters.rows, &name)) {
            // Efforts are everybody's; other members are the vendor's own.
            Some(wants) if matches!(wants.least, Least::Members(_)) => {
                Some(Wants { least: Least::Effort("low"), ..wants })
            }
            None => found(self.rows, &name),
            wants => wants,
        }
    }
}

fn found(rows: &[Row], name: &str) -> Option<Wants> {
    let row = rows.iter().find(|row| row.patterns.iter().any(|pattern| fits(pattern, name)));
    row.map(|row| row.wants)
}

/// A model's own name: without who serves it, what it was tuned to, when it came out, and how it is packed.
fn plain(model: &str) -> String {
    let name = model.to_ascii_lowercase();
    // ft:BASE:organization:name:id
    let name = name.strip_prefix("ft:").map_or(name.as_str(), |tuned| tuned.split(':').next().unwrap_or_default());
    let name = name.rsplit('/').next().unwrap_or_default();
    // BASE:free, BASE:8b, BASE@20260101
    let name = name.split([':', '@']).next().unwrap_or_default();
    match name.find("claude-") {
        // us.anthropic.BASE-20260101-v1, and versions with a point.
        Some(at) => without_date(name[at..].trim_end_matches("-latest")).replace('.', "-"),
        None => without_date(name).to_owned(),
    }
}

/// A name without a date, `-YYYY-MM-DD` or `-YYYYMMDD`, and what follows it.
fn without_date(name: &str) -> &str {
    const SHAPES: [&str; 2] = ["-0000-00-00", "-00000000"];
    let is_date = |rest: &str| {
        let shaped = |shape: &str| {
            let like = |(byte, shape): (u8, u8)| if shape == b'0' { byte.is_ascii_digit() } else { byte == shape };
            let more = rest.as_bytes().get(shape.len()).is_some_and(u8::is_ascii_digit);
            rest.len() >= shape.len() && rest.bytes().zip(shape.bytes()).all(like) && !more
        };
        SHAPES.into_iter().any(shaped)
    };
    let at = name.match_indices('-').map(|(at, _)| at).find(|at| is_date(&name[*at..]));
    at.map_or(name, |at| &name[..at])
}

/// Whether a name is as a pattern says, in which `*` stands for any characters.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == name };
    let Some(rest) = name.strip_prefix(head) else { return false };
    (0..=rest.len()).filter_map(|at| rest.get(at..)).any(|rest| fits(tail, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The member and value that a model is sent, as one text, and whether it thinks all the same.
    fn wants(parameters: &Parameters, model: &str) -> (String, bool) {
        let Some(Wants { least, thinks, .. }) = parameters.of(model) else { return ("unknown".to_owned(), false) };
        let text = match least {
            Least::Unasked => "nothing",
            Least::Off => "off",
            Least::Effort(effort) => effort,
            Least::Members(members) => members,
        };
        (text.to_owned(), thinks)
    }

    #[test]
    fn the_first_pattern_counts_however_a_name_is_dressed() {
        let dress = |base: &str| {
            let forms =
                ["{}", "{}-2026-04-23", "{}-20260423", "openai/{}", "ft:{}:acme::9x", "OPENAI/{}:free", "{}@20260423"];
            forms.map(|form| form.replace("{}", base))
        };
        for (base, least, thinks) in [
            ("gpt-6-astra", "low", true),
            ("gpt-6.1-sol", "low", true),
            ("gpt-6.1-terra", "none", false),
            ("gpt-6-luna", "none", false),
            ("gpt-6.2-astra", "low", true),
            ("gpt-6-cyber", "low", true),
            ("gpt-5.6-sol", "none", false),
            ("gpt-5.5", "none", false),
            ("gpt-5.5-pro", "medium", true),
            ("gpt-5.2-pro", "medium", true),
            ("gpt-5.1-chat", "nothing", true),
            ("gpt-5.4-mini", "nothing", false),
            ("gpt-5.3-codex", "nothing", false),
            ("gpt-5.3-codex-spark", "low", true),
            ("gpt-5-chat", "nothing", false),
            ("gpt-5-pro", "nothing", true),
            ("gpt-5-mini", "minimal", true),
            ("gpt-5-codex", "low", true),
            ("o1", "low", true),
            ("o1-mini", "nothing", true),
            ("o3-pro", "low", true),
            ("gpt-4.1-mini", "nothing", false),
            ("my-deployment", "unknown", false),
            ("gpt-neox", "unknown", false),
        ] {
            for name in dress(base) {
                for table in [&OPENAI, &OPENAI_RESPONSES] {
                    assert_eq!(wants(table, &name), (least.to_owned(), thinks), "{name}");
                }
            }
        }
    }

    #[test]
    fn the_least_that_each_provider_takes() {
        let between = r#"{"thinking":{"type":"between_tools"},"output_config":{"effort":"low"}}"#;
        let budget = r#"{"generationConfig":{"thinkingConfig":{"thinkingBudget":128}}}"#;
        for (parameters, name, least, thinks) in [
            (&ANTHROPIC, "claude-fable-5-2", "low", true),
            (&ANTHROPIC, "claude-opus-5-5-20260922", "low", true),
            (&ANTHROPIC, "claude-sonnet-5-5", between, true),
            (&ANTHROPIC, "us.anthropic.claude-haiku-5-5-20260901-v1:0", "off", false),
            (&ANTHROPIC, "claude-opus-5-latest", "off", false),
            (&ANTHROPIC, "claude-opus-6", "low", true),
            (&ANTHROPIC, "claude-sonnet-4-5", "nothing", false),
            (&ANTHROPIC, "claude-3-5-haiku-20241022", "nothing", false),
            (&ANTHROPIC, "deployment", "nothing", true),
            (&GOOGLE, "gemini-4-argon", "low", true),
            (&GOOGLE, "models/gemini-3.8-flash", "low", true),
            (&GOOGLE, "gemini-3.1-flash-lite", "minimal", true),
            (&GOOGLE, "gemini-3-pro-preview", "low", true),
            (&GOOGLE, "gemini-flash-lite-latest", "low", true),
            (&GOOGLE, "gemini-2.5-pro", budget, true),
            (&GOOGLE, "gemini-2.5-flash-lite", "off", false),
            (&GOOGLE, "gemini-2.5-flash-image", "nothing", false),
            (&GOOGLE, "gemini-2.0-flash", "nothing", false),
            (&GOOGLE, "gemma-3-27b-it", "unknown", false),
            (&GOOGLE, "gemma-4-12b", "minimal", true),
            (&DEEPSEEK, "deepseek-v4-pro", "off", false),
            (&DEEPSEEK, "deepseek-flash", "off", false),
            (&DASHSCOPE, "qwen3.7-plus", "off", false),
            (&DASHSCOPE, "qwen3-235b-a22b-thinking-2507", "nothing", true),
            (&DASHSCOPE, "qwen-max", "unknown", false),
            (&GROQ, "openai/gpt-oss-20b", "low", true),
            (&GROQ, "qwen/qwen3-32b", "none", false),
            (&GROQ, "llama-3.3-70b-versatile", "unknown", false),
            (&MISTRAL, "mistral-large-4-2610", "low", true),
            (&MISTRAL, "mistral-medium-latest", "none", false),
            (&MISTRAL, "magistral-small-2509", "nothing", true),
            (&TOGETHER, "Qwen/Qwen3.5-397B-A17B", "off", false),
            (&TOGETHER, "meta-llama/Llama-3.3-70B-Instruct-Turbo", "nothing", false),
            (&XAI, "grok-4.7", "low", true),
            (&XAI, "grok-4-0709", "none", false),
            (&XAI, "grok-3-mini", "low", true),
            (&OLLAMA, "gpt-oss:20b", "low", true),
            (&OLLAMA, "qwen3:8b", "off", false),
            (&OPENROUTER, "anthropic/claude-opus-5.5", "low", true),
            (&OPENROUTER, "anthropic/claude-sonnet-5.5", "low", true),
            (&OPENROUTER, "openai/gpt-5.5:online", "none", false),
            (&OPENROUTER, "google/gemini-2.5-pro", "low", true),
            (&OPENROUTER, "x-ai/grok-4.6", "low", true),
            (&OPENROUTER, "deepseek/deepseek-v4-flash", "off", false),
            (&OPENROUTER, "meta-llama/llama-3.3-70b", "nothing", false),
        ] {
            assert_eq!(wants(parameters, name), (least.to_owned(), thinks), "{name}");
        }
    }

    #[test]
    fn patterns() {
        for (pattern, name) in [("a*", "a"), ("a*c", "abc"), ("*", ""), ("*b*", "aéb"), ("a.*-c", "a.b-c-c")] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("a", "ab"), ("a*c", "ab"), ("*b", "é"), ("a.*-c", "a.b-cd")] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }
}
