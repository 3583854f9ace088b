"""Members that come, go, restart and fall silent in any order, over a coordinator that lags, fails to write and restarts.

Whatever happens: one generation at a time, everybody is answered in time, everyone gets what the leader assigned, nobody
hears of what is not committed, and the log alone gives the same groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.config import ClassicGroupConfig, GroupCoordinatorConfig
from millstream.coordinator.result import Token
from millstream.errors import CoordinatorNotAvailable, NotEnoughReplicas
from millstream.protocol.enums import GroupState
from millstream.protocol.generated.join_group import JoinGroupResponse
from millstream.protocol.generated.sync_group import SyncGroupResponse
from millstream.testing.sim_random import SimRandom
from tests.support.coordinators.classic_group import JoinSettings, SimGroup
from tests.support.coordinators.coordinator import COMMIT_TIMEOUT_MS, SimCoordinator

PROCESSES = 4
STATIC_FROM = 2
"""Processes from this index on are static members."""
REBALANCE_TIMEOUT_MS = 15_000
ANSWER_TIMEOUT_MS = REBALANCE_TIMEOUT_MS + COMMIT_TIMEOUT_MS
CONFIG = GroupCoordinatorConfig(
    classic=ClassicGroupConfig(initial_rebalance_delay_ms=3_000),
    offsets_retention_check_interval_ms=7_000,
)

Step = tuple[str, *tuple[int | str | list[int], ...]]

WEIGHTS = {
    "settle": 6, "gather": 2, "linger": 2, "beat": 4, "revive": 4,
    "join": 4, "sync": 4, "heartbeat": 2, "leave": 2, "forget": 1, "commit": 3, "pass_time": 4,
    "hold": 1, "release": 2, "fail_append": 1, "restart": 1,
}  # fmt: skip
STEPS_PER_STORY = 40


def random_story(seed: int) -> Iterator[Step]:
    """Groups settle often enough that there is something to disturb."""
    random = SimRandom(seed)
    names = [name for name, weight in WEIGHTS.items() for _ in range(weight)]
    for _ in range(STEPS_PER_STORY):
        name = names[random.randrange(len(names))]
        process = random.randrange(PROCESSES)
        match name:
            case "settle" | "gather" | "linger" | "beat":
                yield name, [i for i in range(PROCESSES) if random.random() < 0.8]
            case "join":
                protocols = ["range", "range", "range", "range,sticky", "sticky,range"]
                yield name, process, protocols[random.randrange(len(protocols))]
            case "commit":
                yield name, process, random.randrange(1_000)
            case "pass_time":
                yield name, [1, 500, 3_000, 9_999, 15_000][random.randrange(5)]
            case "hold" | "release" | "fail_append" | "restart":
                yield (name,)
            case _:
                yield name, process


@dataclass
class Process:
    index: int
    member_id: str = ""
    generation: int = -1
    leads: JoinGroupResponse | None = None

    @property
    def instance_id(self) -> str | None:
        return f"instance-{self.index}" if self.index >= STATIC_FROM else None


@dataclass
class Asked:
    process: Process
    at_ms: int
    generation: int


class Cluster:
    def __init__(self) -> None:
        self.processes = [Process(index) for index in range(PROCESSES)]
        self.group = SimGroup(SimCoordinator(CONFIG))
        self.begin_life()

    def begin_life(self) -> None:
        """What is only true of one coordinator: generations that were never stored may come again after it."""
        self.asked: dict[Token, Asked] = {}
        self.answered: set[Token] = set()
        self.leaders: dict[int, tuple[str, str | None]] = {}
        self.highest_generation = 0
        self.held_from: int | None = None
        self.may_have_lost_a_record = False

    @property
    def coordinator(self) -> SimCoordinator:
        return self.group.coordinator

    # Steps

    def join(self, index: int, protocols: str = "range") -> None:
        process = self.processes[index]
        settings = JoinSettings(
            dict.fromkeys(protocols.split(","), b""), rebalance_timeout_ms=REBALANCE_TIMEOUT_MS
        )
        token = self.group.join(
            process.member_id, settings=settings, instance_id=process.instance_id
        )
        self.ask(token, process)

    def sync(self, index: int) -> None:
        process = self.processes[index]
        assignments = {}
        if process.leads is not None:
            assignments = {
                member.member_id: share(
                    process.generation, member.group_instance_id or member.member_id
                )
                for member in process.leads.members
            }
        token = self.group.sync(
            process.member_id, process.generation, assignments, instance_id=process.instance_id
        )
        self.ask(token, process)

    def heartbeat(self, index: int) -> None:
        process = self.processes[index]
        token = self.group.heartbeat(
            process.member_id, process.generation, instance_id=process.instance_id
        )
        self.ask(token, process)

    def leave(self, index: int) -> None:
        process = self.processes[index]
        self.ask(self.group.leave((process.member_id, process.instance_id)), process)

    def forget(self, index: int) -> None:
        """The process is restarted."""
        self.processes[index] = Process(index)

    def commit(self, index: int, offset: int) -> None:
        process = self.processes[index]
        token = self.group.commit(
            {("t", index): offset},
            member_id=process.member_id,
            generation=process.generation,
            instance_id=process.instance_id,
        )
        self.ask(token, process)

    def gather(self, indexes: list[int]) -> None:
        """They join, with the ids they are told on the way."""
        for index in indexes:
            self.run("join", index)
            if self.processes[index].instance_id is None:
                self.run("join", index)

    def settle(self, indexes: list[int]) -> None:
        """They join, wait until the generation begins, and fetch their assignments."""
        self.gather(indexes)
        for _ in range(3):
            self.beat(indexes)
            self.run("pass_time", 3_000)
        for index in indexes:
            self.run("sync", index)

    def linger(self, indexes: list[int]) -> None:
        """They stay alive and do nothing else."""
        for _ in range(6):
            self.beat(indexes)
            self.run("pass_time", 4_000)

    def revive(self, index: int) -> None:
        """The process is restarted and back at once."""
        self.forget(index)
        self.gather([index])
        self.run("sync", index)

    def beat(self, indexes: list[int]) -> None:
        for index in indexes:
            self.run("heartbeat", index)

    def pass_time(self, duration_ms: int) -> None:
        self.coordinator.pass_time(duration_ms)

    def hold(self) -> None:
        if self.held_from is None:
            self.held_from = len(self.coordinator.log)
            self.coordinator.commits_by_itself = False

    def release(self) -> None:
        self.held_from = None
        self.coordinator.commits_by_itself = True
        self.coordinator.commit()

    def fail_append(self) -> None:
        self.coordinator.next_append_error = NotEnoughReplicas()
        self.may_have_lost_a_record = True

    def restart(self) -> None:
        self.group = SimGroup(self.coordinator.restarted())
        self.begin_life()

    # What must hold

    @property
    def is_uncommitted(self) -> bool:
        return self.held_from is not None and len(self.coordinator.log) > self.held_from

    def ask(self, token: Token, process: Process) -> None:
        self.asked[token] = Asked(process, self.coordinator.now.monotonic_ms, process.generation)

    def run(self, name: str, *arguments: int | str | list[int]) -> None:
        was_uncommitted = self.is_uncommitted
        getattr(self, name)(*arguments)
        is_uncommitted = was_uncommitted and self.held_from is not None
        for token in self.coordinator.outcomes.keys() - self.answered:
            self.check_answer(token, is_uncommitted=is_uncommitted)
        self.answered = set(self.coordinator.outcomes)
        self.check_waiting()
        self.check_group()
        self.check_log()

    def check_answer(self, token: Token, *, is_uncommitted: bool) -> None:
        outcome = self.coordinator.outcomes[token]
        asked = self.asked.get(token)
        if is_uncommitted:
            assert isinstance(outcome, CoordinatorNotAvailable), "told of what is not committed"
        if asked is None or asked.process is not self.processes[asked.process.index]:
            return  # the process was restarted and does not listen
        if isinstance(outcome, JoinGroupResponse):
            self.learn(asked.process, outcome)
        elif isinstance(outcome, SyncGroupResponse):
            name = asked.process.instance_id or asked.process.member_id
            assert outcome.assignment in (b"", share(asked.generation, name)), (
                "not what was assigned"
            )

    def learn(self, process: Process, response: JoinGroupResponse) -> None:
        process.member_id = response.member_id
        if response.error_code:
            return
        process.generation = response.generation_id
        process.leads = response if response.members and not response.skip_assignment else None
        said = (response.leader, response.protocol_name)
        known = self.leaders.setdefault(response.generation_id, said)
        assert known[1] == said[1], "two protocols in one generation"
        assert known[0] == said[0] or process.instance_id or known[0].startswith("instance"), (
            "two leaders"
        )

    def check_waiting(self) -> None:
        now_ms = self.coordinator.now.monotonic_ms
        for token, asked in self.asked.items():
            waits_ms = now_ms - asked.at_ms
            assert token in self.answered or waits_ms <= ANSWER_TIMEOUT_MS, "nobody waits for ever"

    def check_group(self) -> None:
        group = self.coordinator.shard.groups.find("group")
        if group is None:  # it expired, and will begin anew
            self.highest_generation = 0
            self.leaders.clear()
            return
        assert group.generation >= self.highest_generation, "a generation went back"
        self.highest_generation = group.generation
        assert group.joining_count == sum(m.joining is not None for m in group.members.values())
        assert group.leader in (group.members or {None: None})
        assert group.pending_sync <= group.members.keys()
        if group.state is not GroupState.PREPARING_REBALANCE:
            assert group.joining_count == 0, "somebody waits for a generation that has begun"
        if group.state is not GroupState.COMPLETING_REBALANCE:
            assert not any(m.syncing for m in group.members.values()), "somebody waits in vain"

    def check_log(self) -> None:
        """A coordinator that loads the log knows what this one knows, as far as it was ever written."""
        live = self.coordinator.shard
        loaded = self.coordinator.restarted().shard
        assert loaded.offsets.of_group("group") == live.offsets.of_group("group")
        group = live.groups.find("group")
        if group is None:
            assert loaded.groups.find("group") is None
        elif (
            group.state in (GroupState.EMPTY, GroupState.STABLE) and not self.may_have_lost_a_record
        ):
            again = loaded.groups.find("group")
            assert again is not None, "a group that was never written"
            assert hard_state(again) == hard_state(group)


def share(generation: int, name: str) -> bytes:
    return f"{generation} {name}".encode()


def hard_state(group: ClassicGroup) -> tuple[object, ...]:
    members = [(m.member_id, m.group_instance_id, m.client_id) for m in group.members.values()]
    assignments = group.assignments if group.state is GroupState.STABLE else {}
    return group.state, group.generation, group.protocol, group.leader, members, assignments


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_any_interleaving(seed: int) -> None:
    cluster = Cluster()
    for step in random_story(seed):
        cluster.run(*step)
    cluster.run("release")
    cluster.run("pass_time", ANSWER_TIMEOUT_MS)
    assert cluster.asked.keys() <= cluster.answered
    group = cluster.coordinator.shard.groups.find("group")
    members = [] if group is None else list(group.members.values())
    assert not [member for member in members if member.joining or member.syncing]
