"""Compiled twins of the few modules that have one ("leaves", docs/adr/0005), and what to say where
something runs interpreted.
"""

from __future__ import annotations

import importlib
import logging
import os
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Final

import millstream
from millstream.compiled import are_compiled

_LOGGER = logging.getLogger(__name__)

LEAVES: Final = (
    "millstream.clients.consumer.core.consumer_record",
    "millstream.clients.producer.core.murmur2",
    "millstream.clients.serdes.long_numbers",
    "millstream.records.record_check",
    "millstream.records.walker",
    "millstream.records.writer",
)
"""The modules that setup.py compiles."""

_PURE: Final = "MILLSTREAM_PURE"


def load_leaf(name: str) -> ModuleType:
    """Returns the compiled twin of module `name`, or the module itself where none was built or
    MILLSTREAM_PURE=1 is set.
    """
    if os.environ.get(_PURE) != "1":
        compiled = f"{name}_compiled"
        try:
            return importlib.import_module(compiled)
        except ModuleNotFoundError as error:
            if error.name != compiled:
                raise
    return importlib.import_module(name)


def interpreted_note() -> str | None:
    """Returns a warning for users who run without what can be compiled, and the remedy; None where
    all of it is there.
    """
    if os.environ.get(_PURE) == "1":
        return (
            f"interpreted, several times slower than compiled, because {_PURE}=1 is set; unset it"
        )
    if all(map(_is_built, LEAVES)) and are_compiled():
        return None
    return (
        "interpreted, several times slower than compiled; install Millstream from a wheel for this Python, "
        "or again where there is a C compiler (Debian: apt-get install gcc python3-dev)"
    )


def _is_built(leaf: str) -> bool:
    """Looks for the file.

    `importlib.util.find_spec` would import the packages above it: a server would load clients and serdes for it.
    """
    _, *folders, name = leaf.split(".")
    paths = ["/".join([root, *folders]) for root in millstream.__path__]
    return PathFinder.find_spec(f"{name}_compiled", paths) is not None


def warn_where_interpreted(what: str) -> None:
    """Logs a warning that `what` is slow here, where it is."""
    note = interpreted_note()
    if note is not None:
        _LOGGER.warning("%s: %s", what, note)
