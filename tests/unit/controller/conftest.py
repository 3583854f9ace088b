"""A controller with its log in memory: what is handled is appended and replayed at once."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from millstream.controller.bootstrap import plan_activation
from millstream.controller.brokers.broker_lifecycle import plan_heartbeat
from millstream.controller.brokers.registration import plan_registration
from millstream.controller.controller import Controller
from millstream.controller.operation import ControllerContext, ControllerResult
from millstream.controller.settings import ControllerSettings
from millstream.metadata.broker_registration import SupportedVersionRange
from millstream.metadata.config_key import ConfigKey, UpdateMode, config_table
from millstream.metadata.config_validators import at_least
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.features import (
    ELIGIBLE_LEADER_REPLICAS,
    FEATURES,
    METADATA_VERSION,
    METADATA_VERSION_4_3,
    feature_records,
)
from millstream.metadata.image import MetadataImage
from millstream.model import Uuid
from millstream.protocol.enums import ConfigType
from millstream.protocol.generated.broker_heartbeat import BrokerHeartbeatRequest
from millstream.protocol.generated.broker_registration import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from millstream.runtime import Instant
from millstream.security.principal import ANONYMOUS, KafkaPrincipal

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
BROKER_CONFIGS = config_table(
    [
        ConfigKey(
            "log.retention.ms", ConfigType.LONG, None, at_least(-1), dynamic=UpdateMode.CLUSTER_WIDE
        ),
        ConfigKey(
            "min.insync.replicas", ConfigType.INT, 1, at_least(1), dynamic=UpdateMode.CLUSTER_WIDE
        ),
        ConfigKey(
            "log.cleanup.policy", ConfigType.LIST, ("delete",), dynamic=UpdateMode.CLUSTER_WIDE
        ),
        ConfigKey("num.partitions", ConfigType.INT, 1, at_least(1)),
    ]
)
SUPPORTED = {
    "metadata.version": SupportedVersionRange(30, 30),
    **{feature.name: SupportedVersionRange(0, feature.highest) for feature in FEATURES},
}


class ControllerWorld:
    """Brokers come and go by name of their id; `log` holds every record with its offset."""

    def __init__(self, *, keeps_eligible_replicas: bool = False, **settings: object) -> None:
        if keeps_eligible_replicas:
            levels = {METADATA_VERSION: METADATA_VERSION_4_3, ELIGIBLE_LEADER_REPLICAS: 1}
            settings = {"read_bootstrap": lambda: feature_records(levels), **settings}
        self.settings = ControllerSettings(
            **{
                "cluster_id": CLUSTER_ID,
                "node_id": 1,
                "broker_configs": BROKER_CONFIGS,
                "supported_features": SUPPORTED,
                **settings,
            }
        )
        self.random = random.Random(7)
        self.features = (
            [Feature(name=ELIGIBLE_LEADER_REPLICAS, max_supported_version=1)]
            if keeps_eligible_replicas
            else []
        )
        """What brokers support beside the versions of metadata and quorum."""
        self.now_ms = 0
        self.log: list[tuple[int, MetadataRecord]] = []
        self.lines: list[str] = []
        """For the log of the node."""
        self.timed_out_brokers = 0
        self.controller = Controller(MetadataImage(cluster_id=CLUSTER_ID), self.settings, epoch=1)

    @property
    def image(self) -> MetadataImage:
        return self.controller.image

    @property
    def next_offset(self) -> int:
        return 3 + len(self.log)  # after a leader change, the kraft version and the voters

    def context(self, principal: KafkaPrincipal = ANONYMOUS) -> ControllerContext:
        return ControllerContext(
            self.image,
            self.settings,
            self.controller.sessions,
            Instant(1_000 + self.now_ms, self.now_ms),
            self.random,
            self.next_offset,
            principal,
            token_ids=self.controller.token_ids,
        )

    def submit(
        self, plan: Callable, request: object, principal: KafkaPrincipal = ANONYMOUS
    ) -> object:
        result: ControllerResult = plan(self.context(principal), request)
        for record in result.records:
            offset = self.next_offset
            self.log.append((offset, record))
            self.controller.replay(offset, record)
        self.lines += result.log_lines
        self.timed_out_brokers += result.timed_out_brokers
        return result.response

    def written(self, since: int = 0) -> list[str]:
        return [type(record).__name__ for _, record in self.log[since:]]

    def register(
        self, broker_id: int, *, incarnation: int = 1, directories: int = 1, **fields: object
    ) -> int:
        """Returns the broker's epoch."""
        request = BrokerRegistrationRequest(
            broker_id=broker_id,
            cluster_id=CLUSTER_ID,
            incarnation_id=Uuid(bytes([incarnation]) * 16),
            listeners=[Listener(name="PLAINTEXT", host="h", port=9092)],
            features=[
                Feature(name="metadata.version", min_supported_version=7, max_supported_version=30),
                Feature(name="kraft.version", min_supported_version=0, max_supported_version=1),
                *self.features,
            ],
            rack=None,
            log_dirs=[Uuid(bytes([broker_id, n]) + bytes(14)) for n in range(1, directories + 1)],
        )
        for name, value in fields.items():
            setattr(request, name, value)
        return self.submit(plan_registration, request).broker_epoch

    def heartbeat(self, broker_id: int, **fields: object) -> object:
        epoch = self.image.brokers[broker_id].broker_epoch
        request = BrokerHeartbeatRequest(
            broker_id=broker_id, broker_epoch=epoch, current_metadata_offset=self.next_offset - 1
        )
        for name, value in fields.items():
            setattr(request, name, value)
        return self.submit(plan_heartbeat, request)

    def start_brokers(self, *broker_ids: int) -> None:
        self.submit(plan_activation, False)
        for broker_id in broker_ids:
            self.register(broker_id)
            self.heartbeat(broker_id)


@pytest.fixture
def world() -> ControllerWorld:
    """One broker that is up."""
    made = ControllerWorld()
    made.start_brokers(1)
    return made


@pytest.fixture
def make_world() -> Callable[..., ControllerWorld]:
    return ControllerWorld
