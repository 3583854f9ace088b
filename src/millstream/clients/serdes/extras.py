"""Libraries that come with an extra only: imported when a serde is made, and named where they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from millstream.errors import MillstreamError


class MissingExtra(MillstreamError, ImportError):
    """A format's library is not installed; the message has the command that installs it."""


def library(name: str, extra: str) -> Any:  # Any: modules with and without types
    """Returns the module `name`. Raises MissingExtra naming `extra`."""
    try:
        return import_module(name)
    except ImportError as error:
        if error.name is not None and not name.startswith(error.name):
            raise  # the library is there and lacks something of its own
        raise MissingExtra(
            f"this format needs {name.partition('.')[0]}: pip install 'millstream[{extra}]'"
        ) from error
