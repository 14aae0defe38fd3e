"""Whole processes: one command, from its start to its end."""
import os
import shutil
import subprocess

from measure import least_of, race, run
from rows.row import Row, against, missing, seconds, times


def dry(bench):
    """Dry run of one conversation of 100 messages, beside LangChain's middleware.

    LangChain reads the file, converts the messages and calls `before_model` with a model that answers at once."""
    file, rules = bench.data("conversation", 100), ("tokens:4000", "messages:20")
    work, peer = f"dry run, 100 messages, {os.path.getsize(file) // 1000} KB", "LangChain, the process"
    if not bench.has("langchain.agents.middleware"):
        return [missing(work, peer, "500x")]
    flags = ["-n", "--trigger", rules[0], "--keep", rules[1], file]
    approx, exact, langchain = race(
        bench.runs,
        lambda: least_of(20, bench.tcompact(*flags)),
        lambda: least_of(20, bench.tcompact("--counter", "o200k_base", *flags)),
        lambda: run(bench.peer("langchain_middleware.py", "once", file, *rules), may_fail=True),
    )
    if langchain is None:
        return [missing(work, peer, "500x", seconds(approx.cpu), installed=True)]
    return [against(f"{work}, `approx`", peer, approx.cpu, langchain.cpu, "500x, wished 800x"),
            against("the same, `o200k_base`", peer, exact.cpu, langchain.cpu, "80x")]


def ttok(bench):
    """Exact count of 100 KB, beside ttok."""
    file, text = bench.data("conversation", 46), bench.data("text", 46)
    work, peer = f"count {os.path.getsize(file) // 1000} KB, `o200k_base`", "`ttok`, the texts alone"
    program = os.path.join(os.path.dirname(bench.python), "ttok")
    if not os.path.exists(program):
        return [missing(work, peer, "100x")]
    flags = ["-n", "--json", "--counter", "o200k_base", file]
    ours, theirs = race(bench.runs, lambda: least_of(20, bench.tcompact(*flags)),
                        lambda: run([program, "--allow-special", "-i", text], may_fail=True))
    if theirs is None:
        return [missing(work, peer, "100x", seconds(ours.cpu), installed=True)]
    return [against(work, peer, ours.cpu, theirs.cpu, "100x")]


def start(bench):
    """Start of the process, beside one that does nothing: CPU time and, if perf can count them, instructions."""
    true, file = shutil.which("true"), os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "fixtures",
                                                                    "openai-chat", "plain.json"))
    works = {"`--version`": bench.tcompact("--version"), "dry run of a short file": bench.tcompact("-q", "-n", file)}
    nothing, *ours = race(bench.runs, lambda: least_of(100, [true]),
                          *(lambda command=command: least_of(100, command) for command in works.values()))
    for (work, command), took in zip(works.items(), ours):
        yield Row(work, "`true`", f"{1e6 * took.cpu:.0f} µs", f"{1e6 * nothing.cpu:.0f} µs",
                  times(took.cpu / nothing.cpu), "at most 2x")
        counts = [instructions(command), instructions([true])]
        if all(counts):
            yield Row(f"{work}, instructions", "`true`", *(f"{count:,}" for count in counts),
                      times(counts[0] / counts[1]))


def instructions(command):
    """Returns the instructions in user space, the least of five runs; None if perf cannot count them."""
    if not shutil.which("perf"):
        return None
    counts = []
    for _ in range(5):
        output = subprocess.run(["perf", "stat", "-x", ";", "-e", "instructions:u", *command],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True).stderr
        counts += [int(line.split(";")[0]) for line in output.splitlines() if line.split(";")[0].isdecimal()]
    return min(counts, default=None)


def size(bench):
    """Size of the program."""
    yield Row("size of the program", "", f"{os.path.getsize(bench.binary) / 1e6:.1f} MB", goal="at most 12 MB")
