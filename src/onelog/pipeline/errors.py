"""Why a pipeline cannot go on: one sentence that says where, what was found, what to do.

Spark's own failures keep their own types until run.py has found the sentence in them.
"""


class PipelineError(Exception):
    """A flow, a table or a session that cannot be used as it is."""


class FlowError(PipelineError):
    """A flow that is not one: what stands in the file, or was said in Python, and what was expected."""


class LedgerError(PipelineError):
    """A batch that does not fit behind what the table has. Nothing was written."""


class TableError(PipelineError):
    """A table that cannot take, or does not have, what is asked of it."""
