"""Finds out what the tasks of a stream thread are made from: the topics that each reads, and who writes these."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.clients import Admin
from millstream.errors import UnknownTopicOrPartition
from millstream.streams.application.application_environment import ApplicationEnvironment
from millstream.streams.application.group.classic.source_topics import SourceTopics
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.runtime.spec import TaskSpec
from millstream.streams.runtime.upstreams.progress import flow_of
from millstream.streams.topology.plan import SubTopologyPlan, plan_topology


class TaskSpecs:
    """Asks the cluster for the topics of one application."""

    def __init__(
        self, application: ApplicationEnvironment, sources: SourceTopics, admin: Admin
    ) -> None:
        self._application = application
        self._sources = sources
        self._admin = admin

    async def of(
        self,
        wanted: frozenset[StreamsTaskId],
        assigned: Mapping[StreamsTaskId, frozenset[str]],
    ) -> Mapping[StreamsTaskId, TaskSpec]:
        """Returns what the tasks are made from.

        Their topics are those that were `assigned` with them, or what their sources name.
        """
        application = self._application
        if wanted <= assigned.keys():
            return {
                task: application.spec(
                    task.sub_topology, self._sources.of_task(task.sub_topology, assigned[task])
                )
                for task in wanted
            }
        sources = {
            number: application.spec(number, None).sources
            for number in {task.sub_topology for task in wanted}
        }
        names = {topic for topics in sources.values() for topic in topics}
        described = (await self._admin.describe_topics(list(names))).raise_errors()
        counts = {name: len(described.result(name).partitions) for name in names}
        topics_of = {
            number: SubTopologyPlan(number, {name: counts[name] for name in topics}).topics_of_tasks
            for number, topics in sources.items()
        }
        unknown = [task for task in wanted if task.partition not in topics_of[task.sub_topology]]
        if unknown:  # the coordinator knows of new partitions before other brokers do
            raise UnknownTopicOrPartition(f"the inputs of task {unknown[0]} are not there yet")
        return {
            task: application.spec(task.sub_topology, topics_of[task.sub_topology][task.partition])
            for task in wanted
        }

    async def follow_upstreams(self) -> None:
        """Finds the tasks that write repartition topics, whoever has them."""
        application, admin = self._application, self._admin
        alignment = application.spec(0, None).alignment
        if not alignment.writers:
            return
        names = set(self._sources.external)
        if self._sources.has_patterns:
            names |= self._sources.matched(await admin.list_topics())
        described = (await admin.describe_topics(list(names))).raise_errors()
        counts = {name: len(described.result(name).partitions) for name in names}
        # A coordinator may have given them other counts than follow from those of the sources: Kafka's does where some are fixed.
        aligned = await admin.describe_topics(list(alignment.writers))
        counts |= {name: len(aligned.result(name).partitions) for name in aligned}
        plan = plan_topology(application.topology, application.config.application_id, counts)
        application.upstreams.follow(flow_of(plan, alignment))
