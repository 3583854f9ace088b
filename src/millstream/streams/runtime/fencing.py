"""Fences the attempts of a task that ran under another name: an older version of the application may have called it so.

A task writes its name beside the offsets that it commits. Its transactional id follows from the name, so whoever takes
over an input partition knows whom to fence, whatever the topology was then.
"""

from __future__ import annotations

from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.task_names import transactional_id


async def fence_former_owners(
    spec: TaskSpec, partition: int, environment: TaskEnvironment
) -> tuple[str, ...]:
    """Returns the transactional ids that it has fenced. What they left open is aborted."""
    names = await environment.clients.owners(spec.application, spec.sources, partition)
    former = tuple(
        transactional_id(spec.application, name, partition) for name in sorted(names - {spec.name})
    )
    for each in former:
        producer = environment.clients.make_producer(each)
        try:
            await producer.init_transactions()
        finally:
            await producer.close(timeout_ms=0)
    return former
