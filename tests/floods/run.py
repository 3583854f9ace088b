"""A bystander beside floods of connections: `python -m tests.floods.run [--only NAME] [--rounds 2] [--seconds 8] [--nice 0]`.

Each flood comes and goes, in turns with calm, over one node with TLS and SCRAM in a process of its own; the attackers are processes too.
Printed are the bystander's latencies in both: of a Produce and a Fetch by a client that has logged in before, of a newcomer's whole
login, and of an echo server beside the same flood, which is the machine's share. A flood fails where the bystander's
99th percentile of produce and fetch is above its limit, which is printed beside it: twice that of the calm, and 50 ms at least; where every
newcomer is shut out though not all connections are taken, the node's log has a traceback, or descriptors do not come back.

The attackers take processor time of the node's own machine. With `--nice 19` they take what nobody else wants, as if they were elsewhere.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.floods.flooded_node import COSTLY_USER, Attacker, FloodedNode, raise_descriptor_limit
from tests.floods.sources import loopback_addresses
from tests.patience import wait_until

P99_MS_ALLOWED: Final = 50.0
P99_FACTOR_ALLOWED: Final = 2.0
_RISE_S: Final = 3.0
"""A flood is there by then."""
_DESCRIPTORS_WANTED: Final = 60_000
_ALL_TAKEN: Final = 0.9
"""Of the descriptors of a process: a node keeps the others for files (`net.server.limits`)."""
_MEASURED: Final = ("produce", "fetch", "login", "echo")
_BARRED: Final = ("produce", "fetch")


@dataclass(frozen=True)
class Flood:
    """One kind of flood: its attackers at a node that is given, and what the node is told."""

    attackers: Callable[[FloodedNode], list[Attacker]]
    settings: Mapping[str, str] = field(default_factory=dict)
    shuts_newcomers_out: bool = False
    """Clients that are served have all the connections that there may be: whoever comes waits, as in Kafka."""


def _half_handshakes(rate: int, processes: int = 2) -> Callable[[FloodedNode], list[Attacker]]:
    def attackers(node: FloodedNode) -> list[Attacker]:
        return [
            Attacker(
                "tests.floods.half_handshakes",
                (node.secure, str(rate // processes), *loopback_addresses(network, 100)),
            )
            for network in range(1, processes + 1)
        ]

    return attackers


def _idle(
    address: Callable[[FloodedNode], str], count: int, processes: int = 4
) -> Callable[[FloodedNode], list[Attacker]]:
    def attackers(node: FloodedNode) -> list[Attacker]:
        return [
            Attacker(
                "tests.floods.idle_sockets",
                (address(node), str(count // processes), *loopback_addresses(network, 20)),
            )
            for network in range(1, processes + 1)
        ]

    return attackers


def _guesses(address: Callable[[FloodedNode], str], authority: bool) -> Callable[[FloodedNode], list[Attacker]]:  # fmt: skip
    def attackers(node: FloodedNode) -> list[Attacker]:
        told = str(node.authority) if authority else "-"
        arguments = (address(node), told, COSTLY_USER, "50")
        return [Attacker("tests.floods.guesses", arguments)] * 2

    return attackers


def _slow_logins(node: FloodedNode) -> list[Attacker]:
    return [Attacker("tests.floods.slow_logins", (node.secure, str(node.authority), "450"))] * 2


_MANY: Final = {"max.connections": "25000"}
FLOODS: Final = {
    "2,000 half handshakes a second": Flood(_half_handshakes(2_000)),
    "20,000 silent sockets at TLS": Flood(_idle(lambda node: node.secure, 20_000)),
    "20,000 silent sockets before a login": Flood(_idle(lambda node: node.login, 20_000)),
    "20,000 idle sockets, 10,000 let in": Flood(
        _idle(lambda node: node.open, 20_000), shuts_newcomers_out=True
    ),
    "20,000 idle sockets, all let in": Flood(_idle(lambda node: node.open, 20_000), _MANY),
    "900 logins of a byte in two seconds": Flood(_slow_logins),
    "100 guessers over TLS": Flood(_guesses(lambda node: node.secure, authority=True)),
    "100 guessers without TLS": Flood(_guesses(lambda node: node.login, authority=False)),
}


@dataclass
class Measured:
    """What came of one flood."""

    calm: dict[str, list[float]] = field(default_factory=dict)
    flooded: dict[str, list[float]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    node_cpu_s: float = 0.0
    descriptors_max: int = 0
    grown_mb: float = 0.0
    log_lines: int = 0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [
            f"{'':12}{'calm p50':>10}{'p99':>9}{'max':>9} | {'flood p50':>10}{'p99':>9}{'max':>9}{'p99 limit':>11}   ms"
        ]
        for name in (*_MEASURED, "login failed"):
            calm, flooded = self.calm.get(name, []), self.flooded.get(name, [])
            if calm or flooded:
                limit = f"{self.p99_limit(name):11.2f}" if name in _BARRED else f"{'none':>11}"
                lines.append(
                    f"{name:12}{_three(calm)} | {_three(flooded)}{limit}   of {len(flooded)}"
                )
        told = ", ".join(
            f"{what} {count / self.seconds:.0f}/s" for what, count in self.counts.items()
        )
        lines.append(
            f"node: {self.node_cpu_s / self.seconds:.0%} of a processor, {self.descriptors_max} descriptors, "
            f"{self.grown_mb:.0f} MB more, {self.log_lines / self.seconds:.0f} lines of log a second; attackers: {told}"
        )
        return "\n".join(lines + [f"FAULT: {fault}" for fault in self.faults])

    def p99_limit(self, name: str) -> float:
        """Returns the milliseconds that the 99th percentile beside the flood may be."""
        return max(P99_MS_ALLOWED, P99_FACTOR_ALLOWED * _at(self.calm.get(name, []), 0.99))


def _three(values: Sequence[float]) -> str:
    p50, p99, longest = (_at(values, share) for share in (0.5, 0.99, 1.0))
    return f"{p50:10.2f}{p99:9.2f}{longest:9.2f}"


def _at(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else float("nan")


def measure(node: FloodedNode, flood: Flood, options: argparse.Namespace) -> Measured:
    seconds: float = options.seconds
    measured = Measured()
    process = node.process
    before_mb, descriptors_before = process.memory_info().rss / 1e6, process.num_fds()
    for _ in range(options.rounds):
        _take(node, {}, seconds / 2)  # until the last flood is over
        _take(node, measured.calm, seconds)
        with node.flood(flood.attackers(node), options.nice) as attackers:
            _take(node, {}, _RISE_S)
            for each in attackers:
                each.ask()
            cpu_before_s, lines_before = sum(process.cpu_times()[:2]), node.log.count("\n")
            _take(node, measured.flooded, seconds)
            measured.seconds += seconds
            measured.node_cpu_s += sum(process.cpu_times()[:2]) - cpu_before_s
            measured.log_lines += node.log.count("\n") - lines_before
            measured.descriptors_max = max(measured.descriptors_max, process.num_fds())
            for each in attackers:
                measured.counts.update(each.ask())
    measured.grown_mb = process.memory_info().rss / 1e6 - before_mb
    _judge(measured, flood)
    _judge_node(node, measured, descriptors_before)
    return measured


def _take(node: FloodedNode, into: dict[str, list[float]], seconds: float) -> None:
    node.bystander.ask()
    time.sleep(seconds)
    for name, values in node.bystander.ask().items():
        into.setdefault(name, []).extend(values)


def _judge(measured: Measured, flood: Flood) -> None:
    for name in _BARRED:
        if not measured.flooded.get(name):
            measured.faults.append(f"{name}: the bystander got no answer")
            continue
        calm, flooded = _at(measured.calm.get(name, []), 0.99), _at(measured.flooded[name], 0.99)
        if flooded > measured.p99_limit(name):
            measured.faults.append(
                f"{name}: p99 {flooded:.1f} ms, {calm:.1f} in the calm, {measured.p99_limit(name):.1f} allowed"
            )
    all_taken = (
        measured.descriptors_max >= _ALL_TAKEN * resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    )
    if not (measured.flooded.get("login") or flood.shuts_newcomers_out or all_taken):
        measured.faults.append("login: every newcomer was shut out")


def _judge_node(node: FloodedNode, measured: Measured, descriptors_before: int) -> None:
    if "Traceback" in node.log:
        measured.faults.append(f"a traceback in the log:\n{node.log[-3_000:]}")
    try:
        wait_until(lambda: node.process.num_fds() <= descriptors_before + 20)
    except TimeoutError:
        measured.faults.append(f"{node.process.num_fds()} descriptors are open, {descriptors_before} before")  # fmt: skip


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--nice", type=int, default=0)
    options = parser.parse_args(arguments)
    chosen = {name: flood for name, flood in FLOODS.items() if options.only in name}
    if not chosen:
        parser.error(f"--only {options.only}: no flood has that in its name: {'; '.join(FLOODS)}")
    print(f"{raise_descriptor_limit(_DESCRIPTORS_WANTED):,} descriptors a process", flush=True)
    is_well = True
    for name, flood in chosen.items():
        with tempfile.TemporaryDirectory(prefix="millstream-floods-") as directory:
            with FloodedNode(Path(directory), flood.settings) as node:
                measured = measure(node, flood, options)
            print(f"\n{name}\n{measured}", flush=True)
            is_well = is_well and not measured.faults
    return 0 if is_well else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
