"""Runs the Python of docs/agents.md as it stands there, with the packages that it is for, where they are installed."""

import asyncio
import contextlib
import importlib.util
import io
import os
import pathlib
import re
import stat
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUESTION = "Question {}: never touch migrations/{}. " + "The parser keeps line numbers. " * 40
# What OpenHands would fetch.
os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", OPENHANDS_SUPPRESS_BANNER="1")
# How tcompact can fail: a script in its place, or nothing.
FAILURES = [None, "echo 'tcompact: it failed' >&2; exit 4", "printf '[{\"half'"]


def snippet(heading):
    """Returns the names that the block of Python under a heading defines."""
    text = (ROOT / "docs/agents.md").read_text(encoding="utf-8")
    section = re.split(r"^## ", text, flags=re.M)
    block = next(part for part in section if part.startswith(heading + "\n")).split("```python\n")[1].split("```")[0]
    names = {"__name__": "snippet"}
    exec(compile(block, heading, "exec"), names)
    return names


@contextlib.contextmanager
def stand_in(script):
    """Puts a script, or nothing, in the place of tcompact."""
    places = [place for place in os.environ["PATH"].split(os.pathsep) if not os.path.exists(os.path.join(place, "tcompact"))]
    with tempfile.TemporaryDirectory() as folder:
        if script is not None:
            program = pathlib.Path(folder, "tcompact")
            program.write_text(f"#!/bin/sh\ncat > /dev/null\n{script}\n")
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
        before, os.environ["PATH"] = os.environ["PATH"], os.pathsep.join([folder, *places])
        try:
            yield
        finally:
            os.environ["PATH"] = before


def archive_of(case):
    """Returns the path of an archive that is gone after the test."""
    folder = tempfile.TemporaryDirectory()
    case.addCleanup(folder.cleanup)
    return os.path.join(folder.name, "cut.jsonl")


def needs(module):
    """Skips a test, and says so, where a package is not installed."""
    found = importlib.util.find_spec(module) is not None
    if not found:
        print(f"NOT CHECKED: the snippet of docs/agents.md for {module}, which this Python lacks", flush=True)
    return unittest.skipUnless(found, f"{module} is not installed")


class OpenAIAgents(unittest.TestCase):
    @needs("agents")
    def test_a_session_shortens_itself(self):
        from agents import SQLiteSession

        session = snippet("OpenAI Agents SDK")["Compacting"](
            SQLiteSession("one"), "--trigger", "messages:10", "--keep", "messages:4", archive=archive_of(self))
        pair = lambda n: [{"role": "user", "content": QUESTION.format(n, n)}, {"role": "assistant", "content": f"Answer {n}."}]

        async def talk():
            sizes = []
            for number in range(1, 9):
                await session.add_items(pair(number))
                sizes.append(len(await session.get_items()))
            for script in FAILURES:
                before, errors = await session.get_items(), io.StringIO()
                with stand_in(script), contextlib.redirect_stderr(errors):
                    await session.add_items(pair(9))
                assert await session.get_items() == before + pair(9), script
                assert len(errors.getvalue().splitlines()) == 1, errors.getvalue()
            return sizes

        self.assertEqual(asyncio.run(talk()), [2, 4, 6, 8, 5, 7, 9, 5])
        self.assertEqual(len(pathlib.Path(session.flags[-1]).read_text().splitlines()), 2)


class PydanticAI(unittest.TestCase):
    @needs("pydantic_ai")
    def test_a_model_is_sent_a_short_history(self):
        from pydantic_ai import Agent, ModelRequest, ModelResponse, TextPart, UserPromptPart
        from pydantic_ai.capabilities import ProcessHistory
        from pydantic_ai.models.function import FunctionModel

        compacted, sent = snippet("pydantic-ai")["compacted"], []
        model = FunctionModel(lambda messages, info: sent.append(messages) or ModelResponse(parts=[TextPart("Yes.")]))
        history = []
        for n in range(12):
            history.append(ModelRequest(parts=[UserPromptPart(QUESTION.format(n, n))]))
            history.append(ModelResponse(parts=[TextPart(f"Answer {n}.")]))
        archive = archive_of(self)
        short = lambda messages: compacted(messages, "--keep", "messages:4", archive=archive)
        agent = Agent(model, capabilities=[ProcessHistory(short)])
        agent.run_sync("And now?", message_history=history)
        self.assertEqual(len(sent[-1]), 5)
        self.assertIn("never touch migrations/1", sent[-1][0].parts[0].content)
        self.assertEqual(len(pathlib.Path(archive).read_text().splitlines()), 1)
        for script in FAILURES:
            errors = io.StringIO()
            with stand_in(script), contextlib.redirect_stderr(errors):
                agent.run_sync("And now?", message_history=history)
            self.assertEqual((len(sent[-1]), len(errors.getvalue().splitlines())), (25, 1), errors.getvalue())


class OpenHands(unittest.TestCase):
    @needs("openhands")
    def test_a_condenser_forgets_what_it_summarizes(self):
        from openhands.sdk.context.view import View
        from openhands.sdk.event import ActionEvent, AgentErrorEvent, MessageEvent, SystemPromptEvent
        from openhands.sdk.llm import Message, MessageToolCall, TextContent

        said = lambda source, role, text: MessageEvent(source=source, llm_message=Message(role=role, content=[TextContent(text=text)]))

        def turn(number):
            yield said("user", "user", QUESTION.format(number, number))
            # One answer with two calls, which must stay together.
            for call in (f"a{number}", f"b{number}"):
                tool_call = MessageToolCall(id=call, name="run", arguments='{"command": "ls"}', origin="completion")
                yield ActionEvent(thought=[], tool_name="run", tool_call_id=call, tool_call=tool_call, llm_response_id=f"r{number}")
            for call in (f"a{number}", f"b{number}"):
                yield AgentErrorEvent(tool_name="run", tool_call_id=call, error="exit code 1")
            yield said("agent", "assistant", f"Answer {number}.")

        system = SystemPromptEvent(system_prompt=TextContent(text="You help."), tools=[])
        events = [system, *(event for number in range(8) for event in turn(number))]
        condenser = snippet("OpenHands")["Tcompact"](max_events=30, archive=archive_of(self))
        for start in (8, 16):
            view = View.from_events(events)
            events.append(condenser.condense(view))
            after = View.from_events(events)
            self.assertLess(len(after), len(view))
            first = after.events[1].to_llm_message().content[0].text
            self.assertEqual((after.events[0].id, first.count("<summary>")), (system.id, 1))
            self.assertIn("never touch migrations/0", first)
            calls = lambda kind: [event.tool_call_id for event in after.events if isinstance(event, kind)]
            self.assertEqual(calls(ActionEvent), calls(AgentErrorEvent))
            events += [event for number in range(start, start + 4) for event in turn(number)]
        self.assertEqual(len(pathlib.Path(condenser.archive).read_text().splitlines()), 2)
        view = View.from_events(events)
        self.assertGreater(len(view), 30)
        for script in FAILURES:
            with stand_in(script):
                self.assertIs(condenser.condense(view), view)


if __name__ == "__main__":
    unittest.main(verbosity=2)
