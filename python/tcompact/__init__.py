"""Compacts transcripts of LLM conversations: the recent messages stay, one summary replaces what came before.

The functions run the program `tcompact`. Options have the long names of its flags, with underscores:
`compact(messages, keep="tokens:8k", context_window=128_000)`. A list stands for a flag that repeats, True for a bare
flag; names that Python reserves end in an underscore (`for_`, `from_`).

Messages are a list of dicts, or objects of openai, anthropic or langchain. A message that stays is the object that was
given; a new or shortened one is of the same kind.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

from tcompact import _program, _temporary
from tcompact._messages import Messages
from tcompact._program import __version__
from tcompact._sizes import Size, Trigger
from tcompact.errors import InputError, RefusedError, SummarizerError, TcompactError, UsageError, from_program

__all__ = [
    "Compaction",
    "InputError",
    "Plan",
    "RefusedError",
    "SummarizerError",
    "TcompactError",
    "UsageError",
    "Violation",
    "__version__",
    "check",
    "compact",
    "plan",
    "repair",
    "search",
    "show",
]

# The exit codes of the commands `search` and `check` that are not an error here.
_NOTHING_FOUND, _VIOLATIONS = 3, 6
Summarizer = Callable[[str], str]
TokenCounter = Callable[[str], int]


@dataclass(frozen=True)
class Compaction:
    """The result of `compact`. Tokens are counted as `counter` says, by default estimated."""

    messages: list[Any]
    summary: str | None
    """The text of the summary; None where nothing was summarized. Without the words around it, except where a preset or
    a prefix of your own puts no marks there and an `archive` is written."""
    cutoff: int
    """The index of the first message that was not summarized; 0 where nothing was."""
    status: Literal["compacted", "unchanged"]
    tokens_before: int
    tokens_after: int
    report: dict[str, Any]
    """All that `--report` says."""


class Plan(SimpleNamespace):
    """What a compaction would do: the keys of `--dry-run --json` as attributes. Sizes are in tokens."""

    source: str
    format: str
    counter: str
    messages: int
    tokens: int
    context_window: int | None
    triggered: bool
    fired: str | None
    wanted_cutoff: int
    cutoff: int
    moved_because: str | None
    reason: str | None = None
    pinned: list[int]
    prune: dict[str, dict[str, int]]
    summarize: dict[str, int]
    middle: dict[str, int]
    keep: dict[str, int]


@dataclass(frozen=True)
class Violation:
    """A breach of the provider's rules for calls and results: where, and the program's sentence."""

    index: int
    message: str


def compact(
    messages: Any,
    *,
    keep: Size | None = None,
    trigger: Trigger | None = None,
    fit: Size | None = None,
    prune: str | Sequence[str] | None = None,
    model: str | None = None,
    summarizer: Summarizer | None = None,
    token_counter: TokenCounter | None = None,
    preset: str | None = None,
    **flags: Any,
) -> Compaction:
    """Compacts messages. By default, the last 20 stay and the embedded summarizer writes the summary.

    `keep`, `trigger` and `fit` are sizes: `"messages:20"`, `"tokens:8k"`, `"fraction:0.5"`, `"steps:20"`, `"turns:3"`,
    `"bytes:1m"`, also as `("tokens", 8000)`. A number alone is messages for `keep`, and tokens for `trigger` and `fit`.
    `model` is `PROVIDER:MODEL`. `summarizer` is a function that gets the prompt and returns the summary,
    `token_counter` one that gets a text and returns its tokens, both in this thread. Among the other flags, `focus`
    says what the next work is about, and `archive` keeps what is cut, for `search` and `show`.

    Raises TcompactError: InputError, UsageError, SummarizerError or RefusedError. `on_error` says what else happens if
    the summarizer fails.
    """
    rules = {"keep": keep, "trigger": trigger, "fit": fit, "prune": prune, "model": model, "preset": preset}
    return run_compaction(Messages(messages), rules | flags, summarizer, token_counter)


def plan(
    messages: Any, *, summarizer: Summarizer | None = None, token_counter: TokenCounter | None = None, **flags: Any
) -> Plan:
    """Returns what `compact` would do with the same arguments. Asks no model and writes nothing.

    Raises InputError or UsageError.
    """
    return run_plan(Messages(messages), flags, summarizer, token_counter)


def check(messages: Any, **flags: Any) -> list[Violation]:
    """Returns each violation of the provider's rules for calls, results and turns.

    Raises InputError or UsageError.
    """
    given = Messages(messages)
    own = ["check", *_own(given, flags)]
    code, _, printed = _program.run("check", own, _program.options(flags), given.text, passes=frozenset({_VIOLATIONS}))
    found = re.findall(r"^tcompact: .*?: message (\d+): (.*)$", printed, re.MULTILINE)
    if code == _VIOLATIONS and not found:
        raise from_program(code, printed, "check", own)
    return [Violation(int(index), message) for index, message in found]


def repair(messages: Any, how: Literal["drop", "synthesize"] = "drop", **flags: Any) -> list[Any]:
    """Returns the messages with all violations mended: calls without a result are removed, or get one that says so.

    Raises InputError, also where a violation cannot be mended, or UsageError.
    """
    given = Messages(messages)
    own = ["repair", how, "--quiet", *_own(given, flags)]
    _, out, _ = _program.run("repair", own, _program.options(flags), given.text)
    restored: list[Any] = given.restored(json.loads(out))
    return restored


def search(pattern: str, *files: str | PathLike[str], limit: int | None = None, **flags: Any) -> list[dict[str, Any]]:
    """Returns the messages of archives and transcripts whose text matches a regular expression, the newest first.

    Each has the keys of `tcompact search --json`: `source`, `index` (what `show` takes), `role`, `tool` and `lines`.
    At most `limit` are returned, 20 if not given.

    Raises UsageError for a pattern that is none, or InputError.
    """
    asked = _program.options({"limit": limit} | flags)
    out = _program.look_up("search", asked, [pattern, *files], passes=frozenset({_NOTHING_FOUND}))
    return [json.loads(line) for line in out.splitlines()]


def show(file: str | PathLike[str], indices: int | str | Sequence[int | str], **flags: Any) -> list[Any]:
    """Returns messages of a transcript or an archive as they were: `17`, `"2:17"`, `"3-9,12"`, or a list of these.

    The second index of a range is not in it. With `archive`, the messages are those that were cut from `file`.

    Raises UsageError where there is no such message, or InputError.
    """
    places = [indices] if isinstance(indices, (int, str)) else indices
    words = [",".join(map(str, places)), file]
    messages: list[Any] = json.loads(_program.look_up("show", _program.options(flags), words))
    return messages


def run_plan(
    given: Messages,
    rules: dict[str, Any],
    summarizer: Summarizer | None,
    counter: TokenCounter | None = None,
    call: str = "plan",
) -> Plan:
    """Returns what a compaction by rules would do, for the function `call`."""
    own = ["--quiet", "--dry-run", "--json", *_own(given, rules)]
    # With a cache, a dry run would ask the model.
    _, out, _ = _program.run(call, own, _program.options(rules | {"cache": None}), given.text, summarizer, counter)
    return Plan(**_row(out))


def run_compaction(
    given: Messages,
    rules: dict[str, Any],
    summarizer: Summarizer | None,
    counter: TokenCounter | None = None,
    call: str = "compact",
) -> Compaction:
    """Compacts messages by rules, for the function `call`. The text of the summary is for `compact` alone."""
    with_summary = call == "compact"
    summaries: dict[str, str] = {}

    def once(prompt: str) -> str:
        if prompt not in summaries:
            summaries[prompt] = (summarizer or str)(prompt)
        return summaries[prompt]

    asked = once if summarizer else None
    if summarizer:
        once.__qualname__ = getattr(summarizer, "__qualname__", type(summarizer).__qualname__)
    options, own = _program.options(rules), ["--quiet", *_own(given, rules)]
    with _temporary.folder() as folder:
        is_cached = rules.get("cache") is not None
        if with_summary and not is_cached and (rules.get("preset") or rules.get("summary_prefix")):
            # A second run below finds the summary there.
            own.append(f"--cache={Path(folder, 'summaries')}")
            is_cached = True
        path = Path(folder, "report.jsonl")
        _, out, _ = _program.run(call, [*own, f"--report={path}"], options, given.text, asked, counter)
        report, written = _row(path.read_text("utf-8")), json.loads(out)
        is_compacted = report["status"] == "compacted"
        summary = None
        if with_summary and is_compacted and report["cutoff"]:
            summary, is_fenced = given.summary(written)
            # Another run asks nobody again, but would write an archive again.
            is_free = bool(asked or is_cached or not report["requests"]) and not rules.get("archive")
            if not is_fenced and is_free:
                summary = _summary(given, own, options, report, asked, counter) or summary
    return Compaction(
        messages=given.restored(written),
        summary=summary,
        cutoff=report["cutoff"] if is_compacted else 0,
        status="compacted" if is_compacted else "unchanged",
        tokens_before=report["tokens"],
        tokens_after=report["tokens_after"],
        report=report,
    )


def _summary(
    given: Messages,
    own: list[str],
    options: list[str],
    report: dict[str, Any],
    asked: Summarizer | None,
    counter: TokenCounter | None,
) -> str | None:
    """Returns the text of a summary that stands between no marks, by a second run that asks nobody again."""
    if report["error"] and report["provider"] != "extractive":
        # `on_error="embed"`
        return str(report["error"])
    dropped = ["--html="]
    if report["error"]:
        asked = None
        dropped += ["--model=", "--summarizer-cmd=", "--base-url=", "--api-key-env=", "--request-json="]
        own = [*own, "--model=extractive"]
    options = [one for one in options if not one.startswith(tuple(dropped))]
    _, out, _ = _program.run("compact", ["--emit=summary", "--json", *own], options, given.text, asked, counter)
    emitted = json.loads(out)
    return emitted and str(emitted["text"])


def _row(text: str) -> dict[str, Any]:
    """Returns what the program says of one conversation."""
    rows = text.splitlines()
    if len(rows) != 1:
        raise InputError(f"these are {len(rows)} conversations; give one at a time", 1)
    row: dict[str, Any] = json.loads(rows[0])
    return row


def _own(given: Messages, rules: dict[str, Any]) -> list[str]:
    is_told = "from" in rules or "from_" in rules
    return ["--from=langchain"] if given.is_langchain and not is_told else []
