"""Start, stop, restart, kill: what was acknowledged is there afterwards. In a thread and in a process of its own."""

from __future__ import annotations

import os
import resource
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.errors import ConfigError
from millstream.log import FlushPlan, PartitionLog
from millstream.protocol.api import ApiKey
from millstream.protocol.frames import decode_response
from millstream.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicState
from millstream.protocol.generated.fetch import FetchPartition, FetchRequest, FetchTopic
from millstream.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from millstream.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic
from millstream.records.batch import iterate_batches
from millstream.records.record import iterate_records
from millstream.runtime import Instant
from millstream.testing.broker import Broker
from millstream.testing.node_runner import NodeFailed
from tests.patience import LONG_ENOUGH_MS, wait_until
from tests.support.clients.raw_client import RawClient, batch_of, is_alive, request_frame

STORAGE_ERROR, UNKNOWN_TOPIC, NOT_LEADER = 56, 3, 6


@pytest.fixture(params=[True, False], ids=["thread", "process"])
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Broker]:
    with Broker(in_process=request.param, data=tmp_path / "data") as running:
        yield running


def values_of(client: RawClient, topic: str, offset: int = 0) -> list[bytes | None]:
    asked = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(max_wait_ms=0, topics=[FetchTopic(topic=topic, partitions=[asked])])
    found = client.ask(ApiKey.FETCH, 11, request).responses[0].partitions[0]
    assert found.error_code == 0
    return [
        record.value
        for header, batch in iterate_batches(memoryview(bytes(found.records)))
        for record in iterate_records(header, batch)
    ]


def end_offset(client: RawClient, topic: str) -> int:
    asked = ListOffsetsTopic(
        name=topic, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)]
    )
    answer = client.ask(ApiKey.LIST_OFFSETS, 7, ListOffsetsRequest(replica_id=-1, topics=[asked]))
    return int(answer.topics[0].partitions[0].offset)


@pytest.mark.parametrize("end", ["restart", "kill"])
def test_topics_and_records_survive(broker: Broker, end: str) -> None:
    with RawClient(broker.bootstrap_servers) as client:
        client.create_topic("kept", partitions=3)
        for n in range(5):
            assert client.produce("kept", batch_of(b"%d" % n)).base_offset == n
    address, cluster = broker.bootstrap_servers, broker.cluster_id
    if end == "kill":
        broker.kill()
        assert not broker.is_running
        assert not (broker.data / ".kafka_cleanshutdown").exists()
        broker.start()
    else:
        broker.restart()
    assert (broker.bootstrap_servers, broker.cluster_id) == (address, cluster)
    with RawClient(broker.bootstrap_servers) as client:
        assert values_of(client, "kept") == [b"0", b"1", b"2", b"3", b"4"]
        assert end_offset(client, "kept") == 5
        assert client.produce("kept", batch_of(b"5")).base_offset == 5
        asked = MetadataRequest(topics=[MetadataRequestTopic(name="kept")])
        described = client.ask(ApiKey.METADATA, 9, asked).topics[0]
        assert [(each.partition_index, each.leader_id) for each in described.partitions] == [
            (0, 1),
            (1, 1),
            (2, 1),
        ]


def test_a_torn_tail_is_cut_and_the_rest_served(broker: Broker) -> None:
    with RawClient(broker.bootstrap_servers) as client:
        client.create_topic("torn")
        client.produce("torn", batch_of(b"whole"))
        client.produce("torn", batch_of(b"torn"))
    broker.kill()
    segment = broker.data / "torn-0" / f"{0:020}.log"
    segment.write_bytes(segment.read_bytes()[:-3])
    broker.start()
    with RawClient(broker.bootstrap_servers) as client:
        assert values_of(client, "torn") == [b"whole"]
        assert client.produce("torn", batch_of(b"again")).base_offset == 1


def test_a_deleted_topic_stays_deleted_and_its_name_can_be_used_again(broker: Broker) -> None:
    with RawClient(broker.bootstrap_servers) as client:
        client.create_topic("gone")
        client.produce("gone", batch_of(b"old"))
        request = DeleteTopicsRequest(
            topics=[DeleteTopicState(name="gone")], timeout_ms=LONG_ENOUGH_MS
        )
        assert client.ask(ApiKey.DELETE_TOPICS, 6, request).responses[0].error_code == 0
        assert client.produce("gone", batch_of(b"late")).error_code == UNKNOWN_TOPIC
        client.create_topic("gone")
        assert client.produce("gone", batch_of(b"new")).base_offset == 0
    broker.restart()
    with RawClient(broker.bootstrap_servers) as client:
        assert values_of(client, "gone") == [b"new"]


def test_a_directory_that_no_metadata_knows_is_moved_aside_and_kept(broker: Broker) -> None:
    with RawClient(broker.bootstrap_servers) as client:
        client.create_topic("known")
    broker.stop()
    (broker.data / "known-0").rename(broker.data / "stranger-0")
    broker.start()
    moved = [path for path in broker.data.iterdir() if path.name.startswith("stranger-0.")]
    assert [path.name.endswith("-stray") for path in moved] == [True]
    assert (moved[0] / f"{0:020}.log").exists()


