"""How a package says what can be set: a dataclass whose fields carry help and unit.

Each package defines its own settings class; config.py fills them from file and environment,
and `onelog config` and the docs list them. Nothing here knows any of them.
"""

import dataclasses
from typing import Any


def setting(default: Any, *, help: str, unit: str = "", at_least: int = 1) -> Any:
    """A field of a settings class: its default, what it means, its unit, and its least number."""
    return dataclasses.field(default=default, metadata={"help": help, "unit": unit, "at_least": at_least})
