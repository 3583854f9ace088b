"""What a driver waits for when transactions have ended whose markers are not written yet."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from millstream.clients.admin import TransactionDescription, TransactionState
from millstream.clients.admin.core.results import Results
from millstream.clients.core.values import OffsetAndTimestamp
from millstream.errors import (
    KafkaError,
    TransactionalIdAuthorizationFailed,
    TransactionalIdNotFound,
)
from millstream.model import TopicPartition
from millstream.spark.pipeline import markers
from millstream.spark.pipeline.markers import await_ends, await_markers

State = TransactionState
PARTITION = TopicPartition("t", 0)
LONG_MS = 60_000


class Cluster:
    """Answers with one state, or one pair of last stable offset and end, after the other; the last one stays."""

    def __init__(self, *answers: Any) -> None:  # Any: what a test asks for
        self.left = list(answers)

    def _next(self) -> Any:  # Any: what a test has put in
        return self.left.pop(0) if len(self.left) > 1 else self.left[0]

    async def describe_transactions(
        self, ids: Sequence[str]
    ) -> Results[str, TransactionDescription]:
        answers: Mapping[str, State | KafkaError] = self._next()
        return Results(
            {
                each: found
                if isinstance(found := answers[each], KafkaError)
                else TransactionDescription(0, found, 1, 0, 60_000, None, frozenset())
                for each in ids
            }
        )

    async def list_offsets(
        self, wanted: Mapping[TopicPartition, int], *, read_committed: bool = False
    ) -> Results[TopicPartition, OffsetAndTimestamp]:
        stable, end = self.left[0]
        if not read_committed and len(self.left) > 1:
            self.left.pop(0)
        return Results(
            {tp: OffsetAndTimestamp(stable if read_committed else end, -1) for tp in wanted}
        )


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markers, "LOOK_S", 0)


async def wait_for_markers(cluster: Any, *ids: str) -> None:  # Any: stands for an Admin
    await await_markers(cluster, ids, threading.Event())


async def test_a_decided_transaction_is_waited_for_until_it_has_its_markers() -> None:
    cluster = Cluster(
        {"a": State.PREPARE_COMMIT, "b": State.PREPARE_ABORT},
        {"a": State.COMPLETE_COMMIT, "b": State.PREPARE_ABORT},
        {"b": State.COMPLETE_ABORT},
        "not asked for",
    )
    await wait_for_markers(cluster, "a", "b")
    assert cluster.left == ["not asked for"]


@pytest.mark.parametrize("state", [State.ONGOING, State.EMPTY, TransactionalIdNotFound("a")])
async def test_nothing_is_waited_for_that_is_not_decided(state: State | KafkaError) -> None:
    cluster = Cluster({"a": state}, "not asked for")
    await wait_for_markers(cluster, "a")
    assert cluster.left == ["not asked for"]


async def test_what_the_cluster_refuses_is_raised() -> None:
    cluster = Cluster({"a": TransactionalIdAuthorizationFailed("a")})
    with pytest.raises(TransactionalIdAuthorizationFailed):
        await wait_for_markers(cluster, "a")


async def test_an_application_that_stops_waits_for_no_marker() -> None:
    stopping = threading.Event()
    stopping.set()
    described: Any = Cluster({"a": State.PREPARE_COMMIT}, "not asked for")
    listed: Any = Cluster((0, 5), "not asked for")
    await await_markers(described, ["a"], stopping)
    assert await await_ends(listed, [PARTITION], stopping, LONG_MS) == []
    assert len(described.left) == len(listed.left) == 2, "nothing was asked"


async def test_a_topic_is_waited_for_until_its_last_stable_offset_is_its_end() -> None:
    cluster: Any = Cluster((0, 5), (3, 6), (6, 6), "not asked for")
    assert await await_ends(cluster, [PARTITION], threading.Event(), LONG_MS) == []
    assert cluster.left == ["not asked for"]


async def test_a_topic_with_a_transaction_that_nobody_ends_is_told_at_the_time_limit() -> None:
    cluster: Any = Cluster((3, 6))
    assert await await_ends(cluster, [PARTITION], threading.Event(), 0) == [PARTITION]
