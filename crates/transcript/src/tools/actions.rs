//! Determines what a call does with files: not only that it changes them, but how.
//!
//! Also: what a call is for: to act outside, to check the work, to look something up.

use std::collections::BTreeSet;

use crate::tools::shell::{SimpleCommand, commands, pipelines};
use crate::tools::{ToolUse, full_path, words_of_name};

/// What a call does with a file. The name of an action is the word that users read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileAction {
    Changed,
    Created,
    Deleted,
    Renamed,
    /// Reset to its committed state.
    Restored,
    /// Perhaps changed: nothing is recorded of how it went.
    Tried,
    Read,
}

impl FileAction {
    pub const ALL: [FileAction; 7] = {
        use FileAction::{Changed, Created, Deleted, Read, Renamed, Restored, Tried};
        [Changed, Created, Deleted, Renamed, Restored, Tried, Read]
    };
}

/// What a command or a patch does to a file, with the paths as they stand there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) action: FileAction,
    pub(super) path: String,
    /// The new path of what is renamed.
    pub(super) to: Option<String>,
}

impl Change {
    pub(super) fn new(action: FileAction, path: &str) -> Self {
        Change { action, path: path.to_owned(), to: None }
    }

    /// The same action, with the folder in its paths.
    pub(super) fn within(self, folder: Option<&str>) -> FileChange {
        let Change { action, path, to } = self;
        let path = if path == EVERYTHING { path } else { full_path(folder, &path) };
        let path = to.map_or(path.clone(), |to| format!("{path}{RENAMED_TO}{}", full_path(folder, &to)));
        FileChange { action, path }
    }
}

/// What a program does to a file, or to the two of a move with [`RENAMED_TO`] between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    pub action: FileAction,
    pub path: String,
}

/// The path that stands for all files that git knows.
pub const EVERYTHING: &str = ".";

/// The sign between the two paths of a move.
pub const RENAMED_TO: &str = " → ";

/// What a patch in Codex' form does.
pub(super) fn changes_of_patch(patch: &str) -> Vec<Change> {
    use FileAction::{Changed, Created, Deleted, Renamed};
    let mut found: Vec<Change> = Vec::new();
    for line in patch.lines() {
        let Some((verb, path)) = line.strip_prefix("*** ").and_then(|line| line.split_once(": ")) else { continue };
        let action = match verb {
            "Update File" => Changed,
            "Add File" => Created,
            "Delete File" => Deleted,
            "Move to" => {
                if let Some(last) = found.last_mut() {
                    (last.action, last.to) = (Renamed, Some(path.trim().to_owned()));
                }
                continue;
            }
            _ => continue,
        };
        found.push(Change::new(action, path.trim()));
    }
    // One patch can take a file away and make it anew.
    let paths = |action| {
        let changes = found.iter().filter(move |change| change.action == action);
        changes.map(|change| change.path.clone()).collect::<BTreeSet<String>>()
    };
    let both: BTreeSet<String> = paths(Deleted).intersection(&paths(Created)).cloned().collect();
    found.iter_mut().filter(|change| both.contains(&change.path)).for_each(|change| change.action = Changed);
    found
}

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
        let least = pipelines(&commands(command, None)).map(purpose_of_pipeline).min();
        return least.filter(|_| !tool.only_reads).unwrap_or(Purpose::Reads);
    }
    let words = words_of_name(name);
    let has = |list: &str| words.iter().any(|word| is_in(word, list));
    if has(WEB) || reads_files(&words) {
        Purpose::Reads
    } else if has(EFFECTS) && !has(LOOKS) && !has(OWN) {
        Purpose::Effects
    } else if !has(LOOKS) {
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
    let has = |list: &str| words.iter().any(|word| is_in(word, list));
    has(SEARCHES) || has(VERBS) && has(FILES) || words.len() == 1 && has(READS)
}

/// Whether a call does nothing but search, list or show files.
pub fn only_searches(name: &str, tool: &ToolUse) -> bool {
    const PROGRAMS: &str = "rg|grep|egrep|fgrep|ag|ack|find|fd|ls|tree|cat|head|tail|cd";
    let Some(command) = &tool.command else { return reads_files(&words_of_name(name)) };
    let steps = commands(command, None);
    const ACTS: [&str; 11] =
        ["-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprintf", "-x", "-X", "--exec", "--exec-batch"];
    let acts = |step: &SimpleCommand<'_>| ACTS.iter().any(|flag| step.has(flag));
    let is_search = |step: &SimpleCommand<'_>| {
        let is_git = step.name() == "git" && step.operands().next().is_some_and(|verb| is_in(verb, GIT_SEARCHES));
        step.outputs.is_empty() && !acts(step) && (is_in(step.name(), PROGRAMS) || is_git)
    };
    tool.changes.is_empty() && steps.iter().any(|step| !step.changes_folder()) && steps.iter().all(is_search)
}

