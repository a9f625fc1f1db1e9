"""How a package says what can be set: a dataclass whose fields carry help and unit.

Each package defines its own settings class; config.py fills them from file and environment,
and `onelog config` and the docs list them. Nothing here knows any of them.
"""

import dataclasses
from typing import Any


def setting(default: Any, *, help: str, unit: str = "") -> Any:
    """A field of a settings class: its default, what it means, and its unit."""
    return dataclasses.field(default=default, metadata={"help": help, "unit": unit})
