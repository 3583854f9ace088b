"""Looks at an application's group and topics: how far its tasks have come by what they have committed, and how far
there is something to read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from millstream.clients import OffsetAndMetadata
from millstream.clients.admin import Admin, OffsetSpec
from millstream.model import TopicPartition
from millstream.streams.runtime.committed import CommittedPosition
from millstream.streams.runtime.upstreams.progress import Look, TaskFlow, TaskKey, TaskProgress


async def look_at_cluster(
    admin: Admin,
    group_id: str,
    flow: TaskFlow,
    known: Callable[[], Mapping[TaskKey, TaskProgress]],
    *,
    is_read_committed: bool,
) -> Look:
    """Returns one look. `known` are tasks that the caller knows himself. Raises what the cluster answers."""
    inputs = {
        (number, partition): [TopicPartition(topic, partition) for topic in topics]
        for number in flow.looked_at
        for partition, topics in flow.tasks[number].items()
    }
    wanted = list(dict.fromkeys(tp for mine in inputs.values() for tp in mine))
    groups = await admin.list_consumer_group_offsets({group_id: wanted})
    found = groups.result(group_id)
    committed = {tp: found.result(tp) for tp in found}
    # A task that has found nothing to read since it was there the first time has committed nothing; its topic may begin at any offset.
    begins = await _offsets(
        admin,
        (tp for tp in wanted if tp not in committed),
        OffsetSpec.EARLIEST,
        is_read_committed=False,
    )
    tasks = {task: _progress(mine, committed, begins) for task, mine in inputs.items()}
    tasks |= known()
    # Of an aligned topic everything counts that is written: what one upstream task has committed may lie behind an open transaction of another.
    aligned = flow.alignment.writers.keys()
    readable = [tp for tp in wanted if tp.topic not in aligned]
    written = [tp for tp in wanted if tp.topic in aligned]
    latest = partial(_offsets, admin, at=OffsetSpec.LATEST)
    ends = {
        **await latest(readable, is_read_committed=is_read_committed),
        **await latest(written, is_read_committed=False),
    }
    return Look(tasks, ends)


async def _offsets(
    admin: Admin, partitions: Iterable[TopicPartition], at: int, *, is_read_committed: bool
) -> dict[TopicPartition, int]:
    """Returns those that are known."""
    wanted = dict.fromkeys(partitions, at)
    if not wanted:
        return {}
    found = await admin.list_offsets(wanted, read_committed=is_read_committed)
    return {tp: found.result(tp).offset for tp in wanted if tp not in found.errors()}


def _progress(
    inputs: Collection[TopicPartition],
    committed: Mapping[TopicPartition, OffsetAndMetadata],
    begins: Mapping[TopicPartition, int],
) -> TaskProgress:
    """An instance of Kafka Streams tells the largest timestamp of each partition only."""
    position = CommittedPosition.decode({tp: committed[tp] for tp in inputs if tp in committed})
    of_partitions = max(position.times.values(), default=-1)
    origin_time = position.origin_time if position.origin_time >= 0 else of_partitions
    first = {tp.topic: begins[tp] for tp in inputs if tp in begins}
    return TaskProgress({**first, **position.offsets}, origin_time)
