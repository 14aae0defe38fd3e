//! The providers of summaries over the network: a row for each, and two pure functions for each API.
//!
//! An API turns a request into a body, and the body of an answer into a [`Reply`]. [`crate::llm::http`] sends them.

mod anthropic;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;
pub(crate) mod parameters;

use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

use parameters::{Least, Parameters};

use crate::llm::body::{Change, merge, put};
use crate::llm::secret::Secret;
use crate::summary::exchange::{Reply, Request, Usage};
use crate::transcript::json::{Json, JsonKind};
use crate::transcript::source::Source;

/// A provider that `--model` can name.
#[derive(Debug)]
pub struct Provider {
    /// The part of `--model` before the colon.
    pub name: &'static str,
    /// The address of its API, with the version where it has one.
    pub base_url: &'static str,
    /// The variables for the key. The first that is set counts.
    pub(crate) key_variables: &'static [&'static str],
    /// Whether its own address needs no key.
    pub(crate) open: bool,
    /// Its API.
    pub(crate) api: &'static Api,
    /// The parameters of its models.
    pub(crate) parameters: &'static Parameters,
}

/// An API.
#[derive(Debug)]
pub(crate) struct Api {
    /// The path behind the base address, for a model.
    path: fn(&str) -> String,
    /// The header for the key.
    key_header: &'static str,
    /// The text before the key in that header.
    key_prefix: &'static str,
    /// Other headers.
    headers: &'static [(&'static str, &'static str)],
    /// The body of a request.
    request: fn(&Endpoint, &Request) -> Value,
    /// Parses an answer, or returns what is missing in it. Odd fields that are not needed are ignored.
    response: fn(Json<'_>) -> Result<Reply, String>,
}

impl Api {
    /// An API with the key in the usual header.
    const fn with_bearer(
        path: fn(&str) -> String,
        request: fn(&Endpoint, &Request) -> Value,
        response: fn(Json<'_>) -> Result<Reply, String>,
    ) -> Api {
        Api { path, key_header: "authorization", key_prefix: "Bearer ", headers: &[], request, response }
    }
}

/// Every provider. Addresses and variables are from the providers' documentation.
#[rustfmt::skip]
pub const PROVIDERS: &[Provider] = &[
    row("openai", "https://api.openai.com/v1", &["OPENAI_API_KEY"], &openai_chat::API, &parameters::OPENAI),
    row("openai-responses", "https://api.openai.com/v1", &["OPENAI_API_KEY"],
        &openai_responses::API, &parameters::OPENAI_RESPONSES),
    row("anthropic", "https://api.anthropic.com/v1", &["ANTHROPIC_API_KEY"], &anthropic::API, &parameters::ANTHROPIC),
    row("google", "https://generativelanguage.googleapis.com/v1beta", &["GOOGLE_API_KEY", "GEMINI_API_KEY"],
        &gemini::API, &parameters::GOOGLE),
    Provider { open: true, ..row("ollama", "http://localhost:11434", &["OLLAMA_API_KEY"],
        &ollama::API, &parameters::OLLAMA) },
    row("deepseek", "https://api.deepseek.com/v1", &["DEEPSEEK_API_KEY"], &openai_chat::API, &parameters::DEEPSEEK),
    row("dashscope", "https://dashscope.aliyuncs.com/compatible-mode/v1", &["DASHSCOPE_API_KEY"],
        &openai_chat::API, &parameters::DASHSCOPE),
    row("groq", "https://api.groq.com/openai/v1", &["GROQ_API_KEY"], &openai_chat::API, &parameters::GROQ),
    row("mistral", "https://api.mistral.ai/v1", &["MISTRAL_API_KEY"], &openai_chat::API, &parameters::MISTRAL),
    row("openrouter", "https://openrouter.ai/api/v1", &["OPENROUTER_API_KEY"],
        &openai_chat::API, &parameters::OPENROUTER),
    row("together", "https://api.together.xyz/v1", &["TOGETHER_API_KEY"], &openai_chat::API, &parameters::TOGETHER),
    row("xai", "https://api.x.ai/v1", &["XAI_API_KEY"], &openai_chat::API, &parameters::XAI),
];

const fn row(
    name: &'static str,
    base_url: &'static str,
    key_variables: &'static [&'static str],
    api: &'static Api,
    parameters: &'static Parameters,
) -> Provider {
    Provider { name, base_url, key_variables, open: false, api, parameters }
}

/// The variable of the environment from which the provider's own library takes another address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AddressVariable {
    provider: &'static str,
    pub(crate) name: &'static str,
    /// What that library puts behind the address, and the tables here have in it.
    pub(crate) version: &'static str,
}

