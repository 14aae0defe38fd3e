//! Determines what a call is for: to act outside, to check the work, to look something up.

use std::borrow::Cow;

use crate::tools::actions::is_in;
use crate::tools::shell::{SimpleCommand, commands, pipelines};
use crate::tools::{ToolUse, has_word, words_of_name};

/// What a call is for. What matters more to whoever goes on comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// It changes what is not a file of the work, and nothing here shows that later: it books, sends, deploys, pushes.
    Effects,
    /// It does something else.
    Acts,
    /// It checks the work: tests, builds, linters.
    Checks,
    /// It runs a script.
    Scripts,
    /// It looks up values.
    LooksUp,
    /// It shows, searches or moves files.
    Reads,
}

/// The purpose of a call by its name, or that of its command by the steps.
pub fn purpose_of(name: &str, tool: &ToolUse, result: &str) -> Purpose {
    const WEB: &str = "web|websearch|webfetch|browser|fetch";
    const EFFECTS: &str = "add|book|cancel|create|delete|deploy|message|order|pay|post|publish|push|refund|remove|reserve|schedule|send|submit|transfer|update|upload";
    const LOOKS: &str =
        "get|list|ls|find|search|read|view|show|query|lookup|grep|glob|calculate|open|check|describe|scroll|screenshot";
    /// What an agent keeps for itself.
    const OWN: &str = "agent|agents|dir|directory|file|files|folder|memory|note|notes|page|plan|tab|task|tasks|title|todo|todos|topic";
    /// Bytes of a result that is a value, and not a text.
    const VALUE: usize = 200;
    if let Some(command) = &tool.command {
        if tool.only_reads {
            return Purpose::Reads;
        }
        return pipelines(&commands(command, None)).map(purpose_of_pipeline).min().unwrap_or(Purpose::Reads);
    }
    let words = words_of_name(name);
    let looks = has_word(&words, LOOKS);
    if has_word(&words, WEB) || reads_files(&words) {
        Purpose::Reads
    } else if !looks && has_word(&words, EFFECTS) && !has_word(&words, OWN) {
        Purpose::Effects
    } else if !looks {
        Purpose::Acts
    } else if result.trim_start().starts_with(['{', '[']) || result.len() < VALUE {
        Purpose::LooksUp
    } else {
        Purpose::Reads
    }
}

/// Whether the words of a tool's name are those of one that shows, lists or searches files: `Grep`, `read_file`,
/// `list_directory`.
fn reads_files(words: &[String]) -> bool {
    const SEARCHES: &str = "grep|glob|ls|rg";
    const READS: &str = "read|view|cat";
    const VERBS: &str = "read|list|find|search|view|open|get|show";
    const FILES: &str = "file|files|dir|directory|directories|folder|folders|codebase";
    has_word(words, SEARCHES)
        || has_word(words, VERBS) && has_word(words, FILES)
        || words.len() == 1 && has_word(words, READS)
}

/// Whether a call does nothing but search, list or show files.
pub fn only_searches(name: &str, tool: &ToolUse) -> bool {
    let Some(command) = &tool.command else { return reads_files(&words_of_name(name)) };
    let steps = commands(command, None);
    tool.changes.is_empty() && steps.iter().any(|step| !step.changes_folder()) && steps.iter().all(is_search)
}

/// Whether a command searches, lists or shows files, and writes to none.
fn is_search(command: &SimpleCommand<'_>) -> bool {
    const PROGRAMS: &str = "rg|grep|egrep|fgrep|ag|ack|find|fd|ls|tree|cat|head|tail|cd";
    const GIT_VERBS: &str = "grep|ls-files";
    const ACTS: [&str; 11] =
        ["-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprintf", "-x", "-X", "--exec", "--exec-batch"];
    if !command.outputs.is_empty() || ACTS.iter().any(|flag| command.has(flag)) {
        return false;
    }
    match command.name() {
        "git" => command.operands().next().is_some_and(|verb| is_in(verb, GIT_VERBS)),
        name => is_in(name, PROGRAMS),
    }
}

