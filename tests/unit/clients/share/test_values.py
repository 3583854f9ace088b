"""How acknowledgements are written into requests, and what sessions say."""

from __future__ import annotations

from millstream.clients.share.core.requests import SessionChange, ShareSessionHandler
from millstream.clients.share.core.values import TopicIdPartition, acknowledged_ranges
from millstream.model import Uuid
from millstream.protocol.enums import ACKNOWLEDGE_GAP, AcknowledgeType

ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
P0, P1, P2 = (TopicIdPartition(Uuid(b"t" * 16), "t", number) for number in range(3))


def ranges(said: dict[int, int]) -> list[tuple[int, int, list[int]]]:
    return [tuple(each) for each in acknowledged_ranges(said)]


def test_a_run_of_offsets_with_one_type_names_it_once() -> None:
    assert ranges({0: ACCEPT, 1: ACCEPT, 2: ACCEPT}) == [(0, 2, [1])]


def test_a_run_with_several_types_names_each() -> None:
    assert ranges({4: ACCEPT, 5: REJECT, 6: ACKNOWLEDGE_GAP}) == [(4, 6, [1, 3, 0])]


def test_offsets_between_runs_are_not_spoken_of() -> None:
    assert ranges({1: RELEASE, 2: RELEASE, 5: RENEW}) == [(1, 2, [2]), (5, 5, [4])]


def test_ranges_are_in_order_whatever_order_records_were_acknowledged_in() -> None:
    assert ranges({7: ACCEPT, 3: ACCEPT, 4: ACCEPT}) == [(3, 4, [1]), (7, 7, [1])]


def test_nothing_acknowledged_is_no_range() -> None:
    assert ranges({}) == []


# ---- sessions


def test_a_new_session_names_every_partition() -> None:
    session = ShareSessionHandler()
    assert session.look_at([P1, P0]) == SessionChange([P0, P1], [])
    assert session.epoch == 0


def test_an_open_session_names_what_has_changed() -> None:
    session = ShareSessionHandler()
    session.look_at([P0, P1])
    session.handle_answer()
    assert session.look_at([P0, P1]) == SessionChange([], [])
    assert session.look_at([P1, P2]) == SessionChange([P2], [P0])
    assert session.epoch == 1


def test_a_topic_that_was_recreated_is_another_partition() -> None:
    session = ShareSessionHandler()
    session.look_at([P0])
    session.handle_answer()
    recreated = P0._replace(topic_id=Uuid(b"u" * 16))
    assert session.look_at([recreated]) == SessionChange([recreated], [P0])


def test_a_lost_session_begins_anew() -> None:
    session = ShareSessionHandler()
    session.look_at([P0])
    session.handle_answer()
    session.handle_lost()
    assert session.is_new
    assert session.look_at([P0]) == SessionChange([P0], [])


def test_the_epoch_after_the_last_one_is_1() -> None:
    session = ShareSessionHandler()
    session.epoch = 2**31 - 1
    session.handle_answer()
    assert session.epoch == 1
