"""Prints the CPU seconds that one of sumy's summarizers takes for ten sentences of a text.

usage: sumy_summary.py lexrank|textrank|lsa FILE

sumy's own sentences need a model of NLTK, which is a download. Here a sentence ends at a punctuation mark before white
space, or with the line, and a word is a run of letters.
"""
import json
import re
import sys
import time

from sumy.nlp.stemmers import Stemmer
from sumy.parsers.plaintext import PlaintextParser
from sumy.summarizers.lex_rank import LexRankSummarizer
from sumy.summarizers.lsa import LsaSummarizer
from sumy.summarizers.text_rank import TextRankSummarizer

SUMMARIZERS = {"lexrank": LexRankSummarizer, "textrank": TextRankSummarizer, "lsa": LsaSummarizer}


class Tokenizer:
    language = "english"

    def to_sentences(self, text):
        return [line for line in re.split(r"(?<=[.!?])\s+|\n+", text) if line.strip()]

    def to_words(self, sentence):
        return re.findall(r"[^\W\d_]+", sentence)


with open(sys.argv[2], encoding="utf-8") as file:
    text = file.read()
began = time.process_time()
document = PlaintextParser.from_string(text, Tokenizer()).document
summary = SUMMARIZERS[sys.argv[1]](Stemmer("english"))(document, 10)
print(json.dumps({"seconds": time.process_time() - began, "sentences": len(document.sentences), "said": len(summary)}))
