"""What befalls a quorum, by seed: each scenario makes its world, runs through its faults, and ends settled.

The invariants are checked after every step; what a scenario says beyond them stands in it.
"""

from __future__ import annotations

from millstream.model import ZERO_UUID, BrokerId
from millstream.raft.messages import (
    FetchRequest,
    FetchSnapshotRequest,
    RaftEvent,
    VoterChangeResponse,
    VoteRequest,
)
from millstream.raft.ready import Ready
from millstream.raft.voter_set import ReplicaKey
from tests.sim.raft_invariants import Invariants
from tests.sim.raft_log import text_of
from tests.sim.raft_world import Node, RaftWorld

_FETCHES_A_SECOND = 12
"""An idle follower's: one is held for 100 ms."""


class World(RaftWorld):
    """A world whose invariants are checked, with all its nodes up."""

    def __init__(
        self,
        voters: int,
        seed: int = 0,
        *,
        observers: int = 0,
        latency_ms: int = 5,
        is_static: bool = False,
    ) -> None:
        super().__init__(voters, seed, observers=observers, latency_ms=latency_ms)
        self.invariants = Invariants(self)
        for node_id, node in self.nodes.items():
            node.is_static = is_static
            self.start(node_id)

    def elected(self, within_ms: int = 20_000) -> Node:
        for _ in range(within_ms // 100):
            self.run(100)
            leader = self.leader()
            if leader is not None:
                return leader
        raise AssertionError(f"no leader within {within_ms} ms")

    def settle(self, text: str = "after", within_ms: int = 10_000) -> Node:
        """After faults stop: one leader, which is a voter; a new record is on every disk, and is committed on every node."""
        self.heal()
        for node_id, node in self.nodes.items():
            if node.replica is None:
                self.start(node_id)
        self.run(within_ms)
        (leader,) = self.leaders()
        assert leader.running.quorum.is_voter, "a leader that was removed goes"
        assert self.propose(text)
        self.run(3_000)
        (leader,) = self.leaders()
        logs = [node.log.entries for node in self.nodes.values()]
        assert all(log == logs[0] for log in logs)
        assert text_of(logs[0][-1][1]) == text
        assert {node.high_watermark for node in self.nodes.values()} == {len(logs[0])}
        self.check_quiet(leader)
        return leader

    def check_quiet(self, leader: Node) -> None:
        """Nobody stands any more, and nobody fetches more than it has to."""
        self.sent.clear()
        epoch = leader.running.quorum.epoch
        self.run(1_000)
        votes = sum(count for (_, kind), count in self.sent.items() if kind is VoteRequest)
        assert votes == 0, "there is a leader, and somebody stands"
        for node_id in self.nodes:
            fetches = sum(self.sent[node_id, kind] for kind in (FetchRequest, FetchSnapshotRequest))
            assert fetches <= _FETCHES_A_SECOND, f"{node_id} fetches {fetches} times a second"
        assert leader.running.quorum.epoch == epoch

    def until_voters_are(self, expected: set[int], within_ms: int = 30_000) -> None:
        for _ in range(within_ms // 100):
            if self.invariants.voters.ids == expected:
                return
            self.run(100)
        raise AssertionError(f"the voters are {self.invariants.voters}, not {expected}")

    def change(self, node_id: int, *, adds: bool, within_ms: int = 30_000) -> None:
        """Adds or removes a voter, asking again until that is done."""
        for _ in range(within_ms // 1_000):
            named = self.invariants.voters.get(BrokerId(node_id))
            if adds == (named is not None):
                return
            if named is None:
                self.add(node_id)
            else:
                self.remove(named.key)
            self.run(1_000)
        raise AssertionError(f"{node_id} was not {'added' if adds else 'removed'} in time")


def first_election(seed: int, voters: int = 3) -> None:
    world = World(voters, seed)
    leader = world.elected()
    world.settle(f"seed {seed}")
    assert leader.key.id in world.nodes


def equal_wires(seed: int) -> None:
    """All start at once and hear of each other at once: only the random part of time-outs tells them apart."""
    World(5, seed, latency_ms=1).elected()


def records_of_an_epoch_before(seed: int) -> None:
    """A majority has a record of an epoch that ended, and it is lost all the same (figure 8 of the Raft paper, KAFKA-12619)."""
    world = World(5, seed)
    first = world.elected().key.id
    world.run(3_000)
    second, *others = (n for n in world.nodes if n != first)
    world.cut = {frozenset((one, other)) for one in (first, second) for other in others}
    world.propose("of an epoch before")
    world.run(300)
    world.crash(first)
    world.crash(second)
    world.slow_disks = set(world.nodes)
    third = world.elected()
    while third.log.synced < len(third.log.entries):
        world.run(1)
    world.crash(third.key.id)
    world.heal()
    world.slow_disks = {first, second}
    world.start(first)
    world.start(second)
    world.elected()
    world.run(world.random.randrange(300))
    world.crash(first)
    world.crash(second)
    world.start(third.key.id)
    world.elected()
    world.run(1_000)
    world.settle()


def quick_restarts(seed: int) -> None:
    """A leader is back before anybody misses it, without what it had not synced (KAFKA-10527, KAFKA-10533)."""
    world = World(3, seed)
    for number in range(6):
        leader = world.elected()
        world.slow_disks = {leader.key.id}
        for each in range(3):
            world.propose(f"{number}/{each}")
        world.run(world.random.randrange(400))
        world.crash(leader.key.id)
        world.run(world.random.randrange(200))
        world.start(leader.key.id)
    world.settle()


def slow_followers(seed: int) -> None:
    """What they have not synced does not count, however often they fetch (KAFKA-17332)."""
    world = World(3, seed)
    leader = world.elected()
    world.run(3_000)
    world.slow_disks = world.nodes.keys() - {leader.key.id}
    for number in range(10):
        world.propose(f"record {number}")
        world.run(world.random.randrange(300))
    world.settle()


def killed_leader(seed: int, voters: int = 3) -> None:
    world = World(voters, seed)
    old = world.elected()
    world.propose("kept")
    world.run(1_000)
    world.propose("perhaps")
    world.crash(old.key.id)
    new = world.elected(within_ms=5_000)
    assert new.key.id != old.key.id
    world.settle()
    assert "kept" in [text_of(entry) for _, entry in world.invariants.committed]


def resigned_leader(seed: int, voters: int = 5) -> None:
    """Its successor leads without an election time-out, and without a lost election (KAFKA-20895)."""
    world = World(voters, seed)
    old = world.elected()
    world.run(3_000)
    epoch = old.running.quorum.epoch
    stood: set[int] = set()

    def note(node: Node, _event: RaftEvent, ready: Ready) -> None:
        stood.update(node.key.id for change in ready.role_changes if change.role == "Prospective")

    world.after_step.append(note)
    world.shut_down(old.key.id)
    world.run(500)
    new = world.leader()
    assert new is not None
    assert new.running.quorum.epoch == epoch + 1
    assert stood == {new.key.id}
    assert old.running.has_handed_over
    world.crash(old.key.id)
    world.settle()


def isolated_leader(seed: int) -> None:
    """It steps down and commits nothing (KAFKA-15489)."""
    world = World(3, seed)
    old = world.elected()
    world.run(3_000)
    world.isolate(old.key.id)
    mark = old.high_watermark
    world.propose("never committed by the old leader")
    world.run(3_000)
    assert not old.running.is_leader
    world.run(5_000)
    assert old.high_watermark == mark
    assert world.leader() is not None
    world.settle()


def half_a_leader(seed: int) -> None:
    """A leader that hears nobody, or that nobody hears, is replaced and steps down."""
    world = World(3, seed)
    old = world.elected()
    world.run(3_000)
    (world.deafen if seed % 2 else world.mute)(old.key.id)
    world.run(8_000)
    assert not old.running.is_leader
    new = world.leader()
    assert new is not None
    assert world.propose("x")
    world.run(1_000)
    assert text_of(world.invariants.committed[-1][1]) == "x"
    world.settle()


def broken_link(seed: int) -> None:
    """A follower that hears nothing does not raise the epoch (KIP-996)."""
    world = World(3, seed)
    leader = world.elected()
    world.run(3_000)
    epoch = leader.running.quorum.epoch
    world.isolate(next(n for n in world.nodes if n != leader.key.id))
    world.run(20_000)
    assert world.settle().running.quorum.epoch == epoch


def flapping_links(seed: int) -> None:
    """The links of one node, or the one between two, come and go every 200 ms for a minute: fewer than 20 elections."""
    world = World(3, seed)
    leader = world.elected()
    world.run(3_000)
    epoch = leader.running.quorum.epoch
    one, other = world.random.sample(list(world.nodes), 2)
    for number in range(300):
        if number % 2:
            world.heal()
        elif seed % 2:
            world.isolate(one)
        else:
            world.cut = {frozenset((one, other))}
        world.propose(f"record {number}")
        world.run(200)
    raised = world.settle().running.quorum.epoch - epoch
    assert raised < 20, f"{raised} elections"


def back_to_back_isolations(seed: int) -> None:
    world = World(5, seed)
    for _ in range(3):
        leader = world.elected()
        world.propose("x")
        world.isolate(leader.key.id)
        world.run(6_000)
        world.heal()
    world.settle()


def behind_the_log(seed: int) -> None:
    """A voter behind the log start joins by a snapshot, also when it is killed midway (KAFKA-14618)."""
    world = World(3, seed)
    leader = world.elected()
    late = next(n for n in world.nodes if n != leader.key.id)
    world.crash(late)
    for number in range(20):
        world.propose(f"record {number}")
        world.run(100)
        world.snapshot(leader.key.id)
    assert leader.log.start_offset > 20
    world.start(late)
    for _ in range(3):
        world.run(world.random.randrange(200))
        world.crash(late)
        world.start(late)
    world.settle()
    assert world.nodes[late].log.start_offset > 20


def leader_goes_while_it_sends_a_snapshot(seed: int) -> None:
    """The next one has another snapshot."""
    world = World(3, seed)
    leader = world.elected()
    late = next(n for n in world.nodes if n != leader.key.id)
    world.isolate(late)
    for number in range(20):
        world.propose(f"record {number}")
        world.run(100)
        for node_id in world.nodes:
            if world.random.random() < 0.5:
                world.snapshot(node_id)
    world.heal()
    world.run(world.random.randrange(300))
    world.crash(leader.key.id)
    world.settle()


def observers_follow(seed: int) -> None:
    """They find the leader by themselves, whoever that is, and cut what a lost leader wrote."""
    world = World(3, seed, observers=2)
    for _ in range(2):
        leader = world.elected()
        world.run(2_000)
        world.propose("x")
        world.run(world.random.randrange(20))
        world.crash(leader.key.id)
        world.run(8_000)
        leading = world.elected()
        assert all(world.nodes[n].running.quorum.leader_id == leading.key.id for n in (4, 5))
        world.start(leader.key.id)
    world.settle()
    assert {4, 5}.isdisjoint(world.invariants.voters.ids)


def removed_leader(seed: int) -> None:
    """It leads on until that is committed, and goes then (KAFKA-16530, KAFKA-17608)."""
    world = World(3, seed)
    leader = world.elected()
    world.run(1_000)
    token = world.remove(leader.key)
    for number in range(5):
        world.propose(f"record {number}")
        world.run(world.random.randrange(30))
    world.run(3_000)
    answer = world.answer(token)
    assert isinstance(answer, VoterChangeResponse)
    assert answer.error is None
    assert not leader.running.is_leader
    assert world.settle().key.id != leader.key.id
    assert world.invariants.voters.ids == world.nodes.keys() - {leader.key.id}


def removed_voter_never_sees_it(seed: int) -> None:
    """It is cut off while it is removed, and disturbs nobody when it is back (KAFKA-17030)."""
    world = World(4, seed)
    leader = world.elected()
    world.run(2_000)
    gone = world.nodes[next(n for n in world.nodes if n != leader.key.id)]
    world.cut |= {frozenset((gone.key.id, leader.key.id))}
    world.change(gone.key.id, adds=False)
    epoch = world.elected().running.quorum.epoch
    world.run(10_000)
    assert world.elected().running.quorum.epoch == epoch
    assert world.settle().running.quorum.epoch == epoch


def removed_voter_stays_away(seed: int) -> None:
    """Whoever was removed waits to be asked for, also after a restart and behind a snapshot (KAFKA-19850)."""
    world = World(3, seed)
    for node in world.nodes.values():
        node.joins_by_itself = True
        world.crash(node.key.id)
        world.start(node.key.id)
    leader = world.elected()
    world.run(2_000)
    gone = next(n for n in world.nodes if n != leader.key.id)
    world.change(gone, adds=False)
    world.run(world.random.randrange(6_000))
    for number in range(3):
        world.propose(f"record {number}")
        world.run(1_000)
        world.snapshot(gone)
        if world.random.random() < 0.7:
            world.crash(gone)
            world.start(gone)
    world.settle()
    world.run(6_000)
    assert gone not in world.invariants.voters.ids
    world.change(gone, adds=True)
    world.settle()


def static_quorum(seed: int) -> None:
    """Its voters become records while leaders come and go; then one is removed and one is added."""
    world = World(3, seed, is_static=True)
    world.elected()
    world.run(1_000)
    for _ in range(100):
        down = [node_id for node_id, node in world.nodes.items() if node.replica is None]
        if down and world.random.random() < 0.5:
            world.start(down[0])
        elif not down and world.random.random() < 0.3:
            world.crash(world.elected().key.id)
        if world.upgrade_kraft_version() and world.elected().running.quorum.kraft_version == 1:
            break
        world.run(1_000)
    leader = world.settle()
    assert leader.running.quorum.kraft_version == 1
    assert {voter.key for voter in world.invariants.voters} == {
        node.key for node in world.nodes.values()
    }
    gone = next(n for n in world.nodes if n != leader.key.id)
    for adds in (False, True):
        world.change(gone, adds=adds)
    world.settle()


def added_voter_has_not_seen_it(seed: int) -> None:
    """It is needed for a majority while its own log does not say yet that it votes."""
    world = World(2, seed, observers=1)
    leader = world.elected()
    other = next(n for n in (1, 2) if n != leader.key.id)
    world.run(2_000)
    world.add(3)
    while 3 not in leader.running.quorum.voters.ids:
        world.run(1)
    world.cut = {frozenset((leader.key.id, 3))}
    world.run(500)
    assert 3 in world.nodes[other].running.quorum.voters.ids
    assert 3 not in world.nodes[3].running.quorum.voters.ids
    world.crash(leader.key.id)
    assert world.elected().key.id == other
    world.settle()


def replaced_disks(seed: int) -> None:
    """One voter after the other gets a new disk, joins by itself and counts again, under load."""
    world = World(3, seed)
    for node in world.nodes.values():
        node.joins_by_itself = True
    for node_id in world.nodes:
        world.elected()
        world.run(2_000)
        if not world.may_lose(node_id):
            continue
        world.wipe(node_id)
        world.start(node_id)
        key = world.nodes[node_id].key
        for number in range(300):
            if world.invariants.voters.has(key):
                break
            world.propose(f"{node_id}/{number}")
            world.run(100)
        assert world.invariants.voters.has(key), "the new disk does not vote"
    world.settle()


def changes_under_leader_changes(seed: int) -> None:
    """A change that its leader could not commit is taken back everywhere, or is the next one's."""
    world = World(3, seed, observers=2)
    world.elected()
    world.run(2_000)
    for _ in range(4):
        leader = world.elected()
        named = world.invariants.voters
        candidates = [n for n in world.nodes if n not in named.ids]
        world.isolate(leader.key.id)
        if candidates and world.random.random() < 0.6:
            world.add(world.random.choice(candidates))
        elif len(named) > 1:
            world.remove(world.random.choice([voter.key for voter in named]))
        world.run(world.random.randrange(4_000))
        world.heal()
        world.run(world.random.randrange(3_000))
    world.settle()


_FAULTS = (
    "crash", "start", "isolate", "heal", "lossy", "twice", "late", "propose", "propose", "propose", "resign", "snapshot", "slow",
    "deafen", "mute",
)  # fmt: skip
_CHANGES = ("add", "remove", "wipe")


def anything(seed: int, *, changes: bool = False) -> None:
    world = World(3 + 2 * (seed % 2), seed, observers=2 if changes else 0)
    for node in world.nodes.values():
        node.joins_by_itself = changes and world.random.random() < 0.3
    for round_number in range(40 if changes else 25):
        actions = _FAULTS + _CHANGES if changes else _FAULTS
        _befall(world, world.random.choice(actions), f"{seed}/{round_number}")
        world.run(world.random.randrange(1_500))
    world.settle(within_ms=20_000)


def anything_with_changes(seed: int) -> None:
    anything(seed, changes=True)


def _befall(world: World, action: str, text: str) -> None:
    node_id = world.random.choice(list(world.nodes))
    node = world.nodes[node_id]
    match action:
        case "crash":
            world.crash(node_id)
        case "start" if node.replica is None:
            world.start(node_id)
        case "isolate":
            world.isolate(node_id)
        case "deafen":
            world.deafen(node_id)
        case "mute":
            world.mute(node_id)
        case "heal":
            world.heal()
        case "lossy":
            world.loss = 0.3
        case "twice":
            world.duplication = 0.3
        case "late":
            world.late_ms = 300
        case "slow":
            world.slow_disks.add(node_id)
        case "resign":
            world.resign(node_id)
        case "snapshot":
            world.snapshot(node_id)
        case "propose":
            world.propose(text)
        case "add":
            world.add(node_id)
        case "remove" if world.may_lose(node_id):
            world.remove(
                node.key if world.random.random() < 0.9 else ReplicaKey(node.key.id, ZERO_UUID)
            )
        case "wipe" if world.may_lose(node_id):
            world.wipe(node_id)
        case _:
            pass
