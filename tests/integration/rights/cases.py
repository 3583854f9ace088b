"""A run of one kind of application by a user of its own, with names of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from millstream.clients import Admin, NewTopic, Producer
from millstream.clients.admin import ResourceType
from millstream.errors import (
    GroupAuthorizationFailed,
    KafkaError,
    TopicAuthorizationFailed,
    TransactionalIdAuthorizationFailed,
)
from tests.compat.permissions.users import Allowed, KafkaWithUsers
from tests.support.rights import CLUSTER, Right

REFUSALS: Final[Mapping[ResourceType, type[KafkaError]]] = {
    ResourceType.TOPIC: TopicAuthorizationFailed,
    ResourceType.GROUP: GroupAuthorizationFailed,
    ResourceType.TRANSACTIONAL_ID: TransactionalIdAuthorizationFailed,
}
_NUMBERS = count()


@dataclass(frozen=True)
class Case:
    """`prefix` stands before each name of the guide; `settings` are those of a client whose user has the rights that were given."""

    kafka: KafkaWithUsers
    prefix: str
    settings: Mapping[str, Any]

    @classmethod
    async def of(cls, kafka: KafkaWithUsers, rights: Iterable[Right]) -> Case:
        prefix = f"c{next(_NUMBERS)}-"
        allowed = [_allowed(prefix, each) for each in rights]
        return cls(kafka, prefix, await asyncio.to_thread(kafka.user, *allowed))

    async def take_away(self, right: Right) -> None:
        await self.kafka.take_away(self.settings, _allowed(self.prefix, right))

    async def give(self, right: Right) -> None:
        await self.kafka.allow(self.settings["sasl_username"], (_allowed(self.prefix, right),))

    async def put(self, of_guide: str, *values: bytes) -> None:
        async with Producer(**self.kafka.admin_settings) as producer:
            for value in values:
                await producer.send(self.name(of_guide), value)

    def name(self, of_guide: str) -> str:
        return self.prefix + of_guide

    async def create(self, *of_guide: str, records: int = 0) -> None:
        """Topics of one partition, with some records each."""
        wanted = [NewTopic(self.name(each), 1) for each in of_guide]
        async with Admin(**self.kafka.admin_settings) as admin:
            (await admin.create_topics(wanted)).raise_errors()
        if records:
            async with Producer(**self.kafka.admin_settings) as producer:
                for topic in wanted:
                    for number in range(records):
                        await producer.send(topic.name, b"%d" % number)


def _allowed(prefix: str, right: Right) -> Allowed:
    name = right.name if right.name == CLUSTER else prefix + right.name
    return Allowed(right.resource_type, name, right.operation, right.is_prefix)


Run = Callable[[Case], Awaitable[None]]
"""Creates what it needs as the administrator, works as the user, and raises where that does not do all of it."""


def is_refusal_of(error: BaseException, right: Right, case: Case) -> bool:
    """Whether an error, or what caused it, says that the user lacks this right."""
    cause: BaseException | None = error
    while cause is not None:
        text = str(cause)
        if isinstance(cause, REFUSALS[right.resource_type]) and case.name(right.name) in text:
            return "its user needs" in text and right.operation.name in text
        cause = cause.__cause__
    return False
