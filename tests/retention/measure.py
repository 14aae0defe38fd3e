#!/usr/bin/env python3
"""What a summary keeps of the heads of real transcripts, tcompact's beside the first, the last, random and the longest
lines of the same size. What is counted, `facts.py` and `work.py` say.

usage: measure.py FOLDER... [--share 0.1] [--join 8] [-- ARGUMENTS OF TCOMPACT]

Each figure is the mean over the heads that have something of its kind. With --join N, heads of N conversations are one
long session, and needed is what the last two go on to use. With arguments of tcompact, as `-- --model …`, another
summarizer is measured. Needs Python 3.9 and nothing else.
"""
import argparse
import json
import os
import re
import sys

from candidates import BINARY, Tcompact, chosen
from facts import kept, tokens
from transcripts import calls, cut, joined, of_folder, written
from work import said, work


def lines(text):
    """Lines of at most 300 characters, so that a long result is not all or nothing."""
    return [line[at:at + 300] for line in text.split("\n") for at in range(0, max(1, len(line)), 300)]


def heads(folder, given):
    """(head, what its calls went on to use) of a folder's conversations."""
    found = [pair for pair in map(cut, of_folder(folder, given.tasks)[::given.every]) if len(pair[0]) > 1]
    if given.join > 1:
        # Neighbours in a file are of different tasks.
        groups = [found[at:at + given.join] for at in range(0, len(found) - given.join + 1, given.join)]
        found = [(joined([head for head, _ in group]), [m for _, tail in group[-2:] for m in tail]) for group in groups]
    if given.between:
        found = [pair for pair in found if given.between[0] <= tokens(written(pair[0])) <= given.between[1]]
    return [(head, "\n".join(arguments for _, _, arguments in calls(tail))) for head, tail in found[:given.most]]


def mean(rows, key):
    shares = [row[key][0] / row[key][1] for row in rows if row[key][1]]
    return f"{100 * sum(shares) / len(shares):.1f}" if shares else "-"


def bare(summary):
    """A summary without the indices of messages, which are no literals of the history."""
    return re.sub(r"(?m)(?<=^- )\[~?\d+\] | \[~?\d+\](?=,|$)", "", summary)


def dump(folder, name, **texts):
    os.makedirs(folder, exist_ok=True)
    for ending, text in texts.items():
        with open(os.path.join(folder, f"{name}.{ending}.txt"), "w", encoding="utf-8") as file:
            file.write(text)


def table(folder, share, program, given):
    program.seconds, rows, most, sizes = 0.0, {}, 0.0, []
    for n, (head, later) in enumerate(heads(folder, given)):
        text = written(head)
        room = given.tokens or max(1, int(tokens(text) * share))
        summary = program.summary(head, room)
        if summary is None:
            continue
        summaries = {"tcompact": summary}
        if not given.alone:
            shorten = lambda line, room: line[:4 * room]
            summaries = chosen(lines(text), room, lambda line: tokens(line + "\n"), shorten) | summaries
        for who, summary in summaries.items():
            rows.setdefault(who, []).append(kept(text, bare(summary), later) | work(head, summary) | said(head, summary) | {"tokens": tokens(summary)})
        sizes.append(tokens(text))
        most = max(most, tokens(summaries["tcompact"]) / room)
        if given.dump:
            dump(given.dump, f"{os.path.basename(folder)}-{n:03}", head=text, summary=summaries["tcompact"])
    if not sizes:
        return print(f"{folder}: no heads")
    size = f"{given.tokens} tokens" if given.tokens else f"{100 * share:g} %"
    print(f"\n{os.path.basename(folder)}: {len(sizes)} heads of {sum(sizes) / len(sizes):.0f} tokens on average, summaries of {size};",
          f"at most {most:.2f} of that used, {program.seconds:.1f} s")
    coding = any(row["files"][1] or row["ended"][1] for row in rows["tcompact"])
    keys = ["literals", "freq", "needed", "goal", "user", "next"] + (["files", "ended", "rules", "numbers"] if coding else [])
    print(" " * 10 + "".join(f"{key:>10}" for key in ["tokens", *keys, "invented"]))
    for who, of in rows.items():
        made_up = [literal for row in of for literal in row["invented"]]
        size = sum(row["tokens"] for row in of) / len(of)
        print(f"{who:<10}{size:>10.0f}" + "".join(f"{mean(of, key):>10}" for key in keys) + f"{len(made_up):>10}", *made_up[:8])


def speed(program, folders):
    """Seconds for 1 MB and for 10 MB of messages, the best of three runs, reading and writing included."""
    found, took = [messages for folder in folders for messages in of_folder(folder)], []
    for size in (1e6, 1e7):
        messages, bytes, n = [], 0, 0
        while bytes < size:
            more = joined([found[n % len(found)]], f"{n}-")
            messages += more
            bytes += sum(len(json.dumps(m, ensure_ascii=False).encode()) for m in more)
            n += 1
        times = []
        for _ in range(3):
            program.seconds = 0.0
            program.summary(messages, 1024)
            times.append(program.seconds)
        took.append(min(times) / bytes)
        print(f"{bytes / 1e6:.1f} MB in {min(times):.3f} s: {bytes / 1e6 / min(times):.1f} MB/s")
    print(f"10 MB take {10 * took[1] / took[0]:.1f} times as long as 1 MB")


def main():
    own = sys.argv[1:sys.argv.index("--")] if "--" in sys.argv else sys.argv[1:]
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("folders", nargs="+", help="folders of transcripts, or files")
    ask.add_argument("--tcompact", default=BINARY, help="the binary, if not that of cargo build --release")
    ask.add_argument("--share", type=float, action="append", help="the size of a summary, of its head's tokens (0.1); repeatable")
    ask.add_argument("--tokens", type=int, help="the size of a summary in tokens, instead")
    ask.add_argument("--join", type=int, default=1, help="heads to a session")
    ask.add_argument("--tasks", choices=["even", "odd"], help="take these of tau-bench's, to keep others for later")
    ask.add_argument("--every", type=int, default=1, help="take every Nth conversation")
    ask.add_argument("--between", type=int, nargs=2, help="take heads of that many tokens")
    ask.add_argument("--most", type=int, help="take the first N heads")
    ask.add_argument("--dump", help="a folder for heads and summaries, to be read")
    ask.add_argument("--whole", action="store_true", help="the size is that of all before the last message, by --fit")
    ask.add_argument("--alone", action="store_true", help="tcompact only")
    ask.add_argument("--speed", action="store_true", help="time 1 MB and 10 MB made of the folders' conversations instead")
    given = ask.parse_args(own)
    program, folders = Tcompact(given.tcompact, sys.argv[len(own) + 2:], given.whole), [folder.rstrip("/") for folder in given.folders]
    if given.speed:
        return speed(program, folders)
    for folder in folders:
        for share in [0] if given.tokens else given.share or [0.1]:
            table(folder, share, program, given)


if __name__ == "__main__":
    main()
