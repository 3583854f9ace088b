"""The config classes of a node, and the modules of its packages as syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from millstream.broker.cluster.auto_creation import TopicDefaults
from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.config.kraft_settings import KRaftSettings
from millstream.broker.config.table import BROKER_CONFIGS
from millstream.broker.metadata_log.quorum_peers import QuorumPeerSettings
from millstream.broker.metadata_log.snapshots import SnapshotSettings
from millstream.broker.replication.remote_leader import ReplicaFetchSettings
from millstream.broker.share.group_settings import ShareGroupValues
from millstream.broker.storage.log_cleaner import CleanerSettings
from millstream.config_fields import FieldSource, Source
from millstream.controller.partitions.topic_replication import TopicReplication
from millstream.controller.settings import ControllerSettings, DelegationTokenSettings
from millstream.coordinator.group.config import (
    ClassicGroupConfig,
    ConsumerGroupConfig,
    GroupCoordinatorConfig,
    ShareGroupConfig,
    StreamsGroupConfig,
)
from millstream.coordinator.share.context import ShareCoordinatorConfig
from millstream.coordinator.transaction.context import TransactionCoordinatorConfig
from millstream.metadata.client_metrics_config import (
    CLIENT_METRICS_CONFIGS,
    ClientMetricsSubscription,
)
from millstream.metadata.config_key import ConfigKey
from millstream.metadata.group_config import GROUP_CONFIGS
from millstream.metadata.topic_config import TOPIC_CONFIGS, LogConfig
from millstream.net.server.limits import ConnectionLimits
from millstream.raft.quorum_state import RaftTimeouts
from millstream.security.authorizer_settings import AuthorizerSettings

SOURCE: Final = Path(__file__).parents[2] / "src" / "millstream"
SERVER_PACKAGES: Final = (
    "broker", "controller", "coordinator", "log", "metadata", "net", "raft", "replication", "security",
)  # fmt: skip
CONFIG_CLASSES: Final[Mapping[type, Mapping[str, ConfigKey]]] = {
    **dict.fromkeys(
        (
            AuthorizerSettings, BrokerConfig, CleanerSettings, ClassicGroupConfig, ConnectionLimits, ConsumerGroupConfig, ControllerSettings,
            DelegationTokenSettings, GroupCoordinatorConfig, KRaftSettings, QuorumPeerSettings, RaftTimeouts, ReplicaFetchSettings, ShareCoordinatorConfig,
            ShareGroupConfig, SnapshotSettings, StreamsGroupConfig, TopicDefaults, TransactionCoordinatorConfig,
        ),
        BROKER_CONFIGS,
    ),
    ClientMetricsSubscription: CLIENT_METRICS_CONFIGS,
    LogConfig: TOPIC_CONFIGS,
    TopicReplication: TOPIC_CONFIGS,
    ShareGroupValues: GROUP_CONFIGS,
}  # fmt: skip
"""Every config class, and the table whose settings it is filled with."""
DECLARING: Final = {"from_keys", "limited", "Limited"}
"""Functions and classes that name the key of a field."""


def keys_of(source: FieldSource) -> Sequence[str]:
    """The keys that a field comes from; of the fields of a part, those that are the part's own."""
    match source:
        case Source(keys=keys):
            return keys
        case str():
            return (source,)
        case _:
            return ()


def modules() -> Iterator[tuple[str, ast.Module]]:
    """The modules of the packages that a node is made of, by their path."""
    for package in SERVER_PACKAGES:
        for path in sorted((SOURCE / package).rglob("*.py")):
            yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text())
