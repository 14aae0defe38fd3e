"""What is outside of the package: the working directory, the path, the environment, and whoever connects."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from tcompact import TcompactError, _callback, _program, check, compact, plan, repair

NOTES = "They looked at the file, which reads one line after the other. Nothing is changed yet."


def chat() -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    return [{"role": roles[turn % 2], "content": f"Message {turn}. " + "Look at it. " * 30} for turn in range(12)]


@contextmanager
def hostile_folder() -> Iterator[Path]:
    """A working directory with programs and modules of all names that somebody could look up."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for place in (folder, folder / "bin", folder / "node_modules"):
            place.mkdir(exist_ok=True)
            for file in ("tcompact", "tcompact.exe", "sh", "python3", Path(sys.executable).name):
                (place / file).write_text(f"#!/bin/sh\necho {file} >> '{folder}/TAKEN'\n")
                (place / file).chmod(0o755)
            for module in ("hmac", "socket", "struct", "tempfile", "secrets", "tcompact", "sitecustomize"):
                taken = f"open({str(folder / 'TAKEN')!r}, 'a').write({module!r})\n"
                (place / f"{module}.py").write_text(taken)
        (folder / "pyvenv.cfg").write_text("home = .\n")
        (folder / "tcompact.toml").write_text("summarizer-cmd = 'touch TAKEN'\n")
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)


