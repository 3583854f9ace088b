"""The table of the guide has every method of Java's Admin 4.3.1, and of ours."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from millstream.clients import Admin

PAGE = Path(__file__).resolve().parents[4] / "docs/guide/clients/admin.md"
ROWS = [
    (re.findall(r"`(\w+)`", java), re.findall(r"`(\w+)`", ours))
    for java, ours in re.findall(r"^\| (.*?) \| (.*?) \|.*\|$", PAGE.read_text(), re.MULTILINE)
]
WITHOUT_ONE = {"metrics", "registerMetricForSubscription", "unregisterMetricFromSubscription"}
JAVA = """
abortTransaction addRaftVoter alterClientQuotas alterConsumerGroupOffsets alterPartitionReassignments alterReplicaLogDirs
alterShareGroupOffsets alterStreamsGroupOffsets alterUserScramCredentials clientInstanceId createAcls createDelegationToken
createPartitions createTopics deleteAcls deleteConsumerGroupOffsets deleteConsumerGroups deleteRecords
deleteShareGroupOffsets deleteShareGroups deleteStreamsGroupOffsets deleteStreamsGroups deleteTopics describeAcls
describeClassicGroups describeClientQuotas describeCluster describeConfigs describeConsumerGroups describeDelegationToken
describeFeatures describeLogDirs describeMetadataQuorum describeProducers describeReplicaLogDirs describeShareGroups
describeStreamsGroups describeTopics describeTransactions describeUserScramCredentials electLeaders expireDelegationToken
fenceProducers forceTerminateTransaction incrementalAlterConfigs listClientMetricsResources listConfigResources
listConsumerGroupOffsets listConsumerGroups listGroups listOffsets listPartitionReassignments listShareGroupOffsets
listStreamsGroupOffsets listTopics listTransactions metrics registerMetricForSubscription removeMembersFromConsumerGroup
removeRaftVoter renewDelegationToken unregisterBroker unregisterMetricFromSubscription updateFeatures
""".split()  # noqa: SIM905  # a table of words
"""Of `javap org.apache.kafka.clients.admin.Admin`, without close and create."""


def test_every_method_of_java_has_its_row() -> None:
    listed = [name for java, _ in ROWS for name in java if name in JAVA]
    assert sorted(listed) == sorted(JAVA)


def test_every_method_of_ours_is_named_as_in_java() -> None:
    for java, ours in ROWS:
        for name in set(java) & set(JAVA) - WITHOUT_ONE:
            snake = re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", name)
            assert ours == [snake]
            assert inspect.iscoroutinefunction(getattr(Admin, snake))


def test_every_method_is_in_the_guide() -> None:
    methods = {
        name
        for name, method in inspect.getmembers(Admin, inspect.iscoroutinefunction)
        if not name.startswith("_") and name != "close"
    }
    assert {name for name in methods if f"`{name}`" not in PAGE.read_text()} == set()
