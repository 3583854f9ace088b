"""A node as admin handlers see it: a live controller whose records are committed at once, and its image."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from millstream.broker.cluster.auto_creation import AutoTopicCreation
from millstream.broker.cluster.features import SUPPORTED_FEATURES
from millstream.broker.config.broker_config import broker_config
from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.config.table import BROKER_CONFIGS
from millstream.broker.long_work import LongWork
from millstream.broker.metadata_log.driver import QuorumDescription
from millstream.broker.node_state import NodeIdentity
from millstream.broker.requests.handler_services import bound
from millstream.broker.requests.request_context import RequestContext
from millstream.controller.bootstrap import plan_activation
from millstream.controller.brokers.broker_lifecycle import plan_heartbeat
from millstream.controller.brokers.registration import plan_registration
from millstream.controller.controller import Controller
from millstream.controller.operation import ControllerApi, ControllerContext
from millstream.controller.settings import ControllerSettings, DelegationTokenSettings
from millstream.controller.topics.create_topics import plan_create_topics
from millstream.errors import KafkaError
from millstream.metadata.image import MetadataImage
from millstream.model import ZERO_UUID, BrokerId, Uuid
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.broker_heartbeat import BrokerHeartbeatRequest
from millstream.protocol.generated.broker_registration import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from millstream.protocol.generated.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from millstream.protocol.generated.metadata_records import FeatureLevelRecord
from millstream.raft.messages import VoterChangeRequest
from millstream.raft.quorum_description import ReplicaDescription, ReplicaDescriptions
from millstream.raft.voter_set import KRAFT_VERSION_DYNAMIC, ReplicaKey
from millstream.runtime import Instant
from millstream.security.principal import ANONYMOUS, KafkaPrincipal
from tests.support.handler_services import handler_services, request_context


class AdminNode:
    """`answer` runs a handler to its end."""

    def __init__(self, **static: str) -> None:
        self.static = {name.replace("_", "."): value for name, value in static.items()}
        self.principal = ANONYMOUS
        secret_key = self.static.get("delegation.token.secret.key")
        settings = ControllerSettings(
            cluster_id="cluster",
            node_id=1,
            static=self.static,
            supported_features=SUPPORTED_FEATURES,
            delegation_tokens=DelegationTokenSettings(secret_key=secret_key),
        )
        self.live = Controller(MetadataImage(cluster_id="cluster"), settings, epoch=1)
        self.kraft_version = KRAFT_VERSION_DYNAMIC
        self.submitted: list[ApiKey] = []
        self.requests: list[Any] = []
        self.failures: list[KafkaError] = []
        """What the next submissions fail with."""
        self.started: list[Coroutine[None, None, None]] = []
        """What goes on behind the answers, until `catch_up`."""
        self.config = DynamicConfig(
            broker_config({k: v for k, v in self.static.items() if k in BROKER_CONFIGS})
        )
        self.configure(
            settings=self.static,
            offsets_topic_num_partitions=2,
            offsets_topic_replication_factor=1,
            transaction_state_log_num_partitions=3,
            transaction_state_log_replication_factor=1,
            transaction_state_log_min_isr=1,
        )
        long_work = LongWork(lambda: 0.0)
        self.services = handler_services(
            auto_topic_creation=AutoTopicCreation(
                self, self.config, self, metadata=self.live, long_work=long_work
            ),
            config=self.config,
            controller=self,
            identity=NodeIdentity(BrokerId(1), "cluster", ZERO_UUID, ZERO_UUID),
            long_work=long_work,
            metadata=self.live,
        )
        self.changes: list[VoterChangeRequest] = []
        self.quorum_refuses: type[KafkaError] | None = None
        self._random = random.Random(5)
        self._offset = 0
        self.run(plan_activation, False)
        self.add_broker(1)

    def start(self, coroutine: Coroutine[None, None, None], name: str) -> None:
        del name
        self.started.append(coroutine)

    def catch_up(self) -> None:
        while self.started:
            asyncio.run(self.started.pop(0))

    async def ask(
        self,
        api: ControllerApi[Any, Any],
        request: object,
        caller: RequestContext | None = None,
    ) -> object:
        self.submitted.append(api.key)
        self.requests.append(request)
        if self.failures:
            raise self.failures.pop(0)
        principal = ANONYMOUS if caller is None else caller.principal
        return self.run(api.plan, request, principal)

    def run(self, plan: Callable, request: object, principal: KafkaPrincipal = ANONYMOUS) -> object:
        live = self.live
        context = ControllerContext(
            live.image,
            live.settings,
            live.sessions,
            Instant(0, 0),
            self._random,
            self._offset,
            principal,
            token_ids=live.token_ids,
        )
        result = plan(context, request)
        for record in result.records:
            self.live.replay(self._offset, record)
            self._offset += 1
        return result.response

    def leads(self) -> bool:
        return True

    def is_elsewhere(self) -> bool:
        return False

    async def change_voters(self, change: VoterChangeRequest) -> None:
        self.changes.append(change)
        if self.quorum_refuses is not None:
            raise self.quorum_refuses

    def quorum(self) -> QuorumDescription:
        voter, observer = ReplicaKey(1, Uuid(b"d" * 16)), ReplicaKey(7, Uuid(b"o" * 16))
        replicas = ReplicaDescriptions(
            (ReplicaDescription(voter, 31, 900, 900),),
            (ReplicaDescription(observer, 25, 800, 700),),
        )
        return QuorumDescription(1, 4, 30, 31, (voter,), self.kraft_version, replicas)

    def finalize(self, feature: str, level: int) -> None:
        self.replay(FeatureLevelRecord(name=feature, feature_level=level))

    def replay(self, record: object) -> None:
        self.live.replay(self._offset, record)
        self._offset += 1

    def give(self, **services: object) -> None:
        """Replaces services that handlers take."""
        self.services = replace(self.services, **services)

    def add_broker(
        self, broker_id: int, *, fenced: bool = False, listener: str = "PLAINTEXT"
    ) -> None:
        request = BrokerRegistrationRequest(
            broker_id=broker_id, cluster_id="cluster", incarnation_id=Uuid(bytes([broker_id]) * 16), rack=None,
            listeners=[Listener(name=listener, host=f"host-{broker_id}", port=9090 + broker_id)],
            features=[Feature(name=n, min_supported_version=r.lowest, max_supported_version=r.highest) for n, r in SUPPORTED_FEATURES.items()],
            log_dirs=[Uuid(bytes([broker_id]) * 16)],
        )  # fmt: skip
        epoch = self.run(plan_registration, request).broker_epoch
        if not fenced:
            heartbeat = BrokerHeartbeatRequest(
                broker_id=broker_id, broker_epoch=epoch, current_metadata_offset=epoch
            )
            self.run(plan_heartbeat, heartbeat)

    def create(self, name: str, partitions: int = 1, factor: int = 1, **configs: str) -> None:
        given = [
            CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ]
        topic = CreatableTopic(
            name=name, num_partitions=partitions, replication_factor=factor, configs=given
        )
        response = self.run(plan_create_topics, CreateTopicsRequest(topics=[topic]))
        assert response.topics[0].error_code == 0, response.topics[0].error_message

    def configure(self, **settings: Any) -> None:
        self.config.current = replace(self.config.current, **settings)

    def answer(
        self, handle: Callable, request: object, version: int, cut_from: object = None
    ) -> object:
        context = request_context(version, client_id="someone", principal=self.principal)
        context.cut_from = cut_from
        response = bound(handle, self.services)(request, context)
        return asyncio.run(response) if asyncio.iscoroutine(response) else response


@pytest.fixture
def node() -> AdminNode:
    return AdminNode()


@pytest.fixture
def make_node() -> type[AdminNode]:
    return AdminNode
