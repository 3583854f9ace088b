"""The election state that a replica remembers over a restart, and the `quorum-state` file that holds it.

The file is Kafka's JSON, one line: version 0 with kraft.version 0, version 1 with kraft.version 1. It is synced before
any vote is answered; a lost or damaged one is never read as "never voted".
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from millstream.errors import KafkaStorageError
from millstream.model import ZERO_UUID, BrokerId, LeaderEpoch, uuid_from_text, uuid_text
from millstream.raft.voter_set import KRAFT_VERSION_STATIC, ReplicaKey

NOBODY: Final = BrokerId(-1)
_NO_EPOCH: Final = LeaderEpoch(0)
_KNOWN_VERSIONS: Final = {0: 0, 1: 1}


@dataclass(frozen=True, slots=True)
class ElectionState:
    """The highest epoch seen, its leader if known, and whom this replica voted for in it."""

    epoch: LeaderEpoch = _NO_EPOCH
    leader_id: BrokerId = NOBODY
    voted: ReplicaKey | None = None

    @property
    def has_leader(self) -> bool:
        return self.leader_id != NOBODY


def encode_quorum_state(
    state: ElectionState, kraft_version: int, voter_ids: Iterable[BrokerId] = ()
) -> bytes:
    """Returns the file's content.

    `voter_ids` stand in it with kraft.version 0 only, for checks by Kafka at start-up.
    """
    voted_id = NOBODY if state.voted is None else state.voted.id
    fields: dict[str, object]
    if kraft_version == KRAFT_VERSION_STATIC:
        fields = {
            "clusterId": "",
            "leaderId": state.leader_id,
            "leaderEpoch": state.epoch,
            "votedId": voted_id,
            "appliedOffset": 0,
            "currentVoters": [{"voterId": voter_id} for voter_id in sorted(voter_ids)],
            "data_version": 0,
        }
    else:
        fields = {
            "leaderId": state.leader_id,
            "leaderEpoch": state.epoch,
            "votedId": voted_id,
            "votedDirectoryId": uuid_text(
                ZERO_UUID if state.voted is None else state.voted.directory_id
            ),
            "data_version": 1,
        }
    return json.dumps(fields, separators=(",", ":")).encode()


def decode_quorum_state(data: bytes) -> ElectionState:
    """Decodes the content of a `quorum-state` file. Raises KafkaStorageError when it is not of version 0 or 1."""
    try:
        fields = json.loads(data)
        version = _KNOWN_VERSIONS[fields["data_version"]]
        voted_id = int(fields["votedId"])
        directory = uuid_from_text(fields["votedDirectoryId"]) if version else ZERO_UUID
        return ElectionState(
            epoch=LeaderEpoch(int(fields["leaderEpoch"])),
            leader_id=BrokerId(int(fields["leaderId"])),
            voted=None if voted_id == NOBODY else ReplicaKey(BrokerId(voted_id), directory),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(error) from error


def static_voter_ids(data: bytes) -> frozenset[BrokerId]:
    """Returns the voters that a `quorum-state` file of version 0 names; none from version 1 on,
    where the log names them.

    Raises KafkaStorageError as `decode_quorum_state` does.
    """
    decode_quorum_state(data)
    try:
        named = json.loads(data).get("currentVoters") or []
        return frozenset(BrokerId(int(voter["voterId"])) for voter in named)
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(error) from error


def _damaged(error: Exception) -> KafkaStorageError:
    return KafkaStorageError(
        f"the quorum-state file is damaged ({error}): restore it, or remove this voter's directory and let it join as new"
    )
