"""One fetch session: the partitions that a fetcher asked for, what it was told of them, and
which of them are to be read.

A partition that has nothing to tell is quiet: it is not read again before it makes progress, which the purgatory tells,
so that a poll costs as much as what changed. Whether it is quiet is asked when its fetcher is told, in one step with
listening to it: it may have made progress since it was read, or have had no place in the answer. What makes no progress
and changes all the same (a directory that fails) is noticed by reading everything now and then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, final

from millstream.broker.requests.purgatory import Purgatory
from millstream.model import TopicPartition, Uuid
from millstream.protocol.generated.fetch import FetchPartition, PartitionData, ReplicaState
from millstream.replication.replica_progress import FetchPulse
from millstream.runtime import Instant

_READ_ALL_INTERVAL_MS: Final = 10_000
"""Ours: so often all partitions of a session are read, whoever has told of progress or not."""


class FetchKey(NamedTuple):
    """A partition as its fetcher names it: by topic up to version 12, by topic id from 13 on."""

    topic: str
    topic_id: Uuid
    partition: int


Answer = tuple[FetchKey, PartitionData]
FindQuiet = Callable[[FetchKey, FetchPartition, PartitionData, FetchPulse], TopicPartition | None]
"""The partition of a key if it has no more to tell now than its fetcher is told; None if it has, or is not there.

A follower's quiet partitions are told of its later fetches by the pulse."""


@dataclass(slots=True)
class _SessionPartition:
    asked: FetchPartition
    told_high_watermark: int = -1
    told_log_start_offset: int = -1
    listened_to: TopicPartition | None = None

    def is_news(self, data: PartitionData) -> bool:
        return (
            bool(data.records)
            or data.error_code != 0
            or data.high_watermark != self.told_high_watermark
            or data.log_start_offset != self.told_log_start_offset
            or data.diverging_epoch.epoch != -1
            or data.preferred_read_replica != -1
        )

    def remember(self, data: PartitionData) -> None:
        """An error is told again and again until it is gone: what was told before it no longer counts."""
        is_error = data.error_code != 0
        self.told_high_watermark = -1 if is_error else data.high_watermark
        self.told_log_start_offset = data.log_start_offset


@final
class FetchSession:
    """One fetcher's partitions. `stirring` are those to be read, in the order in which bytes are given out."""

    def __init__(
        self,
        session_id: int,
        purgatory: Purgatory,
        now: Instant,
        *,
        uses_topic_ids: bool,
        replica: ReplicaState | None = None,
    ) -> None:
        """`replica` is the fetcher if it is a follower."""
        self.session_id = session_id
        self.uses_topic_ids = uses_topic_ids
        self.replica = replica
        self.pulse = FetchPulse(now.monotonic_ms)
        self.created_ms = self.last_used_ms = self._all_read_ms = now.monotonic_ms
        self._rules_version = 0
        self.epoch = 1
        """The epoch the next request must carry."""
        self.partitions: dict[FetchKey, _SessionPartition] = {}
        self.stirring: dict[FetchKey, None] = {}
        self.tell: Callable[[FetchKey, FetchPartition], None] | None = None
        self._keys: dict[TopicPartition, FetchKey] = {}
        """Of the partitions that were quiet once: they are listened to from then on."""
        self._listener = purgatory.listener(self._on_progress, minds_growth=replica is not None)

    def ask(self, key: FetchKey, asked: FetchPartition) -> None:
        known = self.partitions.get(key)
        if known is None:
            self.partitions[key] = _SessionPartition(asked)
        else:
            known.asked = asked
        self.stirring[key] = None

    def forget(self, key: FetchKey) -> None:
        known = self.partitions.pop(key, None)
        self.stirring.pop(key, None)
        if known is not None and known.listened_to is not None:
            self._listener.leave(known.listened_to)
            del self._keys[known.listened_to]

    def note_answer(self, key: FetchKey, data: PartitionData, find_quiet: FindQuiet) -> None:
        """Notes that the fetcher is answered `data` for `key`; the partition becomes quiet where
        `find_quiet` finds it so.
        """
        known = self.partitions[key]
        known.remember(data)
        self.stirring.pop(key, None)
        if (
            data.records
            or data.error_code
            or data.diverging_epoch.epoch != -1
            or data.preferred_read_replica != -1
            or not self._is_listened_to(key, known, find_quiet(key, known.asked, data, self.pulse))
        ):
            self.stirring[key] = None

    def _is_listened_to(
        self, key: FetchKey, known: _SessionPartition, quiet: TopicPartition | None
    ) -> bool:
        """Not what another key listens to already: a topic that was made again has the
        partitions of the old one by name.
        """
        if quiet is None:
            return False
        if known.listened_to is None and quiet not in self._keys:
            known.listened_to = quiet
            self._keys[quiet] = key
            self._listener.listen_to(quiet)
        return known.listened_to == quiet

    def maybe_read_all(
        self, now: Instant, replica: ReplicaState | None, rules_version: int
    ) -> None:
        """Has all partitions read now and then, after a follower registered anew (each of them must hear of it) and
        after access rules changed.

        The first fetch of a session after the one that began it reads all partitions also because of rules:
        they may have changed between.
        """
        is_another = replica != self.replica or rules_version != self._rules_version
        self.replica = replica
        self._rules_version = rules_version
        if is_another or now.monotonic_ms - self._all_read_ms >= _READ_ALL_INTERVAL_MS:
            self._all_read_ms = now.monotonic_ms
            self.stirring.update(dict.fromkeys(self.partitions))

    def close(self) -> None:
        self._listener.close()

    def _on_progress(self, partition: TopicPartition) -> None:
        key = self._keys[partition]
        self.stirring[key] = None
        if self.tell is not None:
            self.tell(key, self.partitions[key].asked)
