"""Writes the log of a node: one line an event on standard error, to be read by people or by programs.

Levels come from the variables of Kafka's official image: KAFKA_LOG4J_ROOT_LOGLEVEL=LEVEL,
KAFKA_LOG4J_LOGGERS=NAME=LEVEL,... Owns formats and levels; what is logged is everybody's own business.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from millstream.broker.config.log_levels import LEVELS, level_name
from millstream.cli.terminal import printable
from millstream.errors import ConfigError
from millstream.quoting import shortened

_LINE_CHARACTERS_MAX: Final = 10_000
"""What is logged may quote what a client sent, and that may have megabytes."""


class PlainFormat(logging.Formatter):
    """`2026-01-31T12:00:00.123Z INFO [node 1] millstream.net.server.socket_server: ...`"""

    def __init__(self, node_id: int) -> None:
        super().__init__()
        self._node_id = node_id

    def format(self, record: logging.LogRecord) -> str:
        message = printable(_message(record))  # a name with a newline in it would forge a line
        line = f"{_time(record)} {level_name(record.levelno)} [node {self._node_id}] {record.name}: {message}"
        if record.exc_info:
            line += f"\n{_lines(self.formatException(record.exc_info))}"
        return line


class JsonFormat(logging.Formatter):
    """One JSON object a line. What the log says of a decision or of a login stands in it as fields, too (`audit`)."""

    def __init__(self, node_id: int) -> None:
        super().__init__()
        self._node_id = node_id

    def format(self, record: logging.LogRecord) -> str:
        event: dict[str, object] = {
            "time": _time(record),
            "level": level_name(record.levelno),
            "node": self._node_id,
            "component": record.name,
            "message": _message(record),
        }
        audit = getattr(record, "audit", None)
        if audit is not None:
            event["audit"] = {name: _short(value) for name, value in audit.items()}
        if record.exc_info:
            event["error"] = _lines(self.formatException(record.exc_info))
        return json.dumps(event)


def write_log(form: str, node_id: int, environment: Mapping[str, str]) -> None:
    """Sends everything that is logged to standard error. Raises ConfigError for a level that does not exist."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormat(node_id) if form == "json" else PlainFormat(node_id))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(_number(environment.get("KAFKA_LOG4J_ROOT_LOGLEVEL", "INFO")))
    for item in filter(None, environment.get("KAFKA_LOG4J_LOGGERS", "").split(",")):
        name, _, level = item.partition("=")
        logging.getLogger(name.strip()).setLevel(_number(level))


def _message(record: logging.LogRecord) -> str:
    return shortened(record.getMessage(), _LINE_CHARACTERS_MAX)


def _short(value: object) -> object:
    return shortened(value, _LINE_CHARACTERS_MAX) if isinstance(value, str) else value


def _lines(trace: str) -> str:
    return "\n".join(shortened(line, _LINE_CHARACTERS_MAX) for line in trace.split("\n"))


def _number(level: str) -> int:
    number = LEVELS.get(level.strip().upper())
    if number is None:
        raise ConfigError(f"there is no log level {level}: write one of {', '.join(LEVELS)}")
    return number


def _time(record: logging.LogRecord) -> str:
    time = datetime.fromtimestamp(record.created, UTC)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
