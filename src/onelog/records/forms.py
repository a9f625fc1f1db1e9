"""Which form of the compiled modules runs: the compiled one, unless ONELOG_KERNELS says plain.

A compiled module stands beside its source and is found first. When it is imported while the
plain form is asked for, it puts the module made of its source in its own place.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from os import environ
from os.path import dirname, join
from types import ModuleType

VARIABLE = "ONELOG_KERNELS"
_ROOT = dirname(dirname(__file__))


def plain_is_asked() -> bool:
    """Whether the environment forbids the compiled form."""
    return environ.get(VARIABLE) == "plain"


def put_plain(name: str) -> None:
    """Let imports of one of our modules find its plain form."""
    sys.modules[name] = load_plain(name)


def load_plain(name: str) -> ModuleType:
    """One of our modules made of its source, whether or not a compiled form is there."""
    path = join(_ROOT, *name.split(".")[1:]) + ".py"
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
