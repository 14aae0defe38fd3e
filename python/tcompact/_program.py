"""Finds the program, checks its version and runs it."""

from __future__ import annotations

import functools
import json
import logging
import os
import platform
import re
import subprocess
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tcompact import _callback, _sentences, _sizes, _temporary
from tcompact.errors import TcompactError, UsageError, from_program

__version__ = "0.1.0"

_log = logging.getLogger("tcompact")
_BIN = "TCOMPACT_BIN"
# Without an equals sign, which would begin a value.
_OPTION = re.compile("[a-z][a-z0-9_]*")
# How long a program may take to tell its version.
_VERSION_SECONDS = 10
NO_WINDOW: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)


def options(flags: Mapping[str, Any]) -> list[str]:
    """Returns the arguments of the program for options: `context_window=9` is `--context-window=9`.

    A list stands for a flag that repeats, True for a bare flag, None and False for a flag that is not given. An
    underscore at the end is dropped, for names that Python reserves (`from_`, `for_`).

    Raises UsageError for a flag that decides what is printed, and for what is not the name of an option.
    """
    arguments = []
    for key, value in flags.items():
        name = key.rstrip("_").replace("-", "_")
        if not _OPTION.fullmatch(name):
            raise UsageError(f"{key!r} is not the name of an option", 2)
        if name in _sentences.COMMANDS and not _sentences.REFUSED.fullmatch(name) and name != "redact":
            raise UsageError(f"{name} is a command of the program and not an option", 2)
        if _sentences.REFUSED.fullmatch(name):
            raise UsageError(f"{name}: this flag decides what the program prints; it works on the command line only", 2)
        flag, value = "--" + name.replace("_", "-"), _sizes.of_flag(name, value)
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                arguments.append(flag)
            elif one is not None and one is not False:
                arguments.append(f"{flag}={json.dumps(one) if isinstance(one, Mapping) else one}")
    return arguments


def environment() -> dict[str, str]:
    """Returns the environment without settings of the program: what is not an option here is not set."""
    return {
        name: value for name, value in os.environ.items() if name == _BIN or not name.upper().startswith("TCOMPACT_")
    }


def find() -> str:
    """Returns the path of the program: `TCOMPACT_BIN`, else beside the interpreter, else on the path.

    Nothing is looked for in the working directory, which can be anybody's.

    Raises TcompactError if there is none, or if it is older than this module.
    """
    name = "tcompact" + (sysconfig.get_config_var("EXE") or "")
    named = _named()
    scheme = sysconfig.get_preferred_scheme("user")
    # `pip install --target` puts programs beside the packages.
    package = Path(__file__).resolve().parent.parent
    folders = [Path(sysconfig.get_path("scripts")), package / "bin", Path(sysconfig.get_path("scripts", scheme))]
    installed = (str(path) for path in (folder / name for folder in folders) if path.is_file())
    path = named or next(installed, None) or _on_path(name)
    if path is None:
        raise TcompactError(
            f"this package has no program for {platform.system()} {platform.machine()}; build it in a checkout of "
            "tcompact with `cargo install --path .`, or set TCOMPACT_BIN to its path",
            hint="cargo install --path .",
        )
    _check_version(path)
    return path


def _named() -> str | None:
    """Returns the program that `TCOMPACT_BIN` names by its whole path, or by a name on the path."""
    named = os.environ.get(_BIN)
    if not named or Path(named).is_absolute():
        return named
    if Path(named).name != named:
        raise TcompactError(f"{_BIN}={named}: give the whole path, or a name alone, which is looked up on the path")
    path = _on_path(named)
    if path is None:
        raise TcompactError(f"{_BIN}={named}: there is no program of this name on the path")
    return path


def _on_path(name: str) -> str | None:
    """Returns a program on the path, but for entries that depend on the working directory."""
    folders = filter(Path.is_absolute, map(Path, os.environ.get("PATH", "").split(os.pathsep)))
    paths = (folder / name for folder in folders)
    return next((str(path) for path in paths if path.is_file() and os.access(path, os.X_OK)), None)


@functools.cache
def _check_version(path: str) -> None:
    command = [path, "--version"]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=environment(),
            timeout=_VERSION_SECONDS,
            creationflags=NO_WINDOW,
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError) as error:
        raise TcompactError(f"{path}: the program cannot be started: {error}") from error
    words = done.stdout.split()
    if done.returncode or words[:1] != ["tcompact"]:
        raise TcompactError(f"{path} is not tcompact; set TCOMPACT_BIN to its path", done.returncode)
    if _numbers(words[1]) < _numbers(__version__):
        raise TcompactError(
            f"{path} is tcompact {words[1]}, older than this module ({__version__}); install both from one version"
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.partition("-")[0].split("."))


def run(
    call: str,
    own: list[str],
    given: list[str],
    text: bytes,
    summarizer: Callable[[str], str] | None = None,
    counter: Callable[[str], int] | None = None,
    passes: frozenset[int] = frozenset(),
    logs: bool = True,
) -> tuple[int, str, str]:
    """Runs the program on `text`, and returns its exit code, its standard output and its standard error.

    The arguments are `own` of this module, which no error names, and those that the caller of the function `call` gave.
    `summarizer` is called in this thread with each prompt, and `counter` with each text. `passes` are exit codes beside
    0 that are not an error. With `logs`, the logger gets what is printed beside a result.

    Raises TcompactError for other exit codes, and whatever `counter` raises, or `summarizer` that is not an Exception.
    """
    program = find()
    cause: Exception | None = None
    if summarizer is None and counter is None:
        done = subprocess.run(
            [program, *own, *given], input=text, capture_output=True, env=environment(), creationflags=NO_WINDOW
        )
        code, out, err = done.returncode, done.stdout, done.stderr
    else:
        with _callback.Server(summarizer, counter, _temporary.make_for_socket) as server:
            own = [*own, *server.flags]
            code, out, err = server.run([program, *own, *given], text, environment(), NO_WINDOW)
        if server.counter_error is not None:
            raise server.counter_error
        cause = server.error
    printed = err.decode("utf-8", "replace").strip()
    if code and code not in passes:
        raise from_program(code, printed, call, own, given) from cause
    for note in printed.splitlines() if logs and not code else []:
        _log.warning("%s", _sentences.sentence(note.removeprefix("tcompact: ")))
    return code, out.decode("utf-8"), printed


def look_up(call: str, asked: list[str], words: list[Any], passes: frozenset[int] = frozenset()) -> str:
    """Returns what a command prints as JSON, for its flags and its words: what is looked for, and the files."""
    _, out, _ = run(call, [call, "--json"], [*asked, "--", *map(os.fspath, words)], b"", passes=passes)
    return out
