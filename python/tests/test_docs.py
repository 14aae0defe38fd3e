"""The examples of the documents, as a reader runs them."""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from agents import SUMMARY, Scripted, look
from langchain.agents import create_agent
from test_module import chat

import tcompact

ROOT = Path(__file__).parents[2]


def names() -> dict[str, Any]:
    """What the examples take for granted: messages, a model, and the functions of other packages."""
    create = SimpleNamespace(create=lambda **_: None)
    model = Scripted()

    def build(*_: Any, **parts: Any) -> Any:
        return parts["middleware"] if "middleware" in parts else parts["features"]

    return {
        "messages": chat(12),
        "client": SimpleNamespace(chat=SimpleNamespace(completions=create)),
        "ask": lambda _: SUMMARY,
        "my_model": lambda _: SUMMARY,
        "model": model,
        "tools": [look],
        "create_agent": create_agent,
        "create_deep_agent": build,
        "create_deerflow_agent": build,
        "RuntimeFeatures": lambda summarization: summarization,
    }


class Documents(unittest.TestCase):
    def test_every_example_runs(self) -> None:
        before = Path.cwd()
        for document in ("README.md", "README.zh-CN.md", "docs/python.md", "python/README.md"):
            known = names()
            blocks = re.findall(r"```python\n(.*?)```", (ROOT / document).read_text("utf-8"), re.DOTALL)
            self.assertGreater(len(blocks), 0)
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                try:
                    for block in blocks:
                        with self.subTest(document=document, block=block), no_network():
                            self.runs(block, known)
                finally:
                    os.chdir(before)

    def runs(self, block: str, known: dict[str, Any]) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(block, "example", "exec"), known)
        # What an example says that it prints.
        for said in re.findall(r"print\(.*\)  # (.*)", block):
            self.assertIn(said, printed.getvalue())


@contextlib.contextmanager
def no_network() -> Any:
    """Answers for the models that an example names: nothing of it leaves this machine."""
    options = tcompact._program.options

    def local(flags: Any) -> list[str]:
        is_remote = str(flags.get("model") or "").startswith("openai:")
        return options(dict(flags) | ({"model": None, "summarizer_cmd": f"echo '{SUMMARY}'"} if is_remote else {}))

    with mock.patch.object(tcompact._program, "options", local):
        yield


if __name__ == "__main__":
    unittest.main()
