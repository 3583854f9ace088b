"""What a client sends is quoted in the log, but not all of it."""

from __future__ import annotations

from pathlib import Path

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic
from tests.support.attacks import AttackedNode

UNKNOWN_TOPIC = 3


def test_a_request_for_many_topics_writes_a_short_line(tmp_path: Path) -> None:
    names = [f"{'x' * 230}{number}" for number in range(20_000)]
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names])
    with AttackedNode(tmp_path) as node, node.client() as client:
        written = len(node.log)
        answer = client.ask(ApiKey.METADATA, 12, request)
        assert {topic.error_code for topic in answer.topics} == {UNKNOWN_TOPIC}
        line = node.log[written:]
        assert "and 19,990 more were asked for and could not be created" in line
        assert len(line) < 5_000
