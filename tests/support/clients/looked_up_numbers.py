"""A deserializer that must learn something before it reads, as of a schema registry that is away."""

from __future__ import annotations

from millstream.clients.core.serialization import LookupNeeded, LookupUnavailable


class LookedUpNumbers:
    """Reads numbers once its look-up has succeeded, which it does not while `is_down`."""

    def __init__(self) -> None:
        self.is_down = True
        self._has_learned = False

    def __call__(self, data: bytes) -> int:
        if not self._has_learned:
            raise LookupNeeded("schema", self._look_up)
        return int(data)

    async def _look_up(self) -> None:
        if self.is_down:
            raise LookupUnavailable("nobody answers")
        self._has_learned = True
