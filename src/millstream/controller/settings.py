"""The settings of the controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from millstream.config_fields import from_keys
from millstream.metadata.broker_registration import SupportedVersionRange
from millstream.metadata.config_key import ConfigKey, UpdateMode
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.features import METADATA_VERSION, METADATA_VERSION_4_3, feature_records
from millstream.model import BrokerId

RECORDS_PER_REQUEST_MAX: Final = 10_000
"""How many records one request may lead to, where its number of items says it."""


_METADATA_VERSION_4_3_ONLY: Final = MappingProxyType(
    {METADATA_VERSION: SupportedVersionRange(METADATA_VERSION_4_3, METADATA_VERSION_4_3)}
)


def _only_metadata_version() -> Sequence[MetadataRecord]:
    return feature_records({METADATA_VERSION: METADATA_VERSION_4_3})


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationTokenSettings:
    """The settings of delegation tokens. Without a secret key there are no tokens."""

    secret_key: str | None = from_keys("delegation.token.secret.key", default=None, secret=True)
    max_lifetime_ms: int = from_keys("delegation.token.max.lifetime.ms", default=604_800_000)
    expiry_time_ms: int = from_keys("delegation.token.expiry.time.ms", default=86_400_000)
    """How long a token is good unless it is renewed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """Settings of one controller; `static` is what its node was started with, as text under broker keys."""

    cluster_id: str
    node_id: BrokerId
    read_bootstrap: Callable[[], Sequence[MetadataRecord]] = _only_metadata_version
    """Reads the records that the first controller of a new cluster begins with; raises where it
    cannot. Asked for an empty log only."""
    supported_features: Mapping[str, SupportedVersionRange] = field(
        default_factory=lambda: _METADATA_VERSION_4_3_ONLY
    )
    """Levels this node can work at."""
    delegation_tokens: DelegationTokenSettings = field(default_factory=DelegationTokenSettings)
    num_partitions: int = 1
    default_replication_factor: int = 1
    delete_topic_enable: bool = True
    min_insync_replicas: int = 1
    broker_session_timeout_ms: int = 9000
    partitions_per_request_max: int = 10_000
    static: Mapping[str, str] = field(default_factory=dict)
    broker_configs: Mapping[str, ConfigKey] = field(default_factory=dict)
    """The table of broker keys, to judge changes of brokers' dynamic configurations by."""
    other_update_mode: Callable[[str], UpdateMode | None] = lambda _: None
    """Whether a key outside that table may change; None for an unknown key."""
