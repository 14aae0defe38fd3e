"""What the program says of its command line, said for Python: over the table of all its errors, and in calls."""

from __future__ import annotations

import ast
import logging
import re
import subprocess
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

from test_module import chat

from tcompact import TcompactError, _program, _sentences, check, compact, plan, repair, search, show
from tcompact.langchain import CompactionMiddleware

ERRORS = Path(__file__).parents[2] / "tests" / "integration" / "errors.txt"
OTHERS = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"| (?:answered \d|ended with ).*", re.DOTALL)
FLAG = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")
# The values in a sentence, and what they are for Python.
SENTENCES = [
    ("--keep from:99: there is no message 99", 'keep="from:99": there is no message 99'),
    ("to go on without a model; --accept any takes the summary as it is", 'accept="any" takes the summary as it is'),
    ("--retries and --timeout wait longer", "retries and timeout wait longer"),
    ("--rate N asks less often, --retries N more patiently", "rate asks less often, retries more patiently"),
    ("name the model with --for or give --context-window", "name the model with for_ or give context_window"),
    ("say which with --from openai-chat or --from anthropic", 'from_="openai-chat" or from_="anthropic"'),
    ("as --pairs window:5 lets it; --pairs strict does not", 'pairs="window:5" lets it; pairs="strict" does not'),
    ("took longer than --timeout 0.2 seconds", "took longer than timeout=0.2 seconds"),
    ("--redact leaves 2; --redact=all masks them too", 'redact leaves 2; redact="all" masks them too'),
    ("does --base-url end in /v1?", "does base_url end in /v1?"),
    ("invalid value '2' for '--keep <SIZE|none>': no", "invalid value '2' for 'keep': no"),
    ("it has 9 tokens, within --fit tokens:10", 'within fit="tokens:10"'),
    ("--prompt-file FILE with another prompt", "prompt_file with another prompt"),
    ("the same without --pin user", 'the same without pin="user"'),
    ("the index of a message, as --dry-run prints it", "the index of a message, as plan prints it"),
    ("  --kep\n  ^^^^^ did you mean '--keep'?", "  kep\n  ^^^ did you mean 'keep'?"),
    (
        "`llm --model x` ended with exit status: 2: no --keep x",
        "`llm --model x` ended with exit status: 2: no --keep x",
    ),
    ('the summarizer wrote "--keep", not --model x: no', 'the summarizer wrote "--keep", not model="x": no'),
]


def errors() -> list[tuple[str, str]]:
    """Returns each error of the table: its sentence, and what to try."""
    found = re.findall(r"^tcompact: (.*?)(?:\ntry: (.*?))?\n\[\d+\]$", ERRORS.read_text("utf-8"), re.M | re.S)
    # The module gives no short flags.
    long = dict(re.findall(r"^ +(-[a-zA-Z]), (--[a-z-]+)", help_text(), re.MULTILINE))
    hints = (re.sub(r"(?<= )-[a-zA-Z](?=[ =])", lambda short: long.get(short[0], short[0]), hint) for _, hint in found)
    return [(sentence.rpartition("\ntcompact: ")[2], hint) for (sentence, _), hint in zip(found, hints, strict=True)]


def help_text() -> str:
    return subprocess.run([_program.find(), "--help"], capture_output=True, text=True, check=True).stdout


def flags() -> set[str]:
    return set(FLAG.findall(help_text()))


class Table(unittest.TestCase):
    def test_no_flag_is_left_in_a_sentence(self) -> None:
        ours = {flag for flag in flags() if not _sentences.REFUSED.fullmatch(flag.replace("-", "_"))}
        self.assertGreater(len(ours), 30)
        for said, wanted in SENTENCES:
            self.assertIn(wanted, _sentences.sentence(said))
        for sentence, _ in errors():
            told = _sentences.sentence(sentence)
            with self.subTest(sentence=sentence):
                self.assertFalse(ours & set(FLAG.findall(OTHERS.sub("", told))), told)
                self.assertEqual(told.count("\n"), sentence.count("\n"))

    def test_what_to_try_is_python(self) -> None:
        note = _sentences.hint("tcompact list models\n  --request-json '{\"NAME\": null}' leaves it out", "compact")
        self.assertEqual(note, "tcompact list models, in a shell\n  request_json={'NAME': None} leaves it out")
        calls = 0
        for _, hint in filter(lambda one: one[1], errors()):
            command, _, note = hint.partition("\n")
            told, _, rest = _sentences.hint(hint, "compact").partition("\n")
            with self.subTest(hint=hint):
                self.assertNotIn("--", rest)
                self.assertEqual(bool(rest), bool(note))
                if told.endswith(", in a shell"):
                    refused = re.findall(r"--([a-z-]+)", command)
                    is_refused = any(_sentences.REFUSED.fullmatch(one.replace("-", "_")) for one in refused)
                    self.assertTrue(is_refused or "--help" in command or command.split()[1] in _sentences.COMMANDS)
                elif told.startswith("compact("):
                    calls += 1
                    call: Any = ast.parse(told, mode="eval").body
                    given = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
                    wanted = joined(_sentences.split(command)[1:])
                    self.assertEqual(sorted(joined(_program.options(given))), sorted(wanted))
        self.assertGreater(calls, 60)


