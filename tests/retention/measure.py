#!/usr/bin/env python3
"""What the embedded summarizer keeps, measured on the heads of real transcripts.

usage: measure.py --retention RETENTION.PY --tcompact BINARY FOLDER... [--share 0.1] [--join 8] [--every 2]

RETENTION.PY holds `retention(head, summary, tail)`: it says which literals and goal sentences of a head a summary still
holds. A head is the first 60 % of a conversation's messages, cut at a user turn where there is one, system messages
dropped. It is given to the binary as a Chat Completions file with one message more, which stays, and the summary may
have a share of the head's tokens. Beside it stand the first, the last and random lines of the head, of the same size.

With --join N, heads of different tasks are joined into long sessions, and what is needed is what the last two go on
to use. Of coding agents it also counts the files changed, how commands ended, what the user ruled, and the numbers in
lines about errors and results. --half even|odd takes every other task. Standard library only.
"""
import argparse, glob, importlib.util, json, os, random, re, subprocess, sys, tempfile, time

PREFIX = "Summary:"  # one of our own: with it nothing else stands around a summary
EDITS = {"edit", "write", "multiedit", "notebookedit", "write_file", "edit_file", "str_replace", "create_file", "apply_patch"}
SHELLS = {"bash", "shell", "execute_bash", "run_command", "terminal", "execute"}
LOOKS = {"ls", "cat", "grep", "rg", "find", "sed", "head", "tail", "awk", "wc", "echo", "pwd", "cd", "which", "tree", "diff", "sleep", "cp", "mkdir", "rm", "export"}
RULE = re.compile(r"\b(?:never|always|must(?:n't)?|only|do not|don't|should(?:n't| not)|no more than|at most|at least|make sure|prefer|avoid"
                  r"|budget|deadline|limit)\b|不要|必须|只能|禁止|预算|截止|最多|至少|总是|务必", re.I)
WRITES = re.compile(r"(?:cat|tee)\s*>+\s*([\w./-]+)|^sed -i\S*\s.*?\s([\w./-]+\.\w+)$")
ENDS = re.compile(r"\b(?:error|failed|failure|failures|passed|exception|exit code|exit status|returncode|warnings?|FAIL|ok)\b", re.I)

CODE = re.compile(r"^\s*(?:\d+\s*[→:\-|\t]|[+\-]|#|//|def |class |import |from |return|raise |if |except|assert|func |[\w./-]+[:\-]\d+[:\-])|[{;(,\\]\s*$")


