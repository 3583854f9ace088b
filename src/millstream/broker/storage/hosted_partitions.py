"""Hosts replicas as the metadata says: opens, configures, leads, follows with and deletes their logs.

The image is the only source: nothing is created because a directory exists. A replica that an image
takes away while the node runs is deleted, as in Kafka; a directory that the first image does not
have here is moved aside, never deleted.

Few partitions follow a new image at once. Of thousands each follows when it is its turn, or before that when a request
asks for it: so a request sees every partition as the newest image has it, and none waits for all of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol

from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.long_work import LongWork
from millstream.broker.requests.failure_log import PartitionOffline
from millstream.broker.storage.damaged_replicas import DamagedReplicas, StartCut
from millstream.broker.storage.new_logs import NewLogs
from millstream.errors import (
    ConfigError,
    KafkaError,
    KafkaStorageError,
    MillstreamError,
    NotLeaderOrFollower,
    UnknownTopicOrPartition,
)
from millstream.log.directory.log_directories import LogDirectories
from millstream.log.directory.log_directory import LogDirectory
from millstream.log.partition_log import PartitionLog
from millstream.metadata.broker_registration import BrokerRegistration
from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.directory_ids import UNASSIGNED_DIRECTORY, assigned_directory
from millstream.metadata.effective_config import BrokerSettings
from millstream.metadata.image import MetadataImage, TopicImage
from millstream.metadata.loader import PublishedImage
from millstream.metadata.topic_config import LogConfig, stored_log_config
from millstream.model import BrokerId, TopicPartition, Uuid
from millstream.protocol.enums import ConfigResourceType
from millstream.replication.followers import ReplicationRules
from millstream.replication.partition import Partition
from millstream.runtime import Clock

if TYPE_CHECKING:
    from millstream.log.verification import Damage

_LOGGER = logging.getLogger(__name__)
_LOST: Final = "its data directory has failed"
_AT_ONCE: Final = 100
"""Partitions that follow an image without taking turns."""
_PER_TURN: Final = 50
"""Opened, deleted or changed in some two milliseconds."""
_TOPICS_PER_TURN: Final = 50
"""Configured anew, in about as long."""


class Fetchers(Protocol):
    """Fetches from their leaders the partitions that others lead."""

    def follow(self, partition: Partition) -> None:
        """Has it fetched from its leader, or no more where this broker leads it or nobody does."""
        ...

    def leave(self, name: TopicPartition) -> None:
        """Has it fetched no more; what is under way changes nothing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedEvents:
    """Whom the replicas of a node tell what."""

    on_progress: Callable[[TopicPartition], None]
    """Partitions whose readers may see more."""
    on_growth: Callable[[TopicPartition], None]
    """Partitions whose followers may fetch more."""
    on_alteration_due: Callable[[Partition], None]
    """Partitions for which the controller is to be asked to alter them."""
    on_placed: Callable[[TopicImage, int, Uuid], None]
    """Topic, partition and directory id of replicas that are not where the metadata has them."""


