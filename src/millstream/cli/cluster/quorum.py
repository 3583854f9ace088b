"""`millstream cluster quorum`: describes the quorum of the controllers, adds one to its voters, removes one (as
kafka-metadata-quorum does).

A controller is added by the settings that it runs with: they and its log directory say what it is.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.cluster.options import AskedNodes, DescribingGroup, whom_to_ask
from millstream.cli.rows import Row, confirm, for_people, output_option, print_rows, yes_option
from millstream.model import ZERO_UUID, Uuid, uuid_from_text, uuid_text

if TYPE_CHECKING:
    from millstream.clients.admin import QuorumInfo, QuorumReplica, RaftVoterEndpoint
    from millstream.clients.blocking import Admin

_COLUMNS: Final = (
    "node_id",
    "directory_id",
    "log_end_offset",
    "lag",
    "last_fetch_ms",
    "last_caught_up_ms",
    "status",
)
_ASKED_TIMES: Final = 3
"""A controller that has just left is asked in vain once, and the election may take another."""
_ASKED_MS: Final = 5_000
"""Elections are over by then."""
_dry_run = click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")


@click.group(cls=DescribingGroup, short_help="Describe and change the quorum of the controllers.")
def quorum() -> None:
    """Describe the quorum of the controllers, add and remove voters. Without a verb: describe."""


@quorum.command()
@whom_to_ask
@output_option
@click.option(
    "--status",
    is_flag=True,
    help="The leader, the high watermark, voters and observers, and no more.",
)
@click.option("--replication", is_flag=True, help="How far each replica is, and no more.")
@click.option("--human-readable", is_flag=True, help="Times as how long ago they are.")
def describe(
    *, asked: AskedNodes, output: str, status: bool, replication: bool, human_readable: bool
) -> None:
    """Describe the quorum: who leads, who votes, and how far each replica of the metadata log is."""
    with asked.admin() as admin:
        found = described_quorum(admin)
        cluster_id = admin.describe_cluster().cluster_id
    now_ms = time.time_ns() // 1_000_000
    if status or not replication:
        told = status_row(found, cluster_id)
        if for_people(output):
            for name, value in told.items():
                text = value if isinstance(value, str | int | None) else json.dumps(value)
                click.echo(f"{_heading(name):24}{text}")
        else:
            print_rows([told], output, ())
    if status == replication and for_people(output):
        click.echo()
    if replication or (not status and for_people(output)):
        print_rows(replication_rows(found, now_ms if human_readable else None), output, _COLUMNS)


@quorum.command("add-controller")
@whom_to_ask
@click.option(
    "--config",
    "file",
    type=click.Path(exists=True, dir_okay=False),
    required=True,
    help="The properties file of the controller that is to vote; it runs, and its log directory is on this machine.",
)
@_dry_run
def add_controller(*, asked: AskedNodes, file: str, dry_run: bool) -> None:
    """Make a controller a voter. It must run already, and have caught up with the leader."""
    node_id, directory_id, endpoints = _controller_of(file)
    where = ", ".join(f"{each.name}://{each.address}" for each in endpoints)
    what = (
        f"controller {node_id} with directory id {uuid_text(directory_id)} and endpoints: {where}"
    )
    if dry_run:
        click.echo(f"would add {what}")
        return
    with asked.admin() as admin:
        admin.add_raft_voter(node_id, directory_id, endpoints)
    click.echo(f"added {what}")


@quorum.command("remove-controller")
@whom_to_ask
@yes_option
@click.option("--controller-id", type=click.IntRange(min=0), required=True, help="Its node.id.")
@click.option(
    "--controller-directory-id", required=True, metavar="ID", help="The id of its directory."
)
@_dry_run
def remove_controller(
    *, asked: AskedNodes, yes: bool, controller_id: int, controller_directory_id: str, dry_run: bool
) -> None:
    """Take a controller out of the voters. `quorum --replication` tells the id of its directory."""
    directory_id = _directory_id(controller_directory_id)
    what = f"controller {controller_id} with directory id {controller_directory_id}"
    if dry_run:
        click.echo(f"would remove {what}")
        return
    confirm(f"Remove {what} from the voters", yes=yes)
    with asked.admin() as admin:
        admin.remove_raft_voter(controller_id, directory_id)
    click.echo(f"removed {what}")


def described_quorum(admin: Admin) -> QuorumInfo:
    """Asks one node after another: one that is paused or cut off says nothing, and another one may
    know what the quorum lacks.

    Raises NotLeaderOrFollower, with that, where nobody leads; else what the last one left.
    """
    from millstream.errors import NotLeaderOrFollower, RequestTimedOut

    refused: NotLeaderOrFollower | None = None
    for _ in range(_ASKED_TIMES - 1):
        try:
            return admin.describe_metadata_quorum(timeout_ms=_ASKED_MS)
        except NotLeaderOrFollower as error:
            refused = error
        except RequestTimedOut:
            pass
    try:
        return admin.describe_metadata_quorum(timeout_ms=_ASKED_MS)
    except RequestTimedOut:
        if refused is None:
            raise
        raise refused from None


def status_row(found: QuorumInfo, cluster_id: str | None) -> dict[str, object]:
    """Returns what `--status` of Kafka's tool tells."""
    leader = next((each for each in found.voters if each.replica_id == found.leader_id), None)
    followers = [each for each in found.voters if each.replica_id != found.leader_id]
    ends = [each.log_end_offset for each in followers if each.log_end_offset >= 0]
    times = [each.last_caught_up_ms for each in followers]
    caught_up = leader.last_caught_up_ms if leader else None
    return {
        "cluster_id": cluster_id,
        "leader_id": found.leader_id,
        "leader_epoch": found.leader_epoch,
        "high_watermark": found.high_watermark,
        "max_follower_lag": max(0, leader.log_end_offset - min(ends)) if leader and ends else 0,
        "max_follower_lag_time_ms": max(
            (caught_up - each for each in times if caught_up is not None and each is not None),
            default=0,
        ),
        "current_voters": [_replica(each, found) for each in found.voters],
        "current_observers": [_replica(each, found) for each in found.observers],
    }


