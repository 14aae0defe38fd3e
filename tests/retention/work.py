"""What a summary keeps of a coding agent's work: files changed, how commands ended, the user's rules, numbers in results."""
import json
import re

from facts import holds, literals, plain, sentences, told
from transcripts import calls

EDITS = {"edit", "write", "multiedit", "notebookedit", "write_file", "edit_file", "str_replace", "create_file", "apply_patch"}
SHELLS = {"bash", "shell", "execute_bash", "run_command", "terminal", "execute"}
# Commands that only look, or are over at once: how they ended is of no use to anybody.
LOOKS = set("ls cat grep rg find sed head tail awk wc echo pwd cd which tree diff sleep cp mkdir rm export".split())
WRITES = re.compile(r"(?:cat|tee)\s*>+\s*([\w./-]+)|^sed -i\S*\s.*?\s([\w./-]+\.\w+)$")
RULE = re.compile(r"""\b(?:never|always|must(?:n't)?|only|do\ not|don't|should(?:n't|\ not)|no\ more\ than|at\ most|at\ least
    |make\ sure|prefer|avoid|budget|deadline|limit)\b | 不要|必须|只能|禁止|预算|截止|最多|至少|总是|务必""", re.I | re.X)
ENDS = re.compile(r"\b(?:error|failed|failure|failures|passed|exception|exit code|exit status|returncode|warnings?|FAIL|ok)\b", re.I)
CODE = re.compile(r"""^\s*(?: \d+\s*[→:\-|\t] | [+\-#] | // | (?:def|class|import|from|raise|if|func)\ | return | except | assert
    | [\w./-]+[:\-]\d+[:\-] ) | [{;(,\\]\s*$""", re.X)


def runs(step):
    """Whether a step of a command does more than look, as far as its first word tells."""
    program = step.split()[0]
    return program not in LOOKS and "=" not in program and step.count('"') % 2 == 0 == step.count("'") % 2


def done(head):
    """Files changed, and the exit code of each command that was run, where it is known, by its first words."""
    files, ended = set(), {}
    answers = {m["tool_call_id"]: m["content"] for m in head if "tool_call_id" in m}
    for id, name, arguments in calls(head):
        try:
            given = json.loads(arguments)
        except ValueError:
            continue
        name, command, path = name.lower(), given.get("command"), given.get("file_path") or given.get("path")
        if name in EDITS or (name.startswith("str_replace") and command in ("create", "str_replace", "insert")):
            files.update([path] if path else [])
        elif name in SHELLS and isinstance(command, str):
            steps = [step.strip() for step in re.split(r"&&|;|\n", re.sub(r"<<.*?\n.*", "", command, flags=re.S))]
            files.update(a or b for step in steps for a, b in WRITES.findall(step))
            first = next((step for step in steps if step and runs(step)), None)
            if first and "<<" not in command and not re.search(r"(?:^|\s)>\s*\S", first):
                result = answers.get(id, "")
                code = re.search(r"(?:<returncode>|[Ee]xit code:? )(-?\d+)", result)
                failed = "1" if re.match("Error|Traceback", result) else None
                ended[" ".join(re.split(r"2>|\|", first)[0].split()[:6])] = code[1] if code else failed
    return files, ended


def words(text):
    return set(re.findall(r"[\w./-]*\w", text.lower()))


def work(head, summary):
    """(kept, of) for each kind; a file by its last two parts, a command by 60 % of its words and how it ended in one line."""
    files, ended = done(head)
    within, lines = plain(summary), [words(line) for line in summary.split("\n")]
    def ends(command, code):
        wanted = {word for word in words(command) if not word.startswith("-")}
        signs = {"0": {"ok", "0", "passed"}, None: set()}.get(code, {code, "failed", "error"})
        return any(len(wanted & line) >= 0.6 * len(wanted) and (not signs or signs & line) for line in lines)
    rules = [s for m in head if m["role"] == "user" for s in sentences(m["content"]) if RULE.search(s) and 12 <= len(s) <= 400]
    said = [line for m in head if m["role"] == "tool" for line in m["content"].split("\n")]
    said = "\n".join(line for line in said if len(line) < 400 and ENDS.search(line) and not CODE.search(line))
    numbers = [literal for literal in literals(said, quoted=False) if re.match(r"v?[\d$€£¥]", literal)]
    return {
        "files": (sum("/".join(path.lower().split("/")[-2:]).removeprefix("./") in summary.lower() for path in files), len(files)),
        "ended": (sum(ends(*one) for one in ended.items()), len(ended)),
        "rules": told(rules, summary),
        "numbers": (sum(holds(within, number) for number in numbers), len(numbers)),
    }


def said(head, summary):
    """(kept, of): what the user said, and what the model said last, each sentence by 60 % of its words in one line."""
    spoken = [m["content"] for m in head if m["role"] == "assistant" and m["content"].strip()]
    users = [s for m in head if m["role"] == "user" for s in sentences(m["content"]) if len(s) <= 600]
    return {"user": told(users, summary), "next": told(sentences(spoken[-1])[-3:] if spoken else [], summary)}
