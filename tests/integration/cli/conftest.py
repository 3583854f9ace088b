"""The command line against one broker for all tests here.

With MILLSTREAM_KAFKA_BOOTSTRAP=HOST:PORT the same tests run against an Apache Kafka.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from millstream.cli.main import main
from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S

_numbers = itertools.count(time.time_ns() // 1_000_000)
MILLSTREAM = [sys.executable, "-m", "millstream.cli.main"]


class Done(NamedTuple):
    """What a process would have left behind."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


def eventually(ask: Callable[[], Done], is_wanted: Callable[[Done], bool]) -> Done:
    """A broker of Kafka learns a little later than the controller what was done."""
    deadline = time.monotonic() + LONG_ENOUGH_S
    while not is_wanted(done := ask()):
        assert time.monotonic() < deadline, done
    return done


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    kafka = os.environ.get("MILLSTREAM_KAFKA_BOOTSTRAP")
    if kafka:
        yield kafka
        return
    with Broker(in_process=False, settings={"num.partitions": "1"}) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def environment(bootstrap: str) -> dict[str, str]:
    return os.environ | {"MILLSTREAM_BOOTSTRAP_SERVERS": bootstrap}


@pytest.fixture
def topic() -> str:
    return f"command-line-{next(_numbers)}"


@pytest.fixture
def run(bootstrap: str) -> Run:
    """`run("topics", "list", given="...")` in this process, which saves the start of another one each time."""

    def run(*arguments: str, given: str = "") -> Done:
        runner = CliRunner(env={"MILLSTREAM_BOOTSTRAP_SERVERS": bootstrap})
        result = runner.invoke(main, arguments, input=given)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Done(result.exit_code, result.stdout, result.stderr)

    return run
