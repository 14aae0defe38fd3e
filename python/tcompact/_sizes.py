"""Sizes as Python gives them: `"tokens:4000"`, `("tokens", 4000)`, the same as a list, or a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

Size = str | float | tuple[str, float] | Sequence[str | float]
# Sizes that must all be reached.
Clause = Mapping[str, float]
Trigger = Size | Clause | Sequence[Size | Clause]

# What a number alone counts.
_UNITS = {"keep": "messages", "trigger": "tokens", "fit": "tokens"}


def of_flag(flag: str, value: Any) -> Any:
    """Returns the value of a flag as the program takes it; a list, where the flag may repeat."""
    if flag not in _UNITS or value is None or isinstance(value, bool):
        return value
    if flag == "trigger":
        return _clauses(value)
    return _size(value, _UNITS[flag])


def _clauses(trigger: Trigger) -> list[str]:
    if isinstance(trigger, Mapping):
        return [",".join(_size(size, "tokens") for size in trigger.items())]
    if isinstance(trigger, str | int | float) or _is_pair(trigger):
        return [_size(cast(Size, trigger), "tokens")]
    return [clause for one in trigger for clause in _clauses(one)]


def _size(size: Size, unit: str) -> str:
    if isinstance(size, str | int | float):
        # The program knows what a number below 1 was meant to be.
        return _number(size) if isinstance(size, str) or 0 < size < 1 else f"{unit}:{_number(size)}"
    return ":".join(map(_number, size))


def _number(value: str | float) -> str:
    # 5e4 is a whole number, too.
    return str(int(value) if isinstance(value, float) and value.is_integer() and value > 1 else value)


def _is_pair(value: Any) -> bool:
    return [*map(type, value)] in ([str, int], [str, float])
