"""The harness itself: a node that is let alone passes, and each thing that must hold is seen when it does not."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.api_versions import ApiVersionsRequest
from tests.support.attacks import AttackedNode


@pytest.fixture
def node(tmp_path: Path) -> Iterator[AttackedNode]:
    with AttackedNode(tmp_path) as node:
        yield node


def test_ordinary_requests_are_no_attack(node: AttackedNode) -> None:
    with node.attack(), node.client() as client:
        for _ in range(100):
            client.ask(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("test", "1"))
    assert node.held_ms > 0
    assert node.latencies["acknowledged"] > 0


def test_a_loop_that_is_held_is_seen(node: AttackedNode) -> None:
    with pytest.raises(AssertionError, match="the loop was held for"), node.attack(held_ms_max=0):
        pass


def test_a_bystander_that_is_not_answered_is_seen(
    node: AttackedNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop_it() -> None:
        with node.attack():
            os.kill(node.pid, signal.SIGSTOP)
            monkeypatch.setattr("tests.support.attacks.LONG_ENOUGH_S", 0.5)

    with pytest.raises(AssertionError, match="the bystander is not answered any more"):
        stop_it()
    os.kill(node.pid, signal.SIGCONT)
    monkeypatch.undo()
