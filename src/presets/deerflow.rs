//! `DeerFlow`'s `config.yaml`: the section `summarization` as flags with the same meaning.
//!
//! Values are accepted as leniently as by pydantic there (`"20"` is 20, `yes` is true), unknown keys are ignored, and a
//! value that `DeerFlow` refuses is refused. `skill_file_read_tool_names` and `preserve_recent_skill_count`, `_tokens`
//! and `_tokens_per_skill` are checked and have no effect: skills are in `DeerFlow`'s own files, not in a transcript.

use std::ffi::OsString;

use serde_json::{Map, Value as Json};

use crate::exit::Failure;
use crate::tokens::models::{self, Model};
use crate::wording::found;

/// The key that identifies the file.
pub(crate) const SECTION: &str = "summarization";

/// The key of the list of models, whose names `model_name` can be.
pub(crate) const MODELS: &str = "models";

const TRIM_DEFAULT: i128 = 4_000;
/// The embedded summarizer, as `--model` names it.
const EMBEDDED: &str = "extractive";
const SKILL_COUNTS: [&str; 3] =
    ["preserve_recent_skill_count", "preserve_recent_skill_tokens", "preserve_recent_skill_tokens_per_skill"];
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

/// The provider of a class, by a part of the path in `use`: a package of `LangChain`, or a module of `DeerFlow`'s own.
const CLASSES: [(&str, &str); 18] = [
    ("langchain_openai", "openai"),
    ("langchain_deepseek", "deepseek"),
    ("langchain_anthropic", "anthropic"),
    ("langchain_google_genai", "google"),
    ("langchain_groq", "groq"),
    ("langchain_mistralai", "mistral"),
    ("langchain_ollama", "ollama"),
    ("langchain_xai", "xai"),
    ("langchain_openrouter", "openrouter"),
    ("langchain_together", "together"),
    ("ChatTongyi", "dashscope"),
    ("claude_provider", "anthropic"),
    ("patched_deepseek", "deepseek"),
    ("patched_openai", "openai"),
    ("patched_mimo", "openai"),
    ("patched_minimax", "openai"),
    ("patched_stepfun", "openai"),
    ("vllm_provider", "openai"),
];
/// The members of a model with its key, and those with its address.
const KEYS: [&str; 5] = ["api_key", "openai_api_key", "anthropic_api_key", "gemini_api_key", "google_api_key"];
const ADDRESSES: [&str; 4] = ["base_url", "api_base", "openai_api_base", "anthropic_api_url"];

/// The section, and what gives it its meaning.
pub(crate) struct ConfigSection<'s> {
    /// The path of the file.
    pub(crate) file: &'s str,
    /// The members of the section.
    pub(crate) keys: &'s Map<String, Json>,
    /// The list of models beside the section.
    pub(crate) models: Option<&'s Json>,
    /// Returns an environment variable.
    pub(crate) variable: &'s dyn Fn(&str) -> Option<OsString>,
    /// Whether requests can be sent to the provider with this name.
    pub(crate) is_provider: fn(&str) -> bool,
}

/// What the section says, as flags.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// The flags.
    pub(crate) flags: Vec<FlagOfConfig>,
    /// The text of the prompt, and its name for errors.
    pub(crate) summary_prompt: Option<(String, String)>,
    /// Why compaction is disabled.
    pub(crate) disabled: Option<String>,
    /// Why compaction is disabled unless a flag gives a trigger.
    pub(crate) never: Option<String>,
}

/// A flag that the section gives.
#[derive(Debug)]
pub(crate) struct FlagOfConfig {
    /// The long name of the flag.
    pub(crate) flag: &'static str,
    /// Its values, one for each time that it is given.
    pub(crate) values: Vec<String>,
    /// A note for the user if the flag is used.
    pub(crate) note: Option<String>,
    /// Why the flag cannot be used; an error unless another one overrides it.
    pub(crate) unusable: Option<String>,
}

