"""One member of a classic group: who it is, what it can speak, and which of its requests wait.

Also what it subscribes to, as far as its metadata can be read. That belongs to the clients: a coordinator reads it for
one purpose, not to expire offsets in use, and must survive anything in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sized
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from millstream.coordinator.result import Token
from millstream.errors import InvalidRequest, ProtocolError
from millstream.protocol.generated.consumer_protocol import ConsumerProtocolSubscription
from millstream.runtime import Random

BYTES_OF_A_MEMBER: Final = 1_000
"""Without what it says: itself, its settings, its timers and its places in the tables of its group."""
_PREFIX_BYTES_MAX: Final = 32_767 - 37
"""A string of the protocol, without a dash and a uuid."""


@dataclass(frozen=True, slots=True)
class JoinSettings:
    """The time-outs and protocols a member joins with. Replaced as a whole by its next JoinGroup."""

    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    """Name and metadata, the member's favourite first."""

    def metadata(self, protocol: str | None) -> bytes:
        """Returns the metadata for one protocol; empty when the member does not speak it."""
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    def names(self) -> set[str]:
        return {name for name, _ in self.protocols}

    def favourite(self, candidates: Collection[str]) -> str:
        for name, _ in self.protocols:
            if name in candidates:
                return name
        raise AssertionError("a member was admitted that speaks no protocol of its group")


@dataclass(slots=True)
class ClassicGroupMember:
    """Only its group changes it: the group counts who waits."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    settings: JoinSettings
    is_new: bool = False
    """Joins for the first time and does not know its id yet, so it cannot send heartbeats."""
    joining: Token | None = None
    """The JoinGroup that waits for the next generation."""
    syncing: Token | None = None
    """The SyncGroup that waits for the leader's assignment."""

    @property
    def size_bytes(self) -> int:
        """The bytes that it takes in memory, about."""
        return (
            BYTES_OF_A_MEMBER
            + len(self.member_id)
            + len(self.group_instance_id or "")
            + len(self.client_id)
            + protocol_bytes(self.settings.protocols)
        )

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def outlives_its_session(self) -> bool:
        """A member that waits for the group cannot send heartbeats. A new one may be gone unnoticed, so it does not."""
        return not self.is_new and (self.joining is not None or self.syncing is not None)


def protocol_bytes(protocols: Iterable[tuple[str, Sized]]) -> int:
    """Returns the bytes that a member says of itself, protocol by protocol."""
    return sum(len(name) + len(metadata) for name, metadata in protocols)


def new_member_id(random: Random, prefix: str) -> str:
    """Returns `prefix` (client id, or instance id of a static member), a dash and a random version-4 uuid.

    Raises InvalidRequest when that is longer than a member id can be.
    """
    if len(prefix.encode()) > _PREFIX_BYTES_MAX:
        raise InvalidRequest(
            f"client id or group.instance.id is too long for a member id: use at most {_PREFIX_BYTES_MAX} bytes"
        )
    raw = bytearray(random.randbytes(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    digits = raw.hex()
    groups = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return f"{prefix}-{'-'.join(groups)}"


CONSUMER_PROTOCOL_TYPE: Final = "consumer"
_VERSION_BYTES: Final = 2


def topics_in(subscriptions: Iterable[bytes]) -> AbstractSet[str]:
    """Returns the topics of subscriptions. Empty also when one of them is no subscription."""
    try:
        return {topic for metadata in subscriptions for topic in _read(metadata).topics}
    except ProtocolError:
        return frozenset()


def _read(metadata: bytes) -> ConsumerProtocolSubscription:
    """Raises ProtocolError.

    Every version begins as version 0, topics first, and clients are known to send less than they claim.
    """
    subscription, _ = ConsumerProtocolSubscription.decode(memoryview(metadata), _VERSION_BYTES, 0)
    return subscription