/// From the libraries' documentation.
const ADDRESS_VARIABLES: [AddressVariable; 3] = [
    AddressVariable { provider: "openai", name: "OPENAI_BASE_URL", version: "" },
    AddressVariable { provider: "openai-responses", name: "OPENAI_BASE_URL", version: "" },
    AddressVariable { provider: "anthropic", name: "ANTHROPIC_BASE_URL", version: "/v1" },
];

impl Provider {
    pub(crate) fn address_variable(&self) -> Option<&'static AddressVariable> {
        ADDRESS_VARIABLES.iter().find(|variable| variable.provider == self.name)
    }
}

pub(crate) fn by_name(name: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.name == name)
}

/// A model at an address.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The provider.
    pub provider: &'static Provider,
    /// The provider's name for the model.
    pub model: String,
    /// The address of its API, with the version, without a slash at the end.
    pub base_url: String,
    /// The key, where one is needed.
    pub key: Option<Secret>,
    /// The user's changes of each request: a JSON merge patch.
    pub request_json: Map<String, Value>,
}

impl Endpoint {
    pub(crate) fn url(&self) -> String {
        format!("{}{}", self.base_url, (self.provider.api.path)(&self.model))
    }

    /// The headers of a request, with the key.
    pub(crate) fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in self.provider.api.headers {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if let Some(value) = self.key.as_ref().and_then(|key| key.header(self.provider.api.key_prefix)) {
            headers.insert(HeaderName::from_static(self.provider.api.key_header), value);
        }
        headers
    }

    /// The body of a request for a summary.
    pub(crate) fn request(&self, request: &Request) -> Value {
        self.request_with(request, &[])
    }

    /// The body of a request with changes that the server needs. The user's own changes come last.
    pub(crate) fn request_with(&self, request: &Request, changes: &[Change]) -> Value {
        let mut body = (self.provider.api.request)(self, request);
        let parameters = self.provider.parameters;
        let limit = parameters.limit_of(&self.model, self.is_own_address());
        put(&mut body, limit, json!(request.limit.saturating_add(request.thoughts)));
        match parameters.of(&self.model).map_or(Least::Unasked, |accepts| accepts.least) {
            Least::Unasked => {}
            Least::Off => merge(&mut body, parsed_members(parameters.off)),
            Least::Effort(effort) => put(&mut body, parameters.effort, json!(effort)),
            Least::Members(members) => merge(&mut body, parsed_members(members)),
        }
        for change in changes {
            change.apply(&mut body, request);
        }
        merge(&mut body, Value::Object(self.request_json.clone()));
        body
    }

    /// Whether the provider itself serves its models at the address.
    fn is_own_address(&self) -> bool {
        /// Microsoft serves OpenAI's models here, under custom names.
        const AZURE: [&str; 3] = [".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"];
        let here = host_of(&self.base_url);
        here == host_of(self.provider.base_url) || here.is_some_and(|host| AZURE.iter().any(|end| host.ends_with(end)))
    }

    /// Parses an answer. Its text can be cut in the middle of a surrogate pair, as in a transcript.
    ///
    /// # Errors
    /// What is missing in the answer.
    pub fn response(&self, text: &str) -> Result<Reply, String> {
        let body = Source::of(text).ok();
        match body.as_ref().and_then(Source::first).filter(|answer| answer.kind() == JsonKind::Object) {
            Some(answer) => (self.provider.api.response)(answer),
            None if crate::llm::error_response::is_page(text) => {
                Err(format!("the server sent a web page; {}", self.asks_for_address()))
            }
            None => Err("the answer is not a JSON object".to_owned()),
        }
    }

    /// Asks whether the address is that of the API, which ends as that of the provider does.
    fn asks_for_address(&self) -> String {
        let after_scheme = self.provider.base_url.split_once("://").map_or("", |(_, rest)| rest);
        match after_scheme.split_once('/') {
            Some((_, path)) => format!("does --base-url end in /{path}?"),
            None => "is --base-url the address of the API?".to_owned(),
        }
    }
}

/// The host of an address.
fn host_of(url: &str) -> Option<String> {
    Some(Url::parse(url).ok()?.host_str()?.to_owned())
}

/// Parses a merge patch of the tables. A test parses all of them.
fn parsed_members(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// The elements of a field that is a list.
fn items<'j>(json: Json<'j>, key: &str) -> impl Iterator<Item = Json<'j>> {
    json.get(key).into_iter().flat_map(|list| list.items())
}

