"""A replica's fetches: from the leader, and, while none is known or it is silent, from whoever may know one.

Owns the fetch that is on its way, whom the next one goes to, and what is taken of an answer. Who the leader is,
`Elections` learns from every answer first.
"""

from __future__ import annotations

from collections.abc import Iterable

from millstream.errors import PositionOutOfRange, SnapshotNotFound
from millstream.model import BrokerId, LeaderEpoch
from millstream.raft.election_state import NOBODY
from millstream.raft.log_progress import LogProgress
from millstream.raft.messages import (
    Endpoints,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Peer,
    Send,
    SnapshotInstalled,
)
from millstream.raft.quorum_state import QuorumState, RaftTimeouts
from millstream.raft.ready import SnapshotTransfer, StepOutcome
from millstream.raft.roles import Follower, Resigned, Unattached
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


class Fetching:
    def __init__(self, quorum: QuorumState, log: LogProgress, timeouts: RaftTimeouts) -> None:
        self._quorum = quorum
        self._log = log
        self._timeouts = timeouts
        self._on_its_way: Send | None = None
        self._sent_ms = 0
        self._patience_ms = 0
        """Time that the one on its way has before another replica is asked."""
        self._unanswered: dict[Peer, tuple[Send, int]] = {}
        """The last one to each replica, and when it was sent."""
        self._not_before_ms = 0
        self._turn = 0
        """How many were asked in vain since a leader was last heard of."""
        self._transfer: SnapshotTransfer | None = None
        self._asked_leader: tuple[LeaderEpoch, Peer | None] | None = None
        self.heard_ms: int | None = None
        """When the leader last gave a good answer."""

    def take(self, sent: Send, response: FetchResponse, outcome: StepOutcome) -> None:
        """Takes what the leader of this epoch answered to a fetch from where this log ends, and nothing else.

        Also where another fetch was sent meanwhile: on a slow link every answer may be late. That
        one stays the only one on its way.
        """
        request = sent.message
        assert isinstance(request, FetchRequest), "the driver pairs answers with requests"
        if not self._is_of_leader(sent, response, outcome):
            return
        if request.log != self._log.end or self._quorum.is_installing:
            return  # the log was cut, has grown, or is replaced, since
        self._note_heard(outcome)
        if response.diverging is not None:
            self._log.truncate(outcome, response.diverging)
            return
        if response.snapshot is not None:
            self._log.check_lacks(response.snapshot)
            if self._transfer is None or self._transfer.id != response.snapshot:
                self._transfer = SnapshotTransfer(response.snapshot)
            return
        self._transfer = None
        if response.high_watermark is not None:
            self._log.note_leader_high_watermark(response.high_watermark)
        outcome.append_fetched = response.records

    def take_piece(self, sent: Send, response: FetchSnapshotResponse, outcome: StepOutcome) -> None:
        """Takes the next piece of the snapshot that is on its way.

        A leader that has it no more is asked for another one.
        """
        if response.error in (SnapshotNotFound, PositionOutOfRange):
            self._transfer = None
        if not self._is_of_leader(sent, response, outcome):
            return
        piece = self._transfer.piece(response) if self._transfer else None
        if self._transfer is None or piece is None or self._quorum.is_installing:
            self._not_before_ms = outcome.now_ms + self._timeouts.retry_backoff_ms
            return
        self._note_heard(outcome)
        outcome.snapshot_piece = piece
        self._quorum.is_installing = piece.is_last
        self._transfer = None if piece.is_last else self._transfer.after(piece)

    def _note_heard(self, outcome: StepOutcome) -> None:
        self._turn = 0
        self.heard_ms = outcome.now_ms
        self._quorum.note_successful_fetch(outcome.now_ms)

    def note_installed(self, event: SnapshotInstalled, outcome: StepOutcome) -> None:
        self._quorum.history.start_at(event.id.end_offset, event.voters)
        self._log.start_at(event.id)
        self._end_installing(outcome)

    def note_refused(self, outcome: StepOutcome) -> None:
        self._end_installing(outcome)
        self._back_off(outcome)

    def _end_installing(self, outcome: StepOutcome) -> None:
        """The leader was not asked meanwhile: its silence counts from now on."""
        self._quorum.is_installing = False
        self._quorum.give_time(outcome.now_ms)

    def note_unanswered(self, sent: Send, outcome: StepOutcome) -> None:
        self._note_over(sent)
        if sent == self._on_its_way:
            self._on_its_way = None
            self._back_off(outcome)

    def _is_of_leader(
        self, sent: Send, response: FetchResponse | FetchSnapshotResponse, outcome: StepOutcome
    ) -> bool:
        """Whether this answer is a good one of the leader that is followed now."""
        self._note_over(sent)
        role = self._quorum.role
        is_good = (
            response.error is None
            and isinstance(role, Follower)
            and not role.leader_has_resigned
            and isinstance(sent.message, FetchRequest | FetchSnapshotRequest)
            and sent.message.epoch == response.epoch == role.epoch
            and response.leader_id == role.leader_id
        )
        if sent == self._on_its_way:
            self._on_its_way = None
            if not is_good:
                self._back_off(outcome)
        return is_good

    def maybe_fetch(self, outcome: StepOutcome) -> None:
        """One fetch is on its way to a replica at a time, and only from what is on the disk: a fetch promises what lies
        below it.

        A second one to the same leader would wait behind the first, and each answer of a leader that takes its time be
        later than the one before: so late in the end that nobody waits for it.
        """
        if not self._wants_to_fetch:
            return
        self._follow_role()
        is_idle = not outcome.append_fetched and self._log.is_flushed
        if not is_idle or outcome.now_ms < self.next_fetch_ms:
            return
        if self._on_its_way is not None:  # there was time enough to answer
            self._turn += 1
        peers = self._peers()
        if not peers:  # the first voters may yet be told by hand
            self._not_before_ms = outcome.now_ms + self._timeouts.fetch_retry_ms
            return
        peer = peers[self._turn % len(peers)]
        timeouts = self._timeouts
        sent, sent_ms = self._unanswered.get(peer, (None, 0))
        if sent is not None and outcome.now_ms < sent_ms + timeouts.request_timeout_ms:
            self._on_its_way, self._sent_ms = sent, sent_ms
            self._patience_ms = timeouts.request_timeout_ms
            return
        self._sent_ms = outcome.now_ms
        self._patience_ms = (
            timeouts.fetch_retry_ms if len(peers) > 1 else timeouts.request_timeout_ms
        )
        self._on_its_way = sent = outcome.send(peer, self._request(peer))
        self._unanswered[peer] = sent, outcome.now_ms

    def _note_over(self, sent: Send) -> None:
        if self._unanswered.get(sent.to, (None, 0))[0] == sent:
            del self._unanswered[sent.to]

    def _request(self, peer: Peer) -> FetchRequest | FetchSnapshotRequest:
        quorum = self._quorum
        if self._transfer is not None and peer.id == quorum.leader_id:
            return FetchSnapshotRequest(
                source=quorum.local,
                epoch=quorum.epoch,
                id=self._transfer.id,
                position=self._transfer.position,
            )
        return FetchRequest(
            source=quorum.local,
            epoch=quorum.epoch,
            log=self._log.end,
            high_watermark=self._log.high_watermark,
        )

    def deadline_ms(self, now_ms: int) -> int | None:
        """Returns the time of the next fetch; None where this replica waits for something else, as for its disk."""
        can_fetch = self._wants_to_fetch and self._log.is_flushed
        return max(self.next_fetch_ms, now_ms + 1) if can_fetch else None

    @property
    def next_fetch_ms(self) -> int:
        """Returns the time of the next fetch: at once, unless the last one may still be
        answered or was in vain just now.
        """
        if self._on_its_way is None:
            return self._not_before_ms
        return self._sent_ms + self._patience_ms

    @property
    def _wants_to_fetch(self) -> bool:
        """A replica that stands asks for votes instead; a voter that resigned waits to stand again."""
        quorum = self._quorum
        if quorum.is_closing or quorum.is_installing:
            return False
        match quorum.role:
            case Follower() as role:
                return not (role.leader_has_resigned and quorum.is_voter)
            case Unattached():
                return True
            case Resigned():
                return not quorum.is_voter
            case _:
                return False

    def _follow_role(self) -> None:
        """A new leader is asked at once, whatever is still on its way to another one."""
        leader = self._quorum.leader
        asked = (self._quorum.epoch, leader)
        if asked != self._asked_leader:
            self._asked_leader = asked
            self._on_its_way = None
            self._unanswered.clear()
            self._transfer = None
            self._turn = 0
            if leader is not None:
                self._not_before_ms = 0

    def _peers(self) -> tuple[Peer, ...]:
        """The leader comes first; others are asked once it failed to answer."""
        identity, role = self._quorum.identity, self._quorum.role
        is_followed = isinstance(role, Follower) and not role.leader_has_resigned
        leader = self._quorum.leader if is_followed else None
        return peers_to_ask(
            leader,
            identity.bootstrap_servers,
            self._quorum.voters,
            self._quorum.local.id,
            identity.endpoints,
        )

    def _back_off(self, outcome: StepOutcome) -> None:
        self._turn += 1
        self._not_before_ms = outcome.now_ms + self._timeouts.retry_backoff_ms
