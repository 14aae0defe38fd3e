"""The rows of the table: functions that measure and yield rows."""
from rows.processes import dry, ttok
from rows.row import Row
from rows.sessions import decide, summary
from rows.streams import memory, stream, stream_memory
from rows.tokenizers import tokens

IN_ORDER = {rows.__name__: rows for rows in (dry, decide, stream, tokens, ttok, memory, stream_memory, summary)}

__all__ = ["IN_ORDER", "Row"]
