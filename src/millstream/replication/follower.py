"""One partition that fetches from its leader: where it is, and what is to be done with each answer. Pure.

    FETCHING -> answer -> append | ask for the leader's offsets -> FETCHING
             -> cut to the divergence, or to what the leader has -> BUSY -> FETCHING
             -> append, where a follower says only what is on its disk -> BUSY -> FETCHING
             -> an error that may pass -> DELAYED -> FETCHING
             -> an error that only newer metadata end -> WAITING

Owns the rules of Kafka's AbstractFetcherThread. Whoever carries a step out says where the log ends
afterwards; nothing here knows the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple, final

from millstream.errors import FencedLeaderEpoch, OffsetOutOfRange
from millstream.log.leader_epochs import EpochEnd

_NONE: Final = 0


class FollowerState(Enum):
    FETCHING = "fetching"
    BUSY = "its log is being cut, or brought to the disk"
    DELAYED = "delayed after an error"
    WAITING = "waiting for newer metadata"


class AskedFetch(NamedTuple):
    """One partition in a fetch. `last_fetched_epoch` is -1 for a log that knows no epoch."""

    leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int


@dataclass(frozen=True, slots=True)
class Append:
    """Append the records that came, up to leader epoch `leader_epoch`, and take over the leader's offsets."""

    leader_epoch: int


@dataclass(frozen=True, slots=True)
class TruncateToDivergence:
    diverging: EpochEnd


@dataclass(frozen=True, slots=True)
class TruncateTo:
    offset: int


@dataclass(frozen=True, slots=True)
class StartOver:
    """Remove everything; the log begins at `offset`."""

    offset: int


@dataclass(frozen=True, slots=True)
class AskLeaderEnd:
    """Ask the leader where its log ends."""


@dataclass(frozen=True, slots=True)
class AskLeaderStart:
    """Ask the leader where its log begins."""


Step = Append | TruncateToDivergence | TruncateTo | StartOver | AskLeaderEnd | AskLeaderStart


@final
class FollowedPartition:
    """One partition under one leader and leader epoch; another epoch is another follower."""

    def __init__(
        self, leader_epoch: int, end_offset: int, latest_epoch: int, *, backoff_ms: int
    ) -> None:
        """`end_offset`, `latest_epoch`: of the own log. `backoff_ms`: how long an error delays it."""
        self.leader_epoch = leader_epoch
        self.fetch_offset = end_offset
        self.last_fetched_epoch = latest_epoch
        self.state = FollowerState.FETCHING
        self.delayed_until_ms = 0
        self._backoff_ms = backoff_ms
        self._is_fruitless = False
        """Whether the last step has changed nothing: a second one like it waits, or leader and
        follower would ask without end."""

    # --- what to ask

    def asks(self, log_start_offset: int) -> AskedFetch | None:
        """Returns what to ask for; None while nothing is to be asked."""
        if self.state is not FollowerState.FETCHING:
            return None
        return AskedFetch(
            self.leader_epoch, self.fetch_offset, self.last_fetched_epoch, log_start_offset
        )

    def end_delay(self, now_ms: int) -> bool:
        """Returns whether a delay is over, after which it fetches again."""
        if self.state is not FollowerState.DELAYED or now_ms < self.delayed_until_ms:
            return False
        self.state = FollowerState.FETCHING
        return True

    # --- what to do with an answer

    def is_current(self, asked: AskedFetch) -> bool:
        """Whether an answer to `asked` still counts: the log may have been cut, or the leader
        changed, while it was under way.
        """
        return (
            self.state is FollowerState.FETCHING
            and asked.fetch_offset == self.fetch_offset
            and asked.leader_epoch == self.leader_epoch
        )

    def take(
        self, asked: AskedFetch, error_code: int, diverging: EpochEnd | None, now_ms: int
    ) -> Step | None:
        """Returns what to do with an answer to a fetch. None: nothing."""
        if not self.is_current(asked):
            return None
        if error_code == OffsetOutOfRange.code:
            return AskLeaderEnd()
        if error_code != _NONE:
            self.take_refusal(error_code, now_ms)
            return None
        if diverging is not None:
            return TruncateToDivergence(diverging)
        return Append(asked.leader_epoch)

    def take_leader_end(
        self, asked: AskedFetch, error_code: int, leader_end: int, now_ms: int
    ) -> Step | None:
        """Returns what to do when the leader, for which the fetch was out of range, has said where its log ends.

        A leader that ends before us was elected uncleanly, or has lost records: what it does not have is cut.
        """
        if not self._counts(asked, error_code, now_ms):
            return None
        return TruncateTo(leader_end) if leader_end < self.fetch_offset else AskLeaderStart()

    def take_leader_start(
        self, asked: AskedFetch, error_code: int, leader_start: int, now_ms: int
    ) -> Step | None:
        """Returns what to do when the leader has said where its log begins: what this follower
        misses may be deleted there.

        None where nothing is: the leader's log has grown meanwhile, and the same fetch may succeed.
        """
        if not self._counts(asked, error_code, now_ms):
            return None
        if leader_start > self.fetch_offset:
            return StartOver(leader_start)
        self._note_fruitless_step(now_ms)
        return None

    def _counts(self, asked: AskedFetch, error_code: int, now_ms: int) -> bool:
        if not self.is_current(asked):
            return False
        if error_code != _NONE:
            self.take_refusal(error_code, now_ms)
            return False
        return True

    # --- how it went

    def begin_work(self) -> None:
        """Notes that its log is being cut or synced, in which time nothing is asked for and no answer counts.

        The next two end it.
        """
        self.state = FollowerState.BUSY

    def note_append(self, end_offset: int, latest_epoch: int) -> None:
        """Notes where the log ends after an answer was appended."""
        self.state = FollowerState.FETCHING
        self._is_fruitless = False
        self.fetch_offset, self.last_fetched_epoch = end_offset, latest_epoch

    def note_cut(self, end_offset: int, latest_epoch: int, now_ms: int) -> None:
        """Notes where the log ends after a truncation.

        One that has changed nothing would be asked for again at once.
        """
        self.state = FollowerState.FETCHING
        if (end_offset, latest_epoch) == (self.fetch_offset, self.last_fetched_epoch):
            self._note_fruitless_step(now_ms)
        self.fetch_offset, self.last_fetched_epoch = end_offset, latest_epoch

    def take_refusal(self, error_code: int, now_ms: int) -> None:
        """Waits after a refusal of the leader: for a while, or, where it has a newer epoch than
        ours, until the metadata say more.
        """
        if error_code == FencedLeaderEpoch.code:
            self.wait_for_metadata()
        else:
            self.delay(now_ms)

    def delay(self, now_ms: int) -> None:
        self.state = FollowerState.DELAYED
        self.delayed_until_ms = now_ms + self._backoff_ms

    def hold(self, until_ms: int) -> None:
        """It is throttled until then."""
        self.state = FollowerState.DELAYED
        self.delayed_until_ms = until_ms

    def wait_for_metadata(self) -> None:
        self.state = FollowerState.WAITING

    def _note_fruitless_step(self, now_ms: int) -> None:
        if self._is_fruitless:
            self.delay(now_ms)
        self._is_fruitless = not self._is_fruitless
