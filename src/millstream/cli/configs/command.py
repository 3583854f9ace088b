"""`millstream configs`: settings of topics, brokers, their loggers, groups and client metrics, as the cluster
holds them (as kafka-configs).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.cluster_options import ClusterOptions, cluster_options
from millstream.cli.command import ClientGroup
from millstream.cli.completion.names import config_changes, config_names, resource_names
from millstream.cli.configs.resources import RESOURCE, parse_type, resource_text
from millstream.cli.near_names import check_up, with_near_topics
from millstream.cli.rows import Row, finish, for_people, note, output_option, print_rows
from millstream.cli.terminal import printable
from millstream.errors import (
    ConfigError,
    InvalidConfig,
    InvalidRequest,
    KafkaError,
    MillstreamError,
    UnsupportedVersion,
)
from millstream.metadata.config_resource import ConfigResource
from millstream.protocol.enums import AlterOperation, ConfigResourceType

if TYPE_CHECKING:
    from millstream.clients.admin import AlterConfig, ConfigEntry
    from millstream.clients.blocking import Admin

_LISTED: Final = ("resource",)
_COLUMNS: Final = ("resource", "key", "value", "source")
_LEVELS: Final = ("counts", "level", "key", "value")
_CHANGED: Final = ("resource", "key", "result")
_OF_BROKERS: Final = (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER)
_NOT_LISTED: Final = (
    "brokers before Kafka 4.1 list neither groups nor client metrics: name one, as group:readers"
)
_resource = click.argument(
    "resource", type=RESOURCE, metavar="RESOURCE", shell_complete=resource_names
)
_dry_run = click.option("--dry-run", is_flag=True, help="Have the change checked, and do not make it.")  # fmt: skip


@click.group(cls=ClientGroup)
def configs() -> None:
    """Get, set and explain the settings that a cluster holds.

    RESOURCE is a type and a name, as topic:orders; broker alone stands for all brokers. Types: topic, broker, logger,
    group, client-metrics. What a node reads from its file is checked by `millstream config`.
    """


@configs.command("list")
@cluster_options
@output_option
@click.argument("types", nargs=-1, metavar="[TYPE]...")
def list_command(types: tuple[str, ...], *, cluster: ClusterOptions, output: str) -> None:
    """List what has settings: topics, brokers, groups, client metrics. TYPE: those alone."""
    wanted = [parse_type(each) for each in types]
    with cluster.admin() as admin:
        try:
            found = admin.list_config_resources(wanted)
        except UnsupportedVersion:
            found = _list_by_hand(admin, wanted, output)
    rows: list[Row] = [
        {"resource": resource_text(each), "type": each.type.name.lower(), "name": each.name}
        for each in found
    ]
    print_rows(rows, output, _LISTED)
    if not rows:
        note(
            "nothing of that kind has settings: millstream configs set KIND:NAME KEY=VALUE gives it some",
            output,
        )


def _list_by_hand(
    admin: Admin, wanted: list[ConfigResourceType], output: str
) -> list[ConfigResource]:
    """Kafka before 4.1 lists topics and brokers elsewhere. Raises UnsupportedVersion where neither is wanted."""
    names: dict[ConfigResourceType, list[str]] = {}
    if not wanted or ConfigResourceType.TOPIC in wanted:
        names[ConfigResourceType.TOPIC] = sorted(admin.list_topics())
    for kind in _OF_BROKERS:
        if not wanted or kind in wanted:
            names[kind] = [str(node.node_id) for node in admin.describe_cluster().nodes]
    if not names:
        raise UnsupportedVersion(_NOT_LISTED)
    if not wanted or not names.keys() >= set(wanted):
        note(_NOT_LISTED, output)
    return [ConfigResource(kind, name) for kind, listed in names.items() for name in listed]


@configs.command()
@cluster_options
@output_option
@_resource
@click.argument("keys", nargs=-1, metavar="[KEY]...", shell_complete=config_names)
@click.option("--all", "-a", "all_keys", is_flag=True, help="Defaults too, and not only what was set somewhere.")  # fmt: skip
def get(
    resource: ConfigResource,
    keys: tuple[str, ...],
    *,
    cluster: ClusterOptions,
    output: str,
    all_keys: bool,
) -> None:
    """Show the settings of a resource, and which level each comes from."""
    with cluster.admin() as admin:
        _check_up(admin, resource)
        entries = with_near_topics(admin, admin.describe_configs([resource])).result(resource)
    chosen = chosen_entries(entries, keys, resource, all_keys=all_keys)
    print_rows([_row(resource, each) for each in chosen], output, _COLUMNS)
    if not chosen:
        note(f"nothing is set for {resource_text(resource)}: --all shows defaults", output)


@configs.command("set")
@cluster_options
@output_option
@_resource
@click.argument(
    "changes", nargs=-1, metavar="KEY=VALUE...", required=True, shell_complete=config_changes
)
@_dry_run
def set_command(
    resource: ConfigResource,
    changes: tuple[str, ...],
    *,
    cluster: ClusterOptions,
    output: str,
    dry_run: bool,
) -> None:
    """Set settings of a resource: all of them, or none. KEY+=VALUE adds to a list, KEY-=VALUE takes out of it."""
    _alter(cluster, resource, [parse_change(each) for each in changes], output, dry_run=dry_run)


@configs.command()
@cluster_options
@output_option
@_resource
@click.argument("keys", nargs=-1, metavar="KEY...", required=True, shell_complete=config_names)
@_dry_run
def unset(
    resource: ConfigResource,
    keys: tuple[str, ...],
    *,
    cluster: ClusterOptions,
    output: str,
    dry_run: bool,
) -> None:
    """Remove settings of a resource: what is below them counts again."""
    from millstream.clients.admin import AlterConfig

    changes = [AlterConfig(each, None, AlterOperation.DELETE) for each in keys]
    _alter(cluster, resource, changes, output, dry_run=dry_run)


@configs.command()
@cluster_options
@output_option
@_resource
@click.argument("key", shell_complete=config_names)
def explain(resource: ConfigResource, key: str, *, cluster: ClusterOptions, output: str) -> None:
    """Show every level at which a setting has a value, which one counts, and what it does."""
    with cluster.admin() as admin:
        _check_up(admin, resource)
        found = admin.describe_configs(
            [resource], include_synonyms=True, include_documentation=True
        )
        with_near_topics(admin, found)
    (entry,) = chosen_entries(found.result(resource), (key,), resource, all_keys=True)
    levels = level_rows(entry)
    if not for_people(output):
        head = _row(resource, entry)
        head["type"] = entry.type.name.lower()
        head["documentation"] = entry.documentation
        head["levels"] = levels
        print_rows([head], output, ())
        return
    click.echo(printable(f"{entry.name} of {resource_text(resource)}: {_value(entry)}"))
    if entry.documentation:
        click.echo(printable(entry.documentation))
    if entry.is_read_only:
        click.echo("It is read when a node starts: change it in its file, and restart it.")
    print_rows(levels, output, _LEVELS)


def chosen_entries(
    entries: dict[str, ConfigEntry],
    keys: tuple[str, ...],
    resource: ConfigResource,
    *,
    all_keys: bool,
) -> list[ConfigEntry]:
    """Returns the entries that are asked for; without keys what was set somewhere.

    Raises ConfigError for a key that is not there.
    """
    from millstream.cli.suggestions import or_near

    for key in keys:
        if key not in entries:
            raise ConfigError(f"{resource_text(resource)} has no setting {key}{or_near(key, entries)}")  # fmt: skip
    if keys:
        return [entries[key] for key in keys]
    return [
        each for _, each in sorted(entries.items()) if all_keys or not _is_default(each, resource)
    ]


def _is_default(entry: ConfigEntry, resource: ConfigResource) -> bool:
    """A logger's level is told whatever its source: which loggers there are is the question."""
    return entry.is_default and resource.type is not ConfigResourceType.BROKER_LOGGER


