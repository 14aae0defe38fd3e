"""A directory of files."""
import os
import shutil

from measure import race, run
from rows.row import Row, missing, seconds, times


def batch(bench):
    """A directory of files of 20 KB, compacted or unchanged, in memory if possible, beside a plain copy."""
    in_memory = os.access("/dev/shm", os.W_OK)
    parent = "/dev/shm/tcompact-bench" if in_memory else bench.folder
    os.makedirs(parent, exist_ok=True)
    try:
        yield from rows(bench, parent, "/dev/shm" if in_memory else "a disk")
    finally:
        if in_memory:
            shutil.rmtree(parent)


def rows(bench, parent, where):
    source, result = bench.data("files", bench.files, folder=parent), os.path.join(parent, "out")
    work, program = f"{bench.files:,} files of 20 KB compacted on {where}", bench.compiled("copy")
    if program is None:
        yield missing(work, "a copy", "at most 4x")
        return

    def fresh(command):
        shutil.rmtree(result, ignore_errors=True)
        return run(command)

    def ours(jobs, *rules):
        return bench.tcompact("-q", "--model", "extractive", "--keep", "messages:10", *rules, "-j", jobs, "-O", result,
                              source)

    one, two, untouched, synced, not_synced = race(
        min(3, bench.runs),
        lambda: fresh(ours("1")),
        lambda: fresh(ours("2")),
        lambda: fresh(ours("1", "--trigger", "tokens:1m")),
        lambda: fresh([program, source, result, "1", "synced"]),
        lambda: fresh([program, source, result, "1", "not"]),
    )
    yield Row(f"{bench.files:,} files of 20 KB that no trigger changes on {where}, `-j 1`", "copy, each file synced",
              seconds(untouched.cpu), seconds(synced.cpu), times(untouched.cpu / synced.cpu), "at most 4x")
    peers = (("copy, each file synced", synced, "at most 4x"), ("copy, nothing synced", not_synced, ""))
    for peer, took, goal in peers:
        yield Row(f"{work}, `-j 1`", peer, seconds(one.cpu), seconds(took.cpu), times(one.cpu / took.cpu), goal)
    yield Row("the same, `-j 2`, wall", "`-j 1`, wall", seconds(two.wall), seconds(one.wall),
              times(one.wall / two.wall), "1.7x")
