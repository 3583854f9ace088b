"""`millstream groups`: list, describe with lag, delete. Offsets are moved in `offsets`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from millstream.cli.cluster_options import ClusterOptions, cluster_options
from millstream.cli.command import ClientGroup
from millstream.cli.groups.kinds import (
    all_groups_option,
    current_offsets,
    described_groups,
    group_argument,
    group_option,
    is_share_group,
    wanted_groups,
)
from millstream.cli.groups.offsets import delete_offsets, reset_offsets
from millstream.cli.near_names import with_near_groups
from millstream.cli.rows import (
    confirm,
    dry_run_option,
    finish,
    named,
    note,
    output_option,
    print_rows,
    yes_option,
)
from millstream.errors import KafkaError, NonEmptyGroup
from millstream.quoting import counted, some_of

if TYPE_CHECKING:
    from millstream.clients.admin import GroupDescription, Results
    from millstream.clients.blocking import Admin

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

_STATES: Final = (
    "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning", "Reconciling", "NotReady",
)  # fmt: skip
_TYPES: Final = ("classic", "consumer", "share", "streams")
_NO_GROUPS: Final = (
    "there are no groups that you may see: millstream consume TOPIC --group NAME begins one"
)
_NOTHING_TO_SHOW: Final = {"offsets": "has no offsets", "members": "has no members"}


@click.group(cls=ClientGroup)
def groups() -> None:
    """List, describe and delete groups; reset their offsets."""


@groups.command("list")
@cluster_options
@output_option
@click.option(
    "--state", "states", type=click.Choice(_STATES, case_sensitive=False), multiple=True,
    help="List only groups in this state; may be repeated.",
)  # fmt: skip
@click.option(
    "--type", "types", type=click.Choice(_TYPES, case_sensitive=False), multiple=True,
    help="List only groups of this type; may be repeated.",
)  # fmt: skip
def list_command(
    *, cluster: ClusterOptions, output: str, states: tuple[str, ...], types: tuple[str, ...]
) -> None:
    """List groups of all types, with their states."""
    with cluster.admin() as admin:
        listed = admin.list_groups(states=states, types=types)
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
    if not rows:
        note("no group is like that" if states or types else _NO_GROUPS, output)


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
    help="Show offsets and lag of each partition (the default).",
)
@click.option(
    "--members",
    "view",
    flag_value="members",
    help="Show the members and their partitions.",
)
@click.option(
    "--state",
    "view",
    flag_value="state",
    help="Show one line for each group: state, coordinator, number of members.",
)
def describe(
    names: tuple[str, ...],
    *,
    cluster: ClusterOptions,
    output: str,
    more: tuple[str, ...],
    all_groups: bool,
    view: str,
) -> None:
    """Show offsets and lag of groups, or their members, or their states.

    Of applications it also shows how many records they have dropped, as their tasks commit it with the
    offsets; the log says why.
    """
    with cluster.admin() as admin:
        wanted = wanted_groups(admin, names, more, all_groups=all_groups)
        found = with_near_groups(admin, described_groups(admin, wanted))
        good = [found.result(name) for name in wanted if name not in found.errors()]
        if view == "offsets":
            rows = [row for group in good for row in _offset_rows(admin, group)]
            if not any(row["dropped"] is not None for row in rows):
                rows = [{name: row[name] for name in _OFFSET_COLUMNS} for row in rows]
            columns = tuple(rows[0]) if rows else _OFFSET_COLUMNS
        elif view == "members":
            rows = [row for group in good for row in _member_rows(group)]
            columns = _MEMBER_COLUMNS
        else:
            rows = [_state_row(group) for group in good]
            columns = _STATE_COLUMNS
    print_rows(rows, output, columns)
    if not wanted:
        note(_NO_GROUPS, output)
    for group in good:
        if not any(row["group"] == group.group_id for row in rows):
            note(f"group {group.group_id} {_NOTHING_TO_SHOW[view]}", output)
    finish(found.errors(), output)


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


def _offset_rows(admin: Admin, group: GroupDescription) -> list[dict[str, object]]:
    """A row for each partition that has a commit, or is assigned without one yet."""
    from millstream.clients.admin import OffsetSpec

    committed = current_offsets(admin, group.group_id, shared=is_share_group(group))
    owners = {tp: member for member in group.members for tp in member.assignment}
    partitions = sorted(set(owners) | set(committed))
    ends = admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
    rows: list[dict[str, object]] = []
    for tp in partitions:
        owner = owners.get(tp)
        found = committed.get(tp)
        at, lag = (None, None) if found is None else (found.offset, found.lag)
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
                "dropped": None if found is None else found.dropped,
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
@dry_run_option
def delete(
    names: tuple[str, ...],
    *,
    cluster: ClusterOptions,
    output: str,
    more: tuple[str, ...],
    yes: bool,
    dry_run: bool,
) -> None:
    """Delete groups that have no members, together with their committed offsets."""
    wanted = named(names, more, "GROUP")
    if not dry_run:
        confirm(f"Delete {some_of(wanted)} and what they committed", yes=yes)
    with cluster.admin() as admin:
        if dry_run:
            errors = _undeletable(with_near_groups(admin, described_groups(admin, wanted)))
        else:
            errors = with_near_groups(admin, admin.delete_groups(wanted)).errors()
    good = [name for name in wanted if name not in errors]
    done = "would be deleted" if dry_run else "deleted"
    print_rows([{"group": name, "result": done} for name in good], output, ("group", "result"))
    finish(errors, output)


def _undeletable(found: Results[str, GroupDescription]) -> dict[str, KafkaError]:
    """The groups that a deletion would refuse."""
    errors = found.errors()
    for name, group in found.items():
        if not isinstance(group, KafkaError) and group.members:
            errors[name] = NonEmptyGroup(f"{name}: The group is not empty: it has {counted(len(group.members), 'member')}")  # fmt: skip
    return errors


groups.add_command(reset_offsets)
groups.add_command(delete_offsets)
