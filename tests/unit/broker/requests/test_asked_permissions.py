"""Every permission that an API declares is asked for, and no other: an API that asks nothing fails here.

Requests go to the real handlers. Whatever lies behind them takes anything and answers with nothing: only questions are looked at.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.fetch.fetch_sessions import FetchSessions
from millstream.broker.long_work import LongWork
from millstream.broker.metrics.node_metrics import NodeMetrics
from millstream.broker.produce.ordered_appends import OrderedAppends
from millstream.broker.requests.access import Access
from millstream.broker.requests.dispatch import Dispatcher
from millstream.broker.requests.purgatory import Purgatory
from millstream.broker.requests.registry import BROKER_HANDLERS, CONTROLLER_HANDLERS, HANDLERS
from millstream.broker.storage.durability import Durability
from millstream.coordinator.group.streams.heartbeat import StreamsHeartbeat
from millstream.metadata.broker_registration import SecurityProtocol
from millstream.metadata.image import MetadataImage
from millstream.net.server.client_connection import ClientConnection
from millstream.protocol.api import ApiKey, request_class, response_class
from millstream.protocol.frames import encode_request
from millstream.protocol.generated.describe_transactions import TopicData, TransactionState
from millstream.protocol.generated.streams_group_heartbeat import (
    StreamsGroupHeartbeatResponse,
    Subtopology,
    Topology,
)
from millstream.records.batch import TRANSACTIONAL_BIT
from millstream.runtime.system import SystemClock
from millstream.security.acl import Operation, ResourceType
from millstream.security.principal import KafkaPrincipal
from tests.filled_requests import filled_request
from tests.support.access_rules import ScriptedAuthorizer
from tests.support.handler_services import (
    GivenMetadata,
    GivenQuorum,
    controller_services,
    handler_services,
)

Pair = tuple[Operation, ResourceType]
CLIENT: Final = ClientConnection(
    1, "10.0.0.9", 4711, "SASL_PLAINTEXT", KafkaPrincipal("User", "alice"), SecurityProtocol.SASL_PLAINTEXT
)  # fmt: skip


def declared() -> dict[ApiKey, set[Pair]]:
    return {
        key: {(each.operation, each.resource_type) for each in handler.api.permissions}
        for key, handler in HANDLERS.items()
    }


class Anything:
    """Takes whatever it is asked, at once or awaited, and has nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *_given: object, **_named: object) -> Any:
        return Anything()

    def __await__(self) -> Any:
        yield from ()
        return Anything()

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __bool__(self) -> bool:
        return False


class Coordinators(Anything):
    """Groups, transactions and shares: answers of the kind that is expected, with a topic in them where one may be hidden."""

    long_work = LongWork(lambda: 0.0)

    @property
    def shards(self) -> Coordinators:
        return self

    async def ask(self, _key: str, _request: object, expected: type, *_rest: object) -> Any:
        if expected is TransactionState:
            return TransactionState(topics=[TopicData("known", [0])])
        if expected is StreamsHeartbeat:
            return StreamsHeartbeat(StreamsGroupHeartbeatResponse(), {"missing": Anything()})
        return with_topics(expected)

    async def ask_all(self, _request: object, expected: type, _caller: object) -> Any:
        return [with_topics(expected)], None


def with_topics(expected: type) -> Any:
    """A response with one of everything."""
    try:
        return filled_request(expected, 0, "group")
    except TypeError:
        return Anything()


class AutoCreation(Anything):
    is_enabled = True


class Controller(GivenQuorum):
    async def ask(self, api: Any, *_rest: object) -> Any:
        return response_class(api.key)()

    async def change_voters(self, _change: object) -> None: ...


def services(authorizer: ScriptedAuthorizer) -> dict[str, Any]:
    config = broker_config(
        {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "delegation.token.secret.key": "key",
        }
    )
    coordinators = Coordinators()
    clock = SystemClock()
    purgatory = Purgatory(clock)
    anything = dict.fromkeys(
        ("client_telemetry", "disk_pool", "end_offsets", "file_system", "log_directories", "partitions", "patterns",
         "producer_ids", "replica_moves", "share_group_state", "streams_internal_topics", "transaction_markers", "throttles",
         "enveloped_requests", "quorum_requests"),
        Anything(),
    )  # fmt: skip
    return anything | {
        "access": Access(authorizer),
        "auto_topic_creation": AutoCreation(),
        "clock": clock,
        "config": DynamicConfig(config),
        "controller": Controller(1),
        "durability": Durability(Anything(), purgatory, lambda: "never"),
        "fetch_sessions": FetchSessions(Anything(), purgatory, 1),
        "group_coordinator": coordinators,
        "identity": Anything(),
        "long_work": LongWork(lambda: 0.0),
        "metadata": GivenMetadata(
            MetadataImage(features={"group.version": 1, "streams.version": 1, "share.version": 1})
        ),
        "metrics": NodeMetrics(lambda: 0),
        "ordered_appends": OrderedAppends(Anything()),
        "purgatory": purgatory,
        "share_groups": coordinators,
        "transaction_coordinator": coordinators,
    }


