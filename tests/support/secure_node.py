"""A node in this process as `millstream server --secure` runs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millstream.broker.config.sources import gathered_settings
from millstream.cli.secure.secure_node import SecureNode
from millstream.testing.node_runner import ThreadNode
from tests.patience import LONG_ENOUGH_S


@contextmanager
def secure_node(directory: Path) -> Iterator[Path]:
    """Starts a node on a new directory. Yields the client.properties of its administrator."""
    secure = SecureNode(
        gathered_settings({}, "", {}, []),
        {"log.dirs": str(directory), "millstream.flush.on.ack": "never", "group.initial.rebalance.delay.ms": "0"},
        port=0,
    )  # fmt: skip
    secure.begin(None)
    node = ThreadNode(secure.settings)
    try:
        secure.ready_at(node.start(LONG_ENOUGH_S).bootstrap)
        yield directory / "client.properties"
    finally:
        node.stop()
