"""Which facts of a history a summary of it still holds, told without judging its wording.

A *literal* is a piece of text that an agent must have to the letter: an address, a path, an identifier, the name of an
error, a number with a meaning, what stands in quotes. It survives where the summary holds it as a whole, with no letter
or digit next to it. A *goal* is a sentence that asks for something or forbids it; it survives where one line or sentence
of the summary has at least 60 % of its telling words. A literal is *needed* when the calls that come after the history
use it again, and *invented* when a summary states it and the history does not.

Both texts are read in one spelling: Unicode compatibility forms, small letters, single spaces, no commas in numbers.
"""
import math
import re
import unicodedata
from collections import Counter

UNITS = r"""ns|us|µs|ms|s|secs?|seconds?|mins?|minutes?|hours?|h|days?|weeks?|months?|years?|[KMGT]i?B|bytes?|B|kbps|Mbps|Hz|kHz
    |MHz|GHz|tokens?|lines?|rows?|files?|tests?|x|USD|EUR|dollars?|km|kg|bags?|passengers?"""
ENDINGS = """rs py pyi js mjs cjs ts tsx jsx go java kt c h cc cpp hpp cs rb php swift sh bash zsh ps1 sql htm html css scss
    md rst txt json jsonl yml yaml toml ini cfg conf env lock xml csv tsv parquet proto ipynb log patch diff zip gz tar whl so
    dll exe png jpg jpeg svg pdf""".split()

# At one place the first that matches is taken, so what holds others comes before them: an address before its path.
LITERAL = re.compile(rf"""
    \bhttps?://[^\s<>"'`)\]}}|\\]+
  | \b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b
  # paths: from a root or a dot, of several parts with an ending, of Windows, a bare file
  | (?<![\w/:.~]) (?:~|\.{{1,2}})? / (?:[\w.@+-]+/)* [\w@+-][\w.@+-]*
  | (?<![\w/:.@-]) (?:[\w.@+-]+/)+ [\w@+-]* \.[A-Za-z]\w{{0,7}}\b
  | \b[A-Za-z]:\\ (?:[^\\\s:*?"<>|]+\\)* [^\\\s:*?"<>|]+
  | (?<![\w/.@-]) [\w-]+ (?:\.[\w-]+)* \.(?:{"|".join(ENDINGS)})\b
  # errors: by name, by number, by how something ended
  | \b[A-Z]\w*(?:Error|Exception|Panic|Fault)\b | \bE\d{{4}}\b | \bE[A-Z]{{4,}}\b | \bSIG[A-Z]{{3,}}\b
  | \b(?:exit(?:ed)?(?:[ ]with)?(?:[ ]code|[ ]status)?|rc|errno|HTTP(?:/\d(?:\.\d)?)?|status(?:[ _]code)?)
    [ =:]{{1,3}}-?\d{{1,4}}\b
  # identifiers that begin with a digit, before the numbers
  | \b[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}\b
  # dates, addresses of machines, versions, times of day, money, numbers with a unit, decimals, numbers of 3 digits and more
  | \b\d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b
  | \b\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?::\d+)?\b
  | \bv?\d+\.\d+\.\d+(?:[-+][\w.]+)?\b | \b\d{{1,2}}:\d\d(?::\d\d)?\b
  | [$€£¥]\s?\d[\d,]*(?:\.\d+)?
  | \b\d[\d,]*(?:\.\d+)?\s?(?:[%°]|(?:{UNITS})\b)
  | \b\d[\d,]*\.\d+\b | \b\d{{1,3}}(?:,\d{{3}})+\b | \b\d{{3,}}\b
  # identifiers: a::b, a_b, aB, AaBb, a(), hashes, codes, #1, --flag
  | \b[A-Za-z]\w*(?:::\w+)+\b | \b[A-Za-z]\w*_\w+\b
  | \b[a-z]+[a-z0-9]*(?:[A-Z][a-z0-9]*)+\b | \b(?:[A-Z][a-z0-9]+){{2,}}\b | \b[A-Za-z_]\w*\(\)
  | \b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{{7,64}}\b
  | [#]?\b(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{{4,}}\b | [#]\d+\b | --?[a-z][\w-]{{2,}}(?==|\s|$)
""", re.X)
QUOTED = re.compile(r"""`([^`\n]{2,100})` | "([^"\n]{3,100})" | “([^”\n]{2,100})” | 「([^」\n]{1,60})」 | 『([^』\n]{1,60})』
    | (?<!\w)'([^'\n]{3,80})'(?!\w)""", re.X)
# The names of fields are the tool's, and as many as there are records.
FIELD = re.compile(r'"[\w $.@-]{1,60}"(?=\s*:)')

