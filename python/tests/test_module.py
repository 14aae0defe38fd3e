"""The functions of the module, with the program that TCOMPACT_BIN names."""

from __future__ import annotations

import functools
import json
import os
import stat
import subprocess
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

import tcompact
from tcompact import (
    InputError,
    RefusedError,
    SummarizerError,
    TcompactError,
    UsageError,
    _program,
    check,
    compact,
    plan,
    repair,
    search,
    show,
)

LONG = "Look at the whole file and say what is in it. " * 20

# A shorter one is not a summary of a long history.
NOTES = "They looked at a.py, which reads one line after the other. Nothing is changed yet."


def chat(turns: int = 6) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be short."}]
    for turn in range(turns):
        call = {"id": f"c{turn}", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.py"}'}}
        messages += [
            {"role": "user", "content": f"Question {turn} {chr(97 + turn % 26)}. {LONG}"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{turn}", "content": f"{turn}: {LONG}"},
            {"role": "assistant", "content": f"Answer {turn}. 好的 é 🙂"},
        ]
    return messages


@contextmanager
def program(script: str) -> Iterator[str]:
    """A program that is not tcompact, at the place that TCOMPACT_BIN names."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tcompact")
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        with mock.patch.dict(os.environ, {"TCOMPACT_BIN": str(path)}):
            yield str(path)


class Compacting(unittest.TestCase):
    def test_kept_messages_are_the_given_objects(self) -> None:
        messages = chat()
        done = compact(messages, keep="messages:4")
        self.assertEqual((done.status, done.cutoff), ("compacted", 21))
        self.assertIs(done.messages[0], messages[0])
        for kept, given in zip(done.messages[2:], messages[21:], strict=True):
            self.assertIs(kept, given)
        self.assertLess(done.tokens_after, done.tokens_before)
        assert done.summary is not None
        self.assertIn("Question 0", done.summary)
        self.assertNotIn("<summary>", done.summary)
        self.assertIn(done.summary, done.messages[1]["content"])

    def test_the_summary_has_no_words_around_it(self) -> None:
        rules: list[dict[str, Any]] = [{}, {"summary_prefix": "Before: "}]
        rules += [{"preset": preset} for preset in ("langchain", "tongyi", "synaptic", "deerflow-v1")]
        for number, how in enumerate(rules):
            how |= {"keep": "messages:4", "trigger": "messages:5", "ledger": "off"}
            with self.subTest(rules=how):
                digest = compact(chat(), **how)
                self.assertTrue((digest.summary or "").startswith("## "), digest.summary)
                self.assertIn(digest.summary, digest.messages[1 if number < 2 else 0]["content"])
                told = compact(chat(), summarizer=lambda _: NOTES, **how)
                self.assertEqual(told.summary, NOTES)
        body: Any = compact({"messages": chat()}, keep="messages:4")
        self.assertIn(body.summary, body.messages["messages"][1]["content"])

    def test_an_archive_is_written_once(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            cases: list[dict[str, Any]] = [{}, {"preset": "langchain", "trigger": "messages:5"}]
            for number, rules in enumerate(cases):
                archive = Path(folder, f"cut-{number}.jsonl")
                done = compact(chat(), keep="messages:4", archive=archive, **rules)
                self.assertEqual(len(archive.read_text("utf-8").splitlines()), 1)
                self.assertIn(done.summary or "nothing", done.messages[1 - number]["content"])

    def test_equal_messages_at_both_ends_are_not_mistaken(self) -> None:
        messages = [{"role": "user", "content": "yes"}, *chat(), {"role": "user", "content": "yes"}]
        self.assertIs(compact(messages, keep="messages:1").messages[-1], messages[-1])

    def test_nothing_to_do(self) -> None:
        messages = chat()
        for done in [compact(messages, keep="messages:99"), compact(messages, trigger="messages:99")]:
            self.assertEqual((done.status, done.cutoff, done.summary), ("unchanged", 0, None))
            self.assertEqual(done.messages, messages)
        self.assertEqual(compact([]).messages, [])

    def test_an_object_around_messages_stays(self) -> None:
        done = compact({"model": "gpt-4o", "messages": chat()}, keep="messages:4")
        body: Any = done.messages
        self.assertEqual((body["model"], len(body["messages"])), ("gpt-4o", 6))

    def test_plan_agrees_and_asks_nobody(self) -> None:
        def never(_: str) -> str:
            raise AssertionError("asked")

        planned = plan(chat(), keep="messages:4", summarizer=never)
        self.assertEqual(
            (planned.cutoff, planned.format, planned.pinned, planned.reason), (21, "openai-chat", [0], None)
        )
        self.assertEqual(plan(chat(), trigger=["tokens:9m", "messages:99"]).cutoff, 0)

    def test_options_are_flags(self) -> None:
        given = {"context_window": 9, "for_": "gpt-4o", "redact": True, "quick": False, "none": None, "pin": ["a", "b"]}
        wanted = ["--context-window=9", "--for=gpt-4o", "--redact", "--pin=a", "--pin=b", '--request-json={"a": 1}']
        self.assertEqual(_program.options(given | {"request_json": {"a": 1}}), wanted)
        self.assertEqual(plan(chat(), keep="messages:4", for_="gpt-4o").context_window, 128_000)
        pruned = compact(chat(), prune=["results:1", "arguments"], model="none", keep="messages:4")
        self.assertEqual((pruned.status, pruned.cutoff, pruned.summary), ("compacted", 0, None))

    def test_check_and_repair(self) -> None:
        broken = [message for message in chat() if message.get("tool_call_id") != "c3"]
        self.assertEqual([violation.index for violation in check(broken)], [14])
        self.assertIn("c3", check(broken)[0].message)
        for how, length in [("drop", len(broken) - 1), ("synthesize", len(broken) + 1)]:
            mended = repair(broken, how)  # type: ignore[arg-type]
            self.assertEqual((check(mended), len(mended)), ([], length))
        self.assertEqual(check(chat()), [])

    def test_text_that_is_not_unicode(self) -> None:
        messages = [*chat(), {"role": "user", "content": "half \ud83d of a pair"}]
        self.assertIs(compact(messages, keep="messages:2").messages[-1], messages[-1])

    def test_settings_for_the_command_line_are_left_out(self) -> None:
        settings = {"TCOMPACT_EMIT": "summary", "TCOMPACT_OUTPUT": "x.json", "TCOMPACT_FIT": "tokens:1"}
        with mock.patch.dict(os.environ, settings):
            self.assertEqual(repair(chat(2)), chat(2))

    def test_only_one_conversation_is_taken(self) -> None:
        several = [{"messages": chat(3)}, {"messages": chat(4)}]
        for function in (compact, plan):
            with self.assertRaisesRegex(InputError, "2 conversations; give one at a time"):
                function(several, keep="messages:2")


class Failing(unittest.TestCase):
    def fails(self, kind: type[TcompactError], code: int | None, *given: Any, **flags: Any) -> TcompactError:
        with self.assertRaises(kind) as caught:
            compact(*given, **flags)
        self.assertEqual(caught.exception.exit_code, code)
        self.assertNotIn("/tmp", str(caught.exception))
        self.assertNotIn("tcompact: ", caught.exception.args[0])
        return caught.exception

    def test_exit_codes_are_exceptions(self) -> None:
        for wrong in ["text", [{"content": "nobody"}], 5, None, [1]]:
            self.fails(InputError, 1, wrong)
        error = self.fails(UsageError, 2, chat(), keep="mesages:3")
        self.assertEqual(error.hint, 'compact(messages, keep="messages:3")')
        self.fails(UsageError, 2, chat(), no_such_flag=True)
        error = self.fails(RefusedError, 5, chat(), keep="messages:4", fit="tokens:9")
        self.assertRegex(error.hint or "", r'^compact\(messages, keep="messages:4", fit="tokens:\d+"')
        self.assertNotIn("--report", str(error))
        with self.assertRaises(ValueError):
            compact(chat(), trigger="never")

    def test_flags_of_the_command_line_are_refused(self) -> None:
        for flag in ["emit", "output", "in_place", "json", "dry_run", "check", "restore", "generate", "force"]:
            self.fails(UsageError, 2, chat(), **{flag: True})

    def test_what_is_not_the_name_of_an_option_is_refused_everywhere(self) -> None:
        calls: dict[str, Callable[..., object]] = {
            "compact": functools.partial(compact, chat()),
            "plan": functools.partial(plan, chat()),
            "check": functools.partial(check, chat()),
            "repair": functools.partial(repair, chat()),
            "search": functools.partial(search, "a", "none.jsonl"),
            "show": functools.partial(show, "none.jsonl", 1),
        }
        keys = [
            "output=x.json",
            "output-dir",
            "in-place",
            "keep=messages:4",
            "-o",
            "--output",
            "_output",
            "Keep",
            "o x",
        ]
        for key in [*keys, "keep\n", "keep\0", "kéep", "9", "", "_", "output\xa0=x.json"]:
            for name, call in calls.items():
                with self.subTest(key=key, call=name), self.assertRaises(UsageError) as caught:
                    call(**{key: "x.json"})
                self.assertEqual(caught.exception.exit_code, 2)
        self.assertFalse(Path("x.json").exists())

    def test_what_is_not_json(self) -> None:
        with self.assertRaisesRegex(TypeError, "object of object"):
            compact([{"role": "user", "content": object()}])

    def test_programs_that_do_not_fit(self) -> None:
        for script, sentence in [
            ("echo tcompact 0.0.9", "older than this module"),
            ("echo ripgrep 14", "is not tcompact"),
            ("exit 3", "is not tcompact"),
        ]:
            with program(script), self.assertRaisesRegex(TcompactError, sentence):
                compact(chat())
        with program("echo tcompact 99.0.0-beta.1"):
            self.assertTrue(_program.find())
        with mock.patch.dict(os.environ, {"TCOMPACT_BIN": "/nowhere/tcompact"}):
            self.assertRaisesRegex(TcompactError, "cannot be started", check, chat())

    def test_no_program_says_how_to_build_one(self) -> None:
        nowhere = {"TCOMPACT_BIN": "", "PATH": ""}
        with mock.patch.dict(os.environ, nowhere), mock.patch("pathlib.Path.is_file", return_value=False):
            self.assertRaisesRegex(TcompactError, "cargo install --path", check, chat())


class Summarizing(unittest.TestCase):
    def test_a_function_is_asked_in_its_thread(self) -> None:
        asked = []

        def summarize(prompt: str) -> str:
            asked.append((prompt, threading.current_thread()))
            return f"{NOTES} 好 🙂"

        done = compact(chat(), keep="messages:4", summarizer=summarize, ledger="off")
        self.assertEqual(done.summary, f"{NOTES} 好 🙂")
        self.assertEqual([thread for _, thread in asked], [threading.current_thread()])
        self.assertIn("Question 0", asked[0][0])
        self.assertEqual(done.report["provider"], "command")

    def test_a_function_counts_the_tokens(self) -> None:
        texts: list[str] = []

        def words(text: str) -> int:
            texts.append(text)
            return len(text.split())

        whole = plan(chat(), token_counter=words)
        self.assertEqual((whole.counter, whole.tokens > 600), ("command", True))
        self.assertTrue({"Be short.", "Answer 5. 好的 é 🙂"} <= {*texts})
        done = compact(chat(), fit=500, token_counter=words, summarizer=lambda prompt: NOTES, accept="any")
        self.assertEqual((done.status, done.tokens_before), ("compacted", whole.tokens))
        self.assertLessEqual(plan(done.messages, token_counter=words).tokens, 500)

    def test_what_a_counter_raises_is_raised(self) -> None:
        def fails(text: str) -> int:
            if "Question 3" in text:
                raise KeyError("no such word")
            return 5

        with self.assertRaisesRegex(KeyError, "no such word"):
            compact(chat(), fit=50, token_counter=fails)
        for wrong, kind in ((1.5, TypeError), ("5", TypeError), (True, TypeError), (None, TypeError), (-1, ValueError)):
            answer: Any = wrong
            with self.subTest(wrong=wrong), self.assertRaises(kind):
                compact(chat(), fit=50, token_counter=lambda _, answer=answer: answer)  # type: ignore[misc]

        def waits(text: str) -> int:
            time.sleep(1)
            return 5

        with self.assertRaises(SummarizerError) as caught:
            compact(chat(), fit=50, token_counter=waits, timeout=0.2)
        self.assertRegex(str(caught.exception), "^token_counter .* took longer than timeout=0.2 seconds for a text")

    def test_on_error_decides_what_a_failure_does(self) -> None:
        def broken(_: str) -> str:
            raise RuntimeError("no luck")

        with self.assertRaisesRegex(SummarizerError, "RuntimeError: no luck") as caught:
            compact(chat(), keep="messages:4", summarizer=broken)
        self.assertIsInstance(caught.exception.__cause__, RuntimeError)
        with self.assertLogs("tcompact", "WARNING"):
            digest = compact(chat(), keep="messages:4", summarizer=broken, on_error="extractive")
            same = compact(chat(), keep="messages:4", summarizer=broken, on_error="passthrough")
            lost = compact(chat(), keep="messages:4", summarizer=broken, on_error="embed")
        self.assertIn(digest.summary or "-", digest.messages[1]["content"])
        self.assertEqual((same.status, same.messages), ("unchanged", chat()))
        self.assertIn("no luck", lost.messages[1]["content"])

    def test_answers_that_are_no_summary(self) -> None:
        not_text: Any = lambda _: None  # noqa: E731
        with self.assertRaisesRegex(SummarizerError, "must return a str"):
            compact(chat(), keep="messages:4", summarizer=not_text)
        with self.assertRaises(RefusedError):
            compact(chat(), keep="messages:4", summarizer=lambda _: "")
        with self.assertRaises(RefusedError):
            compact(chat(), keep="messages:4", summarizer=lambda prompt: prompt * 3)

    def test_an_interrupt_ends_the_program(self) -> None:
        def interrupted(_: str) -> str:
            raise KeyboardInterrupt

        started = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            compact(chat(), keep="messages:4", summarizer=interrupted)
        self.assertLess(time.monotonic() - started, 20)

    def test_a_function_that_takes_too_long(self) -> None:
        def late(_: str) -> str:
            time.sleep(2)
            return "late"

        with self.assertRaisesRegex(SummarizerError, "took longer than timeout=1 "):
            compact(chat(), keep="messages:4", summarizer=late, timeout=1, retries=0)

    def test_threads_at_once(self) -> None:
        summaries = {}

        def work(number: int) -> None:
            done = compact(chat(), keep="messages:4", summarizer=lambda _: f"{NOTES} {number}", ledger="off")
            summaries[number] = done.summary

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(summaries, {number: f"{NOTES} {number}" for number in range(4)})

    def test_a_cache_knows_functions_by_name(self) -> None:
        asked = []

        def first(prompt: str) -> str:
            asked.append(prompt)
            return NOTES

        def second(prompt: str) -> str:
            asked.append(prompt)
            return f"{NOTES} Another."

        with tempfile.TemporaryDirectory() as folder:
            how: dict[str, Any] = {"keep": "messages:4", "cache": folder, "ledger": "off"}
            found = [compact(chat(), summarizer=one, **how).summary for one in (first, first, second)]
        self.assertEqual((found, len(asked)), ([NOTES, NOTES, f"{NOTES} Another."], 2))

    def test_a_command_and_its_failure(self) -> None:
        done = compact(chat(), keep="messages:4", summarizer_cmd=f"echo '{NOTES}'", ledger="off")
        self.assertEqual(done.summary, NOTES)


class LookingUp(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.archive = Path(folder.name, "it's cut.jsonl")
        self.messages = chat()
        self.short = compact(self.messages, keep="messages:4", archive=self.archive, focus="-- the reader's $HOME")

    def test_what_was_cut_is_found_and_shown_as_it_was(self) -> None:
        found = search("Answer [13]", self.archive)
        self.assertEqual([one["index"] for one in found], ["1:16", "1:8"])
        self.assertEqual((found[0]["source"], found[0]["role"]), (str(self.archive), "assistant"))
        self.assertTrue(any(line["match"] and "Answer 3" in line["text"] for line in found[0]["lines"]))
        self.assertEqual(show(self.archive, found[0]["index"]), [self.messages[16]])
        self.assertEqual(show(str(self.archive), [1, "1:3", "5-6"]), [self.messages[at] for at in (1, 3, 5, 6)])
        self.assertEqual(show(self.archive, 2), self.messages[2:3])
        with self.assertLogs("tcompact", "WARNING"):
            self.assertEqual(len(search("Question", str(self.archive), self.archive, limit=3)), 3)
        self.assertEqual(search("-- no such words", self.archive), [])
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(json.dumps(self.short.messages))
            file.flush()
            self.assertEqual(show(file.name, "1:2", archive=self.archive), self.messages[2:3])
            self.assertEqual(search("Answer 5", file.name)[0]["index"], str(len(self.short.messages) - 1))

    def test_errors_are_the_programs_sentences(self) -> None:
        self.assertRaisesRegex(UsageError, r"a\(", search, "a(", self.archive)
        self.assertRaisesRegex(InputError, "none.jsonl", search, "a", "none.jsonl")
        self.assertRaisesRegex(UsageError, "99", show, self.archive, 99)
        self.assertRaisesRegex(UsageError, "json: this flag", search, "a", self.archive, json=True)
        self.assertRaisesRegex(UsageError, "show is a command", compact, chat(), show=1)


class Sdks(unittest.TestCase):
    def test_objects_of_openai(self) -> None:
        from openai.types.chat import ChatCompletionMessage

        messages: list[Any] = [
            ChatCompletionMessage.model_validate(one) if one["role"] == "assistant" else one for one in chat()
        ]
        done = compact(messages, keep="messages:4")
        self.assertTrue(all(kept is given for kept, given in zip(done.messages[2:], messages[21:], strict=True)))
        for one in messages:
            if isinstance(one, ChatCompletionMessage) and one.tool_calls:
                one.tool_calls[0].function.arguments = '{"text": "' + LONG * 9 + '"}'  # type: ignore[union-attr]
        pruned = compact(messages, keep="messages:4", prune="arguments:40", model="none").messages
        self.assertEqual([type(one) for one in pruned], [type(one) for one in messages])
        self.assertLess(len(pruned[2].tool_calls[0].function.arguments), 200)
        self.assertIs(pruned[-2], messages[-2])

    def test_objects_of_anthropic(self) -> None:
        from anthropic.types import TextBlock, ToolUseBlock

        messages: list[Any] = []
        for turn in range(6):
            result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": LONG}
            call = ToolUseBlock(type="tool_use", id=f"t{turn}", name="read", input={"path": "a.py"})
            messages += [
                {"role": "user", "content": f"Question {turn} {chr(97 + turn % 26)}. {LONG}"},
                {"role": "assistant", "content": [TextBlock(type="text", text="I look."), call]},
                {"role": "user", "content": [result]},
                {"role": "assistant", "content": [TextBlock(type="text", text=f"Answer {turn}")]},
            ]
        self.assertEqual(plan(messages, keep="messages:3").format, "anthropic")
        done = compact(messages, keep="messages:3")
        self.assertTrue(all(kept is given for kept, given in zip(done.messages[1:], messages[21:], strict=True)))
        self.assertEqual(check(messages), [])

    def test_messages_of_langchain(self) -> None:
        from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

        artifact = object()
        messages: list[Any] = []
        for turn in range(6):
            call = {"name": "read", "args": {"path": "a.py"}, "id": f"c{turn}"}
            messages += [
                HumanMessage(f"Question {turn} {chr(97 + turn % 26)}. {LONG}"),
                AIMessage("", tool_calls=[call]),
                ToolMessage(LONG * 3, tool_call_id=f"c{turn}", artifact=artifact),
                AIMessage(f"Answer {turn}"),
            ]
        done = compact(messages, keep="messages:4")
        self.assertIsInstance(done.messages[0], HumanMessage)
        self.assertTrue(all(kept is given for kept, given in zip(done.messages[1:], messages[20:], strict=True)))
        pruned = compact(messages, keep="messages:4", prune="results:1", model="none").messages
        self.assertEqual([type(one) for one in pruned], [type(one) for one in messages])
        self.assertLess(len(pruned[2].content), 200)
        self.assertIs(pruned[2].artifact, artifact)
        self.assertEqual(messages[2].content, LONG * 3, "what was given stays as it was")

    def test_no_sdk_is_imported(self) -> None:
        script = "import sys, tcompact; tcompact.check([]); print(*sys.modules)"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        loaded = {name.partition(".")[0] for name in done.stdout.split()}
        self.assertFalse(loaded & {"openai", "anthropic", "langchain_core", "pydantic"})


class Version(unittest.TestCase):
    def test_the_module_has_the_version_of_the_program(self) -> None:
        cargo = Path(__file__).parents[2] / "Cargo.toml"
        self.assertIn(f'\nversion = "{tcompact.__version__}"\n', cargo.read_text("utf-8"))


if __name__ == "__main__":
    unittest.main()
