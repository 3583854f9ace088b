"""What a running batch has written is found in the order of keys, whenever it was written."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.streams.state import MemoryByteStore, TransactionalRows

KEYS = st.binary(min_size=1, max_size=2)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.one_of(st.none(), st.binary(max_size=1))),
        st.tuples(st.just("scan"), KEYS, st.one_of(st.none(), KEYS), st.booleans()),
        st.tuples(st.sampled_from(["commit", "discard"])),
    ),
    max_size=60,
)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_a_scan_between_writes_sees_what_a_sorted_dict_would_show(steps) -> None:
    rows = TransactionalRows(MemoryByteStore())
    committed: dict[bytes, bytes | None] = {}
    running: dict[bytes, bytes | None] = {}
    for step in steps:
        match step:
            case ("put", key, value):
                rows.put(key, value)
                running[key] = value
            case ("scan", low, high, reverse):
                expected = [
                    (key, value)
                    for key, value in sorted(running.items(), reverse=reverse)
                    if value is not None and low <= key and (high is None or key < high)
                ]
                assert list(rows.scan(low, high, reverse=reverse)) == expected
            case ("commit",):
                rows.commit(rows.metadata)
                committed = dict(running)
            case ("discard",):
                rows.discard()
                running = dict(committed)
