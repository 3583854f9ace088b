"""`millstream topics`: list, describe, create, alter, delete."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.arguments import PATTERN
from millstream.cli.cluster_options import ClusterOptions, cluster_options, pairs
from millstream.cli.command import ClientGroup
from millstream.cli.completion.local_names import topic_config_changes
from millstream.cli.completion.names import topic_names
from millstream.cli.near_names import with_near_topics
from millstream.cli.rows import (
    Row,
    confirm,
    dry_run_option,
    finish,
    for_people,
    named,
    note,
    output_option,
    print_rows,
    print_table,
    yes_option,
)
from millstream.cli.suggestions import or_near
from millstream.cli.terminal import printable
from millstream.quoting import counted, some_of

if TYPE_CHECKING:
    from millstream.clients.admin import TopicDescription
    from millstream.clients.blocking import Admin
    from millstream.errors import KafkaError

_names = click.argument("names", nargs=-1, metavar="[TOPIC]...", shell_complete=topic_names)
_topic = click.option(
    "--topic", "-t", "more", multiple=True, help="Same as the argument.", shell_complete=topic_names
)
_dry_run = click.option(
    "--dry-run",
    "--validate-only",
    is_flag=True,
    help="Check whether it is possible, and change nothing.",
)
_PARTITION_COLUMNS: Final = ("partition", "leader", "replicas", "isr", "offline")
_ELIGIBLE_COLUMNS: Final = ("elr", "last_known_elr")
_NO_TOPICS: Final = "there are no topics that you may see: millstream topics create NAME makes one"


@click.group(cls=ClientGroup)
def topics() -> None:
    """List, describe, create, alter and delete topics."""


@topics.command("list")
@cluster_options
@output_option
@click.option(
    "--topic",
    "-t",
    "pattern",
    type=PATTERN,
    metavar="REGEX",
    help="List only topics whose whole name matches.",
)
@click.option(
    "--include-internal/--exclude-internal",
    help="Whether to list internal topics of the brokers too.",
)
def list_command(
    *, cluster: ClusterOptions, output: str, pattern: str | None, include_internal: bool
) -> None:
    """List topics, one name on each line."""
    from millstream.model import uuid_text

    with cluster.admin() as admin:
        listed = admin.list_topics(include_internal=include_internal)
    rows: list[Row] = [
        {"topic": name, "topic_id": uuid_text(found.topic_id), "internal": found.is_internal}
        for name, found in sorted(listed.items())
        if pattern is None or re.fullmatch(pattern, name)
    ]
    if output == "table":
        for row in rows:
            click.echo(printable(str(row["topic"])))
    else:
        print_rows(rows, output, ())
    if not rows and listed:
        note(
            f"no topic has a name that {pattern!r} matches as a whole: .* stands for any text",
            output,
        )
    elif not rows:
        note(_NO_TOPICS, output)


@topics.command()
@cluster_options
@output_option
@_names
@_topic
@click.option(
    "--under-replicated-partitions",
    is_flag=True,
    help="Show only partitions with replicas that are not in sync.",
)
@click.option(
    "--unavailable-partitions", is_flag=True, help="Show only partitions without a leader."
)
def describe(
    names: tuple[str, ...],
    *,
    cluster: ClusterOptions,
    output: str,
    more: tuple[str, ...],
    under_replicated_partitions: bool,
    unavailable_partitions: bool,
) -> None:
    """Show partitions with leaders and replicas, and the settings of the topic itself. Without TOPIC: all topics."""
    with cluster.admin() as admin:
        wanted = [*names, *more] or sorted(admin.list_topics())
        found = with_near_topics(admin, admin.describe_topics(wanted))
        good = [found.result(name) for name in wanted if name not in found.errors()]
        overrides = _overrides(admin, [topic.name for topic in good])
    described = []
    for topic in good:
        partitions = [
            row
            for each, row in zip(topic.partitions, _partitions(topic), strict=True)
            if (not under_replicated_partitions or len(each.isr) < len(each.replicas))
            and (not unavailable_partitions or row["leader"] is None)
        ]
        if partitions or not (under_replicated_partitions or unavailable_partitions):
            described.append(_topic_row(topic, partitions, overrides[topic.name]))
    if not for_people(output):
        print_rows(described, output, ())
    else:
        for row in described:
            _print_topic(row, output)
    if not wanted:
        note(_NO_TOPICS, output)
    elif not described and good:
        note("no partition is like that", output)
    finish(found.errors(), output)


def _partitions(topic: TopicDescription) -> list[dict[str, object]]:
    """Replicas in their order: the first one is preferred as the leader."""
    return [
        {
            "partition": each.partition,
            "leader": None if each.leader < 0 else each.leader,
            "replicas": each.replicas,
            "isr": each.isr,
            "offline": sorted(each.offline_replicas),
            "elr": each.eligible_leader_replicas,
            "last_known_elr": each.last_known_eligible_leader_replicas,
        }
        for each in topic.partitions
    ]


def _topic_row(
    topic: TopicDescription, partitions: list[dict[str, object]], configs: dict[str, str | None]
) -> dict[str, object]:
    from millstream.model import uuid_text

    return {
        "topic": topic.name,
        "topic_id": uuid_text(topic.topic_id),
        "internal": topic.is_internal,
        "partition_count": len(topic.partitions),
        "configs": configs,
        "partitions": partitions,
    }


def _overrides(admin: Admin, names: list[str]) -> dict[str, dict[str, str | None]]:
    """The configs that were set for each topic itself."""
    from millstream.clients.admin import ConfigResource, ConfigResourceType, ConfigSource

    resources = {name: ConfigResource(ConfigResourceType.TOPIC, name) for name in names}
    found = admin.describe_configs(list(resources.values()))
    return {
        name: {
            entry.name: entry.value
            for entry in found.result(resource).values()
            if entry.source is ConfigSource.TOPIC_CONFIG
        }
        for name, resource in resources.items()
    }


def _print_topic(row: Row, output: str) -> None:
    configs, partitions, total = row["configs"], row["partitions"], row["partition_count"]
    assert isinstance(configs, dict), "made by _topic_row"
    assert isinstance(partitions, list), "made by _topic_row"
    assert isinstance(total, int), "made by _topic_row"
    settings = "".join(f"  {key}={value}" for key, value in sorted(configs.items()))
    head = f"{row['topic']}  id {row['topic_id']}  {counted(total, 'partition')}{settings}"
    click.echo(printable(head))
    eligible = any(each["elr"] or each["last_known_elr"] for each in partitions)
    is_wide = eligible or output == "wide"
    columns = (*_PARTITION_COLUMNS, *_ELIGIBLE_COLUMNS) if is_wide else _PARTITION_COLUMNS
    print_table(partitions, columns, indent="  ")


@topics.command()
@cluster_options
@output_option
@_names
@_topic
@click.option(
    "--partitions",
    "-p",
    default=-1,
    help="Number of partitions. Default: num.partitions of the broker.",
)
@click.option(
    "--replication-factor",
    "-r",
    default=-1,
    help="Copies of each partition. Default: default.replication.factor of the broker.",
)
@click.option(
    "--config",
    "configs",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=topic_config_changes,
    help="A setting of the topic; may be repeated.",
)
@click.option(
    "--replica-assignment",
    metavar="B:B,B:B",
    help="Brokers of each partition, with the preferred leader first.",
)
@click.option("--if-not-exists", is_flag=True, help="Do not fail if the topic exists already.")
@_dry_run
def create(
    names: tuple[str, ...],
    *,
    cluster: ClusterOptions,
    output: str,
    more: tuple[str, ...],
    partitions: int,
    replication_factor: int,
    configs: tuple[str, ...],
    replica_assignment: str | None,
    if_not_exists: bool,
    dry_run: bool,
) -> None:
    """Create topics."""
    from millstream.clients import NewTopic
    from millstream.errors import TopicAlreadyExists

    settings: dict[str, str | None] = dict(pairs(configs, "--config"))
    assignments = _assignments(replica_assignment)
    wanted = named(names, more, "TOPIC")
    new = [NewTopic(name, partitions, replication_factor, settings, assignments) for name in wanted]
    _warn_of_alike(wanted)
    with cluster.admin() as admin:
        errors = admin.create_topics(new, validate_only=dry_run).errors()
    results: dict[str, str | KafkaError] = dict.fromkeys(wanted, _done("created", dry_run=dry_run))
    for name, error in errors.items():
        expected = if_not_exists and isinstance(error, TopicAlreadyExists)
        results[name] = "exists already" if expected else _with_hint(error, settings)
    _report(results, output)


def _with_hint(error: KafkaError, settings: Iterable[str]) -> KafkaError:
    """Adds what was perhaps meant to the refusal of a setting that no topic has."""
    from millstream.errors import InvalidConfig
    from millstream.metadata.topic_config_table import TOPIC_CONFIGS

    unknown = [name for name in settings if name not in TOPIC_CONFIGS and name in str(error)]
    if not unknown or not isinstance(error, InvalidConfig):
        return error
    return InvalidConfig(f"{error}{or_near(unknown[0], TOPIC_CONFIGS)}")


def _warn_of_alike(names: list[str]) -> None:
    """Once, however many names there are."""
    dotted = [name for name in names if {".", "_"} & set(name)]
    if dotted:
        click.echo(
            f"warning: {printable(some_of(dotted))}: metrics cannot tell '.' from '_' in names of topics;"
            " use only one of the two",
            err=True,
        )


def _assignments(text: str | None) -> list[list[int]] | None:
    if text is None:
        return None
    try:
        return [[int(broker) for broker in part.split(":")] for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is not like 1:2,2:1", param_hint="--replica-assignment"
        ) from None


@topics.command()
@cluster_options
@output_option
@_names
@_topic
@click.option("--partitions", "-p", type=int, help="New number of partitions. It cannot shrink.")
@click.option(
    "--config",
    "configs",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=topic_config_changes,
    help="Set a setting of the topic; may be repeated.",
)
@click.option(
    "--delete-config",
    "deleted",
    multiple=True,
    metavar="KEY",
    help="Remove a setting: the default applies again.",
)
@_dry_run
def alter(
    names: tuple[str, ...],
    *,
    cluster: ClusterOptions,
    output: str,
    more: tuple[str, ...],
    partitions: int | None,
    configs: tuple[str, ...],
    deleted: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Add partitions to topics, change and remove their settings."""
    from millstream.clients.admin import (
        AlterConfig,
        AlterOperation,
        ConfigResource,
        ConfigResourceType,
    )

    wanted = named(names, more, "TOPIC")
    changes = [AlterConfig(key, value) for key, value in pairs(configs, "--config").items()]
    changes += [AlterConfig(key, None, AlterOperation.DELETE) for key in deleted]
    if partitions is None and not changes:
        raise click.UsageError("nothing to alter: give --partitions, --config or --delete-config")
    results: dict[str, str | KafkaError] = dict.fromkeys(wanted, _done("altered", dry_run=dry_run))
    with cluster.admin() as admin:
        if partitions is not None:
            totals = dict.fromkeys(wanted, partitions)
            answered = admin.create_partitions(totals, validate_only=dry_run)
            results.update(with_near_topics(admin, answered).errors())
        rest = [name for name, result in results.items() if isinstance(result, str)]
        if changes and rest:
            of = {ConfigResource(ConfigResourceType.TOPIC, name): changes for name in rest}
            altered = with_near_topics(
                admin, admin.incremental_alter_configs(of, validate_only=dry_run)
            )
            names_of = [change.name for change in changes]
            results.update(
                {key.name: _with_hint(error, names_of) for key, error in altered.errors().items()}
            )
    _report(results, output)


