"""A backlog gives on Spark what the judge says, whatever the size of micro-batches: a sample of what `make oracle-alignment` runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "oracle"))

from alignment.on_spark import SparkRunner, SparkWay
from alignment.orders import counted, orders_case
from alignment.running import Comparison
from live_cases.cluster import Cluster
from live_cases.running import BROKER_SETTINGS, carry_functions

from millstream.streams.config import ProcessingGuarantee
from millstream.testing.broker import Broker

ORDERS: Final = 4_000

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def session(request: pytest.FixtureRequest) -> Any:
    carry_functions()
    return request.getfixturevalue("spark")


def test_every_order_of_a_backlog_is_counted_record_by_record_as_the_judge_does(
    session: Any, tmp_path: Path
) -> None:
    way = SparkWay(
        limit=None,
        is_continuous=False,
        ends=False,
        guarantee=ProcessingGuarantee.EXACTLY_ONCE_V2,
        chance="orders",
    )
    with (
        Broker(in_process=False, settings=BROKER_SETTINGS) as broker,
        Cluster(broker.bootstrap_servers) as cluster,
    ):
        comparison = Comparison(cluster, SparkRunner(session, way), tmp_path)
        assert comparison.run(orders_case(ORDERS), "orders") == []
    assert counted(comparison.found) == ORDERS