def joined(words: list[str]) -> list[str]:
    """Returns the flags of a command with their values, without files and without the spelling of JSON."""
    flags = list[str]()
    for word in words:
        if word.startswith("-"):
            flags.append(word)
        elif flags and "=" not in flags[-1]:
            flags[-1] += f"={word}"
    return [re.sub(r"(?<=[:,]) ", "", flag) for flag in flags]


class Calls(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.archive = str(Path(folder.name, "it's cut.jsonl"))
        compact(chat(), keep="messages:4", archive=self.archive)

    def hint(self, function: Callable[..., Any], *given: Any, **options: Any) -> str | None:
        with self.assertRaises(TcompactError) as caught:
            function(*given, **options)
        self.assertNotIn("standard input", str(caught.exception))
        return caught.exception.hint

    def test_each_function_names_itself(self) -> None:
        archive = self.archive
        cases: list[tuple[Any, tuple[Any, ...], dict[str, Any], str]] = [
            (compact, (), {"keep": "mesages:3", "redact": True}, 'compact(messages, keep="messages:3", redact=True)'),
            (compact, (), {"keep": 0.5}, 'compact(messages, keep="fraction:0.5", for_="gpt-4o")'),
            (compact, (), {"prune": ["args", "reads"]}, 'compact(messages, prune=["arguments", "reads"])'),
            (plan, (), {"pin": "sytem", "for_": "gpt-4o"}, 'plan(messages, pin="system", for_="gpt-4o")'),
            (check, (), {"from_": "openai-cat"}, 'check(messages, from_="openai-chat")'),
            (check, (), {"keep": "messages:3"}, "help(tcompact.check)"),
            (repair, ("synthesize",), {"from_": "openai-cat"}, 'repair(messages, "synthesize", from_="openai-chat")'),
            (repair, ("dorp",), {}, 'repair(messages, "drop")'),
            (compact, (), {"model": "openai:m", "api_key_env": "NO_KEY"}, 'os.environ["NO_KEY"] = "…"'),
            (compact, (), {"for_": "my-own-model"}, "tcompact list models, in a shell"),
            (compact, (), {"request_json": {"stream": True, "top_p": 1}, "model": "openai:m", "api_key_env": "HOME"},
             'compact(messages, model="openai:m", request_json={\'top_p\': 1}, api_key_env="HOME")'),
        ]  # fmt: skip
        for function, given, options, hint in cases:
            with self.subTest(hint=hint):
                self.assertEqual(self.hint(function, chat(), *given, **options), hint)
        self.assertEqual(self.hint(search, "a(", archive), f'search("a\\\\(", "{archive}")')
        self.assertEqual(self.hint(show, archive, "x", redact=True), f'show("{archive}", "last", redact=True)')
        self.assertEqual(self.hint(CompactionMiddleware, trigger="tokns:9", focus="x"),
                         'CompactionMiddleware(..., trigger="tokens:9")')  # fmt: skip

    def test_control_characters_of_a_value_stay(self) -> None:
        for value in [
            "line\nbreak",
            '\ttab, it\'s \\n "said" $HOME `x`',
            "é\n日本 😀\r\n",
            "'\n' --pin=user",
            "\x1b[31m \x7f\x85\u2028\u202e\U000e0001",
            "=\n=",
            "it's $'plain\\012'",
        ]:
            for name in ["focus", "summary_prefix"]:
                with self.subTest(name=name, value=value):
                    hint = self.hint(compact, chat(), keep="mesages:20", redact=True, **{name: value}) or ""
                    call: Any = ast.parse(hint, mode="eval").body
                    given = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
                    self.assertEqual(given, {"keep": "messages:20", "redact": True, name: value})
                    self.assertTrue(hint.isprintable(), hint)
        for command, focus in [
            (r"$'a\n\t\'b\\\x41'", "a\n\t'b\\A"),
            (r"a$'\012'b'$'", "a\nb$"),
            (r"\$'\n'", "$\\n"),
            (r"$'\x4'", "?"),
        ]:
            hint = _sentences.hint(f"tcompact --focus {command} --quiet", "compact", own=["--quiet"])
            self.assertEqual(hint, f"compact(messages, focus={_sentences._shown(focus)})", command)

    def test_a_function_that_fails(self) -> None:
        def broken(_: str) -> str:
            raise RuntimeError("see --timeout of the service")

        hint = self.hint(compact, chat(), keep="messages:4", summarizer=broken)
        first = 'compact(messages, on_error="extractive", keep="messages:4", summarizer=summarizer)'
        self.assertEqual(hint, f"{first}\n  to go on without a model; timeout waits longer")
        with self.assertLogs("tcompact", logging.WARNING) as logs:
            compact(chat(), keep="messages:4", summarizer=broken, on_error="extractive")
        self.assertRegex(
            logs.output[0], r"the summarizer \S*broken failed: RuntimeError: see --timeout of the service; "
        )


if __name__ == "__main__":
    unittest.main()
