"""Functions and classes that options name: `module:name` or `module.name`, found in the driver when options
are read, and in each worker.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from millstream.errors import ConfigError


def function_named(option: str, text: str) -> Callable[..., Any]:  # Any: functions of users
    """Returns what the text names. Raises ConfigError where it cannot be imported or called."""
    module, colon, name = text.strip().partition(":")
    if not colon:
        module, _, name = text.strip().rpartition(".")
    if not module or not name:
        raise ConfigError(f"{option} names a function as module:function, not {text!r}")
    try:
        found: object = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"{option}: {text!r} cannot be imported ({error}). Spark's Python workers need the module, too: "
            "PYTHONPATH on one machine, --py-files on a cluster"
        ) from error
    if not callable(found):
        raise ConfigError(f"{option}: {text!r} is a {type(found).__name__} and cannot be called")
    return found
