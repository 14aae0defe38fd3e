"""Whole processes: one command, from its start to its end."""
import os

from measure import least_of, race, run
from rows.row import against, missing, seconds


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
        return [missing(work, peer, "500x", seconds(approx), installed=True)]
    return [against(f"{work}, `approx`", peer, approx, langchain, "500x, wished 800x"),
            against("the same, `o200k_base`", peer, exact, langchain, "80x")]


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
        return [missing(work, peer, "100x", seconds(ours), installed=True)]
    return [against(work, peer, ours, theirs, "100x")]