/// Reads the section.
///
/// # Errors
/// The first value that `DeerFlow` would refuse too, with its key.
pub(crate) fn read(section: &ConfigSection<'_>) -> Result<Config, Failure> {
    let ConfigSection { file, keys, .. } = section;
    let enabled = section.get("enabled", "true or false", boolean)?.unwrap_or(false);
    let model = section.get("model_name", "a string or null", or_null(text))?.flatten();
    let triggers = section.triggers()?;
    let keep = keys.get("keep").map(|json| section.amount("keep".to_owned(), json)).transpose()?;
    let trim = section.get("trim_tokens_to_summarize", "a whole number or null", or_null(whole))?;
    let prompt = section.get("summary_prompt", "a string or null", or_null(text))?.flatten();
    section.get("skill_file_read_tool_names", "a list of strings", texts)?;
    for key in SKILL_COUNTS {
        section.get(key, "a whole number from 0 on", |json| whole(json).filter(|count| *count >= 0))?;
    }
    if !enabled {
        // The other values have no effect then, so none can be out of range.
        let disabled = Some(format!("summarization is not enabled in {file}"));
        return Ok(Config { disabled, ..Config::default() });
    }
    let sizes = triggers.iter().map(|amount| section.size(amount, At::Least)).collect::<Result<Vec<_>, _>>()?;
    let kept = keep.as_ref().map_or(Ok("messages:20".to_owned()), |amount| section.size(amount, At::Most))?;
    let of_window = triggers.iter().chain(&keep).any(|amount| amount.unit == "fraction");
    let mut flags =
        vec![given("preset", vec!["deerflow".to_owned()]), given("keep", vec![kept]), section.trim_tokens(trim)?];
    if !sizes.is_empty() {
        flags.push(given("trigger", sizes));
    }
    flags.extend(match model.filter(|name| !name.is_empty()) {
        Some(name) => section.model(&name, of_window),
        None => section.default_model(of_window),
    });
    Ok(Config {
        flags,
        summary_prompt: prompt.map(|text| (text, format!("{file}: {SECTION}.summary_prompt"))),
        disabled: None,
        never: triggers.is_empty().then(|| format!("{file} has no trigger, so nothing is summarized; give --trigger")),
    })
}

/// A size as the file has it.
struct ConfigSize {
    key: String,
    unit: &'static str,
    value: Number,
}

/// How to round a fractional number without changing its meaning.
#[derive(PartialEq)]
enum At {
    /// At least as many: a trigger.
    Least,
    /// At most as many: what is kept.
    Most,
}

/// A number in Python.
enum Number {
    Whole(i128),
    Float(f64),
}

