"""Waits until instances of an application have read all there is, of what they write for themselves, too."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from live_cases.cluster import Cluster
from live_cases.live import ApplicationFailed
from millstream.model import TopicPartition
from millstream.streams.application.kafka_streams import KafkaStreams

PATIENCE_S: Final = 60


class EndOfInput:
    """`sources`: the topics that the application reads. `begun_late`: those of them that are not read from their beginning."""

    def __init__(
        self,
        cluster: Cluster,
        application_id: str,
        sources: Collection[str],
        begun_late: Collection[str] = (),
    ) -> None:
        self._cluster, self._application = cluster, application_id
        self._sources, self._begun_late = sources, begun_late

    async def wait(self, instances: Sequence[KafkaStreams], patience_s: float = PATIENCE_S) -> None:
        """Raises ApplicationFailed, and AssertionError where it does not come to an end."""
        ends_s = time.monotonic() + patience_s
        while not await self._is_reached(instances):
            if time.monotonic() > ends_s:
                raise AssertionError(f"does not come to an end: {await self._shown(instances)}")
            await asyncio.sleep(0.01)

    async def _is_reached(self, instances: Sequence[KafkaStreams]) -> bool:
        for instance in instances:
            if instance.error is not None:
                raise ApplicationFailed(str(instance.error))
            if instance._global_thread is not None:
                await instance._global_thread.stores.catch_up()
        if any(instance.state != "RUNNING" for instance in instances):
            return False
        before = await self._ends()
        if before is None:
            return False
        committed = await self.committed()
        if any(committed.get(tp, 0) < end for tp, end in before.items()):
            return False
        if any(tp.topic in self._begun_late and tp not in committed for tp in before):
            return False
        return before == await self._ends()

    async def _ends(self) -> Mapping[TopicPartition, int] | None:
        """The ends of all that is read; None while a transaction is open, whose records are still to come."""
        names = set(await self._cluster.admin.list_topics(include_internal=False))
        found: dict[TopicPartition, int] = {}
        for topic in names.intersection(self._sources):
            stable = await self._cluster.reader.offsets(topic, -1)
            if stable != await self._cluster.uncommitted.offsets(topic, -1):
                return None
            found |= {TopicPartition(topic, number): end for number, end in stable.items()}
        return found

    async def committed(self) -> dict[TopicPartition, int]:
        group = self._application
        groups = await self._cluster.admin.list_consumer_group_offsets([group], require_stable=True)
        offsets = groups.result(group)
        return {tp: offsets.result(tp).offset for tp in offsets}

    async def _shown(self, instances: Sequence[KafkaStreams]) -> str:
        states = [instance.state for instance in instances]
        return f"{states}, ends {await self._ends()}, committed {await self.committed()}"
