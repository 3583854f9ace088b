"""`millstream groups reset-offsets` and `delete-offsets`: committed offsets are moved or deleted."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TextIO

import click

from millstream.cli.cluster_options import ClusterOptions, Given, cluster_options
from millstream.cli.command import ClientCommand, report_error
from millstream.cli.completion.names import topic_names
from millstream.cli.groups.kinds import (
    all_groups_option,
    current_offsets,
    described_groups,
    forget_offsets,
    group_argument,
    group_option,
    is_share_group,
    move_offsets,
    require_whole_topics,
    wanted_groups,
)
from millstream.cli.near_names import or_near_group, with_near_groups, with_near_topics
from millstream.cli.rows import (
    Row,
    confirm,
    dry_run_option,
    finish,
    for_people,
    note,
    output_option,
    print_rows,
    yes_option,
)
from millstream.cli.terminal import printable
from millstream.errors import GroupSubscribedToTopic, KafkaError, NonEmptyGroup
from millstream.quoting import counted, some_of

if TYPE_CHECKING:
    from millstream.cli.groups.reset import KnownOffsets, Reset
    from millstream.clients.admin import GroupDescription
    from millstream.clients.blocking import Admin
    from millstream.model import TopicPartition

_topic = click.option(
    "--topic",
    "-t",
    "topics",
    multiple=True,
    metavar="TOPIC[:P,P]",
    shell_complete=topic_names,
    help="A topic, or some of its partitions; may be repeated.",
)
_RESET_COLUMNS: Final = ("group", "topic", "partition", "new_offset")
_DELETED_COLUMNS: Final = ("group", "topic", "partition", "result")
_CAN_BE_RESET: Final = ("Empty", "Dead")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The options that say which offsets are moved, and where to."""

    topics: tuple[str, ...]
    all_topics: bool
    to_earliest: bool
    to_latest: bool
    to_current: bool
    to_offset: int | None
    shift_by: int | None
    to_datetime: str | None
    by_duration: str | None
    from_file: TextIO | None


@click.command("reset-offsets", cls=ClientCommand)
@cluster_options
@output_option
@group_argument
@group_option
@all_groups_option
@_topic
@click.option("--all-topics", is_flag=True, help="All topics for which the group has offsets.")
@click.option("--to-earliest", is_flag=True, help="To the first record.")
@click.option("--to-latest", is_flag=True, help="To the end.")
@click.option(
    "--to-current",
    is_flag=True,
    help="Keep the offset, but move it into the range of existing records.",
)
@click.option("--to-offset", type=int, help="To this offset.")
@click.option(
    "--shift-by", type=int, metavar="N", help="Forward by N offsets; backward if N is negative."
)
@click.option(
    "--to-datetime",
    metavar="TIME",
    help="To the first record since TIME: ISO 8601 (UTC) or milliseconds since 1970.",
)
@click.option(
    "--by-duration",
    metavar="DURATION",
    help="To the first record of the last DURATION, such as PT10M or 10m.",
)
@click.option(
    "--from-file", type=click.File(), help="To the offsets in a file that --export wrote."
)
@click.option("--execute", is_flag=True, help="Change the offsets.")
@click.option(
    "--dry-run", is_flag=True, help="Show the new offsets and change nothing (the default)."
)
@click.option("--export", is_flag=True, help="Print the new offsets as CSV.")
def reset_offsets(
    names: tuple[str, ...],
    *,
    cluster: ClusterOptions,
    output: str,
    more: tuple[str, ...],
    all_groups: bool,
    execute: bool,
    dry_run: bool,
    export: bool,
    **given: Given,
) -> None:
    """Change the committed offsets of groups that have no members.

    Only shows the new offsets unless --execute is given.
    """
    from millstream.cli.groups.reset import plan_text

    if execute and dry_run:
        raise click.UsageError("--execute or --dry-run, not both")
    where = _Options(**given)
    reset = _reset(where)
    rows: list[Row] = []
    errors: dict[tuple[str, TopicPartition | None], KafkaError] = {}
    with cluster.admin() as admin:
        wanted = wanted_groups(admin, names, more, all_groups=all_groups)
        try:
            for group_id in wanted:
                try:
                    plan, failed = _moved(admin, group_id, reset, where, output, execute=execute)
                except KafkaError as error:
                    errors[group_id, None] = (
                        error  # the others are handled, and told of, all the same
                    )
                    continue
                errors |= {(group_id, tp): error for tp, error in failed.items()}
                if export:
                    click.echo(plan_text(plan), nl=False)
                else:
                    rows += _reset_rows(group_id, plan, failed)
        except KeyboardInterrupt:
            if not export:
                print_rows(rows, output, _RESET_COLUMNS)
            for failure in errors.values():
                report_error(failure, as_json=not for_people(output))
            if execute:
                _tell_of_interruption(group_id)
            raise
    if not export:
        print_rows(rows, output, _RESET_COLUMNS)
    if rows and not execute and not export:
        click.echo("nothing was changed; add --execute to change the offsets", err=True)
    finish(errors, output)


