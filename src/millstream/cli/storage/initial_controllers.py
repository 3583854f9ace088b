"""The first voters of a dynamic quorum on the command line: `ID@HOST:PORT:DIRECTORY,...`, the same
for every node (KIP-853).
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from millstream.cli.arguments import whole_number
from millstream.cli.storage.errors import FormatError
from millstream.metadata.directory_ids import is_reserved
from millstream.model import BrokerId, Uuid, uuid_from_text
from millstream.raft.voter_set import ReplicaKey, Voter, VoterEndpoint, VoterSet

_FORM: Final = "write ID@HOST:PORT:DIRECTORY, such as 1@localhost:9093:JEXY6aqzQY-32P5TStzaFg"
_VOTER: Final = re.compile(
    r"(?P<id>[^@]*)@(?:\[(?P<literal>[^\]]*)\]|(?P<host>[^:\[\]]+)):(?P<port>[^:]*):(?P<directory>.*)"
)
_PORT_MAX: Final = 65_535
_ID_MAX: Final = (1 << 31) - 1


def initial_voters(text: str, listener: str) -> VoterSet:
    """Returns the voters, each reached at `listener`. Raises FormatError."""
    voters: dict[BrokerId, Voter] = {}
    for item in text.strip().split(","):
        if not item:
            continue
        voter = _voter(item.strip(), listener)
        if voter.key.id in voters:
            raise FormatError(f"--initial-controllers: node {voter.key.id} is named twice")
        voters[voter.key.id] = voter
    if not voters:
        raise FormatError(f"--initial-controllers names no controller: {_FORM}")
    return VoterSet(voters[voter_id] for voter_id in sorted(voters))


def voter_at(node_id: int, directory_id: Uuid, listener: str, host: str, port: int) -> Voter:
    """Returns a voter with the host as Kafka writes it."""
    endpoint = VoterEndpoint(listener, _as_java_writes(host), port)
    return Voter(ReplicaKey(BrokerId(node_id), directory_id), (endpoint,))


def _voter(text: str, listener: str) -> Voter:
    found = _VOTER.fullmatch(text)
    if found is None:
        raise FormatError(f"--initial-controllers: {text!r} is no controller: {_FORM}")
    node_id = _number(found["id"], "id", text, _ID_MAX)
    port = _number(found["port"], "port", text, _PORT_MAX)
    try:
        directory_id = uuid_from_text(found["directory"])
    except ValueError as error:
        raise FormatError(f"--initial-controllers: directory of {text!r}: {error}") from None
    if is_reserved(directory_id):
        raise FormatError(
            f"--initial-controllers: the directory of {text!r} has a reserved id: make one with `millstream storage random-uuid`"
        )
    return voter_at(node_id, directory_id, listener, found["literal"] or found["host"] or "", port)


def _number(text: str, what: str, voter: str, highest: int) -> int:
    try:
        number = whole_number(text)
    except ValueError:
        number = -1
    if not 0 <= number <= highest:
        raise FormatError(
            f"--initial-controllers: the {what} of {voter!r} must be a number from 0 to {highest}"
        )
    return number


def _as_java_writes(host: str) -> str:
    """An IPv6 address stands in records with all its groups, so that those of all nodes are the same,
    whichever tool wrote them.
    """
    try:
        address = ipaddress.IPv6Address(host)
    except ValueError:
        return host
    if address.scope_id is not None:
        return host
    groups = address.exploded.split(":")
    return ":".join(f"{int(group, 16):x}" for group in groups)
