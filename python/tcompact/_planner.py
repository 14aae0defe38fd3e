"""A program that stays, and says of one conversation after the other whether a compaction would change it.

A step of an agent mostly needs none, and to start a program takes longer than to count the messages.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess
import threading
import weakref
from collections.abc import Callable
from typing import IO, Any, cast

from tcompact import _program

# Agents with the same options share a program. Of more programs than these, the one used least recently ends.
_MOST_PROGRAMS = 8


def surely_unchanged(options: list[str], text: bytes) -> bool:
    """Whether the program would leave a transcript of one line as it is. False where it does not say so.

    Raises TcompactError if there is no program.
    """
    # Threads of a forked process do not know this one's locks, and other settings are of another run.
    key = (os.getpid(), _program.find(), tuple(_program.environment().items()), tuple(options))
    row = _planner(*key).row(text)
    # Where a preset is triggered and nothing can be cut, it may say so with an error.
    has_preset = any(option.startswith("--preset=") for option in options)
    return "reason" in row and not (has_preset and row["triggered"])


@functools.lru_cache(_MOST_PROGRAMS)
def _planner(pid: int, path: str, environment: tuple[tuple[str, str], ...], options: tuple[str, ...]) -> _Planner:
    own = ["--quiet", "--dry-run", "--json", "--lines=conversations", "--jobs=1"]
    return _Planner([path, *own, *options], dict(environment))


class _Planner:
    """One program with its options. It starts with the first question, and again after one that it cannot answer."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._command, self._environment = command, environment
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._end: Callable[[], object] = bool

    def row(self, text: bytes) -> dict[str, Any]:
        """Returns what `--dry-run --json` says of a transcript; nothing where that is an error."""
        with self._lock:
            try:
                process = self._process or self._start()
                written, printed = cast(IO[bytes], process.stdin), cast(IO[bytes], process.stdout)
                written.write(text + b"\n")
                written.flush()
                row: dict[str, Any] = json.loads(printed.readline())
                return row
            except (OSError, ValueError):
                self._stop()
                return {}
            except BaseException:
                # The answer to this question would be taken for that to the next one.
                self._stop()
                raise

    def _start(self) -> subprocess.Popen[bytes]:
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        self._process = process = subprocess.Popen(
            self._command,
            stdin=pipe,
            stdout=pipe,
            stderr=nowhere,
            env=self._environment,
            creationflags=_program.NO_WINDOW,
        )
        self._end = weakref.finalize(self, _end, process, os.getpid())
        return process

    def _stop(self) -> None:
        self._end()
        self._process = None


def _end(process: subprocess.Popen[bytes], pid: int) -> None:
    if os.getpid() == pid:
        with contextlib.suppress(OSError), process:
            process.terminate()