def level_rows(entry: ConfigEntry) -> list[Row]:
    """Returns a row for each level that has a value, the one that counts first."""
    found = [(each.source.name, each.name, each.value) for each in entry.synonyms]
    if not found:
        found = [(entry.source.name, entry.name, entry.value)]
    return [
        {"counts": "yes" if number == 0 else "no", "level": _level(source), "key": key, "value": value}
        for number, (source, key, value) in enumerate(found)
    ]  # fmt: skip


def parse_change(text: str) -> AlterConfig:
    """Raises BadParameter."""
    from millstream.clients.admin import AlterConfig

    key, separator, value = text.partition("=")
    operation = {"+": AlterOperation.APPEND, "-": AlterOperation.SUBTRACT}.get(key[-1:])
    name = (key if operation is None else key[:-1]).strip()
    if not separator or not name:
        raise click.BadParameter(f"{text!r} is not KEY=VALUE", param_hint="KEY=VALUE")
    return AlterConfig(name, value, AlterOperation.SET if operation is None else operation)


def _alter(
    cluster: ClusterOptions,
    resource: ConfigResource,
    changes: list[AlterConfig],
    output: str,
    *,
    dry_run: bool,
) -> None:
    with cluster.admin() as admin:
        _check_up(admin, resource)
        unknown = _not_of_brokers(admin, resource, changes)
        answered = admin.incremental_alter_configs({resource: changes}, validate_only=dry_run)
        errors = with_near_topics(admin, answered).errors()
        if resource in errors:
            errors[resource] = _with_hint(admin, resource, changes, errors[resource])
    verb = "unset" if changes[0].operation is AlterOperation.DELETE else "set"
    done = f"could be {verb}" if dry_run else verb
    # Without the values: whoever keeps the output of a program would keep passwords.
    rows: list[Row] = [
        {"resource": resource_text(resource), "key": each.name, "result": done} for each in changes
    ]
    print_rows([] if errors else rows, output, _CHANGED)
    for sentence in () if errors else unknown:
        note(f"warning: {sentence}", output)
    finish(errors, output)


