//! The model that summarizes in `DeerFlow`, as `--model` and the flags beside it: one of the list `models`, or a known
//! one. A history goes to the company that `DeerFlow` sends it to, or nowhere.

use serde_json::Value as Json;

use super::{ConfigSection, FlagOfConfig, MODELS, SECTION, given};
use crate::tokens::models;

/// The embedded summarizer, as `--model` names it.
const EMBEDDED: &str = "extractive";
const ADVICE: &str = "give --model PROVIDER:MODEL";

/// The provider of a model without one, by the start of its name.
const FAMILIES: [(&str, &str); 13] = [
    ("gpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("chatgpt", "openai"),
    ("claude", "anthropic"),
    ("gemini", "google"),
    ("deepseek", "deepseek"),
    ("grok", "xai"),
    ("mistral", "mistral"),
    ("mixtral", "mistral"),
    ("qwen", "dashscope"),
    ("qwq", "dashscope"),
];

/// The provider of a class, by its package of `LangChain` or its module of `DeerFlow`. A package also has classes for
/// other companies, such as `AzureChatOpenAI`.
const CLASSES: [(&str, &str, &str); 14] = [
    ("langchain_openai", "ChatOpenAI", "openai"),
    ("langchain_deepseek", "ChatDeepSeek", "deepseek"),
    ("langchain_anthropic", "ChatAnthropic", "anthropic"),
    ("langchain_google_genai", "ChatGoogleGenerativeAI", "google"),
    ("langchain_groq", "ChatGroq", "groq"),
    ("langchain_mistralai", "ChatMistralAI", "mistral"),
    ("langchain_ollama", "ChatOllama", "ollama"),
    ("langchain_xai", "ChatXAI", "xai"),
    ("langchain_openrouter", "ChatOpenRouter", "openrouter"),
    ("langchain_together", "ChatTogether", "together"),
    ("langchain_community", "ChatTongyi", "dashscope"),
    ("claude_provider", "ClaudeChatModel", "anthropic"),
    ("patched_deepseek", "PatchedChatDeepSeek", "deepseek"),
    ("patched_openai", "PatchedChatOpenAI", "openai"),
];
/// The classes for servers with the API of `OpenAI`. Only the address says whose they are.
const COMPATIBLE: [(&str, &str); 4] = [
    ("patched_mimo", "PatchedChatMiMo"),
    ("patched_minimax", "PatchedChatMiniMax"),
    ("patched_stepfun", "PatchedChatStepFun"),
    ("vllm_provider", "VllmChatModel"),
];
/// Members that send requests to Azure or Vertex AI, beside those that start with `azure_`.
const OF_CLOUDS: [&str; 6] =
    ["api_version", "openai_api_version", "deployment_name", "vertexai", "project", "credentials"];
/// The members of a model with its address, beside those such as `openai_api_base`.
const ADDRESSES: [&str; 4] = ["base_url", "api_base", "endpoint", "anthropic_api_url"];

impl ConfigSection<'_> {
    /// The model with this name as flags.
    pub(super) fn model(&self, name: &str, of_window: bool) -> Vec<FlagOfConfig> {
        let entry = self.models().iter().find(|model| text(model, "name") == Some(name));
        let full = match entry {
            Some(entry) => self.full_name_of(entry),
            None => self.full_name(name).ok_or_else(|| format!("no such model is known; {ADVICE}")),
        };
        match full {
            Ok(full) => self.summarizer(name, &full, entry, of_window),
            Err(why) => unusable(name, format!("{SECTION}.model_name = {name:?}: {why}")),
        }
    }

    /// `DeerFlow`'s default model as flags: the first of its list.
    pub(super) fn default_model(&self, of_window: bool) -> Vec<FlagOfConfig> {
        let file = self.file;
        let Some(entry) = self.models().first() else {
            let note = format!(
                "{file}: there is no model_name and no list of {MODELS}, so the embedded summarizer writes; --model PROVIDER:MODEL names a model"
            );
            return vec![FlagOfConfig { note: Some(note), ..given("model", vec![EMBEDDED.to_owned()]) }];
        };
        let name = name_of(entry);
        let full = match self.full_name_of(entry) {
            Ok(full) => full,
            Err(why) => {
                let why = format!("{SECTION}.model_name is null, so the first of {MODELS} summarizes, but {why}");
                return unusable(name, why);
            }
        };
        let mut flags = self.summarizer(name, &full, Some(entry), of_window);
        let note = format!("{file}: there is no model_name, so the first of {MODELS} summarizes: {name} ({full})");
        if let Some(model) = flags.first_mut() {
            model.note = Some(note);
        }
        flags
    }

    /// A summarizer as flags, the model first. If a size is a fraction, the model's context window counts, whoever
    /// summarizes.
    fn summarizer(&self, name: &str, full: &str, entry: Option<&Json>, of_window: bool) -> Vec<FlagOfConfig> {
        let mut values = vec![given("model", vec![full.to_owned()])];
        if of_window && models::find(full).is_some() {
            values.push(given("for", vec![full.to_owned()]));
        }
        let key = entry.and_then(|entry| member(entry, |key| key == "api_key" || key.ends_with("_api_key")));
        let variable = key.and_then(variable_name);
        if let Some(url) = entry.and_then(address_of) {
            let address = self.resolved(url);
            // The address belongs to the entry's own key: no other key may go there. If the address is unknown, the
            // history may not go elsewhere either.
            let unusable = if address.is_none() {
                Some(format!("{MODELS}: the address of {name:?} is {url}, and there is no such variable; set it"))
            } else if key.is_some() && variable.is_none() {
                Some(format!(
                    "{MODELS}: the api_key of {name:?} is not a $NAME, and tcompact reads no keys from files; put it into a variable and write api_key: $NAME"
                ))
            } else {
                None
            };
            let address = with_version(address.unwrap_or_else(|| url.to_owned()), full);
            values.push(FlagOfConfig { unusable, ..given("base-url", vec![address]) });
        }
        if let Some(variable) = variable {
            values.push(given("api-key-env", vec![variable.to_owned()]));
        }
        values
    }

    /// Resolves a text of the file: `$NAME` is that environment variable, as in `DeerFlow`.
    fn resolved(&self, text: &str) -> Option<String> {
        if !text.starts_with('$') {
            return Some(text.to_owned());
        }
        let value = (self.variable)(variable_name(text)?)?.into_string().ok()?;
        if value.is_empty() { None } else { Some(value) }
    }

    fn models(&self) -> &[Json] {
        self.models.and_then(Json::as_array).map_or(&[], Vec::as_slice)
    }

    /// The full name of a model of the list, or why it has none. Its provider follows from its class, as in
    /// `langchain_openai:ChatOpenAI`, or without one from its name.
    fn full_name_of(&self, entry: &Json) -> Result<String, String> {
        let cloud = of_cloud(entry);
        let unknown = || {
            let [class, model] = ["use", "model"].map(|key| text(entry, key).unwrap_or("none"));
            let with = cloud.map(|key| format!(", with {key}")).unwrap_or_default();
            format!("no provider is known for {:?} (use: {class}, model: {model}{with}); {ADVICE}", name_of(entry))
        };
        let Some(model) = text(entry, "model") else { return Err(unknown()) };
        if cloud.is_some() {
            return Err(unknown());
        }
        let provider = match entry.get("use") {
            None | Some(Json::Null) => None,
            Some(class) => Some(provider_of(class, entry).ok_or_else(unknown)?),
        };
        let Some(resolved) = self.resolved(model) else {
            let name = name_of(entry);
            return Err(format!(
                "the model of {name:?} is {model}, and there is no such variable; set it, or {ADVICE}"
            ));
        };
        match provider {
            Some(provider) => Ok(format!("{provider}:{resolved}")),
            None => self.full_name(&resolved).ok_or_else(unknown),
        }
    }

    /// The full name of a model, as `--model` takes it.
    fn full_name(&self, name: &str) -> Option<String> {
        if let Some((provider, model)) = name.split_once(':')
            && (self.is_provider)(provider)
            && !model.is_empty()
        {
            return Some(name.to_owned());
        }
        let family = FAMILIES.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, provider)| *provider);
        let mut found = None;
        for model in models::all().filter(|model| model.name == name) {
            if family == Some(model.provider) {
                found = Some(model);
                break;
            }
            // Without its own provider, the first that takes requests.
            if found.is_none() && (self.is_provider)(model.provider) {
                found = Some(model);
            }
        }
        Some(format!("{}:{name}", found?.provider))
    }
}

