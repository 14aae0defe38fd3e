"""The middleware in the agent loop of langchain, beside the `SummarizationMiddleware` that it replaces.

CONVERSATIONS is how many are generated; FIRST is the seed of the first.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import tempfile
import time
import unittest
from typing import Any
from unittest import mock

from agents import SUMMARY, Conversation, Scripted, count, look, shown, unpaired
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models import LangSmithParams
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatResult

from tcompact import InputError, RefusedError, SummarizerError, TcompactError, UsageError, compact
from tcompact.langchain import CompactionMiddleware

FIRST, CONVERSATIONS = int(os.environ.get("FIRST", "0")), int(os.environ.get("CONVERSATIONS", "8"))
PROMPT = "Say what happened:\n<messages>{messages}</messages>\n"
RUNTIME: Any = None


def history(length: int = 8) -> list[BaseMessage]:
    text = "A longer sentence about nothing. " * 20
    return [(HumanMessage, AIMessage)[index % 2](f"{index}: {text}", id=f"m{index}") for index in range(length)]


def state(messages: list[BaseMessage]) -> Any:
    return {"messages": messages}


class Loop(unittest.TestCase):
    def test_the_state_is_that_of_the_original(self) -> None:
        compactions = 0
        for seed in range(FIRST, FIRST + CONVERSATIONS):
            told = Conversation(seed)
            theirs, ours = Scripted(), Scripted()
            how: dict[str, Any] = {"trigger": told.trigger, "keep": told.keep, "summary_prompt": PROMPT}
            expected = told.run(theirs, SummarizationMiddleware(theirs, **how))
            states = told.run(ours, CompactionMiddleware(ours, preset="langchain", **how))
            with self.subTest(seed=seed):
                self.assertEqual([shown(one) for one in states], [shown(one) for one in expected])
                self.assertEqual(ours.prompts, theirs.prompts)
                for messages in states:
                    self.assertEqual(len({message.id for message in messages}), len(messages))
            compactions += len(theirs.prompts)
        self.assertGreater(compactions, CONVERSATIONS)

    def test_every_request_can_be_sent(self) -> None:
        requests = compactions = 0
        for seed in range(FIRST, FIRST + CONVERSATIONS):
            told, model = Conversation(seed), Scripted()
            writer = [model, None][seed % 2]
            middleware = CompactionMiddleware(writer, trigger=told.trigger, keep=told.keep)
            states = told.run(model, middleware)
            with self.subTest(seed=seed):
                self.assertEqual([unpaired(asked) for asked in model.asked], [[]] * len(told.answers))
            requests += len(model.asked)
            compactions += sum(len(later) < len(former) for former, later in itertools.pairwise(states))
        self.assertGreater(compactions, CONVERSATIONS)

    def test_an_event_loop(self) -> None:
        told, model = Conversation(3), Scripted()
        middleware = CompactionMiddleware(model, trigger=told.trigger, keep=told.keep, preset="langchain")
        expected = [shown(one) for one in told.run(model, middleware)]
        again = Scripted(script=told.script())
        middleware = CompactionMiddleware(again, trigger=told.trigger, keep=told.keep, preset="langchain")
        agent = create_agent(again, [look, count], middleware=[middleware])

        async def run() -> list[BaseMessage]:
            messages: list[BaseMessage] = []
            for index, turn in enumerate(told.turns):
                given: Any = {"messages": [*messages, HumanMessage(turn, id=f"u{index}")]}
                messages = (await agent.ainvoke(given))["messages"]
            return messages

        self.assertEqual(shown(asyncio.run(run())), expected[-1])
        self.assertTrue(again.prompts)

    def test_a_task_that_is_cancelled(self) -> None:
        class Slow(Scripted):
            async def _agenerate(self, *_: Any, **__: Any) -> ChatResult:
                await asyncio.sleep(60)
                raise AssertionError("it was not cancelled")

        middleware = CompactionMiddleware(Slow(), trigger=("messages", 8), keep=("messages", 2))

        async def run() -> None:
            await asyncio.wait_for(middleware.abefore_model(state(history()), RUNTIME), 1)

        started = time.monotonic()
        self.assertRaises(asyncio.TimeoutError, asyncio.run, run())
        self.assertLess(time.monotonic() - started, 30)

    def test_a_cache_knows_models_by_name(self) -> None:
        class Other(Scripted):
            def _get_ls_params(self, stop: list[str] | None = None, **_: Any) -> LangSmithParams:
                return LangSmithParams(ls_provider="a", ls_model_name="other-1.5")

        asked = []
        with tempfile.TemporaryDirectory() as folder:
            for model in (Scripted(), Scripted(), Other()):
                middleware = CompactionMiddleware(
                    model, trigger=("messages", 8), keep=("messages", 2), summary_prompt=PROMPT, cache=folder
                )
                self.assertIsNotNone(middleware.before_model(state(history()), RUNTIME))
                asked.append(len(model.prompts))
        self.assertEqual(asked, [1, 0, 1])

    def test_the_summary_is_marked_in_streams(self) -> None:
        model = Scripted(script=[AIMessage("The answer.")])
        agent = create_agent(
            model, [], middleware=[CompactionMiddleware(model, trigger=("messages", 4), keep=("messages", 2))]
        )
        chunks: Any = agent.stream(state(history()), stream_mode="messages")
        texts = [chunk.content for chunk, told in chunks if "lc_source" not in told]
        self.assertNotIn(SUMMARY, texts)
        self.assertIn("The answer.", texts)


class Updates(unittest.TestCase):
    def test_all_is_removed_and_what_stays_is_the_same(self) -> None:
        messages = history()
        middleware = CompactionMiddleware(trigger=("messages", 8), keep=("messages", 2))
        update: Any = middleware.before_model(state(messages), RUNTIME)
        remove, summary, *kept = update["messages"]
        self.assertEqual((remove.type, remove.id), ("remove", "__remove_all__"))
        self.assertEqual((summary.type, summary.additional_kwargs), ("human", {"lc_source": "summarization"}))
        self.assertTrue(all(one is given for one, given in zip(kept, messages[-2:], strict=True)))
        self.assertIsNone(middleware.before_model(state(messages[:7]), RUNTIME))
        self.assertIsNone(middleware.before_model(state([]), RUNTIME))

    def test_the_summarizer_is_shown_all(self) -> None:
        model = Scripted()
        messages = history(200)
        rules: dict[str, Any] = {"trigger": ("messages", 8), "keep": ("messages", 2), "summary_prompt": PROMPT}
        CompactionMiddleware(model, **rules).before_model(state(messages), RUNTIME)
        self.assertTrue(all(f"{index}: A longer" in "".join(model.prompts) for index in range(198)))
        model.prompts.clear()
        CompactionMiddleware(model, trim_tokens_to_summarize=4000, **rules).before_model(state(messages), RUNTIME)
        self.assertNotIn(">0: A longer", "".join(model.prompts))

    def test_sizes_and_windows(self) -> None:
        small = Scripted(profile={"max_input_tokens": 1000})
        cases: list[tuple[dict[str, Any], bool]] = [
            ({"trigger": ("tokens", 800)}, True),
            ({"trigger": {"tokens": 800, "messages": 9}}, False),
            ({"trigger": [{"tokens": 800, "messages": 9}, "turns:4"]}, True),
            ({"trigger": ("fraction", 0.9), "context_window": 9000}, False),
            ({"model": small, "trigger": ("fraction", 0.9)}, True),
            ({"model": small}, True),
            ({"model": small, "keep": ("fraction", 0.3)}, True),
            ({"model": small, "context_window": 200_000}, False),
            ({"model": "extractive", "for_": "gpt-4o"}, False),
            ({"preset": "langchain"}, False),
            ({"fit": "tokens:600"}, True),
            ({"trigger": ("tokens", 800), "token_counter": "cl100k_base"}, True),
            ({"trigger": ("tokens", 800), "token_counter": count_tokens_approximately}, True),
            ({"trigger": ("tokens", 800), "token_counter": lambda given: len(str(given[0].content))}, True),
            ({"trigger": ("tokens", 800), "token_counter": lambda given: 3 * len(given)}, False),
        ]
        for how, is_due in cases:
            with self.subTest(how=how):
                # With a window or a size to fit, the default of what is kept is by that.
                keep: Any = {"keep": ("messages", 2)} if "trigger" in how else {}
                middleware = CompactionMiddleware(**(how | keep))
                self.assertEqual(middleware.before_model(state(history()), RUNTIME) is not None, is_due)

    def test_numbers_pairs_and_lists_are_sizes(self) -> None:
        cases: list[tuple[Any, Any, bool]] = [
            (800, 2, True),
            (8e2, ["messages", 2], True),
            (50_000, 2, False),
            (["tokens", 800], ("messages", 2), True),
            ((("tokens", 50_000), ["messages", 8]), 2, True),
            ([50_000, {"tokens": 800, "messages": 9}], 2, False),
            ([50_000, 800], ("tokens", 200), True),
        ]
        for trigger, keep, is_due in cases:
            with self.subTest(trigger=trigger, keep=keep):
                middleware = CompactionMiddleware(trigger=trigger, keep=keep)
                update: Any = middleware.before_model(state(history()), RUNTIME)
                self.assertEqual(update is not None, is_due)
                done = compact(history(), trigger=trigger, keep=keep)
                self.assertEqual(done.status == "compacted", is_due)
                if update:
                    self.assertEqual(done.messages[1:], update["messages"][2:])

    def test_wrong_options_fail_at_once(self) -> None:
        wrong: list[dict[str, Any]] = [
            {},
            {"model": 5, "trigger": "turns:3"},
            {"trigger": ("fraction", 0.5)},
            {"trigger": ("messages", 0)},
            {"trigger": ("words", 5)},
            {"trigger": ("messages", 5), "keep": ("messages", 0)},
            {"trigger": ("messages", 5), "token_counter": 5},
            {"trigger": ("messages", 5), "no_such_flag": 1},
            {"trigger": ("messages", 5), "output=x.json": True},
            {"trigger": ("messages", 5), "output": "x.json"},
            {"trigger": ("messages", 5), "summary_prompt": "no place for the history"},
            {"trigger": ("messages", 5), "summarizer": lambda messages: ""},
            {"trigger": 0},
            {"trigger": 0.8},
            {"trigger": 5, "keep": 0},
            {"trigger": ["tokens", 5, 6]},
        ]
        for how in wrong:
            with self.subTest(how=how), self.assertRaises(UsageError) as caught:
                CompactionMiddleware(**how)
            self.assertIsInstance(caught.exception, ValueError)

    def test_a_model_that_fails(self) -> None:
        rules: dict[str, Any] = {"trigger": ("messages", 8), "keep": ("messages", 2), "summary_prompt": PROMPT}
        recovers = Scripted(failures=2)
        self.assertIsNotNone(CompactionMiddleware(recovers, **rules).before_model(state(history()), RUNTIME))
        others: list[dict[str, Any]] = [{"on_error": "fail"}, {"preset": "langchain"}]
        for how in others:
            fails = CompactionMiddleware(Scripted(failures=99), **rules, **how)
            with self.assertRaisesRegex(SummarizerError, "the model is not there") as caught:
                fails.before_model(state(history()), RUNTIME)
            self.assertIn('CompactionMiddleware(..., on_error="extractive")', str(caught.exception))
        digest = CompactionMiddleware(Scripted(failures=99), **rules)
        with self.assertLogs("tcompact", "WARNING") as logs:
            self.assertIsNotNone(digest.before_model(state(history()), RUNTIME))
        self.assertRegex(logs.output[0], "RuntimeError: the model is not there; the embedded summarizer is used")

    def test_what_no_cut_makes_small_enough(self) -> None:
        messages: list[BaseMessage] = [*history(), HumanMessage("word " * 3000)]
        with self.assertLogs("tcompact", "WARNING") as logs:
            self.assertIsNone(CompactionMiddleware(context_window=1000).before_model(state(messages), RUNTIME))
        self.assertIn("cannot be met", logs.output[0])
        fails = CompactionMiddleware(context_window=1000, on_error="fail")
        self.assertRaisesRegex(RefusedError, "cannot be met", fails.before_model, state(messages), RUNTIME)

    def test_no_program_is_an_error(self) -> None:
        middleware = CompactionMiddleware(trigger=5, keep=1)
        with mock.patch.dict(os.environ, {"TCOMPACT_BIN": "/nowhere/tcompact"}):
            self.assertRaisesRegex(
                TcompactError, "cannot be started", middleware.before_model, state(history()), RUNTIME
            )

    def test_messages_that_are_no_transcript(self) -> None:
        middleware = CompactionMiddleware(trigger=("messages", 1), keep=("messages", 1))
        self.assertRaises(InputError, middleware.before_model, state([{"content": "nobody"}]), RUNTIME)  # type: ignore[list-item]

    def test_it_takes_the_place_of_the_original(self) -> None:
        name = CompactionMiddleware(trigger="turns:3").name
        self.assertEqual(name, SummarizationMiddleware(Scripted()).name)


if __name__ == "__main__":
    unittest.main()
