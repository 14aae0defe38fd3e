"""Says in Python what the program says of its command line: parameters for flags, and calls for commands."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from typing import Any

# These flags decide what is printed and where, which the functions of this module do themselves.
REFUSED = re.compile(
    "color|count|diff|dry_run|emit|exit_status|explain|force|help|in_place|jobs|json|latest|lines|output|output_dir|"
    "progress|quiet|repair|report|rescue|resume|sort|verbose|version"
)
MIDDLEWARE = "CompactionMiddleware"
# The functions that do what these flags do.
_FUNCTIONS = {"dry_run": "plan", "repair": "repair"}
# The commands of the program, and those that are functions here.
COMMANDS = {"count", "check", "repair", "redact", "search", "show", "restore", "list", "completions", "man", "help"}
_CALLS = {"check", "repair", "search", "show"}
# A word behind a flag is its value where it is quoted, one of these, before a colon, or has a digit or a sign in it.
_WORDS = (
    "all|any|anthropic|bedrock|codex|deepagents|deerflow|drop|embed|extractive|gemini|inspect|keep|langchain|loop|none|"
    "off|ollama|on|openhands|passthrough|pi|sharegpt|strict|synaptic|synthesize|system|tongyi|user"
)
_PLAIN = r"[^\s,;()']"
_VALUE = rf"'[^'\n]*'|(?:{_WORDS})(?![\w-])|{_PLAIN}+?(?=: )|{_PLAIN}*(?:[\d:/.{{_]|\w-\w){_PLAIN}*(?<![.:?])"
_PLACEHOLDER = r"(?:\[?=?| )<[^>\n]*>\]?| [A-Z]+(?::[A-Z]+)?(?:\.jsonl)?(?![\w-])"
_FLAG = re.compile(rf"(?<![\w-])--(?P<flag>[a-z]+(?:-[a-z]+)*)(?![\w-])(?:{_PLACEHOLDER}|[ =](?P<value>{_VALUE}))?")
_FLAG_ABOVE_CARETS = re.compile(r"^  --([a-z-]+)\n  \^\^", re.MULTILINE)
# What others wrote: a text in quotes, and what a command or a server said.
_QUOTED = re.compile(r'(`[^`\n]*`|"[^"\n]*"| (?:answered \d|ended with |failed: ).*)', re.DOTALL)
# The command that `_callback` makes of a function.
_SUMMARIZER = re.compile(r"`(?:eval \"\$|%)PYTHON_SUMMARIZER[\"%] ?([^`\n]*)`( ended with exit \w+: 1:)?")
_COUNTER = re.compile(r"--counter-cmd: `(?:eval \"\$|%)PYTHON_COUNTER[\"%] ?([^`\n]*)`")
# How the program quotes a word with control characters. It quotes others as `shlex` reads them.
_ESCAPED = re.compile(r"'[^']*'|\\.|\$'((?:[^'\\]|\\.)*)'")
_EXPORT = re.compile(r"export (\w+)=…")


def sentence(text: str) -> str:
    """Returns a sentence of the program for Python. What others wrote stays as it is."""
    text = re.sub(r"^standard input\b", "messages", text).replace("there is no flag", "there is no option")
    text = re.sub(r"\btcompact (check|repair|search|show)\b", r"\1", text)
    text = _FLAG_ABOVE_CARETS.sub(lambda found: f"  {found[1].replace('-', '_')}\n  ", text)
    text = _SUMMARIZER.sub(lambda found: f"the summarizer {found[1]}{' failed:' if found[2] else ''}", text)
    text = _COUNTER.sub(r"token_counter \1", text)
    parts = _QUOTED.split(text)
    parts[::2] = [_FLAG.sub(_parameter, part) for part in parts[::2]]
    return "".join(parts)


def hint(text: str, call: str, own: Sequence[str] = (), given: Sequence[str] = ()) -> str:
    """Returns what to try as a call of the function `call`.

    The arguments `own` of this module are not in it; those that were `given` to the middleware are not repeated.
    """
    command, _, note = text.partition("\n")
    if found := _EXPORT.fullmatch(command):
        command = f'os.environ["{found[1]}"] = "…"'
    elif command.startswith("tcompact "):
        left_out = {*own, *(given if call == MIDDLEWARE else ())}
        words = split(command)[1:]
        if words[:1] == [call] and call in _CALLS:
            del words[0]
            if words == ["--help"]:
                return f"help(tcompact.{call})"
        words = [word for word in words if word not in left_out or (call == "repair" and word == own[1])]
        has_summarizer = call != MIDDLEWARE and any(word.startswith("--summarizer-cmd=") for word in own)
        has_counter = call != MIDDLEWARE and any(word.startswith("--counter-cmd=") for word in own)
        functions = [
            name for name, is_given in (("summarizer", has_summarizer), ("token_counter", has_counter)) if is_given
        ]
        command = _call(words, call, functions) or f"{command}, in a shell"
    else:
        command = _FLAG.sub(_parameter, command)
    return "\n".join(filter(None, [command, _FLAG.sub(_parameter, note)]))


def split(command: str) -> list[str]:
    """Returns the words of a command as a shell reads them."""

    def read(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        # Each escape is a byte.
        text = found[1].encode().decode("unicode_escape", "replace").encode("latin-1", "replace")
        return shlex.quote(text.decode("utf-8", "replace"))

    return shlex.split(_ESCAPED.sub(read, command))


def _parameter(found: re.Match[str]) -> str:
    flag, value = found["flag"].replace("-", "_"), found["value"]
    if REFUSED.fullmatch(flag):
        return f"{_FUNCTIONS[flag]} {value or ''}".strip() if flag in _FUNCTIONS else found[0]
    return f"{_name(flag)}={_shown(_value(value.strip(chr(39))))}" if value else _name(flag)


def _call(words: list[str], call: str, functions: list[str]) -> str | None:
    """Returns the words of a command as a call; None where only the command line can do it."""
    flags: dict[str, list[Any]] = {}
    files: list[str] = []
    while words:
        flag, is_joined, value = words.pop(0).partition("=")
        if not flag.startswith("--"):
            files.append(flag + is_joined + value)
        elif flag != "--":
            if not is_joined and words and not words[0].startswith("--"):
                value, is_joined = words.pop(0), "="
            flags.setdefault(flag.removeprefix("--").replace("-", "_"), []).append(_value(value) if is_joined else True)
    is_command = bool(files) and files[0] in COMMANDS and call not in _CALLS
    if is_command or any(map(REFUSED.fullmatch, flags)):
        return None
    known: dict[str, list[Any]] = {"search": files, "show": files[::-1], MIDDLEWARE: [...]}
    first = ["messages", *map(_shown, files)] if call == "repair" else ["messages"]
    first = [_shown(one) for one in known[call]] if call in known else first
    given = [f"{_name(name)}={_shown(values if len(values) > 1 else values[0])}" for name, values in flags.items()]
    given.extend(f"{name}={name}" for name in functions)
    return f"{call}({', '.join([*first, *given])})"


def _name(flag: str) -> str:
    return flag + "_" if flag in ("for", "from") else flag.replace("-", "_")


def _value(text: str) -> Any:
    """Returns a number or an object where `text` is one as Python writes it, so that it becomes `text` again."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    is_same = isinstance(value, dict) or (isinstance(value, int | float) and str(value) == text)
    return value if is_same else text


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    if not isinstance(value, str):
        return "..." if value is ... else repr(value)
    text = json.dumps(value, ensure_ascii=False)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
