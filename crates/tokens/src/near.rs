//! Names of models that an unknown name may mean, and the name of a model that runs on the user's own machine.
//!
//! A name says its family, its version and its kind: `claude-opus-4-5-20251101` is an Opus of Claude, of version 4.5. Names
//! are compared by these, since `gpt-9` has the letters of `gpt-4` and is nearer to the newest GPT.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::models::{self, Model};

/// The families whose models people run with Ollama, by the letters that begin a name there.
const LOCAL: &str = "aya codegemma codellama codestral cogito command-r deepcoder deepseek-r devstral dolphin exaone falcon gemma \
    gpt-oss granite hermes llama llava magistral ministral mistral mixtral nemotron olmo phi qwen qwq smollm \
    starcoder";
/// Words of names that only a maker's own service has.
const HOSTED: [&str; 8] = ["chat", "flash", "large", "latest", "max", "medium", "plus", "turbo"];
/// Words of models that do something other than talk about a text.
const SPECIAL: [&str; 10] =
    ["audio", "embed", "embedding", "guard", "image", "live", "moderation", "realtime", "transcribe", "tts"];
/// Words that many families have.
const GENERIC: [&str; 30] = [
    "api", "base", "chat", "code", "exp", "fast", "flash", "free", "high", "instruct", "it", "large", "latest", "lite",
    "low", "max", "medium", "mini", "nano", "next", "plus", "preview", "pro", "search", "small", "super", "turbo",
    "ultra", "v", "vl",
];
/// One letter of so many may be wrong.
const LETTERS_PER_SLIP: usize = 4;

/// Names of models that an unknown name may mean, the most probable first: those of its family, the nearest version
/// first; without a known family, those with a slip. [`models::find`] accepts each of them.
pub fn near(name: &str) -> Vec<String> {
    const SHOWN: usize = 5;
    // No model has a longer name, and names are compared letter by letter.
    const LONGEST: usize = 200;
    if name.len() > LONGEST {
        return Vec::new();
    }
    let known = Known::new();
    let typed = name.split_once(':').filter(|(provider, _)| is_provider(provider)).map_or(name, |(_, model)| model);
    let wanted = known.corrected(own_name(typed));
    let parts = NameParts::of(&wanted);
    let is_family = |word: &&str| known.counts.contains_key(*word) && !GENERIC.contains(word);
    let family = parts.words.iter().copied().find(is_family);
    let mut found: Vec<(&Model, &str)> = known.names.iter().map(|(model, name)| (model, name.as_str())).collect();
    found.retain(|(_, name)| !is_special(name) || is_special(&wanted));
    let all = found.clone();
    found.retain(|(_, name)| {
        squeezed(name) == squeezed(&wanted) || family.is_some_and(|family| parts.are_of_family(family, name))
    });
    if found.is_empty() {
        let slips = |name: &str| strsim::damerau_levenshtein(&squeezed(name), &squeezed(&wanted));
        found = all;
        found.retain(|(_, name)| slips(name) <= squeezed(&wanted).len() / LETTERS_PER_SLIP);
        found.sort_by_cached_key(|(model, name)| (slips(name), is_resold(model), model.name));
    } else {
        found.sort_by_cached_key(|(model, own)| {
            let is_same = squeezed(own) == squeezed(&wanted);
            (
                !is_same,
                !is_from(model, name),
                parts.distance(own, family),
                is_resold(model),
                parts.age(own, &wanted),
                model.name,
            )
        });
    }
    // A model at its maker needs no reseller beside it.
    let mut named = HashSet::new();
    found.retain(|(_, name)| named.insert(*name));
    let full = |model: &Model| {
        if is_resold(model) { format!("{}:{}", model.provider, model.name) } else { model.name.to_owned() }
    };
    found.into_iter().take(SHOWN).map(|(model, _)| full(model)).collect()
}

/// The model of a server on the user's machine that a name alone may mean, with its provider, or the model of a
/// provider that names models by their makers: `qwen3` is `ollama:qwen3`, `meta-llama/llama-9:free` stands at
/// `OpenRouter`.
pub fn served(name: &str) -> Option<String> {
    let small = name.to_lowercase();
    if small.starts_with("hf.co/") || small.starts_with("huggingface.co/") {
        return Some(format!("ollama:{name}"));
    }
    let (base, tag) = small.split_once(':').map_or((small.as_str(), None), |(base, tag)| (base, Some(tag)));
    if base.contains('/') {
        let is_listed = models::all().any(|model| own_name(model.name) == own_name(base));
        return (tag.is_some() || !is_listed && near(name).is_empty()).then(|| format!("openrouter:{name}"));
    }
    let is_local = LOCAL.split(' ').any(|family| base.starts_with(family));
    if let Some(tag) = tag {
        return (is_local && !tag.is_empty() && !is_provider(base) || is_tag(tag)).then(|| format!("ollama:{small}"));
    }
    let is_resold = models::all().any(|model| own_name(model.name) == base);
    let is_hosted = base.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| HOSTED.contains(&word));
    (is_local && !is_resold && !is_hosted).then(|| format!("ollama:{}", local_spelling(base)))
}

