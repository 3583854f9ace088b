"""A driver that SIGTERM or SIGINT ends: what is under way is finished, the exit code says how it ended, and the next run goes on behind it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream.testing.broker import Broker
from tests.integration.spark.test_cluster import Driver, Words, driver
from tests.patience import LONG_ENOUGH_S

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

RECORDS = 1_500
"""Each takes 2 ms, so that no run of a second does all of them."""


@pytest.fixture
def own_broker() -> Iterator[Broker]:
    with Broker(in_process=False) as running:
        yield running


def test_a_signal_ends_a_driver_in_order_and_the_next_run_does_the_rest(
    own_broker: Broker, topics: Any, tmp_path: Path
) -> None:
    words = Words(topics.of(own_broker))
    words.write(RECORDS)
    log = tmp_path / "driver.log"
    settings = {"application_id": "count", "directory": str(tmp_path), "records_max": 20}

    def ended_by(number: signal.Signals | None, **way: bool) -> tuple[int, Driver]:
        """Sends the signal after the first micro-batch, if any."""
        with driver("local[1]", own_broker, log, {}, **settings, **way) as running:
            if number is not None:
                running.wait_for(lambda: any(each["records"] for each in running.progress()))
                running.process.send_signal(number)
            code = running.process.wait(LONG_ENOUGH_S)
            assert running.process.stdin is not None
            running.process.stdin.close()
            return code, running

    code, ended = ended_by(signal.SIGTERM, until_signal=True)
    assert (code, ended.said()[-1]) == (0, {"closed": True}), log.read_text()[-3000:]
    assert len(words.read()) < RECORDS, "it was ended in the middle"
    code, ended = ended_by(signal.SIGINT, until_end=True)
    assert code == 128 + signal.SIGINT, log.read_text()[-3000:]
    assert {"closed": True} not in ended.said(), "it has not done all that it was to do"
    # PySpark's daemon may begin a traceback of its own while it is killed. None is of ours.
    assert "millstream/" not in log.read_text(), log.read_text()[-6000:]
    code, _ = ended_by(None, until_end=True)
    assert code == 0, log.read_text()[-3000:]
    assert sorted(words.read()) == words.every_update()
