"""Keys with their windows, as Kafka Streams writes them, on the command line: `windowed:string:10s`,
`session-windowed:long`. Pure.

A time window is written by its start alone: its end is shown where its size was given. Text has the form of Kafka's
`Windowed.toString`, `[key@start/end]`; JSON has an object. Both are taken back.
"""

from __future__ import annotations

import re
from base64 import standard_b64decode
from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct
from typing import Any, Final, TypeAlias

import click

from millstream.cli.records.offset_choice import duration_ms
from millstream.clients.core.serialization import SerializationError

Datum: TypeAlias = Any  # Any: what the format of the key holds

_TIME: Final = Struct(">q")
TIME_MAX: Final = 2**63 - 1
_KINDS: Final = {"windowed": 8, "windowed-changelog": 12, "session-windowed": 16}
"""The bytes behind the key: the start; the start and a number, in the changelog of a window
store; the end and the start."""
_TEXT: Final = re.compile(rb"\[?(?P<key>.*)@(?P<start>\d+)(?:/(?P<end>\d+))?\]?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class WindowedKey:
    """A key in a window; `end_ms` is None where nobody knows how long the window is."""

    key: Datum
    start_ms: int
    end_ms: int | None


@dataclass(frozen=True, slots=True)
class WindowedFormat:
    """The format of a windowed key: its kind, the format of the key itself, and the size of the
    windows where it was given.
    """

    kind: str
    inner: str
    size_ms: int | None

    def read(self, data: bytes, read_inner: Callable[[bytes], Datum]) -> WindowedKey:
        """Returns the key of a record. Raises SerializationError where it is too short to have a window."""
        tail = _KINDS[self.kind]
        at = len(data) - tail
        if at < 0:
            raise SerializationError(
                f"a key of the format {self.kind} has at least {tail} bytes, this one has {len(data)}"
            )
        (first,) = _TIME.unpack_from(data, at)
        if self.kind == "session-windowed":
            (start,) = _TIME.unpack_from(data, at + _TIME.size)
            return WindowedKey(read_inner(data[:at]), start, first)
        end = None if self.size_ms is None else min(first + self.size_ms, TIME_MAX)
        return WindowedKey(read_inner(data[:at]), first, end)

    def write(self, text: bytes, write_inner: Callable[[bytes], bytes]) -> bytes:
        """Returns the bytes of a key as a user typed it, or as JSON has it.

        Raises SerializationError where it has no window.
        """
        key, start, end = _parts(text)
        is_session = self.kind == "session-windowed"
        if not _is_time(start) or not (
            _is_time(end) if is_session else end is None or _is_time(end)
        ):
            raise SerializationError(
                f"{text[:100].decode('utf-8', 'replace')!r} is not a valid {self.kind}: write [key@start/end], times in ms"
            )
        tail = (_TIME.pack(end) if is_session else b"") + _TIME.pack(start)
        if self.kind == "windowed-changelog":
            tail += bytes(4)
        return write_inner(key) + tail


def windowed_format(name: str, format_of: Callable[[str], str]) -> WindowedFormat | None:
    """Returns the format that a name means; None where it is not one of windowed keys.

    Raises BadParameter for one without an inner format.
    """
    kind, *rest = name.split(":")
    short = kind.rpartition(".")[2]
    if short in {"TimeWindowedDeserializer", "SessionWindowedDeserializer"}:
        ours = "windowed" if short.startswith("Time") else "session-windowed"
        raise click.BadParameter(
            f"for {short} write {ours}:FORMAT, with the format of the key itself"
        )
    if kind not in _KINDS:
        return None
    with_size = kind != "session-windowed"
    if not rest or len(rest) > 1 + with_size:
        size = "[:SIZE]" if with_size else ""
        raise click.BadParameter(f"write {kind}:FORMAT{size}, as in {kind}:string, not {name!r}")
    inner = format_of(rest[0])
    return WindowedFormat(kind, inner, _size_ms(rest[1]) if len(rest) > 1 else None)


def as_text(key: WindowedKey, as_bytes: Callable[[Datum], bytes]) -> bytes:
    """Returns a key as Kafka's tools print it."""
    end = b"" if key.end_ms is None else b"/%d" % key.end_ms
    return b"[%s@%d%s]" % (as_bytes(key.key), key.start_ms, end)


def as_object(key: WindowedKey, json_of: Callable[[Datum], Datum]) -> dict[str, Datum]:
    """Returns a key as an object of JSON."""
    return {"key": json_of(key.key), "start": key.start_ms, "end": key.end_ms}


def _size_ms(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else duration_ms(text)


def _is_time(time: Datum) -> bool:
    return isinstance(time, int) and 0 <= time <= TIME_MAX


def _parts(text: bytes) -> tuple[bytes, Datum, Datum]:
    """Returns key, start and end, None where they are not there."""
    match = _TEXT.fullmatch(text)
    if match is not None:
        end = match["end"]
        return match["key"], int(match["start"]), None if end is None else int(end)
    from millstream.clients.serdes.json_text import read_json

    try:
        found = read_json(text)
    except ValueError:
        return b"", None, None
    if not isinstance(found, dict):
        return b"", None, None
    return _as_typed(found.get("key")), found.get("start"), found.get("end")


def _as_typed(key: Datum) -> bytes:
    """Returns the text of a key inside of JSON."""
    from millstream.clients.serdes.json_text import write_json

    if isinstance(key, str):
        return key.encode()
    if isinstance(key, dict) and key.keys() == {"base64"}:
        return standard_b64decode(key["base64"])
    return write_json(key, str)
