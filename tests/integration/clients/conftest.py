"""One broker for the tests of a module; topics have names of their own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

from millstream.testing.broker import Broker

_numbers = itertools.count()


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with Broker(in_process=False, settings={"num.partitions": "1"}) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def new_topic() -> Callable[[], str]:
    return lambda: f"topic-{next(_numbers)}"
