"""The replicas that may vote.

Owns the identity of replicas and the arithmetic of majorities; never changes in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from millstream.errors import DuplicateVoter, InvalidRecord, VoterNotFound
from millstream.model import ZERO_UUID, BrokerId, Uuid
from millstream.protocol.generated import control_records

KRAFT_VERSION_STATIC: Final = 0
"""Voters come from the configuration and have no directory ids."""
KRAFT_VERSION_DYNAMIC: Final = 1
"""Voters are records in the log, known by id and directory id (KIP-853)."""


ControlRecord = (
    control_records.LeaderChangeMessage
    | control_records.KRaftVersionRecord
    | control_records.VotersRecord
)
"""What the quorum itself writes to the log."""


class ReplicaKey(NamedTuple):
    """A replica: a node id and the directory its log lives in. The zero uuid stands for an unknown directory."""

    id: BrokerId
    directory_id: Uuid = ZERO_UUID

    def matches(self, other: ReplicaKey) -> bool:
        """The same replica, as far as both sides know the directory."""
        unknown = ZERO_UUID in (self.directory_id, other.directory_id)
        return self.id == other.id and (unknown or self.directory_id == other.directory_id)


@dataclass(frozen=True, slots=True)
class VoterEndpoint:
    listener: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Voter:
    key: ReplicaKey
    endpoints: tuple[VoterEndpoint, ...] = ()
    kraft_versions: tuple[int, int] = (KRAFT_VERSION_STATIC, KRAFT_VERSION_DYNAMIC)
    """Lowest and highest kraft.version the voter supports."""


class VoterSet:
    """Voters by id: one directory per id, however often a disk is replaced. Empty where nothing says yet who votes."""

    def __init__(self, voters: Iterable[Voter]) -> None:
        self._voters: Mapping[BrokerId, Voter] = {voter.key.id: voter for voter in voters}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VoterSet) and self._voters == other._voters

    def __hash__(self) -> int:
        return hash(frozenset(self._voters.values()))

    def __len__(self) -> int:
        return len(self._voters)

    def __iter__(self) -> Iterator[Voter]:
        return iter(self._voters.values())

    def __repr__(self) -> str:
        return f"VoterSet({', '.join(str(voter_id) for voter_id in self._voters)})"

    @property
    def ids(self) -> frozenset[BrokerId]:
        return frozenset(self._voters)

    @property
    def majority(self) -> int:
        return len(self._voters) // 2 + 1

    def has(self, key: ReplicaKey) -> bool:
        voter = self._voters.get(key.id)
        return voter is not None and voter.key.matches(key)

    def key_of(self, voter_id: BrokerId) -> ReplicaKey:
        return self._voters[voter_id].key

    def get(self, voter_id: BrokerId) -> Voter | None:
        return self._voters.get(voter_id)

    def endpoints_of(self, voter_id: BrokerId) -> tuple[VoterEndpoint, ...]:
        """Returns where a voter listens; nothing for a replica that is none."""
        voter = self._voters.get(voter_id)
        return voter.endpoints if voter else ()

    def others(self, local: ReplicaKey) -> tuple[ReplicaKey, ...]:
        return tuple(voter.key for voter in self if not voter.key.matches(local))

    def with_voter(self, voter: Voter) -> VoterSet:
        """Returns the voters with one more.

        Raises DuplicateVoter when the id votes already: its old directory must be removed first.
        """
        if voter.key.id in self._voters:
            raise DuplicateVoter(
                f"node {voter.key.id} is a voter already: remove its old directory first"
            )
        return VoterSet([*self, voter])

    def without_voter(self, key: ReplicaKey) -> VoterSet:
        """Returns the voters with one fewer.

        Raises VoterNotFound when no voter has this id and directory, or it is the last one.
        """
        self._check_has(key)
        if len(self) == 1:
            raise VoterNotFound(f"node {key.id} is the last voter and cannot be removed")
        return VoterSet(voter for voter in self if voter.key.id != key.id)

    def with_update(self, updated: Voter) -> VoterSet:
        """Returns the voters with another entry for one of them.

        Raises VoterNotFound when no voter has this id and directory.
        """
        self._check_has(updated.key)
        return VoterSet(updated if voter.key == updated.key else voter for voter in self)

    def _check_has(self, key: ReplicaKey) -> None:
        voter = self._voters.get(key.id)
        if voter is None or voter.key != key:
            raise VoterNotFound(f"node {key.id} with this directory is not among the voters")


def voters_record(voters: VoterSet) -> control_records.VotersRecord:
    """Returns the KRAFT_VOTERS control record that describes `voters`."""
    return control_records.VotersRecord(
        voters=[
            control_records.VotersRecordVoter(
                voter_id=voter.key.id,
                voter_directory_id=voter.key.directory_id,
                endpoints=[
                    control_records.Endpoint(name=e.listener, host=e.host, port=e.port)
                    for e in voter.endpoints
                ],
                kraft_version_feature=control_records.KRaftVersionFeature(
                    min_supported_version=voter.kraft_versions[0],
                    max_supported_version=voter.kraft_versions[1],
                ),
            )
            for voter in voters
        ]
    )


def dynamic_quorum_records(
    voters: VoterSet,
) -> tuple[control_records.KRaftVersionRecord, control_records.VotersRecord]:
    """Returns the control records with which a quorum is dynamic: its voters stand in its log from here on."""
    version = control_records.KRaftVersionRecord(kraft_version=KRAFT_VERSION_DYNAMIC)
    return version, voters_record(voters)


def voters_from_record(record: control_records.VotersRecord) -> VoterSet:
    """Returns the voters that a record names. Raises InvalidRecord for none: nobody could lead such a quorum."""
    if not record.voters:
        raise InvalidRecord("the record of the voters names no voter")
    return VoterSet(
        Voter(
            ReplicaKey(BrokerId(v.voter_id), Uuid(v.voter_directory_id)),
            tuple(VoterEndpoint(e.name, e.host, e.port) for e in v.endpoints),
            (
                v.kraft_version_feature.min_supported_version,
                v.kraft_version_feature.max_supported_version,
            ),
        )
        for v in record.voters
    )


def leader_change_record(
    leader: ReplicaKey, voters: VoterSet, granting: Sequence[ReplicaKey]
) -> control_records.LeaderChangeMessage:
    """Returns the LEADER_CHANGE control record, first of every epoch.

    Kafka 4.3 writes version 0, without directory ids.
    """
    return control_records.LeaderChangeMessage(
        leader_id=leader.id,
        voters=[control_records.LeaderChangeMessageVoter(voter_id=v.key.id) for v in voters],
        granting_voters=[
            control_records.LeaderChangeMessageVoter(voter_id=key.id) for key in granting
        ],
    )
