"""The rows of the table: functions that measure and yield rows."""
from rows.batches import batch
from rows.processes import dry, size, start, ttok
from rows.row import Row
from rows.sessions import decide, summary
from rows.streams import memory, stream, stream_memory
from rows.tokenizers import tokens, worst

IN_ORDER = {rows.__name__: rows for rows in (dry, decide, stream, tokens, ttok, worst, memory, stream_memory, start,
                                             batch, summary, size)}

__all__ = ["IN_ORDER", "Row"]
