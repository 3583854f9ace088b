"""Each anomaly is found in a history written out for it, and nothing is found in a good one."""

from __future__ import annotations

from millstream.model import TopicPartition
from millstream.testing.history import History, Read
from millstream.testing.history_check import Guarantees, Kind, check, illegal

T = TopicPartition("t", 0)
U = TopicPartition("t", 1)


def found(
    history: History, *, idempotent: bool = True, read_committed: bool = True
) -> list[tuple[Kind, bool]]:
    """(kind, is it legal)."""
    guarantees = Guarantees(idempotent, read_committed)
    return [(anomaly.kind, anomaly.is_legal) for anomaly in check(history, guarantees)]


def sent(history: History, *values: bytes, first: int = 0, producer: str = "p") -> None:
    """Acknowledged at consecutive offsets."""
    for offset, value in enumerate(values, first):
        history.send(producer, T, value).acknowledge(offset)


def polled(
    history: History, *records: tuple[int, bytes], consumer: str = "c", moved: bool = False
) -> None:
    history.poll(consumer, [Read(T, *record) for record in records], moved=moved)


def test_nothing_is_wrong_with_a_good_history() -> None:
    history = History(is_complete=True)
    sent(history, b"a", b"b")
    history.send("p", T, b"nobody knows, and it is not there")
    history.send("p", T, b"nobody knows, and it is there")
    history.send("p", T, b"failed").fail()
    polled(history, (0, b"a"))
    polled(history, (1, b"b"), (3, b"nobody knows, and it is there"))
    polled(history, (0, b"a"), (1, b"b"), consumer="another")
    assert found(history) == []


def test_an_offset_with_two_values() -> None:
    history = History()
    polled(history, (0, b"a"))
    polled(history, (0, b"b"), consumer="d")
    assert found(history) == [(Kind.INCONSISTENT_OFFSETS, False)]


def test_an_acknowledged_offset_that_holds_something_else() -> None:
    history = History()
    sent(history, b"a")
    polled(history, (0, b"b"))
    assert (Kind.INCONSISTENT_OFFSETS, False) in found(history)


def test_an_acknowledged_record_that_is_gone_before_others() -> None:
    history = History()
    sent(history, b"a", b"b", b"c")
    polled(history, (0, b"a"), (2, b"c"))
    assert found(history) == [(Kind.LOST_WRITE, False)]


def test_an_acknowledged_record_that_never_comes() -> None:
    history = History()
    sent(history, b"a", b"b")
    polled(history, (0, b"a"))
    assert found(history) == []
    history.is_complete = True
    assert illegal(history) == ["t-0: an acknowledged record was never seen: b'b' of p at 1"]


def test_a_value_at_two_offsets_is_legal_without_idempotence() -> None:
    history = History()
    sent(history, b"a")
    polled(history, (0, b"a"), (1, b"a"))
    assert found(history) == [(Kind.DUPLICATE, False)]
    assert found(history, idempotent=False) == [(Kind.DUPLICATE, True)]


def test_a_record_that_failed_was_returned() -> None:
    history = History()
    history.send("p", T, b"a").fail()
    polled(history, (0, b"a"))
    assert found(history) == [(Kind.ABORTED_READ, False)]


def test_an_aborted_record_may_be_read_uncommitted() -> None:
    history = History()
    transaction = history.begin("p", "one")
    history.send("p", T, b"a", transaction).acknowledge(0)
    transaction.abort()
    polled(history, (0, b"a"))
    assert found(history) == [(Kind.ABORTED_READ, False)]
    assert found(history, read_committed=False) == [(Kind.ABORTED_READ, True)]


def test_a_transaction_that_reads_itself() -> None:
    history = History()
    transaction = history.begin("p", "one")
    history.send("p", T, b"a", transaction).acknowledge(0)
    history.poll("c", [Read(T, 0, b"a")], transaction=transaction)
    transaction.commit()
    assert found(history) == [(Kind.PRECOMMITTED_READ, False)]


def test_a_skip_between_polls_is_legal_after_a_rebalance_or_seek() -> None:
    for moved in (False, True):
        history = History()
        polled(history, (0, b"a"), (1, b"b"), (2, b"c"), consumer="other")
        polled(history, (0, b"a"))
        polled(history, (2, b"c"), moved=moved)
        assert found(history) == [(Kind.POLL_SKIP, moved)]


