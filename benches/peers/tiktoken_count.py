"""Prints the CPU seconds that Python tiktoken takes to count the texts of a conversation, and their tokens.

usage: tiktoken_count.py ENCODING FILE        a JSON list of messages, each with a text for its content

Before the clock starts, it loads the encoding and counts a short text.
"""
import json
import sys
import time

import tiktoken

encoding = tiktoken.get_encoding(sys.argv[1])
encoding.encode_ordinary("Warm.")
with open(sys.argv[2], encoding="utf-8") as file:
    texts = [message["content"] for message in json.load(file)]
began = time.process_time()
tokens = sum(len(encoding.encode_ordinary(text)) for text in texts)
print(json.dumps({"seconds": time.process_time() - began, "tokens": tokens}))
