#!/usr/bin/env python3
"""Measures `slim` and `restore` on a generated session of Codex that is larger than what is read whole.

usage: benches/large.py TCOMPACT MEGABYTES [COMPACTIONS]

Prints the time and the peak memory of each, beside the time of `cat FILE | sha256sum`. Needs GNU time at /usr/bin/time,
and three times the size in the folder for temporary files.
"""

import filecmp
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

RANDOM = random.Random(7)
WORDS = ["".join(RANDOM.choice("etaoinshrdlucmfw") for _ in range(RANDOM.randint(2, 9))) for _ in range(4000)]


def text(lines):
    made = []
    for _ in range(lines):
        words = RANDOM.choices(WORDS, k=RANDOM.randint(4, 14))
        made.append(f"{' '.join(words)} {RANDOM.randint(0, 10**6)}")
    return "\n".join(made)


def line(kind, payload):
    entry = {"timestamp": "2026-11-02T09:00:00.000Z", "type": kind, "payload": payload}
    return json.dumps(entry, separators=(",", ":")) + "\n"


def message(role, said):
    kind = "input_text" if role == "user" else "output_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": said}]}


def turn(number):
    said, answer = text(2), text(4)
    lines = [line("response_item", message("user", said))]
    lines.append(line("event_msg", {"type": "user_message", "message": said, "images": []}))
    for step in range(6):
        output, call = text(RANDOM.randint(5, 120)), f"call_{number}_{step}"
        arguments = json.dumps({"command": ["bash", "-lc", text(1)]})
        sealed = f"{RANDOM.getrandbits(1600):0400x}"
        lines.append(line("response_item", {"type": "reasoning", "summary": [], "encrypted_content": sealed}))
        called = {"type": "function_call", "name": "shell", "arguments": arguments, "call_id": call}
        lines.append(line("response_item", called))
        shown = {"stdout": output, "stderr": "", "aggregated_output": output, "formatted_output": output}
        lines.append(line("event_msg", {"type": "exec_command_end", "call_id": call, "exit_code": 0, **shown}))
        lines.append(line("response_item", {"type": "function_call_output", "call_id": call, "output": output}))
        usage = {"input_tokens": 100, "output_tokens": 9, "total_tokens": 109}
        info = {"total_token_usage": usage, "last_token_usage": usage}
        lines.append(line("event_msg", {"type": "token_count", "info": info, "rate_limits": {"used": 1}}))
    lines.append(line("response_item", message("assistant", answer)))
    lines.append(line("event_msg", {"type": "agent_message", "message": answer}))
    return "".join(lines)


def generate(path, size, compactions):
    """Writes a session. A few thousand turns repeat, further apart than a compressor looks back."""
    turns = [turn(number) for number in range(2500)]
    marks = [size * (mark + 1) // (compactions + 1) for mark in range(compactions)]
    meta = {"id": "0199", "timestamp": "2026-11-02T09:00:00.000Z", "cwd": "/w", "instructions": None}
    with open(path, "w", encoding="ascii") as file:
        written = file.write(line("session_meta", meta))
        number = 0
        while written < size:
            written += file.write(turns[number % len(turns)])
            number += 1
            if marks and written >= marks[0]:
                marks.pop(0)
                kept = [message("user", text(30))]
                written += file.write(line("compacted", {"message": "", "replacement_history": kept}))


def timed(name, *command):
    measured = subprocess.run(["/usr/bin/time", "-f", "%e %U %S %M", *command], check=True, capture_output=True, text=True)
    seconds, user, system, kilobytes = measured.stderr.split("\n")[-2].split()
    print(f"{name}: {seconds} s ({user} s user, {system} s system), {int(kilobytes) // 1024} MB", flush=True)


def main():
    program, size = sys.argv[1], int(float(sys.argv[2]) * 1e6)
    compactions = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    with tempfile.TemporaryDirectory() as folder:
        original, file = os.path.join(folder, "original.jsonl"), os.path.join(folder, "s.jsonl")
        generate(original, size, compactions)
        shutil.copy(original, file)
        start = time.monotonic()
        subprocess.run(["sh", "-c", 'cat "$0" | sha256sum', file], check=True, stdout=subprocess.DEVNULL)
        print(f"cat | sha256sum: {time.monotonic() - start:.2f} s", flush=True)
        timed("slim -n", program, "slim", "-q", "-n", file)
        timed("slim", program, "slim", "-q", file)
        archive = file + ".cut.jsonl.zst"
        sizes = [os.path.getsize(path) / 1e6 for path in (original, file, archive)]
        print("{:.0f} MB before, {:.0f} MB after, {:.0f} MB in the archive".format(*sizes), flush=True)
        timed("restore", program, "restore", "-q", "-i", archive, file)
        print("the same" if filecmp.cmp(original, file, shallow=False) else "NOT THE SAME")


if __name__ == "__main__":
    main()
