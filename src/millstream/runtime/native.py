"""Compiled twins of the few modules that have one ("leaves", docs/adr/0005)."""

from __future__ import annotations

import importlib
import os
from types import ModuleType


def load_leaf(name: str) -> ModuleType:
    """The compiled twin of module `name`, or the module itself where none was built or MILLSTREAM_PURE=1 is set."""
    if os.environ.get("MILLSTREAM_PURE") != "1":
        compiled = f"{name}_compiled"
        try:
            return importlib.import_module(compiled)
        except ModuleNotFoundError as error:
            if error.name != compiled:
                raise
    return importlib.import_module(name)
