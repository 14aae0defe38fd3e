#!/usr/bin/env python3
"""How near a summary of a conversation comes to those that people wrote, by ROUGE-1, -2 and -L (F1), beside the first,
the last, random and the longest turns, all of one length.

usage: rouge.py DIALOGSUM.jsonl... [--share 0.2] [--most N]

The files are DialogSum's: a `dialogue` with a turn a line, and a `summary` or `summary1` to `summary3` of people. The
first speaker is the user, every other the assistant. The length is that of the people's summaries on average, or with
--share a part of the conversation. Words are runs of letters and digits in small letters, unstemmed, and of Chinese or
Japanese single characters; headings and dots of lists are no words. Where there are several summaries of people,
the figure is the mean. Needs Python 3.9 and nothing else.
"""
import argparse
import json
import re
from collections import Counter

from candidates import BINARY, Tcompact, chosen
from facts import CJK, tokens
from transcripts import message

WORD = re.compile(f"[{CJK}]|[^\\W_{CJK}]+")
MARKS = re.compile(r"^#+ .*$|^\s*[-*] ", re.M)


def conversations(path):
    """(turns, summaries) of a file."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            given = json.loads(line)
            yield given["dialogue"].split("\n"), [text for key, text in given.items() if key.startswith("summary")]


def as_messages(turns):
    speaker = lambda turn: turn.split(":")[0]
    return [message("user" if speaker(turn) == speaker(turns[0]) else "assistant", turn) for turn in turns]


def words(text):
    return WORD.findall(text.lower())


def shorten(text, length):
    """The text to the end of its word of that number."""
    ends = [word.end() for word in WORD.finditer(text)]
    return text[:ends[length - 1]] if 0 < length <= len(ends) else text if length else ""


def f1(common, a, b):
    return 2 * common / (a + b) if a + b else 0.0


def overlap(said, wanted, n):
    grams = [Counter(zip(*(of[at:] for at in range(n)))) for of in (said, wanted)]
    return f1(sum((grams[0] & grams[1]).values()), *(sum(g.values()) for g in grams))


def longest_common(said, wanted):
    """ROUGE-L: the longest sequence of words that both have in this order, with or without others between them."""
    row = [0] * (len(wanted) + 1)
    for word in said:
        before = row
        row = [0]
        for at, other in enumerate(wanted):
            row.append(before[at] + 1 if word == other else max(before[at + 1], row[at]))
    return f1(row[-1], len(said), len(wanted))


def scores(summary, references):
    """ROUGE-1, -2 and -L, the means over the references.

    >>> [round(score, 1) for score in scores("the cat sat", ["the cat lay", "the cat sat"])]
    [83.3, 75.0, 83.3]
    """
    said = words(summary)
    wanted = [words(reference) for reference in references]
    measures = (lambda w: overlap(said, w, 1), lambda w: overlap(said, w, 2), lambda w: longest_common(said, w))
    return [100 * sum(map(measure, wanted)) / len(wanted) for measure in measures]


def of_length(program, turns, length):
    """The program's summary in so many words: it is asked for more tokens until it has them, then cut."""
    room = length + 10
    while True:
        text = MARKS.sub("", program.summary(as_messages(turns), room) or "").strip()
        if len(words(text)) >= length or room > 4 * tokens("\n".join(turns)):
            return shorten(text, length)
        room += max(2, room // 10)


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("files", nargs="+")
    ask.add_argument("--tcompact", default=BINARY, help="the binary, if not that of cargo build --release")
    ask.add_argument("--share", type=float, help="the length, of the conversation's")
    ask.add_argument("--most", type=int, help="take the first N conversations of each file")
    given = ask.parse_args()
    program = Tcompact(given.tcompact)
    for path in given.files:
        rows, lengths = {}, []
        for turns, references in list(conversations(path))[:given.most]:
            of = sum(len(words(reference)) for reference in references) / len(references)
            if given.share:
                of = given.share * len(words("\n".join(turns)))
            lengths.append(max(1, round(of)))
            summaries = chosen(turns, lengths[-1], lambda line: len(words(line)), shorten)
            summaries["tcompact"] = of_length(program, turns, lengths[-1])
            for who, summary in summaries.items():
                rows.setdefault(who, []).append(scores(summary, references))
        print(f"{path}: {len(lengths)} conversations, {sum(lengths) / len(lengths):.1f} words each on average")
        print(" " * 10 + "".join(f"{name:>10}" for name in ("ROUGE-1", "ROUGE-2", "ROUGE-L")))
        for who, of in rows.items():
            print(f"{who:<10}" + "".join(f"{sum(column) / len(of):>10.1f}" for column in zip(*of)))


if __name__ == "__main__":
    main()