def test_what_recovery_cuts_off_is_told_to_the_operator(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Broker(data=tmp_path / "data") as broker:
        with RawClient(broker.bootstrap_servers) as client:
            client.create_topic("torn")
            client.produce("torn", batch_of(b"whole"))
        broker.kill()
        with (broker.data / "torn-0" / f"{0:020}.log").open("ab") as log:
            log.write(b"half a batch")
        broker.start()
        with RawClient(broker.bootstrap_servers) as client:
            assert values_of(client, "torn") == [b"whole"]
    assert "torn-0: recovery cut 12 bytes" in caplog.text


def test_clients_that_vanish_in_the_middle_of_a_request_leave_nothing_behind(
    tmp_path: Path,
) -> None:
    """With a reset, which may arrive together with the bytes before it."""
    descriptors = Path("/proc/self/fd")
    with Broker(data=tmp_path / "data") as broker:
        host, _, port = broker.bootstrap_servers.rpartition(":")
        assert is_alive(broker.bootstrap_servers)  # it has opened all that it needs
        before = len(list(descriptors.iterdir()))
        for _ in range(50):
            with socket.create_connection((host, int(port))) as client:
                client.sendall(b"\x00\x0f\x00\x00half")
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert is_alive(broker.bootstrap_servers)  # accepted after them
        wait_until(lambda: len(list(descriptors.iterdir())) <= before)


def test_every_acknowledged_record_survives_repeated_crashes(tmp_path: Path) -> None:
    acknowledged = 0
    with Broker(in_process=False, data=tmp_path / "data") as broker:
        with RawClient(broker.bootstrap_servers) as client:
            client.create_topic("counted")
        for _ in range(3):
            with RawClient(broker.bootstrap_servers) as client:
                for _ in range(50):
                    answer = client.produce("counted", batch_of(b"%d" % acknowledged))
                    assert answer.base_offset == acknowledged
                    acknowledged += 1
            broker.kill()
            broker.start()
        with RawClient(broker.bootstrap_servers) as client:
            assert values_of(client, "counted") == [b"%d" % n for n in range(acknowledged)]


def test_a_full_disk_is_told_and_the_log_stays_intact(tmp_path: Path) -> None:
    """A limit on file sizes stands for the full disk: writes fail in the middle in the same way."""
    with Broker(in_process=False, data=tmp_path / "data") as broker:
        assert broker.pid is not None
        with RawClient(broker.bootstrap_servers) as client:
            client.create_topic("full")
            assert client.produce("full", batch_of(b"before")).base_offset == 0
            hard = resource.prlimit(broker.pid, resource.RLIMIT_FSIZE)[1]
            resource.prlimit(broker.pid, resource.RLIMIT_FSIZE, (4096, hard))
            refused = client.produce("full", batch_of(bytes(100_000)))
            assert refused.error_code == STORAGE_ERROR
            assert "cannot append to the log of full-0" in (refused.error_message or "")
            assert values_of(client, "full") == [b"before"]
            resource.prlimit(broker.pid, resource.RLIMIT_FSIZE, (hard, hard))
            assert client.produce("full", batch_of(b"after")).base_offset == 1
        broker.restart()
        with RawClient(broker.bootstrap_servers) as client:
            assert values_of(client, "full") == [b"before", b"after"]


def test_acknowledged_means_synced_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`auto`, one replica: what the log's file holds is on the disk when the answer leaves."""
    synced: dict[str, int] = {}
    sync = os.fdatasync

    def noted_sync(descriptor: int) -> None:
        size = os.fstat(descriptor).st_size
        sync(descriptor)
        synced[os.readlink(f"/proc/self/fd/{descriptor}")] = size

    monkeypatch.setattr(os, "fdatasync", noted_sync)  # which syncs for everybody
    settings = {"millstream.flush.on.ack": "auto"}
    with Broker(in_process=True, data=tmp_path / "data", settings=settings) as broker:
        log = broker.data / "synced-0" / f"{0:020}.log"
        with RawClient(broker.bootstrap_servers) as client:
            client.create_topic("synced")
            for n in range(20):
                assert client.produce("synced", batch_of(b"%d" % n)).base_offset == n
                assert synced[str(log)] == log.stat().st_size > 0


def test_records_that_reach_flush_messages_are_synced_before_acks_1_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: dict[str, int] = {}
    complete = PartitionLog.complete_flush

    def note(log: PartitionLog, plan: FlushPlan, now: Instant) -> None:
        complete(log, plan, now)
        synced[log.partition.topic] = log.recovery_point

    monkeypatch.setattr(PartitionLog, "complete_flush", note)
    settings = {"log.flush.interval.messages": "2", "millstream.flush.on.ack": "never"}
    with (
        Broker(data=tmp_path / "data", settings=settings) as broker,
        RawClient(broker.bootstrap_servers) as client,
    ):
        client.create_topic("t")
        for n in range(10):
            assert client.produce("t", batch_of(b"%d" % n), acks=1).base_offset == n
            assert synced.get("t", 0) == (n + 1) // 2 * 2


def test_a_second_broker_in_the_same_directory_is_refused_with_the_nodes_own_words(
    broker: Broker,
) -> None:
    with pytest.raises(ConfigError, match="is held by another broker"):
        Broker(data=broker.data).start()
    with pytest.raises(NodeFailed, match="is held by another broker"):
        Broker(data=broker.data, in_process=False).start()


def test_a_stop_ends_the_fetches_that_wait(broker: Broker) -> None:
    with RawClient(broker.bootstrap_servers) as client:
        client.create_topic("quiet")
        asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=600_000, min_bytes=1, topics=[FetchTopic(topic="quiet", partitions=[asked])]
        )
        frame = request_frame(ApiKey.FETCH, 11, request)
    for pause_s in (0.2, 2, 10):
        with RawClient(broker.bootstrap_servers) as client:
            client.send(frame)
            time.sleep(pause_s)
            broker.stop()
            try:
                answer = decode_response(ApiKey.FETCH, 11, memoryview(client.read_frame()))[1]
            except ConnectionError:  # it had not read the request by then
                broker.start()
            else:
                assert answer.responses[0].partitions[0].error_code == NOT_LEADER
                return
    pytest.fail("the fetch was never answered")
