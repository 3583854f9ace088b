"""Latest offset of each key, for compaction: as many keys as fit into a number of bytes.

Keys are kept as they are, not hashed: no two keys are ever taken for one, and nothing is computed per key.
"""

from __future__ import annotations

from typing import Final, final

_ENTRY_BYTES: Final = 160
"""What an entry costs besides the bytes of its key: two objects and their share of a dict that doubles as it grows."""


@final
class OffsetMap:
    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = max(bytes_max, 1)  # one batch always fits, or cleaning would never end
        self._key_bytes = 0
        self._latest: dict[bytes, int] = {}
        self.end_offset = -1
        """Records from here on are not in the map; -1 while nothing is."""

    def __len__(self) -> int:
        return len(self._latest)

    @property
    def is_full(self) -> bool:
        """Checked between batches, so the map may exceed its bytes by the keys of one batch."""
        return self._key_bytes + len(self._latest) * _ENTRY_BYTES >= self._bytes_max

    def put(self, key: bytes, offset: int) -> None:
        if key not in self._latest:
            self._key_bytes += len(key)
        self._latest[key] = offset

    def latest(self, key: bytes) -> int:
        """Returns the latest offset of a key; -1 for a key that is not in the map."""
        return self._latest.get(key, -1)
