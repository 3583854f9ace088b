"""Records that the application holds: what it may say of them, and when they are not its any more."""

from __future__ import annotations

import pytest

from millstream.clients.core.illegal_state import IllegalState
from millstream.clients.core.values import ConsumerRecord
from millstream.clients.share.core.fetched import Failure, ShareFetched, Taken
from millstream.clients.share.core.in_flight_records import ShareInFlightRecords
from millstream.clients.share.core.values import (
    AcknowledgementOutcome,
    NodeAcknowledgements,
    TopicIdPartition,
)
from millstream.errors import CorruptMessage, InvalidRecordState
from millstream.model import TopicPartition, Uuid
from millstream.protocol.enums import ACKNOWLEDGE_GAP, AcknowledgeType

ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
P0, P1 = (TopicIdPartition(Uuid(b"t" * 16), "t", number) for number in range(2))
NODE = 3


def of(partition: TopicIdPartition, node_id: int = NODE, lock_ms: int = 30_000) -> ShareFetched:
    return ShareFetched(node_id, partition, memoryview(b""), [], lock_timeout_ms=lock_ms)


def record(partition: TopicIdPartition, offset: int) -> ConsumerRecord:
    return ConsumerRecord(*partition.topic_partition, offset, 0)


def holding(*offsets: int, gaps: tuple[int, ...] = ()) -> ShareInFlightRecords:
    in_hand = ShareInFlightRecords()
    records = [record(P0, offset) for offset in offsets]
    in_hand.add(of(P0), Taken(records, dict.fromkeys(gaps, ACKNOWLEDGE_GAP)))
    return in_hand


def offsets(in_hand: ShareInFlightRecords) -> list[int]:
    return [each.offset for each in in_hand.records()]


def test_what_is_said_is_taken_once_and_its_records_are_gone() -> None:
    in_hand = holding(0, 1, 2)
    in_hand.acknowledge("t", 0, 0, ACCEPT)
    in_hand.acknowledge("t", 0, 2, REJECT)
    assert in_hand.take_acknowledgements() == [
        NodeAcknowledgements(NODE, P0, {0: ACCEPT, 2: REJECT})
    ]
    assert offsets(in_hand) == [1]
    assert in_hand.take_acknowledgements() == []


def test_the_last_word_about_a_record_counts() -> None:
    in_hand = holding(0)
    in_hand.acknowledge("t", 0, 0, RELEASE)
    in_hand.acknowledge("t", 0, 0, ACCEPT)
    assert in_hand.take_acknowledgements() == [NodeAcknowledgements(NODE, P0, {0: ACCEPT})]


def test_what_is_said_of_a_record_of_a_topic_that_was_made_anew_goes_to_that_topic() -> None:
    """Both are "t" with an offset 0. The record of the topic that is gone is held still, and nothing is heard of it."""
    in_hand = holding(0)
    in_hand.hold()
    anew = TopicIdPartition(Uuid(b"u" * 16), "t", 0)
    in_hand.add(of(anew), Taken([record(anew, 0)]))
    in_hand.acknowledge("t", 0, 0, ACCEPT)
    assert in_hand.take_acknowledgements() == [NodeAcknowledgements(NODE, anew, {0: ACCEPT})]


@pytest.mark.parametrize("place", [("t", 0, 9), ("t", 1, 0), ("u", 0, 0)])
def test_a_record_that_is_not_in_hand_cannot_be_acknowledged(place: tuple[str, int, int]) -> None:
    with pytest.raises(IllegalState, match=f"{place[0]}-{place[1]} offset {place[2]} cannot be"):
        holding(0).acknowledge(*place, ACCEPT)


def test_a_record_that_was_sent_cannot_be_acknowledged_again() -> None:
    in_hand = holding(0)
    in_hand.acknowledge("t", 0, 0, ACCEPT)
    in_hand.take_acknowledgements()
    with pytest.raises(IllegalState):
        in_hand.acknowledge("t", 0, 0, RELEASE)


