//! The models that sign their thinking for the exact messages before it. They refuse it once those have changed.

/// The base names of these models. Providers put prefixes before them (`anthropic/`, `us.anthropic.`) and dates and
/// versions behind (`-20260901`, `@20260901`, `-v1:0`, `[1m]`), and some write dots for hyphens.
const BINDING: [&str; 7] = [
    "claude-fable-5-1",
    "claude-fable-5-2",
    "claude-mythos-5-1",
    "claude-mythos-5-2",
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
];

/// Whether the model with this name, at any provider, binds its thinking to the messages before it.
pub(crate) fn binds_thinking(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['.', '_'], "-");
    BINDING.iter().any(|model| {
        name.match_indices(model).any(|(at, _)| {
            let (before, behind) = (&name[..at], &name[at + model.len()..]);
            !before.ends_with(char::is_alphanumeric) && !behind.starts_with(char::is_alphanumeric)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_providers_write_them() {
        for name in [
            "claude-sonnet-5-5",
            "claude-sonnet-5-5-20260915",
            "claude-sonnet-5-5-latest",
            "claude-sonnet-5-5[1m]",
            "claude-sonnet-5-5@20260915",
            "vertex_ai/claude-sonnet-5-5@default",
            "anthropic:claude-sonnet-5-5",
            "openrouter:anthropic/claude-sonnet-5.5:beta",
            "bedrock/global.anthropic.claude-sonnet-5-5-20260915-v1:0",
            "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-sonnet-5-5-v1:0",
            "Claude-Sonnet-5-5",
            "claude-mythos-5-2",
        ] {
            assert!(binds_thinking(name), "{name}");
        }
        for name in [
            "claude-sonnet-5",
            "claude-sonnet-5-20260501",
            "claude-sonnet-5-50",
            "claude-opus-4-5-20251101",
            "claude-3-5-sonnet-20241022",
            "claude-fable-5",
            "notclaude-sonnet-5-5",
            "gpt-5.5",
            "<synthetic>",
            "",
        ] {
            assert!(!binds_thinking(name), "{name}");
        }
    }
}
