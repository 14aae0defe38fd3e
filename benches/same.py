#!/usr/bin/env python3
"""Compares the outputs of two builds of tcompact: what a restructuring must not change.

usage: same.py OLD NEW [PATH...] [--every N] [--names]

Runs both executables over each file of the PATHs (the fixtures, unless given) with each set of flags in RUNS, and compares
exit code, standard output and standard error. Files that a run writes beside its output (archive, page) are compared,
too. Prints each difference in one line, and exits with 1 if there is one. --every N takes each N-th file. --names
compares only under which format each file is read.

Needs Python 3.9 or later.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))

# `{out}` is a folder that is made for the run.
RUNS = [
    ["count", "--json", "{path}"],
    ["check", "{path}"],
    ["show", "0-5", "--json", "{path}"],
    ["repair", "{path}"],
    ["redact", "{path}"],
    ["-n", "--explain", "--trigger", "messages:1", "--keep", "messages:4", "{path}"],
    ["-m", "none", "--trigger", "messages:1", "--keep", "messages:4", "{path}"],
    ["--trigger", "messages:1", "--keep", "messages:6", "--pin", "user", "--archive", "{out}/a.jsonl", "{path}"],
    ["--trigger", "messages:1", "--fit", "tokens:3000", "--prune", "all", "--repair", "synthesize", "{path}"],
    ["-m", "none", "--trigger", "messages:1", "--keep", "messages:2", "--thinking", "drop", "{path}"],
    ["-m", "none", "--preset", "deerflow", "--trigger", "messages:1", "--emit", "update", "{path}"],
]
# An archive says when it was written, and its hashes cover that.
TIME = re.compile(rb'("hash":"[^"]*",)?"summarized_at":"[^"]*"')
NAMES = [["count", "--json", "{path}"]]


def outcome(program, arguments, path, folder):
    """Returns what a run prints and writes. The folder is left empty: both programs get the same name, since a summary
    can tell where its archive is."""
    try:
        words = [word.format(path=path, out=folder) for word in arguments]
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": folder, "NO_COLOR": "1", "TCOMPACT_JOBS": "1"}
        done = subprocess.run([program, *words], capture_output=True, env=environment, check=False)
        written = []
        for name in sorted(os.listdir(folder)):
            file = os.path.join(folder, name)
            if os.path.isfile(file):
                with open(file, "rb") as opened:
                    written.append((name, TIME.sub(b"", opened.read())))
        return done.returncode, (done.stdout, done.stderr), written
    finally:
        for name in os.listdir(folder):
            file = os.path.join(folder, name)
            shutil.rmtree(file) if os.path.isdir(file) else os.remove(file)


def difference(old, new):
    """Names the first thing in which two outcomes differ, or returns None."""
    for name, first, second in zip(("exit code", "output", "files"), old, new):
        if first != second:
            return f"{name}: {str(first)[:300]} / {str(second)[:300]}"
    return None


def files(paths):
    """Yields the files below the paths, in order."""
    for path in paths:
        if os.path.isfile(path):
            yield path
        for folder, folders, names in os.walk(path):
            folders.sort()
            for name in sorted(names):
                yield os.path.join(folder, name)


def compare(job):
    given, arguments, path = job
    with tempfile.TemporaryDirectory() as folder:
        found = difference(*(outcome(program, arguments, path, folder) for program in (given.old, given.new)))
    return found and f"{path}: {' '.join(arguments)}: {found}"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("paths", nargs="*", default=[os.path.join(HERE, "..", "fixtures")])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--names", action="store_true")
    given = parser.parse_args()
    given.old, given.new = os.path.abspath(given.old), os.path.abspath(given.new)
    chosen = list(files(given.paths))[:: given.every]
    jobs = [(given, arguments, path) for path in chosen for arguments in (NAMES if given.names else RUNS)]
    with ThreadPoolExecutor(max_workers=2) as pool:
        differences = [found for found in pool.map(compare, jobs) if found]
    for found in differences:
        print(found)
    print(f"{len(jobs)} runs over {len(chosen)} files, {len(differences)} differ", file=sys.stderr)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
