"""Checks the dynamic configurations of brokers, each value by itself.

Whether a broker can work with all of them only that broker knows: the file that it was started with is nowhere else. It
has judged them before it passed the request on (`own_changes` of the broker, `ConfigAdminManager` of Kafka).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from millstream.controller.settings import ControllerSettings
from millstream.errors import (
    BrokerIdNotRegistered,
    ConfigError,
    InvalidConfig,
    InvalidRequest,
)
from millstream.metadata.config_key import UpdateMode
from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.features import ELIGIBLE_LEADER_REPLICAS
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId

_MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"


def check_broker_overrides(
    resource: ConfigResource,
    after: Mapping[str, str],
    image: MetadataImage,
    settings: ControllerSettings,
) -> None:
    """Checks `after`, all overrides of one broker or, under the empty name, of all brokers.

    Raises InvalidRequest, InvalidConfig, BrokerIdNotRegistered.

    An unknown key is stored: it may belong to a plugin, or to a newer release.
    """
    _check_broker(resource.name, image)
    before = image.config(resource)
    changed = {name: value for name, value in after.items() if before.get(name) != value}
    modes = {name: _mode(name, settings) for name in changed}
    fixed = [name for name, mode in modes.items() if mode is UpdateMode.READ_ONLY]
    if fixed:
        raise InvalidRequest(f"Cannot update these configs dynamically: [{', '.join(fixed)}]")
    prefixed = [name for name, mode in modes.items() if mode is UpdateMode.PER_LISTENER]
    if prefixed:
        raise InvalidRequest(
            "These security configs can be dynamically updated only per-listener using the listener prefix: "
            f"[{', '.join(prefixed)}]"
        )
    single = [name for name, mode in modes.items() if mode is UpdateMode.PER_BROKER]
    if single and not resource.name:
        raise InvalidRequest(
            f"Cannot update these configs at default cluster level, broker id must be specified: [{', '.join(single)}]"
        )
    try:
        for name, value in changed.items():
            if name in settings.broker_configs:
                settings.broker_configs[name].parse(value)
    except ConfigError as error:
        raise InvalidRequest(str(error)) from error
    _check_eligible_leader_replicas(resource, before, after, image)


def _mode(name: str, settings: ControllerSettings) -> UpdateMode | None:
    key = settings.broker_configs.get(name)
    return settings.other_update_mode(name) if key is None else key.dynamic


def _check_broker(name: str, image: MetadataImage) -> None:
    """The empty name stands for all brokers. A controller that is no broker has settings as well."""
    if not name:
        return
    if not name.isdecimal():
        raise InvalidRequest(f"Node id must be an integer of at least 0, but it is: {name}")
    node = BrokerId(int(name))
    if node not in image.brokers and node not in image.controllers:
        raise BrokerIdNotRegistered(f"No node with id {node} found.")


def _check_eligible_leader_replicas(
    resource: ConfigResource,
    before: Mapping[str, str],
    after: Mapping[str, str],
    image: MetadataImage,
) -> None:
    """Eligible leader replicas need one min.insync.replicas that holds for all brokers (KIP-966)."""
    if not image.features.get(ELIGIBLE_LEADER_REPLICAS):
        return
    if resource.name and after.get(_MIN_INSYNC_REPLICAS) != before.get(_MIN_INSYNC_REPLICAS):
        raise InvalidConfig(
            "Broker-level min.insync.replicas cannot be altered while ELR is enabled."
        )
    if not resource.name and _MIN_INSYNC_REPLICAS in before and _MIN_INSYNC_REPLICAS not in after:
        raise InvalidConfig(
            "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."
        )
