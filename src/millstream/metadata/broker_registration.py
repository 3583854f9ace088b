"""The values that a broker or controller gave the cluster when it registered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from millstream.model import BrokerId, Uuid


class SecurityProtocol(IntEnum):
    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3

    @property
    def has_tls(self) -> bool:
        return self in {SecurityProtocol.SSL, SecurityProtocol.SASL_SSL}

    @property
    def has_sasl(self) -> bool:
        return self in {SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL}


class Endpoint(NamedTuple):
    """The address at which clients reach one listener."""

    listener: str
    host: str
    port: int
    security_protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT


class SupportedVersionRange(NamedTuple):
    """Levels of a feature that a node can work at, both ends included."""

    lowest: int
    highest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistration:
    """One incarnation of a broker. `broker_epoch` is the offset of its RegisterBroker record."""

    broker_id: BrokerId
    broker_epoch: int
    incarnation_id: Uuid
    endpoints: tuple[Endpoint, ...] = ()
    features: Mapping[str, SupportedVersionRange] = field(default_factory=dict)
    rack: str | None = None
    fenced: bool = True
    """A fenced broker leads nothing and is in no ISR; it becomes unfenced once it has caught up."""
    in_controlled_shutdown: bool = False
    log_directories: tuple[Uuid, ...] = ()
    cordoned_log_directories: tuple[Uuid, ...] | None = None

    @property
    def is_active(self) -> bool:
        """Whether the broker may become leader of partitions and get new replicas."""
        return not self.fenced and not self.in_controlled_shutdown

    @property
    def is_cordoned(self) -> bool:
        """Whether no log directory of the broker takes new replicas (KIP-1066)."""
        cordoned = self.cordoned_log_directories
        return bool(cordoned) and set(self.log_directories) <= set(cordoned or ())

    def endpoint(self, listener: str) -> Endpoint | None:
        return next((found for found in self.endpoints if found.listener == listener), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRegistration:
    """One incarnation of a controller."""

    controller_id: BrokerId
    incarnation_id: Uuid
    endpoints: tuple[Endpoint, ...] = ()
    features: Mapping[str, SupportedVersionRange] = field(default_factory=dict)
