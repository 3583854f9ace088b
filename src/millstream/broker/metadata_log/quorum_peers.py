"""Sends this replica's requests to others and brings their answers back.

Decides nothing: who asks whom, and again, the replica says.

A peer has two connections: a fetch waits for news on one of them, and a vote behind it would be an election lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from millstream import __version__
from millstream.broker.metadata_log.wire import elections, fetches, voters
from millstream.broker.metadata_log.wire.fetches import FETCH_WAIT_MAX_MS
from millstream.config_fields import from_keys
from millstream.errors import (
    EncodeError,
    KafkaError,
    MillstreamError,
    RetriableError,
    UnsupportedVersion,
)
from millstream.metadata.features import KRAFT_VERSION
from millstream.net.client.connection import Connection
from millstream.net.client.connections import Connections, Lane
from millstream.net.client.core.addresses import Address
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.add_raft_voter import AddRaftVoterResponse
from millstream.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from millstream.protocol.generated.begin_quorum_epoch import BeginQuorumEpochResponse
from millstream.protocol.generated.end_quorum_epoch import EndQuorumEpochResponse
from millstream.protocol.generated.fetch import FetchResponse
from millstream.protocol.generated.fetch_snapshot import FetchSnapshotResponse
from millstream.protocol.generated.remove_raft_voter import RemoveRaftVoterResponse
from millstream.protocol.generated.update_raft_voter import UpdateRaftVoterResponse
from millstream.protocol.generated.vote import VoteResponse
from millstream.raft import messages as raft
from millstream.raft.messages import (
    InboundResponse,
    KraftVersionsResponse,
    RaftResponse,
    Send,
    Unanswered,
)

_LOGGER = logging.getLogger(__name__)
_ON_FETCH_LANE: Final = (raft.FetchRequest, raft.FetchSnapshotRequest)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumPeerSettings:
    request_timeout_ms: int = from_keys("controller.quorum.request.timeout.ms", default=2_000)
    fetch_max_bytes: int = from_keys("controller.quorum.fetch.max.bytes", default=1 << 20)
    fetch_snapshot_max_bytes: int = from_keys(
        "controller.quorum.fetch.snapshot.max.bytes", default=1 << 20
    )


class QuorumPeers:
    """The other replicas, as far as this one speaks to them."""

    def __init__(
        self,
        connections: Connections,
        settings: QuorumPeerSettings,
        cluster_id: str,
        listener: str,
    ) -> None:
        """`listener`: the name of the controllers' listener, under which answers say where a leader is."""
        self._connections = connections
        self._settings = settings
        self._cluster_id = cluster_id
        self._listener = listener
        self._refusal = ""
        """The last one that was told."""

    async def send(self, sent: Send, take: Callable[[InboundResponse | Unanswered], None]) -> None:
        """Sends, and has the answer taken, or that there is none."""
        try:
            async with asyncio.timeout(self._settings.request_timeout_ms / 1000):
                response = await self._asked(sent)
        except EncodeError:
            raise  # a request that no message can hold is this replica's fault, and would be asked for ever
        except (TimeoutError, MillstreamError) as error:
            self._tell(sent, error)
            take(Unanswered(sent))
        else:
            take(InboundResponse(sent, response))

    def _tell(self, sent: Send, error: Exception) -> None:
        """Tells once what will not pass by itself. That a peer cannot be reached its connections tell."""
        refuses = isinstance(error, KafkaError) and not isinstance(error, RetriableError)
        if refuses and str(error) != self._refusal:
            self._refusal = str(error)
            where = ", ".join(f"{each.host}:{each.port}" for each in sent.to.endpoints)
            _LOGGER.warning("the controller at %s refuses what this node asks: %s", where, error)

    async def _asked(self, sent: Send) -> RaftResponse:
        if not sent.to.endpoints:
            raise UnsupportedVersion(f"nobody has said where node {sent.to.id} listens")
        where = sent.to.endpoints[0]
        lane = Lane.FETCH if isinstance(sent.message, _ON_FETCH_LANE) else Lane.MAIN
        connection = await self._connections.get(Address(where.host, where.port), lane)
        return await self._exchanged(connection, sent.message)

    async def _exchanged(self, to: Connection, message: raft.RaftRequest) -> RaftResponse:
        cluster_id, listener, settings = self._cluster_id, self._listener, self._settings
        match message:
            case raft.VoteRequest():
                vote = elections.vote_message(message, cluster_id)
                voted = await to.request(ApiKey.VOTE, vote, VoteResponse)
                return elections.vote_answer(voted, listener)
            case raft.BeginQuorumEpochRequest():
                begin = elections.begin_message(message, cluster_id)
                begun = await to.request(ApiKey.BEGIN_QUORUM_EPOCH, begin, BeginQuorumEpochResponse)
                return elections.begin_answer(begun, listener)
            case raft.EndQuorumEpochRequest():
                end = elections.end_message(message, cluster_id)
                ended = await to.request(ApiKey.END_QUORUM_EPOCH, end, EndQuorumEpochResponse)
                return elections.end_answer(ended, listener)
            case raft.FetchRequest():
                fetch = fetches.fetch_message(
                    message, cluster_id, FETCH_WAIT_MAX_MS, settings.fetch_max_bytes
                )
                fetched = await to.request(ApiKey.FETCH, fetch, FetchResponse)
                return fetches.fetch_answer(fetched, listener)
            case raft.FetchSnapshotRequest():
                snapshot = fetches.fetch_snapshot_message(
                    message, cluster_id, settings.fetch_snapshot_max_bytes
                )
                piece = await to.request(ApiKey.FETCH_SNAPSHOT, snapshot, FetchSnapshotResponse)
                return fetches.fetch_snapshot_answer(piece, listener)
            case raft.UpdateVoterRequest():
                update = voters.update_message(message, cluster_id)
                updated = await to.request(
                    ApiKey.UPDATE_RAFT_VOTER, update, UpdateRaftVoterResponse
                )
                return voters.update_answer(updated, listener)
            case raft.AddVoterRequest():
                add = voters.add_message(message, cluster_id, settings.request_timeout_ms)
                added = await to.request(ApiKey.ADD_RAFT_VOTER, add, AddRaftVoterResponse)
                return voters.change_answer(added.error_code, added.error_message)
            case raft.RemoveVoterRequest():
                remove = voters.remove_message(message, cluster_id)
                removed = await to.request(
                    ApiKey.REMOVE_RAFT_VOTER, remove, RemoveRaftVoterResponse
                )
                return voters.change_answer(removed.error_code, removed.error_message)
            case raft.KraftVersionsRequest():
                return KraftVersionsResponse(kraft_versions=await _kraft_versions(to))


async def _kraft_versions(to: Connection) -> tuple[int, int] | None:
    request = ApiVersionsRequest(
        client_software_name="millstream", client_software_version=__version__
    )
    response = await to.request(ApiKey.API_VERSIONS, request, ApiVersionsResponse)
    for feature in response.supported_features:
        if feature.name == KRAFT_VERSION:
            return feature.min_version, feature.max_version
    return None
