"""Decides who fetches what: each followed partition goes to a fetcher of its leader,
`num.replica.fetchers` for each broker.

Each of these is two, with a connection and a session each: one for partitions that are in step with their leader, one
for those that lack what is committed, as after a restart. Kafka has one for both. There an acknowledgement of a
partition that is in sync waits while a megabyte of another one is sent, received and written, fetch after fetch, until
that one has caught up: 9 % of the requests that came through before.

    in step --an answer leaves it behind what is committed--> behind, at once
    behind  --an answer brings it into step-----------------> offered; claimed by the other fetcher between two requests

Between being offered and claimed it is still fetched: the leader may wait for it already, and the other fetcher's
request may wait for `replica.fetch.wait.max.ms`.

Told by `HostedPartitions`, in the step in which a partition follows an image: so a partition that is to lead is fetched
no more before it leads, and one that has another leader drops what the last one sends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final, NamedTuple, final

from millstream.broker.forwarding.broker_channel import BrokerChannel
from millstream.broker.replication.remote_leader import RemoteLeader, ReplicaFetchSettings
from millstream.broker.replication.replica_fetcher import FetcherServices, ReplicaFetcher
from millstream.errors import KafkaStorageError
from millstream.log.truncation import LogCut
from millstream.metadata.image import NO_LEADER
from millstream.model import BrokerId, LeaderEpoch, TopicPartition, Uuid
from millstream.replication.fetch_plan import FollowedKey
from millstream.replication.follower import FollowedPartition
from millstream.replication.partition import Partition

_LOGGER = logging.getLogger(__name__)
_ID_BYTES_USED: Final = 4
"""Of a topic's id, which is chance: more spread no better."""
_NAMED_MAX: Final = 20
"""Ours: partitions in one line of the log; a broker that comes back fetches thousands."""


class _Place(NamedTuple):
    leader: BrokerId
    number: int
    is_for_laggards: bool = False


class _Assignment(NamedTuple):
    key: FollowedKey
    place: _Place
    """While it is in step."""
    leader_epoch: LeaderEpoch
    partition: Partition


