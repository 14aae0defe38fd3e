"""Gives updates to LangGraph's own `update_state`.

Reads a JSON update from each line of standard input, and prints for each a line: `ok`, or why the state refuses it.
Exits with 3 where Python has no langgraph.
"""
import json
import sys
import warnings

warnings.simplefilter("ignore")
try:
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, MessagesState, StateGraph
except ImportError:
    sys.exit(3)

builder = StateGraph(MessagesState)
builder.add_node("idle", lambda state: {})
builder.add_edge(START, "idle")
graph = builder.compile(checkpointer=InMemorySaver())


def refused(update, thread):
    config = {"configurable": {"thread_id": str(thread)}}
    try:
        graph.update_state(config, {"messages": [{"role": "user", "content": "before"}]})
        graph.update_state(config, update)
    except Exception as error:  # whatever it is, the state does not take the update
        return f"{type(error).__name__}: {error}".splitlines()[0]
    messages = graph.get_state(config).values["messages"]
    expected = update["messages"][1:]
    if len(messages) != len(expected):
        return f"{len(messages)} messages and not {len(expected)}"
    for message, given in zip(messages, expected):
        if message.content != (given["content"] or ""):
            return f"another content: {message.content!r}"
        calls = [call["id"] for call in getattr(message, "tool_calls", [])]
        if message.type == "ai" and calls != [call["id"] for call in given.get("tool_calls") or []]:
            return f"other calls: {calls}"
    return None


for thread, line in enumerate(sys.stdin):
    print(refused(json.loads(line), thread) or "ok", flush=True)
