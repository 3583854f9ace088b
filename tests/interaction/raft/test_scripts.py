"""Scripts of the quorum, in the manner of etcd: commands, then `----`, then everything that happened after each.

voters N          replicas 1..N, none of them running
at MS             the clock
start|crash N     with what it has on disk; a crash loses what was not synced
tick|flush|resign N
propose N TEXT
deliver A B       the oldest message on its way from A to B (`deliver A B *`: all of them)
drop A B          loses it
                  a search for a leader is lost: no script is about it
log N             entries as epoch:text, a bar after the last synced one
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import fields, replace
from pathlib import Path
from typing import NamedTuple

import pytest

from millstream.model import Offset, Uuid
from millstream.raft.election_state import ElectionState
from millstream.raft.messages import (
    FetchRequest,
    FetchResponse,
    Flushed,
    InboundRequest,
    InboundResponse,
    LogPosition,
    Propose,
    Resign,
    Send,
    Tick,
)
from millstream.raft.quorum_state import RaftIdentity, RaftTimeouts
from millstream.raft.ready import Ready
from millstream.raft.replica import RaftReplica
from millstream.raft.roles import Follower
from millstream.raft.voter_set import ReplicaKey, Voter, VoterSet
from millstream.runtime import Instant
from tests.sim.raft_log import text_of

SCRIPTS = sorted(Path(__file__).with_name("scripts").glob("*.txt"))


class Zero:
    """Time-outs are exactly the configured ones."""

    def random(self) -> float:
        return 0.0

    def randrange(self, stop: int) -> int:
        return 0

    def randbytes(self, count: int) -> bytes:
        return bytes(count)


class Letter(NamedTuple):
    """A request, or the answer to one, on its way."""

    to: int
    message: object
    send: Send


class Stage:
    """Runs commands and writes down what happens."""

    def __init__(self, memory_log: type) -> None:
        self.memory_log = memory_log
        self.now_ms = 0
        self.lines: list[str] = []
        self.wires: dict[tuple[int, int], deque[Letter]] = defaultdict(deque)
        self.asked: dict[int, tuple[int, Send]] = {}

    def run(self, command: str) -> str:
        self.lines = []
        verb, *words = command.split()
        getattr(self, f"do_{verb}")(*words)
        return "\n".join(self.lines or ["ok"])

    def do_voters(self, count: str) -> None:
        keys = [ReplicaKey(n, Uuid(bytes([n]) * 16)) for n in range(1, int(count) + 1)]
        self.voters = VoterSet(Voter(key) for key in keys)
        self.keys = {key.id: key for key in keys}
        self.logs = {key.id: self.memory_log() for key in keys}
        self.stored = {key.id: ElectionState() for key in keys}
        self.replicas: dict[int, RaftReplica] = {}

    def do_at(self, now_ms: str) -> None:
        self.now_ms = int(now_ms)

    def do_start(self, number: str) -> None:
        node = int(number)
        self.replicas[node] = RaftReplica(
            RaftIdentity(self.keys[node]),
            self.logs[node].history(self.voters),
            RaftTimeouts(),
            Zero(),
            self.logs[node],
            stored=self.stored[node],
            now=Instant(self.now_ms, self.now_ms),
        )
        self.lines.append(self.role(node))
        self.do_tick(number)

    def do_crash(self, number: str) -> None:
        del self.replicas[int(number)]
        self.logs[int(number)].crash()

    def do_tick(self, number: str) -> None:
        self.step(int(number), Tick())

    def do_resign(self, number: str) -> None:
        self.step(int(number), Resign())

    def do_propose(self, number: str, text: str) -> None:
        epoch = self.replicas[int(number)].quorum.epoch
        self.step(int(number), Propose((text.encode(),), epoch))

    def do_flush(self, number: str) -> None:
        log = self.logs[int(number)]
        log.synced = len(log.entries)
        self.step(int(number), Flushed(Offset(log.synced)))

    def do_deliver(self, source: str, target: str, every: str = "") -> None:
        wire = self.wires[int(source), int(target)]
        if not wire:
            self.lines.append(f"nothing is on its way from {source} to {target}")
        for _ in range(len(wire) if every else min(1, len(wire))):
            self.arrive(int(target), wire.popleft())

    def do_drop(self, source: str, target: str) -> None:
        self.lines.append(
            f"lost: {self.text(self.wires[int(source), int(target)].popleft().message)}"
        )

    def do_log(self, number: str) -> None:
        log = self.logs[int(number)]
        entries = [f"{epoch}:{text_of(entry)}" for epoch, entry in log.entries]
        self.lines.append(" ".join([*entries[: log.synced], "|", *entries[log.synced :]]))

    def step(self, node: int, event: object) -> None:
        replica = self.replicas.get(node)
        if replica is None:
            self.lines.append(f"{node} is down")
            return
        before = self.role(node)
        ready = replica.step(event, Instant(self.now_ms, self.now_ms))
        if self.role(node) != before:
            self.lines.append(self.role(node))
        self.carry_out(node, ready)
        if ready.append_fetched:
            self.step(node, self.logs[node].appended())

    def carry_out(self, node: int, ready: Ready) -> None:
        log = self.logs[node]
        if ready.persist is not None:
            self.stored[node] = ready.persist
            voted = ready.persist.voted.id if ready.persist.voted else "-"
            self.lines.append(
                f"{node} persists epoch {ready.persist.epoch} leader {ready.persist.leader_id} voted {voted}"
            )
        if ready.truncate_to is not None:
            log.truncate(ready.truncate_to)
            self.lines.append(f"{node} truncates to {ready.truncate_to}")
        for batch in ready.append:
            log.append(batch)
            names = [type(r).__name__ for r in batch.control] + [
                value.decode() for value in batch.data
            ]
            self.lines.append(
                f"{node} appends at {batch.base_offset} in epoch {batch.epoch}: {' '.join(names)}"
            )
        if ready.append_fetched:
            log.append_fetched(ready.append_fetched)
            self.lines.append(f"{node} appends what it fetched, up to {len(log.entries)}")
        for send in ready.send:
            is_search = isinstance(send.message, FetchRequest) and not self.follows(node)
            if is_search:
                self.lines.append(f"{node} asks {send.to.id} who leads, in vain")
            else:
                self.post(node, Letter(send.to.id, send.message, send))
        for reply in ready.reply:
            asker, send = self.asked[reply.token]
            message = reply.response
            if isinstance(message, FetchResponse) and message.high_watermark is not None:
                message = replace(message, records=log.read(send.message.log.end_offset))
            self.post(node, Letter(asker, message, send))
        if ready.high_watermark is not None:
            self.lines.append(f"{node} has committed up to {ready.high_watermark}")

    def post(self, node: int, letter: Letter) -> None:
        self.wires[node, letter.to].append(letter)
        self.lines.append(f"{node} -> {letter.to} {self.text(letter.message)}")

    def arrive(self, node: int, letter: Letter) -> None:
        if letter.message is not letter.send.message:
            self.step(node, InboundResponse(letter.send, letter.message))
            return
        token = len(self.asked)
        source = letter.message.source
        self.asked[token] = (getattr(source, "id", source), letter.send)
        self.step(node, InboundRequest(token, letter.message))

    def follows(self, node: int) -> bool:
        return isinstance(self.replicas[node].quorum.role, Follower)

    def role(self, node: int) -> str:
        role = self.replicas[node].quorum.role
        return f"{node} is {type(role).__name__} in epoch {role.epoch}"

    def text(self, message: object) -> str:
        parts = [type(message).__name__, *(self.field(message, f.name) for f in fields(message))]
        return " ".join(part for part in parts if part)

    def field(self, message: object, name: str) -> str:
        value = getattr(message, name)
        if name in ("source", "high_watermark") and isinstance(message, FetchRequest):
            return ""
        if name == "source" or value is None or value is False or value in (b"", ()):
            return ""
        if isinstance(value, LogPosition):
            return f"{name}={value.end_offset}@{value.last_epoch}"
        if isinstance(value, ReplicaKey):
            return ""
        if isinstance(value, type):
            return value.__name__
        if isinstance(value, bytes):
            return "with records"
        if isinstance(value, tuple):
            return f"{name}={[key.id for key in value]}"
        return name if value is True else f"{name}={value}"


def replayed(script: str, memory_log: type) -> str:
    """The script with what happens now in place of what it says happened."""
    stage = Stage(memory_log)
    blocks = []
    for block in script.strip().split("\n\n"):
        commands = [line for line in block.split("\n----")[0].splitlines() if line]
        run = [command for command in commands if not command.startswith("#")]
        happened = [f"> {command}\n{stage.run(command)}" for command in run]
        blocks.append("\n".join([*commands, *(["----", *happened] if run else [])]))
    return "\n\n".join(blocks) + "\n"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_what_happens_is_what_the_script_says(path: Path, memory_log: type) -> None:
    script = path.read_text()
    assert replayed(script, memory_log) == script


def test_there_are_scripts() -> None:
    assert len(SCRIPTS) >= 5
