"""Looks up the partitions that a verb is about, `TOPIC` or `TOPIC:0,2`.

A misspelt topic is answered with the nearest there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from millstream.cli.groups.reset import parse_targets
from millstream.cli.suggestions import or_near
from millstream.errors import ConfigError, UnknownTopicOrPartition
from millstream.model import TopicPartition

if TYPE_CHECKING:
    from millstream.clients.admin import PartitionDescription
    from millstream.clients.blocking import Admin


def chosen_partitions(
    admin: Admin, items: Iterable[str]
) -> Mapping[TopicPartition, PartitionDescription]:
    """Returns the partitions of the items, of all topics where there is no item, in order.

    Raises UnknownTopicOrPartition for what does not exist.
    """
    targets = parse_targets(items)
    if not targets:
        targets = dict.fromkeys(admin.list_topics())
    if "" in targets:
        raise ConfigError("a topic needs a name: TOPIC or TOPIC:0,2")
    found = admin.describe_topics(targets)
    for name, error in found.errors().items():
        if isinstance(error, UnknownTopicOrPartition):
            near = or_near(str(name), list(admin.list_topics()))
            raise UnknownTopicOrPartition(f"{name}: there is no such topic{near}") from error
        raise error
    chosen = {
        TopicPartition(name, each.partition): each
        for name, wanted in targets.items()
        for each in found.result(name).partitions
        if wanted is None or each.partition in wanted
    }
    for name, wanted in targets.items():
        missing = sorted(each for each in wanted or () if TopicPartition(name, each) not in chosen)
        if missing:
            count = len(found.result(name).partitions)
            raise UnknownTopicOrPartition(
                f"{name} has no partition {', '.join(map(str, missing))}: it has {count}, counted from 0"
            )
    return dict(sorted(chosen.items()))
