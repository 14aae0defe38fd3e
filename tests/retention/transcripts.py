"""Reads transcripts, and cuts each where a compaction could: the head is to be summarized, the tail goes on from it.

Known are tau-bench's trajectories, Claude Code's sessions, LangGraph's threads, logs of requests, and files whose
messages are those of Chat Completions. All become Chat Completions messages.
"""
import copy
import glob
import json
import os


def message(role, content, calls=(), answers=None):
    made = {"role": role, "content": content}
    if calls:
        made["tool_calls"] = [{"id": id or f"c{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
                              for n, (id, name, arguments) in enumerate(calls)]
    return made if answers is None else made | {"tool_call_id": answers}


def text_of(content):
    if isinstance(content, str):
        return content
    parts = [part if isinstance(part, dict) else {"text": part} for part in content or []]
    return "\n".join(part.get("text") or text_of(part.get("content")) for part in parts
                     if part.get("type") in ("text", "input_text", "output_text", "tool_result", None))


def of_chat(m):
    if "role" not in m:
        return of_langgraph(m)
    calls = [(c.get("id"), c["function"]["name"], c["function"].get("arguments") or "") for c in m.get("tool_calls") or []]
    return message(m["role"], text_of(m.get("content")), calls, m.get("tool_call_id"))


def of_langgraph(m):
    role = {"ai": "assistant", "tool": "tool", "system": "system"}.get(m.get("type"), "user")
    calls = [(c.get("id"), c["name"], json.dumps(c["args"], ensure_ascii=False)) for c in m.get("tool_calls") or []]
    return message(role, text_of(m.get("content")), calls, m.get("tool_call_id"))


def of_claude_code(line):
    """A line of a session: results are messages of their own."""
    content, role = line["message"]["content"], line["type"]
    if isinstance(content, str):
        return [message(role, content)]
    of_type = lambda name: [part for part in content if part.get("type") == name]
    results = [message("tool", text_of(part.get("content")), (), part["tool_use_id"]) for part in of_type("tool_result")]
    calls = [(part["id"], part["name"], json.dumps(part["input"], ensure_ascii=False)) for part in of_type("tool_use")]
    said = "\n".join(part["text"] for part in of_type("text"))
    return results + ([message(role, said, calls)] if said or calls else [])


def of_file(path, tasks=None):
    """The conversations of a file; of tau-bench's those of even or odd tasks only, where `tasks` says so."""
    with open(path, encoding="utf-8", errors="replace") as file:
        source = file.read()
    try:
        data = json.loads(source)
    except ValueError:
        lines = [json.loads(line) for line in source.splitlines() if line.strip()]
        requests = [line.get("messages") or (line.get("request_params") or {}).get("messages") or []
                    for line in lines if line.get("type") == "request"]
        if requests:  # each holds the one before it
            return [[of_chat(m) for m in max(requests, key=len)]]
        said = [line for line in lines if line.get("type") in ("user", "assistant") and "message" in line]
        return [[m for line in said if not line.get("isMeta") for m in of_claude_code(line)]]
    if isinstance(data, dict):
        data = data.get("messages") or (data.get("values") or {}).get("messages") or []
    if not data or "traj" not in data[0]:
        return [[of_chat(m) for m in data]]
    wanted = [one for one in data if tasks in (None, ("even", "odd")[one["task_id"] % 2])]
    return [[of_chat(m) for m in one["traj"]] for one in wanted]


def of_folder(folder, tasks=None):
    paths = sorted(glob.glob(os.path.join(folder, "*"))) if os.path.isdir(folder) else [folder]
    return [found for path in paths for found in of_file(path, tasks)]


def cut(messages):
    """Head and tail: at the last user turn in the first 60 % of the messages, without system messages."""
    spoken = [m for m in messages if m["role"] != "system"]
    at = int(len(spoken) * 0.6)
    last = lambda role: next((n for n in range(at, 0, -1) if spoken[n]["role"] == role), 0)
    place = last("user")
    if place < at / 2:  # an agent that works long without being spoken to is cut where it stands
        place = last("assistant") or at
    return spoken[:place], spoken[place:]


def joined(heads, before=""):
    """Heads one after another, the ids of their calls told apart."""
    long = []
    for n, head in enumerate(heads):
        for m in copy.deepcopy(head):
            for call in m.get("tool_calls", []):
                call["id"] = f"{before}{n}-{call['id']}"
            if "tool_call_id" in m:
                m["tool_call_id"] = f"{before}{n}-{m['tool_call_id']}"
            long.append(m)
    return long


def calls(messages):
    made = [(call["id"], call["function"]) for m in messages for call in m.get("tool_calls", [])]
    return [(id, function["name"], function["arguments"]) for id, function in made]


def written(messages):
    lines = []
    for m in messages:
        lines += [m["content"]] if m["content"] else []
        lines += [f"{name}({arguments})" for _, name, arguments in calls([m])]
    return "\n".join(lines)
