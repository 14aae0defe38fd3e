"""A step that changes nothing: the program that stays says so, and the program that compacts agrees.

CONVERSATIONS says how many are tried, as in `test_langchain`.
"""

from __future__ import annotations

import copy
import gc
import json
import multiprocessing
import os
import pickle
import random
import subprocess
import threading
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from agents import Conversation, Scripted, text
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, messages_from_dict

from tcompact import _planner, compact
from tcompact._messages import Messages
from tcompact._planner import surely_unchanged
from tcompact.langchain import CompactionMiddleware

CASES = 8 * int(os.environ.get("CONVERSATIONS", "8"))
FIXTURES = Path(__file__).parents[2] / "fixtures"
RUNTIME: Any = None
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def state(messages: Sequence[BaseMessage]) -> Any:
    return {"messages": messages}


def conversation(rng: random.Random) -> list[BaseMessage]:
    """Messages of all kinds, with pictures, reported tokens and odd text."""
    messages: list[BaseMessage] = [SystemMessage(text(rng, 20))] if rng.random() < 0.5 else []
    for turn in range(rng.randint(1, 12)):
        words = text(rng, rng.choice([1, 10, 80])) + rng.choice(["", "\ud83d", '"\\', "\x00", "\u2028"])
        content: Any = rng.choice([words, [{"type": "text", "text": words}, PICTURE]])
        messages.append(HumanMessage(content))
        for step in range(rng.randint(0, 3)):
            call: Any = {"name": "look", "args": {"path": words}, "id": f"c{turn}-{step}"}
            used: Any = rng.choice([None, {"input_tokens": 900, "output_tokens": 9, "total_tokens": 909}])
            told = {"model_provider": "a"}
            messages.append(AIMessage(words, tool_calls=[call], usage_metadata=used, response_metadata=told))
            messages.append(ToolMessage(text(rng, rng.choice([0, 9, 300])), tool_call_id=call["id"], artifact=object()))
    return messages


def rules(rng: random.Random) -> dict[str, Any]:
    """Random triggers of all kinds, and what else decides."""
    sizes: list[Any] = [
        ("messages", rng.randint(1, 40)),
        ("tokens", rng.randint(1, 4000)),
        f"turns:{rng.randint(1, 12)}",
        ("fraction", rng.choice([0.1, 0.5, 0.9])),
    ]
    trigger = rng.sample(sizes, rng.randint(1, 3))
    chosen: dict[str, Any] = {"trigger": trigger, "context_window": rng.choice([500, 4000])}
    chosen["keep"] = rng.choice([1, 6, ("tokens", 300), "turns:2"])
    for one in (
        {"fit": ("tokens", rng.randint(300, 4000))},
        {"token_counter": rng.choice(["o200k_base", "cl100k_base", "bytes:3", "approx:3.3"])},
        {"prune": ["results:20", "thinking"]},
        {"overhead_tokens": 500},
        {"pin": "first:2"},
        {"redact": "all"},
        {"for_": "gpt-4o"},
        {"preset": rng.choice(["langchain", "deepagents", "deerflow", "tongyi"])},
    ):
        if rng.random() < 0.2:
            chosen |= one
    return chosen


class Deciding(unittest.TestCase):
    def agrees(self, messages: list[BaseMessage], how: dict[str, Any], summarizer: Any) -> bool:
        """Whether the step was skipped. Then the program changes nothing, either."""
        middleware = CompactionMiddleware(Scripted() if summarizer else None, **how)
        given = Messages(messages, middleware._texts)
        if not surely_unchanged(middleware._planning, given.text):
            return False
        how = {name: value for name, value in middleware._flags.items() if name != "on_error"}
        done = compact(messages, summarizer=summarizer, **how)
        self.assertEqual((done.status, done.messages), ("unchanged", messages))
        return True

    def test_what_is_skipped_is_what_the_program_leaves_unchanged(self) -> None:
        skipped = 0
        for seed in range(CASES):
            rng = random.Random(seed)
            messages, how = conversation(rng), rules(rng)
            with self.subTest(seed=seed, how=how):
                skipped += self.agrees(messages, how, rng.choice([None, lambda _: "They looked at all of it." * 3]))
        self.assertTrue(CASES / 8 < skipped < CASES * 7 / 8, skipped)

    def test_conversations_of_langchain(self) -> None:
        for path in sorted((FIXTURES / "langchain").glob("*.json")):
            loaded = json.loads(path.read_text("utf-8"))
            loaded = loaded if isinstance(loaded, list) else loaded.get("messages", [])
            try:
                messages = messages_from_dict(loaded)
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
            for size in range(1, len(messages) + 2):
                with self.subTest(path=path.name, size=size):
                    self.agrees(messages, {"trigger": ("messages", size), "keep": 2}, None)

    def test_a_message_that_changes_in_place_is_counted_again(self) -> None:
        messages: list[BaseMessage] = [HumanMessage("short") for _ in range(6)]
        middleware = CompactionMiddleware(trigger=500, keep=2)
        self.assertIsNone(middleware.before_model(state(messages), RUNTIME))
        messages[0].content = "long " * 2000
        self.assertIsNotNone(middleware.before_model(state(messages), RUNTIME))


