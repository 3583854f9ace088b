"""Whom a replica asks who leads: bootstrap servers and voters, in turn. Asks nobody itself."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.model import BrokerId
from millstream.raft.election_state import NOBODY
from millstream.raft.messages import Endpoints, Peer
from millstream.raft.voter_set import VoterEndpoint, VoterSet


def peers_to_ask(
    leader: Peer | None, bootstrap: Endpoints, voters: VoterSet, own_id: BrokerId, own: Endpoints
) -> tuple[Peer, ...]:
    """Returns all that may know the leader: the one that was known last, bootstrap servers, voters; each
    address and each id once.

    Never this replica, nor whoever had its id before: a disk that was replaced lived at the same address.
    """
    addresses = _addresses(own)
    ids = {own_id}
    found: list[Peer] = []
    known = [Peer(voter.key.id, voter.endpoints) for voter in voters]
    servers = [Peer(NOBODY, (endpoint,)) for endpoint in bootstrap]
    for peer in [*([leader] if leader else []), *servers, *known]:
        reached_already = addresses & _addresses(peer.endpoints)
        if peer.id not in ids and not reached_already:
            found.append(peer)
            addresses |= _addresses(peer.endpoints)
            ids |= {peer.id} - {NOBODY}
    return tuple(found)


def _addresses(endpoints: Iterable[VoterEndpoint]) -> set[tuple[str, int]]:
    return {(endpoint.host, endpoint.port) for endpoint in endpoints}