def test_gaps_go_with_the_rest() -> None:
    in_hand = holding(0, gaps=(1,))
    in_hand.acknowledge("t", 0, 0, ACCEPT)
    assert in_hand.take_acknowledgements() == [
        NodeAcknowledgements(NODE, P0, {0: ACCEPT, 1: ACKNOWLEDGE_GAP})
    ]


def test_accepting_all_leaves_what_was_said_before() -> None:
    in_hand = holding(0, 1)
    in_hand.acknowledge("t", 0, 1, REJECT)
    in_hand.acknowledge_all(ACCEPT)
    assert in_hand.take_acknowledgements() == [
        NodeAcknowledgements(NODE, P0, {0: ACCEPT, 1: REJECT})
    ]


def test_records_that_iteration_has_not_given_out_are_not_accepted() -> None:
    in_hand = holding(0, 1, 2)
    in_hand.acknowledge_all(ACCEPT, but=[(TopicPartition("t", 0), 2)])
    assert in_hand.take_acknowledgements() == [
        NodeAcknowledgements(NODE, P0, {0: ACCEPT, 1: ACCEPT})
    ]
    assert offsets(in_hand) == [2]


def test_the_first_record_that_nothing_was_said_of_is_named() -> None:
    in_hand = holding(0, 1, 2)
    in_hand.acknowledge("t", 0, 0, ACCEPT)
    assert in_hand.unacknowledged() == (TopicPartition("t", 0), 1)
    assert in_hand.unacknowledged(but=[(TopicPartition("t", 0), 1)]) == (TopicPartition("t", 0), 2)
    in_hand.acknowledge_all(RELEASE)
    assert in_hand.unacknowledged() is None


def test_the_decision_about_a_record_that_could_not_be_read_may_be_changed() -> None:
    in_hand = ShareInFlightRecords()
    in_hand.add(of(P0), Taken(failure=Failure(CorruptMessage(), {4: REJECT})))
    assert in_hand.unacknowledged() is None
    in_hand.acknowledge("t", 0, 4, RELEASE)
    assert in_hand.take_acknowledgements() == [NodeAcknowledgements(NODE, P0, {4: RELEASE})]
    with pytest.raises(IllegalState):
        in_hand.acknowledge("t", 0, 4, REJECT)


def test_records_of_one_partition_from_two_brokers_do_not_mix() -> None:
    in_hand = holding(0)
    assert in_hand.accepts(of(P0))
    assert in_hand.accepts(of(P1, node_id=8))
    assert not in_hand.accepts(of(P0, node_id=8))


def test_the_lock_timeout_is_the_one_last_told() -> None:
    in_hand = ShareInFlightRecords()
    assert in_hand.lock_timeout_ms is None
    in_hand.add(of(P0, lock_ms=15_000), Taken([record(P0, 0)]))
    assert in_hand.lock_timeout_ms == 15_000


# ---- renewing


def renewing(offset: int = 0) -> ShareInFlightRecords:
    in_hand = holding(offset)
    in_hand.acknowledge("t", 0, offset, RENEW)
    assert in_hand.take_acknowledgements() == [NodeAcknowledgements(NODE, P0, {offset: RENEW})]
    return in_hand


def test_a_record_that_is_being_renewed_is_not_in_hand_but_not_gone() -> None:
    in_hand = renewing()
    in_hand.take_renewed()
    assert offsets(in_hand) == []
    assert in_hand.is_renewing


def test_a_renewed_record_comes_again_with_its_new_lock() -> None:
    in_hand = renewing()
    in_hand.handle_outcome(AcknowledgementOutcome(P0, {0: RENEW}, None, 20_000))
    assert (offsets(in_hand), in_hand.is_renewing, in_hand.has_renewed) == ([], False, True)
    in_hand.take_renewed()
    assert offsets(in_hand) == [0]
    assert in_hand.lock_timeout_ms == 20_000
    assert not in_hand.has_renewed


def test_a_record_that_could_not_be_renewed_is_somebody_elses() -> None:
    in_hand = renewing()
    in_hand.handle_outcome(AcknowledgementOutcome(P0, {0: RENEW}, InvalidRecordState()))
    in_hand.take_renewed()
    assert offsets(in_hand) == []
    assert (in_hand.is_renewing, in_hand.has_renewed) == (False, False)


