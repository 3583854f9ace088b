"""DescribeTransactions and ListTransactions (KIP-664, KIP-994, KIP-1152)."""

from __future__ import annotations

import pytest

from millstream.coordinator.transaction.context import DescribeTransaction
from millstream.errors import InvalidRequest, TransactionalIdNotFound
from millstream.protocol.generated.describe_transactions import TopicData
from millstream.protocol.generated.list_transactions import ListTransactionsRequest
from tests.support.coordinators.transactions import START_WALL_MS, SimTransactions


def listed(world: SimTransactions, request: ListTransactionsRequest) -> list[tuple[str, int, str]]:
    answer = world.ask(request, version=2)
    return sorted(
        (s.transactional_id, s.producer_id, s.transaction_state) for s in answer.transaction_states
    )


@pytest.fixture
def three(world: SimTransactions) -> SimTransactions:
    """One that has never run a transaction, one that has ended, one that has been open for 500 ms."""
    world.init("a")
    producer = world.init("b")
    world.add(producer, ("t", 0), transactional_id="b")
    world.end(producer, transactional_id="b")
    world.write_markers()
    world.add(world.init("c", timeout_ms=5_000), ("t", 1), ("t", 0), transactional_id="c")
    world.pass_time(500)
    return world


def test_a_transaction_is_described_with_its_partitions(three: SimTransactions) -> None:
    told = three.ask(DescribeTransaction("c"), version=0)
    assert (told.transaction_state, told.producer_id, told.producer_epoch) == ("Ongoing", 1002, 0)
    assert (told.transaction_timeout_ms, told.transaction_start_time_ms) == (5_000, START_WALL_MS)
    assert told.topics == [TopicData("t", [0, 1])]


def test_an_unknown_id_is_not_found_and_an_empty_one_is_no_id(three: SimTransactions) -> None:
    with pytest.raises(TransactionalIdNotFound):
        three.ask(DescribeTransaction("d"), version=0)
    with pytest.raises(InvalidRequest):
        three.ask(DescribeTransaction(""), version=0)


def test_all_are_listed(three: SimTransactions) -> None:
    assert listed(three, ListTransactionsRequest()) == [
        ("a", 1000, "Empty"),
        ("b", 1001, "CompleteCommit"),
        ("c", 1002, "Ongoing"),
    ]


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (ListTransactionsRequest(state_filters=["Ongoing", "Empty"]), ["a", "c"]),
        (ListTransactionsRequest(state_filters=["Nonsense"]), []),
        (ListTransactionsRequest(producer_id_filters=[1001]), ["b"]),
        (ListTransactionsRequest(duration_filter=499, state_filters=["Ongoing"]), ["c"]),
        (ListTransactionsRequest(duration_filter=500, state_filters=["Ongoing"]), []),
    ],
)
def test_filters_are_all_to_be_passed(
    three: SimTransactions, request_: ListTransactionsRequest, expected: list[str]
) -> None:
    assert [name for name, _, _ in listed(three, request_)] == expected