def _tell_of_interruption(group_id: str) -> None:
    sentence = f"interrupted: group {group_id} may be moved or not; those before it are told above"
    click.echo(printable(sentence), err=True)


def _moved(
    admin: Admin,
    group_id: str,
    reset: Reset | None,
    where: _Options,
    output: str,
    *,
    execute: bool,
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, KafkaError]]:
    """Returns the new offsets of a group, and the errors of partitions that could not be moved.

    Nothing moves unless `execute`.
    """
    group = _without_members(admin, group_id)
    near = or_near_group(admin, group_id) if group is None else ""
    if near:
        note(f"there is no group {group_id} yet{near}", output)
    shared = is_share_group(group)
    plan = _plan(admin, group_id, reset, where, shared=shared)
    failed = move_offsets(admin, group_id, plan, shared=shared) if execute else {}
    return plan, failed


def _reset_rows(
    group_id: str, plan: Mapping[TopicPartition, int], failed: Container[TopicPartition]
) -> list[Row]:
    return [
        {"group": group_id, "topic": tp.topic, "partition": tp.partition, "new_offset": at}
        for tp, at in plan.items()
        if tp not in failed
    ]


def _reset(options: _Options) -> Reset | None:
    """None for a plan from a file."""
    from millstream.cli.groups.reset import Reset
    from millstream.cli.records.offset_choice import duration_ms, timestamp_ms
    from millstream.runtime.system import SystemClock

    chosen: list[Reset | None] = []
    if options.to_earliest:
        chosen.append(Reset("earliest"))
    if options.to_latest:
        chosen.append(Reset("latest"))
    if options.to_current:
        chosen.append(Reset("current"))
    if options.to_offset is not None:
        chosen.append(Reset("offset", options.to_offset))
    if options.shift_by is not None:
        chosen.append(Reset("shift", options.shift_by))
    if options.to_datetime is not None:
        chosen.append(Reset("time", timestamp_ms(options.to_datetime)))
    if options.by_duration is not None:
        ago = duration_ms(options.by_duration)
        chosen.append(Reset("time", max(0, SystemClock().now().wall_ms - ago)))
    if options.from_file is not None:
        chosen.append(None)  # the file says it for each partition
    if len(chosen) != 1:
        raise click.UsageError(
            "give exactly one new position: --to-earliest, --to-latest, --to-current, --to-offset,"
            " --shift-by, --to-datetime, --by-duration or --from-file"
        )
    return chosen[0]


def _without_members(admin: Admin, group_id: str) -> GroupDescription | None:
    """None for a group that does not exist yet: it may be given offsets. Raises NonEmptyGroup."""
    from millstream.errors import GroupIdNotFound

    try:
        group = described_groups(admin, [group_id]).result(group_id)
    except GroupIdNotFound:
        return None
    if group.state not in _CAN_BE_RESET:
        raise NonEmptyGroup(
            f"group {group_id} is in state {group.state} with {counted(len(group.members), 'member')};"
            " stop its consumers first"
        )
    return group


def _plan(
    admin: Admin,
    group_id: str,
    reset: Reset | None,
    options: _Options,
    *,
    shared: bool,
) -> dict[TopicPartition, int]:
    from millstream.cli.groups.reset import new_offsets, parse_plan, within

    if reset is None:
        assert options.from_file is not None, "nothing else leaves the reset open"
        options.from_file.seek(0)
        chosen = parse_plan(options.from_file.read())
        return within(chosen, _known(admin, list(chosen), {}), _warn)
    found = current_offsets(admin, group_id, shared=shared)
    committed = {tp: each.offset for tp, each in found.items()}
    partitions = (
        sorted(committed)
        if options.all_topics
        else _partitions(admin, _targets(options.topics, "or --all-topics"))
    )
    return new_offsets(reset, partitions, _known(admin, partitions, committed), _warn)


def _warn(sentence: str) -> None:
    click.echo(f"warning: {printable(sentence)}", err=True)


def _targets(topics: tuple[str, ...], otherwise: str = "") -> dict[str, set[int] | None]:
    from millstream.cli.groups.reset import parse_targets

    targets = parse_targets(topics)
    if not targets:
        raise click.UsageError(f"name the topics: --topic TOPIC[:P,P] {otherwise}".rstrip())
    return targets


