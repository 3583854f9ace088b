"""Asks the cluster what a page needs, within a deadline, and hands the answers to the views.

Owns the clients. What one item lacks (a group that cannot be described, an offset that is not known) is part of the
page; what the whole page lacks is raised as a typed error.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, TypeVar

from millstream.clients import Admin, RangeReader
from millstream.clients.admin import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ClusterDescription,
    ConfigResource,
    ConfigResourceType,
    GroupDescription,
    GroupListing,
    QuorumInfo,
    TopicDescription,
)
from millstream.console.cluster_changes import ClusterChanges, deadline
from millstream.console.views.brokers import BrokersView, brokers_view
from millstream.console.views.groups import (
    GroupsView,
    GroupView,
    group_view,
    groups_view,
    is_there,
    listed_group,
)
from millstream.console.views.lag import Committed
from millstream.console.views.offsets import (
    UNKNOWN_RANGE,
    Offsets,
    PartitionOffsets,
    offset_ranges,
)
from millstream.console.views.overview import OverviewView, overview_view
from millstream.console.views.paging import Selection, select_page
from millstream.console.views.records import RecordRow, RecordsView, record_rows
from millstream.console.views.topic import TopicView, topic_view
from millstream.console.views.topics import TopicsView, topics_view
from millstream.errors import (
    KafkaError,
    UnknownTopicOrPartition,
    UnsupportedVersion,
)
from millstream.model import TopicPartition
from millstream.net.client.tasks import TaskGroup

LATEST_RECORDS: Final = 20
DEFAULT_TIMEOUT_MS: Final = 5_000

_CLIENT_ID = "millstream-console"
_FETCH_BYTES = 1024 * 1024

_Result = TypeVar("_Result")


class ClusterReader:
    """`timeout_ms` limits each question to the cluster; a page, and a change, has twice that for all it asks.

    A cluster where every address refuses the connection is not waited for: the page says so at once.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],  # Any: the clients check the values
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
    ) -> None:
        """`settings` are those of a client: addresses, security, client_id. Raises ConfigError.

        Connects when first asked.
        """
        self._timeout_ms = timeout_ms
        self._limit_ms = 2 * timeout_ms
        common = {"client_id": _CLIENT_ID, **settings, "default_api_timeout_ms": timeout_ms}
        self._admin = Admin(**common, retry_when_refused=False)
        self._reader = RangeReader(**common, max_partition_fetch_bytes=_FETCH_BYTES)

    async def log_in(self) -> None:
        """Asks the cluster something that every user may ask.

        Raises SaslAuthenticationFailed, and what keeps it from answering.
        """
        async with self._page_deadline():
            await self._admin.describe_cluster()

    @property
    def changes(self) -> ClusterChanges:
        return ClusterChanges(self._admin, self._limit_ms)

    async def close(self) -> None:
        try:
            await self._reader.close()
        finally:
            await self._admin.close()

    async def overview(self) -> OverviewView:
        """Reads the totals. Where a broker does not soon say which groups it has, the rest is shown."""
        async with self._page_deadline():
            cluster = await self._admin.describe_cluster()
            names = await self._admin.list_topics(include_internal=True)
            topics = await self._admin.describe_topics(names)
            try:
                groups: Sequence[GroupListing] | KafkaError = await self._admin.list_groups(
                    timeout_ms=self._timeout_ms // 2
                )
            except KafkaError as error:
                groups = error
        described = [topic for topic in topics.values() if not isinstance(topic, KafkaError)]
        return overview_view(cluster, described, groups)

    async def brokers(self) -> BrokersView:
        """Reads the nodes.

        A broker that is fenced is not asked for its directories, and what one does not answer soon is left out.
        """
        async with self._page_deadline():
            cluster = await self._described_cluster()
            try:
                quorum: QuorumInfo | KafkaError = await self._admin.describe_metadata_quorum(
                    timeout_ms=self._timeout_ms // 2
                )
            except KafkaError as error:
                quorum = error
            names = await self._admin.list_topics(include_internal=True)
            topics = await self._admin.describe_topics(names)
            living = {node.node_id for node in cluster.nodes} - cluster.fenced_broker_ids
            directories = await self._admin.describe_log_dirs(
                living, timeout_ms=self._timeout_ms // 2
            )
        described = [topic for topic in topics.values() if not isinstance(topic, KafkaError)]
        return brokers_view(cluster, quorum, described, directories)

    async def _described_cluster(self) -> ClusterDescription:
        """Kafka before 4.0 does not tell which brokers are fenced."""
        try:
            return await self._admin.describe_cluster(include_fenced_brokers=True)
        except UnsupportedVersion:
            return await self._admin.describe_cluster()

    async def topics(self, selection: Selection) -> TopicsView:
        """Reads the topics of a page.

        Offsets and configs are asked for the topics of the page alone, however many there are.
        """
        async with self._page_deadline():
            every = await self._admin.list_topics(include_internal=True)
            names, page = select_page(every, selection)
            topics = await self._admin.describe_topics(names)
            described = [topic for topic in topics.values() if not isinstance(topic, KafkaError)]
            ranges = await self._offset_ranges(described)
            configs = await self._admin.describe_configs(
                [ConfigResource(ConfigResourceType.TOPIC, topic.name) for topic in described]
            )
        return topics_view(names, page, topics, ranges, configs)

    async def topic(self, name: str, partition: int | None = None) -> TopicView:
        """Reads a topic with the latest records of `partition`; None chooses the first one that has any.

        Raises UnknownTopicOrPartition, InvalidTopic.
        """
        async with self._page_deadline():
            topic = (await self._admin.describe_topics([name])).result(name)
            ranges = await self._offset_ranges([topic])
            resource = ConfigResource(ConfigResourceType.TOPIC, name)
            configs = (await self._admin.describe_configs([resource]))[resource]
            shown = _partition_to_show(topic, partition, ranges)
            records = await self._latest_records(shown, ranges.get(shown, UNKNOWN_RANGE))
        return topic_view(topic, ranges, configs, records)

    async def groups(self, selection: Selection) -> GroupsView:
        async with self._page_deadline():
            listings = {listing.group_id: listing for listing in await self._admin.list_groups()}
            names, page = select_page(listings, selection)
            descriptions = await self._admin.describe_groups(names)
            committed = await self._admin.list_consumer_group_offsets(names)
            ends = await self._ends(descriptions.values(), committed.values())
        chosen = [listings[name] for name in names]
        return groups_view(chosen, page, descriptions, committed, ends)

    async def group(self, group_id: str) -> GroupView:
        """Reads a group. Raises GroupIdNotFound."""
        async with self._page_deadline():
            descriptions = await self._admin.describe_groups([group_id])
            members_error = None
            if is_there(descriptions[group_id]):
                group = descriptions.result(group_id)
            else:
                group = listed_group(group_id, await self._admin.list_groups())
                members_error = str(descriptions[group_id])
            offsets = await self._admin.list_consumer_group_offsets([group_id])
            committed = offsets.result(group_id)
            ends = await self._ends([group], [committed])
        return group_view(group, committed, ends, members_error)

    def _page_deadline(self) -> AbstractAsyncContextManager[None]:
        return deadline(self._limit_ms, "all that this page asks")

    async def _offset_ranges(
        self, topics: Iterable[TopicDescription]
    ) -> dict[TopicPartition, PartitionOffsets]:
        """Partitions without a leader are left out: no broker could answer for them."""
        led = [
            TopicPartition(topic.name, each.partition)
            for topic in topics
            for each in topic.partitions
            if each.leader >= 0
        ]
        # Both at a time: one after the other, a leader that is silent would take all the time of the page.
        starts, ends = await together(
            self._list_offsets(led, each) for each in (EARLIEST_TIMESTAMP, LATEST_TIMESTAMP)
        )
        return offset_ranges(starts, ends)

    async def _list_offsets(self, partitions: Iterable[TopicPartition], timestamp: int) -> Offsets:
        """A call for each topic, all at once: one call for all would learn of new topics one after the other."""
        by_topic: dict[str, dict[TopicPartition, int]] = {}
        for partition in partitions:
            by_topic.setdefault(partition.topic, {})[partition] = timestamp
        answers = await together(self._admin.list_offsets(each) for each in by_topic.values())
        return {partition: found for answer in answers for partition, found in answer.items()}

    async def _latest_records(
        self, source: TopicPartition, offsets: PartitionOffsets
    ) -> RecordsView:
        if offsets.start is None or offsets.end is None:
            return RecordsView(
                source.partition, (), offsets.error or "The partition has no leader."
            )
        latest: deque[RecordRow] = deque(maxlen=LATEST_RECORDS)
        first = max(offsets.start, offsets.end - LATEST_RECORDS)
        try:
            async for batch in self._reader.read(
                source.topic, source.partition, first, offsets.end, columns=("headers",)
            ):
                latest.extend(record_rows(batch))
        except KafkaError as error:
            return RecordsView(source.partition, tuple(reversed(latest)), str(error))
        return RecordsView(source.partition, tuple(reversed(latest)))

    async def _ends(
        self,
        groups: Iterable[GroupDescription | KafkaError],
        committed: Iterable[Committed | KafkaError],
    ) -> Offsets:
        """Of every partition that is assigned or committed, unless it was deleted."""
        wanted = {
            partition
            for group in groups
            if not isinstance(group, KafkaError)
            for member in group.members
            for partition in member.assignment
        }
        wanted.update(*(each for each in committed if not isinstance(each, KafkaError)))
        topics = await self._admin.describe_topics({partition.topic for partition in wanted})
        existing = {
            TopicPartition(topic.name, each.partition)
            for topic in topics.values()
            if not isinstance(topic, KafkaError)
            for each in topic.partitions
            if each.leader >= 0
        }
        return await self._list_offsets(wanted & existing, LATEST_TIMESTAMP)


def _partition_to_show(
    topic: TopicDescription, partition: int | None, ranges: dict[TopicPartition, PartitionOffsets]
) -> TopicPartition:
    every = [TopicPartition(topic.name, each.partition) for each in topic.partitions]
    if partition is None:
        filled = (each for each in every if ranges.get(each, UNKNOWN_RANGE).record_count)
        return next(filled, every[0])
    chosen = TopicPartition(topic.name, partition)
    if chosen not in every:
        raise UnknownTopicOrPartition(
            f"{topic.name} has no partition {partition}: it has 0 to {len(every) - 1}."
        )
    return chosen


async def together(calls: Iterable[Coroutine[object, object, _Result]]) -> list[_Result]:
    """Returns the results of several calls that run at the same time, in order.

    The first that fails ends the others; its error is raised as it is, not as a group.
    """
    try:
        async with TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors
    return [task.result() for task in tasks]
