"""Rows of a store while a batch of records is folded into them.

A fold reads `rows[key]` and sets it, record by record. Where a store takes whole columns, rows are kept by the bytes of
their keys and written once, when the batch is through; otherwise every access goes to the store. Values that nobody can
change stay as they are meanwhile, others as bytes. An absent row is `ABSENT`, and a row whose value is None is one to
be deleted. Knows neither operators nor how rows are laid out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

Row = tuple[Any, int]  # Any: values of any type
"""Value and timestamp."""
ABSENT: Final[Row] = (None, -1)

KeyT_contra = TypeVar("KeyT_contra", contravariant=True)


class Rows(Protocol[KeyT_contra]):
    """Rows as a fold reads and sets them."""

    def __getitem__(self, key: KeyT_contra, /) -> Row: ...

    def __setitem__(self, key: KeyT_contra, row: Row, /) -> None: ...


AnyRows = Rows[Any]  # Any: found by keys, or by their bytes
RowKeys = Sequence[Any]  # Any: keys, or their bytes: what rows are found by


class RunningRows(dict[bytes, Row]):
    """Rows by the bytes of their keys, read when they are first asked for; the store writes them in the end."""

    __slots__ = ("_known", "_read")

    def __init__(
        self,
        read: Callable[[bytes], Row | None],
        known: Callable[[Iterable[bytes]], Iterable[bytes]] = iter,
    ) -> None:
        """`known` returns those of some keys that may have a row; a row of the others is never read."""
        super().__init__()
        self._read, self._known = read, known

    def __missing__(self, key: bytes) -> Row:
        row = self[key] = self._read(key) or ABSENT
        return row

    def stored_among(self, keys: Iterable[bytes]) -> Iterator[tuple[bytes, Row]]:
        """Yields those of the keys that have a row, and the row."""
        for key in self._known(keys):
            row = self[key]
            if row[0] is not None:
                yield key, row


class EncodedRows:
    """The same of values that functions may change: each is decoded when it is asked for, and
    encoded when it is set.
    """

    __slots__ = ("_decode", "_encode", "_read", "steps", "stored")

    def __init__(
        self,
        read: Callable[[bytes], bytes | None],
        decode: Callable[[bytes], Row],
        encode: Callable[[bytes, object, int], bytes],
    ) -> None:
        """`encode` takes the bytes of the key, for what it says of a value that cannot be encoded."""
        self._read, self._decode, self._encode = read, decode, encode
        self.stored: dict[bytes, Row] = {}
        """Rows as the store keeps them, and the timestamps that they were set with."""
        self.steps: list[bytes | None] = []
        """Every row that was set, one after the other."""

    def __getitem__(self, key: bytes) -> Row:
        known = self.stored.get(key)
        stored = self._read(key) if known is None else known[0]
        return ABSENT if stored is None else self._decode(stored)

    def __setitem__(self, key: bytes, row: Row) -> None:
        value, timestamp = row
        stored = None if value is None else self._encode(key, value, timestamp)
        self.stored[key] = stored, timestamp
        self.steps.append(stored)


class WriteThroughRows:
    """Rows by their keys, read from and written to the store one by one."""

    __slots__ = ("_get", "_put")

    def __init__(
        self,
        get: Callable[[Any], Row | None],  # Any: keys of any type
        put: Callable[[Any, Any, int], object],  # Any: keys and values of any type
    ) -> None:
        self._get, self._put = get, put

    def __getitem__(self, key: object) -> Row:
        return self._get(key) or ABSENT

    def __setitem__(self, key: object, row: Row) -> None:
        self._put(key, *row)


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """The writes of a fold, record by record: columns of equal length, as the changelog has them.

    Of a store with a cache the keys alone.
    """

    keys: Sequence[bytes]
    values: Sequence[bytes | None]
    timestamps: Sequence[int]

    def latest_keys(self) -> Iterable[bytes]:
        """Returns every key once, in the order of their latest steps."""
        return reversed(dict.fromkeys(reversed(self.keys)))


NOTHING_WRITTEN: Final = WrittenRows((), (), ())
