"""Lets the program call a Python function for a summary.

The program runs this file as its `--summarizer-cmd`. It passes the prompt on to the process that started the program,
through a socket in a folder of this user (on Windows, a named pipe), and prints the answer. Both sides prove that they
know a random key, so that nobody else is answered.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import secrets
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Client, Connection, Listener
from types import TracebackType

_ADDRESS, _KEY, _COMMAND = "PYTHON_SUMMARIZER_ADDRESS", "PYTHON_SUMMARIZER_KEY", "PYTHON_SUMMARIZER"
_SUMMARY, _FAILURE = b"+", b"-"
_IS_WINDOWS = os.name == "nt"


class Server:
    """Answers the prompts of one run of the program with `summarizer`, in the thread that runs it."""

    def __init__(self, summarizer: Callable[[str], str]) -> None:
        self._summarizer = summarizer
        self._key = secrets.token_bytes(32)
        self._listener = Listener(authkey=self._key)
        self._asked: queue.SimpleQueue[tuple[Connection, str] | None] = queue.SimpleQueue()
        self._is_closing = False
        self.error: Exception | None = None
        """What `summarizer` raised last."""
        name = re.sub(r"[^\w.:/-]", "", getattr(summarizer, "__qualname__", type(summarizer).__qualname__))
        # Summaries in `cache` are found by the command, and so by the name of the function.
        self.command = f"%{_COMMAND}% {name}" if _IS_WINDOWS else f'eval "${_COMMAND}" {name}'

    def __enter__(self) -> Server:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_closing = True
        # Wakes the thread that waits for a connection.
        Client(self._listener.address, authkey=self._key).close()
        self._listener.close()

    def run(self, command: list[str], text: bytes, environment: dict[str, str], flags: int) -> tuple[int, bytes, bytes]:
        """Runs the program, and returns its exit code, standard output and standard error."""
        known = {_ADDRESS: str(self._listener.address), _KEY: self._key.hex()}
        words = [sys.executable, "-I", "-S", __file__]
        known[_COMMAND] = subprocess.list2cmdline(words) if _IS_WINDOWS else shlex.join(["exec", *words])
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment | known, creationflags=flags
        )
        outputs: list[bytes] = []

        def communicate() -> None:
            outputs.extend(process.communicate(text))
            self._asked.put(None)

        thread = threading.Thread(target=communicate, daemon=True)
        thread.start()
        try:
            while (asked := self._asked.get()) is not None:
                self._answer(*asked)
        except BaseException:
            process.terminate()
            raise
        finally:
            thread.join()
        return process.returncode, outputs[0], outputs[1]

    def _accept(self) -> None:
        while not self._is_closing:
            try:
                connection = self._listener.accept()
                self._asked.put((connection, connection.recv_bytes().decode("utf-8")))
            except Exception:  # noqa: S112 - one that lacks the key, or that went away, is not answered
                continue

    def _answer(self, connection: Connection, prompt: str) -> None:
        with connection:
            try:
                summary = self._summarizer(prompt)
                if not isinstance(summary, str):
                    raise TypeError(f"the summarizer must return a str, and returned {type(summary).__name__}")
                answer = _SUMMARY + summary.encode("utf-8")
            except Exception as error:
                self.error = error
                answer = _FAILURE + f"{type(error).__name__}: {error}".encode("utf-8", "replace")
            # The program may wait no longer.
            with contextlib.suppress(OSError):
                connection.send_bytes(answer)


def _main() -> int:
    with Client(os.environ[_ADDRESS], authkey=bytes.fromhex(os.environ[_KEY])) as connection:
        connection.send_bytes(sys.stdin.buffer.read())
        answer = connection.recv_bytes()
    is_summary = answer[:1] == _SUMMARY
    (sys.stdout if is_summary else sys.stderr).buffer.write(answer[1:])
    return 0 if is_summary else 1


if __name__ == "__main__":
    sys.exit(_main())
