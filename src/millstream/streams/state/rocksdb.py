"""Rows in RocksDB, through rocksdict in raw mode.

rocksdict holds the lock of a closed database for as long as an iterator or snapshot of it is alive, so every
scan here reads its rows before it gives out the first one in full pages and keeps no iterator across pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rocksdict import Options, Rdict, WriteBatch

_DATA = b"r"
_METADATA_KEY = b"m"
_PAGE_ROWS = 1024


class RocksByteStore:
    """One database directory. Rows are prefixed by one byte, which keeps the metadata row apart."""

    def __init__(self, path: str) -> None:
        options = Options(raw_mode=True)
        options.create_if_missing(True)
        self._rows: Rdict | None = Rdict(path, options)

    def get(self, key: bytes) -> bytes | None:
        value: bytes | None = self._open().get(_DATA + key)
        return value

    def scan(
        self, low: bytes, high: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        low = _DATA + low
        end = b"s" if high is None else _DATA + high
        while page := self._page(low, end, reverse=reverse):
            for key, value in page:
                yield key[1:], value
            if len(page) < _PAGE_ROWS:
                return
            if reverse:
                end = page[-1][0]
            else:
                low = page[-1][0] + b"\x00"

    def write(self, rows: Mapping[bytes, bytes | None], metadata: bytes) -> None:
        batch = WriteBatch(raw_mode=True)
        for key, value in rows.items():
            if value is None:
                batch.delete(_DATA + key)
            else:
                batch.put(_DATA + key, value)
        batch.put(_METADATA_KEY, metadata)
        self._open().write(batch)

    def metadata(self) -> bytes | None:
        value: bytes | None = self._open().get(_METADATA_KEY)
        return value

    def close(self) -> None:
        if self._rows is not None:
            self._rows.close()
            self._rows = None

    def _open(self) -> Rdict:
        assert self._rows is not None, "a closed store is not used"
        return self._rows

    def _page(self, low: bytes, end: bytes, *, reverse: bool) -> list[tuple[bytes, bytes]]:
        """Up to a page of rows in [low, end), from the far end when reversed."""
        at = self._open().iter()
        page: list[tuple[bytes, bytes]] = []
        if reverse:
            at.seek_for_prev(end)
            if at.valid() and at.key() == end:
                at.prev()
            while at.valid() and at.key() >= low and len(page) < _PAGE_ROWS:
                page.append((at.key(), at.value()))
                at.prev()
        else:
            at.seek(low)
            while at.valid() and at.key() < end and len(page) < _PAGE_ROWS:
                page.append((at.key(), at.value()))
                at.next()
        return page
