"""The rules of giving votes. Pure; asking for votes and counting them is elsewhere."""

from __future__ import annotations

from millstream.raft.election_state import NOBODY
from millstream.raft.messages import LogPosition, VoteRequest
from millstream.raft.roles import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    Resigned,
    Role,
    Unattached,
)


def may_grant(role: Role, request: VoteRequest, own_log: LogPosition) -> bool:
    """The answer to a request of the role's own epoch.

    A vote is given once an epoch, to a log that is at least as long as the own one. A pre-vote binds no
    replica, but is refused by one that hears from a leader: that keeps a replica with a broken link from
    disturbing the others (KIP-996).
    """
    if not request.log.is_at_least(own_log):
        return False
    return _would_elect(role) if request.pre_vote else _may_vote(role, request)


def why_refused(role: Role, request: VoteRequest, own_log: LogPosition) -> str:
    """Returns the reason why `may_grant` is false, for the log."""
    theirs = request.log
    if not theirs.is_at_least(own_log):
        return (
            f"its log ends at offset {theirs.end_offset} of epoch {theirs.last_epoch}, "
            f"this one at offset {own_log.end_offset} of epoch {own_log.last_epoch}"
        )
    match role:
        case Leader():
            return "this node leads"
        case Resigned():
            return "this node led this epoch"
        case Candidate():
            return "this node stands in this epoch itself"
        case Follower() if request.pre_vote:
            return f"node {role.leader_id} leads and answers"
        case Follower():
            return f"node {role.leader_id} leads this epoch"
        case Unattached() | Prospective() if role.voted is not None:
            return f"this node has voted for {role.voted.id} in this epoch"
        case Unattached() | Prospective():
            return f"node {role.leader_id} leads this epoch"


def _would_elect(role: Role) -> bool:
    match role:
        case Leader():
            return False
        case Follower():
            return not role.has_fetched
        case Unattached() | Prospective() | Candidate() | Resigned():
            return True


def _may_vote(role: Role, request: VoteRequest) -> bool:
    match role:
        case Unattached() | Prospective():
            if role.voted is not None:
                return role.voted.matches(request.source)
            return role.leader_id == NOBODY
        case Follower():
            return role.voted is not None and role.voted.matches(request.source)
        case Candidate() | Leader() | Resigned():
            return False
