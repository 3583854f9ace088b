"""A new cluster has no topics for coordinators: what Apache Kafka answers then, and what we do. `make oracle` with MILLSTREAM_KAFKA_CLASSPATH set."""

from __future__ import annotations

import os
import shutil
from typing import Any

import pytest

from tests.oracle.broker.servers import kafka, ours
from tests.oracle.broker.session import Session, codes_of

CLASSPATH = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.compat,
    pytest.mark.slow,
    pytest.mark.skipif(
        not CLASSPATH,
        reason="MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka 4.3 are",
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no java"),
]

MEMBER = "AAAAAAAAAAAAAAAAAAAAAg"
KEYS = {0: ["g", "h"], 1: ["x", "y"], 2: [f"g:{MEMBER}:0"]}


def answers(bootstrap: str) -> dict[str, list[int]]:
    """The error codes of each question, none of them asked again, by what was asked."""
    session = Session(bootstrap, "missing")
    topic = session.topic("t")
    found: dict[str, list[int]] = {}

    def ask(api: str, version: int, note: str = "", **fields: Any) -> None:
        answer = session.ask(api, version, again=frozenset(), **fields)
        found[f"{api} {note}".strip()] = sorted(codes_of(answer) - {0})

    one = topic.partition(0, committed_offset=1)
    member = {"group_id": "g", "member_id": MEMBER, "member_epoch": 0}
    ask("JoinGroup", 9, group_id="g", session_timeout_ms=10_000, rebalance_timeout_ms=10_000, protocol_type="consumer", protocols=[{"name": "range", "metadata": b"m"}])  # fmt: skip
    ask("LeaveGroup", 5, group_id="g", members=[{"member_id": "m"}])
    ask("OffsetCommit", 9, group_id="g", generation_id_or_member_epoch=-1, topics=[one])
    ask("OffsetFetch", 9, groups=[{"group_id": "g", "topics": None}])
    ask("OffsetDelete", 0, group_id="g", topics=[topic.partition(0)])
    ask("DescribeGroups", 5, groups=["g"])
    ask("DeleteGroups", 2, groups_names=["g"])
    ask("ListGroups", 5)
    ask("ConsumerGroupHeartbeat", 1, **member, rebalance_timeout_ms=10_000, subscribed_topic_names=[topic.name], topic_partitions=[])  # fmt: skip
    ask("ShareGroupHeartbeat", 1, **member, subscribed_topic_names=[topic.name])
    subtopologies = [{"subtopology_id": "0", "source_topics": [topic.name]}]
    ask("StreamsGroupHeartbeat", 0, **member, rebalance_timeout_ms=10_000, process_id="p", active_tasks=[], standby_tasks=[], warmup_tasks=[], topology={"epoch": 0, "subtopologies": subtopologies})  # fmt: skip
    ask("ReadShareGroupState", 0, group_id="g", topics=[{"topic_id": topic.id, "partitions": [{"partition": 0, "leader_epoch": 0}]}])  # fmt: skip
    ask("InitProducerId", 4, transactional_id="x", transaction_timeout_ms=1_000, producer_id=-1, producer_epoch=-1)  # fmt: skip
    ask("AddPartitionsToTxn", 3, v3_and_below_transactional_id="x", v3_and_below_producer_id=1, v3_and_below_producer_epoch=0, v3_and_below_topics=[{"name": topic.name, "partitions": [0]}])  # fmt: skip
    producer = {"transactional_id": "x", "producer_id": 1, "producer_epoch": 0}
    ask("AddOffsetsToTxn", 4, **producer, group_id="g")
    ask("TxnOffsetCommit", 3, **producer, group_id="g", topics=[one])
    ask("EndTxn", 4, **producer, committed=True)
    ask("DescribeTransactions", 0, transactional_ids=["x"])
    ask("ListTransactions", 1)
    for kind, keys in KEYS.items():
        ask("FindCoordinator", 6, f"of kind {kind}", key_type=kind, coordinator_keys=keys)
        again = session.quietly("FindCoordinator", 6, key_type=kind, coordinator_keys=keys)
        found[f"FindCoordinator of kind {kind}, later"] = sorted(codes_of(again) - {0})
    session.close()
    return found


def test_what_coordinates_nothing_yet_answers_as_kafka() -> None:
    with kafka(CLASSPATH) as bootstrap:
        theirs = answers(bootstrap)
    with ours() as bootstrap:
        mine = answers(bootstrap)
    assert mine == theirs
    assert theirs["FindCoordinator of kind 0"] == [15]
    assert theirs["OffsetCommit"] == [16]
