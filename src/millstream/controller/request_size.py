"""Counts the partitions that a request asks the controller for, before anything of it is planned."""

from __future__ import annotations

from millstream.protocol.generated.create_partitions import CreatePartitionsRequest
from millstream.protocol.generated.create_topics import CreateTopicsRequest


def partitions_asked(request: object) -> int:
    """An upper bound of the partitions that the request may add; 0 for requests that add none."""
    match request:
        case CreateTopicsRequest():
            return sum(max(len(each.assignments), each.num_partitions) for each in request.topics)
        case CreatePartitionsRequest():
            return sum(each.count for each in request.topics)
        case _:
            return 0