def ask(key: ApiKey, version: int, request: Any, authorizer: ScriptedAuthorizer) -> None:
    given = services(authorizer)
    if key in BROKER_HANDLERS:
        names = handler_services().__dataclass_fields__
        made = handler_services(**{name: value for name, value in given.items() if name in names})
        dispatcher = Dispatcher(made, BROKER_HANDLERS)
    else:
        names = controller_services().__dataclass_fields__
        of_controller = controller_services(
            **{name: value for name, value in given.items() if name in names}
        )
        dispatcher = Dispatcher(of_controller, CONTROLLER_HANDLERS)
    frame = b"".join(bytes(piece) for piece in encode_request(key, version, 7, "c", request))[4:]

    async def handled() -> None:
        answer: Any = dispatcher.handle(memoryview(bytearray(frame)), CLIENT)
        if isinstance(answer, Awaitable):
            await answer

    asyncio.run(handled())


Change = Callable[[Any], None]


def setting(**fields: Any) -> Change:
    def change(request: Any) -> None:
        for name, value in fields.items():
            setattr(request, name, value)

    return change


def of_transaction(request: Any) -> None:
    batch = bytearray(61)
    batch[16], batch[22] = 2, TRANSACTIONAL_BIT
    request.transactional_id = "id"
    request.topic_data[0].partition_data[0].records = bytes(batch)


def of_groups_topics(request: Any) -> None:
    request.subscribed_topic_names = ["known"]
    request.member_id = "member"


def of_topology(request: Any) -> None:
    request.member_id = "member"
    request.rebalance_timeout_ms = 1
    request.task_offsets = request.task_end_offsets = None
    request.active_tasks = request.standby_tasks = request.warmup_tasks = []
    request.topology = Topology(0, [Subtopology("0", ["known"])])


def configs_of(*types: int) -> list[Change]:
    def change(kind: int) -> Change:
        def of_type(request: Any) -> None:
            request.resources[0].resource_type = kind

        return of_type

    return [change(kind) for kind in types]


ALSO: Final[dict[ApiKey, list[Change]]] = {
    ApiKey.ALTER_CONFIGS: configs_of(4, 32),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: [of_groups_topics],
    ApiKey.CREATE_DELEGATION_TOKEN: [
        setting(owner_principal_type="User", owner_principal_name="bob", renewers=[])
    ],
    ApiKey.DESCRIBE_CLUSTER: [setting(include_cluster_authorized_operations=True)],
    ApiKey.DESCRIBE_CONFIGS: configs_of(4, 32),
    ApiKey.FETCH: [setting(replica_id=1)],
    ApiKey.FIND_COORDINATOR: [setting(key_type=1), setting(key_type=2)],
    ApiKey.INCREMENTAL_ALTER_CONFIGS: configs_of(4, 8, 32),
    ApiKey.INIT_PRODUCER_ID: [setting(transactional_id=None)],
    ApiKey.METADATA: [
        setting(include_cluster_authorized_operations=True),
        setting(allow_auto_topic_creation=True),
    ],
    ApiKey.PRODUCE: [of_transaction],
    ApiKey.SHARE_GROUP_HEARTBEAT: [of_groups_topics],
    ApiKey.STREAMS_GROUP_HEARTBEAT: [of_topology],
}
"""Requests that ask for more than a filled one does."""
MORE_IN_OTHER_TESTS: Final[dict[ApiKey, set[Pair]]] = {
    # They need tokens, sessions, topics with ids or groups with members, or a version that is not served yet.
    ApiKey.CONSUMER_GROUP_DESCRIBE: {(Operation.DESCRIBE, ResourceType.TOPIC)},
    ApiKey.STREAMS_GROUP_DESCRIBE: {(Operation.DESCRIBE, ResourceType.TOPIC)},
    ApiKey.INIT_PRODUCER_ID: {(Operation.TWO_PHASE_COMMIT, ResourceType.TRANSACTIONAL_ID)},
    ApiKey.DESCRIBE_DELEGATION_TOKEN: declared()[ApiKey.DESCRIBE_DELEGATION_TOKEN],
    ApiKey.SHARE_FETCH: {(Operation.READ, ResourceType.TOPIC)},
    ApiKey.SHARE_ACKNOWLEDGE: {(Operation.READ, ResourceType.TOPIC)},
    ApiKey.SHARE_GROUP_DESCRIBE: {(Operation.DESCRIBE, ResourceType.TOPIC)},
}
TOLD: Final = {
    ApiKey.METADATA: ResourceType.CLUSTER,
    ApiKey.DESCRIBE_CLUSTER: ResourceType.CLUSTER,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: ResourceType.TOPIC,
}
"""APIs that ask for all operations on a resource, to tell them."""


@pytest.mark.parametrize(
    "key", [key for key in HANDLERS if declared()[key]], ids=lambda key: key.name
)
def test_all_that_is_declared_is_asked(key: ApiKey, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    wanted = declared()[key]
    on_cluster = {pair for pair in wanted if pair[1] is ResourceType.CLUSTER}
    refusals: list[frozenset[Pair]] = [
        frozenset(),
        *(frozenset({pair}) for pair in wanted),
        *(frozenset({pair, *on_cluster}) for pair in wanted),
    ]
    asked: set[Pair] = set()
    for version in HANDLERS[key].api.versions:
        for refused in refusals:
            for change in [lambda _request: None, *ALSO.get(key, [])]:
                request = filled_request(request_class(key), version, "group")
                change(request)
                authorizer = ScriptedAuthorizer(refused)
                with contextlib.suppress(
                    Exception
                ):  # what lies behind is nothing; only questions count
                    ask(key, version, request, authorizer)
                asked |= {(operation, kind) for operation, kind, _ in authorizer.asked}
    told = TOLD.get(key)
    asked = {pair for pair in asked if pair in wanted or pair[1] is not told}
    assert asked >= wanted - MORE_IN_OTHER_TESTS.get(key, set())
    assert asked <= wanted
