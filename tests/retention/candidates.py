"""Those who pick a summary: tcompact, and choosers of lines that anything worth its name must beat."""
import json
import os
import random
import subprocess
import tempfile
import time

from transcripts import message, written

BINARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "target", "release", "tcompact")
PREFIX = "Summary:"  # one of our own: with it nothing else stands around a summary


class Tcompact:
    """The program, with arguments of one's own beside those that a measurement needs.

    Any summary is taken, however short its head is, unless they say otherwise. With `whole` the size is that of all that
    stands before the last message, and all of it is given: the summary, and what stands pruned behind it."""

    def __init__(self, binary, arguments=(), whole=False):
        self.binary, self.arguments, self.seconds, self.whole = binary, list(arguments), 0.0, whole
        if "--accept" not in self.arguments:
            self.arguments += ["--accept", "any"]

    def summary(self, head, tokens):
        """Its summary of a head: one message more stays, so that the whole head is replaced. None where it failed."""
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(head + [message("user", "Go on.")], file, ensure_ascii=False)
            file.flush()
            began = time.time()
            done = subprocess.run([self.binary, "--from", "openai-chat", "--keep", "messages:1", "--pin", "none",
                                   "--summary-prefix", PREFIX, *self.size(tokens), *self.arguments, file.name],
                                  capture_output=True)
            self.seconds += time.time() - began
        if done.returncode:
            print(done.stderr.decode().strip())
            return None
        if self.whole:
            return written(json.loads(done.stdout)[:-1])
        first = json.loads(done.stdout)[0]["content"]
        return first.removeprefix(PREFIX).strip() if first.startswith(PREFIX) else ""

    def size(self, tokens):
        return ["--fit", f"tokens:{tokens}"] if self.whole else ["--summary-tokens", str(tokens)]


def chosen(lines, room, size, shorten):
    """The lines that fit into the room, from the first, the last, at random and from the longest, each in their order.

    `size` tells what a line takes, and `shorten` cuts the one that does not fit whole."""
    numbered = list(enumerate(lines))
    orders = {"lead": numbered, "tail": numbered[::-1], "random": random.Random(7).sample(numbered, len(numbered)),
              "longest": sorted(numbered, key=lambda pair: -size(pair[1]))}
    return {name: fitting(order, room, size, shorten) for name, order in orders.items()}


def fitting(order, room, size, shorten):
    taken = []
    for n, line in order:
        if size(line) > room:
            taken.append((n, shorten(line, room)))
            break
        taken.append((n, line))
        room -= size(line)
    return "\n".join(line for _, line in sorted(taken))
