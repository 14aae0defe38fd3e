"""A middleware for agents of langchain that compacts with tcompact: a drop-in for `SummarizationMiddleware`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Annotated, Any, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, SummarizationMiddleware
from langchain.agents.middleware.types import ModelRequest
from langchain.chat_models import init_chat_model
from langchain.tools import ToolRuntime
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime
from pydantic import BeforeValidator

import tcompact
from tcompact import RefusedError, TcompactError, UsageError, _program, _recall, _temporary
from tcompact._messages import Messages
from tcompact._planner import surely_unchanged
from tcompact._sentences import MIDDLEWARE
from tcompact._sizes import Size, Trigger

_CONFIG: RunnableConfig = {"metadata": {"lc_source": "summarization"}}
try:
    from langchain.agents.middleware.internal_call_transformer import internal_call_metadata

    # Streams of the agent leave the tokens of a call out that is marked so.
    _CONFIG["metadata"].update(internal_call_metadata())
except ImportError:  # an older or a newer langchain
    pass

_NOT_GIVEN: Any = object()
_KEEP: Size = ("messages", 20)
# Who summarizes in the program itself.
_OF_THE_PROGRAM = ("extractive", "none")
_ANOTHER = "together:another"
_log = logging.getLogger("tcompact")
# Models also give a place as a number.
_Asked = Annotated[str, BeforeValidator(str)]


class CompactionMiddleware(AgentMiddleware[Any, Any, Any]):
    """Compacts the messages of an agent before a call of its model, where a trigger is reached.

    `model` writes the summaries: a chat model, the name of one, or None for the embedded summarizer, which needs no
    model. `trigger` and `keep` are sizes as `SummarizationMiddleware` takes them (`("tokens", 4000)`,
    `{"tokens": 4000, "messages": 10}` for "and", a list for "or"), or as the program does (`"steps:20"`). A number
    alone is tokens for `trigger`, and messages for `keep`. Other options are flags of the program. With
    `preset="langchain"`, the state is the same as with `SummarizationMiddleware`.

    A fraction is of the window of `model`, or of `context_window` or `for_` where these are given. If such a window is
    known, the default `trigger` is `("fraction", 0.85)`, and the default of `keep` makes the result half a window.

    The whole history is shown to `model`, in parts if it does not fit; `trim_tokens_to_summarize` shows the end of it.

    `archive` keeps what is cut away; `{thread_id}` in it stands for the thread of the agent. With `recall`, the agent
    has a tool that searches and shows what was cut from its thread. A thread without an id has neither, and one warning
    says so.

    A step that fails does not end the run: if the model fails, the embedded summarizer writes the summary, and messages
    that no cut makes small enough stay as they are. The logger `tcompact` gets a warning with the reason. With a
    preset, or with `on_error="fail"`, TcompactError is raised instead.

    Raises UsageError, which is a ValueError, where an option is wrong, and TcompactError where the program is missing.
    """

    transformers = getattr(SummarizationMiddleware, "transformers", ())

    def __init__(
        self,
        model: str | BaseChatModel | None = None,
        *,
        trigger: Trigger | None = None,
        keep: Size = _KEEP,
        preset: str | None = None,
        token_counter: str | Callable[..., int] | None = None,
        summary_prompt: str | None = None,
        trim_tokens_to_summarize: int | None = _NOT_GIVEN,
        summarizer: str | BaseChatModel | None = None,
        archive: str | Path | None = None,
        recall: bool = False,
        **flags: Any,
    ) -> None:
        super().__init__()
        self._archive = None if archive is None else str(archive)
        if recall and not (
            self._archive and _recall.THREAD in self._archive and self._archive.endswith(_recall.ENDINGS)
        ):
            raise UsageError(
                "recall: it needs an archive of its own for each thread", 2, 'archive="archives/{thread_id}.jsonl"'
            )
        self.tools: list[BaseTool] = [self._tool()] if recall else []
        self._is_warned = False
        # What fails must not end the agent's run.
        self._goes_on = preset is None and "on_error" not in flags
        if self._goes_on:
            flags["on_error"] = "extractive"
        if recall and preset is None:
            # The agent may have no shell.
            flags = {"archive_note": _recall.NOTE} | flags
        if model in _OF_THE_PROGRAM:
            flags["model"], model = model, None
        manager = init_chat_model(model) if isinstance(model, str) else model
        writer = init_chat_model(summarizer) if isinstance(summarizer, str) else summarizer or manager
        if not isinstance(writer, BaseChatModel | None):
            raise UsageError(f"the model is a chat model or its name, not {type(writer).__name__}", 2)
        self.model, self._manager = writer, manager if preset is not None else None
        self._summary_prompt = summary_prompt
        if trim_tokens_to_summarize is not _NOT_GIVEN:
            flags["trim_tokens"] = "none" if trim_tokens_to_summarize is None else trim_tokens_to_summarize
        if writer is not None:
            # A model thinks longer than most commands run.
            flags = {"timeout": 600} | flags
        if manager is not None and "for_" not in flags:
            flags = _of_model(manager) | flags
        is_keep_open = keep == _KEEP and (preset is not None or trigger is None or "fit" in flags)
        sizes = {"trigger": trigger, "keep": None if is_keep_open else keep}
        self._counter = _of_texts(token_counter)
        if self._counter is not None:
            flags.pop("counter", None)
        self._flags = flags | _counter(token_counter) | {"preset": preset} | sizes
        self._look_at_flags()
        self._texts: dict[str, bytes] = {}
        # A dry run writes no archive and asks nobody, and one that passes over a transcript would not answer.
        others = {"archive": None, "archive_note": None, "cache": None, "on_error": "fail"}
        others |= {} if writer is None else {"summarizer_cmd": "exit 1"}
        self._planning = ["--from=langchain", *_program.options(self._flags | others)]

    def _look_at_flags(self) -> None:
        """Raises UsageError where the program refuses a flag, or where it would never have anything to do."""
        with self._flags_of_a_run("0") as flags:
            nothing = Messages([])
            window = tcompact.run_plan(nothing, flags | {"from": "langchain"}, None, call=MIDDLEWARE).context_window
        if any(self._flags.get(rule) for rule in ("trigger", "preset", "fit", "config")):
            return
        if window is None:
            raise UsageError(
                "nothing says when to compact: there is neither a trigger nor a known window",
                2,
                'give trigger=("tokens", 100_000), context_window=128_000 or for_="gpt-4o"',
            )
        if self._flags["keep"] is not None:
            self._flags["trigger"] = "fraction:0.85"

    @property
    def name(self) -> str:
        """The name of what it replaces: systems that bring a `SummarizationMiddleware` take this one in its place."""
        return SummarizationMiddleware.__name__

    def before_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Compacts the messages of the state; None where nothing is to be done."""
        return self._update(state, self._thread(runtime), self._ask if self.model else None)

    async def abefore_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Does the same in an event loop: the program runs in a thread, the model in the loop."""
        loop = asyncio.get_running_loop()
        asked: list[Future[str]] = []

        def ask(prompt: str) -> str:
            asked.append(asyncio.run_coroutine_threadsafe(self._aask(prompt), loop))
            return asked[-1].result()

        try:
            return await asyncio.to_thread(self._update, state, self._thread(runtime), ask if self.model else None)
        finally:
            for future in asked:
                future.cancel()

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Leaves `recall` out of the tools of a thread without an id."""
        return handler(self._offered(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """Does the same in an event loop."""
        return await handler(self._offered(request))

    def _offered(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        if not self.tools or self._thread(request.runtime):
            return request
        return request.override(tools=[tool for tool in request.tools if tool is not self.tools[0]])

    def _tool(self) -> BaseTool:
        def recall(pattern_or_index: _Asked, runtime: ToolRuntime[Any, Any]) -> str:
            thread = self._thread(runtime)
            if thread is None or self._archive is None:
                return "Nothing is kept of this conversation: it runs without a thread id."
            # An archive holds secrets as they were.
            flags = ["--redact"] if self._flags.get("redact") else []
            return _recall.recalled(_recall.archive_of(self._archive, thread), pattern_or_index, flags)

        async def arecall(pattern_or_index: _Asked, runtime: ToolRuntime[Any, Any]) -> str:
            return await asyncio.to_thread(recall, pattern_or_index, runtime)

        return StructuredTool.from_function(recall, arecall, name=_recall.NAME, description=_recall.DESCRIPTION)

    def _thread(self, runtime: Any) -> str | None:
        """Returns the id of the thread that runs, and warns once where one with an archive has none."""
        thread = getattr(getattr(runtime, "execution_info", None), "thread_id", None)
        if thread in (None, "") and _recall.THREAD in (self._archive or "") and not self._is_warned:
            self._is_warned = True
            _log.warning("archive: the agent runs without a thread id, so nothing is kept of what is cut away")
        return None if thread in (None, "") else str(thread)

    def _update(
        self, state: AgentState[Any], thread: str | None, ask: Callable[[str], str] | None
    ) -> dict[str, Any] | None:
        if self.model is not None and ask is not None:
            ask = _named(ask, self.model)
        with self._flags_of_a_run(thread) as flags:
            given = Messages(state["messages"], self._texts)
            if self._manager is not None and _is_of_another(state["messages"], self._manager) and "for_" not in flags:
                # The presets do not trigger by tokens that another provider reported than that of the model.
                flags = {"for": _ANOTHER} | flags
            # A program that stays cannot call a function.
            elif self._counter is None and given.is_langchain and surely_unchanged(self._planning, given.text):
                return None
            try:
                compaction = tcompact.run_compaction(given, flags, ask, self._counter, MIDDLEWARE)
            except RefusedError as error:
                # No cut makes them fit.
                if not self._goes_on:
                    raise
                _log.warning("%s; the messages stay as they are", error.args[0])
                return None
        if compaction.status == "unchanged":
            return None
        messages = len(state["messages"]), len(compaction.messages)
        tokens = compaction.tokens_before, compaction.tokens_after
        _log.info("compacted %d messages to %d, %s tokens to %s", *messages, *tokens)
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *compaction.messages]}

    @contextlib.contextmanager
    def _flags_of_a_run(self, thread: str | None) -> Iterator[dict[str, Any]]:
        flags = self._flags
        if self._archive is not None:
            is_kept = thread is not None or _recall.THREAD not in self._archive
            flags = flags | (
                {"archive": _recall.archive_of(self._archive, thread)} if is_kept else {"archive_note": None}
            )
        if self._summary_prompt is None:
            yield flags
            return
        with _temporary.folder() as folder:
            path = Path(folder, "prompt.txt")
            path.write_text(self._summary_prompt, "utf-8")
            try:
                yield flags | {"prompt_file": path}
            except TcompactError as error:
                error.args = (str(error.args[0]).replace(f'prompt_file="{path}"', "summary_prompt"),)
                raise

    def _ask(self, prompt: str) -> str:
        return str(cast(BaseChatModel, self.model).with_retry().invoke(prompt, _CONFIG).text)

    async def _aask(self, prompt: str) -> str:
        return str((await cast(BaseChatModel, self.model).with_retry().ainvoke(prompt, _CONFIG)).text)


def _named(ask: Callable[[str], str], model: BaseChatModel) -> Callable[[str], str]:
    """Returns a function with the name of the model, by which `cache` finds its summaries."""

    def named(prompt: str) -> str:
        return ask(prompt)

    told = model._get_ls_params()
    parts = (told.get("ls_provider"), told.get("ls_model_name"), told.get("ls_temperature"))
    named.__qualname__ = ":".join(str(part) for part in parts if part is not None) or type(model).__name__
    return named


def _of_model(model: BaseChatModel) -> dict[str, Any]:
    """Returns what is known of the model whose window is managed."""
    profile = getattr(model, "profile", None)
    window = profile.get("max_input_tokens") if isinstance(profile, Mapping) else None
    flags: dict[str, Any] = {"context_window": window} if window else {}
    if model._llm_type.startswith("anthropic-chat"):
        flags["counter"] = "approx:3.3"
    return flags


def _is_of_another(messages: Sequence[BaseMessage], model: BaseChatModel) -> bool:
    """Whether another provider than that of `model` wrote the model's last message."""
    last = next((message for message in reversed(messages) if isinstance(message, AIMessage)), None)
    theirs = last.response_metadata.get("model_provider") if last else None
    ours = str(model._get_ls_params().get("ls_provider"))
    is_bedrock = ours == "amazon_bedrock" and theirs in ("bedrock", "bedrock_converse")
    return bool(theirs) and ours.removesuffix("-mantle") != theirs and not is_bedrock


def _counter(counter: str | Callable[..., int] | None) -> dict[str, Any]:
    if not (counter is None or isinstance(counter, str) or callable(counter)):
        raise UsageError(
            f"token_counter: it is a function or a name, not {type(counter).__name__}", 2, "token_counter=len"
        )
    return {"counter": counter} if isinstance(counter, str) else {}


def _of_texts(counter: str | Callable[..., int] | None) -> Callable[[str], int] | None:
    """Returns what counts a text, for a function that counts messages: a message with it, less one without."""
    if counter is None or counter is count_tokens_approximately or isinstance(counter, str):
        return None
    of_messages = counter

    def of_text(text: str) -> int:
        tokens, empty = (of_messages([HumanMessage(content)]) for content in (text, ""))
        return max(tokens - empty, 0)

    return of_text
