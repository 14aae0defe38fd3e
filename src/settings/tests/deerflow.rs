//! `DeerFlow`'s `config.yaml`, read as it is.

use std::fs;

use crate::settings::tests::layers::Layers;

fn of_fixture(words: &[&str], name: &str) -> Layers {
    let text = fs::read_to_string(format!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/deerflow/{}.yaml"), name))
        .expect("a fixture");
    Layers::of(words).file("config.yaml", &text)
}

/// The settings of a section, without those that every section has.
fn values(section: &str) -> Vec<String> {
    let layers = Layers::of(&["-v"]).deerflow(&format!("enabled: true\n{section}"));
    let values = layers.values().into_iter().map(|line| line.replace(" (from config.yaml)", ""));
    values.filter(|line| line != "preset = deerflow" && !line.contains("accept = any")).collect()
}

#[test]
fn the_documented_configurations() {
    for (name, values) in [
        ("minimal", &["trigger = tokens:4000", "keep = messages:20", "model = extractive", "trim-tokens = 4000"][..]),
        (
            "production",
            &[
                "trigger = tokens:6000 messages:75",
                "keep = messages:25",
                "model = openai:gpt-4o-mini",
                "trim-tokens = 5000",
            ],
        ),
        (
            "multi-model",
            &[
                "trigger = fraction:0.7",
                "keep = fraction:0.3",
                "for = openai:gpt-4o-mini",
                "model = openai:gpt-4o-mini",
                "trim-tokens = 4000",
            ],
        ),
        (
            "conservative",
            &["trigger = tokens:8000", "keep = messages:40", "model = openai:gpt-4", "trim-tokens = 4000"],
        ),
    ] {
        let layers = of_fixture(&["-v"], name);
        let mut expected: Vec<String> = values.iter().map(|value| format!("{value} (from config.yaml)")).collect();
        expected.push("preset = deerflow (from config.yaml)".to_owned());
        expected.push("accept = any (from --preset deerflow)".to_owned());
        let mut found = layers.values();
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{name}");
        let resolved = layers.resolve().expect("settings");
        assert_eq!((resolved.disabled, resolved.summary_prompt), (None, None));
    }
}

#[test]
fn values_are_taken_as_leniently_as_there() {
    for (section, line) in [
        ("trigger: {type: tokens, value: '20'}", "trigger = tokens:20"),
        ("trigger: {type: tokens, value: true}", "trigger = tokens:1"),
        ("trigger: {type: messages, value: 20.2}", "trigger = messages:21"),
        (
            "trigger: [{type: fraction, value: 1}, {type: tokens, value: 0.5}]\nmodel_name: gpt-4o",
            "trigger = fraction:1 tokens:1",
        ),
        ("trigger: &t {type: tokens, value: 3}\nkeep: *t", "keep = tokens:3"),
        ("keep: {type: tokens, value: 30.9}", "keep = tokens:30"),
        ("keep: {type: tokens, value: 0.9}", "keep = tokens:1"),
        ("trim_tokens_to_summarize: '5'", "trim-tokens = 5"),
        ("trim_tokens_to_summarize: 12.0", "trim-tokens = 12"),
        ("trim_tokens_to_summarize: true", "trim-tokens = 1"),
        ("trim_tokens_to_summarize: -3", "trim-tokens = 0"),
        ("model_name: deepseek:whatever", "model = deepseek:whatever"),
        ("model_name: deepseek-chat", "model = deepseek:deepseek-chat"),
        ("unknown_key: [1]\nskill_file_read_tool_names: [cat]\npreserve_recent_skill_count: '0'", "keep = messages:20"),
    ] {
        let section = if section.contains("trigger") {
            section.to_owned()
        } else {
            format!("{section}\ntrigger: {{type: tokens, value: 1}}")
        };
        let values = values(&section);
        assert!(values.iter().any(|value| value == line), "{section}: {values:?}");
    }
    for on in ["'on'", "Yes", "1", "1.0", "t", "TRUE"] {
        let layers = Layers::of(&[]).deerflow(&format!("enabled: {on}\ntrigger: {{type: tokens, value: 1}}"));
        assert_eq!(layers.resolve().expect("settings").disabled, None, "{on}");
    }
}

#[test]
fn what_is_refused_there_is_refused() {
    let amount = "a type and a value, as in {type: tokens, value: 4000}";
    for (section, rest) in [
        ("enabled: maybe", "enabled = \"maybe\": expected true or false"),
        ("enabled: null", "enabled = nothing: expected true or false"),
        ("model_name: 5", "model_name = 5: expected a string or null"),
        ("keep: null", &format!("keep = nothing: expected {amount}")),
        ("keep: 20", &format!("keep = 20: expected {amount}")),
        ("keep: {type: turns, value: 2}", "keep.type = \"turns\": expected fraction, tokens or messages"),
        ("keep: {type: tokens}", "keep.value = nothing: expected a number"),
        ("keep: {type: tokens, value: many}", "keep.value = \"many\": expected a number"),
        ("keep: {type: tokens, value: .inf}", "keep.value = \".inf\": expected a number"),
        ("keep: {type: tokens, value: 0}", "keep.value = 0: expected a number above 0"),
        ("keep: {type: fraction, value: 1.5}", "keep.value = 1.5: expected a fraction above 0 and at most 1"),
        ("keep: {type: messages, value: 20.0}", "keep.value = 20: expected a whole number, since DeerFlow fails"),
        ("trigger: tokens", &format!("trigger = \"tokens\": expected {amount}")),
        ("trigger: [{type: tokens, value: 1}, 5]", &format!("trigger[1] = 5: expected {amount}")),
        ("trigger: {type: messages, value: -1}", "trigger.value = -1: expected a number above 0"),
        ("trigger: [{type: fraction, value: 0}]", "trigger[0].value = 0: expected a fraction above 0 and at most 1"),
        ("trim_tokens_to_summarize: 1.5", "trim_tokens_to_summarize = 1.5: expected a whole number or null"),
        ("summary_prompt: [x]", "summary_prompt = a list: expected a string or null"),
        ("skill_file_read_tool_names: cat", "skill_file_read_tool_names = \"cat\": expected a list of strings"),
        ("preserve_recent_skill_tokens: -1", "preserve_recent_skill_tokens = -1: expected a whole number from 0 on"),
        (
            "model_name: my-own\ntrigger: {type: tokens, value: 1}",
            "model_name = \"my-own\": no such model is known; give --model PROVIDER:MODEL",
        ),
    ] {
        let section =
            if section.starts_with("enabled") { section.to_owned() } else { format!("enabled: true\n{section}") };
        let error = Layers::of(&[]).deerflow(&section).error();
        let expected = format!("config.yaml: summarization.{rest}");
        assert!(error.starts_with(&expected), "{section}\nfound    {error}\nexpected {expected}");
    }
}

#[test]
fn an_unknown_model_is_no_error_where_another_summarizes() {
    let section = "enabled: true\nmodel_name: my-own\ntrigger: {type: tokens, value: 1}";
    let of = |words: &[&str]| Layers::of(words).deerflow(section);
    assert_eq!(of(&["-m", "extractive"]).arguments().model.as_deref(), Some("extractive"));
    assert_eq!(of(&["--summarizer-cmd", "cat"]).arguments().model, None);
    assert_eq!(of(&[]).set("TCOMPACT_MODEL", "openai:x").arguments().model.as_deref(), Some("openai:x"));
}

#[test]
fn null_does_not_mean_all_there() {
    let notices = of_fixture(&[], "conservative").notices();
    assert_eq!(notices.len(), 1);
    assert!(
        notices[0].starts_with("config.yaml: DeerFlow does not pass on trim_tokens_to_summarize: null"),
        "{notices:?}"
    );
    assert!(notices[0].ends_with("--trim-tokens none sends all"));
    assert!(of_fixture(&["-q"], "conservative").notices().is_empty());
    assert!(of_fixture(&["--trim-tokens", "none"], "conservative").notices().is_empty());
}

#[test]
fn the_prompt_is_the_sections_unless_a_higher_layer_has_one() {
    let section = "enabled: true\ntrigger: {type: tokens, value: 1}\nsummary_prompt: 'Sum up: {messages}'";
    let prompt = |words: &[&str]| Layers::of(words).deerflow(section).resolve().expect("settings").summary_prompt;
    assert_eq!(prompt(&[]).map(|(text, _)| text).as_deref(), Some("Sum up: {messages}"));
    assert_eq!(prompt(&["--prompt-file", "mine.txt"]), None);
    let empty = Layers::of(&[]).deerflow(&section.replace("Sum up: {messages}", "")).resolve().expect("settings");
    assert_eq!(empty.summary_prompt.map(|(text, _)| text).as_deref(), Some(""), "it is forwarded");
    let notices = Layers::of(&["-v"]).deerflow(section).notices();
    assert!(notices.iter().any(|line| line.ends_with("config.yaml: summarization.summary_prompt")), "{notices:?}");
}

#[test]
fn the_preset_of_a_higher_layer_counts() {
    let layers = Layers::of(&["--preset=known"]).deerflow("enabled: true\ntrigger: {type: tokens, value: 1}");
    let arguments = layers.arguments();
    assert_eq!((arguments.preset.as_deref(), arguments.retries), (Some("known"), 1));
    assert_eq!(arguments.keep.to_string(), "messages:20", "the file's own values stay above it");
}

#[test]
fn nothing_else_makes_a_file_deerflows() {
    let error = Layers::of(&[]).file("config.yaml", "models: []\n").error();
    assert!(error.starts_with("config.yaml: there is no setting \"models\""), "{error}");
    let twice = Layers::of(&[]).deerflow("keep: {type: messages, value: 2}\nkeep: {type: tokens, value: 2}").error();
    assert!(twice.contains("duplicate mapping key: keep at line ") && !twice.contains("Policy"), "{twice}");
    let error = Layers::of(&[]).file("config.yaml", "summarization: yes\n").error();
    assert!(error.starts_with("config.yaml: there is no setting \"summarization\""), "{error}");
}

#[test]
fn a_model_may_be_one_of_the_files_own_list() {
    let file = "models:\n- name: cheap\n  use: langchain_openai:ChatOpenAI\n  model: my-tune\n  base_url: http://localhost:1/v1\n  api_key: $TUNE_KEY\nsummarization:\n  enabled: true\n  model_name: cheap\n  trigger: {type: tokens, value: 1}\n";
    let values = Layers::of(&["-v"]).file("config.yaml", file).values();
    for line in ["model = openai:my-tune", "base-url = http://localhost:1/v1", "api-key-env = TUNE_KEY"] {
        assert!(values.contains(&format!("{line} (from config.yaml)")), "{values:?}");
    }
    let of_variable = file.replace("http://localhost:1/v1", "$TUNE_URL");
    let layers = || Layers::of(&["-v"]).file("config.yaml", &of_variable);
    let values = layers().set("TUNE_URL", "http://localhost:2/v1").values();
    assert!(values.contains(&"base-url = http://localhost:2/v1 (from config.yaml)".to_owned()), "{values:?}");
    let error = layers().error();
    assert!(error.contains("$TUNE_URL, and there is no such variable"), "{error}");
    let literal = file.replace("$TUNE_KEY", "sk-written-out");
    let error = Layers::of(&[]).file("config.yaml", &literal).error();
    assert!(error.contains("tcompact reads no keys from files") && !error.contains("sk-written"), "{error}");
}

/// A file whose section names no model, with a list of models.
fn of_default(models: &str) -> Layers {
    let section = "summarization:\n  enabled: true\n  model_name: null\n  trigger: {type: tokens, value: 1}\n";
    Layers::of(&["-v"]).file("config.yaml", &format!("{models}\n{section}"))
}

#[test]
fn no_name_means_the_first_model_of_the_list() {
    for (entry, values) in [
        ("use: langchain_openai:ChatOpenAI, model: gpt-4o-mini", &["model = openai:gpt-4o-mini"][..]),
        (
            "use: 'langchain_google_genai:ChatGoogleGenerativeAI', model: gemini-2.5-pro, gemini_api_key: $MY_KEY",
            &["model = google:gemini-2.5-pro", "api-key-env = MY_KEY"],
        ),
        (
            "use: 'deerflow.models.patched_deepseek:PatchedChatDeepSeek', model: kimi-k2.5, api_base: 'https://api.moonshot.cn/v1', api_key: $MY_KEY",
            &["model = deepseek:kimi-k2.5", "base-url = https://api.moonshot.cn/v1", "api-key-env = MY_KEY"],
        ),
        (
            "use: 'langchain_ollama:ChatOllama', model: 'qwen3:32b', base_url: 'http://localhost:11434'",
            &["model = ollama:qwen3:32b", "base-url = http://localhost:11434"],
        ),
        (
            "use: 'deerflow.models.vllm_provider:VllmChatModel', model: Qwen/Qwen3-32B, base_url: 'http://localhost:8000/v1'",
            &["model = openai:Qwen/Qwen3-32B", "base-url = http://localhost:8000/v1"],
        ),
        (
            "use: 'langchain_anthropic:ChatAnthropic', model: claude-haiku-4-5, base_url: 'https://proxy.example/', api_key: $MY_KEY",
            &["model = anthropic:claude-haiku-4-5", "base-url = https://proxy.example/v1"],
        ),
        ("model: deepseek-chat", &["model = deepseek:deepseek-chat"]),
    ] {
        let layers = of_default(&format!("models:\n- {{name: first, {entry}}}\n- {{name: other, model: gpt-4o}}"));
        let (found, notices) = (layers.values(), layers.notices());
        for value in values {
            assert!(found.contains(&format!("{value} (from config.yaml)")), "{entry}: {found:?}");
        }
        let full = &values[0]["model = ".len()..];
        let note = format!("config.yaml: there is no model_name, so the first of models summarizes: first ({full})");
        assert_eq!(notices.iter().filter(|line| **line == note).count(), 1, "{notices:?}");
    }
    let none = of_default("models: []").notices();
    assert!(none.iter().any(|line| line.contains("so the embedded summarizer writes; --model")), "{none:?}");
    for (models, part) in [
        ("models:\n- {name: odd, use: 'corp.llm:Chat', model: corp-1}", "(use: corp.llm:Chat, model: corp-1); give"),
        ("models:\n- {name: odd}", "for \"odd\" (use: none, model: none); give --model PROVIDER:MODEL"),
        ("models: [3]", "for \"\" (use: none, model: none); give --model PROVIDER:MODEL"),
    ] {
        let error = of_default(models).error();
        assert!(error.starts_with("config.yaml: summarization.model_name is null") && error.contains(part), "{error}");
    }
}

/// A key and a history go to the company that DeerFlow sends them to, or nowhere.
#[test]
fn a_model_is_never_taken_for_one_of_another_company() {
    let unknown = |class: &str, model: &str| {
        format!("no provider is known for \"mine\" (use: {class}, model: {model}); give --model PROVIDER:MODEL")
    };
    let with = |class: &str, model: &str, key: &str| unknown(class, &format!("{model}, with {key}"));
    let (azure, open) = ("langchain_openai:AzureChatOpenAI", "langchain_openai:ChatOpenAI");
    let (bedrock, vertex) = ("langchain_aws:ChatBedrock", "langchain_google_vertexai:ChatVertexAI");
    let gemini = "langchain_google_genai:ChatGoogleGenerativeAI";
    let vllm = "deerflow.models.vllm_provider:VllmChatModel";
    let unset = "the model of \"mine\" is $NO_MODEL, and there is no such variable; set it, or give --model";
    for (class, rest, why) in [
        (azure, "model: gpt-4o, api_key: $MY_KEY", unknown(azure, "gpt-4o")),
        (azure, "model: gpt-4o, azure_endpoint: 'https://x'", with(azure, "gpt-4o", "azure_endpoint")),
        (open, "model: gpt-4o, azure_deployment: x", with(open, "gpt-4o", "azure_deployment")),
        (open, "model: gpt-4o, api_version: '2024-06-01'", with(open, "gpt-4o", "api_version")),
        (bedrock, "model: claude-haiku-4-5", unknown(bedrock, "claude-haiku-4-5")),
        (vertex, "model: gemini-2.5-pro", unknown(vertex, "gemini-2.5-pro")),
        (gemini, "model: gemini-2.5-pro, vertexai: true", with(gemini, "gemini-2.5-pro", "vertexai")),
        ("corp.llm:ChatOpenAI", "model: gpt-4o", unknown("corp.llm:ChatOpenAI", "gpt-4o")),
        (vllm, "model: gpt-4o", unknown(vllm, "gpt-4o")),
        ("$MY_CLASS", "model: gpt-4o", unknown("$MY_CLASS", "gpt-4o")),
        ("null", "model: gpt-4o, api_version: x", with("none", "gpt-4o", "api_version")),
        (open, "model: $NO_MODEL", unset.to_owned()),
        ("null", "model: $NO_MODEL", unset.to_owned()),
    ] {
        let class = if class == "null" { class.to_owned() } else { format!("'{class}'") };
        let models = format!("models:\n- {{name: mine, use: {class}, {rest}}}");
        let error = of_default(&models).error();
        assert!(error.contains(&format!("so the first of models summarizes, but {why}")), "{models}: {error}");
        // A name that a provider has too does not change it.
        let named = format!(
            "{}\nsummarization: {{enabled: true, model_name: gpt-4o, trigger: {{type: tokens, value: 1}}}}\n",
            models.replace("mine", "gpt-4o")
        );
        let error = Layers::of(&[]).file("config.yaml", &named).error();
        let why = why.replace("\"mine\"", "\"gpt-4o\"");
        assert!(error.contains(&format!("summarization.model_name = \"gpt-4o\": {why}")), "{named}: {error}");
    }
    for (class, model) in [(open, "openai:gpt-4o"), ("null", "openai:gpt-4o")] {
        let class = if class == "null" { class.to_owned() } else { format!("'{class}'") };
        let models = format!("models:\n- {{name: mine, use: {class}, model: $MY_MODEL, vertexai: false}}");
        let values = of_default(&models).set("MY_MODEL", "gpt-4o").values();
        assert!(values.contains(&format!("model = {model} (from config.yaml)")), "{models}: {values:?}");
    }
}