GOAL = re.compile(r"""\b(?: i[ ](?:want|need|would[ ]like|'d[ ]like|am[ ](?:trying|looking)|'m[ ](?:trying|looking)) | please | can[ ]you
    | could[ ]you | help[ ]me | make[ ]sure | goal | task | must | should[ ]not | do[ ]not | don't | never | always )\b
    | 请 | 帮我 | 需要 | 希望 | 必须 | 不要 | 目标""", re.I | re.X)
COMMON = set("""a about all also am an and any are as at be been being but by can could did do does down for from had has have
    he hello her here hi his how i if in into is it its just let lets me might more most must my no not of ok okay on or other
    our out over please shall she should so some sure than thank thanks that the their then there these they this those to too
    up very was we were what when where which who why will with without would yes you your""".split())
CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
OF_CJK = re.compile(f"[{CJK}]")


def tokens(text):
    """About how many tokens a text has: a character of Chinese, Japanese or Korean each, four others one."""
    cjk = len(OF_CJK.findall(text))
    return cjk + math.ceil((len(text) - cjk) / 4)


def plain(text):
    text = unicodedata.normalize("NFKC", text).replace("’", "'")
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    return " ".join(text.split()).casefold()


def literals(text, quoted=True):
    """The literals of a text in their plain spelling, with how often they occur.

    >>> dict(literals('It wrote 1,000,000 rows to src/a.rs, then "all done" and src/a.rs again.'))
    {'all done': 1, '1000000 rows': 1, 'src/a.rs': 2}
    """
    text = FIELD.sub(lambda field: " " * len(field[0]), text)
    def count(found):
        spelled = (plain(literal).rstrip(".,;:!?") for literal in found)
        return Counter(literal for literal in spelled if len(literal) > 1)
    found = count(match[0] for match in LITERAL.finditer(text))
    if not quoted:
        return found
    # What is a literal without its quotes as well has been counted.
    return count(match[match.lastindex] for match in QUOTED.finditer(text) if re.search(r"\w", match[match.lastindex])) | found


def holds(text, literal):
    """Whether a text in plain spelling has a literal that is not part of a longer word.

    >>> holds("order 4wq150 of mia", "4wq150"), holds("order 4wq1501", "4wq150"), holds("5000000", "000")
    (True, False, False)
    """
    def joined(a, b):
        return a.isalnum() and b.isalnum() and not OF_CJK.match(b)
    at = text.find(literal)
    while at >= 0:
        end = at + len(literal)
        if not (at and joined(text[at - 1], literal[0])) and not (end < len(text) and joined(text[end], literal[-1])):
            return True
        at = text.find(literal, at + 1)
    return False


def sentences(text):
    return [s.strip() for s in re.split(r"(?<=[.!?])\s+|(?<=[。！？])|\n+", text) if s.strip()]


def telling(text):
    """The words of a text that are not on everybody's lips; of CJK text, pairs of characters."""
    text = plain(text)
    found = {word for word in re.findall(r"[a-z0-9_./@$%-]*[a-z0-9_%]", text) if len(word) > 1 and word not in COMMON}
    for run in re.findall(f"[{CJK}]+", text):
        found.update([run[n:n + 2] for n in range(len(run) - 1)] or [run])
    return found


def told(wanted, summary):
    """How many of some sentences a summary tells, and how many of them say enough to be looked for.

    >>> told(["Please book the cheapest direct flight.", "Please do."], "- book the cheapest flight")
    (1, 1)
    """
    lines = [telling(line) for line in dict.fromkeys(summary.split("\n") + sentences(summary))]
    wanted = [words for words in map(telling, dict.fromkeys(wanted)) if len(words) > 2]
    return sum(any(len(words & line) >= 0.6 * len(words) for line in lines) for words in wanted), len(wanted)


def kept(head, summary, calls):
    """What a summary keeps of a head: (kept, of), or None where there is nothing to keep. `calls` is what came later."""
    within, later = plain(summary), plain(calls)
    found = literals(head)
    weights = {literal: 1 + math.log2(count) for literal, count in found.items()}
    there = {literal for literal in found if holds(within, literal)}
    needed = [literal for literal in literals(head, quoted=False) if holds(later, literal)]
    goals = [s for s in sentences(head) if 12 <= len(s) <= 600 and GOAL.search(s)]
    before = plain(head)
    return {
        "literals": (len(there), len(found)),
        "freq": (sum(weights[literal] for literal in there), sum(weights.values())),
        "needed": (sum(literal in there for literal in needed), len(needed)),
        "goal": told(goals, summary),
        "invented": [literal for literal in literals(summary, quoted=False) if not holds(before, literal)],
    }