impl ConfigSection<'_> {
    fn wrong(&self, key: &str, found: &str, wanted: &str) -> Failure {
        Failure::usage(format!("{}: {SECTION}.{key} = {found}: expected {wanted}", self.file))
    }

    /// Returns the value of a key, parsed by `read`, if the key exists.
    fn get<T>(&self, key: &str, wanted: &str, read: impl Fn(&Json) -> Option<T>) -> Result<Option<T>, Failure> {
        let json = self.keys.get(key);
        json.map(|json| read(json).ok_or_else(|| self.wrong(key, &found(json), wanted))).transpose()
    }

    fn triggers(&self) -> Result<Vec<ConfigSize>, Failure> {
        match self.keys.get("trigger") {
            None | Some(Json::Null) => Ok(vec![]),
            Some(Json::Array(items)) => {
                items.iter().enumerate().map(|(at, json)| self.amount(format!("trigger[{at}]"), json)).collect()
            }
            Some(json) => Ok(vec![self.amount("trigger".to_owned(), json)?]),
        }
    }

    fn amount(&self, key: String, json: &Json) -> Result<ConfigSize, Failure> {
        let Json::Object(map) = json else {
            return Err(self.wrong(&key, &found(json), "a type and a value, as in {type: tokens, value: 4000}"));
        };
        let [unit, value] = ["type", "value"].map(|name| map.get(name).unwrap_or(&Json::Null));
        let units = ["fraction", "tokens", "messages"].into_iter();
        let Some(unit) = units.into_iter().find(|name| unit == name) else {
            return Err(self.wrong(&format!("{key}.type"), &found(unit), "fraction, tokens or messages"));
        };
        let wrong = || self.wrong(&format!("{key}.value"), &found(value), "a number");
        let value = number(value).ok_or_else(wrong)?;
        Ok(ConfigSize { key, unit, value })
    }

    /// Returns a size as a flag takes it.
    fn size(&self, amount: &ConfigSize, at: At) -> Result<String, Failure> {
        let ConfigSize { key, unit, value } = amount;
        let (whole, float) = match *value {
            Number::Whole(whole) => (Some(whole), whole as f64),
            Number::Float(float) => (None, float),
        };
        let wrong = |wanted| Err(self.wrong(&format!("{key}.value"), &float.to_string(), wanted));
        match (*unit, whole) {
            ("fraction", _) if float > 0.0 && float <= 1.0 => Ok(format!("fraction:{float}")),
            ("fraction", _) => wrong("a fraction above 0 and at most 1"),
            _ if float <= 0.0 => wrong("a number above 0"),
            (_, Some(whole)) => Ok(format!("{unit}:{whole}")),
            (_, None) if at == At::Least => Ok(format!("{unit}:{}", float.ceil() as u64)),
            ("tokens", None) => Ok(format!("tokens:{}", (float as u64).max(1))),
            _ => wrong("a whole number, since DeerFlow fails at a float when it comes to cut"),
        }
    }

    fn trim_tokens(&self, trim: Option<Option<i128>>) -> Result<FlagOfConfig, Failure> {
        const KEY: &str = "trim_tokens_to_summarize";
        let tokens = trim.flatten().unwrap_or(TRIM_DEFAULT);
        // A negative number means the same as 0: no message fits.
        let mut given = given("trim-tokens", vec![tokens.max(0).to_string()]);
        if trim == Some(None) {
            given.note = Some(format!(
                "{}: DeerFlow does not pass on {KEY}: null, so that {TRIM_DEFAULT} tokens are sent as by default; --trim-tokens none sends all",
                self.file
            ));
        }
        Ok(given)
    }

    /// Returns the model with this name as flags.
    fn model(&self, name: &str, of_window: bool) -> Vec<FlagOfConfig> {
        let entry = self.models().iter().find(|model| model.get("name").and_then(Json::as_str) == Some(name));
        match entry.and_then(|entry| self.full_name_of(entry)).or_else(|| self.full_name(name)) {
            Some(full) => self.summarizer(name, &full, entry, of_window),
            None => {
                let why =
                    format!("{SECTION}.model_name = {name:?}: no such model is known; give --model PROVIDER:MODEL");
                vec![FlagOfConfig { unusable: Some(why), ..given("model", vec![name.to_owned()]) }]
            }
        }
    }

    /// Returns `DeerFlow`'s default model as flags: the first of its list.
    fn default_model(&self, of_window: bool) -> Vec<FlagOfConfig> {
        let file = self.file;
        let Some(entry) = self.models().first() else {
            let note = format!(
                "{file}: there is no model_name and no list of {MODELS}, so the embedded summarizer writes; --model PROVIDER:MODEL names a model"
            );
            return vec![FlagOfConfig { note: Some(note), ..given("model", vec![EMBEDDED.to_owned()]) }];
        };
        let text = |key: &str| entry.get(key).and_then(Json::as_str);
        let name = text("name").or_else(|| text("model")).unwrap_or_default();
        let Some(full) = self.full_name_of(entry) else {
            let why = format!(
                "{SECTION}.model_name is null, so the first of {MODELS} summarizes, but no provider is known for {name:?} (use: {}, model: {}); give --model PROVIDER:MODEL",
                text("use").unwrap_or("none"),
                text("model").unwrap_or("none")
            );
            return vec![FlagOfConfig { unusable: Some(why), ..given("model", vec![name.to_owned()]) }];
        };
        let mut flags = self.summarizer(name, &full, Some(entry), of_window);
        let note = format!("{file}: there is no model_name, so the first of {MODELS} summarizes: {name} ({full})");
        flags.iter_mut().take(1).for_each(|model| model.note = Some(note.clone()));
        flags
    }

    /// Returns a summarizer as flags, the model first. If a size is a fraction, the model's context window counts, whoever
    /// summarizes.
    fn summarizer(&self, name: &str, full: &str, entry: Option<&Json>, of_window: bool) -> Vec<FlagOfConfig> {
        let known = of_window && models::find(full).is_some();
        let reader = known.then(|| given("for", vec![full.to_owned()]));
        let mut values: Vec<FlagOfConfig> = [given("model", vec![full.to_owned()])].into_iter().chain(reader).collect();
        let of_entry = |keys: &[&str]| keys.iter().find_map(|key| entry.and_then(|entry| entry.get(key)?.as_str()));
        let key = of_entry(&KEYS);
        let variable = key.and_then(variable_name);
        if let Some(url) = of_entry(&ADDRESSES) {
            let address = self.resolved(url);
            // The address belongs to the entry's own key: no other key may go there. If the address is unknown, the
            // history may not go elsewhere either.
            let unusable = if address.is_none() {
                Some(format!("{MODELS}: the address of {name:?} is {url}, and there is no such variable; set it"))
            } else {
                (key.is_some() && variable.is_none()).then(|| {
                    format!("{MODELS}: the api_key of {name:?} is not a $NAME, and tcompact reads no keys from files; put it into a variable and write api_key: $NAME")
                })
            };
            let address = with_version(address.unwrap_or_else(|| url.to_owned()), full);
            values.push(FlagOfConfig { unusable, ..given("base-url", vec![address]) });
        }
        if let Some(variable) = variable {
            values.push(given("api-key-env", vec![variable.to_owned()]));
        }
        values
    }

    /// Resolves a text of the file: `$NAME` is that environment variable, as in DeerFlow.
    fn resolved(&self, text: &str) -> Option<String> {
        match text.strip_prefix('$') {
            None => Some(text.to_owned()),
            Some(_) => (self.variable)(variable_name(text)?)?.into_string().ok(),
        }
    }

    fn models(&self) -> &[Json] {
        self.models.and_then(Json::as_array).map_or(&[], Vec::as_slice)
    }

    /// Returns the full name of a model of the list. Its provider follows from its class, as in
    /// `langchain_openai:ChatOpenAI`, or else from its name.
    fn full_name_of(&self, entry: &Json) -> Option<String> {
        let model = entry.get("model")?.as_str()?;
        let class = entry.get("use").and_then(Json::as_str).unwrap_or_default();
        let provider = CLASSES.iter().find(|(part, _)| class.split([':', '.']).any(|of_class| of_class == *part));
        provider.map(|(_, provider)| format!("{provider}:{model}")).or_else(|| self.full_name(model))
    }

    /// Returns the full name of a model, as `--model` takes it.
    fn full_name(&self, name: &str) -> Option<String> {
        if name.split_once(':').is_some_and(|(provider, model)| (self.is_provider)(provider) && !model.is_empty()) {
            return Some(name.to_owned());
        }
        let family = FAMILIES.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, provider)| *provider);
        let all: Vec<Model> = models::all().filter(|model| model.name == name).collect();
        let own = all.iter().find(|model| family == Some(model.provider));
        let model = own.or_else(|| all.iter().find(|model| (self.is_provider)(model.provider)))?;
        Some(format!("{}:{name}", model.provider))
    }
}

