"""Groups of consumers, of stream threads and share groups behind one interface: the
questions that verbs ask of each kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from millstream.cli.completion.names import group_names
from millstream.cli.groups.streams_groups import as_group, source_topics
from millstream.cli.rows import named
from millstream.errors import GroupIdNotFound, UnsupportedVersion

if TYPE_CHECKING:
    from millstream.clients.admin import GroupDescription, Results
    from millstream.clients.blocking import Admin
    from millstream.errors import KafkaError
    from millstream.model import TopicPartition


def described_groups(admin: Admin, names: Iterable[str]) -> Results[str, GroupDescription]:
    """Returns the groups by name; GroupIdNotFound where no kind of group has that name."""
    found = admin.describe_groups(names)
    for describe in (_share_groups, _streams_groups):
        errors = found.errors().items()
        others = [name for name, error in errors if isinstance(error, GroupIdNotFound)]
        if others:
            found.update(describe(admin, others))
    return found


def _share_groups(admin: Admin, names: Iterable[str]) -> dict[str, GroupDescription]:
    shared = admin.describe_share_groups(names)
    return {name: shared.result(name) for name in shared if name not in shared.errors()}


def _streams_groups(admin: Admin, names: Iterable[str]) -> dict[str, GroupDescription]:
    """Returns those that are groups of stream threads; none where the broker knows no such groups."""
    try:
        described = admin.describe_streams_groups(names)
    except UnsupportedVersion:
        return {}
    groups = [described.result(name) for name in described if name not in described.errors()]
    read = {
        topic for group in groups for topics in source_topics(group).values() for topic in topics
    }
    topics = admin.describe_topics(sorted(read))
    there = read - topics.errors().keys()
    counts = {topic: len(topics.result(topic).partitions) for topic in there}
    return {group.group_id: as_group(group, counts) for group in groups}


def is_share_group(group: GroupDescription | None) -> bool:
    """Tells whether a group is a share group. None stands for a group that does not exist yet."""
    from millstream.clients.admin import GroupType

    return group is not None and group.type is GroupType.SHARE


class CurrentOffset(NamedTuple):
    """The offset of a group in one partition.

    `lag`: where the broker knows it, of share groups, which acknowledge out of order. `dropped`: how many records an
    application has left out, as its tasks commit it with their offsets; None for other groups, and of instances of
    Kafka Streams, which do not say it.
    """

    offset: int
    lag: int | None = None
    dropped: int | None = None


def current_offsets(
    admin: Admin, group_id: str, *, shared: bool
) -> dict[TopicPartition, CurrentOffset]:
    """Returns the group's offset in each partition."""
    if shared:
        starts = admin.list_share_group_offsets([group_id]).result(group_id)
        found = {tp: starts.result(tp) for tp in starts}
        return {tp: CurrentOffset(each.start_offset, each.lag) for tp, each in found.items()}
    offsets = admin.list_consumer_group_offsets([group_id]).result(group_id)
    committed = {tp: offsets.result(tp) for tp in offsets}
    dropped: Mapping[TopicPartition, int] = {}
    # Else it is no application's, whose modules take their time.
    if any(each.metadata for each in committed.values()):
        from millstream.streams.runtime.committed import dropped_of

        dropped = dropped_of(committed)
    return {
        tp: CurrentOffset(each.offset, dropped=dropped.get(tp)) for tp, each in committed.items()
    }


def move_offsets(
    admin: Admin, group_id: str, offsets: Mapping[TopicPartition, int], *, shared: bool
) -> dict[TopicPartition, KafkaError]:
    """Returns the errors of the partitions that could not be moved."""
    from millstream.clients import OffsetAndMetadata

    if shared:
        return admin.alter_share_group_offsets(group_id, offsets).errors()
    moved = {tp: OffsetAndMetadata(offset) for tp, offset in offsets.items()}
    return admin.alter_consumer_group_offsets(group_id, moved).errors()


def forget_offsets(
    admin: Admin,
    group_id: str,
    targets: Mapping[str, set[int] | None],
    partitions: Iterable[TopicPartition],
    *,
    shared: bool,
) -> dict[TopicPartition, KafkaError]:
    """Deletes committed offsets.

    `partitions` are those of `targets`; of a share group they are those of whole topics.
    """
    if not shared:
        return admin.delete_consumer_group_offsets(group_id, partitions).errors()
    errors = admin.delete_share_group_offsets(group_id, targets).errors()
    return {tp: errors[tp.topic] for tp in partitions if tp.topic in errors}


def require_whole_topics(group_id: str, targets: Mapping[str, set[int] | None]) -> None:
    """Raises UsageError for single partitions of a topic that a share group reads."""
    if any(numbers is not None for numbers in targets.values()):
        raise click.UsageError(
            f"{group_id} is a share group: its offsets are deleted for whole topics; write --topic TOPIC"
        )


group_argument = click.argument("names", nargs=-1, metavar="[GROUP]...", shell_complete=group_names)
group_option = click.option(
    "--group", "-G", "more", multiple=True, help="Same as the argument.", shell_complete=group_names
)
all_groups_option = click.option("--all-groups", is_flag=True, help="All groups of the cluster.")


def wanted_groups(
    admin: Admin, names: Sequence[str], more: Sequence[str], *, all_groups: bool
) -> list[str]:
    if all_groups:
        return [each.group_id for each in admin.list_groups()]
    return named(names, more, "GROUP")
