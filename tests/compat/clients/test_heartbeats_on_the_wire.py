"""What a member of a KIP-848 group says, read from the wire: the same by our consumer and by Java's (`make oracle`)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from millstream.protocol.api import ApiKey
from millstream.protocol.frames import decode_request
from millstream.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from millstream.testing.broker import Broker
from millstream.testing.faults.connection import FaultConnection
from millstream.testing.faults.proxy import FaultProxy
from tests.compat.clients.group_readers import (
    CLASSPATH,
    Book,
    JavaReader,
    OurReader,
    Reader,
    until_shared,
)
from tests.compat.clients.test_mixed_groups import FAST, PARTITIONS, new_topic

pytestmark = pytest.mark.compat
java = pytest.param(
    JavaReader,
    marks=[
        pytest.mark.oracle,
        pytest.mark.slow,
        pytest.mark.skipif(
            not CLASSPATH or shutil.which("java") is None,
            reason="MILLSTREAM_KAFKA_CLASSPATH does not name Kafka's jars, or there is no java",
        ),
    ],
)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(in_process=False, settings=FAST) as running:
        yield running


def told(request: ConsumerGroupHeartbeatRequest, topic: str) -> str:
    """What a heartbeat says beside who sends it; empty if nothing."""
    if request.member_epoch < 0:
        return "leaves"  # Java adds that it wants and holds nothing any more
    words = []
    if request.member_epoch == 0:
        words.append("joins")
    if request.rebalance_timeout_ms >= 0:
        words.append(f"timeout {request.rebalance_timeout_ms}")
    if request.subscribed_topic_names is not None:
        words.append(
            f"topics {[name.replace(topic, 't') for name in request.subscribed_topic_names]}"
        )
    others = ("instance_id", "rack_id", "subscribed_topic_regex", "server_assignor")
    words += [name for name in others if getattr(request, name) is not None]
    if request.topic_partitions is not None:
        words.append(f"holds {sum(len(held.partitions) for held in request.topic_partitions)}")
    return ", ".join(words)


@pytest.mark.parametrize("reader", [OurReader, java])
async def test_everything_is_said_on_joining_and_then_only_what_is_new(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, reader: type[OurReader | JavaReader]
) -> None:
    heartbeats: list[ConsumerGroupHeartbeatRequest] = []
    see = FaultConnection._seen

    def seen(self: FaultConnection, header: Any, frame: bytes) -> Any:
        if header.request_api_key == ApiKey.CONSUMER_GROUP_HEARTBEAT:
            heartbeats.append(decode_request(memoryview(frame))[1])
        return see(self, header, frame)

    monkeypatch.setattr(FaultConnection, "_seen", seen)
    topic = await new_topic(broker.bootstrap_servers)
    with FaultProxy(broker.bootstrap_servers) as proxy:
        watched: Reader = reader("watched", proxy.bootstrap_servers, topic, "consumer", Book())
        await until_shared([watched], PARTITIONS)
        other = OurReader("other", broker.bootstrap_servers, topic, "consumer", Book())
        await until_shared([watched, other], PARTITIONS)
        await other.stop()
        await until_shared([watched], PARTITIONS)
        await watched.stop()
    assert len({heartbeat.member_id for heartbeat in heartbeats}) == 1
    assert [words for heartbeat in heartbeats if (words := told(heartbeat, topic))] == [
        "joins, timeout 300000, topics ['t'], holds 0",
        "holds 6",
        "holds 3",
        "holds 6",
        "leaves",
    ]