def _replica(replica: QuorumReplica, found: QuorumInfo) -> dict[str, object]:
    told: dict[str, object] = {"id": replica.replica_id}
    if replica.directory_id != ZERO_UUID:
        told["directoryId"] = uuid_text(replica.directory_id)
    listeners = found.nodes.get(replica.replica_id, ())
    if listeners:
        told["endpoints"] = [f"{each.name}://{each.address}" for each in listeners]
    return told


def replication_rows(found: QuorumInfo, now_ms: int | None) -> list[Row]:
    """Returns a row for each replica, the leader first. `now_ms`: times are told as how long before it they are."""
    leader_end = next(
        (each.log_end_offset for each in found.voters if each.replica_id == found.leader_id), None
    )

    def row(replica: QuorumReplica, status: str) -> Row:
        end = replica.log_end_offset
        return {
            "node_id": replica.replica_id,
            "directory_id": uuid_text(replica.directory_id),
            "log_end_offset": end,
            "lag": None if leader_end is None or end < 0 else max(0, leader_end - end),
            "last_fetch_ms": _time(replica.last_fetch_ms, now_ms),
            "last_caught_up_ms": _time(replica.last_caught_up_ms, now_ms),
            "status": status,
        }

    voters = sorted(
        found.voters, key=lambda each: (each.replica_id != found.leader_id, each.replica_id)
    )
    rows = [
        row(each, "Leader" if each.replica_id == found.leader_id else "Follower") for each in voters
    ]
    return rows + [row(each, "Observer") for each in found.observers]


def _time(then_ms: int | None, now_ms: int | None) -> int | str | None:
    if then_ms is None or now_ms is None:
        return then_ms
    return f"{max(0, now_ms - then_ms)} ms ago"


def _heading(name: str) -> str:
    """As Kafka's tool writes it: `LeaderEpoch:`."""
    return "".join(word.capitalize() for word in name.split("_")) + ":"


def _directory_id(text: str) -> Uuid:
    try:
        return uuid_from_text(text)
    except ValueError as error:
        raise click.BadParameter(
            f"{text!r} is no id of a directory: quorum --replication tells those of all",
            param_hint="--controller-directory-id",
        ) from error


def _controller_of(file: str) -> tuple[int, Uuid, list[RaftVoterEndpoint]]:
    """Returns id, directory and listeners of the controller that runs with these settings.

    Raises ConfigError and OSError.
    """
    from millstream.broker.config.kraft_settings import kraft_settings
    from millstream.cli.server.settings import read_settings
    from millstream.clients.admin import RaftVoterEndpoint
    from millstream.errors import ConfigError
    from millstream.log.directory.formatting import read_meta_properties
    from millstream.net.client.core.addresses import Address
    from millstream.runtime.system import SystemFileSystem

    settings = kraft_settings(read_settings(file, ()).values)
    if not settings.is_controller:
        raise ConfigError(f"{file}: process.roles says that this node is no controller")
    meta = read_meta_properties(SystemFileSystem(), settings.metadata_directory)
    if meta is None:
        raise ConfigError(
            f"{settings.metadata_directory} is not formatted: its id is not known. Format and start the controller first"
        )
    listeners = settings.controller_endpoints()
    endpoints = [RaftVoterEndpoint(each.name, Address(each.host, each.port)) for each in listeners]
    return settings.node_id, meta.directory_id, endpoints
