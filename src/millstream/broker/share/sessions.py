"""Share sessions (KIP-932): which partitions a member of a share group reads, remembered from fetch to fetch.

Owns sessions, their epochs and how many there may be. A session belongs to the connection it was opened on and ends
with it; what its member still had acquired is the caller's to release. Does not read partitions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, final

from millstream.errors import (
    InvalidRequest,
    InvalidShareSessionEpoch,
    ShareSessionLimitReached,
    ShareSessionNotFound,
)
from millstream.model import Uuid

INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
_EPOCH_MAX: Final = 2**31 - 1
PARTITIONS_MAX: Final = 100_000
"""Of all sessions, with what is out of each of them some 500 MB. Kafka bounds the number of sessions alone
(`group.share.max.share.sessions`)."""


class ShareSessionPartition(NamedTuple):
    """A partition by the id of its topic, as share consumers name it."""

    topic_id: Uuid
    partition: int


class SessionKey(NamedTuple):
    group_id: str
    member_id: str


@dataclass(slots=True)
class ShareSession:
    key: SessionKey
    connection_id: int
    epoch: int = 1
    """The epoch the next request must carry."""
    partitions: dict[ShareSessionPartition, str | None] = field(default_factory=dict)
    """With the name of the topic, None if it was not known when the partition was added."""

    def rotated(self, epoch: int) -> list[tuple[ShareSessionPartition, str | None]]:
        """Returns the partitions in rotation: each comes first now and then, so that none starves."""
        partitions = list(self.partitions.items())
        first = epoch % len(partitions) if partitions and epoch > 0 else 0
        return partitions[first:] + partitions[:first]


@final
class ShareSessions:
    def __init__(self, sessions_max: int, partitions_max: int = PARTITIONS_MAX) -> None:
        self._sessions_max = sessions_max
        self._partitions_max = partitions_max
        self._partition_count = 0
        self._sessions: dict[SessionKey, ShareSession] = {}
        self._by_connection: defaultdict[int, set[SessionKey]] = defaultdict(set)
        self._members: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._sessions)

    def has_group(self, group_id: str) -> bool:
        """Whether any member of the group has a session here."""
        return self._members[group_id] > 0

    def reads(self, key: SessionKey, partition: ShareSessionPartition) -> bool:
        """Whether the member has a session that reads the partition."""
        session = self._sessions.get(key)
        return session is not None and partition in session.partitions

    def open(
        self,
        key: SessionKey,
        connection_id: int,
        partitions: Iterable[tuple[ShareSessionPartition, str | None]],
        *,
        has_acknowledgements: bool,
    ) -> ShareSession:
        """Opens a session. The member's previous session is forgotten; acquired records stay with the member.

        Raises InvalidRequest, ShareSessionLimitReached: there are too many, or too many partitions in them.
        """
        if has_acknowledgements:
            raise InvalidRequest("a member acknowledges in a session; this one begins")
        self.close(key)
        if len(self._sessions) >= self._sessions_max:
            raise ShareSessionLimitReached
        session = ShareSession(key, connection_id)
        self._add(session, partitions)
        self._sessions[key] = session
        self._by_connection[connection_id].add(key)
        self._members[key.group_id] += 1
        return session

    def proceed(self, key: SessionKey, epoch: int) -> ShareSession:
        """Returns the session of a request in its middle; the next one must carry the next epoch.

        Raises ShareSessionNotFound, InvalidShareSessionEpoch.
        """
        session = self.find(key)
        if session.epoch != epoch:
            raise InvalidShareSessionEpoch(f"the session is at epoch {session.epoch}, not {epoch}")
        session.epoch = 1 if epoch == _EPOCH_MAX else epoch + 1
        return session

    def find(self, key: SessionKey) -> ShareSession:
        """Returns the session of a member. Raises ShareSessionNotFound."""
        session = self._sessions.get(key)
        if session is None:
            raise ShareSessionNotFound
        return session

    def update(
        self,
        session: ShareSession,
        added: Iterable[tuple[ShareSessionPartition, str | None]],
        forgotten: Iterable[ShareSessionPartition],
    ) -> None:
        """Changes what a session reads.

        Raises ShareSessionLimitReached; its epoch goes on, and what is forgotten makes room.
        """
        new = dict(added)
        for partition in forgotten:
            new.pop(partition, None)
            if partition in session.partitions:
                del session.partitions[partition]
                self._partition_count -= 1
        self._add(session, new.items())

    def _add(
        self,
        session: ShareSession,
        added: Iterable[tuple[ShareSessionPartition, str | None]],
    ) -> None:
        new = dict(added)
        unknown = len(new.keys() - session.partitions.keys())
        if unknown and self._partition_count + unknown > self._partitions_max:
            raise ShareSessionLimitReached(
                f"the share sessions of this broker have {self._partitions_max} partitions already"
            )
        session.partitions.update(new)
        self._partition_count += unknown

    def close(self, key: SessionKey) -> ShareSession | None:
        session = self._sessions.pop(key, None)
        if session is not None:
            self._partition_count -= len(session.partitions)
            of_connection = self._by_connection[session.connection_id]
            of_connection.discard(key)
            if not of_connection:
                del self._by_connection[session.connection_id]
            self._members[key.group_id] -= 1
            if not self._members[key.group_id]:
                del self._members[key.group_id]
        return session

    def close_connection(self, connection_id: int) -> list[ShareSession]:
        """Closes the sessions that were opened on a connection that is gone."""
        keys = self._by_connection.pop(connection_id, ())
        return [session for key in keys if (session := self.close(key)) is not None]


def check_member_id(member_id: str | None) -> str:
    """Returns the member id, checked. Raises InvalidRequest if it is longer than a uuid, or missing."""
    if not member_id or len(member_id) > _MEMBER_ID_CHARACTERS_MAX:
        raise InvalidRequest("Invalid member id in the request.")
    return member_id


def check_group_id(group_id: str | None) -> str:
    """Returns the group id, checked. Raises InvalidRequest for None."""
    if group_id is None:
        raise InvalidRequest("Invalid group id in the request.")
    return group_id


_MEMBER_ID_CHARACTERS_MAX: Final = 36
"""Kafka's: a uuid with its dashes."""
ShareSessionPartitions = Sequence[tuple[ShareSessionPartition, str | None]]
