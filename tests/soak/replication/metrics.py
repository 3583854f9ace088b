"""What the nodes of a cluster count, asked of each over HTTP."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Mapping
from typing import Final

from tests.support.kafka_node import free_port

_ANSWER_S: Final = 5.0


class NodeMetrics:
    """A page for each node: `settings` are those with which `Cluster(node_settings=...)` serves them."""

    def __init__(self, *nodes: int) -> None:
        self._ports = {node: free_port() for node in nodes}

    @property
    def settings(self) -> dict[int, dict[str, str]]:
        return {
            node: {"millstream.http.listener": f"http://127.0.0.1:{port}"}
            for node, port in self._ports.items()
        }

    def of(self, node: int, name: str, labels: Mapping[str, str] | None = None) -> float:
        """Returns the sum of the samples of a name that have these labels; 0 where a node has none yet."""
        url = f"http://127.0.0.1:{self._ports[node]}/metrics"
        with urllib.request.urlopen(url, timeout=_ANSWER_S) as answer:
            page = answer.read().decode()
        found = re.findall(rf"(?m)^{re.escape(name)}(?:{{(.*)}})? (\S+)$", page)
        wanted = [f'{label}="{value}"' for label, value in (labels or {}).items()]
        return sum(float(value) for had, value in found if all(each in had for each in wanted))
