"""Log levels as configurations of a broker (KIP-412): read, changed while it runs, never stored.

Loggers are those of this process, named after modules; `root` stands for all of them. Levels have Kafka's names.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from millstream.errors import InvalidConfig, InvalidRequest

ROOT: Final = "root"
AUDIT_LOGGER: Final = "kafka.authorizer.logger"
"""Kafka's name, for which people have set levels and filters."""
_PACKAGE: Final = "millstream"
_TRACE: Final = 5
LEVELS: Final[Mapping[str, int]] = {
    "TRACE": _TRACE,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
"""Kafka's names for Python's levels."""


def log_levels() -> dict[str, str]:
    """The effective level of each logger of this broker."""
    found = {ROOT: level_name(logging.getLogger().getEffectiveLevel())}
    for name in _names():
        found[name] = level_name(logging.getLogger(name).getEffectiveLevel())
    return found


def check_log_level(logger: str, level: str | None) -> None:
    """Checks a change of a level; None removes the logger's own.

    Raises InvalidConfig for an unknown logger or level.
    """
    if level is not None and level not in LEVELS:
        raise InvalidConfig(
            f"Cannot set the log level of {logger} to {level} as it is not a supported log level. "
            f"Valid log levels are {', '.join(sorted(LEVELS))}"
        )
    if logger != ROOT and logger not in _names():
        raise InvalidConfig(f"Logger {logger} does not exist!")
    if logger == ROOT and level is None:
        raise InvalidRequest("Removing the log level of the root logger is not allowed")


def set_log_level(logger: str, level: str | None) -> None:
    """Sets the level of a logger. None removes its own level, so that the level of its parent applies."""
    check_log_level(logger, level)
    target = logging.getLogger() if logger == ROOT else logging.getLogger(logger)
    target.setLevel(logging.NOTSET if level is None else LEVELS[level])


def _names() -> set[str]:
    """Packages too: their level counts for what is in them."""
    return {
        name
        for name in logging.root.manager.loggerDict
        if name == AUDIT_LOGGER or f"{name}.".startswith(f"{_PACKAGE}.")
    }


def level_name(level: int) -> str:
    """The level at or below `level`: Python knows numbers between Kafka's names."""
    return max(
        (name for name, number in LEVELS.items() if number <= level),
        key=LEVELS.__getitem__,
        default="TRACE",
    )
