"""The tool `recall` in the agent loop of langchain: an agent finds what was cut away from its own thread."""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from agents import Scripted
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from tcompact import UsageError, _recall
from tcompact.langchain import CompactionMiddleware

RULES: dict[str, Any] = {"trigger": ("messages", 12), "keep": ("messages", 2)}
LOG = "\n".join(f"step {number}: linking object {number}, nothing to report" for number in range(400))


def fact(thread: str) -> str:
    return f"the probe of {thread} listens on {7000 + sum(thread.encode())}"


@tool
def read(path: str) -> str:
    """Reads a file."""
    return f"{LOG[:3000]}\n{fact(path)}\n{LOG}" if not path.isdigit() else f"{path}: {LOG}"


class Reader(Scripted):
    """Reads files, and answers the last question by what it recalls; it knows only what it is sent."""

    offered: list[list[str]] = []
    asks: str = "listens on"

    def bind_tools(self, tools: Any, **_: Any) -> Reader:
        self.offered.append([one.name for one in tools])
        return self

    def _generate(self, messages: list[Any], *_: Any, **__: Any) -> ChatResult:
        self.asked.append(messages)
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages))])

    def _answer(self, messages: list[Any]) -> AIMessage:
        last = messages[-1]
        if isinstance(last, ToolMessage) and last.name == "recall":
            place = re.match(r"\[\d+:\d+\]", last.text)
            if place and "  step" not in last.text:
                return self._call("recall", pattern_or_index=place[0])
            found = re.search("the probe of .* listens on [0-9]+", last.text)
            return AIMessage(found[0] if found else last.text)
        if isinstance(last, HumanMessage) and last.text.startswith("Where"):
            return self._call("recall", pattern_or_index=self.asks)
        if isinstance(last, HumanMessage) and last.text.startswith("Read "):
            return self._call("read", path=last.text.removeprefix("Read "))
        return AIMessage("I read it.")

    def _call(self, name: str, **args: str) -> AIMessage:
        return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"c{len(self.asked)}"}])


def agent(model: Reader, folder: str, **more: Any) -> Any:
    how: dict[str, Any] = RULES | {"archive": f"{folder}/{{thread_id}}.jsonl", "recall": True} | more
    return create_agent(model, [read], middleware=[CompactionMiddleware(**how)], checkpointer=InMemorySaver())


def turns(thread: str) -> list[Any]:
    texts = [f"Read {thread}", "Read 1", "Read 2", "Read 3", f"Where does the probe of {thread} listen?"]
    return [{"messages": [HumanMessage(text)]} for text in texts]


