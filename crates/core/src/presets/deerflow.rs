//! `DeerFlow`'s `config.yaml`: the section `summarization` as flags with the same meaning.
//!
//! Values are accepted as leniently as by pydantic there (`"20"` is 20, `yes` is true), unknown keys are ignored, and a
//! value that `DeerFlow` refuses is refused. `skill_file_read_tool_names` and `preserve_recent_skill_count`, `_tokens`
//! and `_tokens_per_skill` are checked and have no effect: skills are in `DeerFlow`'s own files, not in a transcript.

mod model;

use std::ffi::OsString;

use serde_json::{Map, Value as Json};

use crate::exit::Failure;
use crate::wording::found;

/// The key that identifies the file.
pub const SECTION: &str = "summarization";

/// The key of the list of models, whose names `model_name` can be.
pub const MODELS: &str = "models";

const TRIM_DEFAULT: i128 = 4_000;
const SKILL_COUNTS: [&str; 3] =
    ["preserve_recent_skill_count", "preserve_recent_skill_tokens", "preserve_recent_skill_tokens_per_skill"];

/// The section, and what gives it its meaning.
pub struct ConfigSection<'s> {
    /// The path of the file.
    pub file: &'s str,
    /// The members of the section.
    pub keys: &'s Map<String, Json>,
    /// The list of models beside the section.
    pub models: Option<&'s Json>,
    /// The value of an environment variable.
    pub variable: &'s dyn Fn(&str) -> Option<OsString>,
    /// Whether requests can be sent to the provider with this name.
    pub is_provider: fn(&str) -> bool,
}

/// What the section says, as flags.
#[derive(Debug, Default)]
pub struct Config {
    /// The flags.
    pub flags: Vec<FlagOfConfig>,
    /// The text of the prompt, and its name for errors.
    pub summary_prompt: Option<(String, String)>,
    /// Why compaction is disabled.
    pub disabled: Option<String>,
    /// Why compaction is disabled unless a flag gives a trigger.
    pub never: Option<String>,
}

/// A flag that the section gives.
#[derive(Debug)]
pub struct FlagOfConfig {
    /// The long name of the flag.
    pub flag: &'static str,
    /// Its values, one for each time that it is given.
    pub values: Vec<String>,
    /// A note for the user if the flag is used.
    pub note: Option<String>,
    /// Why the flag cannot be used; an error unless another one overrides it.
    pub unusable: Option<String>,
}

/// Reads the section.
///
/// # Errors
/// The first value that `DeerFlow` would refuse too, with its key.
pub fn read(section: &ConfigSection<'_>) -> Result<Config, Failure> {
    let ConfigSection { file, keys, .. } = section;
    let enabled = section.get("enabled", "true or false", boolean)?.unwrap_or(false);
    let model = section.get("model_name", "a string or null", or_null(text))?.flatten();
    let triggers = section.triggers()?;
    let keep = match keys.get("keep") {
        Some(json) => Some(section.amount("keep".to_owned(), json)?),
        None => None,
    };
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
    let mut sizes = Vec::new();
    for amount in &triggers {
        sizes.push(section.size(amount, At::Least)?);
    }
    let kept = match &keep {
        Some(amount) => section.size(amount, At::Most)?,
        None => "messages:20".to_owned(),
    };
    let of_window = triggers.iter().chain(&keep).any(|amount| amount.unit == "fraction");
    let mut flags =
        vec![given("preset", vec!["deerflow".to_owned()]), given("keep", vec![kept]), section.trim_tokens(trim)];
    if !sizes.is_empty() {
        flags.push(given("trigger", sizes));
    }
    flags.extend(match model.filter(|name| !name.is_empty()) {
        Some(name) => section.model(&name, of_window),
        None => section.default_model(of_window),
    });
    let mut never = None;
    if triggers.is_empty() {
        never = Some(format!("{file} has no trigger, so nothing is summarized; give --trigger"));
    }
    Ok(Config {
        flags,
        summary_prompt: prompt.map(|text| (text, format!("{file}: {SECTION}.summary_prompt"))),
        disabled: None,
        never,
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

    /// The value of a key, parsed by `read`, if the key exists.
    fn get<T>(&self, key: &str, wanted: &str, read: impl Fn(&Json) -> Option<T>) -> Result<Option<T>, Failure> {
        let Some(json) = self.keys.get(key) else { return Ok(None) };
        match read(json) {
            Some(value) => Ok(Some(value)),
            None => Err(self.wrong(key, &found(json), wanted)),
        }
    }

    fn triggers(&self) -> Result<Vec<ConfigSize>, Failure> {
        let mut sizes = Vec::new();
        match self.keys.get("trigger") {
            None | Some(Json::Null) => {}
            Some(Json::Array(items)) => {
                for (at, json) in items.iter().enumerate() {
                    sizes.push(self.amount(format!("trigger[{at}]"), json)?);
                }
            }
            Some(json) => sizes.push(self.amount("trigger".to_owned(), json)?),
        }
        Ok(sizes)
    }

    fn amount(&self, key: String, json: &Json) -> Result<ConfigSize, Failure> {
        let Json::Object(map) = json else {
            return Err(self.wrong(&key, &found(json), "a type and a value, as in {type: tokens, value: 4000}"));
        };
        let [unit, value] = ["type", "value"].map(|name| map.get(name).unwrap_or(&Json::Null));
        let Some(unit) = ["fraction", "tokens", "messages"].into_iter().find(|name| unit == name) else {
            return Err(self.wrong(&format!("{key}.type"), &found(unit), "fraction, tokens or messages"));
        };
        match number(value) {
            Some(value) => Ok(ConfigSize { key, unit, value }),
            None => Err(self.wrong(&format!("{key}.value"), &found(value), "a number")),
        }
    }

    /// A size as a flag takes it.
    fn size(&self, amount: &ConfigSize, at: At) -> Result<String, Failure> {
        let ConfigSize { key, unit, value } = amount;
        let (whole, float) = match *value {
            Number::Whole(whole) => (Some(whole), whole as f64),
            Number::Float(float) => (None, float),
        };
        let wanted = match (*unit, whole) {
            ("fraction", _) if float > 0.0 && float <= 1.0 => return Ok(format!("fraction:{float}")),
            ("fraction", _) => "a fraction above 0 and at most 1",
            _ if float <= 0.0 => "a number above 0",
            (_, Some(whole)) => return Ok(format!("{unit}:{whole}")),
            (_, None) if at == At::Least => return Ok(format!("{unit}:{}", float.ceil() as u64)),
            ("tokens", None) => return Ok(format!("tokens:{}", (float as u64).max(1))),
            _ => "a whole number, since DeerFlow fails at a float when it comes to cut",
        };
        Err(self.wrong(&format!("{key}.value"), &float.to_string(), wanted))
    }

    fn trim_tokens(&self, trim: Option<Option<i128>>) -> FlagOfConfig {
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
        given
    }
}

/// A flag with values that can be used.
fn given(flag: &'static str, values: Vec<String>) -> FlagOfConfig {
    FlagOfConfig { flag, values, note: None, unusable: None }
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
        Number::Float(float) if float.fract() == 0.0 => Some(float as i128),
        Number::Float(_) => None,
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
            if let Ok(whole) = text.parse() {
                return Some(Number::Whole(whole));
            }
            match text.parse::<f64>() {
                Ok(float) if float.is_finite() => Some(Number::Float(float)),
                _ => None,
            }
        }
        _ => None,
    }
}
