"""Carries changes of share state from the group coordinator to the share coordinator, and the outcome back.

Owns the order: the group's record says first what is about to happen, so that a node that dies in between
leaves nothing forgotten.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, TypeVar

from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.long_work import LongWork
from millstream.broker.share.share_groups import ShareGroups
from millstream.coordinator.assignors.partition_assignor import Partitions
from millstream.coordinator.group.share.initialization import Initialization
from millstream.coordinator.group.share.offsets import Deletion
from millstream.coordinator.group.share.requests import (
    DeleteGroupState,
    PartitionsInitialized,
    PartitionsNotInitialized,
)
from millstream.coordinator.result import Caller
from millstream.coordinator.share.state import SharePartitionKey
from millstream.errors import KafkaError
from millstream.model import Uuid
from millstream.net.client.tasks import TaskGroup

_NO_START_OFFSET: Final = -1
_ASKED_AT_ONCE: Final = 400
"""They ask again together while the share coordinator is not ready, which takes some milliseconds."""

AnswerT = TypeVar("AnswerT")


class ShareGroupPersistence:
    """Changes of a share group that concern both coordinators."""

    def __init__(
        self, group_coordinator: GroupCoordination, share_groups: ShareGroups, long_work: LongWork
    ) -> None:
        self._group_coordinator = group_coordinator
        self._share_groups = share_groups
        self._long_work = long_work

    async def ask(
        self, group_id: str, request: object, expected: type[AnswerT], caller: Caller
    ) -> AnswerT:
        """Asks the group coordinator. Raises what the group coordinator refuses with."""
        return await self._group_coordinator.shards.ask(group_id, request, expected, caller)

    async def initialize(
        self, initialization: Initialization, caller: Caller
    ) -> dict[SharePartitionKey, KafkaError]:
        """Initialises share state.

        Returns the partitions whose state could not be initialised; the others can be assigned now.
        """
        persister = self._share_groups.persister
        group_id = initialization.group_id
        keys = list(_keys(group_id, initialization.partitions))
        errors = await self._for_each(
            keys,
            lambda key: persister.initialize(
                key,
                initialization.state_epoch,
                initialization.start_offsets.get((key.topic_id, key.partition), _NO_START_OFFSET),
            ),
        )
        self._forget(keys)
        done = _partitions(key for key in keys if key not in errors)
        failed = _partitions(errors)
        if done:
            await self.ask(group_id, PartitionsInitialized(group_id, done), type(None), caller)
        if failed:
            await self.ask(group_id, PartitionsNotInitialized(group_id, failed), type(None), caller)
        return errors

    async def delete(self, deletion: Deletion) -> dict[SharePartitionKey, KafkaError]:
        """Deletes share state. Returns the partitions whose state could not be deleted."""
        keys = list(_keys(deletion.group_id, deletion.partitions))
        errors = await self._for_each(keys, self._share_groups.persister.delete)
        self._forget(keys)
        return errors

    async def delete_group(self, group_id: str, caller: Caller) -> None:
        """Deletes all state of a share group before the group is deleted.

        Raises the error for which it may not be deleted.
        """
        deletion = await self.ask(group_id, DeleteGroupState(group_id), Deletion, caller)
        errors = await self.delete(deletion)
        for error in errors.values():
            raise error

    async def _for_each(
        self, keys: Sequence[SharePartitionKey], ask: Callable[[SharePartitionKey], Awaitable[None]]
    ) -> dict[SharePartitionKey, KafkaError]:
        """Many are under way together, so that their shards write together, but they do not begin together.

        The first is alone: it makes the internal topic where there is none yet.
        """
        errors: dict[SharePartitionKey, KafkaError] = {}
        room = asyncio.Semaphore(_ASKED_AT_ONCE)

        async def note_error(key: SharePartitionKey) -> None:
            try:
                await ask(key)
            except KafkaError as error:
                errors[key] = error
            finally:
                room.release()

        async with TaskGroup() as tasks:
            async for key in self._long_work.in_turns(keys):
                await room.acquire()
                asking = tasks.create_task(note_error(key))
                if key == keys[0]:
                    await asking
        return errors

    def _forget(self, keys: Iterable[SharePartitionKey]) -> None:
        """Forgets share partitions here, so that none goes on with its previous state."""
        for key in keys:
            self._share_groups.partitions.forget(key)


def _keys(group_id: str, partitions: Partitions) -> Iterable[SharePartitionKey]:
    return (
        SharePartitionKey(group_id, topic_id, partition)
        for topic_id, numbers in partitions.items()
        for partition in sorted(numbers)
    )


def _partitions(keys: Iterable[SharePartitionKey]) -> Partitions:
    numbers: dict[Uuid, set[int]] = {}
    for key in keys:
        numbers.setdefault(key.topic_id, set()).add(key.partition)
    return {topic_id: frozenset(each) for topic_id, each in numbers.items()}
