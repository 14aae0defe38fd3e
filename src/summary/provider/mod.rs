//! The providers of summaries over the network: a row each, and a pair of pure functions for each way they speak.
//!
//! A provider's file turns a prompt into a request body and an answer's body into a [`Reply`]. Sending is
//! [`super::http`]'s.

mod openai_chat;

use serde_json::Value;

use super::{Reply, Request, http::Secret};

/// A provider that `--model` can name.
#[derive(Debug)]
pub struct Provider {
    /// The part of `--model` before the colon.
    pub name: &'static str,
    /// Where its API is, up to and with the version.
    pub base_url: &'static str,
    /// The variable that holds the key.
    pub key_variable: &'static str,
}

/// Every provider: all speak Chat Completions. Addresses and variables are those of the providers' own documentation.
pub const PROVIDERS: &[Provider] = &[
    Provider { name: "openai", base_url: "https://api.openai.com/v1", key_variable: "OPENAI_API_KEY" },
    Provider { name: "deepseek", base_url: "https://api.deepseek.com/v1", key_variable: "DEEPSEEK_API_KEY" },
    Provider {
        name: "dashscope",
        base_url: "https://dashscope.aliyuncs.com/compatible-mode/v1",
        key_variable: "DASHSCOPE_API_KEY",
    },
    Provider { name: "groq", base_url: "https://api.groq.com/openai/v1", key_variable: "GROQ_API_KEY" },
    Provider { name: "mistral", base_url: "https://api.mistral.ai/v1", key_variable: "MISTRAL_API_KEY" },
    Provider { name: "openrouter", base_url: "https://openrouter.ai/api/v1", key_variable: "OPENROUTER_API_KEY" },
    Provider { name: "together", base_url: "https://api.together.xyz/v1", key_variable: "TOGETHER_API_KEY" },
    Provider { name: "xai", base_url: "https://api.x.ai/v1", key_variable: "XAI_API_KEY" },
];

/// The provider called `name`.
pub fn by_name(name: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.name == name)
}

/// A model at an address.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The provider's name for the model.
    pub model: String,
    /// Where its API is, up to and with the version, without a slash at the end.
    pub base_url: String,
    /// The key, where one is needed.
    pub key: Option<Secret>,
}

impl Endpoint {
    /// The address a request goes to.
    pub fn url(&self) -> String {
        format!("{}{}", self.base_url, openai_chat::PATH)
    }

    /// The body that asks for a summary of at most so many tokens.
    pub fn request(&self, request: &Request, summary_tokens: u64) -> Value {
        openai_chat::request(&self.model, request, summary_tokens, self.length_key())
    }

    /// What an answer says.
    ///
    /// # Errors
    /// What is missing in it.
    pub fn response(&self, body: &str) -> Result<Reply, String> {
        openai_chat::response(body)
    }

    /// OpenAI's newer models refuse the name that everybody else took over from its older ones.
    fn length_key(&self) -> &'static str {
        if self.base_url.starts_with("https://api.openai.com/") { "max_completion_tokens" } else { "max_tokens" }
    }
}