/// The provider of the class of a model in the list.
fn provider_of(class: &Json, entry: &Json) -> Option<&'static str> {
    let (path, class) = class.as_str()?.split_once(':')?;
    for (module, name, provider) in CLASSES {
        if class == name && path.split('.').any(|part| part == module) {
            return Some(provider);
        }
    }
    for (module, name) in COMPATIBLE {
        if class == name && path.split('.').any(|part| part == module) && address_of(entry).is_some() {
            return Some("openai");
        }
    }
    None
}

/// The member of a model that sends its requests to a cloud with an API of its own.
fn of_cloud(entry: &Json) -> Option<&str> {
    for (key, value) in entry.as_object()? {
        let is_set = !value.is_null() && value != &Json::Bool(false);
        if is_set && (key.starts_with("azure_") || OF_CLOUDS.contains(&key.as_str())) {
            return Some(key);
        }
    }
    None
}

fn address_of(entry: &Json) -> Option<&str> {
    member(entry, |key| ADDRESSES.contains(&key) || key.ends_with("_api_base"))
}

/// The text of the first member of a model with such a key.
fn member(entry: &Json, is_key: impl Fn(&str) -> bool) -> Option<&str> {
    for (key, value) in entry.as_object()? {
        if is_key(key)
            && let Some(text) = value.as_str()
        {
            return Some(text);
        }
    }
    None
}

fn text<'j>(entry: &'j Json, key: &str) -> Option<&'j str> {
    entry.get(key).and_then(Json::as_str)
}

fn name_of(entry: &Json) -> &str {
    text(entry, "name").or_else(|| text(entry, "model")).unwrap_or_default()
}

fn unusable(name: &str, why: String) -> Vec<FlagOfConfig> {
    vec![FlagOfConfig { unusable: Some(why), ..given("model", vec![name.to_owned()]) }]
}

/// Completes an address: `LangChain`'s class for Anthropic adds the version itself.
fn with_version(address: String, full: &str) -> String {
    let address = address.trim_end_matches('/');
    let is_bare = full.starts_with("anthropic:") && !address.ends_with("/v1");
    if is_bare { format!("{address}/v1") } else { address.to_owned() }
}

/// The name in `$NAME`.
fn variable_name(text: &str) -> Option<&str> {
    let name = text.strip_prefix('$')?;
    let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !is_word {
        return None;
    }
    Some(name)
}
