"""How a node's log looks."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from millstream.cli.server.log_output import JsonFormat, PlainFormat, write_log
from millstream.errors import ConfigError


def event(message: str = "hello", *, error: BaseException | None = None) -> logging.LogRecord:
    information = (type(error), error, None) if error else None
    record = logging.LogRecord("millstream.x", logging.WARNING, "", 0, message, None, information)
    record.created = 1_700_000_000.125
    return record


def test_plain_lines_have_time_level_node_and_component() -> None:
    assert PlainFormat(3).format(event()) == (
        "2023-11-14T22:13:20.125Z WARN [node 3] millstream.x: hello"
    )


def test_json_lines_have_the_same_fields() -> None:
    assert json.loads(JsonFormat(3).format(event("a\nb"))) == {
        "time": "2023-11-14T22:13:20.125Z",
        "level": "WARN",
        "node": 3,
        "component": "millstream.x",
        "message": "a\nb",
    }
    assert "\n" not in JsonFormat(3).format(event(error=ValueError("x")))
    assert "ValueError: x" in PlainFormat(3).format(event(error=ValueError("x")))


def test_what_the_audit_log_says_stands_in_fields_too() -> None:
    record = event("Principal = User:alice is Denied ...")
    record.audit = {"principal": "User:alice", "allowed": False, "resource": "x" * 20_000}
    audit = json.loads(JsonFormat(3).format(record))["audit"]
    assert (audit["principal"], audit["allowed"]) == ("User:alice", False)
    assert audit["resource"].endswith("(20,000 characters)")
    assert "audit" not in json.loads(JsonFormat(3).format(event()))


@pytest.mark.parametrize("form", [PlainFormat(1), JsonFormat(1)])
def test_a_line_is_bounded_whatever_it_quotes(form: logging.Formatter) -> None:
    megabytes = "x" * 5_000_000
    line = form.format(event(megabytes, error=ValueError(megabytes)))
    assert len(line) < 21_000
    assert "(5,000,000 characters)" in line


def test_what_is_quoted_cannot_forge_a_line() -> None:
    line = PlainFormat(1).format(event("topic a\n2023-11-14T22:13:20.125Z ERROR forged\x1b[2J"))
    assert line.count("\n") == 0
    assert "topic a\\n2023" in line


@pytest.fixture
def restored() -> Iterator[None]:
    root, named = logging.getLogger(), logging.getLogger("millstream.named")
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    named.setLevel(logging.NOTSET)


@pytest.mark.usefixtures("restored")
def test_levels_come_from_the_variables_of_kafkas_image() -> None:
    environment = {
        "KAFKA_LOG4J_ROOT_LOGLEVEL": "WARN",
        "KAFKA_LOG4J_LOGGERS": "millstream.named=TRACE,",
    }
    write_log("plain", 1, environment)
    assert logging.getLogger().level == logging.WARNING
    assert logging.getLogger("millstream.named").level == 5


@pytest.mark.usefixtures("restored")
def test_a_level_that_does_not_exist_is_said() -> None:
    with pytest.raises(ConfigError, match="there is no log level LOUD"):
        write_log("json", 1, {"KAFKA_LOG4J_ROOT_LOGLEVEL": "LOUD"})