class HostedPartitions:
    """The replicas of this node. Implements `node.Partitions`."""

    def __init__(
        self,
        directories: LogDirectories,
        config: BrokerConfig,
        clock: Clock,
        *,
        told: HostedEvents,
        new_logs: NewLogs,
        fetchers: Fetchers,
        start_cut: StartCut,
    ) -> None:
        self._directories = directories
        self._told = told
        self._new_logs = new_logs
        self._fetchers = fetchers
        self._node_id = BrokerId(config.node_id)
        self._static_settings = config.settings
        self._clock = clock
        self._rules = ReplicationRules(self._find_broker, config.replica_lag_time_max_ms)
        self._hosted: dict[tuple[str, int], Partition] = {}
        self._behind: dict[str, set[int]] = {}
        """Partitions, by topic, that have not followed the newest image yet."""
        self._unconfigured: dict[str, None] = {}
        """Topics whose logs have not got their new configuration yet."""
        self._has_work = asyncio.Event()
        self._refused: set[TopicPartition] = set()
        """Logs that could not be opened and may be another time."""
        self._offline: dict[TopicPartition, tuple[Uuid, str]] = {}
        """Topic id and what was told of logs that could not be opened, or were lost, so that it is
        not told with every attempt."""
        self._image = MetadataImage()
        self.damaged = DamagedReplicas(
            self._node_id,
            clock,
            on_placed=told.on_placed,
            directory_of=lambda hosted: directories.of(hosted.log).meta.directory_id,
            stop_following=fetchers.leave,
            start_cut=start_cut,
            on_cut=self._follow_leader,
        )

    def get(self, topic: str, partition: int) -> Partition:
        if topic in self._behind and partition in self._behind[topic]:
            self._follow(topic, [partition])
        if topic in self._unconfigured:
            self._reconfigure(topic)
        found = self._hosted.get((topic, partition))
        if found is None:
            raise self._why_not(topic, partition)
        return found

    def all(self) -> Iterable[tuple[TopicPartition, Partition]]:
        return [(each.topic_partition, each) for each in self._hosted.values()]

    def offline_count(self) -> int:
        failed = sum(each.log.health.failure is not None for each in self._hosted.values())
        return failed + len(self._offline)

    async def run(self, long_work: LongWork) -> None:
        """Lets follow what is behind, a little at a time, until cancelled.

        Then what was deleted is deleted, before the node ends.
        """
        try:
            while True:
                await self._has_work.wait()
                self._has_work.clear()
                while self._behind or self._unconfigured:
                    await long_work.next_turn()
                    self._follow_some(_PER_TURN)
                    for topic in list(islice(self._unconfigured, _TOPICS_PER_TURN)):
                        self._reconfigure(topic)
        finally:
            for name, numbers in self._behind.items():
                for number in numbers:
                    self._drop_deleted(name, number)

    def load(self, image: MetadataImage) -> None:
        """Loads the first image: opens every log that this node hosts, one after another."""
        self._image = image
        self._move_strays_aside(image)
        for topic in image.topics:
            self._follow(topic.name, range(len(topic.partitions)))

    def apply(self, published: PublishedImage) -> None:
        """Applies a new image of the metadata."""
        self._image, topics = published.image, published.delta.topics
        changed: list[tuple[str, Sequence[int]]] = [
            *((topic.name, range(len(topic.partitions))) for topic in topics.deleted()),
            *((change.after.name, change.partitions) for change in topics.changes()),
        ]
        for name, numbers in changed:
            self._behind.setdefault(name, set()).update(numbers)
        if sum(len(numbers) for _, numbers in changed) <= _AT_ONCE:
            for name, numbers in changed:
                self._follow(name, numbers)
        self._configure(published.delta.changed_configs)
        if self._behind or self._unconfigured:
            self._has_work.set()

    def log_config(self, topic: str) -> LogConfig:
        """Returns the configuration of the logs of `topic`. Raises ConfigError for a topic with remote storage."""
        broker = BrokerSettings.of(self._image, self._node_id, self._static_settings)
        try:
            config, left_out = stored_log_config(
                self._image.topic_config(topic), broker.topic_defaults()
            )
        except ConfigError as error:
            raise ConfigError(f"topic {topic}: {error}") from error
        for problem in left_out:
            _LOGGER.warning("topic %s: %s; it counts for nothing", topic, problem)
        return config

    def _find_broker(self, broker_id: BrokerId) -> BrokerRegistration | None:
        return self._image.brokers.get(broker_id)

    def _follow_some(self, count: int) -> None:
        while self._behind and count > 0:
            name, numbers = next(iter(self._behind.items()))
            some = list(islice(numbers, count))
            self._follow(name, some)
            count -= len(some)

    def _follow(self, name: str, numbers: Iterable[int]) -> None:
        """Brings partitions of a topic in line with the newest image."""
        topic = self._image.topic(name)
        config_of_topic = cache(partial(self.log_config, name))
        behind = self._behind.get(name, set())
        for number in numbers:
            behind.discard(number)
            self._drop_deleted(name, number)
            if topic is None or not self._is_hosted_by_us(topic, number):
                continue
            hosted = self._hosted.get((name, number)) or self._open(topic, number, config_of_topic)
            if hosted is None:
                continue
            if topic.partitions[number].leader == self._node_id:
                # Before it leads: a late answer of the last leader must not be appended after the first produced record.
                self._fetchers.leave(hosted.topic_partition)
            hosted.apply(topic.partitions[number], self._clock.now())
            self._follow_leader(hosted)
        if not behind:
            self._behind.pop(name, None)

    def _follow_leader(self, hosted: Partition) -> None:
        """Has a replica fetched, unless it is damaged and must not be, or left while it was cut."""
        is_hosted = self._hosted.get(hosted.topic_partition) is hosted
        if is_hosted and self.damaged.follow(hosted, self._image):
            self._fetchers.follow(hosted)

    def _is_hosted_by_us(self, topic: TopicImage, number: int) -> bool:
        return number < len(topic.partitions) and self._node_id in topic.partitions[number].replicas

    def _open(
        self, topic: TopicImage, number: int, config_of_topic: Callable[[], LogConfig]
    ) -> Partition | None:
        """A log that cannot be opened is offline; the others are not its business."""
        name = TopicPartition(topic.name, number)
        if self._offline.get(name) == (topic.topic_id, _LOST):
            # The metadata may have it in another directory, where it was before it moved, or in none yet: begun there
            # anew it would count as in sync, and lead, without a record. As on Kafka it is back with the next start.
            return None
        assigned = assigned_directory(topic.partitions[number], self._node_id)
        directory = self._directory_for(name, assigned)
        if directory is None:
            self._offline[name] = topic.topic_id, "its data directory is offline"
            _LOGGER.error("%s is offline, and so is its data directory", name)
            return None
        self._refused.discard(name)
        try:
            self._leave_to(directory, name)
            begin = directory.open_log if directory.holds(name) else directory.begin_log
            log = begin(name, config_of_topic(), self._clock.now(), topic.topic_id)
        except Exception as error:
            if self._offline.get(name) != (topic.topic_id, str(error)):
                self._offline[name] = topic.topic_id, str(error)
                unexpected = None if isinstance(error, MillstreamError) else error
                _LOGGER.error("%s is offline: %s", name, error, exc_info=unexpected)  # noqa: TRY400 - mostly the sentence says it
            if isinstance(error, KafkaStorageError):
                self._refused.add(name)
            return None
        self._offline.pop(name, None)
        tell_repairs(log)
        if not log.is_on_disk:
            self._new_logs.add(log)
        saved = directory.saved_high_watermarks.pop(name, 0)
        hosted = Partition(
            log,
            topic.topic_id,
            self._node_id,
            saved,
            self._told.on_progress,
            rules=self._rules,
            on_alteration_due=self._told.on_alteration_due,
        )
        hosted.on_growth = self._told.on_growth
        self._hosted[name] = hosted
        if assigned != directory.meta.directory_id:
            self._told.on_placed(topic, number, directory.meta.directory_id)
        return hosted

    def _leave_to(self, directory: LogDirectory, name: TopicPartition) -> None:
        """Moves another log of this name aside. Raises KafkaStorageError.

        A move that was killed at its last step leaves two with the same records. Kept under its name, the one that is
        not opened would be taken for the replica once the other's directory is away, without what was written since.
        """
        for other in self._directories.holders(name):
            if other is not directory:
                moved = other.move_aside(name)
                _LOGGER.warning(
                    "%s is in %s; what %s has of it was moved to %s",
                    name, directory.path, other.path, moved,
                )  # fmt: skip

    def _directory_for(self, name: TopicPartition, assigned: Uuid) -> LogDirectory | None:
        """None where the partition's directory is offline: another must not begin it anew."""
        found = self._directories.place(name, assigned)
        may_begin = (
            assigned == UNASSIGNED_DIRECTORY
            or not self._directories.offline
            or self._directories.has_online(assigned)
        )
        if found is None or not (may_begin or found.holds(name)):
            return None
        return found

    def open_refused(self) -> None:
        """Opens again the logs that the disk refused, perhaps for lack of space."""
        for name in sorted(self._refused):
            topic = self._image.topic(name.topic)
            if topic is None or name.partition >= len(topic.partitions):
                self._refused.discard(name)
            else:
                self._follow(name.topic, [name.partition])

    def note_damage(self, hosted: Partition, damage: Damage) -> None:
        """Mends a replica in whose log damage was found, as soon as the metadata let it."""
        name = hosted.topic_partition
        if self._hosted.get(name) is not hosted:
            return  # it has left meanwhile
        self.damaged.note(hosted, damage, self._image)

    def lose(self, lost: Iterable[TopicPartition]) -> None:
        """Takes partitions offline whose data directory failed; requests for them fail from now on."""
        for name in lost:
            self._fetchers.leave(name)
            self.damaged.forget(name)
            hosted = self._hosted.pop(name, None)
            if hosted is not None:
                self._offline[name] = hosted.topic_id, _LOST
                hosted.leave()

    def _drop_deleted(self, name: str, number: int) -> None:
        """Drops a replica that the newest image does not have here, so that no request finds or writes it any more."""
        hosted = self._hosted.get((name, number))
        if hosted is None:
            self._discard_offline(TopicPartition(name, number))
            return
        if self._is_still_ours(name, number, hosted.topic_id):
            return
        del self._hosted[name, number]
        self._fetchers.leave(hosted.topic_partition)
        self.damaged.forget(hosted.topic_partition)
        hosted.log.retire(
            "its topic was deleted, or its replica moved to another broker", is_gone=True
        )
        hosted.leave()
        try:
            self._directories.of(hosted.log).delete_log(hosted.topic_partition, self._clock.now())
        except MillstreamError as error:
            _LOGGER.error(  # noqa: TRY400 - the sentence says it
                "%s is deleted, but its files stay until the next start: %s",
                hosted.topic_partition,
                error,
            )

    def _discard_offline(self, name: TopicPartition) -> None:
        """Takes the files of a log that could not be opened out of the way when its topic is
        deleted: another may have its name next.
        """
        topic_id, _ = self._offline.get(name, (None, ""))
        if topic_id is None or self._is_still_ours(*name, topic_id):
            return
        del self._offline[name]
        self._refused.discard(name)
        for directory in self._directories:
            if directory.holds(name):
                try:
                    directory.discard(name)
                except KafkaStorageError as error:
                    _LOGGER.error("%s is deleted, but its files stay: %s", name, error)  # noqa: TRY400 - the sentence says it

    def _is_still_ours(self, name: str, number: int, topic_id: Uuid) -> bool:
        """Whether the newest image has this replica here, of the topic with this id."""
        topic = self._image.topic(name)
        return (
            topic is not None
            and topic.topic_id == topic_id
            and self._is_hosted_by_us(topic, number)
        )

    def _configure(self, changed: Iterable[ConfigResource]) -> None:
        """The logs of what was configured. Of the defaults of all topics, most follow in turns."""
        for resource in changed:
            if resource.type is ConfigResourceType.TOPIC:
                self._unconfigured[resource.name] = None
            elif resource.type is ConfigResourceType.BROKER:
                self._unconfigured.update(dict.fromkeys(self._image.topics.by_name))
        if len(self._unconfigured) <= _TOPICS_PER_TURN:
            for topic in list(self._unconfigured):
                self._reconfigure(topic)

    def _reconfigure(self, topic: str) -> None:
        self._unconfigured.pop(topic, None)
        image = self._image.topic(topic)
        if image is None:
            return
        config = self.log_config(topic)
        for number in range(len(image.partitions)):
            hosted = self._hosted.get((topic, number))
            if hosted is not None:
                hosted.log.update_config(config)

    def _move_strays_aside(self, image: MetadataImage) -> None:
        for directory in self._directories:
            for found in directory.find_logs():
                topic = image.topic(found.partition.topic)
                is_ours = topic is not None and self._is_hosted_by_us(
                    topic, found.partition.partition
                )
                ids = {None, found.topic_id, directory.noted_topic_id(found.partition)}
                is_of_another = topic is not None and topic.topic_id not in ids
                if not is_ours or (found.topic_id is not None and is_of_another):
                    moved = directory.move_aside(found.partition)
                    _LOGGER.warning(
                        "the metadata have no replica of %s here: moved to %s",
                        found.partition,
                        moved,
                    )

    def _why_not(self, topic: str, partition: int) -> KafkaError:
        image = self._image.partition(topic, partition)
        if image is None:
            return UnknownTopicOrPartition()
        if self._node_id in image.replicas:
            return PartitionOffline(
                f"the log of {topic}-{partition} is offline; the log of the broker says why"
            )
        return NotLeaderOrFollower(f"this broker has no replica of {topic}-{partition}")


def tell_repairs(log: PartitionLog) -> None:
    """Tells what opening a log has found, and will not find again."""
    removed_bytes, lost_records, rebuilt_indexes = log.repairs
    if removed_bytes:
        _LOGGER.warning(
            "%s: recovery cut %d bytes that are no valid batch; the log ends at offset %d",
            log.partition, removed_bytes, log.log_end_offset,
        )  # fmt: skip
    if lost_records:
        _LOGGER.error(
            "%s: the last %d offsets, which were on the disk, are gone; the log ends at offset %d",
            log.partition, lost_records, log.log_end_offset,
        )  # fmt: skip
    if rebuilt_indexes:
        _LOGGER.warning(
            "%s: the transaction indexes of the segments at %s were damaged, and are made anew from the log",
            log.partition, ", ".join(map(str, rebuilt_indexes)),
        )  # fmt: skip