def test_a_gap_where_nobody_saw_a_record_is_no_skip() -> None:
    history = History()
    polled(history, (0, b"a"), (7, b"c"))
    polled(history, (9, b"d"))
    assert found(history) == []


def test_a_step_back_between_polls_is_legal_after_a_rebalance_or_seek() -> None:
    for moved in (False, True):
        history = History()
        polled(history, (0, b"a"), (1, b"b"))
        polled(history, (1, b"b"), moved=moved)
        assert found(history) == [(Kind.NONMONOTONIC_POLL, moved)]


def test_a_move_excuses_one_step_only() -> None:
    history = History()
    polled(history, (0, b"a"), (1, b"b"))
    polled(history, (1, b"b"), moved=True)
    polled(history, (1, b"b"))
    assert found(history) == [(Kind.NONMONOTONIC_POLL, True), (Kind.NONMONOTONIC_POLL, False)]


def test_inside_a_poll_nothing_excuses_skips_and_steps_back() -> None:
    history = History()
    polled(history, (0, b"a"), (1, b"b"), (2, b"c"), consumer="other")
    polled(history, (0, b"a"), (2, b"c"), (1, b"b"), moved=True)
    assert found(history) == [(Kind.INT_POLL_SKIP, False), (Kind.INT_NONMONOTONIC_POLL, False)]


def test_a_producers_records_in_the_wrong_order() -> None:
    history = History()
    history.send("p", T, b"a").acknowledge(1)
    history.send("p", T, b"b")
    polled(history, (0, b"b"), (1, b"a"))
    assert found(history) == [(Kind.NONMONOTONIC_SEND, False)]
    assert found(history, idempotent=False) == [(Kind.NONMONOTONIC_SEND, True)]


def test_records_of_two_producers_have_no_order() -> None:
    history = History()
    history.send("p", T, b"a").acknowledge(1)
    history.send("q", T, b"b").acknowledge(0)
    assert found(history) == []


def test_a_transactions_records_in_the_wrong_order() -> None:
    history = History()
    transaction = history.begin("p", "one")
    history.send("p", T, b"a", transaction).acknowledge(1)
    history.send("p", T, b"b", transaction).acknowledge(0)
    assert found(history) == [(Kind.INT_NONMONOTONIC_SEND, False)]


def test_others_may_write_between_a_transactions_records() -> None:
    history = History()
    transaction = history.begin("p", "one")
    history.send("p", T, b"a", transaction).acknowledge(0)
    history.send("q", T, b"b").acknowledge(1)
    history.send("p", T, b"c", transaction).acknowledge(2)
    transaction.commit()
    polled(history, (0, b"a"), (1, b"b"), (2, b"c"))
    assert found(history) == [(Kind.INT_SEND_SKIP, True)]


def test_a_part_of_a_transaction() -> None:
    history = History(is_complete=True)
    transaction = history.begin("p", "one")
    history.send("p", T, b"a", transaction).acknowledge(0)
    history.send("p", U, b"b", transaction).acknowledge(0)
    polled(history, (0, b"a"))
    assert illegal(history) == ["a part of a transaction is visible: one without [b'b']"]


def test_a_transaction_of_unknown_outcome_may_be_there_or_not() -> None:
    for visible in (True, False):
        history = History(is_complete=True)
        transaction = history.begin("p", "one")
        history.send("p", T, b"a", transaction).acknowledge(0)
        history.send("p", U, b"b", transaction).acknowledge(0)
        if visible:
            history.poll("c", [Read(T, 0, b"a"), Read(U, 0, b"b")])
        assert found(history) == []


def test_transactions_that_read_each_other() -> None:
    history = History()
    one, two = history.begin("p", "one"), history.begin("q", "two")
    history.send("p", T, b"a", one).acknowledge(0)
    history.send("q", U, b"b", two).acknowledge(0)
    history.poll("c", [Read(U, 0, b"b")], transaction=one)
    history.poll("d", [Read(T, 0, b"a")], transaction=two)
    assert illegal(history) == ["transactions read each other's records: one → two → one"]
