"""The errors of the program, one class for each exit code that a caller handles."""

from __future__ import annotations

from collections.abc import Sequence

from tcompact import _sentences


class TcompactError(Exception):
    """The program failed. The text is the program's sentence, with parameters where that names flags.

    `exit_code` is the program's exit code, or None where there is no program to run.
    `hint` is what to try, as Python, or None.
    """

    def __init__(self, message: str, exit_code: int | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message}\ntry: {self.hint}" if self.hint else message


class InputError(TcompactError):
    """Exit code 1: the messages are not a transcript, or a file cannot be read or written."""


class UsageError(TcompactError, ValueError):
    """Exit code 2: an option is wrong."""


class SummarizerError(TcompactError):
    """Exit code 4: the summarizer failed. `__cause__` is the exception of a Python summarizer."""


class RefusedError(TcompactError):
    """Exit code 5: the summary is empty, cut off or not smaller, or `fit` cannot be reached."""


def from_program(
    exit_code: int, stderr: str, call: str, own: Sequence[str] = (), given: Sequence[str] = ()
) -> TcompactError:
    """Returns the error for an exit code, with the last sentence that the program printed and a `call` to try.

    The program got the arguments `own` of this module, which no hint names, and those that were `given`.
    """
    kinds = {1: InputError, 2: UsageError, 4: SummarizerError, 5: RefusedError}
    last = ("\n" + stderr.strip()).rpartition("\ntcompact: ")[2].strip()
    message, _, hint = last.partition("\ntry: ")
    message = _sentences.sentence(message) or f"the program ended with exit code {exit_code}"
    hint = _sentences.hint(hint, call, own, given) if hint else ""
    return kinds.get(exit_code, TcompactError)(message, exit_code, hint or None)
