#!/usr/bin/env python3
"""Measures tcompact and other programs with the same tasks in one run, and prints a Markdown table.

usage: peers.py [--binary target/release/tcompact] [--python python3] [--folder target/bench-data] [--runs 5]
                [--gigabyte] [--decide EXECUTABLE] [--list] [ROW...]

ROW is one of the names that --list prints. Without a ROW, all are measured, which takes a quarter of an hour. The peers
in Python are those of `requirements.txt`, installed for the interpreter that --python names. A row whose peer is missing
or fails says so. tiktoken downloads its vocabularies, or finds them in the folder of the variable TIKTOKEN_CACHE_DIR.

The figures are CPU time of the process, user and system, the least of --runs runs in which the programs take turns.
Streams have 200 MB, or 1 GB with --gigabyte. The row `decide` builds `decide.rs`, unless --decide names its executable.
Needs Python 3.9 or later.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # write nothing beside the sources

from rows import IN_ORDER, Row  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


class Bench:
    """The programs, the data and the number of runs, for all rows."""

    def __init__(self, given):
        self.binary = os.path.abspath(given.binary)
        self.python = shutil.which(given.python) or given.python
        self.folder, self.runs, self.decide = given.folder, given.runs, given.decide
        self.stream = 1_000_000_000 if given.gigabyte else 200_000_000
        os.makedirs(self.folder, exist_ok=True)

    def tcompact(self, *arguments):
        return [self.binary, "--color", "never", *arguments]

    def peer(self, script, *arguments):
        return [self.python, os.path.join(HERE, "peers", script), *map(str, arguments)]

    def data(self, kind, *size, folder=None):
        command = [sys.executable, os.path.join(HERE, "data.py"), kind, folder or self.folder, *map(str, size)]
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)

    def has(self, module):
        """Whether the interpreter of the peers exists and has a module."""
        return self.peer_output([self.python, "-c", f"import {module}"]) is not None

    def peer_output(self, command):
        """Returns what a peer prints; None if it is missing or fails, for example at a download."""
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        except OSError:
            return None
        return None if done.returncode else done.stdout

    def decider(self):
        """Returns the executable of `decide.rs`, built if it is not given; None without Cargo."""
        if self.decide is None and shutil.which("cargo"):
            command = ["cargo", "bench", "--locked", "--bench", "decide", "--no-run"]
            command += ["--message-format", "json"]
            output = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout.splitlines()
            found = [json.loads(line).get("executable") for line in output]
            self.decide = [path for path in found if path][-1]
        return self.decide


def main():
    given = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    given.add_argument("--binary", default=os.path.join(ROOT, "target", "release", "tcompact"))
    given.add_argument("--python", default="python3")
    given.add_argument("--folder", default=os.path.join(ROOT, "target", "bench-data"))
    given.add_argument("--runs", type=int, default=5)
    given.add_argument("--gigabyte", action="store_true")
    given.add_argument("--decide")
    given.add_argument("--list", action="store_true")
    given.add_argument("rows", nargs="*", metavar="ROW")
    given = given.parse_args()
    if given.list:
        return print("\n".join(f"{name:<10} {rows.__doc__.splitlines()[0]}" for name, rows in IN_ORDER.items()))
    if unknown := [name for name in given.rows if name not in IN_ORDER]:
        raise SystemExit(f"no such row: {', '.join(unknown)}; there are {', '.join(IN_ORDER)}")
    bench = Bench(given)
    version = subprocess.run([bench.binary, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    print(f"{version}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, runs {bench.runs}\n")
    print(Row("work", "against", "tcompact", "peer", "ratio", "goal"))
    print(Row(*["---"] * 2, *["---:"] * 4))
    for name in given.rows or IN_ORDER:
        for row in IN_ORDER[name](bench):
            print(row, flush=True)


if __name__ == "__main__":
    main()
