"""Exact counts of whole conversations, beside Python tiktoken."""
import json
import subprocess

from measure import race, run
from rows.row import against, missing, seconds

TIKTOKEN = "tiktoken, without its start"


def counted(bench, encoding, file):
    """Returns the time that tiktoken takes for the texts of a conversation, and their tokens; None if it fails."""
    output = bench.peer_output(bench.peer("tiktoken_count.py", encoding, file))
    if output is None:
        return None, None
    output = json.loads(output)
    return output["seconds"], output["tokens"]


def ours(bench, encoding, file):
    """Returns a dry run that prints the tokens, and so counts all of them."""
    return bench.tcompact("-n", "--json", "-j", "1", "--counter", encoding, file)


def check(bench, encoding, file, tokens):
    """Checks that both counted the same: tcompact adds 4 for each message."""
    output = json.loads(subprocess.run(ours(bench, encoding, file), stdout=subprocess.PIPE).stdout)
    if output["tokens"] - 4 * output["messages"] != tokens:
        raise SystemExit(f"{file} has {tokens} tokens for tiktoken, and tcompact says {output}")


def tokens(bench):
    """Exact count of 20 MB of prose, code, Chinese, Japanese and logs, beside tiktoken."""
    installed = bench.has("tiktoken")
    for encoding in ("o200k_base", "cl100k_base"):
        work, goal = f"count 20 MB of mixed text, `{encoding}`", "5x" if encoding == "o200k_base" else ""
        if counted(bench, encoding, bench.data("mixed", 1_000))[0] is None:
            yield missing(work, TIKTOKEN, goal, installed=installed)
            continue
        file = bench.data("mixed", 20_000_000)
        took, theirs = race(min(3, bench.runs), lambda: run(ours(bench, encoding, file)),
                            lambda: counted(bench, encoding, file)[0])
        check(bench, encoding, file, counted(bench, encoding, file)[1])
        yield against(work, TIKTOKEN, took, theirs, goal)
