"""`millstream cluster brokers`: each broker with its address, rack and state, the partitions it
leads, and its log directories.

A broker that is fenced is not asked for its directories: it may not be there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.cluster.options import AskedNodes, DescribingGroup, whom_to_ask
from millstream.cli.rows import (
    Row,
    confirm,
    dry_run_option,
    finish,
    output_option,
    print_rows,
    yes_option,
)
from millstream.clients.admin.cluster.nodes import broker_state
from millstream.errors import BrokerIdNotRegistered, InvalidRequest, KafkaError

if TYPE_CHECKING:
    from millstream.clients.admin import (
        ClusterDescription,
        LogDirDescription,
        LogDirs,
        Results,
        TopicDescription,
    )
    from millstream.protocol.api import ApiVersionRange

ANSWER_MS: Final = 5_000
"""A broker that died just now is not fenced yet, and does not answer."""
_VERSION_COLUMNS: Final = ("broker", "api", "name", "min", "max", "usable")
_COLUMNS: Final = ("id", "host", "port", "rack", "state", "leads", "replicas", "log_dirs")


@click.group(cls=DescribingGroup, short_help="Describe brokers, forget those that are gone.")
def brokers() -> None:
    """Describe brokers, forget those that are gone. Without a verb: describe."""


@brokers.command()
@whom_to_ask
@output_option
def describe(*, asked: AskedNodes, output: str) -> None:
    """Show each broker: where it is, how it is, what it leads, and where its logs are."""
    if asked.asks_controllers:
        raise click.UsageError("controllers do not describe brokers: give --bootstrap-server")
    with asked.admin() as admin:
        cluster = admin.describe_cluster(include_fenced_brokers=True)
        topics = admin.describe_topics(admin.list_topics(include_internal=True))
        fenced = cluster.fenced_broker_ids
        living = [node.node_id for node in cluster.nodes if node.node_id not in fenced]
        directories = admin.describe_log_dirs(living, [], timeout_ms=ANSWER_MS)
    described = [topic for topic in topics.values() if not isinstance(topic, KafkaError)]
    print_rows(broker_rows(cluster, described, directories), output, _COLUMNS)
    finish(directories.errors(), output)


@brokers.command()
@whom_to_ask
@yes_option
@dry_run_option
@click.argument("broker_id", type=click.IntRange(min=0))
def unregister(broker_id: int, *, asked: AskedNodes, yes: bool, dry_run: bool) -> None:
    """Forget a broker that is gone for good. One that is alive is refused."""
    if dry_run:
        with asked.admin() as admin:
            check_forgettable(admin.describe_cluster(include_fenced_brokers=True), broker_id)
        click.echo(f"broker {broker_id} would no longer be registered")
        return
    confirm(f"Forget broker {broker_id}", yes=yes)
    with asked.admin() as admin:
        admin.unregister_broker(broker_id)
    click.echo(f"broker {broker_id} is no longer registered")


@brokers.command("api-versions")
@whom_to_ask
@output_option
@click.option("--broker", "--broker-id", "broker_id", type=click.IntRange(0), metavar="ID", help="Ask this broker, in place of all.")  # fmt: skip
def api_versions(*, asked: AskedNodes, output: str, broker_id: int | None) -> None:
    """Show the versions of each API that each broker takes, and the latest that a client of ours would use."""
    if asked.asks_controllers:
        raise click.UsageError("controllers list no brokers: give --bootstrap-server")
    with asked.admin() as admin:
        nodes = None if broker_id is None else [broker_id]
        found = admin.describe_api_versions(nodes, timeout_ms=ANSWER_MS)
    print_rows(version_rows(found), output, _VERSION_COLUMNS)
    finish(found.errors(), output)


def version_rows(found: Results[int, dict[int, range]]) -> list[Row]:
    """Returns a row for each API of each broker that has answered."""
    from millstream.protocol.api import VERSIONS

    ours = {int(key): (key.name, versions) for key, versions in VERSIONS.items()}
    errors = found.errors()
    rows: list[Row] = []
    for node_id in sorted(each for each in found if each not in errors):
        for number, theirs in sorted(found.result(node_id).items()):
            name, versions = ours.get(number, (None, None))
            row: dict[str, object] = {"broker": node_id, "api": number, "name": name, "min": theirs.start, "max": theirs.stop - 1}  # fmt: skip
            rows.append({**row, "usable": None if versions is None else _usable(theirs, versions)})
    return rows


def _usable(theirs: range, ours: ApiVersionRange) -> int | None:
    """Returns the latest version that both have."""
    highest = min(theirs.stop - 1, ours.highest)
    return highest if highest >= max(theirs.start, ours.lowest) else None


def check_forgettable(cluster: ClusterDescription, broker_id: int) -> None:
    """Raises what a controller of ours would: Kafka's cuts a broker off that is alive."""
    if broker_id not in {node.node_id for node in cluster.nodes}:
        raise BrokerIdNotRegistered(f"Broker ID {broker_id} is not currently registered")
    if broker_id not in cluster.fenced_broker_ids:
        raise InvalidRequest(f"Broker {broker_id} is alive: stop it before it is forgotten")


def broker_rows(
    cluster: ClusterDescription,
    topics: Sequence[TopicDescription],
    directories: Mapping[int, LogDirs | KafkaError],
) -> list[Row]:
    """Returns a row for each broker, by id."""
    partitions = [partition for topic in topics for partition in topic.partitions]
    rows: list[Row] = []
    for node in sorted(cluster.nodes, key=lambda node: node.node_id):
        found = directories.get(node.node_id)
        told = {} if found is None or isinstance(found, KafkaError) else dict(found)
        is_fenced = node.node_id in cluster.fenced_broker_ids
        rows.append(
            {
                "id": node.node_id,
                "host": node.address.host,
                "port": node.address.port,
                "rack": node.rack,
                "state": broker_state(told.values(), is_fenced=is_fenced),
                "leads": sum(each.leader == node.node_id for each in partitions),
                "replicas": sum(node.node_id in each.replicas for each in partitions),
                "log_dirs": [_directory(path, each) for path, each in sorted(told.items())],
            }
        )
    return rows


def _directory(path: str, found: LogDirDescription | KafkaError) -> str:
    if isinstance(found, KafkaError):
        return f"{path} (offline)"
    return f"{path} (cordoned)" if found.is_cordoned else path
