"""What the requests of a fetch session name, and when a session is begun anew."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from millstream.errors import (
    FetchSessionIdNotFound,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpoch,
    UnknownServerError,
)
from millstream.model import Uuid
from millstream.replication.fetch_plan import FetchPlan, FollowedKey, SessionFetch
from millstream.replication.follower import AskedFetch

A, B, C = (FollowedKey(Uuid(b"t" * 16), number) for number in range(3))
SESSION = 77


def asked(offset: int) -> AskedFetch:
    return AskedFetch(1, offset, 1, 0)


def plan_of(*keys: FollowedKey) -> FetchPlan:
    plan = FetchPlan()
    for key in keys:
        plan.want(key, asked(0))
    return plan


def answer(
    plan: FetchPlan,
    planned: SessionFetch,
    keys: Iterable[FollowedKey] = (),
    *,
    error_code: int = 0,
    session_id: int = SESSION,
) -> bool:
    return plan.take_answer(planned, error_code, session_id, list(keys))


def in_session(*keys: FollowedKey) -> FetchPlan:
    plan = plan_of(*keys)
    assert answer(plan, plan.next(), keys)
    return plan


def test_the_first_request_names_everything() -> None:
    planned = plan_of(A, B).next()
    assert planned == SessionFetch(0, 0, {A: asked(0), B: asked(0)}, ())
    assert planned.is_full


def test_the_next_ones_name_what_changed() -> None:
    plan = in_session(A, B, C)
    plan.want(A, asked(10))
    plan.want(B, asked(0))
    assert plan.next() == SessionFetch(SESSION, 1, {A: asked(10)}, ())


def test_what_is_new_and_what_is_gone() -> None:
    plan = in_session(A, B)
    plan.forget(A)
    plan.want(C, asked(5))
    assert plan.next() == SessionFetch(SESSION, 1, {C: asked(5)}, (A,))
    assert plan.told(A) is None
    assert len(plan) == 2


def test_nothing_has_changed() -> None:
    plan = in_session(A)
    planned = plan.next()
    assert planned == SessionFetch(SESSION, 1, {}, ())
    assert answer(plan, planned)
    assert plan.next() == SessionFetch(SESSION, 2, {}, ())


def test_what_came_and_went_between_two_requests_is_not_named() -> None:
    plan = in_session(A)
    plan.want(B, asked(0))
    plan.forget(B)
    plan.forget(A)
    plan.want(A, asked(0))
    assert plan.next() == SessionFetch(SESSION, 1, {}, ())


def test_what_was_asked_counts_until_the_next_request() -> None:
    plan = plan_of(A)
    plan.next()
    plan.want(A, asked(9))
    assert plan.told(A) == asked(0)
    plan.forget(A)
    assert plan.told(A) == asked(0)


def test_the_epoch_of_a_session_goes_round_without_the_one_that_begins_it() -> None:
    plan = in_session(A)
    plan._epoch = (1 << 31) - 1
    assert answer(plan, plan.next())
    assert plan.next().session_epoch == 1


def test_a_leader_without_room_for_a_session_is_asked_for_everything_each_time() -> None:
    plan = plan_of(A, B)
    assert answer(plan, plan.next(), (A, B), session_id=0)
    plan.want(A, asked(10))
    planned = plan.next()
    assert planned == SessionFetch(0, 0, {B: asked(0), A: asked(10)}, ())
    assert list(planned.asked) == [B, A], "what has had its records goes to the end"


def test_a_session_that_its_leader_ends_is_begun_anew() -> None:
    plan = in_session(A, B)
    assert answer(plan, plan.next(), session_id=0)
    assert plan.next() == SessionFetch(0, 0, {A: asked(0), B: asked(0)}, ())


def test_a_session_that_is_gone_is_begun_anew() -> None:
    plan = in_session(A, B)
    plan.want(B, asked(3))
    assert not answer(plan, plan.next(), error_code=FetchSessionIdNotFound.code)
    assert plan.next() == SessionFetch(0, 0, {A: asked(0), B: asked(3)}, ())


@pytest.mark.parametrize(
    "error", [InvalidFetchSessionEpoch, FetchSessionTopicIdError, UnknownServerError]
)
def test_a_session_that_is_in_disorder_is_closed_and_begun_anew(
    error: type[UnknownServerError],
) -> None:
    plan = in_session(A, B)
    assert not answer(plan, plan.next(), error_code=error.code)
    assert plan.next() == SessionFetch(SESSION, 0, {A: asked(0), B: asked(0)}, ())


def test_a_request_without_an_answer_ends_its_session() -> None:
    plan = in_session(A)
    plan.want(A, asked(10))
    plan.next()
    plan.note_failure()
    assert plan.next() == SessionFetch(SESSION, 0, {A: asked(10)}, ())


@pytest.mark.parametrize("keys", [(), (A,), (A, C), (A, B, C)])
def test_a_full_answer_names_what_was_asked_and_nothing_else(keys: tuple[FollowedKey, ...]) -> None:
    plan = plan_of(A, B)
    assert not answer(plan, plan.next(), keys)
    assert plan.next().is_full


def test_an_incremental_answer_names_what_is_in_the_session_and_nothing_else() -> None:
    plan = in_session(A, B)
    assert answer(plan, plan.next(), (A,))
    assert not answer(plan, plan.next(), (C,))
    assert plan.next() == SessionFetch(SESSION, 0, {A: asked(0), B: asked(0)}, ())
