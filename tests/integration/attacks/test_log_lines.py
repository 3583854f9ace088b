"""What a client sends is quoted in the log, but not all of it."""

from __future__ import annotations

from pathlib import Path

from millstream.errors import UnknownTopicOrPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic
from tests.patience import wait_until
from tests.support.attacks import AttackedNode


def test_a_request_for_many_topics_writes_a_short_line(tmp_path: Path) -> None:
    names = [f"{'x' * 230}{number}" for number in range(2_000)]
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names])
    with AttackedNode(tmp_path) as node, node.client() as client:
        written = len(node.log)
        answer = client.ask(ApiKey.METADATA, 12, request)
        # A later part of the answer may see what the first one had created.
        errors = {topic.error_code for topic in answer.topics}
        assert {UnknownTopicOrPartition.code} <= errors <= {UnknownTopicOrPartition.code, 0}
        wait_until(lambda: "did not exist and were created" in node.log[written:])
        lines = node.log[written:].splitlines()
        told = [line for line in lines if "did not exist and were created" in line]
        assert max(map(len, told)) < 5_000
        assert sum(map(len, told)) < sum(map(len, names)) / 2
