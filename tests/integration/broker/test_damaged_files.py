"""A file of a partition that was damaged while the broker was stopped, as clients of a restarted broker see it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.fetch import FetchPartition, FetchRequest, FetchTopic
from millstream.testing.broker import Broker
from tests.integration.broker.test_transactions import (
    SETTINGS,
    TOPIC,
    Sender,
    prepare,
    read,
    until_stable,
)
from tests.support.clients.raw_client import RawClient

FETCHES = 300


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with Broker(data=tmp_path / "data", settings=SETTINGS) as running:
        prepare(running)
        with RawClient(running.bootstrap_servers) as client:
            for partition in 0, 1:
                for value, commit in ((b"aborted", False), (b"committed", True)):
                    sender = Sender(client).init()
                    assert sender.produce(value, partition) == 0
                    sender.end(commit=commit)
                assert until_stable(client, partition) == [b"committed"]
        yield running


def fetch_errors(client: RawClient) -> list[int]:
    """Of both partitions, in one request of a reader at read_committed."""
    partitions = [
        FetchPartition(partition=number, fetch_offset=0, partition_max_bytes=1 << 20)
        for number in (0, 1)
    ]
    topic = FetchTopic(topic=TOPIC, partitions=partitions)
    request = FetchRequest(max_wait_ms=0, min_bytes=0, isolation_level=1, topics=[topic])
    answer = client.ask(ApiKey.FETCH, 11, request)
    return [told.error_code for told in answer.responses[0].partitions]


def damaged(tmp_path: Path, suffix: str) -> Path:
    return tmp_path / "data" / f"{TOPIC}-0" / f"{0:020d}{suffix}"


@pytest.mark.parametrize("how", ["cut by 3 bytes", "other bytes", "gone"])
def test_a_transaction_index_that_was_damaged_shows_no_aborted_record(
    broker: Broker, tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    broker.stop()
    index = damaged(tmp_path, ".txnindex")
    data = index.read_bytes()
    if how == "gone":
        index.unlink()
    else:
        index.write_bytes(data[:-3] if how == "cut by 3 bytes" else bytes(reversed(data)))
    with caplog.at_level(logging.WARNING):
        broker.start()
        with RawClient(broker.bootstrap_servers) as client:
            assert [read(client, partition)[0] for partition in (0, 1)] == [[b"committed"]] * 2
    assert index.read_bytes() == data
    (told,) = [line for line in caplog.messages if f"{TOPIC}-0" in line]
    assert told.endswith(
        "the transaction indexes of the segments at 0 were damaged, and are made anew from the log"
    )


def test_a_log_file_that_was_cut_takes_only_its_partition_offline_and_is_told_once(
    broker: Broker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broker.stop()
    log = damaged(tmp_path, ".log")
    log.write_bytes(log.read_bytes()[:-3])
    with caplog.at_level(logging.WARNING):
        broker.start()
        with RawClient(broker.bootstrap_servers) as client:
            assert [fetch_errors(client) for _ in range(FETCHES)] == [[56, 0]] * FETCHES
            assert read(client, 1)[0] == [b"committed"]
    (told,) = [record for record in caplog.records if f"{TOPIC}-0" in record.getMessage()]
    assert told.exc_info is None


def test_a_file_that_may_not_be_read_is_an_error_of_its_partition_not_of_the_disk(
    broker: Broker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Tests may be root, who may read everything: a directory has taken the place of the file."""
    broker.stop()
    log = damaged(tmp_path, ".log")
    log.unlink()
    log.mkdir()
    with caplog.at_level(logging.WARNING):
        broker.start()
        with RawClient(broker.bootstrap_servers) as client:
            assert [fetch_errors(client) for _ in range(3)] == [[56, 0]] * 3
    assert len([line for line in caplog.messages if f"{TOPIC}-0" in line]) == 1