def _partitions(admin: Admin, targets: dict[str, set[int] | None]) -> list[TopicPartition]:
    from millstream.model import TopicPartition

    found = with_near_topics(admin, admin.describe_topics(targets)).raise_errors()
    partitions = []
    for name, wanted in targets.items():
        existing = {each.partition for each in found.result(name).partitions}
        missing = sorted((wanted or set()) - existing)
        if missing:
            raise click.UsageError(f"{name} has no partition {', '.join(map(str, missing))}")
        partitions += [TopicPartition(name, each) for each in sorted(wanted or existing)]
    return partitions


def _known(
    admin: Admin, partitions: list[TopicPartition], committed: dict[TopicPartition, int]
) -> KnownOffsets:
    from millstream.cli.groups.reset import KnownOffsets
    from millstream.clients.admin import OffsetSpec

    def offsets(timestamp: int) -> dict[TopicPartition, int]:
        found = admin.list_offsets(dict.fromkeys(partitions, timestamp)).raise_errors()
        return {tp: found.result(tp).offset for tp in partitions}

    end = offsets(OffsetSpec.LATEST)

    def at_time(time_ms: int) -> dict[TopicPartition, int]:
        return {tp: end[tp] if at < 0 else at for tp, at in offsets(time_ms).items()}

    return KnownOffsets(offsets(OffsetSpec.EARLIEST), end, committed, at_time)


@click.command("delete-offsets", cls=ClientCommand)
@cluster_options
@output_option
@group_argument
@group_option
@_topic
@yes_option
@dry_run_option
def delete_offsets(
    names: tuple[str, ...],
    *,
    cluster: ClusterOptions,
    output: str,
    more: tuple[str, ...],
    topics: tuple[str, ...],
    yes: bool,
    dry_run: bool,
) -> None:
    """Delete the committed offsets of a group for topics that no member reads."""
    wanted = [*names, *more]
    if len(wanted) != 1:
        raise click.UsageError("name one GROUP")
    targets = _targets(topics)
    with cluster.admin() as admin:
        partitions = _partitions(admin, targets)
        group = with_near_groups(admin, described_groups(admin, wanted)).result(wanted[0])
        shared = is_share_group(group)
        if shared:
            require_whole_topics(wanted[0], targets)
        if dry_run:
            there = current_offsets(admin, wanted[0], shared=shared)
            results, errors = planned_deletion(group, partitions, there)
            _tell_of_unknown_subscriptions(group, output)
        else:
            confirm(f"Delete what {wanted[0]} has committed for {counted(len(partitions), 'partition')} of {some_of(targets)}", yes=yes)  # fmt: skip
            errors = forget_offsets(admin, wanted[0], targets, partitions, shared=shared)
            results = {tp: "deleted" for tp in partitions if tp not in errors}
    rows = [
        {"group": wanted[0], "topic": tp.topic, "partition": tp.partition, "result": result}
        for tp, result in results.items()
    ]
    print_rows(rows, output, _DELETED_COLUMNS)
    finish(errors, output)


def planned_deletion(
    group: GroupDescription, partitions: Iterable[TopicPartition], there: Container[TopicPartition]
) -> tuple[dict[TopicPartition, str], dict[TopicPartition, KafkaError]]:
    """Returns what would become of each partition, and those that would be refused since a member reads their topic,
    or, of a share group, since there is a member.

    `there`: with an offset.
    """
    if is_share_group(group) and group.members:
        refused = f"group {group.group_id} has {counted(len(group.members), 'member')}: stop its consumers first"
        return {}, {tp: NonEmptyGroup(f"{tp}: {refused}") for tp in partitions}
    read = {tp.topic for member in group.members for tp in member.assignment}
    results: dict[TopicPartition, str] = {}
    errors: dict[TopicPartition, KafkaError] = {}
    for tp in partitions:
        if tp.topic in read:
            errors[tp] = GroupSubscribedToTopic(f"{tp}: a member of {group.group_id} reads the topic: stop its consumers first")  # fmt: skip
        else:
            results[tp] = "would be deleted" if tp in there else "has no offset"
    return results, errors


def _tell_of_unknown_subscriptions(group: GroupDescription, output: str) -> None:
    """What a member reads is told by its partitions, which it has once a rebalance is over."""
    waiting = sum(not member.assignment for member in group.members)
    if waiting and not is_share_group(group):
        note(
            f"{counted(waiting, 'member')} of {group.group_id} without partitions, perhaps until a rebalance is over: what is subscribed to "
            "there is refused though it is not told here",
            output,
        )
