"""Commits a run of a task: outputs, changelogs and the new position become visible together.

Steps 5 and 6 of the order of effects in `tasks/active_task.py`. A commit that raises has an outcome that the
task's next start settles.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from millstream.clients import OffsetAndMetadata, Producer
from millstream.errors import MillstreamError
from millstream.model import TopicPartition
from millstream.streams.errors import StreamsError
from millstream.streams.handlers import OnError
from millstream.streams.kernel.task.output import TaskOutput
from millstream.streams.kernel.task.stream_task import StreamTask
from millstream.streams.runtime.committed import CommittedPosition
from millstream.streams.runtime.failures import told_by_causes
from millstream.streams.runtime.outputs import together, write
from millstream.streams.runtime.refusals import (
    RefusedRecord,
    is_refusal,
    outgoing,
    refused_records,
    without,
)
from millstream.streams.runtime.renaming import version_of
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.steps import Step


@dataclass(frozen=True, slots=True)
class WrittenOutput:
    """The output as it was written, and the offset after it: by changelog topic, and by partition of the
    topics whose readers follow the task.
    """

    output: TaskOutput
    logged: dict[str, int]
    followed: dict[TopicPartition, int]


class TaskCommits:
    """Commits one task with its producer."""

    def __init__(
        self, spec: TaskSpec, partition: int, environment: TaskEnvironment, producer: Producer
    ) -> None:
        self._spec = spec
        self._partition = partition
        self._environment = environment
        self._clients = environment.clients
        self._producer = producer
        self._owner = spec.name if spec.is_exact else None
        self._version = version_of(spec.topology)
        self._followed = spec.alignment.of(spec.sub_topology).followed

    async def commit(
        self, task: StreamTask, position: CommittedPosition, output: TaskOutput
    ) -> WrittenOutput:
        """Writes and commits. The production handler is asked about records that brokers refuse."""
        with told_by_causes():
            return await self._commit(task, position, output)

    async def _commit(
        self, task: StreamTask, position: CommittedPosition, output: TaskOutput
    ) -> WrittenOutput:
        written = await self.write(task, output)
        self._step(Step.PRODUCED)
        if self._spec.is_exact:
            group = self._clients.group_metadata(self._spec.application)
            offsets = self._encoded(position, self._owner)
            sending = self._producer.send_offsets_to_transaction(offsets, group)
            await self._clients.while_there(list(position.offsets), sending)
            self._step(Step.OFFSETS_SENT)
            await self._producer.commit_transaction()
        else:
            await self.commit_offsets(position)
        self._step(Step.COMMITTED)
        return written

    async def commit_offsets(self, position: CommittedPosition) -> None:
        """Commits the position alone, outside of a transaction."""
        await self._clients.commit_offsets(self._spec.application, self._encoded(position, None))

    def _encoded(
        self, position: CommittedPosition, owner: str | None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        by_now = self._clients.with_leader_epochs(position, self._partition, self._producer)
        return by_now.encode(self._partition, owner, self._version)

    async def write(self, task: StreamTask, output: TaskOutput) -> WrittenOutput:
        """Writes outputs and changelogs; with exactly once in a transaction, which stays open.

        Asks as `commit` does.
        """
        letter_topics: set[str] = set()
        while True:
            if self._spec.is_exact:
                await self._producer.begin_transaction()
            try:
                return await self._write(output)
            except MillstreamError as error:
                if not is_refusal(error):
                    raise
                if self._spec.is_exact:
                    await self._producer.abort_transaction()
                refused = await refused_records(self._producer, output, self._partition)
                if not refused:  # a changelog's, without which the state would be lost
                    raise
                _require_no_letters(refused, letter_topics)
                letters = await self._environment.in_kernel(
                    partial(_dead_letters, task, output, refused)
                )
                letter_topics.update(letters.sinks)
                output = together([without(output, refused), letters])

    async def _write(self, output: TaskOutput) -> WrittenOutput:
        """Writes, and finds out the ends that brokers have not told.

        Nobody else writes to this partition of a changelog.
        """
        written = await write(self._producer, output, self._partition, self._followed)
        unknown = [
            TopicPartition(t, self._partition) for t, at in written.logged.items() if at is None
        ]
        unknown += [tp for tp, at in written.followed.items() if at is None]
        ends = await self._clients.ends(unknown)
        return WrittenOutput(
            output,
            {
                topic: ends[TopicPartition(topic, self._partition)] if at is None else at
                for topic, at in written.logged.items()
            },
            {tp: ends[tp] if at is None else at for tp, at in written.followed.items()},
        )

    def _step(self, step: Step) -> None:
        self._environment.observe(step, self._spec.task_id(self._partition))


def _dead_letters(task: StreamTask, output: TaskOutput, refused: list[RefusedRecord]) -> TaskOutput:
    """Asks the application's handler about each record, and returns its dead letters.

    Raises StreamsError where the task must stop.
    """
    for each in refused:
        answer = task.failures.handle_production_failure(outgoing(output, each), each.error)
        assert answer is OnError.CONTINUE, "what may pass is not asked about"
    return task.prepare_commit().output


def _require_no_letters(refused: list[RefusedRecord], letter_topics: set[str]) -> None:
    """Raises StreamsError for a refused dead letter: that of a dead letter would be refused
    for the same reason, and so on.
    """
    for each in refused:
        if each.topic in letter_topics:
            raise StreamsError(
                f"topic {each.topic} refused a dead letter of a record that was refused: {each.error}; give it room for the "
                "records that it is to hold"
            ) from each.error
