"""Scripts of classic groups: each command, then everything it leads to.

A script is blocks of `command lines`, `----`, `trace`, separated by blank lines; `#` starts a comment. Run with
MILLSTREAM_REWRITE_SCRIPTS=1 to write the traces anew, and review the difference.

    config KEY=NUMBER ...              limits of the coordinator, first block only
    join NAME [OPTION=VALUE ...]       instance, protocols (a,b), session, rebalance, version; with the id it knows
    sync NAME [MEMBER=TEXT ...]        with assignments, when it leads
    heartbeat NAME | leave NAME ...    with the id and generation it knows
    commit NAME OFFSET | fetch         of partition t-0
    pass MS                            time goes by
    hold | release                     appended records are not committed, or are
    fail                               the next append is refused
    restart                            another coordinator loads the log; who waits is forgotten
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from millstream.coordinator.group.config import ClassicGroupConfig, GroupCoordinatorConfig
from millstream.coordinator.result import Token
from millstream.errors import ERRORS, KafkaError, NotEnoughReplicas
from millstream.protocol.generated.group_records import GroupMetadataValue, OffsetCommitValue
from millstream.protocol.generated.join_group import JoinGroupResponse
from millstream.protocol.generated.leave_group import LeaveGroupResponse
from millstream.protocol.generated.offset_fetch import OffsetFetchResponse
from millstream.protocol.generated.sync_group import SyncGroupResponse
from millstream.protocol.record_frames import decode_group_record
from tests.support.coordinators.classic_group import JoinSettings, SimGroup
from tests.support.coordinators.coordinator import LogEntry, SimCoordinator

SCRIPTS = sorted(Path(__file__).parent.glob("*.txt"))


class Process:
    """A client as the script knows it: what it was told so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.member_id = ""
        self.instance_id: str | None = None
        self.generation = -1


