"""A class name stands once in the product, so that a name in a message or a review means one thing; what stands twice says why."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.tidy.test_source_rules import SOURCE, product_files, tree

_ASYNC_AND_BLOCKING = (
    "public: the asyncio class and its blocking counterpart have one name on purpose"
)
_NEVER_MET = "each is the word of its field, and no module and no folder meets both"

STAND_TWICE = {
    "Admin": _ASYNC_AND_BLOCKING,
    "BatchDelivery": _ASYNC_AND_BLOCKING,
    "Cluster": "the nodes of a test, and what a client knows of its brokers, which no test imports",
    "Connections": "those of a client to its brokers, and those of a Spark worker to Kafka; Spark's code never meets the former",
    "Consumer": _ASYNC_AND_BLOCKING,
    "Controller": "the controller itself, and the route of Admin's requests to it: `route=Controller()`",
    "Delivery": _ASYNC_AND_BLOCKING,
    "HealthServer": _ASYNC_AND_BLOCKING,
    "KafkaStreams": _ASYNC_AND_BLOCKING,
    "Leader": "a role of Raft, and the route of Admin's requests to a partition's leader",
    "Producer": _ASYNC_AND_BLOCKING,
    "RangeAssignor": "Kafka's name for both: the assignor of classic members and that of the coordinator",
    "RangeReader": _ASYNC_AND_BLOCKING,
    "Read": _NEVER_MET,
    "Ready": "the work that a pure core leaves to its edge, in Raft and in the coordinators: one idea, one word",
    "RebalanceListener": _ASYNC_AND_BLOCKING,
    "Record": "Kafka's name for both: a record of a log, and (public) one that a processor is given",
    "Sample": _NEVER_MET,
    "Send": _NEVER_MET,
    "SerializationError": "public: of clients, and of a topology, where it is a StreamsError as in Kafka Streams",
    "Services": "a handler that needs more than a few services declares them so (broker/README.md); handlers never import each other",
    "ShareConsumer": _ASYNC_AND_BLOCKING,
    "Step": _NEVER_MET,
    "Transaction": _NEVER_MET,
    "Transactions": "those of a producer, and those of a transaction coordinator's shard, which never meet",
}


def test_a_class_name_stands_once() -> None:
    modules: dict[str, list[str]] = defaultdict(list)
    for path in product_files():
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(str(path.relative_to(SOURCE)))
    found = {name: paths for name, paths in modules.items() if len(paths) > 1}
    unexplained = {name: paths for name, paths in found.items() if name not in STAND_TWICE}
    assert not unexplained, f"give one of them another name, Kafka's if it has one: {unexplained}"
    stale = STAND_TWICE.keys() - found.keys()
    assert not stale, f"these stand once now, take them from the list: {stale}"
