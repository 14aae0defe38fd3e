"""The data of the tests beside this file.

  data.py make COUNT FILES FOLDER   FOLDER/in/NN.jsonl from the fixtures, one of the files empty
  data.py parquet FOLDER            FOLDER/table/NN.parquet from these: an id, and the line as a string
  data.py lines TABLE               the conversations of a Parquet data set by id, a line each
"""
import json
import random
import sys
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


def conversations(count):
    """No two alike but for empty ones, so that lines which changed places are noticed; long and short, so that the
    parts take unequal time; of several formats, so that a line which depends on its neighbours is noticed."""
    chance = random.Random(7)
    session = json.loads((FIXTURES / "agent-session.json").read_text())
    others = [json.loads(line) for line in (FIXTURES / "openai-chat/conversations.jsonl").open()]
    others += [json.loads((FIXTURES / name).read_text()) for name in ("anthropic/request.json", "langchain/thread.json", "gemini/request.json")]
    for number in range(count):
        if number % 2:
            value = others[number // 2 % len(others)]
        else:
            value = dict(session, messages=session["messages"][: chance.randrange(10, len(session["messages"]) + 1)])
        yield value, str(number)


def marked(value, mark):
    """The same with a mark in each text of some length."""
    if isinstance(value, dict):
        return {key: marked(inner, mark) for key, inner in value.items()}
    if isinstance(value, list):
        return [marked(inner, mark) for inner in value]
    return f"{value} ({mark})" if isinstance(value, str) and " " in value else value


def make(count, files, folder):
    target = Path(folder, "in")
    target.mkdir(parents=True)
    lines = [json.dumps(marked(*pair), ensure_ascii=False) for pair in conversations(int(count))]
    files = int(files)
    starts = [len(lines) * part // (files - 1) for part in range(files)]
    parts = [lines[start:end] for start, end in zip(starts, starts[1:])]
    parts.insert(files // 2, [])
    for number, part in enumerate(parts):
        (target / f"{number:02}.jsonl").write_text("".join(line + "\n" for line in part))


def parquet(folder):
    import pyarrow
    import pyarrow.parquet

    (Path(folder) / "table").mkdir()
    number = 0
    for path in sorted(Path(folder, "in").iterdir()):
        lines = path.read_text().split("\n")[:-1]
        ids = [f"{number + index:08}" for index in range(len(lines))]
        number += len(lines)
        schema = pyarrow.schema([("id", pyarrow.string()), ("conversation", pyarrow.string())])
        table = pyarrow.table({"id": ids, "conversation": lines}, schema)
        pyarrow.parquet.write_table(table, Path(folder, "table", path.stem + ".parquet"))


def lines(table):
    import pyarrow.parquet

    rows = pyarrow.parquet.read_table(table).sort_by("id")
    for line in rows["conversation"]:
        sys.stdout.buffer.write(line.as_py().encode() + b"\n")


{"make": make, "parquet": parquet, "lines": lines}[sys.argv[1]](*sys.argv[2:])
