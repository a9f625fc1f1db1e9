"""Why a data directory, or one log in it, is not opened.

Not an answer to a client: nobody is served yet. The command that starts a broker prints
the text and ends; a single log that is refused stays closed while everything else serves.
"""


class StoreRefused(Exception):
    """The whole directory stays closed: where, what was found, what was expected, what to do."""


class LogRefused(Exception):
    """One log stays closed: where, what was found, what was expected, what to do."""
