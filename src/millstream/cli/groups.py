"""`millstream groups`: list, describe with lag, delete. Offsets are moved in `group_offsets`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from millstream.cli.cluster_options import ClusterOptions, cluster_options
from millstream.cli.command import ClientGroup
from millstream.cli.group_offsets import delete_offsets, reset_offsets
from millstream.cli.group_options import (
    all_groups_option,
    group_argument,
    group_option,
    wanted_groups,
)
from millstream.cli.rows import confirm, finish, named, output_option, print_rows, yes_option

if TYPE_CHECKING:
    from millstream.clients.admin import GroupDescription, Results
    from millstream.clients.blocking import Admin
    from millstream.model import TopicPartition

Columns = tuple[str, ...]

_GROUP_COLUMNS: Final[Columns] = ("group", "type", "state", "protocol")
_STATE_COLUMNS: Final[Columns] = ("group", "coordinator", "assignor", "state", "epoch", "members")
_MEMBER_COLUMNS: Final[Columns] = (
    "group",
    "consumer_id",
    "host",
    "client_id",
    "instance_id",
    "partitions",
    "assignment",
)
_OFFSET_COLUMNS: Final[Columns] = (
    "group", "topic", "partition", "current_offset", "log_end_offset", "lag", "consumer_id", "host", "client_id",
)  # fmt: skip


@click.group(cls=ClientGroup)
def groups() -> None:
    """List, describe and delete groups; reset their offsets."""


@groups.command("list")
@cluster_options
@output_option
@click.option(
    "--state", "states", multiple=True, help="Only groups in this state, as Empty; may be repeated."
)
@click.option(
    "--type", "types", multiple=True, help="Only classic, consumer, share or streams groups."
)
def list_command(
    *, cluster: ClusterOptions, output: str, states: tuple[str, ...], types: tuple[str, ...]
) -> None:
    """Groups of all kinds, with their states."""
    with cluster.admin() as admin:
        listed = admin.list_groups(states=states, types=[name.lower() for name in types])
    rows = [
        {
            "group": each.group_id,
            "type": str(each.type),
            "state": str(each.state),
            "protocol": each.protocol_type,
        }
        for each in listed
    ]
    print_rows(rows, output, _GROUP_COLUMNS)


@groups.command()
@cluster_options
@output_option
@group_argument
@group_option
@all_groups_option
@click.option(
    "--offsets",
    "view",
    flag_value="offsets",
    default="offsets",
    help="Lag per partition (the default).",
)
@click.option(
    "--members",
    "view",
    flag_value="members",
    help="Who is in the group, and with which partitions.",
)
@click.option("--state", "view", flag_value="state", help="One line a group.")
def describe(
    names: tuple[str, ...],
    *,
    cluster: ClusterOptions,
    output: str,
    more: tuple[str, ...],
    all_groups: bool,
    view: str,
) -> None:
    """Offsets and lag, members, or states of groups."""
    with cluster.admin() as admin:
        wanted = wanted_groups(admin, names, more, all_groups=all_groups)
        found = _described(admin, wanted)
        good = [found.result(name) for name in wanted if name not in found.errors()]
        if view == "offsets":
            rows = [row for group in good for row in _offset_rows(admin, group)]
            columns = _OFFSET_COLUMNS
        elif view == "members":
            rows = [row for group in good for row in _member_rows(group)]
            columns = _MEMBER_COLUMNS
        else:
            rows = [_state_row(group) for group in good]
            columns = _STATE_COLUMNS
    print_rows(rows, output, columns)
    finish(found.errors(), output)


def _described(admin: Admin, names: list[str]) -> Results[str, GroupDescription]:
    """Groups of consumers, and share groups."""
    from millstream.errors import GroupIdNotFound

    found = admin.describe_groups(names)
    others = [name for name, error in found.errors().items() if isinstance(error, GroupIdNotFound)]
    if others:
        shared = admin.describe_share_groups(others)
        found.update({name: shared[name] for name in others if name not in shared.errors()})
    return found


def _state_row(group: GroupDescription) -> dict[str, object]:
    return {
        "group": group.group_id,
        "type": str(group.type),
        "coordinator": group.coordinator,
        "assignor": group.assignor,
        "state": str(group.state),
        "epoch": group.group_epoch,
        "members": len(group.members),
    }


def _member_rows(group: GroupDescription) -> list[dict[str, object]]:
    return [
        {
            "group": group.group_id,
            "consumer_id": member.member_id,
            "host": member.client_host,
            "client_id": member.client_id,
            "instance_id": member.group_instance_id,
            "partitions": len(member.assignment),
            "assignment": [f"{tp.topic}:{tp.partition}" for tp in sorted(member.assignment)],
        }
        for member in group.members
    ]


def _committed(
    admin: Admin, group: GroupDescription
) -> dict[TopicPartition, tuple[int, int | None]]:
    """Where the group is, and its lag where the broker tells it (of share groups, which acknowledge out of order)."""
    from millstream.clients.admin import GroupType

    if group.type is GroupType.SHARE:
        starts = admin.list_share_group_offsets([group.group_id]).result(group.group_id)
        found = {tp: starts.result(tp) for tp in starts}
        return {tp: (each.start_offset, each.lag) for tp, each in found.items()}
    offsets = admin.list_consumer_group_offsets([group.group_id]).result(group.group_id)
    return {tp: (offsets.result(tp).offset, None) for tp in offsets}


def _offset_rows(admin: Admin, group: GroupDescription) -> list[dict[str, object]]:
    """What is committed, and what is assigned though nothing was committed yet."""
    from millstream.clients.admin import OffsetSpec

    committed = _committed(admin, group)
    owners = {tp: member for member in group.members for tp in member.assignment}
    partitions = sorted(set(owners) | set(committed))
    ends = admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
    rows: list[dict[str, object]] = []
    for tp in partitions:
        owner = owners.get(tp)
        at, lag = committed.get(tp, (None, None))
        end = None if tp in ends.errors() else ends.result(tp).offset
        if lag is None and at is not None and end is not None:
            lag = max(0, end - at)
        rows.append(
            {
                "group": group.group_id,
                "topic": tp.topic,
                "partition": tp.partition,
                "current_offset": at,
                "log_end_offset": end,
                "lag": lag,
                "consumer_id": None if owner is None else owner.member_id,
                "host": None if owner is None else owner.client_host,
                "client_id": None if owner is None else owner.client_id,
            }
        )
    return rows


@groups.command()
@cluster_options
@output_option
@group_argument
@group_option
@yes_option
def delete(
    names: tuple[str, ...],
    *,
    cluster: ClusterOptions,
    output: str,
    more: tuple[str, ...],
    yes: bool,
) -> None:
    """Delete groups without members, and the offsets they committed."""
    wanted = named(names, more, "GROUP")
    confirm(f"Delete {', '.join(wanted)} and what they committed", yes=yes)
    with cluster.admin() as admin:
        errors = admin.delete_groups(wanted).errors()
    good = [name for name in wanted if name not in errors]
    print_rows([{"group": name, "result": "deleted"} for name in good], output, ("group", "result"))
    finish(errors, output)


groups.add_command(reset_offsets)
groups.add_command(delete_offsets)