/// Whether a word behind a colon is a tag of Ollama: a size, such as `14b` or `8x7b`, or the newest.
fn is_tag(tag: &str) -> bool {
    let size = tag.split('-').next().unwrap_or_default();
    let digits = size.strip_prefix('e').unwrap_or(size).strip_suffix(['b', 'm']).unwrap_or_default();
    let is_size = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'x'));
    is_size || tag == "latest"
}

/// A name as Ollama spells it: the version follows its family, and a colon comes before the size.
fn local_spelling(base: &str) -> String {
    let mut spelled = String::new();
    for part in base.split('-') {
        let is_version = part.starts_with(|c: char| c.is_ascii_digit()) && spelled.ends_with(char::is_alphabetic);
        let is_size = is_tag(part);
        let mark = if spelled.is_empty() || is_version && !is_size && !spelled.contains(['-', ':']) {
            ""
        } else if is_size && !spelled.contains(':') {
            ":"
        } else {
            "-"
        };
        spelled.push_str(mark);
        spelled.push_str(part);
    }
    spelled
}

/// The names of the table, and how often each word stands in them.
struct Known {
    names: Vec<(Model, String)>,
    counts: HashMap<String, usize>,
}

impl Known {
    fn new() -> Self {
        let names: Vec<(Model, String)> =
            models::all().map(|model| (model, own_name(model.name).to_lowercase())).collect();
        let mut counts = HashMap::new();
        for word in names.iter().flat_map(|(_, name)| NameParts::of(name).words) {
            *counts.entry(word.to_owned()).or_default() += 1;
        }
        Known { names, counts }
    }

    /// A name in small letters, in which words with a slip are as the table has them.
    fn corrected(&self, name: &str) -> String {
        let name = name.to_lowercase();
        let mut corrected = String::new();
        for part in name.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
            let (word, rest) = part.split_at(part.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(part.len()));
            corrected.push_str(self.word(word));
            corrected.push_str(rest);
        }
        corrected
    }

    /// The word of the table that a word misspells, or the word.
    fn word<'w>(&'w self, word: &'w str) -> &'w str {
        let is_slip = |known: &str, slips: usize| match word.len() {
            0..3 => false,
            // Three letters may be in the wrong order, or lack one.
            3 => {
                slips == 1
                    && word.chars().all(|c| known.contains(c))
                    && known.chars().filter(|c| !word.contains(*c)).count() <= known.len().saturating_sub(3)
            }
            long => slips <= long / LETTERS_PER_SLIP,
        };
        let near = self.counts.iter().filter_map(|(known, count)| {
            let slips = strsim::damerau_levenshtein(word, known);
            is_slip(known, slips).then_some((slips, Reverse(count), known.as_str()))
        });
        if self.counts.contains_key(word) { word } else { near.min().map_or(word, |(.., known)| known) }
    }
}

/// The name of a model without its maker and its tag.
fn own_name(name: &str) -> &str {
    let name = name.split(':').find(|part| !part.is_empty()).unwrap_or_default();
    name.rsplit('/').next().unwrap_or_default()
}

fn is_provider(name: &str) -> bool {
    models::all().any(|model| model.provider == name)
}

/// Whether the provider or the maker that a name begins with has the model.
fn is_from(model: &Model, name: &str) -> bool {
    let Some((from, _)) = name.split_once([':', '/']) else { return false };
    let maker = model.name.split_once('/').map(|(maker, _)| maker);
    model.provider == from || maker.is_some_and(|maker| maker.eq_ignore_ascii_case(from))
}

fn is_resold(model: &Model) -> bool {
    !models::is_maker(model.provider, model.name)
}

fn is_special(name: &str) -> bool {
    NameParts::of(name).words.iter().any(|word| SPECIAL.contains(word))
}

/// The letters and digits of a name: `gpt-4-o` is `gpt4o`.
fn squeezed(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect()
}

