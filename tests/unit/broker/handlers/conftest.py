"""A node as admin handlers see it: a live controller whose records are committed at once, and its image."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from millstream.broker.cluster.features import SUPPORTED_FEATURES
from millstream.broker.metadata_log.driver import QuorumDescription
from millstream.controller.controller import Controller
from millstream.controller.result import ControllerContext
from millstream.controller.settings import ControllerSettings, DelegationTokenSettings
from millstream.metadata.image import MetadataImage
from millstream.model import Uuid
from millstream.net.server.client_connection import ANONYMOUS
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
from millstream.raft.voter_set import ReplicaKey
from millstream.runtime import Instant
from millstream.security.authorizer import ALLOW_ALL
from millstream.security.quotas import UNLIMITED


class AdminNode:
    """`context(version)` is what a handler gets; `answer` runs a handler to its end."""

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
        self.submitted: list[str] = []
        self.config = SimpleNamespace(
            auto_create_topics_enable=True,
            authorizer_class_name="",
            delegation_token_secret_key=secret_key,
            max_request_partition_size_limit=2000,
            settings=self.static,
            offsets_topic_num_partitions=2,
            offsets_topic_replication_factor=1,
            offsets_topic_segment_bytes=104857600,
            transaction_state_log_num_partitions=3,
            transaction_state_log_replication_factor=1,
            transaction_state_log_min_isr=1,
            transaction_state_log_segment_bytes=104857600,
        )
        self.identity = SimpleNamespace(node_id=1, cluster_id="cluster")
        self.controller = self
        self.authorizer = ALLOW_ALL
        self.quotas = UNLIMITED
        self._random = random.Random(5)
        self._offset = 0
        self.run(Controller.handle_activation, False)
        self.add_broker(1)

    @property
    def metadata(self) -> Controller:
        return self.live

    async def submit(self, handle: Callable, request: object) -> object:
        self.submitted.append(handle.__name__)
        return self.run(handle, request)

    def run(self, handle: Callable, request: object) -> object:
        context = ControllerContext(Instant(0, 0), self._random, self._offset)
        result = handle(self.live, request, context)
        for record in result.records:
            self.live.replay(self._offset, record)
            self._offset += 1
        return result.response

    def quorum(self) -> QuorumDescription:
        return QuorumDescription(1, 4, 30, 31, (ReplicaKey(1, Uuid(b"d" * 16)),))

    def finalize(self, feature: str, level: int) -> None:
        self.replay(FeatureLevelRecord(name=feature, feature_level=level))

    def replay(self, record: object) -> None:
        self.live.replay(self._offset, record)
        self._offset += 1

    def add_broker(
        self, broker_id: int, *, fenced: bool = False, listener: str = "PLAINTEXT"
    ) -> None:
        request = BrokerRegistrationRequest(
            broker_id=broker_id, cluster_id="cluster", incarnation_id=Uuid(bytes([broker_id]) * 16), rack=None,
            listeners=[Listener(name=listener, host=f"host-{broker_id}", port=9090 + broker_id)],
            features=[Feature(name=n, min_supported_version=r.lowest, max_supported_version=r.highest) for n, r in SUPPORTED_FEATURES.items()],
        )  # fmt: skip
        epoch = self.run(Controller.handle_broker_registration, request).broker_epoch
        if not fenced:
            heartbeat = BrokerHeartbeatRequest(
                broker_id=broker_id, broker_epoch=epoch, current_metadata_offset=epoch
            )
            self.run(Controller.handle_broker_heartbeat, heartbeat)

    def create(self, name: str, partitions: int = 1, factor: int = 1, **configs: str) -> None:
        given = [
            CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ]
        topic = CreatableTopic(
            name=name, num_partitions=partitions, replication_factor=factor, configs=given
        )
        response = self.run(Controller.handle_create_topics, CreateTopicsRequest(topics=[topic]))
        assert response.topics[0].error_code == 0, response.topics[0].error_message

    def context(self, version: int) -> SimpleNamespace:
        return SimpleNamespace(
            node=self,
            version=version,
            listener_name="PLAINTEXT",
            client_id="someone",
            client_host="127.0.0.1",
            connection=SimpleNamespace(principal=self.principal),
            now=Instant(0, 0),
        )

    def answer(self, handle: Callable, request: object, version: int) -> object:
        response = handle(request, self.context(version))
        return asyncio.run(response) if asyncio.iscoroutine(response) else response


@pytest.fixture
def node() -> AdminNode:
    return AdminNode()


@pytest.fixture
def make_node() -> type[AdminNode]:
    return AdminNode