/// A request as messages with roles.
fn messages(request: &Request) -> Vec<Value> {
    let mut messages = Vec::new();
    if let Some(text) = request.system {
        messages.push(json!({"role": "system", "content": text}));
    }
    messages.push(json!({"role": "user", "content": request.prompt}));
    messages
}

/// A field that is a string, decoded.
pub(super) fn string(json: Json<'_>, key: &str) -> Option<String> {
    Some(json.get_text(key)?.decode().into_owned())
}

/// A field that is a number of tokens. Some servers write it with a decimal point.
fn tokens(json: Json<'_>, key: &str) -> Option<u64> {
    const MOST: f64 = 1e15;
    let tokens = json.get(key)?.raw().parse::<f64>().ok()?;
    (0.0..=MOST).contains(&tokens).then_some(tokens as u64)
}

/// Parses a usage. The thoughts in the output are counted under the name `thoughts`.
fn usage_with(usage: Json<'_>, thoughts: &str) -> Option<Usage> {
    let reasoning = usage.get("output_tokens_details").and_then(|details| tokens(details, thoughts)).unwrap_or(0);
    let (input, output) = (tokens(usage, "input_tokens")?, tokens(usage, "output_tokens")?);
    Some(Usage { input, output, reasoning, cost: None })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A model of a provider at its own address.
    pub(in crate::llm) fn endpoint(provider: &str, model: &str) -> Endpoint {
        let provider = by_name(provider).expect("a provider");
        let key = Secret::new("sk-test");
        let (model, base_url) = (model.to_owned(), provider.base_url.to_owned());
        Endpoint { provider, model, base_url, key, request_json: Map::new() }
    }

    /// A request with only a prompt.
    pub(in crate::llm) fn request(prompt: &str) -> Request {
        Request { system: None, prompt: prompt.to_owned(), limit: 9, thoughts: 0 }
    }

    #[test]
    fn where_requests_go_and_what_carries_the_key() {
        let rows: Vec<(String, String)> = PROVIDERS
            .iter()
            .map(|provider| {
                let endpoint = endpoint(provider.name, "m");
                let headers = endpoint.headers();
                let carries = headers.iter().find(|(_, value)| value.is_sensitive()).expect("a key");
                (endpoint.url(), format!("{}: {}", carries.0, carries.1.to_str().expect("text")))
            })
            .collect();
        let bearer = "authorization: Bearer sk-test";
        let expected = [
            ("https://api.openai.com/v1/chat/completions", bearer),
            ("https://api.openai.com/v1/responses", bearer),
            ("https://api.anthropic.com/v1/messages", "x-api-key: sk-test"),
            ("https://generativelanguage.googleapis.com/v1beta/models/m:generateContent", "x-goog-api-key: sk-test"),
            ("http://localhost:11434/api/chat", bearer),
            ("https://api.deepseek.com/v1/chat/completions", bearer),
            ("https://dashscope.aliyuncs.com/compatible-mode/v1/chat/completions", bearer),
            ("https://api.groq.com/openai/v1/chat/completions", bearer),
            ("https://api.mistral.ai/v1/chat/completions", bearer),
            ("https://openrouter.ai/api/v1/chat/completions", bearer),
            ("https://api.together.xyz/v1/chat/completions", bearer),
            ("https://api.x.ai/v1/chat/completions", bearer),
        ];
        assert_eq!(rows, expected.map(|(url, header)| (url.to_owned(), header.to_owned())));
    }

    #[test]
    fn no_answer_makes_a_reader_panic() {
        for provider in PROVIDERS {
            let endpoint = endpoint(provider.name, "m");
            for body in
                ["", "[]", "{}", "null", "<html>", r#"{"error":"x"}"#, r#"{"choices":3,"output":"","content":{}}"#]
            {
                let answer = endpoint.response(body);
                assert!(answer.is_err(), "{} of {body}: {answer:?}", provider.name);
            }
        }
    }

    #[test]
    fn counts_that_are_none() {
        let usage = |tokens: &str| {
            let body = format!(
                r#"{{"content":[{{"type":"text","text":"s"}}],"usage":{{"input_tokens":{tokens},"output_tokens":1,"cache_read_input_tokens":{tokens}}}}}"#
            );
            endpoint("anthropic", "m").response(&body).expect("an answer").usage.map(|usage| usage.input)
        };
        assert_eq!(usage("5"), Some(10));
        for tokens in ["1e30", "-1", "null", "\"5\"", "[]"] {
            assert_eq!(usage(tokens), None, "{tokens}");
        }
    }
}
