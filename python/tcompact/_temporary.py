"""Makes temporary folders, also where `TMPDIR` names one that cannot be used."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from tcompact.errors import TcompactError

_PREFIX = "tcompact-"
# Where the folder that the environment names cannot be used.
_USUAL = [] if os.name == "nt" else ["/tmp", "/var/tmp"]  # noqa: S108
# In bytes: the longest path of a folder in which a socket has a name that every system takes, and of one in which files
# of the program have.
_FOR_SOCKETS, _FOR_FILES = 80, 3_500


def make_for_socket() -> str:
    """Returns a new folder of this user in which a socket can be made.

    Raises TcompactError if none can be made.
    """
    return _made(_FOR_SOCKETS)


@contextmanager
def folder() -> Iterator[str]:
    """A new folder of this user, which is removed with all that is in it.

    Raises TcompactError if none can be made.
    """
    made = _made(_FOR_FILES)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _made(longest: int) -> str:
    why = ""
    with contextlib.suppress(FileNotFoundError):
        for parent in [tempfile.gettempdir(), *_USUAL]:
            if len(os.fsencode(parent)) + len(_PREFIX) + 8 > longest:
                why = why or "its path is too long"
                continue
            try:
                return tempfile.mkdtemp(prefix=_PREFIX, dir=parent)
            except OSError as error:
                why = why or error.strerror or type(error).__name__
    raise TcompactError(
        f"no temporary folder can be made: {why or 'there is none that can be written to'}; set TMPDIR to one with a "
        "short path that you can write to"
    )