/// The verbs of git that search or list files.
const GIT_SEARCHES: &str = "grep|ls-files";

fn purpose_of_pipeline(pipeline: &[SimpleCommand<'_>]) -> Purpose {
    const SHOWS: &str = "cat|sed|head|tail|less|nl|ls|find|rg|grep|pwd|which|wc|tree|awk|cd|echo|file|stat|du|sort|uniq|cut|diff|true|env|type|cp|mv|rm|mkdir|touch|chmod|tee|ln|ag|ack|fd|egrep|fgrep|open|goto|scroll_down|scroll_up|search_file|search_dir|find_file|view";
    const POWERSHELL_SHOWS: &str = "Get-Content|Get-ChildItem|Get-Item|Get-Location|Select-String|Select-Object|Set-Location|Measure-Object|Test-Path|Resolve-Path|Format-List|Format-Table|Write-Output|Write-Host|gc|gci|sls|dir";
    const GIT_SHOWS: &str = "show|diff|blame|grep|ls-files";
    const LISTS: &str = "log|logs|status|branch|info|list|ls|get|show|view|describe|ps|version";
    const CHECKS: &str = "test|tests|pytest|unittest|build|check|lint|clippy|make|tsc|eslint|ruff|mypy|tox|jest|vitest|mvn|gradle|ctest|rspec|compile|typecheck|flake8";
    const SCRIPTS: [&str; 6] = ["python", "node", "ruby", "perl", "php", "./"];
    let first = &pipeline[0];
    let program = first.words.first().map_or("cd", |program| &**program);
    let verb = first.operands().find(|word| !word.contains('=')).unwrap_or("");
    // What was installed is seen by what runs.
    let shows = is_in(program, SHOWS)
        || is_in(program, POWERSHELL_SHOWS)
        || verb == "install"
        || program == "git" && is_in(verb, GIT_SHOWS);
    let words = pipeline.iter().flat_map(|command| &command.words);
    let words = words.flat_map(|word| word.split(|c: char| !c.is_alphanumeric()));
    let mut words = words.filter(|word| !word.is_empty()).take(12);
    if shows {
        Purpose::Reads
    } else if has_effect(first, program, verb) {
        Purpose::Effects
    } else if is_in(verb, LISTS) {
        Purpose::LooksUp
    } else if words.any(|word| is_in(word, CHECKS)) {
        Purpose::Checks
    } else if SCRIPTS.iter().any(|script| program.starts_with(script)) {
        Purpose::Scripts
    } else {
        Purpose::Acts
    }
}

/// Whether a command changes something elsewhere: on a server, in a queue, in a remote repository.
fn has_effect(command: &SimpleCommand<'_>, program: &str, verb: &str) -> bool {
    const ALWAYS: &str = "scp|sendmail|mail|flyctl|crontab";
    const REQUESTS: &str = "curl|wget|http|https|xh";
    const METHODS: &str = "POST|PUT|PATCH|DELETE";
    const WITH_DATA: [&str; 5] = ["-d", "--data", "--json", "-F", "--form"];
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
    let program = command.words.get(runs).map_or(program, |program| &**program);
    let words = || command.words.iter().skip(1 + runs).map(|word| &**word);
    if program == "git" {
        return verb == "push";
    }
    if is_in(program, REQUESTS) {
        let gets = words().any(|word| matches!(word, "-G" | "--get"));
        let has_data = !gets && words().any(|word| WITH_DATA.contains(&word) || word.starts_with("--data"));
        return has_data || words().any(|word| is_in(word, METHODS));
    }
    // `gh pr create`, `npm run deploy`: the verb is not always the first word.
    let verbs = VERBS.iter().find(|(programs, _)| is_in(program, programs)).map(|(_, verbs)| *verbs);
    is_in(program, ALWAYS)
        || is_in(verb, "deploy|publish")
        || verbs.is_some_and(|verbs| words().take(3).any(|word| is_in(word, verbs)))
}

/// Whether a word is one of a list, which has `|` between the words.
pub fn is_in(word: &str, list: &str) -> bool {
    list.split('|').any(|known| known == word)
}
