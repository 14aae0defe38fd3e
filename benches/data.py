"""Generates the data: conversations from `fixtures/agent-session.json`, and texts.

usage: data.py KIND FOLDER [SIZE]        prints the path, as JSON; KIND is one of the functions in KINDS

All data comes from a seed, so that two runs measure the same bytes, except for `mixed`, which changes with this
repository. A file that exists is used as it is. Generation is a process of its own, since its memory would show in the
measurements.
"""
import json
import os
import random
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURES = os.path.join(HERE, "..", "fixtures")
BYTES_A_MESSAGE = 2180  # in a long session: 218 KB for 100 messages
BYTES_A_LINE = 23_000  # with a conversation of 20 messages

CHINESE = ("今天会议讨论了下一季度的发布计划请把测试结果写进报告里然后通知所有负责人包裹跟踪服务需要在周五之前修复重复通知的问题"
           "数据库迁移已经冻结不要改动任何脚本谢谢大家的配合我们明天继续讨论网关超时和重试次数的设置以及日志的格式")
JAPANESE = ("本日の会議では来期のリリース計画について話し合いましたテスト結果を報告書に記入して担当者全員に連絡してください"
            "通知サービスの再試行回数は三回までとしゲートウェイのタイムアウトは三十秒に設定しますログの形式も見直す予定です")


def session():
    """Returns the messages of the fixture: a session of a coding agent, 62 messages with parallel tool calls."""
    with open(os.path.join(FIXTURES, "agent-session.json"), encoding="utf-8") as file:
        return json.load(file)["messages"]


def renumbered(text, chance):
    """Replaces the digits of a text, so that no two texts are equal."""
    return re.sub(r"[0-9]", lambda _: chance.choice("0123456789"), text)


def messages(count, bytes_a_message, seed):
    """Returns `count` messages of an endless session, with unique ids and results that fill the bytes."""
    chance, source, result = random.Random(seed), session(), []
    lines = [line for message in source if message["role"] == "tool" for line in message["content"].split("\n")]
    room = 0
    while len(result) < count:
        round_ = len(result)
        for message in source[1 if result else 0:][:count - len(result)]:
            message = json.loads(json.dumps(message))
            for call in message.get("tool_calls", []):
                call["id"] += f"_{round_}"
            room += bytes_a_message
            if message["role"] == "tool":
                message["tool_call_id"] += f"_{round_}"
                lengthen(message, room - written(message), lines, chance)
            result.append(message)
            room -= written(message)
    return result


def written(message):
    return len(json.dumps(message, ensure_ascii=False).encode()) + 2


def lengthen(message, room, lines, chance):
    """Appends lines of other results to a result until it fills `room` bytes."""
    more, at = [message["content"]], chance.randrange(len(lines))
    # One result must not fill the room of a quarter of the messages.
    room = min(room, 12_000)
    while room > 0:
        line = renumbered(lines[at % len(lines)], chance)
        more.append(line)
        room -= len(json.dumps(line, ensure_ascii=False).encode())
        at += 1
    message["content"] = "\n".join(more)


def conversation(folder, count):
    """Writes a file with one conversation of `count` messages."""
    def fill(file):
        json.dump({"model": "gpt-4o", "messages": messages(count, BYTES_A_MESSAGE, count)}, file, ensure_ascii=False)
    return file_in(folder, f"conversation-{count}.json", fill)


def lines(folder, size, count=20, bytes_a_message=BYTES_A_LINE // 20, different=256):
    """Writes JSONL with one conversation a line, each with a unique number; `different` of them differ otherwise."""
    def fill(file):
        seeds = range(different)
        conversations = [messages(count, bytes_a_message, seed) for seed in seeds]
        conversations = [json.dumps(one, ensure_ascii=False) for one in conversations]
        left, n = size, 0
        while left > 0:
            line = f'{{"id": "c{n:07}", "model": "gpt-4o", "messages": {conversations[n % different]}}}\n'
            left -= file.write(line)
            n += 1
    return file_in(folder, f"lines-of-{count}-{size // 1_000_000}mb.jsonl", fill)


def long_lines(folder, size):
    """Writes JSONL with 2,000 messages, some 4 MB, a line."""
    return lines(folder, size, 2000, BYTES_A_MESSAGE, 4)


def text(folder, count):
    """Writes the texts of a conversation of `count` messages, as lines."""
    def fill(file):
        file.write("\n".join(message["content"] or "" for message in messages(count, BYTES_A_MESSAGE, count)))
    return file_in(folder, f"text-{count}.txt", fill)


def fixture(folder):
    """Writes the texts of the fixture, as lines."""
    def fill(file):
        file.write("\n".join(message["content"] or "" for message in session()))
    return file_in(folder, "fixture.txt", fill)


def mixed(folder, size):
    """Writes one conversation: a third code and a third English prose of this repository, a sixth Chinese and Japanese,
    a sixth logs in JSON. A message has some 2,500 bytes of one kind, with unique digits."""
    def fill(file):
        chance = random.Random(20)
        kinds = [text_of("..", ".md") + prose(), text_of("../src", ".rs")]
        kinds = [pieces(text, chance, 2500) for text in (kinds * 2)[:4]] + [east_asian(chance), logs(chance)]
        content, left, n = [], size, 0
        while left > 0:
            text = next(kinds[n % len(kinds)])
            left -= len(text.encode())
            content.append({"role": ("user", "assistant")[n % 2], "content": text})
            n += 1
        json.dump(content, file, ensure_ascii=False)
    return file_in(folder, f"mixed-{size // 1_000_000}mb.json", fill)


def text_of(folder, ending):
    """Returns the text of all files with this ending in a folder."""
    found = []
    for parent, folders, names in os.walk(os.path.join(HERE, folder)):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "target")
        found += [os.path.join(parent, name) for name in sorted(names) if name.endswith(ending)]
    return "".join(open(path, encoding="utf-8").read() for path in found)


def prose():
    return "\n".join(message["content"] or "" for message in session() if message["role"] in ("user", "assistant"))


def pieces(text, chance, size):
    while True:
        at = chance.randrange(len(text) - size)
        yield renumbered(text[at:at + size], chance)


def east_asian(chance):
    while True:
        source, sentences = chance.choice((CHINESE, JAPANESE)), []
        for _ in range(40):
            at = chance.randrange(len(source) - 25)
            sentences.append(source[at:at + chance.randrange(6, 25)] + chance.choice("，。、\n"))
        yield "".join(sentences)


def logs(chance):
    events = [line for message in session() if message["role"] == "tool" for line in message["content"].split("\n")]
    while True:
        rows = [{"time": f"2024-05-{chance.randrange(10, 31)}T09:{chance.randrange(10, 60)}:07Z",
                 "level": chance.choice(("INFO", "WARN", "ERROR")), "worker": chance.randrange(64),
                 "id": f"{chance.getrandbits(48):012x}", "event": renumbered(chance.choice(events), chance)[:80]}
                for _ in range(16)]
        yield "\n".join(map(json.dumps, rows))


def file_in(folder, name, fill):
    """Returns the path of a file in the folder, which `fill` writes if it does not exist."""
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        with open(path + ".part", "w", encoding="utf-8", newline="\n") as file:
            fill(file)
        os.rename(path + ".part", path)
    return path


KINDS = {kind.__name__: kind for kind in (conversation, lines, long_lines, text, fixture, mixed)}

if __name__ == "__main__":
    print(json.dumps(KINDS[sys.argv[1]](sys.argv[2], *map(int, sys.argv[3:]))))
