"""The plan of an application over the topics that the cluster has now: made at its start, and anew while it runs."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping, Sequence

from millstream.clients.admin import Admin, NewTopic
from millstream.errors import TopicAlreadyExists, UnknownTopicOrPartition
from millstream.runtime import Clock
from millstream.spark.kafka_settings import KafkaSettings
from millstream.streams.runtime.renaming import require_same_names
from millstream.streams.runtime.reset import internal_topics, pause_topic
from millstream.streams.topology.plan import (
    SubTopologyPlan,
    TopologyPlan,
    plan_topology,
)
from millstream.streams.topology.topology import Topology

_LOGGER = logging.getLogger(__name__)


class CurrentPlan:
    """Several threads may ask; one looks at the cluster. Internal topics that are missing are created with each look.

    Looking raises ConfigError where an internal topic has become too small, TopologyError,
    and what the cluster answers.
    """

    def __init__(
        self,
        topology: Topology,
        application_id: str,
        kafka: KafkaSettings,
        clock: Clock,
        interval_ms: int,
    ) -> None:
        self._topology = topology
        self._application_id = application_id
        self._kafka = kafka
        self._clock = clock
        self._sources = {
            topic
            for group in topology.sub_topologies
            for topic in topology.topics_of(group, application_id).sources
        }
        self.interval_ms = interval_ms
        self._lock = threading.Lock()
        self._looked_ms = clock.now().monotonic_ms
        self.last = asyncio.run(self._look())
        """As it was at the last look."""

    def of(self, sub_topology: int, *, at_once: bool = False) -> SubTopologyPlan:
        """Returns the plan of a sub-topology.

        Looks again where the last look is older than the interval, or `at_once`.
        """
        plan = self.looked_at(0 if at_once else self.interval_ms)
        return next(each for each in plan.sub_topologies if each.id == sub_topology)

    def looked_at(self, age_ms: int = 0) -> TopologyPlan:
        """Returns the plan as it is now, or was at a look that is younger."""
        with self._lock:
            if self._clock.now().monotonic_ms - self._looked_ms >= age_ms:
                self.last = asyncio.run(self._look())
                self._looked_ms = self._clock.now().monotonic_ms
            return self.last

    async def _look(self) -> TopologyPlan:
        async with Admin(**self._kafka.of_client()) as admin:
            listed = await admin.list_topics(include_internal=True)
            # Those that the user may not see are not listed: asked for by name they are refused, else they do not exist.
            found = await admin.describe_topics({*listed, *self._sources})
            for error in found.errors().values():
                if not isinstance(error, UnknownTopicOrPartition):
                    raise error
            topics = {name: found.result(name) for name in found.keys() - found.errors().keys()}
            partitions = {name: len(topic.partitions) for name, topic in topics.items()}
            hidden = [name for name, topic in topics.items() if topic.is_internal]
            hidden.append(pause_topic(self._application_id))
            plan = plan_topology(self._topology, self._application_id, partitions, hidden)
            await self._create_internal_topics(admin, plan, partitions)
        return plan

    async def _create_internal_topics(
        self, admin: Admin, plan: TopologyPlan, existing: Mapping[str, int]
    ) -> None:
        """Creates what is missing. Raises ConfigError where it is missing because generated names have shifted."""
        missing = plan.missing_topics(existing)
        if not missing:
            return
        groups = [each.group_id for each in await admin.list_groups()]
        own = internal_topics(self._application_id, existing, groups)
        require_same_names(
            self._application_id, [topic.name for topic in plan.internal_topics], own
        )
        _LOGGER.info("creating internal topics %s", ", ".join(topic.name for topic in missing))
        await create(
            admin,
            [NewTopic(each.name, each.partitions, configs=dict(each.settings)) for each in missing],
        )


async def create(admin: Admin, topics: Sequence[NewTopic]) -> None:
    """Creates topics.

    One that exists already is no error: a broker hears later than its controller, and there may be two drivers.
    """
    for error in (await admin.create_topics(topics)).errors().values():
        if not isinstance(error, TopicAlreadyExists):
            raise error
