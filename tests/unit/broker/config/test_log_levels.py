"""Log levels as configurations (KIP-412)."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from millstream.broker.config.log_levels import level_name, log_levels, set_log_level
from millstream.errors import InvalidConfig, InvalidRequest

NAME = "millstream.test.log_levels"


@pytest.fixture(autouse=True)
def logger() -> Iterator[logging.Logger]:
    """A logger of this test, and the root's level as it was."""
    root = logging.getLogger()
    before = root.level
    made = logging.getLogger(NAME)
    yield made
    made.setLevel(logging.NOTSET)
    root.setLevel(before)


def test_a_level_counts_at_once_and_for_those_below(logger: logging.Logger) -> None:
    below = logging.getLogger(f"{NAME}.below")
    set_log_level(NAME, "TRACE")
    assert log_levels()[NAME] == "TRACE"
    assert log_levels()[below.name] == "TRACE"
    assert below.isEnabledFor(5)
    set_log_level(NAME, "FATAL")
    assert not logger.isEnabledFor(logging.ERROR)


def test_a_package_has_a_level_before_anybody_logs_under_its_name(logger: logging.Logger) -> None:
    package = NAME.rpartition(".")[0]
    set_log_level(package, "FATAL")
    try:
        assert log_levels()[package] == "FATAL"
        assert not logger.isEnabledFor(logging.ERROR)
    finally:
        set_log_level(package, None)


def test_without_a_level_of_its_own_that_above_counts(logger: logging.Logger) -> None:
    set_log_level("root", "ERROR")
    set_log_level(NAME, "DEBUG")
    set_log_level(NAME, None)
    assert logger.level == logging.NOTSET
    assert log_levels()[NAME] == "ERROR"


@pytest.mark.parametrize("level", ["debug", "WARNING", "LOUD", ""])
def test_levels_are_kafkas(level: str) -> None:
    with pytest.raises(InvalidConfig, match="DEBUG, ERROR, FATAL, INFO, TRACE, WARN"):
        set_log_level(NAME, level)


@pytest.mark.parametrize("name", ["kafka.server.KafkaApis", "asyncio", "millstream.no.such"])
def test_only_loggers_of_this_broker_exist(name: str) -> None:
    assert name not in log_levels()
    with pytest.raises(InvalidConfig, match="does not exist"):
        set_log_level(name, "INFO")


def test_the_root_keeps_a_level() -> None:
    with pytest.raises(InvalidRequest):
        set_log_level("root", None)


@pytest.mark.parametrize(
    ("number", "name"), [(1, "TRACE"), (5, "TRACE"), (15, "DEBUG"), (60, "FATAL")]
)
def test_numbers_between_the_names_are_the_name_below(number: int, name: str) -> None:
    assert level_name(number) == name
