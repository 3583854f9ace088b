"""What must hold in a world of raft replicas after every step of every node, whatever fails."""

from __future__ import annotations

from itertools import pairwise

from millstream.protocol.generated.control_records import VotersRecord
from millstream.raft.messages import Appended, RaftEvent, SnapshotInstalled
from millstream.raft.ready import Ready
from millstream.raft.roles import Leader
from millstream.raft.snapshot import SnapshotId
from millstream.raft.voter_set import ReplicaKey, VoterSet, voters_from_record
from tests.sim.raft_log import Entry
from tests.sim.raft_world import Node, RaftWorld


class Invariants:
    def __init__(self, world: RaftWorld) -> None:
        self.world = world
        self.leader_of: dict[int, tuple[ReplicaKey, int]] = {}
        """Who led an epoch, and in which of its runs: a leader that was away may have lost what it had not synced."""
        self.epochs: dict[ReplicaKey, int] = {}
        self.marks: dict[tuple[ReplicaKey, int], int] = {}
        self.committed: list[Entry] = []
        self.compared: dict[ReplicaKey, tuple[int, int]] = {}
        world.after_step.append(self.check)

    @property
    def voters(self) -> VoterSet:
        """Those of the last committed record."""
        return self.voter_sets(self.committed)[-1]

    def voter_sets(self, entries: list[Entry]) -> list[VoterSet]:
        named = [voters_from_record(e) for _, e in entries if isinstance(e, VotersRecord)]
        return [self.world.founders, *named]

    def check(self, node: Node, event: RaftEvent, ready: Ready) -> None:
        key, replica = node.key, node.running
        epoch = replica.quorum.epoch
        assert epoch >= self.epochs.get(key, 0), f"epoch of {key.id} fell"
        self.epochs[key] = epoch
        assert node.stored == replica.quorum.role.election_state, "the election state is on disk"
        if isinstance(replica.quorum.role, Leader):
            leads = (key, node.incarnation)
            assert self.leader_of.setdefault(epoch, leads) == leads, (
                f"epoch {epoch} is led twice: by {key.id}, too"
            )
        self.check_log(node)
        if (
            ready.append
            or ready.truncate_to is not None
            or isinstance(event, Appended | SnapshotInstalled)
        ):
            self.check_voters(node)
        mark = replica.high_watermark
        assert mark >= self.marks.get((key, node.incarnation), 0), f"mark of {key.id} fell"
        self.marks[key, node.incarnation] = mark
        assert mark <= node.log.synced, "what is committed here is on the disk here"
        if mark > len(self.committed):
            self.commit(node, mark)
        self.check_committed(node, mark)

    def check_committed(self, node: Node, mark: int) -> None:
        """Compares what is committed where the log or the mark is another one than at the last step."""
        now = (node.log.changes, mark)
        if self.compared.get(node.key) != now:
            self.compared[node.key] = now
            assert node.log.entries[:mark] == self.committed[:mark], (
                f"{node.key.id} lost or changed committed records"
            )

    def check_log(self, node: Node) -> None:
        start = node.log.start()
        if start.end_offset > 0:
            assert SnapshotId(start.end_offset, start.last_epoch) in node.log.snapshots, (
                f"the log of {node.key.id} starts at {start.end_offset} without a snapshot"
            )

    def check_voters(self, node: Node) -> None:
        """What a replica counts with is what its log says, and a leader has one change at a time."""
        quorum = node.running.quorum
        assert quorum.voters == node.history().voters, (
            f"{node.key.id} counts with voters that its log does not name"
        )
        if isinstance(quorum.role, Leader):
            changes = self.voter_sets(node.log.entries)
            open_changes = changes[len(self.voter_sets(self.committed)) :]
            assert len(open_changes) <= 1, f"{node.key.id} changes voters twice at a time"

    def commit(self, node: Node, mark: int) -> None:
        entries = node.log.entries[:mark]
        assert entries[: len(self.committed)] == self.committed, "a committed record changed"
        voters = node.running.quorum.voters
        disks = [
            (each.key, each.log.entries[: each.log.synced]) for each in self.world.nodes.values()
        ]
        holders = {
            key
            for key, synced in disks + self.world.lost_disks
            if voters.has(key) and synced[:mark] == entries
        }
        assert len(holders) >= voters.majority, (
            f"{mark} is committed but on {len(holders)} disks of voters only"
        )
        self.committed = entries
        self.check_changes()

    def check_changes(self) -> None:
        """One voter comes or goes at a time, and nobody comes back who was not asked for."""
        gone: set[ReplicaKey] = set()
        for before, after in pairwise(self.voter_sets(self.committed)):
            old, new = ({voter.key for voter in voters} for voters in (before, after))
            assert len(old ^ new) <= 1, f"{old ^ new} came and went at once"
            back = (new & gone) - self.world.asked_for
            assert not back, f"{back} were removed, and came back by themselves"
            gone |= old - new
