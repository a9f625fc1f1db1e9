"""The two forms in which a message may come, as versions of its declaration.

A form is the document's or that of the programs that exist. Where a field has another width in
the other one, the message is declared twice.
"""

from typing import Final

DOCUMENT: Final = 0
PROGRAMS: Final = 1

TEXT_BYTES_MAX: Final = 65_535
