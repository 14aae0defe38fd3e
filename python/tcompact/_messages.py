"""Messages as the SDKs give and take them: dicts, pydantic objects of openai and anthropic, messages of langchain.

None of these packages is imported unless an object of it is among the messages.
"""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

# No summary has these words in it.
_SUMMARY = re.compile("<summary>\n(.*?)\n</summary>", re.DOTALL)


class Messages:
    """Messages in the form that the program reads, which become objects of the same kind again afterwards."""

    def __init__(self, messages: Any, written: dict[str, bytes] | None = None) -> None:
        """`written` is the texts of an earlier call as JSON, which becomes those of this one."""
        self.is_langchain = False
        self._objects: list[Any] = []
        if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
            # An object around messages, or no transcript: the program says which.
            self.text = _text(messages, _dump)
            return
        self._objects = list(messages)
        base = getattr(sys.modules.get("langchain_core.messages"), "BaseMessage", None)
        self.is_langchain = base is not None and any(isinstance(message, base) for message in self._objects)
        if not self.is_langchain:
            self.text = _text(self._objects, _dump)
            return
        from langchain_core.messages import convert_to_messages, message_to_dict

        self._objects = convert_to_messages(self._objects)
        dumped = [message_to_dict(message) for message in self._objects]
        for message in dumped:
            # No model sees an artifact, and it can be anything.
            message["data"].pop("artifact", None)
        self.text = _langchain_text(dumped, {} if written is None else written)

    @functools.cached_property
    def dumped(self) -> Any:
        """The transcript as the program reads it."""
        return json.loads(self.text)

    def restored(self, written: Any) -> Any:
        """Returns what the program wrote: unchanged messages are the objects that were given, others of their kind."""
        if not isinstance(written, list):
            return written
        places: dict[str, list[int]] = {}
        for index, message in enumerate(self.dumped):
            places.setdefault(_key(message), []).append(index)
        restored = []
        # From the end, since what is kept is there: of equal messages, the last is meant.
        for message in reversed(written):
            same = places.get(_key(message))
            restored.append(self._objects[same.pop()] if same else self._changed(message))
        return restored[::-1]

    def summary(self, written: Any) -> tuple[str | None, bool]:
        """Returns the text of the summary, and whether it has marks around it; else it is that of the whole message.

        The summary is in the first message that is new.
        """
        given = {_key(message) for message in self.dumped}
        new = [message for message in written if _key(message) not in given][:1] if self._objects else written
        texts = list(_texts(new))
        found = next(filter(None, map(_SUMMARY.search, texts)), None)
        return (found[1], True) if found else (max(texts, key=len, default=None), False)

    def _changed(self, message: Any) -> Any:
        """Returns a message that is new, or that the program shortened."""
        if self.is_langchain:
            return self._changed_langchain(message)
        kinds = {type(given) for given in self._objects if _role(given) == _role(message)}
        kind: Any = kinds.pop() if len(kinds) == 1 else dict
        if not hasattr(kind, "model_validate"):
            return message
        try:
            return kind.model_validate(message)
        except ValueError:
            # A dict is what the SDKs take for each message.
            return message

    def _changed_langchain(self, message: dict[str, Any]) -> Any:
        from langchain_core.messages import messages_from_dict

        changed = messages_from_dict([message])[0]
        for given, dumped in zip(self._objects, self.dumped, strict=True):
            if type(given) is type(changed) and _identity(given) == _identity(changed) is not None:
                fields = [name for name in type(given).model_fields if name != "artifact"]
                differ = [name for name in fields if dumped["data"].get(name) != message["data"].get(name)]
                return given.model_copy(update={name: getattr(changed, name) for name in differ})
        return changed


def _text(messages: Any, default: Callable[[Any], Any]) -> bytes:
    """Returns a transcript for the program. Half of a surrogate pair is an escape there, as JSON allows."""
    return json.dumps(messages, ensure_ascii=False, default=default).encode("utf-8", "backslashreplace")


def _langchain_text(dumped: list[dict[str, Any]], written: dict[str, bytes]) -> bytes:
    messages, texts = [], {}
    for message in dumped:
        data = message["data"]
        if type(data["content"]) is not str:
            messages.append(_text(message, _dump_or_show))
            continue
        text = data.pop("content")
        texts[text] = json_text = written.get(text) or _text(text, _dump)
        messages.append(_text(message, _dump_or_show)[:-2] + b', "content": ' + json_text + b"}}")
    written.clear()
    written.update(texts)
    return b"[" + b", ".join(messages) + b"]"


def _dump(value: Any) -> Any:
    """Returns a pydantic object as its provider wrote it, with defaults, but without what was never there."""
    if not hasattr(value, "model_dump"):
        raise TypeError(f"a message holds an object of {type(value).__name__}, which is not JSON")
    how: dict[str, Any] = {"mode": "json", "by_alias": True, "warnings": False}
    return value.model_dump(exclude_none=True, **how) | value.model_dump(exclude_unset=True, **how)


def _dump_or_show(value: Any) -> Any:
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else repr(value)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        yield from _texts(part)


def _key(message: Any) -> str:
    return json.dumps(message, sort_keys=True)


def _role(message: Any) -> Any:
    role = ("role", "type")
    if isinstance(message, dict):
        return next((message[key] for key in role if key in message), None)
    return next((getattr(message, key) for key in role if hasattr(message, key)), None)


def _identity(message: Any) -> Any:
    return message.id or getattr(message, "tool_call_id", None)