class TemporaryFolders(unittest.TestCase):
    def run_with(self, folder: str) -> None:
        with mock.patch.dict(os.environ, {"TMPDIR": folder}), mock.patch.object(tempfile, "tempdir", None):
            done = compact(chat(), keep="messages:4", summarizer=lambda _: NOTES, ledger="off")
            self.assertEqual(done.summary, NOTES)
            counted = compact(chat(), keep="messages:4", token_counter=len, summary_prefix="Notes:\n")
            self.assertEqual(counted.status, "compacted")

    def test_one_that_cannot_be_used_is_not_needed(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            real = Path(name).resolve()
            (real / "file").touch()
            (real / "closed").mkdir(mode=0o500)
            long = [real, real]
            for at, length in enumerate((210, 4010)):
                while len(str(long[at])) < length:
                    long[at] /= "d" * min(199, length - len(str(long[at])))
                long[at].mkdir(parents=True, exist_ok=True)
            unusable = [str(real / name) for name in ("file", "closed", "missing")]
            for folder in [*map(str, long), *unusable, "/" + "m/" * 2500]:
                with self.subTest(folder=folder[-30:]):
                    self.run_with(folder)
            for folder in map(str, long):
                self.assertEqual([left for left in Path(folder).iterdir() if not left.name.startswith("d")], [])

    def test_without_any_the_error_says_what_to_do(self) -> None:
        denied = PermissionError(13, "Permission denied")
        with mock.patch.object(tempfile, "mkdtemp", side_effect=denied):
            for summarizer in (None, str):
                with self.assertRaisesRegex(
                    TcompactError, "be made: Permission denied; set TMPDIR to one with a short"
                ):
                    compact(chat(), keep="messages:4", summarizer=summarizer)
            with self.assertRaisesRegex(TcompactError, "set TMPDIR"):
                plan(chat(), token_counter=len)
        with mock.patch.object(tempfile, "gettempdir", side_effect=FileNotFoundError("none")):
            self.assertRaisesRegex(TcompactError, "there is none that can be written to", compact, chat())


class WorkingDirectory(unittest.TestCase):
    def test_nothing_of_the_working_directory_is_run(self) -> None:
        program = _program.find()
        folders = ["", ".", "bin", "./bin", "node_modules"]
        paths = [os.pathsep.join([*before, os.environ["PATH"]]) for before in [[], *([folder] for folder in folders)]]
        for path in [*paths, os.pathsep.join([*folders, os.environ["PATH"], ""])]:
            for python_path in ["", ".", "bin"]:
                with self.subTest(path=path[:20], python_path=python_path), hostile_folder() as folder:
                    settings = {"PATH": path, "PYTHONPATH": python_path, "TCOMPACT_BIN": program}
                    settings |= {"PYTHONSTARTUP": "hmac.py", "PYTHONHOME": ""}
                    with mock.patch.dict(os.environ, settings):
                        done = compact(chat(), keep="messages:4", summarizer=lambda _: NOTES, ledger="off")
                    self.assertEqual(done.summary, NOTES)
                    self.assertFalse((folder / "TAKEN").exists())

    def test_the_program_is_never_one_of_the_working_directory(self) -> None:
        program = _program.find()
        with tempfile.TemporaryDirectory() as real:
            Path(real, "tcompact").symlink_to(program)
            for before in ["", ".", "bin", "./bin", os.curdir + os.sep]:
                with self.subTest(before=before), hostile_folder() as folder:
                    named = {"TCOMPACT_BIN": "tcompact", "PATH": os.pathsep.join([before, real])}
                    with mock.patch.dict(os.environ, named):
                        self.assertEqual(_program.find(), str(Path(real, "tcompact")))
                    with mock.patch.dict(os.environ, named | {"PATH": before}):
                        self.assertRaisesRegex(TcompactError, "no program of this name on the path", check, chat())
                    for relative in ("./tcompact", "bin/tcompact"):
                        with mock.patch.dict(os.environ, named | {"TCOMPACT_BIN": relative}):
                            self.assertRaisesRegex(TcompactError, "give the whole path", check, chat())
                    self.assertFalse((folder / "TAKEN").exists())

    def test_a_program_that_never_tells_its_version(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            slow = Path(folder, "tcompact")
            slow.write_text("#!/bin/sh\nexec sleep 60\n")
            slow.chmod(0o755)
            soon = mock.patch.object(_program, "_VERSION_SECONDS", 0.5)
            with soon, mock.patch.dict(os.environ, {"TCOMPACT_BIN": str(slow)}):
                self.assertRaisesRegex(TcompactError, "cannot be started: .*timed out", check, chat())


class Environment(unittest.TestCase):
    def test_settings_of_the_environment_do_not_count(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            taken = Path(folder, "taken")
            values = {
                "SUMMARIZER_CMD": f"touch {taken}; echo taken",
                "MODEL": "openai:taken",
                "BASE_URL": "http://127.0.0.1:9",
                "CONFIG": str(taken),
                "ARCHIVE": f"{taken}.jsonl",
                "CACHE": str(taken),
                "HTML": f"{taken}.html",
                "REPORT": str(taken),
                "OUTPUT": str(taken),
                "EMIT": "summary",
                "KEEP": "nonsense",
                "FIT": "tokens:1",
                "PRESET": "deepagents",
                "TRIGGER": "messages:1000",
                "NEW_ONE": "x",
            }
            settings = {f"TCOMPACT_{name}": value for name, value in values.items()}
            plain = compact(chat(), keep="messages:4")
            with mock.patch.dict(os.environ, settings | {"tcompact_keep": "nonsense"}):
                kept = [name for name in _program.environment() if name.upper().startswith("TCOMPACT_")]
                self.assertLessEqual(set(kept), {"TCOMPACT_BIN"})
                done = compact(chat(), keep="messages:4")
                self.assertEqual((done.messages, done.summary), (plain.messages, plain.summary))
                self.assertEqual(plan(chat(), keep="messages:4").cutoff, plain.cutoff)
                self.assertEqual((check(chat()), repair(chat())), ([], chat()))
            self.assertEqual(list(Path(folder).iterdir()), [])


# What somebody says who has connected, and stays; None goes at once.
STRANGERS: list[tuple[str, bytes | None]] = [
    ("nothing", b""),
    ("goes at once", None),
    ("half a message", b"x" * 10),
    ("garbage", b"\xff" * 4096),
    ("a wrong key", b"n" * 32 + b"k" * 32 + b"\0" * 8),
    ("a size without end", b"n" * 32 + b"k" * 32 + b"\xff" * 8),
]


@unittest.skipIf(os.name == "nt", "the address is another there")
class Strangers(unittest.TestCase):
    def meets(self, say: Callable[[str], None]) -> float:
        """Compacts while `say` is called with the address of the socket; returns how long it takes."""
        enter = _callback.Server.__enter__

        def entered(server: _callback.Server) -> _callback.Server:
            opened = enter(server)
            say(server._listener.address)
            return opened

        began = time.monotonic()
        with mock.patch.object(_callback.Server, "__enter__", entered):
            done = compact(chat(), keep="messages:4", summarizer=lambda _: NOTES, ledger="off", timeout=8)
        self.assertEqual(done.summary, NOTES)
        return time.monotonic() - began

    def test_nobody_else_hangs_or_breaks_a_run(self) -> None:
        for how, text in STRANGERS:
            for number in (1, 3, 200):
                with self.subTest(how=how, number=number):
                    connections = []

                    def say(address: str, text: bytes | None = text, number: int = number) -> None:
                        for _ in range(number):
                            connection = socket.socket(socket.AF_UNIX)
                            connection.connect(address)
                            connection.settimeout(5)
                            connections.append(connection)  # noqa: B023
                            # Who says something wrong is dropped, perhaps in the middle.
                            with contextlib.suppress(OSError):
                                connection.sendall(text or b"")
                            if text is None:
                                connection.close()

                    self.assertLess(self.meets(say), 6)
                    for connection in connections:
                        connection.close()

    def test_threads_and_folders_do_not_stay(self) -> None:
        before = threading.active_count()
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(tempfile, "tempdir", folder):
            kept = []

            def say(address: str) -> None:
                kept.append(socket.socket(socket.AF_UNIX))
                kept[-1].connect(address)

            self.meets(say)
            self.assertEqual(list(Path(folder).iterdir()), [])
            deadline = time.monotonic() + 5
            while threading.active_count() > before and time.monotonic() < deadline:
                time.sleep(0.02)
            # Those of an earlier test may have ended since.
            self.assertLessEqual(threading.active_count(), before)
            kept[0].close()

    def test_one_who_says_nothing_is_dropped(self) -> None:
        with mock.patch.object(_callback, "_SOON", 0.2), _callback.Server(str) as server:
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(5)
            connection.connect(server._listener.address)
            self.assertEqual(connection.recv(1), b"")
            connection.close()