/// What the name of a model says.
struct NameParts<'n> {
    words: Vec<&'n str>,
    major: Option<u8>,
    /// The digits behind the point. They are compared as a fraction: 4.20 came before 4.3.
    minor: &'n str,
}

impl<'n> NameParts<'n> {
    fn of(name: &'n str) -> Self {
        let mut parts = NameParts { words: Vec::new(), major: None, minor: "" };
        let mut is_over = false;
        for part in name.split(|c: char| !c.is_ascii_alphanumeric()) {
            let (word, digits) = part.split_at(part.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(part.len()));
            if !word.is_empty() {
                parts.words.push(word);
                is_over |= parts.major.is_some();
            }
            // One letter may belong to the number, as in `4o`. A size, as in `70b`, is not a version.
            let number = digits.strip_suffix(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'b' | 'm' | 'e' | 'k'));
            let number = number.unwrap_or(digits);
            // A date ends the version.
            is_over |= number.len() > 2 || number.starts_with('0') && parts.major.is_none();
            if is_over || number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
                continue;
            }
            if parts.major.is_none() {
                parts.major = number.parse().ok();
            } else {
                parts.minor = number;
                is_over = true;
            }
        }
        parts
    }

    /// Whether a model of this name is of the family. A letter or two can be part of anything, but for the beginning of a
    /// name with a version: `o9` is of the family of `o4-mini`.
    fn are_of_family(&self, family: &str, name: &str) -> bool {
        let other = NameParts::of(name);
        let is_telling = family.len() > 2 && other.words.contains(&family);
        is_telling
            || self.words.first() == Some(&family)
                && other.words.first() == Some(&family)
                && other.major.is_some()
                && self.major.is_some()
    }

    /// How far a name of the family is from this one in its words.
    fn distance(&self, name: &str, family: Option<&str>) -> (usize, bool) {
        let other = NameParts::of(name);
        let lacking = self.words.iter().filter(|word| !other.words.contains(word)).count();
        let begins = self.words.first().copied() != family || other.words.first().copied() == family;
        (lacking, !begins)
    }

    /// How far the version of a name is from this one; of equal ones the newest and shortest come first.
    fn age<'o>(&self, name: &'o str, wanted: &str) -> impl Ord + use<'o> {
        let other = NameParts::of(name);
        let steps = self.major.map_or(0, |major| other.major.unwrap_or_default().abs_diff(major));
        let is_exact = self.major == other.major && self.minor == other.minor;
        let extends =
            name.strip_prefix(wanted).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()));
        (
            steps,
            !is_exact || self.major.is_none(),
            !extends,
            Reverse((other.major, other.minor)),
            other.words.len(),
            name.len(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_of_a_family_comes_first() {
        let mut wrong = Vec::new();
        for (name, first) in [
            ("claude", "claude-opus-5-5"),
            ("claud", "claude-opus-5-5"),
            ("opus", "claude-opus-5-5"),
            ("claude-sonnet", "claude-sonnet-5-5"),
            ("claude-sonnet-4.5", "claude-sonnet-4-5"),
            ("claude-sonet-4-5", "claude-sonnet-4-5"),
            ("claude-3.5-sonnet", "claude-3-5-sonnet"),
            ("claude-3.5-sonet", "claude-3-5-sonnet"),
            ("claude-opus-9", "claude-opus-5-5"),
            ("claude-opus-4-9", "claude-opus-4-8"),
            ("claude-epic-9", "claude-opus-5-5"),
            ("anthropic:claude-opus-9", "claude-opus-5-5"),
            ("gpt", "gpt-6.1-sol"),
            ("gpt-9", "gpt-6.1-sol"),
            ("gpt9", "gpt-6.1-sol"),
            ("gpt-9-ultra", "gpt-6.1-sol"),
            ("gtp-9", "gpt-6.1-sol"),
            ("gpt-5.9", "gpt-5.6"),
            ("gpt-9-mini", "gpt-5.4-mini"),
            ("openai:gpt-5.9-mini", "gpt-5.4-mini"),
            ("GPT-5.2", "gpt-5.2"),
            ("gpt4o", "gpt-4o"),
            ("gpt-4-o", "gpt-4o"),
            ("gpt4o-mini", "gpt-4o-mini"),
            ("gpt-4o-mni", "gpt-4o-mini"),
            ("gpt-4o-minni", "gpt-4o-mini"),
            ("gemini-9-pro", "gemini-3.1-pro-preview"),
            ("gemni-2.5-pro", "gemini-2.5-pro"),
            ("gemini9", "gemini-4-argon"),
            ("o9", "o4-mini"),
            ("o9-mini", "o4-mini"),
            ("o4-minni", "o4-mini"),
            ("grok-9", "grok-4.7"),
            ("deepseek-v4", "deepseek-v4-pro"),
            ("deepseek-v9", "deepseek-v4-pro"),
            ("deepseek-reasonner", "deepseek-reasoner"),
            ("qwen9", "qwen3.5-plus"),
            ("mistral-large-9", "mistral-large-4"),
            ("glm-9", "openrouter:z-ai/glm-5.3"),
            ("kimi-k2", "openrouter:moonshotai/kimi-k2"),
            ("command-r", "openrouter:cohere/command-r-08-2024"),
            ("llama-3.3-70b-versatile", "groq:llama-3.3-70b-versatile"),
            ("llama3.3", "groq:llama-3.3-70b-versatile"),
            ("meta-llama/Llama-3.1-70B-Instruct", "openrouter:meta-llama/llama-3.1-70b-instruct"),
            ("openrouter:meta-llama/llama-3", "openrouter:meta-llama/llama-3.2-1b-instruct"),
            ("google/gemma-3-12b-it", "openrouter:google/gemma-3-12b-it"),
            ("qwen3:8b", "qwen3-max"),
        ] {
            let found = near(name);
            if found.first().map(String::as_str) != Some(first) {
                wrong.push(format!("{name}: {found:?}, not {first}"));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        for name in [
            "zzz",
            "smollm2",
            "codellama",
            "text-davinci-003",
            "x1",
            "4o",
            "",
            ":",
            "/",
            "日本",
            "abc-instruct",
            "foo-pro",
            "custom-chat",
            "super-mini",
            "company-llm-v2",
            "latest",
            "sk-ant-api03-Zz9Yy8Xx7Ww6Zz9Yy8Xx7Ww6",
            &"gpt-4o".repeat(10_000),
        ] {
            assert!(near(name).is_empty(), "{name}: {:?}", near(name));
        }
        assert!(
            models::all().step_by(20).all(|model| near(model.name).iter().all(|name| models::find(name).is_some()))
        );
    }

    #[test]
    fn what_runs_locally_is_offered_there() {
        for (name, served_as) in [
            ("qwen3", Some("ollama:qwen3")),
            ("Qwen3", Some("ollama:qwen3")),
            ("qwen3:8b", Some("ollama:qwen3:8b")),
            ("qwen3-4b", Some("ollama:qwen3:4b")),
            ("qwen-3", Some("ollama:qwen3")),
            ("qwen2.5-coder", Some("ollama:qwen2.5-coder")),
            ("llama3.3", Some("ollama:llama3.3")),
            ("llama-3.3", Some("ollama:llama3.3")),
            ("llama3.3-70b", Some("ollama:llama3.3:70b")),
            ("llama3:instruct", Some("ollama:llama3:instruct")),
            ("gemma3", Some("ollama:gemma3")),
            ("gemma3n:e4b", Some("ollama:gemma3n:e4b")),
            ("mistral", Some("ollama:mistral")),
            ("mixtral:8x7b", Some("ollama:mixtral:8x7b")),
            ("phi4", Some("ollama:phi4")),
            ("codellama", Some("ollama:codellama")),
            ("gpt-oss:20b", Some("ollama:gpt-oss:20b")),
            ("deepseek-r1:14b", Some("ollama:deepseek-r1:14b")),
            ("somebody:7b-instruct", Some("ollama:somebody:7b-instruct")),
            ("hf.co/a/b-GGUF", Some("ollama:hf.co/a/b-GGUF")),
            ("nobody/nothing", Some("openrouter:nobody/nothing")),
            ("meta-llama/llama-3.3-70b-instruct:free", Some("openrouter:meta-llama/llama-3.3-70b-instruct:free")),
            ("meta-llama/Llama-3", None),
            ("mistral-large-9", None),
            ("qwen9-max", None),
            ("llama-3.3-70b-versatile", None),
            ("deepseek-v9", None),
            ("gpt-9", None),
            ("gpt:4o", None),
            ("opnai:gpt-4o", None),
            ("mistral:7b", Some("ollama:mistral:7b")),
            ("mistral:mistral-large-9", None),
            ("claude", None),
            ("", None),
            (":", None),
        ] {
            assert_eq!(served(name).as_deref(), served_as, "{name}");
        }
    }
}