class Story:
    def __init__(self) -> None:
        self.group = SimGroup(
            SimCoordinator(
                GroupCoordinatorConfig(classic=ClassicGroupConfig(initial_rebalance_delay_ms=0))
            ),
            "g",
        )
        self.processes: dict[str, Process] = {}
        self.asked: dict[Token, tuple[Process, str]] = {}
        self.seen_records = 0
        self.seen_state = ""

    @property
    def coordinator(self) -> SimCoordinator:
        return self.group.coordinator

    def run(self, line: str) -> list[str]:
        verb, *words = shlex.split(line)
        getattr(self, f"do_{verb}")(*words)
        return self.trace()

    # What can be done

    def do_config(self, *settings: str) -> None:
        limits = {name: int(value) for name, value in (s.split("=") for s in settings)}
        self.group = SimGroup(
            SimCoordinator(GroupCoordinatorConfig(classic=ClassicGroupConfig(**limits))), "g"
        )

    def do_join(self, name: str, *options: str) -> None:
        process = self.process(name)
        given = dict(option.split("=") for option in options)
        process.instance_id = given.get("instance", process.instance_id)
        settings = JoinSettings(
            protocols=dict.fromkeys(given.get("protocols", "range").split(","), b""),
            session_timeout_ms=int(given.get("session", 10_000)),
            rebalance_timeout_ms=int(given.get("rebalance", 30_000)),
        )
        token = self.group.join(
            process.member_id,
            settings=settings,
            instance_id=process.instance_id,
            version=int(given.get("version", 9)),
            client_id=name,
        )
        self.asked[token] = (process, "JoinGroup")

    def do_sync(self, name: str, *assignments: str) -> None:
        process = self.process(name)
        given = dict(assignment.split("=") for assignment in assignments)
        token = self.group.sync(
            process.member_id,
            process.generation,
            {self.process(member).member_id: text.encode() for member, text in given.items()},
            instance_id=process.instance_id,
        )
        self.asked[token] = (process, "SyncGroup")

    def do_heartbeat(self, name: str) -> None:
        process = self.process(name)
        token = self.group.heartbeat(
            process.member_id, process.generation, instance_id=process.instance_id
        )
        self.asked[token] = (process, "Heartbeat")

    def do_leave(self, *names: str) -> None:
        leaving = [self.process(name) for name in names]
        token = self.group.leave(*((p.member_id, p.instance_id) for p in leaving))
        self.asked[token] = (leaving[0], "LeaveGroup")

    def do_commit(self, name: str, offset: str) -> None:
        process = self.process(name)
        token = self.group.commit(
            {("t", 0): int(offset)},
            member_id=process.member_id,
            generation=process.generation,
            instance_id=process.instance_id,
        )
        self.asked[token] = (process, "OffsetCommit")

    def do_fetch(self) -> None:
        self.asked[self.group.fetch({"t": [0]})] = (self.process("somebody"), "OffsetFetch")

    def do_pass(self, milliseconds: str) -> None:
        self.coordinator.pass_time(int(milliseconds))

    def do_hold(self) -> None:
        self.coordinator.commits_by_itself = False

    def do_release(self) -> None:
        self.coordinator.commits_by_itself = True
        self.coordinator.commit()

    def do_fail(self) -> None:
        self.coordinator.next_append_error = NotEnoughReplicas()

    def do_restart(self) -> None:
        self.group = SimGroup(self.coordinator.restarted(), "g")
        self.asked.clear()

    # What can be seen

    def process(self, name: str) -> Process:
        return self.processes.setdefault(name, Process(name))

    def trace(self) -> list[str]:
        for token, (process, _) in self.asked.items():
            learn(process, self.coordinator.outcomes.get(token))
        written = self.coordinator.log[self.seen_records :]
        lines = [self.record(e.key, e.value) for e in written if isinstance(e, LogEntry)]
        self.seen_records = len(self.coordinator.log)
        for token in sorted(self.asked.keys() & self.coordinator.outcomes.keys()):
            process, api = self.asked.pop(token)
            outcome = self.coordinator.outcomes[token]
            lines.append(f"{process.name} <- {api}: {self.told(outcome)}")
        state = self.state()
        if state != self.seen_state:
            lines.append(f"group is {state}")
            self.seen_state = state
        return lines

    def state(self) -> str:
        group = self.coordinator.shard.groups.find("g")
        if group is None:
            return "Dead"
        members = ", ".join(self.names(m) for m in group.members) or "nobody"
        return f"{group.state} in generation {group.generation} with {members}"

    def names(self, member_id: str) -> str:
        """Member ids are random: the trace shows whose they are."""
        owners = [p.name for p in self.processes.values() if p.member_id == member_id]
        return owners[0] if owners else f"({member_id.rsplit('-', 5)[0]})"

    def record(self, key: bytes, value: bytes | None) -> str:
        _, said = decode_group_record(key, value)
        match said:
            case GroupMetadataValue():
                members = " ".join(
                    f"{self.names(m.member_id)}={m.assignment.decode()}" for m in said.members
                )
                return f"log: group of generation {said.generation}, {said.protocol}: {members or 'nobody'}"
            case OffsetCommitValue():
                return f"log: offset {said.offset}"
            case _:
                return "log: tombstone"

    def told(self, outcome: object) -> str:
        match outcome:
            case KafkaError():
                return outcome.name
            case JoinGroupResponse(error_code=0):
                members = ", ".join(self.names(m.member_id) for m in outcome.members)
                extra = f", members {members}" if members else ""
                extra += ", skips the assignment" if outcome.skip_assignment else ""
                return f"generation {outcome.generation_id}, {outcome.protocol_name}, led by {self.names(outcome.leader)}{extra}"
            case JoinGroupResponse():
                return ERRORS[outcome.error_code].name
            case SyncGroupResponse():
                return f"{outcome.assignment.decode()!r}"
            case LeaveGroupResponse():
                return ", ".join(
                    ERRORS[m.error_code].name if m.error_code else "gone" for m in outcome.members
                )
            case OffsetFetchResponse():
                return str(outcome.groups[0].topics[0].partitions[0].committed_offset)
            case _:
                return "ok"


def learn(process: Process, outcome: object) -> None:
    if isinstance(outcome, JoinGroupResponse):
        process.member_id = outcome.member_id or process.member_id
        if outcome.error_code == 0:
            process.generation = outcome.generation_id


def replayed(text: str) -> str:
    """The script with the traces as they are now."""
    story = Story()
    blocks = []
    for block in text.strip().split("\n\n"):
        commands = block.split("\n----")[0].splitlines()
        trace = [
            line
            for command in commands
            if not command.startswith("#")
            for line in story.run(command)
        ]
        if all(command.startswith("#") for command in commands):
            blocks.append(block)
        else:
            blocks.append("\n".join([*commands, "----", *trace]))
    return "\n\n".join(blocks) + "\n"


@pytest.mark.parametrize("script", SCRIPTS, ids=[path.stem for path in SCRIPTS])
def test_script(script: Path) -> None:
    now = replayed(script.read_text())
    if os.environ.get("MILLSTREAM_REWRITE_SCRIPTS"):
        script.write_text(now)
    assert script.read_text() == now


def test_there_are_scripts() -> None:
    assert len(SCRIPTS) >= 6