@topics.command()
@cluster_options
@output_option
@_names
@_topic
@click.option("--if-exists", is_flag=True, help="Do not fail if the topic does not exist.")
@yes_option
@dry_run_option
def delete(
    names: tuple[str, ...],
    *,
    cluster: ClusterOptions,
    output: str,
    more: tuple[str, ...],
    if_exists: bool,
    yes: bool,
    dry_run: bool,
) -> None:
    """Delete topics and all their records."""
    from millstream.errors import UnknownTopicOrPartition

    wanted = named(names, more, "TOPIC")
    if not dry_run:
        confirm(f"Delete {some_of(wanted)} and all their records", yes=yes)
    with cluster.admin() as admin:
        if dry_run:
            errors = with_near_topics(admin, admin.describe_topics(wanted)).errors()
        else:
            errors = with_near_topics(admin, admin.delete_topics(wanted)).errors()
    done = "would be deleted" if dry_run else "deleted"
    results: dict[str, str | KafkaError] = dict.fromkeys(wanted, done)
    for name, error in errors.items():
        expected = if_exists and isinstance(error, UnknownTopicOrPartition)
        results[name] = "did not exist" if expected else error
    _report(results, output)


def _done(verb: str, *, dry_run: bool) -> str:
    return f"could be {verb}" if dry_run else verb


def _report(results: dict[str, str | KafkaError], output: str) -> None:
    good = {name: result for name, result in results.items() if isinstance(result, str)}
    if not for_people(output):
        rows = [{"topic": name, "result": result} for name, result in good.items()]
        print_rows(rows, output, ())
    else:
        for name, result in good.items():
            click.echo(printable(f"{name} {result}"))
    errors = {name: result for name, result in results.items() if not isinstance(result, str)}
    finish(errors, output)