def _check_up(admin: Admin, resource: ConfigResource) -> None:
    """Raises NetworkException where one broker is to be asked, and is not up."""
    if resource.type in _OF_BROKERS and resource.name:
        check_up(admin, int(resource.name))


def _not_of_brokers(
    admin: Admin, resource: ConfigResource, changes: list[AlterConfig]
) -> list[str]:
    """Returns a sentence for each setting that brokers do not have: they keep it all the same, for what is plugged in.

    None where that cannot be looked up.
    """
    from millstream.cli.suggestions import or_near

    given = [each.name for each in changes if each.operation is not AlterOperation.DELETE]
    if resource.type is not ConfigResourceType.BROKER or not given:
        return []
    broker = resource
    try:
        if not resource.name:
            nodes = admin.describe_cluster().nodes
            if not nodes:
                return []
            broker = ConfigResource(resource.type, str(nodes[0].node_id))
        known = admin.describe_configs([broker]).result(broker)
    except MillstreamError:
        return []
    return [
        f"brokers have no setting {name}{or_near(name, known)}"
        for name in given
        if name not in known and not name.startswith("listener.name.")
    ]


def _with_hint(
    admin: Admin, resource: ConfigResource, changes: list[AlterConfig], error: KafkaError
) -> KafkaError:
    """Adds to a refusal what was perhaps meant, or where else the setting is made.

    Where that cannot be looked up, it is the refusal that is told.
    """
    if not isinstance(error, (InvalidConfig, InvalidRequest)):
        return error
    try:
        known = admin.describe_configs([resource])[resource]
    except MillstreamError:
        return error
    if isinstance(known, KafkaError) or not known:
        return error
    return hinted(resource, [each.name for each in changes], known, error)


def hinted(
    resource: ConfigResource, keys: list[str], known: Mapping[str, ConfigEntry], error: KafkaError
) -> KafkaError:
    """Returns the refusal with a hint for the first of the keys that its sentence names; another
    one may be in order.
    """
    from millstream.cli.suggestions import or_near

    sentence = str(error).removeprefix(f"{resource.name}: ")
    said = f"{resource_text(resource)}: {sentence}"
    for key in keys:
        if not re.search(rf"(?<![\w.-]){re.escape(key)}(?![\w-]|\.\w)", sentence):
            continue
        entry = known.get(key)
        if entry is None:
            return type(error)(f"{said}{or_near(key, known)}")
        if entry.is_read_only:
            return type(error)(f"{said}; {key} is read when a node starts: change it in its file, and restart it")  # fmt: skip
    return error


def _row(resource: ConfigResource, entry: ConfigEntry) -> dict[str, object]:
    return {
        "resource": resource_text(resource),
        "key": entry.name,
        "value": _value(entry),
        "source": _level(entry.source.name),
        "is_read_only": entry.is_read_only,
        "is_sensitive": entry.is_sensitive,
    }


def _value(entry: ConfigEntry) -> str | None:
    return "(secret)" if entry.is_sensitive else entry.value


def _level(source: str) -> str:
    """`DYNAMIC_BROKER_CONFIG` is told as `dynamic broker`."""
    return source.removesuffix("_CONFIG").replace("_", " ").lower()
