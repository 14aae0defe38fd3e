"""Lets the program call a Python function for a summary, and another one for the tokens of each text.

The program runs this file as its `--summarizer-cmd` and its `--counter-cmd`. It passes the prompt or the texts on to
the process that started the program, through a socket in a folder of this user (on Windows, one of this machine), and
prints the answers. Both sides prove that they know a random key, so that nobody else is answered. Whoever connects and
does not prove it soon is dropped.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import queue
import re
import secrets
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

_ADDRESS, _KEY, _COMMAND = "PYTHON_SUMMARIZER_ADDRESS", "PYTHON_SUMMARIZER_KEY", "PYTHON_SUMMARIZER"
_COUNT_COMMAND, _COUNT = "PYTHON_COUNTER", "--count"
# What is asked: a summary, or the tokens of a text. How it is answered.
_PROMPT, _TEXT = b"p", b"t"
_ANSWER, _FAILURE = b"+", b"-"
_IS_WINDOWS = os.name == "nt"
# Not what a later change of the working directory makes of it.
_THIS_FILE = str(Path(__file__).resolve())

# In seconds: until both sides have proved that they know the key, and until a prompt is here or an answer is taken.
_SOON, _LATER = 10.0, 60.0
# Connections that have not proved it yet; of more, the oldest is dropped.
_MOST_STRANGERS = 64
# Connections that the system keeps until they are accepted.
_MOST_WAITING = 1024
# How long a thread waits before it looks whether it is to end.
_LOOK = 0.2
_NONCE, _LENGTH = 32, struct.Struct("!Q")


class _Peer:
    """One end of a connection, with a deadline for all that it waits for."""

    def __init__(self, connection: socket.socket, key: bytes) -> None:
        self.connection, self._key = connection, key
        self.wait(_SOON)

    def wait(self, seconds: float | None) -> None:
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def receive(self, length: int) -> bytes:
        received = bytearray()
        while len(received) < length:
            self._set_timeout()
            part = self.connection.recv(min(length - len(received), 1 << 20))
            if not part:
                raise EOFError
            received += part
        return bytes(received)

    def send(self, data: bytes) -> None:
        self._set_timeout()
        self.connection.sendall(data)

    def receive_sized(self) -> bytes:
        return self.receive(_LENGTH.unpack(self.receive(_LENGTH.size))[0])

    def send_sized(self, data: bytes) -> None:
        self.send(_LENGTH.pack(len(data)) + data)

    def prove(self, whose: bytes, nonce: bytes) -> None:
        self.send(self._proof(whose, nonce))

    def check(self, whose: bytes, nonce: bytes) -> None:
        if not hmac.compare_digest(self.receive(_NONCE), self._proof(whose, nonce)):
            raise PermissionError("the other side does not know the key")

    def _proof(self, whose: bytes, nonce: bytes) -> bytes:
        return hmac.digest(self._key, whose + nonce, "sha256")

    def _set_timeout(self) -> None:
        remaining = None if self._deadline is None else self._deadline - time.monotonic()
        if remaining is not None and remaining <= 0:
            raise TimeoutError
        self.connection.settimeout(remaining)


class _Listener:
    """A socket in a folder of this user, which it removes; on Windows, one that only this machine reaches."""

    def __init__(self, make_folder: Callable[[], str]) -> None:
        if _IS_WINDOWS:
            self._folder: str | None = None
            self._socket = socket.create_server(("127.0.0.1", 0), backlog=_MOST_WAITING)
            self.address = str(self._socket.getsockname()[1])
        else:
            self._folder = make_folder()
            self._socket = socket.socket(socket.AF_UNIX)
            self.address = str(Path(self._folder, "socket"))
            try:
                self._socket.bind(self.address)
                self._socket.listen(_MOST_WAITING)
            except BaseException:
                self.close()
                raise
        self._socket.settimeout(_LOOK)

    def accept(self) -> socket.socket:
        return self._socket.accept()[0]

    def wake(self) -> None:
        """Ends a wait for a connection."""
        with contextlib.suppress(OSError):
            _connect(self.address).close()

    def close(self) -> None:
        self._socket.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


class Server:
    """Answers the prompts and texts of one run of the program with functions, in the thread that runs it."""

    def __init__(
        self,
        summarizer: Callable[[str], str] | None,
        counter: Callable[[str], int] | None = None,
        make_folder: Callable[[], str] = tempfile.mkdtemp,
    ) -> None:
        self._summarizer, self._counter = summarizer, counter
        self._key = secrets.token_bytes(32)
        self._asked: queue.SimpleQueue[tuple[_Peer, bytes] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._strangers: list[_Peer] = []
        self._is_closing = False
        self._listener = _Listener(make_folder)
        self.error: Exception | None = None
        """What `summarizer` raised last."""
        self.counter_error: Exception | None = None
        """What `counter` raised."""
        # Summaries in `cache` are found by the command, and so by the name of the function.
        asked = (("summarizer-cmd", _COMMAND, summarizer), ("counter-cmd", _COUNT_COMMAND, counter))
        self.flags = [f"--{flag}={_command(variable, one)}" for flag, variable, one in asked if one is not None]

    def __enter__(self) -> Server:
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_closing = True
        self._listener.wake()
        self._accepting.join()
        self._listener.close()
        with self._lock:
            for peer in self._strangers:
                _drop(peer)

    def run(self, command: list[str], text: bytes, environment: dict[str, str], flags: int) -> tuple[int, bytes, bytes]:
        """Runs the program, and returns its exit code, standard output and standard error."""
        known = {_ADDRESS: self._listener.address, _KEY: self._key.hex()}
        words = [sys.executable, "-I", "-S", _THIS_FILE]
        for variable, more in (_COMMAND, []), (_COUNT_COMMAND, [_COUNT]):
            run = [*words, *more]
            known[variable] = subprocess.list2cmdline(run) if _IS_WINDOWS else shlex.join(["exec", *run])
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment | known, creationflags=flags
        )
        outputs: list[bytes] = []

        def communicate() -> None:
            try:
                outputs.extend(process.communicate(text))
            finally:
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
            except TimeoutError:
                continue
            except OSError:
                # One that went away, or no descriptor is left for it now.
                time.sleep(_LOOK / 10)
                continue
            if self._is_closing:
                connection.close()
                return
            peer = _Peer(connection, self._key)
            with self._lock:
                self._strangers.append(peer)
                if len(self._strangers) > _MOST_STRANGERS:
                    _drop(self._strangers.pop(0))
            try:
                # In a thread of its own, so that one that says nothing keeps nobody waiting.
                threading.Thread(target=self._hear, args=(peer,), daemon=True).start()
            except RuntimeError:
                self._forget(peer)
                connection.close()

    def _hear(self, peer: _Peer) -> None:
        try:
            peer.prove(b"server", peer.receive(_NONCE))
            nonce = secrets.token_bytes(_NONCE)
            peer.send(nonce)
            peer.check(b"client", nonce)
            self._forget(peer)
            peer.wait(_LATER)
            asked = peer.receive_sized()
            # Of texts there are many, with any time between two of them.
            while asked[:1] == _TEXT:
                peer.wait(None)
                self._asked.put((peer, asked))
                asked = peer.receive_sized()
            self._asked.put((peer, asked))
        except Exception:
            # One that lacks the key, says something else or nothing, or went away is not answered.
            self._forget(peer)
            peer.connection.close()

    def _forget(self, peer: _Peer) -> None:
        with self._lock, contextlib.suppress(ValueError):
            self._strangers.remove(peer)

    def _answer(self, peer: _Peer, asked: bytes) -> None:
        kind, text = asked[:1], asked[1:].decode("utf-8", "replace")
        try:
            answer = _ANSWER + (self._count(text) if kind == _TEXT else self._summary(text)).encode("utf-8")
        except Exception as error:
            if kind == _TEXT:
                self.counter_error = error
            else:
                self.error = error
            answer = _FAILURE + f"{type(error).__name__}: {error}".encode("utf-8", "replace")
        # The program may wait no longer.
        with contextlib.suppress(OSError):
            if kind == _TEXT:
                peer.send_sized(answer)
                return
            with peer.connection:
                peer.wait(_LATER)
                peer.send_sized(answer)

    def _summary(self, prompt: str) -> str:
        summary = self._summarizer and self._summarizer(prompt)
        if not isinstance(summary, str):
            raise TypeError(f"the summarizer must return a str, and returned {type(summary).__name__}")
        return summary

    def _count(self, text: str) -> str:
        tokens = self._counter and self._counter(text)
        if not isinstance(tokens, int) or isinstance(tokens, bool):
            raise TypeError(f"token_counter must return an int, and returned {type(tokens).__name__}")
        if tokens < 0:
            raise ValueError(f"token_counter must return 0 or more, and returned {tokens}")
        return str(tokens)


def _command(variable: str, function: Callable[[str], object]) -> str:
    name = re.sub(r"[^\w.:/-]", "", getattr(function, "__qualname__", type(function).__qualname__))
    return f"%{variable}% {name}" if _IS_WINDOWS else f'eval "${variable}" {name}'


def _drop(peer: _Peer) -> None:
    """Ends a connection that another thread waits for."""
    with contextlib.suppress(OSError):
        peer.connection.shutdown(socket.SHUT_RDWR)


def _connect(address: str) -> socket.socket:
    if _IS_WINDOWS:
        return socket.create_connection(("127.0.0.1", int(address)), _SOON)
    deadline = time.monotonic() + _SOON
    while True:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(_SOON)
        try:
            connection.connect(address)
            return connection
        except BlockingIOError:
            # More wait than the system keeps.
            connection.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(_LOOK / 10)


def _main() -> int:
    with _connect(os.environ[_ADDRESS]) as connection:
        peer = _Peer(connection, bytes.fromhex(os.environ[_KEY]))
        nonce = secrets.token_bytes(_NONCE)
        peer.send(nonce)
        peer.check(b"server", nonce)
        peer.prove(b"client", peer.receive(_NONCE))
        # The program ends this when its `--timeout` is over.
        peer.wait(None)
        if _COUNT in sys.argv[1:2]:
            for line in sys.stdin.buffer:
                if not _answered(peer, _TEXT + json.loads(line).encode("utf-8", "surrogatepass"), b"\n"):
                    return 1
            return 0
        return 0 if _answered(peer, _PROMPT + sys.stdin.buffer.read(), b"") else 1


def _answered(peer: _Peer, asked: bytes, end: bytes) -> bool:
    """Asks, and prints the answer, or why there is none."""
    peer.send_sized(asked)
    answer = peer.receive_sized()
    is_answer = answer[:1] == _ANSWER
    out = (sys.stdout if is_answer else sys.stderr).buffer
    out.write(answer[1:] + end)
    out.flush()
    return is_answer


if __name__ == "__main__":
    sys.exit(_main())
