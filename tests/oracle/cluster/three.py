"""Three combined nodes of ours as processes, for the suites that know one broker: everything at replication factor 1."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.oracle.cluster.nodes import Kind, Node, Nodes


@contextmanager
def three_of_ours(settings: Mapping[str, str], first_number: int = 1) -> Iterator[Nodes]:
    members = [Node(first_number + number, Kind.OURS) for number in range(3)]
    with (
        tempfile.TemporaryDirectory(prefix="three-") as directory,
        Nodes(Path(directory), members, settings=settings) as nodes,
    ):
        yield nodes
