"""What looks for a coordinator, or writes into a transaction, while the topic of the coordinators does not exist."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from millstream.broker.handlers import add_offsets_to_txn, find_coordinator, txn_offset_commit
from millstream.errors import CoordinatorNotAvailable
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.add_offsets_to_txn import AddOffsetsToTxnRequest
from millstream.protocol.generated.find_coordinator import FindCoordinatorRequest
from millstream.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

NOT_AVAILABLE = CoordinatorNotAvailable.code
KEYS = {0: "g", 1: "t", 2: "g:AAAAAAAAAAAAAAAAAAAAAg:0"}


class Asked:
    """A transaction coordinator that takes everything."""

    def __init__(self) -> None:
        self.requests: list[Any] = []

    async def ask(self, key: str, request: object, *_: object) -> None:
        self.requests.append(request)

    async def add_partitions(self, request: object) -> None:
        self.requests.append(request)


def look(node: Any, kind: int = 0) -> Any:
    request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[KEYS[kind]])
    (found,) = node.answer(find_coordinator.handle, request, 6).coordinators
    return found


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("enabled", [True, False])
def test_a_coordinator_is_there_when_it_is_asked_for_again(
    node: Any, kind: int, enabled: bool
) -> None:
    """The setting is about topics of clients."""
    node.configure(
        auto_create_topics_enable=enabled,
        share_coordinator_state_topic_replication_factor=1,
        share_coordinator_state_topic_min_isr=1,
    )
    assert (look(node, kind).error_code, node.submitted) == (NOT_AVAILABLE, [])
    assert look(node, kind).error_code == NOT_AVAILABLE
    node.catch_up()
    assert node.submitted == [ApiKey.CREATE_TOPICS]
    assert (look(node, kind).error_code, look(node, kind).node_id) == (0, 1)


def test_before_version_4_the_answer_has_one_error(node: Any) -> None:
    answer = node.answer(find_coordinator.handle, FindCoordinatorRequest("g"), 3)
    node.catch_up()
    assert (answer.error_code, answer.node_id, answer.port) == (NOT_AVAILABLE, -1, -1)


def test_why_the_topic_cannot_be_created_is_in_the_next_answer_and_once_in_the_log(
    node: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Clients ask ten times a second for as long as it takes."""
    caplog.set_level(logging.INFO, "millstream.broker")
    node.configure(offsets_topic_replication_factor=3)
    assert look(node).error_message == "__consumer_offsets is being created; ask again"
    for _ in range(3):
        node.catch_up()
        told = look(node)
        assert told.error_code == NOT_AVAILABLE
        assert told.error_message.startswith("__consumer_offsets cannot be created: ")
    assert "The target replication factor of 3 cannot be reached" in told.error_message
    assert len([line for line in caplog.messages if "__consumer_offsets" in line]) == 1
    node.configure(offsets_topic_replication_factor=1)
    node.catch_up()
    assert look(node).error_code == 0


def test_offsets_are_added_to_a_transaction_before_their_topic_exists(node: Any) -> None:
    """The partition is the one that the topic will have for the group: here it is to have two."""
    coordinator = Asked()
    node.give(transaction_coordinator=coordinator)
    request = AddOffsetsToTxnRequest("t", 5, 0, "g")
    assert node.answer(add_offsets_to_txn.handle, request, 4).error_code == 0
    (added,) = coordinator.requests
    assert [(t.name, t.partitions) for t in added.topics] == [("__consumer_offsets", [1])]
    assert node.submitted == []


def test_offsets_of_a_transaction_wait_for_their_topic(node: Any) -> None:
    node.create("orders")
    node.give(transaction_coordinator_channel=Asked())
    topic = TxnOffsetCommitRequestTopic("orders", [TxnOffsetCommitRequestPartition(0, 1)])
    request = TxnOffsetCommitRequest("t", "g", 5, 0, topics=[topic])
    answer = node.answer(txn_offset_commit.handle, request, 3)
    assert [p.error_code for t in answer.topics for p in t.partitions] == [NOT_AVAILABLE]