def test_outcomes_of_other_acknowledgements_change_nothing_here() -> None:
    in_hand = renewing()
    in_hand.handle_outcome(AcknowledgementOutcome(P0, {7: ACCEPT}, None))
    in_hand.handle_outcome(AcknowledgementOutcome(P1, {0: RENEW}, None))
    assert in_hand.is_renewing


def held(*given: int) -> ShareInFlightRecords:
    in_hand = holding(*given)
    in_hand.hold()
    return in_hand


def test_records_that_are_held_are_not_returned_again_and_may_be_acknowledged_later() -> None:
    in_hand = held(0, 1)
    in_hand.add(of(P0), Taken([record(P0, 2)]))
    assert offsets(in_hand) == [2]
    assert in_hand.unacknowledged() == (TopicPartition("t", 0), 2)
    in_hand.acknowledge("t", 0, 1, ACCEPT)
    assert in_hand.take_acknowledgements() == [NodeAcknowledgements(NODE, P0, {1: ACCEPT})]
    with pytest.raises(IllegalState, match="t-0 offset 1 cannot be acknowledged"):
        in_hand.acknowledge("t", 0, 1, ACCEPT)
    in_hand.acknowledge("t", 0, 0, RELEASE)


def test_a_held_record_stays_where_it_is_while_it_is_renewed() -> None:
    in_hand = held(0)
    in_hand.acknowledge("t", 0, 0, RENEW)
    assert in_hand.take_acknowledgements() == [NodeAcknowledgements(NODE, P0, {0: RENEW})]
    assert not in_hand.is_renewing
    in_hand.handle_outcome(AcknowledgementOutcome(P0, {0: RENEW}, None, 20_000))
    assert (offsets(in_hand), in_hand.has_renewed, in_hand.lock_timeout_ms) == ([], False, 20_000)
    in_hand.acknowledge("t", 0, 0, ACCEPT)
    assert in_hand.take_acknowledgements() == [NodeAcknowledgements(NODE, P0, {0: ACCEPT})]


def test_a_held_record_that_could_not_be_renewed_is_somebody_elses() -> None:
    in_hand = held(0)
    in_hand.acknowledge("t", 0, 0, RENEW)
    in_hand.take_acknowledgements()
    in_hand.acknowledge("t", 0, 0, ACCEPT)
    outcome = AcknowledgementOutcome(P0, {0: RENEW}, InvalidRecordState())
    assert in_hand.handle_outcome(outcome) == {0}
    assert in_hand.take_acknowledgements() == []
    with pytest.raises(IllegalState, match="t-0 offset 0 cannot be acknowledged"):
        in_hand.acknowledge("t", 0, 0, ACCEPT)


def test_what_is_held_is_let_go_when_another_broker_leads_the_partition() -> None:
    in_hand = held(0, 1)
    in_hand.acknowledge("t", 0, 0, RENEW)
    in_hand.take_acknowledgements()
    moved = of(P0, node_id=NODE + 1)
    assert not in_hand.accepts(moved)
    assert in_hand.let_go(of(P0)) == set()
    assert in_hand.let_go(moved) == {0, 1}
    assert in_hand.accepts(moved)
    in_hand.add(moved, Taken([record(P0, 0)]))
    in_hand.hold()
    late = AcknowledgementOutcome(P0, {0: RENEW}, InvalidRecordState())
    assert in_hand.handle_outcome(late) == set(), "it is about the delivery before"
    in_hand.acknowledge("t", 0, 0, ACCEPT)
    assert in_hand.take_acknowledgements() == [NodeAcknowledgements(NODE + 1, P0, {0: ACCEPT})]


def test_what_the_last_poll_returned_is_not_let_go_before_it_is_held() -> None:
    in_hand = holding(0)
    assert in_hand.let_go(of(P0, node_id=NODE + 1)) == set()
    assert offsets(in_hand) == [0]
