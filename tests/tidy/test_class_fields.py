"""A class of the broker, the log, the network and the clients has no more fields than a reader can hold, or one of five reasons."""

from __future__ import annotations

import ast

from tests.tidy.test_source_rules import SOURCE, product_files, tree

FIELDS_MAX = 12
FOLDERS = {"broker", "clients", "controller", "coordinator", "log", "net", "replication"}

SETTINGS = {
    "BrokerConfig": 92,
    "ConnectionLimits": 16,
    "ConsumerConfig": 23,
    "ConsumerSettings": 23,
    "ControllerSettings": 15,
    "ProducerConfig": 20,
    "ProducerSettings": 20,
    "SecurityConfig": 28,
    "SecuritySettings": 36,
}
"""A field for each setting, by Kafka's name: parts of them would be names that no user knows."""
COMPOSED = {
    "BrokerPart": 36,
    "ControllerServices": 15,
    "HandlerServices": 35,
    "NodeProcess": 16,
    "NodeView": 13,
    "produce.Services": 13,
    "SharedParts": 24,
}
"""What a node consists of: it is made here, in order, and each part is given the few others that it needs."""
VALUES = {
    "ClassicGroup": 18,
    "ConsumerGroup": 14,
    "ConsumerGroupMember": 15,
    "ConsumerMembership": 13,
    "PartitionState": 25,
    "ProducerBatch": 22,
    "QuorumDescription": 14,
    "StreamsGroup": 13,
    "StreamsMemberDescription": 15,
}
"""What is known of one thing of Kafka's, all of it asked for together; ProducerBatch is flat since there is one for
every few records."""
EVERY_REQUEST = {
    "Connection": 17,
    "FetchSession": 14,
    "Fetcher": 13,
    "LogState": 13,
    "Partition": 17,
    "PartitionLog": 16,
    "RecordAppender": 14,
    "Segment": 20,
    "Sender": 15,
    "ServerConnection": 21,
    "SocketServer": 32,
}
"""Passed by every request or record: an object more on that way is a look-up more for each."""
ONE_OWNER = {
    "ClassicMember": 14,
    "Cluster": 18,
    "ControllerRunner": 17,
    "CoordinatorPartition": 15,
    "EmittedRecords": 15,
    "HostedPartitions": 16,
    "LogDirectory": 17,
    "MetadataDriver": 30,
    "MetadataQuorum": 14,
    "MetadataRefresh": 14,
    "MetadataState": 15,
    "Pump": 15,
    "RecordSpout": 16,
    "ReplicaFetcher": 20,
    "ShareMembership": 15,
    "ShareNode": 13,
    "Transaction": 14,
}
"""The owner of one thing that tasks share: what must change in one step, with what it was given to do it."""


def fields(node: ast.ClassDef) -> set[str]:
    """Those that the class names, and those that its constructor sets."""
    named = {each.target.id for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)}  # fmt: skip
    made = (
        each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"
    )
    set_there = {
        each.attr
        for method in made
        for each in ast.walk(method)
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and ast.unparse(each.value) == "self"
    }  # fmt: skip
    return named | set_there


def wide() -> dict[str, int]:
    found = {}
    for path in product_files():
        if path.relative_to(SOURCE).parts[0] not in FOLDERS:
            continue
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef) and len(fields(node)) > FIELDS_MAX:
                name = f"{path.stem}.{node.name}" if node.name == "Services" else node.name
                found[name] = len(fields(node))
    return found


def test_no_class_has_more_fields_than_a_reader_can_hold_but_for_a_reason() -> None:
    allowed = SETTINGS | COMPOSED | VALUES | EVERY_REQUEST | ONE_OWNER
    found = wide()
    grown = {name: count for name, count in found.items() if count > allowed.get(name, FIELDS_MAX)}
    assert not grown, f"make a class of those that change together: {grown}"
    assert not allowed.keys() - found.keys(), "these are narrow now: take them off"


def test_fields_are_counted_wherever_they_are_named() -> None:
    (example,) = ast.parse(
        "class A:\n    a: int\n    def __init__(self): self.b, self.c = 1, 2\n    def d(self): self.e = 1"
    ).body
    assert isinstance(example, ast.ClassDef)
    assert fields(example) == {"a", "b", "c"}
