"""The replicas this node hosts, following the metadata: opens, configures, leads and deletes their logs.

The image is the only source: nothing is created because a directory exists, and a directory that the image does not know is
moved aside, never deleted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from itertools import groupby, islice
from operator import itemgetter
from typing import Final

from millstream.broker.storage.new_logs import NewLogs
from millstream.errors import (
    ConfigError,
    KafkaError,
    KafkaStorageError,
    MillstreamError,
    NotLeaderOrFollower,
    UnknownTopicOrPartition,
)
from millstream.log.log_directories import LogDirectories
from millstream.log.log_directory import LogDirectory
from millstream.metadata.config_resource import ConfigResourceType
from millstream.metadata.directory_ids import UNASSIGNED_DIRECTORY, assigned_directory
from millstream.metadata.effective_config import BrokerSettings
from millstream.metadata.image import MetadataImage, TopicImage
from millstream.metadata.loader import PublishedImage
from millstream.metadata.topic_config import LogConfig, stored_log_config
from millstream.metadata.topics_delta import TopicChange
from millstream.model import BrokerId, TopicPartition, Uuid
from millstream.replication.partition import Partition
from millstream.runtime import Clock

_LOGGER = logging.getLogger(__name__)
_HOSTED_AT_ONCE: Final = 100
"""In a few milliseconds. Of more new partitions, each is hosted when it is its turn or when somebody asks for it."""


class HostedPartitions:
    """Implements `node.Partitions`. `on_progress` is told of every partition whose readers may see more."""

    def __init__(
        self,
        directories: LogDirectories,
        *,
        node_id: BrokerId,
        static_settings: Mapping[str, str],
        clock: Clock,
        on_progress: Callable[[TopicPartition], None],
        on_placed: Callable[[TopicImage, int, Uuid], None],
        new_logs: NewLogs,
    ) -> None:
        """`on_placed` is told topic, partition and directory id of replicas that are not where the metadata has them."""
        self._directories = directories
        self._on_placed = on_placed
        self._new_logs = new_logs
        self._node_id = node_id
        self._static_settings = static_settings
        self._clock = clock
        self._on_progress = on_progress
        self._hosted: dict[tuple[str, int], Partition] = {}
        self._awaited: dict[tuple[str, int], None] = {}
        """New partitions of this node that are hosted in a moment, or when somebody asks for them."""
        self._leaving: dict[tuple[str, int], Partition] = {}
        """Deleted partitions whose logs leave the directory in a moment, or when a topic of that name comes back."""
        self._has_work = asyncio.Event()
        self._refused: set[TopicPartition] = set()
        """Logs that could not be opened and may be another time."""
        self._image = MetadataImage()

    def get(self, topic: str, partition: int) -> Partition:
        if (topic, partition) in self._awaited:
            self._host_awaited(topic, [partition])
        found = self._hosted.get((topic, partition))
        if found is None:
            raise self._why_not(topic, partition)
        return found

    def all(self) -> Iterable[tuple[TopicPartition, Partition]]:
        return [(each.topic_partition, each) for each in self._hosted.values()]

    async def run(self) -> None:
        """Hosts what is awaited and deletes what leaves, a little at a time, until cancelled."""
        try:
            while True:
                await self._has_work.wait()
                self._has_work.clear()
                while self._awaited or self._leaving:
                    for key in list(islice(self._leaving, _HOSTED_AT_ONCE)):
                        self._delete(key)
                    await asyncio.sleep(0)
                    next_ones = list(islice(self._awaited, _HOSTED_AT_ONCE))
                    for topic, keys in groupby(next_ones, key=itemgetter(0)):
                        self._host_awaited(topic, [number for _, number in keys])
                    await asyncio.sleep(0)
        finally:
            for key in list(self._leaving):
                self._delete(key)

    def load(self, image: MetadataImage) -> None:
        """The first image: every log of it that this node hosts is opened, one after another."""
        self._image = image
        self._move_strays_aside(image)
        for topic in image.topics:
            self._host(topic, range(len(topic.partitions)))

    def apply(self, published: PublishedImage) -> None:
        """A step of the metadata."""
        self._image = published.image
        for topic in published.delta.topics.deleted():
            for number in range(len(topic.partitions)):
                self._drop(topic.name, number)
        if len(self._leaving) <= _HOSTED_AT_ONCE:
            for key in list(self._leaving):
                self._delete(key)
        changes = list(published.delta.topics.changes())
        if sum(len(change.partitions) for change in changes) > _HOSTED_AT_ONCE:
            self._host_later(changes)
        for change in changes:
            self._host(change.after, change.partitions)
        for resource in published.delta.changed_configs:
            if resource.type is ConfigResourceType.TOPIC:
                self._reconfigure(resource.name)
            elif resource.type is ConfigResourceType.BROKER:
                for topic in published.image.topics:
                    self._reconfigure(topic.name)

    def log_config(self, topic: str) -> LogConfig:
        """What the logs of `topic` are configured with. Raises ConfigError for a topic with remote storage."""
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

    def _host_later(self, changes: Iterable[TopicChange]) -> None:
        """Opening thousands of logs takes long, and everybody would wait."""
        for change in changes:
            for number in change.partitions:
                key = (change.after.name, number)
                if (
                    key not in self._hosted
                    and self._node_id in change.after.partitions[number].replicas
                ):
                    self._awaited[key] = None
        if self._awaited:
            self._has_work.set()

    def _host_awaited(self, topic: str, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._awaited.pop((topic, number), None)
        image = self._image.topic(topic)
        if image is not None:
            self._host(image, [each for each in numbers if each < len(image.partitions)])

    def _host(self, topic: TopicImage, numbers: Iterable[int]) -> None:
        config_of_topic = cache(partial(self.log_config, topic.name))
        for number in numbers:
            image = topic.partitions[number]
            if (topic.name, number) in self._awaited:
                continue
            if self._node_id not in image.replicas:
                self._drop(topic.name, number)
                continue
            hosted = self._hosted.get((topic.name, number)) or self._open(
                topic, number, config_of_topic
            )
            if hosted is not None:
                hosted.apply(image)

    def _open(
        self, topic: TopicImage, number: int, config_of_topic: Callable[[], LogConfig]
    ) -> Partition | None:
        """A log that cannot be opened is offline; the others are not its business."""
        name = TopicPartition(topic.name, number)
        self._delete(name)
        assigned = assigned_directory(topic.partitions[number], self._node_id)
        directory = self._directory_for(name, assigned)
        if directory is None:
            return None
        self._refused.discard(name)
        try:
            begin = directory.open_log if directory.holds(name) else directory.begin_log
            log = begin(name, config_of_topic(), self._clock.now(), topic.topic_id)
        except MillstreamError as error:
            _LOGGER.error("%s is offline: %s", name, error)  # noqa: TRY400 - the sentence says it
            if isinstance(error, KafkaStorageError):
                self._refused.add(name)
            return None
        if log.removed_bytes:
            _LOGGER.warning(
                "%s: recovery cut %d bytes that are no valid batch; the log ends at offset %d",
                name, log.removed_bytes, log.log_end_offset,
            )  # fmt: skip
        if not log.is_on_disk:
            self._new_logs.add(log)
        saved = directory.saved_high_watermarks.pop(name, 0)
        hosted = Partition(log, topic.topic_id, self._node_id, saved, self._on_progress)
        self._hosted[name] = hosted
        if assigned != directory.meta.directory_id:
            self._on_placed(topic, number, directory.meta.directory_id)
        return hosted

    def _directory_for(self, name: TopicPartition, assigned: Uuid) -> LogDirectory | None:
        """None where the partition's directory is offline: another must not begin it anew."""
        found = self._directories.place(name, assigned)
        may_begin = (
            assigned == UNASSIGNED_DIRECTORY
            or not self._directories.offline
            or self._directories.has_online(assigned)
        )
        if found is None or not (may_begin or found.holds(name)):
            _LOGGER.error("%s is offline, and so is its data directory", name)
            return None
        return found

    def open_refused(self) -> None:
        """Tries again what the disk refused, for lack of space perhaps."""
        for name in sorted(self._refused):
            topic = self._image.topic(name.topic)
            if topic is None or name.partition >= len(topic.partitions):
                self._refused.discard(name)
            else:
                self._host(topic, [name.partition])

    def lose(self, lost: Iterable[TopicPartition]) -> None:
        """Their data directory failed: whoever asks for them is told so from now on."""
        for name in lost:
            self._leaving.pop(name, None)
            if self._hosted.pop(name, None) is not None:
                self._on_progress(name)

    def _drop(self, topic: str, number: int) -> None:
        self._awaited.pop((topic, number), None)
        dropped = self._hosted.pop((topic, number), None)
        if dropped is None:
            return
        dropped.log.retire("its topic was deleted")
        self._leaving[topic, number] = dropped
        self._has_work.set()
        self._on_progress(dropped.topic_partition)

    def _delete(self, key: tuple[str, int]) -> None:
        dropped = self._leaving.pop(key, None)
        if dropped is None:
            return
        try:
            self._directories.of(dropped.log).delete_log(dropped.topic_partition, self._clock.now())
        except MillstreamError as error:
            _LOGGER.error(  # noqa: TRY400 - the sentence says it
                "%s is deleted, but its files stay until the next start: %s",
                dropped.topic_partition,
                error,
            )

    def _reconfigure(self, topic: str) -> None:
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
                known = topic is not None and found.partition.partition < len(topic.partitions)
                if not known or (topic and found.topic_id not in {None, topic.topic_id}):
                    moved = directory.move_aside(found.partition)
                    _LOGGER.warning(
                        "%s is in no topic of the metadata: moved to %s", found.partition, moved
                    )

    def _why_not(self, topic: str, partition: int) -> KafkaError:
        image = self._image.partition(topic, partition)
        if image is None:
            return UnknownTopicOrPartition()
        if self._node_id in image.replicas:
            return KafkaStorageError(
                f"the log of {topic}-{partition} is offline; the log of the broker says why"
            )
        return NotLeaderOrFollower(f"this broker has no replica of {topic}-{partition}")
