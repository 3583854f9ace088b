"""SIGKILL of a query whose sink is exactly once, of its parts and of its broker: readers with read_committed see each row once.

Processes are killed at named moments of the sink: a few here, and all that there are with seeds in `make soak`.
"""

from __future__ import annotations

import pytest

from tests.support.kills.copied import killed_query
from tests.support.kills.orders import Order, Victim
from tests.support.kills.sink_moments import SinkMoment

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1000)]

DRIVER, BROKER = Victim.DRIVER, Victim.BROKER


@pytest.mark.parametrize(
    ("kind", "orders"),
    [
        (
            "append",
            (
                Order(BROKER, SinkMoment.MARKED),
                Order(DRIVER, SinkMoment.COMMITTED, 2),
            ),
        ),
    ],
)
def test_a_query_killed_again_and_again_writes_each_row_once(
    kind: str, orders: tuple[Order, ...]
) -> None:
    assert killed_query(kind, orders) == list(orders)
