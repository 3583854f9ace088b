"""Kafka's dump-log tool decodes what groups write into `__consumer_offsets`: `make oracle` (see CONTRIBUTING)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from typing import Any

import pytest

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from millstream.protocol.generated.find_coordinator import FindCoordinatorRequest
from millstream.testing.broker import Broker
from tests.patience import wait_until
from tests.support.clients.raw_client import RawClient

CLASSPATH = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.compat,
    pytest.mark.skipif(
        not CLASSPATH,
        reason="MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka 4.3 are",
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no java"),
]

COUNTED = re.compile(r"key: (\{.*\}) payload: (.*)$")


def beat(
    client: RawClient, group: str, epoch: int, **fields: Any
) -> ConsumerGroupHeartbeatResponse:
    request = ConsumerGroupHeartbeatRequest(group, "m", epoch, **fields)
    answer = client.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request)
    assert answer.error_code == 0, answer
    return answer


def join(client: RawClient, group: str, **fields: Any) -> None:
    beat(client, group, 0, rebalance_timeout_ms=5000, topic_partitions=[], **fields)


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[str, Any]]]:
    """Type and value of each record, by group. A tombstone is None."""
    tmp_path = tmp_path_factory.mktemp("data")
    with Broker(in_process=True, data=tmp_path) as broker, RawClient(broker.bootstrap_servers) as c:
        c.create_topic("topic", 2)
        find = FindCoordinatorRequest(key_type=0, coordinator_keys=["names"])
        while c.ask(ApiKey.FIND_COORDINATOR, 4, find).coordinators[0].error_code:
            time.sleep(0.05)
        join(c, "names", subscribed_topic_names=["topic"])
        beat(c, "names", -1)
        join(c, "regex", subscribed_topic_regex="top.*")
        wait_until(lambda: beat(c, "regex", 1).member_epoch == 2)  # it is resolved elsewhere
        join(c, "static", subscribed_topic_names=["topic"], instance_id="i")
        beat(c, "static", -2, instance_id="i")
    files = ",".join(
        str(path)
        for path in sorted(tmp_path.glob("__consumer_offsets-*/*.log"))
        if path.stat().st_size
    )
    done = subprocess.run(
        ["java", "-cp", CLASSPATH, "org.apache.kafka.tools.DumpLogSegments", "--offsets-decoder", "--files", files],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    groups: dict[str, list[tuple[str, Any]]] = {}
    for line in done.stdout.splitlines():
        found = COUNTED.search(line)
        if found:
            key = json.loads(found[1])
            value = None if found[2] == "<DELETE>" else json.loads(found[2])["data"]
            groups.setdefault(key["data"]["groupId"], []).append((key["type"], value))
    return groups


def types(records: list[tuple[str, Any]]) -> list[str]:
    return [kind if value is not None else f"-{kind}" for kind, value in records]


def test_joining_and_leaving_write_what_kafka_writes(
    dumped: dict[str, list[tuple[str, Any]]],
) -> None:
    records = dumped["names"]
    assert types(records) == ["5", "3", "7", "6", "8", "-8", "-7", "-5", "3"]
    assert records[0][1] == {
        "instanceId": None, "rackId": None, "clientId": "raw", "clientHost": "/127.0.0.1",
        "subscribedTopicNames": ["topic"], "subscribedTopicRegex": "", "rebalanceTimeoutMs": 5000,
        "serverAssignor": None, "classicMemberMetadata": None,
    }  # fmt: skip
    assert records[1][1]["epoch"] == 2
    assert records[2][1]["topicPartitions"][0]["partitions"] == [0, 1]
    assert records[3][1]["assignmentEpoch"] == 2
    current = records[4][1]
    topic_id = current["assignedPartitions"][0]["topicId"]
    assert current == {
        "memberEpoch": 2, "previousMemberEpoch": 0, "state": 0,
        "assignedPartitions": [{"topicId": topic_id, "partitions": [0, 1], "assignmentEpochs": [2, 2]}],
        "partitionsPendingRevocation": [],
    }  # fmt: skip
    assert records[8][1] == {"epoch": 3}


def test_a_regular_expression_is_resolved_in_a_record_of_its_own(
    dumped: dict[str, list[tuple[str, Any]]],
) -> None:
    records = dumped["regex"]
    assert types(records) == ["5", "8", "16", "3", "7", "6", "8"]
    assert records[2][1]["topics"] == ["topic"]
    assert [value["memberEpoch"] for kind, value in records if kind == "8"] == [1, 2]


def test_a_static_member_that_leaves_keeps_its_partitions_in_epoch_0(
    dumped: dict[str, list[tuple[str, Any]]],
) -> None:
    records = dumped["static"]
    assert types(records) == ["5", "3", "7", "6", "8", "8"]
    gone = records[5][1]
    assert (gone["memberEpoch"], gone["assignedPartitions"][0]["assignmentEpochs"]) == (-2, [0, 0])
