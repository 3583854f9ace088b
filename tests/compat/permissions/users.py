"""Apache Kafka, or a broker of ours, with users who log in, each of whom may do what a test allows and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from millstream.clients import Admin, NewTopic, Producer
from millstream.clients.admin import AclBinding, AclFilter, Operation, PatternType, ResourceType
from millstream.testing.broker import Broker
from tests.oracle.clients.kafka_cluster import KafkaCluster
from tests.patience import eventually

_ADMIN: Final = "admin"
_USERS_MAX: Final = 120
_PASSWORD: Final = "sesame"  # that of every user
_LOGIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@dataclass(frozen=True)
class Allowed:
    """One permission: what a user may do with which resource, or with those whose names begin so."""

    resource: ResourceType
    name: str
    operation: Operation
    is_prefix: bool = False

    def rule(self, user: str) -> AclBinding:
        return AclBinding(
            resource_type=self.resource,
            resource_name=self.name,
            pattern_type=PatternType.PREFIXED if self.is_prefix else PatternType.LITERAL,
            principal=f"User:{user}",
            operation=self.operation,
        )


def describe_topic(name: str) -> Allowed:
    return Allowed(ResourceType.TOPIC, name, Operation.DESCRIBE)


def read_topic(name: str) -> Allowed:
    return Allowed(ResourceType.TOPIC, name, Operation.READ)


def write_topic(name: str) -> Allowed:
    return Allowed(ResourceType.TOPIC, name, Operation.WRITE)


def all_topics_with(prefix: str, operation: Operation = Operation.ALL) -> Allowed:
    return Allowed(ResourceType.TOPIC, prefix, operation, is_prefix=True)


def read_group(name: str) -> Allowed:
    return Allowed(ResourceType.GROUP, name, Operation.READ)


def read_groups(prefix: str) -> Allowed:
    return Allowed(ResourceType.GROUP, prefix, Operation.READ, is_prefix=True)


def write_transactions(prefix: str) -> Allowed:
    return Allowed(ResourceType.TRANSACTIONAL_ID, prefix, Operation.WRITE, is_prefix=True)


@dataclass
class KafkaWithUsers:
    bootstrap_servers: str
    _users: Iterator[int] = field(default_factory=count)
    _topics: Iterator[int] = field(default_factory=count)

    @property
    def admin_settings(self) -> dict[str, Any]:
        """Of a client that may do everything."""
        return self._settings(_ADMIN)

    def user(self, *allowed: Allowed) -> dict[str, Any]:
        """The settings of a client whose user is new and may do this."""
        number = next(self._users)
        assert number < _USERS_MAX, "Kafka was started with fewer users: raise _USERS_MAX"
        asyncio.run(self.allow(f"user{number}", allowed))
        return self._settings(f"user{number}")

    async def take_away(self, settings: Mapping[str, Any], taken: Allowed) -> None:
        """Has the user of these settings lack a permission from now on. Returns when the broker knows."""
        rule = taken.rule(settings["sasl_username"])
        wanted = AclFilter(
            resource_type=rule.resource_type,
            resource_name=rule.resource_name,
            pattern_type=rule.pattern_type,
            principal=rule.principal,
            operation=rule.operation,
        )
        async with Admin(**self.admin_settings) as admin:
            (await admin.delete_acls([wanted])).raise_errors()

            async def is_gone() -> bool:
                return not await admin.describe_acls(wanted)

            await eventually(is_gone)

    def new_topic(self, records: int = 0) -> str:
        """A topic of one partition."""
        name = f"topic{next(self._topics)}x"
        asyncio.run(self._create(name, records))
        return name

    def _settings(self, user: str) -> dict[str, Any]:
        return {
            "bootstrap_servers": self.bootstrap_servers,
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "sasl_username": user,
            "sasl_password": _PASSWORD,
        }

    async def allow(self, user: str, allowed: tuple[Allowed, ...]) -> None:
        """Returns when the broker knows."""
        principal = f"User:{user}"
        rules = {each.rule(user) for each in allowed}
        async with Admin(**self.admin_settings) as admin:
            (await admin.create_acls(rules)).raise_errors()

            async def are_known() -> bool:
                return set(await admin.describe_acls(AclFilter(principal=principal))) >= rules

            await eventually(are_known)

    async def _create(self, name: str, records: int) -> None:
        async with Admin(**self.admin_settings) as admin:
            (await admin.create_topics([NewTopic(name, 1)])).raise_errors()
        async with Producer(**self.admin_settings) as producer:
            for number in range(records):
                await producer.send(name, b"%d" % number)


@contextmanager
def kafka_with_users(more: Mapping[str, str] | None = None) -> Iterator[KafkaWithUsers]:
    with KafkaCluster(1, {**_settings(), **(more or {})}) as kafka:
        yield KafkaWithUsers(kafka.bootstrap_servers)


@contextmanager
def ours_with_users(more: Mapping[str, str] | None = None) -> Iterator[KafkaWithUsers]:
    access = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "group.initial.rebalance.delay.ms": "0",
    }
    # In a process of its own: the one of the tests has limits and patches that are not meant for it.
    with Broker(in_process=False, settings={**_settings(), **access, **(more or {})}) as broker:
        yield KafkaWithUsers(broker.bootstrap_servers)


def _settings() -> dict[str, str]:
    users = (_ADMIN, *(f"user{number}" for number in range(_USERS_MAX)))
    passwords = " ".join(f'user_{user}="{_PASSWORD}"' for user in users)
    return {
        "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.plaintext.plain.sasl.jaas.config": (
            f'{_LOGIN} username="{_ADMIN}" password="{_PASSWORD}" {passwords};'
        ),
        "super.users": f"User:{_ADMIN};User:ANONYMOUS",  # the controller's listener has no login
    }
