"""The report of a source's planner on itself, which Spark shows as `latestOffset` of the
source in the progress of a query.

Spark asks for it at each trigger and only passes it on, so it is the way of what the planner's process knows to the
driver's program and to everyone who reads progress. It holds no setting of a client. Pure. As JSON:

    {"v": 1, "offsets": {"orders": {"0": 1200}}, "earliest": {"orders": {"0": 0}}, "started": [{"because": "earliest", "offsets": {…}}],
     "commits": {"group": "billing", "offsets": {"orders": {"0": 1100}}, "succeeded": 12, "failed": 0}}

`offsets` are the ends of the logs. What is not known is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.model import Offset, TopicPartition
from millstream.spark import offsets as plan
from millstream.spark.offsets import Offsets
from millstream.spark.source.positions import ChosenOffset


@dataclass(frozen=True, slots=True)
class CommitReport:
    """`offsets`: the last ones that this start of the query has committed; the counts are of commits."""

    group_id: str
    offsets: Offsets
    succeeded: int
    failed: int


@dataclass(frozen=True, slots=True)
class SourceReport:
    latest: Offsets
    earliest: Offsets = field(default_factory=dict)
    started: Mapping[TopicPartition, ChosenOffset] = field(default_factory=dict)
    """Where this start of the query has begun to read each partition."""
    commits: CommitReport | None = None

    def to_json(self) -> dict[str, Any]:  # JSON, as above
        document = plan.to_json(self.latest)
        if self.earliest:
            document["earliest"] = plan.topics_json(self.earliest)
        if self.started:
            document["started"] = _started_json(self.started)
        if self.commits is not None:
            document["commits"] = {
                "group": self.commits.group_id,
                "offsets": plan.topics_json(self.commits.offsets),
                "succeeded": self.commits.succeeded,
                "failed": self.commits.failed,
            }
        return document


def report_from_json(document: Mapping[str, Any]) -> SourceReport:  # JSON, as above
    """Raises ConfigError where the document is of another version, and the errors of a missing key
    where it is damaged.
    """
    commits = document.get("commits")
    return SourceReport(
        latest=plan.from_json(document),
        earliest=plan.partition_offsets(document.get("earliest", {})),
        started={
            tp: ChosenOffset(offset, each["because"])
            for each in document.get("started", ())
            for tp, offset in plan.partition_offsets(each["offsets"]).items()
        },
        commits=None
        if commits is None
        else CommitReport(
            commits["group"],
            plan.partition_offsets(commits["offsets"]),
            commits["succeeded"],
            commits["failed"],
        ),
    )


def _started_json(started: Mapping[TopicPartition, ChosenOffset]) -> list[dict[str, object]]:
    """Partitions by the reason for their start: most have the same one."""
    by_reason: dict[str, dict[TopicPartition, Offset]] = {}
    for partition, choice in started.items():
        by_reason.setdefault(choice.reason, {})[partition] = choice.offset
    return [
        {"because": reason, "offsets": plan.topics_json(offsets)}
        for reason, offsets in by_reason.items()
    ]
