"""`reset`: has an application begin anew, whatever runs it.

A verb of `millstream streams` and of `millstream pipeline`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from millstream.cli.cluster_options import ClusterOptions, cluster_options
from millstream.cli.command import ClientCommand
from millstream.cli.completion.names import group_names
from millstream.cli.rows import (
    Row,
    confirm,
    dry_run_option,
    output_option,
    print_rows,
    yes_option,
)
from millstream.cli.suggestions import or_near
from millstream.errors import GroupIdNotFound, MillstreamError, NonEmptyGroup
from millstream.quoting import some_of

if TYPE_CHECKING:
    from millstream.clients.blocking import Admin

_COLUMNS: Final = ("kind", "name", "result")
_DONE: Final = "deleted"
_PLANNED: Final = "would be deleted"
_RUNS: Final = "application {} runs: end its instances first; one that was killed is missed after the time-out of its session"


class ApplicationRuns(MillstreamError):
    """The group of an application has members: end its instances first."""


@click.command(cls=ClientCommand)
@cluster_options
@output_option
@yes_option
@dry_run_option
@click.argument("application_id", metavar="APPLICATION", shell_complete=group_names)
def reset(
    application_id: str, *, cluster: ClusterOptions, output: str, yes: bool, dry_run: bool
) -> None:
    """Delete the committed offsets and the internal topics of an application, so that it begins anew.

    It is for KafkaStreams, SparkStreams and applications in Java alike. Stop the application first. Its input and
    output topics stay as they are, and stores on disks are deleted by the next run.
    """
    with cluster.admin() as admin:
        groups, topics = require_application(admin, application_id)
        has_group = application_id in groups
        if dry_run:
            if has_group:
                _check_ended(admin, application_id)
            planned = [_row("group", application_id, _PLANNED)] if has_group else []
            planned += [_row("topic", name, _PLANNED) for name in topics]
            print_rows(planned, output, _COLUMNS)
            return
        what = f"the offsets of group {application_id}"
        confirm(f"Delete {what} and {some_of(topics)}" if topics else f"Delete {what}", yes=yes)
        rows: list[Row] = []
        try:
            if has_group:
                _delete_group(admin, application_id)
                rows.append(_row("group", application_id, _DONE))
            if topics:
                deleted = admin.delete_topics(topics)
                errors = deleted.errors()
                rows += [_row("topic", name, _DONE) for name in topics if name not in errors]
                deleted.raise_errors()
        except KeyboardInterrupt:
            click.echo(
                "interrupted: what is not listed may be deleted or not: run this again", err=True
            )
            raise
        finally:
            if rows:
                print_rows(rows, output, _COLUMNS)


def _row(kind: str, name: str, result: str) -> Row:
    return {"kind": kind, "name": name, "result": result}


def require_application(admin: Admin, application_id: str) -> tuple[list[str], tuple[str, ...]]:
    """Returns all groups, and the internal topics of the application.

    Raises GroupIdNotFound where there is nothing of it.
    """
    from millstream.streams.runtime.reset import internal_topics

    groups = [each.group_id for each in admin.list_groups()]
    topics = internal_topics(application_id, admin.list_topics(), groups)
    if application_id not in groups and not topics:
        near = or_near(application_id, groups)
        raise GroupIdNotFound(f"there is nothing of an application {application_id}{near}")
    return groups, topics


def _check_ended(admin: Admin, application_id: str) -> None:
    """Raises ApplicationRuns. Instances of today are in a streams group, those of before in a classic one."""
    try:
        has_members = bool(admin.describe_groups([application_id]).result(application_id).members)
    except GroupIdNotFound:
        described = admin.describe_streams_groups([application_id])
        has_members = bool(described.result(application_id).members)
    if has_members:
        raise ApplicationRuns(_RUNS.format(application_id))


def _delete_group(admin: Admin, application_id: str) -> None:
    """Raises ApplicationRuns before anything is deleted."""
    try:
        admin.delete_groups([application_id]).raise_errors()
    except NonEmptyGroup as error:
        raise ApplicationRuns(f"{_RUNS.format(application_id)}. Nothing was deleted") from error
