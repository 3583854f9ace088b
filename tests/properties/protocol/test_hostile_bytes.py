"""Damaged messages end in a typed error that names a field, or in a message; never in anything else."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.errors import EncodeError, MalformedMessage
from millstream.protocol.catalogue import every_message

CASES = Path(__file__).parents[2] / "oracle" / "codec"
KINDS = [
    path.name.removesuffix(".jsonl.gz")
    for path in sorted(CASES.glob("*.gz"))
    if path.name not in ("edges.jsonl.gz", "damaged.jsonl.gz")
]
DAMAGE = st.lists(
    st.tuples(
        st.integers(0, 1 << 16),
        st.sampled_from(["set", "insert", "delete"]),
        st.binary(min_size=1, max_size=5),
    ),
    min_size=1,
    max_size=3,
)
Sound = tuple[str, int, bytes]


@cache
def sound(kind: str) -> list[Sound]:
    """(message, version, bytes) of every recorded case of a kind."""
    lines = gzip.decompress((CASES / f"{kind}.jsonl.gz").read_bytes()).decode().split("\n")
    cases = [json.loads(line) for line in lines if line]
    return [(case["message"], case["version"], bytes.fromhex(case["hex"])) for case in cases]


def damaged(raw: bytes, damage: list[tuple[int, str, bytes]]) -> bytes:
    out = bytearray(raw)
    for position, action, content in damage:
        at = position % (len(out) + 1)
        out[at : at + (0 if action == "insert" else len(content))] = (
            b"" if action == "delete" else content
        )
    return bytes(out)


def refusal(name: str, version: int, raw: bytes) -> MalformedMessage | None:
    """The error that reading these bytes ends in. A message that can be read can also be written."""
    try:
        message, end = every_message()[name].kind.decode(memoryview(raw), 0, version)
    except MalformedMessage as error:
        return error
    assert end <= len(raw)
    with suppress(EncodeError):  # a tag that came twice is kept, but cannot be written
        message.encode(bytearray(), version)
    return None


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, database=None, max_examples=150)
@given(data=st.data(), damage=DAMAGE)
def test_damaged_bytes_are_read_or_refused_with_a_field(
    kind: str, data: st.DataObject, damage: list[tuple[int, str, bytes]]
) -> None:
    name, version, raw = data.draw(st.sampled_from(sound(kind)))
    broken = damaged(raw, damage)
    error = refusal(name, version, broken)
    if error is not None:
        assert error.field != "?"
        assert 0 <= error.offset <= len(broken)


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, database=None, max_examples=60)
@given(data=st.data())
def test_arbitrary_bytes_are_read_or_refused(kind: str, data: st.DataObject) -> None:
    name, version, _ = data.draw(st.sampled_from(sound(kind)))
    error = refusal(name, version, data.draw(st.binary(max_size=200)))
    assert error is None or error.field != "?"