fn purpose_of_pipeline(pipeline: &[SimpleCommand<'_>]) -> Purpose {
    const SHOWS: &str = "cat|sed|head|tail|less|nl|ls|find|rg|grep|pwd|which|wc|tree|awk|cd|echo|file|stat|du|sort|uniq|cut|diff|true|env|type|cp|mv|rm|mkdir|touch|chmod|tee|ln|ag|ack|fd|egrep|fgrep|open|goto|scroll_down|scroll_up|search_file|search_dir|find_file|view";
    const POWERSHELL_SHOWS: &str = "Get-Content|Get-ChildItem|Get-Item|Get-Location|Select-String|Select-Object|Set-Location|Measure-Object|Test-Path|Resolve-Path|Format-List|Format-Table|Write-Output|Write-Host|gc|gci|sls|dir";
    const GIT_SHOWS: &str = "show|diff|blame|grep|ls-files";
    const LISTS: &str = "log|logs|status|branch|info|list|ls|get|show|view|describe|ps|version";
    const CHECKS: &str = "test|tests|pytest|unittest|build|check|lint|clippy|make|tsc|eslint|ruff|mypy|tox|jest|vitest|mvn|gradle|ctest|rspec|compile|typecheck|flake8";
    const SCRIPTS: [&str; 6] = ["python", "node", "ruby", "perl", "php", "./"];
    let first = &pipeline[0];
    let program = match first.words.first() {
        Some(program) => &**program,
        None => "cd",
    };
    let verb = first.operands().find(|word| !word.contains('=')).unwrap_or("");
    // What was installed is seen by what runs.
    let shows = is_in(program, SHOWS)
        || is_in(program, POWERSHELL_SHOWS)
        || verb == "install"
        || program == "git" && is_in(verb, GIT_SHOWS);
    if shows {
        Purpose::Reads
    } else if has_effect(first, program, verb) {
        Purpose::Effects
    } else if is_in(verb, LISTS) {
        Purpose::LooksUp
    } else if first_words(pipeline).any(|word| is_in(word, CHECKS)) {
        Purpose::Checks
    } else if SCRIPTS.iter().any(|script| program.starts_with(script)) {
        Purpose::Scripts
    } else {
        Purpose::Acts
    }
}

/// The first words of letters and digits in a pipeline.
fn first_words<'s>(pipeline: &'s [SimpleCommand<'_>]) -> impl Iterator<Item = &'s str> {
    const MOST: usize = 12;
    let arguments = pipeline.iter().flat_map(|command| &command.words);
    let words = arguments.flat_map(|argument| argument.split(|c: char| !c.is_alphanumeric()));
    words.filter(|word| !word.is_empty()).take(MOST)
}

/// Whether a command changes something elsewhere: on a server, in a queue, in a remote repository.
fn has_effect(command: &SimpleCommand<'_>, program: &str, verb: &str) -> bool {
    const ALWAYS: &str = "scp|sendmail|mail|flyctl|crontab";
    const REQUESTS: &str = "curl|wget|http|https|xh";
    const METHODS: &str = "POST|PUT|PATCH|DELETE";
    /// Programs, each with the verbs that change something.
    const VERBS: [(&str, &str); 7] = [
        ("npm|pnpm|yarn|cargo|twine|poetry", "publish"),
        ("vercel|netlify|wrangler|firebase|heroku|railway|fly|serverless", "deploy|--prod|up|publish|create|scale"),
        ("kubectl|helm", "apply|create|delete|install|upgrade|scale"),
        ("terraform|tofu|pulumi", "apply|destroy|up|import"),
        ("docker|podman", "push"),
        ("systemctl|service", "start|stop|restart|enable|disable|reload"),
        ("gh|glab", "create|merge|close|comment|edit|delete|upload|review"),
    ];
    const RUNNERS: &str = "npx|bunx|pnpx|uvx|sudo";
    let runs = usize::from(is_in(program, RUNNERS));
    let program = match command.words.get(runs) {
        Some(program) => &**program,
        None => program,
    };
    let arguments = command.words.get(1 + runs..).unwrap_or_default();
    if program == "git" {
        return verb == "push";
    }
    if is_in(program, REQUESTS) {
        return sends_data(arguments) || arguments.iter().any(|word| is_in(word, METHODS));
    }
    if is_in(program, ALWAYS) || is_in(verb, "deploy|publish") {
        return true;
    }
    let Some((_, verbs)) = VERBS.iter().find(|(programs, _)| is_in(program, programs)) else { return false };
    // `gh pr create`, `npm run deploy`: the verb is not always the first word.
    arguments.iter().take(3).any(|word| is_in(word, verbs))
}

/// Whether these arguments of a program make a request with data, and not one that only gets something.
fn sends_data(arguments: &[Cow<'_, str>]) -> bool {
    const FLAGS: [&str; 5] = ["-d", "--data", "--json", "-F", "--form"];
    let mut has_data = false;
    for word in arguments {
        if matches!(&**word, "-G" | "--get") {
            return false;
        }
        has_data |= FLAGS.contains(&&**word) || word.starts_with("--data");
    }
    has_data
}