def config(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


class Loop(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_an_agent_finds_what_was_cut(self) -> None:
        model = Reader()
        one = agent(model, self.folder)
        for turn in turns("one"):
            state = one.invoke(turn, config("one"))
        self.assertEqual(state["messages"][-1].text, fact("one"))
        asked = next(messages for messages in model.asked if messages[-1].text.startswith("Where"))
        self.assertNotIn("listens on", str(asked), "it was cut")
        self.assertIn("(Archive: the tool recall finds", asked[0].text)
        self.assertNotIn("tcompact --search", asked[0].text)
        self.assertEqual({frozenset(names) for names in model.offered}, {frozenset(["read", "recall"])})

    def test_threads_at_once_in_an_event_loop(self) -> None:
        threads = [f"thread-{number}" for number in range(4)]
        model = Reader(asks="the probe of .* listens")
        one = agent(model, self.folder)

        async def talk(thread: str) -> str:
            for turn in turns(thread):
                state = await one.ainvoke(turn, config(thread))
            return str(state["messages"][-1].text)

        async def all_of_them() -> list[str]:
            return await asyncio.gather(*map(talk, threads))

        self.assertEqual(asyncio.run(all_of_them()), [fact(thread) for thread in threads])
        self.assertEqual(sorted(path.name for path in Path(self.folder).iterdir()), [f"{one}.jsonl" for one in threads])

    def test_nothing_else_of_the_state_changes(self) -> None:
        def run(**more: Any) -> list[str]:
            one = agent(Reader(), self.folder, **more)
            thread = str(len(more))
            states = [one.invoke(turn, config(thread))["messages"] for turn in turns("one")[:4]]
            # The line behind the summary is another; the ids are made up.
            summary = states[-1][0].text.partition("</summary>")[0]
            return [summary, *(str(message.model_dump(exclude={"id"})) for message in states[-1][1:])]

        self.assertEqual(run(), run(recall=False))

    def test_a_thread_without_an_id_has_no_tool(self) -> None:
        model = Reader(script=[AIMessage("Yes.")])
        how: Any = RULES | {"archive": f"{self.folder}/{{thread_id}}.jsonl", "recall": True}
        one = create_agent(model, [read], middleware=[CompactionMiddleware(**how)])
        with self.assertLogs("tcompact", "WARNING") as logged:
            messages: list[Any] = []
            for turn in turns("one"):
                messages = one.invoke({"messages": [*messages, *turn["messages"]]})["messages"]
        self.assertEqual(len([line for line in logged.output if "thread id" in line]), 1, logged.output)
        self.assertEqual({tuple(names) for names in model.offered}, {("read",)})
        self.assertEqual(list(Path(self.folder).iterdir()), [])
        self.assertLess(len(messages), 12, "it is compacted all the same")
        self.assertNotIn("recall", messages[0].text)
        # A model that calls it all the same is told so.
        self.assertIn("without a thread id", messages[-1].text)

    def test_a_secret_that_is_masked_stays_masked(self) -> None:
        secret = "sk-proj-" + "a1B2" * 12
        one = agent(Reader(asks="key="), self.folder, redact=True)
        with mock.patch(f"{__name__}.fact", lambda _: f"key={secret}"):
            for turn in turns("one"):
                state = one.invoke(turn, config("one"))
        self.assertIn(secret, (Path(self.folder) / "one.jsonl").read_text("utf-8"))
        recalls = [one.text for one in state["messages"] if isinstance(one, ToolMessage) and one.name == "recall"]
        self.assertTrue(recalls and all(secret not in text for text in recalls))

    def test_it_needs_an_archive_of_each_thread(self) -> None:
        for archive in (None, "cut.jsonl", "{thread_id}.md", f"{self.folder}/{{thread}}.jsonl"):
            with self.subTest(archive=archive):
                self.assertRaisesRegex(
                    UsageError, "recall", CompactionMiddleware, archive=archive, recall=True, **RULES
                )


class Names(unittest.TestCase):
    def test_a_thread_id_is_no_path(self) -> None:
        ids = [
            "a",
            "A",
            "..",
            "../b",
            "../../etc/b",
            "/etc/b",
            "a/b",
            "a\\b",
            "a\0b",
            ".",
            "",
            "é",
            "\ud800",
            "a b",
            "%2e",
        ]
        ids += ["C:", "~", "$HOME", "x" * 300, "x" * 299 + "y", "{thread_id}", "\n", "nul", "4d1c-9f"]
        for template in ("/cut/{thread_id}.jsonl", "/cut/{thread_id}/a.jsonl"):
            paths = {str(_recall.archive_of(template, thread)).lower() for thread in ids}
            self.assertEqual(len(paths), len(ids))
            for path in paths:
                self.assertRegex(path, r"\A/cut/[0-9a-z_%-]*(/a)?\.jsonl\Z")
                self.assertLess(max(map(len, Path(path).parts)), 200)
        self.assertEqual(_recall.archive_of("a/{thread_id}.jsonl", "4d1c-9f"), Path("a/4d1c-9f.jsonl"))


class Answers(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.archive = Path(folder.name, "it's cut.jsonl")

    def written(self, *texts: str) -> None:
        messages = [json.dumps({"role": "user", "content": text}) for text in texts]
        record = {
            "source": "a",
            "format": "openai-chat",
            "round": 1,
            "indices": list(range(len(texts))),
            "put_back": [],
        }
        self.archive.write_text(json.dumps(record | {"messages": messages}) + "\n", "utf-8")

    def recalled(self, asked: str) -> str:
        return _recall.recalled(self.archive, asked, [])

    def test_a_place_shows_and_all_else_searches(self) -> None:
        places = {"17": "17", "[2:17]": "2:17", " [12] ": "12", "2:17-20": "2:17-20", "[3-19], [22]": "3-19,22"}
        places |= {"#3:4": "#3:4", "[~12]": "~12", "1:2-1:4": "1:2-1:4", "3..9": "3..9", "[1:2, 5]": "1:2,5"}
        places |= {"3fa81c02:15": "3fa81c02:15", "[deadbeef:3-9]": "deadbeef:3-9"}
        for asked, place in places.items():
            self.assertEqual(_recall._place(asked), place)
        for asked in (r"\b404\b", "port 17", "[0-9]+", "17..", "17-", "2026-11-29", "2:", "a,b", "", "1.5", "..3"):
            self.assertIsNone(_recall._place(asked), asked)
        for asked in ("--show=1", "[12]x"):
            self.assertIsNone(_recall._place(asked), asked)
        for asked in ("abc:1", "3fa81c0x:15", "3fa81c02"):
            self.assertIsNone(_recall._place(asked), asked)

    def test_what_is_found_and_shown(self) -> None:
        self.written("the port is 7001", "and so on")
        self.assertRegex(self.recalled("port"), r"(?m)\A\[1:0\] user.*\n> the port is 7001")
        self.assertRegex(self.recalled("[1:0]"), r"\A\[1:0\] user.*\n  the port is 7001\Z")
        self.assertIn("and so on", self.recalled("0-1"))

    def test_errors_are_text_that_a_model_can_act_on(self) -> None:
        self.assertIn("Nothing was cut", self.recalled("port"))
        self.written("the port is 7001")
        self.assertIn("Nothing that was cut matches", self.recalled("absent"))
        for asked in ("a(", "1:99", "99", "~1", "9:9-12", "0..2", "a\0b", "x" * 300_000, "(" * 3000, "\ud800"):
            answer = self.recalled(asked)
            self.assertTrue(answer.startswith("recall: ") and len(answer) <= 1000, answer[:300])
            self.assertNotIn("--", answer, "the agent has no flags")
        self.archive.write_text("no archive\n", "utf-8")
        self.assertTrue(self.recalled("port").startswith("recall: "))

    def test_an_answer_is_bounded(self) -> None:
        self.written(*(f"{number} {LOG}" for number in range(60)))
        shown = self.recalled("3")
        self.assertLess(len(shown), 8_000)
        self.assertRegex(shown, r"\n\[1:3\] … [\d,]+ tokens left out; search for words of it to read there\n  step")
        self.assertTrue(shown.endswith(LOG.splitlines()[-1]), "the end is shown, too")
        self.assertNotIn("--limit", shown)
        self.assertRegex(self.recalled("step"), r"(?m)^  … [\d,]+ more; recall 1:\d+ shows the message$")
        self.assertNotIn("--show", self.recalled("step"))
        for asked in ("0-60", "step"):
            self.assertLess(len(self.recalled(asked)), 17_000)
        self.written(*(f"{number} a port" for number in range(60)))
        found = self.recalled("port")
        self.assertEqual(len(re.findall(r"^> ", found, re.MULTILINE)), 10)
        self.assertTrue(found.endswith("\n50 more messages match: a narrower pattern shows them."), found[-90:])


if __name__ == "__main__":
    unittest.main()
