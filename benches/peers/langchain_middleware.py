"""Runs LangChain's SummarizationMiddleware on conversations, with a model that returns a fixed summary at once.

usage: langchain_middleware.py once FILE TRIGGER KEEP        one conversation, for the time of the whole process
       langchain_middleware.py warm RUNS [FILE KEEP]...      JSON: the CPU seconds of reading, converting and
                                                             `before_model` for each, the least of RUNS runs
TRIGGER and KEEP have the form messages:N or tokens:N.
"""
import gc
import json
import sys
import time

from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, convert_to_messages
from langchain_core.outputs import ChatGeneration, ChatResult

SUMMARY = "The user asked for several changes, and all of them were made and tested."


class Model(BaseChatModel):
    @property
    def _llm_type(self):
        return "fixed"

    def _generate(self, messages, stop=None, run_manager=None, **_):
        return ChatResult(generations=[ChatGeneration(message=AIMessage(SUMMARY))])


def size(text):
    kind, number = text.split(":")
    return kind, int(number)


def middleware(trigger, keep):
    return SummarizationMiddleware(model=Model(), trigger=size(trigger), keep=size(keep))


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["messages"]


def once(path, trigger, keep):
    update = middleware(trigger, keep).before_model({"messages": convert_to_messages(read(path))}, None)
    print(len(update["messages"]))


def timed(work):
    gc.collect()
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def warm(runs, path, keep):
    reading, converting, deciding = [], [], []
    for _ in range(runs):
        took, written = timed(lambda: read(path))
        reading.append(took)
        took, messages = timed(lambda: convert_to_messages(written))
        converting.append(took)
        took, update = timed(lambda: middleware("tokens:1000", keep).before_model({"messages": messages}, None))
        deciding.append(took)
        assert update and SUMMARY in update["messages"][1].content
    return {"read": min(reading), "convert": min(converting), "decide": min(deciding)}


if sys.argv[1] == "once":
    once(*sys.argv[2:])
else:
    pairs = sys.argv[3:]
    warm(1, *pairs[:2])
    for path, keep in zip(pairs[::2], pairs[1::2]):
        print(json.dumps({"file": path, "keep": keep, **warm(int(sys.argv[2]), path, keep)}), flush=True)
