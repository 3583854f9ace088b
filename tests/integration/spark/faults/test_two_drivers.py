"""One application started twice: the drivers take its tasks from each other, and everything is done once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream.testing.broker import Broker
from tests.integration.spark.test_cluster import Driver, Words, driver

pytestmark = [pytest.mark.spark, pytest.mark.cluster, pytest.mark.timeout(600)]


def has_had_the_tasks(driver: Driver) -> bool:
    return len({each["sub_topology"] for each in driver.progress()}) == 2


@pytest.fixture
def own_broker() -> Iterator[Broker]:
    with Broker(in_process=False) as running:
        yield running


def test_two_drivers_of_one_application_do_everything_once(
    own_broker: Broker, topics: Any, tmp_path: Path
) -> None:
    words = Words(topics.of(own_broker))

    def given(name: str) -> tuple[Any, dict[str, Any]]:
        place = tmp_path / name
        place.mkdir()
        settings = {"application_id": "count", "directory": str(place), "records_max": 20}
        return ("local[1]", own_broker, place / "driver.log", {}), settings

    (one, of_one), (other, of_other) = given("one"), given("other")
    with driver(*one, **of_one) as first, driver(*other, **of_other) as second:
        first.wait_for(lambda: has_had_the_tasks(first))
        second.wait_for(lambda: has_had_the_tasks(second))
        for _ in range(5):
            words.write(100)
            first.wait_for(words.are_counted)
        assert sorted(words.read()) == words.every_update()
