"""One conversation in memory: deciding and rewriting, and summarizing."""
import json
import os
import subprocess

from measure import least_of, race
from rows.row import against, missing, seconds

COUNTS = (1_000, 100_000)


def output(command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def decide(bench):
    """Decide on conversations in memory and rewrite them, beside `before_model` in a warm process.

    Both have the summary already. Both read their input first: tcompact the JSON, LangChain the JSON and then the
    messages. There are figures without the reading and with it."""
    work, peer, program = "decide and rewrite", "LangChain, warm", bench.decider()
    if program is None or not bench.has("langchain.agents.middleware"):
        return [missing(work, peer, "100x")]
    jobs = {}
    for count in COUNTS:
        file = bench.data("conversation", count)
        whole = json.loads(output(bench.tcompact("-n", "--json", file)))["tokens"]
        for name, keep in (("messages:20",) * 2, ("tokens:4000",) * 2, ("half", f"tokens:{whole // 2}")):
            jobs[count, name] = (file, keep)
    arguments = [argument for job in jobs.values() for argument in job]
    commands = [program, str(bench.runs), *arguments], bench.peer("langchain_middleware.py", "warm", 1, *arguments)
    # In turns, since a machine can be slower for a while.
    turns = [[output(commands[0]), bench.peer_output(commands[1])] for _ in range(3)]
    if any(theirs is None for _, theirs in turns):
        return [missing(work, peer, "100x", installed=True)]
    turns = [[map(json.loads, text.splitlines()) for text in both] for both in turns]
    ours, theirs = ([least_parts(job) for job in zip(*runs)] for runs in zip(*turns))
    return list(decided(work, peer, dict(zip(jobs, zip(ours, theirs)))))


def least_parts(runs):
    """Returns the least time of each part over several runs."""
    seconds = [{part: took for part, took in run.items() if isinstance(took, float)} for run in runs]
    return {part: min(run[part] for run in seconds) for part in seconds[0]}


def decided(work, peer, took):
    for (count, name), (ours, theirs) in took.items():
        yield against(f"{work}, {count:,} messages, keep {name}", peer, ours["decide"], theirs["decide"], "100x")
        if name == "half":
            yield against("the same and reading", peer, ours["read"] + ours["decide"], sum(
                theirs[part] for part in ("read", "convert", "decide")))


def summary(bench):
    """Summary of a session as a process, beside sumy's summarizers without their start.

    sumy gets the texts of the messages alone, as lines."""
    fixture = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "agent-session.json")
    longer = bench.data("conversation", 46), bench.data("text", 46)
    yield from summarized(bench, *longer, {"lexrank": "100x"})
    yield from summarized(bench, fixture, bench.data("fixture"), {"lexrank": "100x", "textrank": "", "lsa": ""})


def summarized(bench, session, text, goals):
    work = f"summary of {os.path.getsize(session) // 1000} KB of messages"
    command = bench.tcompact("--model", "extractive", "--keep", "messages:1", "--pin", "none", session)
    for name, goal in goals.items():
        peer = f"sumy {name}, without its start"
        if not bench.has("sumy"):
            yield missing(work, peer, goal)
            continue
        ours, theirs = race(3, lambda: least_of(5, command), lambda: sumy(bench, name, text))
        if theirs is None:
            yield missing(work, peer, goal, seconds(ours), installed=True)
        else:
            yield against(work, peer, ours, theirs, goal)


def sumy(bench, name, text):
    output = bench.peer_output(bench.peer("sumy_summary.py", name, text))
    if output is None:
        return None
    return json.loads(output)["seconds"]