class Staying(unittest.TestCase):
    def setUp(self) -> None:
        _planner._planner.cache_clear()
        self.started = 0

    def counting(self) -> Any:
        real = subprocess.Popen

        def start(*given: Any, **options: Any) -> Any:
            self.started += 1
            return real(*given, **options)

        return mock.patch.object(subprocess, "Popen", start)

    def test_steps_without_a_compaction_share_a_program(self) -> None:
        for how in ({"trigger": 10**6, "keep": 2}, {"trigger": ("messages", 300), "keep": 2, "preset": "langchain"}):
            told, model = Conversation(3), Scripted()
            for answer in told.answers:
                answer["response_metadata"] = {"model_provider": "a"}
            middleware = CompactionMiddleware(model, **how)
            self.started = 0
            with self.counting():
                told.run(model, middleware)
            self.assertGreater(len(model.asked), 5)
            self.assertEqual(self.started, 1)

    def test_one_that_ended_starts_again(self) -> None:
        middleware = CompactionMiddleware(trigger=("messages", 3), keep=1)
        short, long = [HumanMessage("a"), AIMessage("b")], [HumanMessage("one word " * 50) for _ in range(4)]
        self.assertIsNone(middleware.before_model(state(short), RUNTIME))
        (planner,) = [one for one in gc.get_objects() if isinstance(one, _planner._Planner) and one._process]
        assert planner._process
        planner._process.kill()
        self.assertIsNone(middleware.before_model(state(short), RUNTIME))
        self.assertEqual(planner.row(b"no transcript"), {})
        self.assertIsNone(planner._process)
        self.assertIsNone(middleware.before_model(state(short), RUNTIME))
        self.assertIsNotNone(middleware.before_model(state(long), RUNTIME))

    def test_an_interrupt_mixes_no_answers_up(self) -> None:
        middleware = CompactionMiddleware(trigger=("messages", 3), keep=1)
        short, long = [HumanMessage("a")], [HumanMessage("one word " * 50) for _ in range(4)]
        middleware.before_model(state(short), RUNTIME)
        with mock.patch.object(json, "loads", side_effect=KeyboardInterrupt):
            self.assertRaises(KeyboardInterrupt, middleware.before_model, state(short), RUNTIME)
        self.assertIsNotNone(middleware.before_model(state(long), RUNTIME))
        self.assertIsNone(middleware.before_model(state(short), RUNTIME))

    def test_threads_forks_and_copies(self) -> None:
        middleware = CompactionMiddleware(trigger=("messages", 3), keep=1)
        again: Any = pickle.loads(pickle.dumps(copy.deepcopy(middleware)))
        wrong: list[int] = []

        def work(number: int, is_forked: bool = False) -> None:
            for step in range(10):
                length = (number + step) % 5
                messages = [HumanMessage("one word " * 50) for _ in range(length)]
                update = [middleware, again][step % 2].before_model(state(messages), RUNTIME)
                wrong.extend([length] if (update is not None) != (length >= 3) else [])
            if is_forked:
                os._exit(len(wrong))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        if hasattr(os, "fork"):
            child = multiprocessing.get_context("fork").Process(target=work, args=(0, True))
            child.start()
            child.join(60)
            self.assertEqual(child.exitcode, 0)
        work(1)
        self.assertEqual(wrong, [])

    def test_programs_end_with_their_agents(self) -> None:
        before = len(_children())
        for number in range(_planner._MOST_PROGRAMS + 3):
            middleware = CompactionMiddleware(trigger=("messages", 10 + number), keep=1)
            middleware.before_model(state([HumanMessage("a")]), RUNTIME)
        self.assertLessEqual(len(_children()) - before, _planner._MOST_PROGRAMS)
        _planner._planner.cache_clear()
        gc.collect()
        self.assertLessEqual(len(_children()), before)


def _children() -> list[int]:
    tasks = Path("/proc/self/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


if __name__ == "__main__":
    unittest.main()