/// Returns a flag with values that can be used.
fn given(flag: &'static str, values: Vec<String>) -> FlagOfConfig {
    FlagOfConfig { flag, values, note: None, unusable: None }
}

/// Completes an address: `LangChain`'s class for Anthropic adds the version itself.
fn with_version(address: String, full: &str) -> String {
    let address = address.trim_end_matches('/');
    let is_bare = full.starts_with("anthropic:") && !address.ends_with("/v1");
    format!("{address}{}", if is_bare { "/v1" } else { "" })
}

/// Returns the name in `$NAME`.
fn variable_name(text: &str) -> Option<&str> {
    let name = text.strip_prefix('$')?;
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    (starts && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')).then_some(name)
}

fn or_null<T>(read: fn(&Json) -> Option<T>) -> impl Fn(&Json) -> Option<Option<T>> {
    move |json| if json.is_null() { Some(None) } else { read(json).map(Some) }
}

fn text(json: &Json) -> Option<String> {
    json.as_str().map(str::to_owned)
}

fn texts(json: &Json) -> Option<Vec<String>> {
    json.as_array()?.iter().map(text).collect()
}

fn boolean(json: &Json) -> Option<bool> {
    match json {
        Json::Bool(on) => Some(*on),
        Json::Number(number) => match number.as_f64()? {
            0.0 => Some(false),
            1.0 => Some(true),
            _ => None,
        },
        Json::String(text) => match text.to_ascii_lowercase().as_str() {
            "1" | "on" | "t" | "true" | "y" | "yes" => Some(true),
            "0" | "off" | "f" | "false" | "n" | "no" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn whole(json: &Json) -> Option<i128> {
    match number(json)? {
        Number::Whole(whole) => Some(whole),
        Number::Float(float) => (float.fract() == 0.0).then_some(float as i128),
    }
}

fn number(json: &Json) -> Option<Number> {
    match json {
        Json::Bool(on) => Some(Number::Whole(i128::from(*on))),
        Json::Number(number) => {
            let whole = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
            whole.map(Number::Whole).or(number.as_f64().map(Number::Float))
        }
        Json::String(text) => {
            let text = text.trim();
            let float = || text.parse().ok().filter(|float: &f64| float.is_finite()).map(Number::Float);
            text.parse().ok().map(Number::Whole).or_else(float)
        }
        _ => None,
    }
}