def load(path):
    spec = importlib.util.spec_from_file_location("retention", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text_of(content):
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(p if isinstance(p, str) else p.get("text") or text_of(p.get("content") or "") for p in parts
                     if isinstance(p, str) or p.get("type") in ("text", "input_text", "output_text", "tool_result", None))


def message(role, content, calls=(), answers=None):
    made = {"role": role, "content": content}
    if calls:
        made["tool_calls"] = [{"id": i or f"c{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
                              for n, (i, name, arguments) in enumerate(calls)]
    if answers is not None:
        made["tool_call_id"] = answers
    return made


def chat(m):
    calls = [(c.get("id"), c["function"]["name"], c["function"].get("arguments") or "") for c in m.get("tool_calls") or []]
    return message(m["role"], text_of(m.get("content")), calls, m.get("tool_call_id"))


def langgraph(m):
    roles = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}
    calls = [(c.get("id"), c["name"], json.dumps(c["args"], ensure_ascii=False)) for c in m.get("tool_calls") or []]
    return message(roles.get(m.get("type"), "user"), text_of(m.get("content")), calls, m.get("tool_call_id"))


def blocks(m):
    """A message of a Claude Code session as one or several Chat Completions messages."""
    content, role = m["message"]["content"], m["type"]
    if isinstance(content, str):
        return [message(role, content)]
    results = [message("tool", text_of(p.get("content")), (), p["tool_use_id"]) for p in content if p.get("type") == "tool_result"]
    calls = [(p["id"], p["name"], json.dumps(p["input"], ensure_ascii=False)) for p in content if p.get("type") == "tool_use"]
    said = "\n".join(p["text"] for p in content if p.get("type") == "text")
    return results + ([message(role, said, calls)] if said or calls else [])


def conversations(path):
    """(task, messages) of a file, as Chat Completions messages."""
    with open(path, encoding="utf-8", errors="replace") as file:
        source = file.read()
    try:
        data = json.loads(source)
    except ValueError:
        lines = [json.loads(line) for line in source.splitlines() if line.strip()]
        requests = [line.get("messages") or (line.get("request_params") or {}).get("messages") or [] for line in lines if line.get("type") == "request"]
        if requests:
            return [(0, [chat(m) for m in max(requests, key=len)])]
        said = [line for line in lines if line.get("type") in ("user", "assistant") and "message" in line and not line.get("isMeta")]
        return [(0, [made for line in said for made in blocks(line)])]
    if isinstance(data, list) and data and "role" in data[0]:
        return [(0, [chat(m) for m in data])]
    if isinstance(data, list):
        return [(one["task_id"], [chat(m) for m in one["traj"]]) for one in data]
    found = data.get("messages") or (data.get("values") or {}).get("messages") or []
    return [(0, [(langgraph if "role" not in m else chat)(m) for m in found])]


def written(messages):
    lines = []
    for m in messages:
        lines += [m["content"]] if m["content"] else []
        lines += [f"{c['function']['name']}({c['function']['arguments']})" for c in m.get("tool_calls", [])]
    return "\n".join(lines)


def halves(messages):
    spoken = [m for m in messages if m["role"] != "system"]
    at = int(len(spoken) * 0.6)
    cut = next((n for n in range(at, 0, -1) if spoken[n]["role"] == "user"), 0) if spoken else 0
    if cut < at / 2:  # an agent that works long without being spoken to is cut where it stands
        cut = next((n for n in range(at, 0, -1) if spoken[n]["role"] == "assistant"), at)
    return spoken[:cut], spoken[cut:]


def summarize(binary, head, tokens):
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(head + [message("user", "Go on.")], file, ensure_ascii=False)
        file.flush()
        done = subprocess.run([binary, "--from", "openai-chat", "--keep", "messages:1", "--accept", "any", "--pin", "none",
                               "--summary-prefix", PREFIX,
                               "--summary-tokens", str(tokens), file.name], capture_output=True)
    if done.returncode:
        sys.exit(done.stderr.decode())
    first = json.loads(done.stdout)[0]["content"]
    return first.removeprefix(PREFIX).strip() if first.startswith(PREFIX) else ""


def line_choosers():
    def take(lines, tokens, count):
        kept, spent = [], 0
        for n, line in lines:
            cost = count(line + "\n")
            if spent + cost > tokens:
                room = max(0, (tokens - spent) * 4)
                kept.append((n, line[:room]))
                break
            kept.append((n, line))
            spent += cost
        return "\n".join(line for _, line in sorted(kept))
    def shuffled(lines):
        random.Random(7).shuffle(lines)
        return lines
    def cut(text):
        return [line[i:i + 300] for line in text.split("\n") for i in range(0, max(1, len(line)), 300)]
    return {"lead": lambda t, n, c: take(list(enumerate(cut(t))), n, c), "tail": lambda t, n, c: take(list(enumerate(cut(t)))[::-1], n, c),
            "random": lambda t, n, c: take(shuffled(list(enumerate(cut(t)))), n, c)}


def runs(step):
    """Whether a step of a command does more than look, as far as its first word tells."""
    program = step.split()[0]
    return program not in LOOKS and "=" not in program and step.count('"') % 2 == 0 == step.count("'") % 2


def work(head):
    """What a coding agent did: files changed, and (command, how it ended) of what it ran last."""
    files, ended, answers = set(), {}, {m["tool_call_id"]: m["content"] for m in head if "tool_call_id" in m}
    for m in head:
        for call in m.get("tool_calls", []):
            name = call["function"]["name"].lower()
            try:
                given = json.loads(call["function"]["arguments"])
            except ValueError:
                continue
            command, result = given.get("command"), answers.get(call["id"], "")
            path = given.get("file_path") or given.get("path")
            if name in EDITS or (name.startswith("str_replace") and command in ("create", "str_replace", "insert")):
                files.update([path] if path else [])
            elif name in SHELLS and isinstance(command, str):
                steps = [step.strip() for step in re.split(r"&&|;|\n", re.sub(r"<<.*?\n.*", "", command, flags=re.S))]
                files.update(a or b for step in steps for a, b in WRITES.findall(step))
                line = next((step for step in steps if step and runs(step)), None)
                if line and "<<" not in command and not re.search(r"(?:^|\s)>\s*\S", line):
                    code = re.search(r"<returncode>(-?\d+)|[Ee]xit code:? (\d+)", result)
                    failed = "1" if re.match(r"(?:Error|Traceback)", result) else None
                    ended[" ".join(re.split(r"2>|\|", line)[0].split()[:6])] = (code and (code[1] or code[2])) or failed
    return files, ended


def words(text):
    return set(re.findall(r"[\w./-]*\w", text.lower()))


def share(kept, of):
    return None if not of else 100 * kept / of


def work_kept(head, text, summary, retention):
    files, ended = work(head)
    hay, lines = summary.lower(), [words(line) for line in summary.split("\n")]
    base = lambda path: path.lower().removeprefix("./")
    kept_files = sum(any(part in hay for part in (base(path), "/".join(base(path).split("/")[-2:]))) for path in files)
    def told(command, code):
        wanted = {w for w in words(command) if not w.startswith("-")}
        ends = {"0": {"ok", "0", "passed"}, None: set()}.get(code, {code, "failed", "error"})
        return any(len(wanted & line) >= 0.6 * len(wanted) and (not ends or ends & line) for line in lines)
    kept_ended = sum(told(*one) for one in ended.items())
    ruled = [s for m in head if m["role"] == "user" for s in retention.sentences(m["content"]) if RULE.search(s) and 12 <= len(s) <= 400]
    tokens = [set(retention.toks(s)) for s in dict.fromkeys(ruled)]
    heard = [set(retention.toks(line)) for line in summary.split("\n") + retention.sentences(summary)]
    kept_ruled = sum(any(len(t & line) >= 0.6 * len(t) for line in heard) for t in tokens if len(t) > 2)
    said = [line for m in head if m["role"] == "tool" for line in m["content"].split("\n") if len(line) < 400 and ENDS.search(line) and not CODE.search(line)]
    numbers = set(retention.facts("\n".join(said)).get("num", {}))
    kept_numbers = sum(retention.holds(retention.norm(summary), n) for n in numbers)
    return {"files": (kept_files, len(files)), "ended": (kept_ended, len(ended)),
            "rules": (kept_ruled, sum(len(t) > 2 for t in tokens)), "numbers": (kept_numbers, len(numbers))}


def measure(head, tail, summary, tokens, retention, coding):
    text = written(head)
    calls = [c["function"]["arguments"] for m in tail for c in m.get("tool_calls", [])]
    r = retention.retention(text, summary, "\n".join(calls) if calls else None)
    goal = r["classes"].get("cue_goal")
    row = {"micro": (r["literals"]["kept"], r["literals"]["n"]), "freq": r["literals"]["freq_weighted"], "macro": r["macro"],
           "needed": r.get("needed") and (r["needed"]["kept"], r["needed"]["n"]),
           "goal": goal and (goal["kept"], goal["n"]), "invented": r["invented"]["n"], "found": r["invented"]["list"]}
    return row | (work_kept(head, text, summary, retention) if coding else {})


def mean(rows, key):
    """The mean over heads, and over all that there is to keep together where it is counted."""
    values = [row[key] for row in rows if row.get(key) is not None]
    if values and isinstance(values[0], tuple):
        counted = [v for v in values if v[1]]
        alone = [v[0] / v[1] for v in counted]
        pooled = sum(v[0] for v in counted) / max(1, sum(v[1] for v in counted))
        return f"{100 * sum(alone) / max(1, len(alone)):5.1f}/{100 * pooled:5.1f}" if counted else "     -     "
    return f"{100 * sum(values) / len(values):5.1f}" if values else "  -  "


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("folders", nargs="+")
    ask.add_argument("--retention", required=True)
    ask.add_argument("--tcompact", required=True)
    ask.add_argument("--share", type=float, action="append")
    ask.add_argument("--join", type=int, default=1)
    ask.add_argument("--every", type=int, default=1)
    ask.add_argument("--half", choices=["even", "odd"])
    ask.add_argument("--dump", help="a folder for heads and summaries, to be read")
    ask.add_argument("--alone", action="store_true", help="tcompact only, without the anchors")
    ask.add_argument("--speed", action="store_true", help="only time 1 MB and 10 MB made of the folders' conversations")
    given = ask.parse_args()
    retention = load(given.retention)
    if given.speed:
        return speed(given)
    for folder in given.folders:
        paths = sorted(glob.glob(os.path.join(folder, "*"))) if os.path.isdir(folder) else [folder]
        found = [pair for path in paths for pair in conversations(path)]
        tasks = sorted({task for task, _ in found})
        coding = tasks == [0]
        if given.half and not coding:
            found = [pair for pair in found if tasks.index(pair[0]) % 2 == (given.half == "odd")]
        elif given.half:
            found = found[given.half == "odd"::2]
        cut = [halves(messages) for _, messages in found[::given.every]]
        cut = [(head, tail) for head, tail in cut if len(head) > 1]
        if given.join > 1:
            # Neighbours in a file are of different tasks; a stride could meet the trials of one again and again.
            groups = [cut[i:i + given.join] for i in range(0, len(cut), given.join)]
            cut = [(renamed(group), [m for _, tail in group[-2:] for m in tail]) for group in groups if len(group) == given.join]
        for part in given.share or [0.1]:
            table(os.path.basename(folder.rstrip("/")), cut, part, retention, coding, given)


def renamed(group, before=""):
    """Heads one after another, the ids of their calls told apart."""
    joined = []
    for n, (head, _) in enumerate(group):
        for m in json.loads(json.dumps(head)):
            for call in m.get("tool_calls", []):
                call["id"] = f"{before}{n}-{call['id']}"
            if "tool_call_id" in m:
                m["tool_call_id"] = f"{before}{n}-{m['tool_call_id']}"
            joined.append(m)
    return joined


def speed(given):
    """Seconds for 1 MB and for 10 MB of messages, the best of three runs, reading and writing included."""
    paths = [path for folder in given.folders for path in sorted(glob.glob(os.path.join(folder, "*")))]
    found = [messages for path in paths for _, messages in conversations(path)]
    took = {}
    for size in (1_000_000, 10_000_000):
        messages, written_size, n = [], 0, 0
        while written_size < size:
            for m in renamed([(found[n % len(found)], None)], f"{n}-"):
                messages.append(m)
                written_size += len(json.dumps(m, ensure_ascii=False).encode())
            n += 1
        times = []
        for _ in range(3):
            began = time.time()
            summarize(given.tcompact, messages, 1024)
            times.append(time.time() - began)
        took[size] = min(times)
        print(f"{written_size / 1e6:.1f} MB in {took[size]:.3f} s, {written_size / 1e6 / took[size]:.1f} MB/s")
    print(f"10 MB take {took[10_000_000] / took[1_000_000]:.1f} times as long as 1 MB")


def table(name, cut, part, retention, coding, given):
    rows, over, spent = {}, 0.0, 0.0
    choosers = {} if given.alone else line_choosers()
    for n, (head, tail) in enumerate(cut):
        text = written(head)
        tokens = max(1, int(retention.est_tokens(text) * part))
        for which, choose in choosers.items():
            rows.setdefault(which, []).append(measure(head, tail, choose(text, tokens, retention.est_tokens), tokens, retention, coding))
        began = time.time()
        summary = summarize(given.tcompact, head, tokens)
        spent += time.time() - began
        over = max(over, -(-len(summary) // 4) / tokens)
        row = measure(head, tail, summary, tokens, retention, coding)
        rows.setdefault("tcompact", []).append(row)
        if given.dump:
            os.makedirs(given.dump, exist_ok=True)
            base = os.path.join(given.dump, f"{name}-{part}-{n:03}")
            for suffix, content in ((".head.txt", text), (".summary.txt", summary), (".row.json", json.dumps(row))):
                with open(base + suffix, "w", encoding="utf-8") as file:
                    file.write(content)
            with open(base + ".json", "w", encoding="utf-8") as file:
                json.dump(head + [message("user", "Go on.")], file, ensure_ascii=False)
    keys = ["micro", "freq", "needed", "goal", "macro"] + (["files", "ended", "rules", "numbers"] if coding else [])
    print(f"\n{name}, {len(cut)} heads at {100 * part:g} % (mean over heads/pooled), at most {over:.3f} of the budget, {spent:.1f} s")
    print("          " + "".join(f"{key:>13}" for key in keys) + "   invented")
    for which, of in rows.items():
        invented = sum(row["invented"] for row in of)
        print(f"{which:<10}" + "".join(f"{mean(of, key):>13}" for key in keys) + f"{invented:>8}", [w for row in of for w in row["found"]][:5] or "")


if __name__ == "__main__":
    main()
