"""What clients are told of topics, configurations and tokens that they may not use: each API with a rule, without, and about what is not there."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from itertools import count
from typing import Any

import pytest

from millstream.broker.handlers import (
    alter_configs,
    create_delegation_token,
    create_partitions,
    create_topics,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_delegation_token,
    describe_topic_partitions,
    incremental_alter_configs,
    metadata,
)
from millstream.broker.long_work import TURN_S, LongWork
from millstream.broker.requests.handler_services import bound
from millstream.errors import (
    ClusterAuthorizationFailed,
    DelegationTokenAuthorizationFailed,
    GroupAuthorizationFailed,
    InvalidPrincipalType,
    InvalidRequest,
    TopicAuthorizationFailed,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from millstream.metadata.stored_security import AccessControlEntry
from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.generated.alter_configs import AlterConfigsRequest
from millstream.protocol.generated.alter_configs import (
    AlterConfigsResource as OldResource,
)
from millstream.protocol.generated.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)
from millstream.protocol.generated.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from millstream.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest
from millstream.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicState
from millstream.protocol.generated.describe_cluster import DescribeClusterRequest
from millstream.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from millstream.protocol.generated.describe_delegation_token import DescribeDelegationTokenRequest
from millstream.protocol.generated.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from millstream.protocol.generated.incremental_alter_configs import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from millstream.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic
from millstream.security.acl import CLUSTER_NAME, Operation, ResourceType
from millstream.security.principal import KafkaPrincipal
from tests.support.access_rules import ALICE, access, rule
from tests.support.handler_services import request_context

TOPIC, GROUP, CLUSTER, USER = (
    ResourceType.TOPIC,
    ResourceType.GROUP,
    ResourceType.CLUSTER,
    ResourceType.USER,
)
HIDDEN, UNKNOWN = TopicAuthorizationFailed.code, UnknownTopicOrPartition.code
ABSENT_ID = Uuid(b"absent".ljust(16))


@pytest.fixture
def world(node: Any) -> Any:
    """A node with two topics, whose client is alice."""
    node.create("mine")
    node.create("theirs")
    node.principal = ALICE
    node.give(access=access())
    return node


def allow(world: Any, *rules: AccessControlEntry) -> None:
    world.give(access=access(*rules))


def on(name: str, operation: Operation, **more: Any) -> AccessControlEntry:
    return rule(operation, TOPIC, name, **more)


def on_cluster(operation: Operation) -> AccessControlEntry:
    return rule(operation, CLUSTER, CLUSTER_NAME)


def id_of(world: Any, name: str) -> Uuid:
    return world.live.image.topics.by_name[name].topic_id


def names(*listed: str) -> list[MetadataRequestTopic]:
    return [MetadataRequestTopic(name=name) for name in listed]


class TestMetadata:
    def told(self, world: Any, topics: list[MetadataRequestTopic] | None, **more: Any) -> Any:
        request = MetadataRequest(topics=topics, **({"allow_auto_topic_creation": False} | more))
        return world.answer(metadata.handle, request, 13)

    def test_what_may_not_be_described_is_not_looked_up(self, world: Any) -> None:
        allow(world, on("mine", Operation.DESCRIBE))
        answer = self.told(world, names("mine", "theirs", "absent"))
        told = {t.name: (t.error_code, t.topic_id == ZERO_UUID) for t in answer.topics}
        assert told == {"mine": (0, False), "theirs": (HIDDEN, True), "absent": (HIDDEN, True)}
        by_id = [
            MetadataRequestTopic(name=None, topic_id=each)
            for each in (id_of(world, "mine"), id_of(world, "theirs"), ABSENT_ID)
        ]
        answer = self.told(world, by_id)
        assert [(t.error_code, t.name) for t in answer.topics] == [
            (0, "mine"),
            (HIDDEN, None),
            (UnknownTopicId.code, None),
        ]

    def test_of_all_topics_only_those_are_told(self, world: Any) -> None:
        assert self.told(world, None).topics == []
        allow(world, on("mi", Operation.READ, prefixed=True))
        assert [t.name for t in self.told(world, None).topics] == ["mine"]
        allow(world, on("*", Operation.READ), on("theirs", Operation.DESCRIBE, deny=True))
        assert [t.name for t in self.told(world, None).topics] == ["mine"]

    def test_all_topics_take_turns(self, world: Any) -> None:
        """What is asked about, described and told of operations each give way: a clock that jumps wants a round for each topic."""
        for number in range(20):
            world.create(f"many-{number}")
        allow(world, on("many", Operation.READ, prefixed=True))
        world.give(long_work=LongWork(partial(next, count(step=2 * TURN_S))))
        request = MetadataRequest(topics=None, include_topic_authorized_operations=True)
        context = request_context(10, principal=ALICE)

        async def watched() -> tuple[Any, int]:
            answering = asyncio.ensure_future(
                bound(metadata.handle, world.services)(request, context)
            )
            rounds = 0
            while not answering.done():
                await asyncio.sleep(0)
                rounds += 1
            return answering.result(), rounds

        answer, rounds = asyncio.run(watched())
        assert {t.topic_authorized_operations for t in answer.topics} == {
            1 << Operation.READ | 1 << Operation.DESCRIBE
        }
        assert len(answer.topics) == 20
        assert rounds >= 2 * 22, "all are asked about, and all are described"

    def test_what_may_not_be_created_is_refused_and_not_created(self, world: Any) -> None:
        allow(world, on("new", Operation.DESCRIBE), on("newer", Operation.DESCRIBE))
        created = self.created(world, "new", "hidden")
        assert created == ([("new", HIDDEN), ("hidden", HIDDEN)], [])
        allow(world, on("new", Operation.CREATE), on("new", Operation.DESCRIBE))
        assert self.created(world, "new") == ([("new", UNKNOWN)], ["new"])
        allow(world, on_cluster(Operation.CREATE), on("newer", Operation.DESCRIBE))
        assert self.created(world, "newer") == ([("newer", UNKNOWN)], ["newer"])

    def created(self, world: Any, *wanted: str) -> tuple[list[tuple[str, int]], list[str]]:
        world.requests.clear()
        answer = self.told(world, names(*wanted), allow_auto_topic_creation=True)
        world.catch_up()
        made = [topic.name for request in world.requests for topic in request.topics]
        return [(t.name, t.error_code) for t in answer.topics], made

    def test_operations_are_those_that_are_allowed(self, world: Any) -> None:
        allow(world, on("mine", Operation.READ))
        request = MetadataRequest(
            topics=names("mine"), include_cluster_authorized_operations=True,
            include_topic_authorized_operations=True,
        )  # fmt: skip
        answer = world.answer(metadata.handle, request, 10)
        assert answer.cluster_authorized_operations == 0
        (topic,) = answer.topics
        assert topic.topic_authorized_operations == 1 << Operation.READ | 1 << Operation.DESCRIBE

    def test_each_name_is_asked_for_once(
        self, world: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO, "kafka.authorizer.logger")
        self.told(world, names("theirs", "theirs", "new"), allow_auto_topic_creation=True)
        assert sorted(r.audit["resource"] for r in caplog.records) == ["new", "theirs"]


def test_described_partitions_of_hidden_topics(world: Any) -> None:
    def told(*topics: str) -> list[tuple[str, int]]:
        request = DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name) for name in topics], response_partition_limit=10
        )
        answer = world.answer(describe_topic_partitions.handle, request, 0)
        return [(t.name, t.error_code) for t in answer.topics]

    assert told("mine", "absent") == [("absent", HIDDEN), ("mine", HIDDEN)]
    assert told() == []
    allow(world, on("mine", Operation.ALTER))
    assert told("mine", "theirs") == [("mine", 0), ("theirs", HIDDEN)]
    assert told() == [("mine", 0)]


def test_the_cluster_is_described_to_all_and_its_operations_to_some(world: Any) -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    assert world.answer(describe_cluster.handle, request, 2).cluster_authorized_operations == 0
    allow(world, on_cluster(Operation.DESCRIBE))
    told = world.answer(describe_cluster.handle, request, 2)
    assert told.cluster_authorized_operations == 1 << Operation.DESCRIBE


def test_created_topics(world: Any) -> None:
    def create(*topics: str) -> dict[str, tuple[int, int, int]]:
        request = CreateTopicsRequest(
            topics=[CreatableTopic(name, 1, 1) for name in topics], timeout_ms=1
        )
        answer = world.answer(create_topics.handle, request, 7)
        return {
            t.name: (t.error_code, t.topic_config_error_code, t.num_partitions)
            for t in answer.topics
        }

    assert create("a", "b") == {"a": (HIDDEN, 0, -1), "b": (HIDDEN, 0, -1)}
    allow(world, on("a", Operation.CREATE))
    assert create("a", "b") == {"a": (0, HIDDEN, -1), "b": (HIDDEN, 0, -1)}
    allow(world, on_cluster(Operation.CREATE), on("c", Operation.ALTER_CONFIGS))
    assert create("b", "c") == {"b": (0, HIDDEN, -1), "c": (0, 0, 1)}
    assert create("d", "d")["d"][0] == InvalidRequest.code


def test_topics_that_grow(world: Any) -> None:
    def grow(*topics: str) -> dict[str, int]:
        request = CreatePartitionsRequest(
            topics=[CreatePartitionsTopic(name, 2, None) for name in topics], timeout_ms=1
        )
        answer = world.answer(create_partitions.handle, request, 3)
        return {t.name: t.error_code for t in answer.results}

    allow(world, on("mine", Operation.DESCRIBE))
    assert grow("mine", "absent") == {"mine": HIDDEN, "absent": HIDDEN}
    allow(world, on("mine", Operation.ALTER), on("absent", Operation.ALTER))
    assert grow("mine", "theirs", "absent") == {"mine": 0, "theirs": HIDDEN, "absent": UNKNOWN}


def test_deleted_topics(world: Any) -> None:
    def delete(*topics: DeleteTopicState) -> list[tuple[str | None, int]]:
        request = DeleteTopicsRequest(topics=list(topics), timeout_ms=1)
        answer = world.answer(delete_topics.handle, request, 6)
        return [(t.name, t.error_code) for t in answer.responses]

    def named(name: str) -> DeleteTopicState:
        return DeleteTopicState(name=name)

    mine = DeleteTopicState(name=None, topic_id=id_of(world, "mine"))
    absent = DeleteTopicState(name=None, topic_id=ABSENT_ID)
    assert sorted(delete(named("mine"), named("absent"))) == [("absent", HIDDEN), ("mine", HIDDEN)]
    assert delete(mine, absent) == [(None, UnknownTopicId.code), (None, HIDDEN)]
    assert delete(absent) == [(None, UnknownTopicId.code)]
    allow(world, on("mine", Operation.DESCRIBE), on("absent", Operation.DESCRIBE))
    assert sorted(delete(named("mine"), named("absent"))) == [("absent", UNKNOWN), ("mine", HIDDEN)]
    assert delete(mine) == [("mine", HIDDEN)]
    allow(world, on("mine", Operation.DELETE))
    assert delete(mine) == [("mine", 0)]
    allow(world, on_cluster(Operation.DELETE))
    assert delete(named("theirs")) == [("theirs", 0)]


CONFIGS = [(2, "mine"), (2, "absent"), (4, "1"), (32, "g")]


@pytest.mark.parametrize(
    ("rules", "codes"),
    [
        ((), [HIDDEN, HIDDEN, ClusterAuthorizationFailed.code, GroupAuthorizationFailed.code]),
        (
            (on("mine", Operation.ALTER_CONFIGS), on("absent", Operation.ALTER_CONFIGS)),
            [0, UNKNOWN, ClusterAuthorizationFailed.code, GroupAuthorizationFailed.code],
        ),
        (
            (on_cluster(Operation.ALTER_CONFIGS), rule(Operation.ALTER_CONFIGS, GROUP, "g")),
            [HIDDEN, HIDDEN, 0, 0],
        ),
    ],
)
def test_configurations(
    world: Any, rules: tuple[AccessControlEntry, ...], codes: list[int]
) -> None:
    """Altering implies describing."""
    allow(world, *rules)
    described = world.answer(
        describe_configs.handle,
        DescribeConfigsRequest(resources=[DescribeConfigsResource(*each) for each in CONFIGS]),
        4,
    )
    assert [r.error_code for r in described.results] == codes
    altered = world.answer(
        incremental_alter_configs.handle,
        IncrementalAlterConfigsRequest(
            resources=[AlterConfigsResource(*each) for each in CONFIGS], validate_only=True
        ),
        1,
    )
    assert [r.error_code for r in altered.responses] == codes
    old = world.answer(
        alter_configs.handle,
        AlterConfigsRequest(resources=[OldResource(*each) for each in CONFIGS], validate_only=True),
        2,
    )
    assert sorted(r.error_code for r in old.responses) == sorted(codes)


def test_loggers_are_the_brokers_own(world: Any) -> None:
    logger = AlterConfigsResource(8, "1")
    request = IncrementalAlterConfigsRequest(resources=[logger], validate_only=True)

    def code() -> int:
        (answer,) = world.answer(incremental_alter_configs.handle, request, 1).responses
        return answer.error_code

    assert code() == ClusterAuthorizationFailed.code
    allow(world, on_cluster(Operation.ALTER_CONFIGS))
    assert code() == 0


class TestTokens:
    @pytest.fixture
    def world(self, make_node: type) -> Any:
        node: Any = make_node(delegation_token_secret_key="key")
        node.principal = ALICE
        node.give(access=access())
        return node

    def create(self, world: Any, owner: str | None = None, renewer: str = "User") -> Any:
        request = CreateDelegationTokenRequest(
            owner_principal_type="User" if owner else None,
            owner_principal_name=owner,
            renewers=[CreatableRenewers(renewer, "carol")],
            max_lifetime_ms=-1,
        )
        return world.answer(create_delegation_token.handle, request, 3)

    def test_one_for_somebody_else_needs_leave(self, world: Any) -> None:
        """Before it is looked who may renew it."""
        refused = DelegationTokenAuthorizationFailed.code
        assert self.create(world).error_code == 0
        assert self.create(world, "alice").error_code == 0
        assert self.create(world, "bob").error_code == refused
        assert self.create(world, "bob", "Group").error_code == refused
        allow(world, rule(Operation.CREATE_TOKENS, USER, "User:bob"))
        assert self.create(world, "bob").error_code == 0
        assert self.create(world, "bob", "Group").error_code == InvalidPrincipalType.code

    def test_those_of_others_are_told_to_who_may_describe_them(self, world: Any) -> None:
        world.principal = KafkaPrincipal("User", "bob")
        token = self.create(world)
        world.principal = ALICE

        def told() -> list[str]:
            request = DescribeDelegationTokenRequest(owners=None)
            answer = world.answer(describe_delegation_token.handle, request, 3)
            return [each.token_id for each in answer.tokens]

        assert told() == []
        allow(world, rule(Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.token_id))
        assert told() == [token.token_id]
        allow(world, rule(Operation.DESCRIBE_TOKENS, USER, "User:bob"))
        assert told() == [token.token_id]

    def test_who_came_with_a_token_gets_no_other(self, world: Any) -> None:
        world.principal = KafkaPrincipal("User", "alice", token_authenticated=True)
        assert self.create(world).error_code == 64
