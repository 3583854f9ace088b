"""The progress of one follower as its leader learns it from fetches (Kafka's `Replica`). Pure.

    fetch at offset X: the follower has all records below X
    caught up:         it fetched at the leader's end, or at what was the leader's end at its fetch before

The second counts as of the fetch before: a follower of a busy leader never fetches at the end of the moment.
"""

from __future__ import annotations

from typing import Final, final

UNKNOWN_OFFSET: Final = -1
STUCK_FETCHES: Final = 3
"""So often in a row a follower asks for what it was sent already, before something is wrong with
it: one answer may get lost."""
NEVER_MS: Final = -(1 << 62)
"""A time before all others."""
ANY_BROKER_EPOCH: Final = -1
"""Told by fetches before version 15, and by a leader of followers that have not fetched yet:
nothing is compared with it."""


@final
class FetchPulse:
    """The time of the last fetch of a follower's session.

    Fetches name only partitions with news: in the others the follower is where it was.
    """

    def __init__(self, fetched_ms: int) -> None:
        self.fetched_ms = fetched_ms


@final
class FollowerProgress:
    """The progress of a follower in one leader epoch: what was known in an earlier one says nothing in this one.

    Between two epochs another may have led, and the follower's log been cut.
    """

    def __init__(self, *, is_in_sync: bool, now_ms: int) -> None:
        """A member of the ISR counts as caught up when its leader begins, so that it has the time to fetch."""
        self.end_offset = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET
        self.broker_epoch: int | None = None
        """That of its last fetch; None before the first."""
        self._caught_up_ms = now_ms if is_in_sync else NEVER_MS
        self._fetched_ms = NEVER_MS
        self._leader_end_offset = UNKNOWN_OFFSET
        """The leader's end at the last fetch."""
        self._restarted_ms = NEVER_MS
        """The time of the first fetch of its broker's present life, where this leader has heard of an earlier one."""
        self._pulse: FetchPulse | None = None
        self._repeats = 0

    @property
    def caught_up_ms(self) -> int:
        """The time at which it was last caught up."""
        if self._pulse is None:
            return self._caught_up_ms
        return max(self._caught_up_ms, self._pulse.fetched_ms)

    def note_fetch(
        self, offset: int, log_start_offset: int, broker_epoch: int, *, leader_end: int, now_ms: int
    ) -> None:
        """Takes note of a fetch at `offset`, which the leader read when its log ended at `leader_end`."""
        self.end_rest()
        is_again = offset == self.end_offset and offset < self._leader_end_offset
        self._repeats = self._repeats + 1 if is_again else 0
        if offset >= leader_end:
            self._caught_up_ms = max(self._caught_up_ms, now_ms)
        elif offset >= self._leader_end_offset:
            self._caught_up_ms = max(self._caught_up_ms, self._fetched_ms)
        if self.broker_epoch is not None and broker_epoch != self.broker_epoch:
            self._restarted_ms = now_ms
        self.end_offset = offset
        self.log_start_offset = log_start_offset
        self.broker_epoch = broker_epoch
        self._fetched_ms = now_ms
        self._leader_end_offset = max(leader_end, self._leader_end_offset)

    @property
    def is_stuck(self) -> bool:
        """Whether it does not get on although there are records behind its offset: it may refuse what it is sent."""
        return self._repeats >= STUCK_FETCHES

    def begin_rest(self, pulse: FetchPulse) -> None:
        """Notes that it is at the leader's end, and not named in further fetches of its session:
        each of them says that it still is.
        """
        self._pulse = pulse

    def end_rest(self) -> None:
        """Notes that the leader's end moves, or that it is named again: from now on only what it
        asks for tells where it is.
        """
        self._caught_up_ms = self.caught_up_ms
        self._pulse = None

    @property
    def fetched_ms(self) -> int:
        """The time of its last fetch; NEVER_MS before the first."""
        return (
            self._fetched_ms
            if self._pulse is None
            else max(self._fetched_ms, self._pulse.fetched_ms)
        )

    def has_fetched_since(self, since_ms: int) -> bool:
        """Whether it has fetched at `since_ms` or later: what it had before says nothing of whether it still runs."""
        return self.fetched_ms >= since_ms

    def is_caught_up(self, leader_end: int, now_ms: int, lag_max_ms: int) -> bool:
        return self.end_offset == leader_end or now_ms - self.caught_up_ms <= lag_max_ms

    @property
    def has_caught_up_since_restart(self) -> bool:
        """Whether it was caught up once since its broker started, as far as this leader has heard
        of another life of that broker.
        """
        return self.caught_up_ms >= self._restarted_ms
