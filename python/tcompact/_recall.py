"""The tool `recall` of an agent: it searches and shows what was cut from the agent's own thread."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from tcompact import _program
from tcompact.errors import TcompactError

NAME = "recall"
THREAD = "{thread_id}"
# Of archives that can be read back.
ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst")
DESCRIPTION = (
    "Looks up messages that were cut from this conversation, word for word. A place as a summary or a note writes it "
    "reads these messages: [2:17], 17, 2:17-20, 3fa81c02:15. Anything else is a regular expression that they are "
    r"searched for; (?i) ignores case. A number alone is a place: search for it as \b404\b."
)
NOTE = f"the tool {NAME} finds what this summarizes by a regular expression, and shows a message by its place, as [12]."
_PLACE = re.compile(r"(#?\d+:|[\da-fA-F]{8}:|~)?\d+((-|\.\.)(#?\d+:|[\da-fA-F]{8}:)?\d+)?")
# What fits beside a conversation: messages that match, tokens of each that is shown, and characters of an answer and
# of an error.
_LIMIT, _TOKENS, _CHARACTERS, _OF_AN_ERROR = 10, 1500, 16_000, 1000
# No flag helps the agent, which has one text to give.
_CLIPPED = re.compile(r"^(\[[^]\n]*\] … [\d,]+ tokens); .*$", re.MULTILINE)
_LINES = re.compile(r"^(  … [\d,]+ more); to see all: tcompact show '?([^'\s]+)'? .*$", re.MULTILINE)
_FLAG = re.compile(r"^show (?=\S+: )| for '<(?:PATTERN|INDEXES)>'")
_MORE = re.compile(r"^tcompact: ([\d,]+) more; ", re.MULTILINE)
# No system refuses a file's name of this length.
_LONGEST = 160


def archive_of(template: str, thread: object) -> Path:
    """Returns the archive of a thread. Each thread has its own name, whatever its id is, and none leads elsewhere."""
    told = str(thread).encode("utf-8", "surrogatepass")
    # Systems that take `A` and `a` for one name have one file for each here, too.
    name = "".join(
        chr(byte) if chr(byte) in "0123456789abcdefghijklmnopqrstuvwxyz-_" else f"%{byte:02x}" for byte in told
    )
    if len(name) > _LONGEST:
        name = name[: _LONGEST - 65] + "%" + hashlib.sha256(told).hexdigest()
    return Path(template.replace(THREAD, name))


def recalled(archive: Path, asked: str, flags: Sequence[str]) -> str:
    """Returns what an archive has at a place or for a pattern, as text for a model. Errors are such a text, too."""
    if not archive.is_file():
        return "Nothing was cut from this conversation yet: all of it is in front of you."
    place = _place(asked)
    own = ["show", f"--limit-tokens={_TOKENS}"] if place else ["search", f"--limit={_LIMIT}"]
    words = [*own, *flags, "--", place or asked, str(archive)]
    try:
        code, out, printed = _program.run(NAME, [], words, b"", passes=frozenset({3}), logs=False)
    except TcompactError as error:
        # The program's own sentence, which can quote the text.
        why = _FLAG.sub("", str(error.args[0]), count=1).replace("; search finds ", "; a pattern finds ")
        return f"{NAME}: {why}"[:_OF_AN_ERROR]
    except (OSError, ValueError) as error:
        # The text is too long for an argument, or has a NUL.
        return f"{NAME}: {error}"[:_OF_AN_ERROR]
    if code:
        return "Nothing that was cut matches. Give fewer words, another spelling, or (?i) in front."
    text = _CLIPPED.sub(r"\1 left out; search for words of it to read there", out.rstrip("\n"))
    text = _LINES.sub(rf"\1; {NAME} \2 shows the message", text)
    if len(text) > _CHARACTERS:
        text = text[:_CHARACTERS].rpartition("\n")[0] + "\n… The answer is cut here: ask for less at once."
    more = _MORE.search(printed)
    return f"{text}\n{more[1]} more messages match: a narrower pattern shows them." if more else text


def _place(asked: str) -> str | None:
    """Returns the places that a text names, as the program takes them; None where it is a pattern."""
    places = [one.strip().removeprefix("[").removesuffix("]").strip() for one in asked.split(",")]
    return ",".join(places) if all(map(_PLACE.fullmatch, places)) else None
