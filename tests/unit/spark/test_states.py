"""States of foreachBatch: whatever is repeated, each micro-batch counts once."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.spark.states.states import (
    MemoryBacking,
    OpaqueState,
    StateUnusable,
    TransactionalState,
)

Rows = list[str]
keys = st.sampled_from("abc")
rows = st.lists(keys, max_size=4)


class Crash(Exception):
    """Ends an attempt."""


class Failing(MemoryBacking):
    """Writes so many keys in all, and then fails."""

    def __init__(self) -> None:
        super().__init__()
        self.left: int | None = None

    def multi_put(self, values: Mapping[str, bytes]) -> None:
        for key, value in values.items():
            if self.left is not None:
                if not self.left:
                    raise Crash
                self.left -= 1
            self.values[key] = value


def count(
    state: TransactionalState[int] | OpaqueState[int], batch: int, words: Rows
) -> dict[str, int]:
    return state.update(
        batch,
        {word: lambda old, n=n: (old or 0) + n for word, n in Counter(words).items()},
    )


@given(st.lists(st.tuples(rows, st.lists(st.integers(0, 4), max_size=3)), max_size=5))
def test_identical_repeats_count_once_in_a_transactional_state(
    batches: list[tuple[Rows, list[int]]],
) -> None:
    backing, expected = Failing(), Counter[str]()
    for number, (words, crashes) in enumerate(batches):
        for writes in crashes:
            backing.left = writes
            with contextlib.suppress(Crash):
                count(TransactionalState[int](backing), number, words)
        backing.left = None
        count(TransactionalState[int](backing), number, words)
        expected += Counter(words)
    assert TransactionalState[int](backing).get("abc") == expected


@given(
    st.lists(st.tuples(rows, st.lists(st.tuples(rows, st.integers(0, 5)), max_size=3)), max_size=5)
)
def test_repeats_with_other_rows_count_as_the_last_attempt_in_an_opaque_state(
    batches: list[tuple[Rows, list[tuple[Rows, int]]]],
) -> None:
    backing, expected = Failing(), Counter[str]()
    for number, (words, attempts) in enumerate(batches):
        for other, writes in attempts:
            backing.left = writes
            with contextlib.suppress(Crash):
                count(OpaqueState[int](backing), number, other)
        backing.left = None
        count(OpaqueState[int](backing), number, words)
        expected += Counter(words)
    assert OpaqueState[int](backing).get("abc") == expected


def test_an_update_returns_the_values_of_its_keys() -> None:
    state = TransactionalState[int](MemoryBacking())
    assert count(state, 0, ["a", "a", "b"]) == {"a": 2, "b": 1}
    assert count(state, 0, ["a", "a", "b"]) == {"a": 2, "b": 1}
    assert count(state, 1, ["b"]) == {"b": 2}
    assert state.get(["a", "c"]) == {"a": 2}


def test_a_key_that_a_repeat_does_not_have_gets_its_value_back() -> None:
    state = OpaqueState[int](MemoryBacking())
    count(state, 0, ["a"])
    count(state, 1, ["a", "b"])
    count(state, 1, ["c"])
    assert state.get("abc") == {"a": 1, "c": 1}


@pytest.mark.parametrize("kind", [TransactionalState, OpaqueState])
def test_an_earlier_micro_batch_is_refused(
    kind: type[TransactionalState[int] | OpaqueState[int]],
) -> None:
    state = kind(MemoryBacking())
    count(state, 7, ["a"])
    with pytest.raises(StateUnusable, match="new state with a new checkpoint"):
        count(state, 6, ["a"])
    assert state.get("a") == {"a": 1}


@pytest.mark.parametrize("kind", [TransactionalState, OpaqueState])
@pytest.mark.parametrize("batch", [3, 4])
def test_a_state_belongs_to_one_query(
    kind: type[TransactionalState[int] | OpaqueState[int]], batch: int
) -> None:
    """A new checkpoint counts its micro-batches anew: the third of it is not that of before, and the fourth is not behind it."""
    backing = MemoryBacking()
    count(kind(backing, query=lambda: "before"), 3, ["a"])
    with pytest.raises(StateUnusable, match="belongs to query before, and this is query now"):
        count(kind(backing, query=lambda: "now"), batch, ["a", "b"])
    assert kind[int](backing).get("ab") == {"a": 1}
    assert count(kind(backing, query=lambda: "before"), 4, ["a"]) == {"a": 2}


@pytest.mark.parametrize("kind", [TransactionalState, OpaqueState])
def test_a_key_that_later_micro_batches_left_alone_is_no_way_behind_them(
    kind: type[TransactionalState[int] | OpaqueState[int]],
) -> None:
    """An older checkpoint that is put back has its next rows under numbers that the state has passed."""
    state = kind(MemoryBacking())
    count(state, 2, ["b"])
    count(state, 7, ["a"])
    with pytest.raises(StateUnusable, match="the state was changed by micro-batch 7"):
        count(state, 3, ["b"])
    assert state.get("ab") == {"a": 1, "b": 1}


def test_a_state_of_a_release_that_named_no_query_becomes_that_of_the_query_that_goes_on() -> None:
    backing = MemoryBacking()
    backing.multi_put({"a": b'{"v":1,"kind":"a transactional state","batch":6,"value":5}'})
    state = TransactionalState[int](backing, query=lambda: "mine")
    assert count(state, 6, ["a"]) == {"a": 5}, "done"
    assert count(state, 7, ["a"]) == {"a": 6}
    with pytest.raises(StateUnusable, match="belongs to query mine"):
        count(TransactionalState[int](backing, query=lambda: "another"), 8, ["a"])


def test_a_state_that_begins_in_the_middle_of_a_query_is_told_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is a new one, or its topic is not that of before."""
    count(TransactionalState[int](MemoryBacking()), 0, ["a"])
    assert caplog.messages == []
    count(TransactionalState[int](MemoryBacking()), 7, ["a"])
    assert caplog.messages == [
        "a state begins with micro-batch 7: where it should have had one of before, it is in another place"
    ]


@pytest.mark.parametrize(
    "data", [b"", b"12", b"{}", b'{"v":2,"kind":"an opaque state","batch":1}', b"\xff"]
)
def test_what_no_state_has_written_is_named(data: bytes) -> None:
    backing = MemoryBacking()
    backing.multi_put({"a": data})
    with pytest.raises(StateUnusable, match="key 'a'"):
        OpaqueState[int](backing).get("a")


def test_states_of_two_kinds_cannot_share_a_place() -> None:
    backing = MemoryBacking()
    count(OpaqueState[int](backing), 0, ["a"])
    with pytest.raises(StateUnusable, match="place of its own"):
        count(TransactionalState[int](backing), 1, ["a"])


def test_values_may_be_anything_that_becomes_json() -> None:
    state = OpaqueState[frozenset[int]](MemoryBacking(), encode=sorted, decode=frozenset[int])
    state.update(0, {"a": lambda old: (old or frozenset[int]()) | {2, 1}})
    assert state.get("a") == {"a": {1, 2}}