@final
class ReplicaFetchers:
    def __init__(
        self,
        new_channel: Callable[[], BrokerChannel],
        settings: ReplicaFetchSettings,
        broker_epoch: Callable[[], int],
        services: FetcherServices,
        *,
        count: int,
    ) -> None:
        """`new_channel` makes connections to other brokers, one to each; `count` is how many
        fetchers each of them has.
        """
        self._new_channel = new_channel
        self._settings = settings
        self._broker_epoch = broker_epoch
        self._services = services
        self._count = count
        self._channels: dict[tuple[int, bool], BrokerChannel] = {}
        self._fetchers: dict[_Place, ReplicaFetcher] = {}
        self._assignments: dict[TopicPartition, _Assignment] = {}
        self._untold: dict[TopicPartition, BrokerId] = {}
        """Partitions that have begun to be fetched, or have ended, in this turn of the loop, with their leader then."""
        self._behind: set[TopicPartition] = set()
        """Those that lack what is committed, as far as is known."""
        services.metrics.follower_lag_max = self._lag_max
        services.metrics.failed_partitions = self._failed_count

    def __len__(self) -> int:
        """Returns the number of partitions that are fetched."""
        return len(self._assignments)

    def _lag_max(self) -> int:
        return max((each.lag_max() for each in self._fetchers.values()), default=0)

    def _failed_count(self) -> int:
        return sum(each.failed_count() for each in self._fetchers.values())

    def follow(self, partition: Partition) -> None:
        """Has a partition fetched from its leader, if another broker leads it; else it is fetched no more."""
        name = partition.topic_partition
        if partition.leader == NO_LEADER or partition.is_leader:
            self.leave(name)
            return
        key = FollowedKey(partition.topic_id, name.partition)
        index = fetcher_index(key.topic_id, key.partition, self._count)
        place = _Place(partition.leader, index)
        wanted = _Assignment(key, place, partition.leader_epoch, partition)
        if self._assignments.get(name) == wanted:
            return
        self.leave(name)
        try:
            cut = _cut_of_unknown_epochs(partition)
        except KafkaStorageError as error:
            _LOGGER.error("%s does not follow its leader: %s", name, error)  # noqa: TRY400 - the sentence says it
            return
        self._assignments[name] = wanted
        self._tell_soon(name, place.leader)
        self._fetcher(place).add(key, partition, self._new_follower(partition), cut)

    def leave(self, name: TopicPartition) -> None:
        """Has a partition fetched no more."""
        assignment = self._assignments.pop(name, None)
        if assignment is not None:
            self._tell_soon(name, assignment.place.leader)
            fetcher = self._fetchers.get(self._lane(name, assignment))
            if fetcher is not None:
                fetcher.remove(assignment.key)
        self._behind.discard(name)

    def _lane(self, name: TopicPartition, assignment: _Assignment) -> _Place:
        return assignment.place._replace(is_for_laggards=name in self._behind)

    # --- between the two fetchers

    def note_misplaced(self, name: TopicPartition) -> None:
        assignment = self._assignments[name]
        if name in self._behind:
            self._fetcher(assignment.place).offer(name)
        else:
            self._move(name, assignment)

    def claim(self, name: TopicPartition) -> None:
        # Since it was offered it may have left, got another leader, or fallen behind again.
        assignment = self._assignments.get(name)
        if assignment is not None and name in self._behind:
            fetcher = self._fetchers.get(self._lane(name, assignment))
            if fetcher is not None and fetcher.is_in_step(assignment.key):
                self._move(name, assignment)

    def _move(self, name: TopicPartition, assignment: _Assignment) -> None:
        """An answer to the fetcher that it leaves may be under way: it changes nothing, and the next request
        is made for where the log ends.
        """
        followed = self._fetcher(self._lane(name, assignment)).remove(assignment.key)
        assert followed is not None, "it is fetched where it was placed"
        self._behind ^= {name}
        self._fetcher(self._lane(name, assignment)).adopt(followed)

    def resize(self, count: int) -> None:
        """Spreads the partitions of each leader over another number of fetchers."""
        if count == self._count:
            return
        self._count = count
        for assignment in list(self._assignments.values()):
            self.follow(assignment.partition)

    def _new_follower(self, partition: Partition) -> FollowedPartition:
        log = partition.log
        return FollowedPartition(
            partition.leader_epoch,
            log.log_end_offset,
            log.leader_epochs.latest_epoch,
            backoff_ms=self._settings.replica_fetch_backoff_ms,
        )

    def _fetcher(self, place: _Place) -> ReplicaFetcher:
        found = self._fetchers.get(place)
        if found is None:
            lane = place.number, place.is_for_laggards
            if lane not in self._channels:
                self._channels[lane] = self._new_channel()
            backoff_ms = self._settings.replica_fetch_backoff_ms
            leader = RemoteLeader(
                place.leader, self._channels[lane], self._settings, self._broker_epoch
            )
            found = self._fetchers[place] = ReplicaFetcher(
                leader,
                self._services,
                self,
                is_for_laggards=place.is_for_laggards,
                backoff_ms=backoff_ms,
            )
            what = "fetcher of laggards" if place.is_for_laggards else "replica fetcher"
            self._services.tasks.start(
                self._run(place, found), f"{what} {place.leader}-{place.number}"
            )
        return found

    async def _run(self, place: _Place, fetcher: ReplicaFetcher) -> None:
        """Ends with the last partition that is fetched from this leader; the next one begins another."""
        _LOGGER.info("fetcher %d of broker %d begins", place.number, place.leader)
        try:
            await fetcher.run()
            # Nothing is awaited between the look that there is none and this: whoever adds one finds it, or makes a new fetcher.
            if self._fetchers.get(place) is fetcher:
                del self._fetchers[place]
        finally:
            _LOGGER.info("fetcher %d of broker %d ends", place.number, place.leader)

    # --- what the operator is told

    def _tell_soon(self, name: TopicPartition, leader: BrokerId) -> None:
        """An image moves many at once: one line for all of them that had, or have, the same leader."""
        if not self._untold:
            asyncio.get_running_loop().call_soon(self._tell)
        self._untold.setdefault(name, leader)

    def _tell(self) -> None:
        untold, self._untold = self._untold, {}
        begun: dict[BrokerId, list[str]] = {}
        ended: dict[BrokerId, list[str]] = {}
        for name, leader in untold.items():
            assignment = self._assignments.get(name)
            if assignment is None:
                ended.setdefault(leader, []).append(str(name))
            else:
                begins = f"{name} from offset {assignment.partition.log_end_offset} in leader epoch {assignment.leader_epoch}"
                begun.setdefault(assignment.place.leader, []).append(begins)
        for leader, names in ended.items():
            _LOGGER.info("fetches %s from broker %d no more", _some_of(names), leader)
        for leader, names in begun.items():
            _LOGGER.info("fetches from broker %d: %s", leader, _some_of(names))


def _some_of(names: list[str]) -> str:
    more = len(names) - _NAMED_MAX
    return ", ".join(names[:_NAMED_MAX]) + (f" and {more} more" if more > 0 else "")


def _cut_of_unknown_epochs(partition: Partition) -> LogCut | None:
    """A log that knows no leader epoch cannot tell where it diverges: what is not committed goes, as in Kafka."""
    log = partition.log
    if log.leader_epochs.latest_epoch < 0 and log.log_end_offset > partition.high_watermark:
        return partition.plan_cut(partition.high_watermark)
    return None


def fetcher_index(topic_id: Uuid, partition: int, count: int) -> int:
    """Returns which of a leader's fetchers fetches a partition: always the same one, and those of a
    topic are spread.
    """
    return (int.from_bytes(topic_id[-_ID_BYTES_USED:], "big") + partition) % count
