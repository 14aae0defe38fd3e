"""A row of the table, and the format of its figures."""
from dataclasses import astuple, dataclass


@dataclass
class Row:
    work: str
    against: str
    ours: str = "-"
    theirs: str = "-"
    ratio: str = "-"
    goal: str = ""

    def __str__(self):
        return f"| {' | '.join(astuple(self))} |"


def missing(work, against, goal="", ours="-", installed=False):
    """Returns the row of a peer that is missing or fails, for example because a download fails."""
    return Row(work, against, ours, "fails" if installed else "not installed", goal=goal)


def against(work, peer, ours, theirs, goal=""):
    """Returns a row of seconds, and how many times faster tcompact is."""
    return Row(work, peer, seconds(ours), seconds(theirs), times(theirs / ours), goal)


def seconds(took):
    if took < 0.001:
        return f"{1e6 * took:.0f} µs"
    return f"{1000 * took:.1f} ms" if took < 1 else f"{took:.2f} s"


def mebibytes(size):
    if size < 2**20:
        return f"{size / 2**10:.0f} KiB"
    return f"{size / 2**20:.1f} MiB"


def times(ratio):
    return f"{ratio:,.0f}x" if ratio >= 20 else f"{ratio:.1f}x" if ratio >= 1.95 else f"{ratio:.2f}x"
