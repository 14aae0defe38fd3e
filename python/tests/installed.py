"""Uses an installed wheel as a script would, where nothing else is installed. The argument is a transcript."""

import json
import sys
from pathlib import Path

import tcompact

messages = json.loads(Path(sys.argv[1]).read_text("utf-8"))
messages = messages["messages"] if isinstance(messages, dict) else messages
done = tcompact.compact(messages, keep="messages:10")
notes = "A prompt of some length was sent, with all of the messages before the last ten in it, in order."
asked = tcompact.compact(messages, keep="messages:10", summarizer=lambda _: notes)
if done.messages[-1] is not messages[-1] or tcompact.check(done.messages) or "A prompt of" not in str(asked.summary):
    sys.exit("the installed package does not work")
if not Path(tcompact.__file__).with_name("py.typed").exists():
    sys.exit("the types are not installed")
print(f"{done.tokens_before} tokens became {done.tokens_after}")
