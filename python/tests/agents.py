"""Agents of langchain with a model that follows a script, to compare middlewares on the same conversations."""

from __future__ import annotations

import random
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel, LangSmithParams
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

SUMMARY = "What was done so far, in order: they looked at each of the files and changed none of them."
WORDS = "look at the file and say what it holds then run tests again 检查 文件 émile 🙂 <b> & {x} \n".split(" ")


class Scripted(BaseChatModel):
    """Answers with the next message of a script, and each prompt for a summary with `SUMMARY`."""

    script: list[AIMessage] = []
    asked: list[list[BaseMessage]] = []
    prompts: list[str] = []
    failures: int = 0

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _get_ls_params(self, stop: list[str] | None = None, **_: Any) -> LangSmithParams:
        return LangSmithParams(ls_provider="a")

    def bind_tools(self, tools: Any, **_: Any) -> Scripted:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        if isinstance(messages[0].content, str) and "<message" in messages[0].content and len(messages) == 1:
            self.prompts.append(messages[0].content)
            if self.failures:
                self.failures -= 1
                raise RuntimeError("the model is not there")
            answer = AIMessage(SUMMARY)
        else:
            self.asked.append(messages)
            answer = self.script.pop(0)
        return ChatResult(generations=[ChatGeneration(message=answer)])


@tool
def look(path: str, length: int) -> str:
    """Shows so many words of a file."""
    return text(random.Random(path), length)


@tool
def count(path: str) -> int:
    """Counts the lines of a file."""
    return len(path)


def text(rng: random.Random, length: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(length))


class Conversation:
    """What the user says in each turn, and how the model answers, generated from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.turns = [text(rng, rng.choice([1, 5, 40])) for _ in range(rng.randint(2, 6))]
        self.answers: list[dict[str, Any]] = []
        for turn in range(len(self.turns)):
            for step in range(rng.choice([0, 1, 2, 6])):
                calls = [self._call(f"c{turn}-{step}-{n}") for n in range(rng.choice([1, 1, 2, 7]))]
                self.answers.append({"content": rng.choice(["", text(rng, 8)]), "tool_calls": calls})
            self.answers.append({"content": text(rng, rng.choice([1, 12, 60]))})
        for answer in self.answers:
            answer |= {"usage_metadata": self._usage(), "response_metadata": {"model_provider": rng.choice("ab")}}
        size: Any = rng.choice([("messages", rng.randint(2, 14)), ("tokens", rng.randint(20, 600))])
        other: Any = rng.choice([("messages", rng.randint(2, 14)), ("tokens", rng.randint(20, 600))])
        self.trigger: Any = rng.choice([size, size, [size, other], dict([size, other]), [dict([size]), other]])
        self.keep: Any = rng.choice([("messages", rng.randint(1, 9)), ("tokens", rng.randint(10, 300))])

    def _usage(self) -> dict[str, int] | None:
        tokens = self.rng.choice([None, None, self.rng.randint(1, 900)])
        return {"input_tokens": tokens, "output_tokens": 0, "total_tokens": tokens} if tokens else None

    def _call(self, name: str) -> dict[str, Any]:
        rng = self.rng
        args = {"path": text(rng, 1)} | ({"length": rng.choice([0, 3, 90])} if rng.random() < 0.7 else {})
        return {"name": "look" if "length" in args else "count", "args": args, "id": name}

    def script(self) -> list[AIMessage]:
        return [AIMessage(**answer, id=f"a{index}") for index, answer in enumerate(self.answers)]

    def run(self, model: Scripted, middleware: Any) -> list[list[BaseMessage]]:
        """Returns the messages of the state after each step of the agent."""
        model.script, model.asked, model.prompts = self.script(), [], []
        agent = create_agent(model, [look, count], middleware=[middleware], checkpointer=InMemorySaver())
        config: Any = {"configurable": {"thread_id": "1"}, "recursion_limit": 200}
        states = []
        for index, turn in enumerate(self.turns):
            given: Any = {"messages": [HumanMessage(turn, id=f"u{index}")]}
            states += [state["messages"] for state in agent.stream(given, config, stream_mode="values")]
        return states


def shown(messages: list[BaseMessage]) -> list[dict[str, Any]]:
    """Returns messages without the ids that langchain makes up."""
    dumped = [message.model_dump() for message in messages]
    for message in dumped:
        if message["id"][:1] not in "ua" or message["id"][1:2] not in set("0123456789") or "-" in message["id"]:
            message["id"] = None
    return dumped


def unpaired(messages: list[BaseMessage]) -> list[str]:
    """Returns the calls without a result and the results without a call, which providers refuse."""
    wrong, open_calls = [], set[str]()
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in open_calls:
                wrong.append(f"result {message.tool_call_id}")
            open_calls.discard(message.tool_call_id)
            continue
        wrong += sorted(open_calls)
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        open_calls = {str(call["id"]) for call in calls}
    return wrong + sorted(open_calls)
