"""Floods of connections at a node with TLS and logins, small enough for every run: what can be said without a clock.

`python -m tests.floods.run` (`make attacks`) has thousands of them, and compares latencies.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from millstream.net.server.handshakes import OPEN_MAX
from tests.floods.flooded_node import COSTLY_USER, Attacker, FloodedNode
from tests.floods.run import FLOODS, Measured, _judge, main
from tests.floods.sources import loopback_addresses
from tests.patience import wait_until

HALF_A_SECOND = 300
SILENT = OPEN_MAX + 100
PER_ADDRESS = 50


def half_handshakes(node: FloodedNode) -> Attacker:
    sources = loopback_addresses(1, 100)
    return Attacker("tests.floods.half_handshakes", (node.secure, str(HALF_A_SECOND), *sources))


def silent_sockets(node: FloodedNode) -> Attacker:
    sources = loopback_addresses(2, 10)
    return Attacker("tests.floods.idle_sockets", (node.secure, str(SILENT), *sources))


def too_many_of_one_address(node: FloodedNode) -> Attacker:
    (source,) = loopback_addresses(3, 1)
    return Attacker("tests.floods.idle_sockets", (node.open, str(PER_ADDRESS * 2), source))


def guessers(node: FloodedNode) -> Attacker:
    return Attacker("tests.floods.guesses", (node.secure, str(node.authority), COSTLY_USER, "4"))


def slow_logins(node: FloodedNode) -> Attacker:
    return Attacker("tests.floods.slow_logins", (node.secure, str(node.authority), "10"))


@pytest.mark.filterwarnings("error")
def test_a_bystander_and_newcomers_are_served_beside_floods_of_connections(tmp_path: Path) -> None:
    settings = {"max.connections.per.ip": str(PER_ADDRESS)}
    attackers = [half_handshakes, silent_sockets, too_many_of_one_address, guessers, slow_logins]
    with FloodedNode(tmp_path, settings) as node:
        descriptors_before, lines_before = node.process.num_fds(), node.log.count("\n")
        told: Counter[str] = Counter()
        with node.flood([each(node) for each in attackers]) as flooding:

            def is_under_way() -> bool:
                for each in flooding:
                    told.update(each.ask())
                return all(told[each] >= 10 for each in ("begun", "answered", "closed by the node", "refused", "bytes"))  # fmt: skip

            wait_until(is_under_way)
            node.bystander.ask()  # what was before is forgotten
            served: Counter[str] = Counter()

            def is_served() -> bool:
                served.update({name: len(took) for name, took in node.bystander.ask().items()})
                return served["produce"] >= 10 and served["fetch"] >= 10 and served["login"] >= 1

            wait_until(is_served)
            assert is_under_way()
            assert not told["let in"]
            open_max = descriptors_before + OPEN_MAX + PER_ADDRESS + 4 + 10 + 10
            assert node.process.num_fds() <= open_max
        wait_until(lambda: node.process.num_fds() <= descriptors_before + 5)
        assert "Traceback" not in node.log
        guesses = node.log.count("may not log in")
        assert node.log.count("\n") - lines_before - guesses <= 150, node.log[-3_000:]


def test_no_flood_of_that_name_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--only", "half handshake a second"])
    assert ended.value.code == 2
    assert "no flood has that in its name: 2,000 half handshakes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        ("20,000 silent sockets at TLS", ["login: every newcomer was shut out"]),
        ("20,000 idle sockets, 10,000 let in", []),
    ],
)
def test_newcomers_who_are_all_shut_out_are_a_fault_where_there_is_room(
    name: str, faults: list[str]
) -> None:
    well = {"produce": [1.0], "fetch": [1.0]}
    measured = Measured(calm=well, flooded={**well, "login failed": [0.0]})
    _judge(measured, FLOODS[name])
    assert measured.faults == faults


def test_what_is_judged_has_its_limit_beside_it() -> None:
    """Twice the calm, and 50 ms at least; logins of newcomers and the echo are told, not judged."""
    calm = {"produce": [40.0], "fetch": [1.0], "login": [2.0]}
    measured = Measured(calm=calm, flooded={**calm, "produce": [90.0]}, seconds=1.0)
    _judge(measured, FLOODS["100 guessers over TLS"])
    rows = [line.split() for line in str(measured).splitlines()[1:4]]
    assert {row[0]: row[8] for row in rows} == {
        "produce": "80.00",
        "fetch": "50.00",
        "login": "none",
    }
    assert measured.faults == ["produce: p99 90.0 ms, 40.0 in the calm, 80.0 allowed"]
