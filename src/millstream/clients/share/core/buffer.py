"""Records that share fetches brought and no poll has taken yet."""

from __future__ import annotations

from collections import deque

from millstream.clients.core.serialization import LookupNeeded
from millstream.clients.core.values import Key, Value
from millstream.clients.share.core.fetched import Deserialize, ShareFetched
from millstream.clients.share.core.in_flight_records import ShareInFlightRecords
from millstream.errors import KafkaError


class ShareBuffer:
    def __init__(self) -> None:
        self._fetched: deque[ShareFetched] = deque()
        self._errors: deque[KafkaError] = deque()

    @property
    def is_empty(self) -> bool:
        return not (self._fetched or self._errors)

    @property
    def first(self) -> ShareFetched | None:
        return self._fetched[0] if self._fetched else None

    def add(self, fetched: ShareFetched) -> None:
        self._fetched.append(fetched)

    def fail(self, error: KafkaError) -> None:
        """Keeps an error, to be raised once nothing stands before it."""
        self._errors.append(error)

    def collect(
        self,
        in_hand: ShareInFlightRecords[Key, Value],
        count_max: int,
        deserialize: Deserialize[Key, Value] | None = None,
    ) -> LookupNeeded | None:
        """Give `in_hand`, which holds no records, what the next poll is to return: about `count_max` records.

        Returns what is to be looked up before there are any. Raises what records could not be read for, and errors of
        partitions; both once, and when no record stands before them.
        """
        room = count_max
        while room > 0 and self._fetched and in_hand.accepts(self._fetched[0]):
            fetched = self._fetched[0]
            taken = fetched.take(room, deserialize, may_fail=room == count_max)
            in_hand.add(fetched, taken)
            room -= len(taken.records)
            is_used_up = fetched.is_used_up
            if is_used_up:
                self._fetched.popleft()
            if taken.failure is not None:
                raise taken.failure.error
            if taken.lookup is not None and room == count_max:
                return taken.lookup
            if not is_used_up:
                break
        if room == count_max and self._errors:
            raise self._errors.popleft()
        return None
