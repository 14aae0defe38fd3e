"""Large inputs: streams of conversations, a long conversation, and their memory."""
import os
import shutil

from measure import peak, race, run
from rows.row import Row, against, mebibytes, missing, seconds

ALLOWED = 16 * 2**20  # bytes, besides those that grow with the input
KEEP = ["--keep", "messages:10"]  # so that each conversation of 20 messages is cut


def stream(bench):
    """Dry run of a stream with a conversation a line, beside jq."""
    file, jq = bench.data("lines", bench.stream), shutil.which("jq")
    work, peer = f"dry run, {bench.stream // 1_000_000} MB of conversations as lines, `-j 1`", "`jq '.messages\\|length'`"
    query = [jq or "jq", "-c", ".messages|length", file]
    ours, theirs = race(min(3, bench.runs), lambda: run(bench.tcompact("-n", *KEEP, "-j", "1", file)),
                        lambda: run(query, may_fail=True))
    if theirs is None:
        return [missing(work, peer, "12x", seconds(ours), installed=bool(jq))]
    return [against(work, peer, ours, theirs, "12x")]


def memory(bench):
    """Memory for one conversation of 218 MB, beside its size."""
    file = bench.data("conversation", 100_000)
    size = os.path.getsize(file)
    ways = (("dry run", ["-n"]), ("left as it is", ["--trigger", "tokens:1000m"]), ("compacted", []))
    for work, flags in ways:
        most = peak(bench.tcompact("--model", "extractive", *flags, file))
        yield Row(f"memory, one conversation of {size // 1_000_000} MB, {work}", "the file's size", mebibytes(most),
                  mebibytes(size), f"{(most - ALLOWED) / size:.2f}x + 16 MiB", "at most 1.1x + 16 MiB")


def stream_memory(bench):
    """Memory for streams, beside their longest line."""
    for kind, name in (("lines", "conversations"), ("long_lines", "long conversations")):
        file = bench.data(kind, bench.stream)
        with open(file, "rb") as opened:
            longest = max(map(len, opened))
        for work, flags in (("dry run", ["-n"]), ("compacted", ["--model", "extractive"])):
            for jobs in (1, 2):
                most = peak(bench.tcompact(*flags, *KEEP, "-j", str(jobs), file))
                lines = (most - ALLOWED) / longest / jobs
                yield Row(f"memory, {bench.stream // 1_000_000} MB of {name} as lines, {work}, `-j {jobs}`",
                          "the longest line", mebibytes(most), mebibytes(longest),
                          f"{max(0, lines):.2f}x a job + 16 MiB", "at most 3x a job + 16 MiB")
