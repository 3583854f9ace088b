"""Documents of offsets as they stand in Spark's log, for tests that look at the offsets alone."""

from __future__ import annotations

from typing import Any


class OffsetsOf(dict[str, Any]):
    """Equal to every document with the same offsets, whatever else stands beside them."""

    def __init__(self, topic: str, *numbers: int) -> None:
        super().__init__(v=1, offsets={topic: {str(p): offset for p, offset in enumerate(numbers)}})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dict) and other.get("offsets") == self["offsets"]

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None


def without_topic_ids(document: dict[str, Any]) -> dict[str, Any]:
    """The document without the ids of its topics, which are there and differ from run to run, and what has them."""
    assert document["topicIds"]
    of_ids = {"topicIds", "leaderEpochs"}
    return {name: value for name, value in document.items() if name not in of_ids}
