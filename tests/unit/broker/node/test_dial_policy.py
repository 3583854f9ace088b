"""How long a node waits for another one to take its connection."""

from __future__ import annotations

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.node.shared_parts import dial_policy
from millstream.net.client.core.outages import Backoff
from millstream.raft.quorum_state import RaftTimeouts


@pytest.mark.parametrize(
    ("settings", "first_ms", "last_ms"),
    [
        ({}, 2_000, 30_000),
        ({"socket.connection.setup.timeout.ms": "700", "socket.connection.setup.timeout.max.ms": "900"}, 700, 900),
        ({"controller.quorum.request.timeout.ms": "20000"}, 10_000, 30_000),
    ],
)  # fmt: skip
def test_another_node_has_that_time_to_take_a_connection(
    settings: dict[str, str], first_ms: int, last_ms: int
) -> None:
    config = broker_config({"log.dirs": "data", **settings})
    policy = dial_policy(config, config.read(RaftTimeouts))
    assert policy.setup_timeout == Backoff(first_ms, last_ms)
