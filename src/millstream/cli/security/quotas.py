"""`millstream quotas`: how much clients may take, by user, client id, both, or address; named as by `kafka-configs`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Final, TypeVar

import click

from millstream.cli.cluster_options import ClusterOptions, Given, cluster_options
from millstream.cli.command import ClientGroup
from millstream.cli.rows import finish, note, output_option, print_rows
from millstream.cli.suggestions import or_near

if TYPE_CHECKING:
    from millstream.clients.admin import ClientQuotaEntity
    from millstream.clients.admin.configs.client_quotas import QuotaDefault
    from millstream.clients.blocking import Admin

Returned = TypeVar("Returned")

_OF_CLIENTS: Final = (
    "producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate",
)  # fmt: skip
_OF_ADDRESSES: Final = ("connection_creation_rate",)
_COLUMNS: Final = ("user", "client_id", "ip", "quota", "value")
_RESULT_COLUMNS: Final = ("user", "client_id", "ip", "quota", "value", "result")
_DEFAULT: Final = "<default>"
"""As `kafka-configs` writes the entity of all that have none of their own."""
_WHOM: Final = (
    click.option("--user", metavar="NAME", help="A user."),
    click.option("--user-defaults", is_flag=True, help="All users that have no quota of their own."),
    click.option("--client-id", "--client", metavar="ID", help="Clients of this name; with --user, those of that user."),
    click.option("--client-defaults", is_flag=True, help="All client ids that have no quota of their own."),
    click.option("--ip", metavar="ADDRESS", help="Connections from this address."),
    click.option("--ip-defaults", is_flag=True, help="All addresses that have no quota of their own."),
)  # fmt: skip
_dry_run = click.option(
    "--dry-run", "--validate-only", is_flag=True, help="Check whether it is possible, and change nothing."
)  # fmt: skip


def _whom(command: Callable[..., Returned]) -> Callable[..., Returned]:
    """Adds the options; the command gets them as one ClientQuotaEntity, `whom`, empty where none is given."""

    @wraps(command)
    def gathered(
        *arguments: Given,
        user_defaults: bool,
        client_defaults: bool,
        ip_defaults: bool,
        **options: Given,
    ) -> Returned:
        from millstream.clients.admin import ClientQuotaEntity

        whom = ClientQuotaEntity(
            _name("user", options.pop("user"), is_default=user_defaults),
            _name("client", options.pop("client_id"), is_default=client_defaults),
            _name("ip", options.pop("ip"), is_default=ip_defaults),
        )
        if whom.ip is not None and (whom.user, whom.client_id) != (None, None):
            raise click.UsageError(
                "an address has quotas of its own: leave --user and --client-id out"
            )
        return command(*arguments, whom=whom, **options)

    for decorate in reversed(_WHOM):
        gathered = decorate(gathered)
    return gathered


def _name(option: str, name: str | None, *, is_default: bool) -> str | QuotaDefault | None:
    from millstream.clients.admin import DEFAULT_ENTITY

    if is_default and name is not None:
        raise click.UsageError(f"give the {option} or --{option}-defaults, not both")
    return DEFAULT_ENTITY if is_default else name


@click.group(cls=ClientGroup)
def quotas() -> None:
    """List, set and remove quotas: how much clients may take."""


@quotas.command("list")
@cluster_options
@output_option
@_whom
def list_command(*, cluster: ClusterOptions, output: str, whom: ClientQuotaEntity) -> None:
    """List quotas: all, or those that name the user, client or address."""
    from millstream.clients.admin import ClientQuotaFilter

    with cluster.admin() as admin:
        found = admin.describe_client_quotas(ClientQuotaFilter(*whom))
    rows = [
        _entity_row(entity) | {"quota": quota, "value": value}
        for entity, values in sorted(found.items(), key=lambda item: str(item[0]))
        for quota, value in sorted(values.items())
    ]
    print_rows(rows, output, _COLUMNS)
    if not rows:
        note("there are no such quotas: millstream quotas set makes some", output)


@quotas.command("set")
@cluster_options
@output_option
@_whom
@click.argument("given", nargs=-1, metavar="QUOTA=VALUE...")
@_dry_run
def set_command(
    given: tuple[str, ...],
    *,
    cluster: ClusterOptions,
    output: str,
    whom: ClientQuotaEntity,
    dry_run: bool,
) -> None:
    """Set quotas. The others of the same user or client stay.

    producer_byte_rate and consumer_byte_rate: bytes a second. request_percentage: of one thread of
    a broker. controller_mutation_rate: partitions created and deleted a second.
    connection_creation_rate: connections a second, of an address.
    """
    if not given:
        raise click.UsageError("say how much, such as producer_byte_rate=1048576")
    values = dict(_quota(item, whom) for item in given)
    _require(whom)
    with cluster.admin() as admin:
        _alter(admin, whom, values, "set", output=output, dry_run=dry_run)


@quotas.command()
@cluster_options
@output_option
@_whom
@click.argument("names", nargs=-1, metavar="[QUOTA]...")
@_dry_run
def remove(
    names: tuple[str, ...],
    *,
    cluster: ClusterOptions,
    output: str,
    whom: ClientQuotaEntity,
    dry_run: bool,
) -> None:
    """Remove quotas, those that are named or all of the user, client or address."""
    from millstream.clients.admin import ClientQuotaFilter

    _require(whom)
    with cluster.admin() as admin:
        there = admin.describe_client_quotas(ClientQuotaFilter(*whom, strict=True)).get(whom, {})
        wanted = [_known(name, whom) for name in names] or sorted(there)
        values = {name: None for name in wanted if name in there}
        for name in wanted:
            if name not in there:
                note(f"{name} was not set", output)
        if values:
            _alter(admin, whom, values, "removed", output=output, dry_run=dry_run)
        elif not wanted:
            note("there are no such quotas", output)


def _require(whom: ClientQuotaEntity) -> None:
    if whom == (None, None, None):
        raise click.UsageError(
            "say whose: --user NAME, --client-id ID, --ip ADDRESS, or --user-defaults and the like"
        )


def _quota(item: str, whom: ClientQuotaEntity) -> tuple[str, float]:
    name, equals, text = item.partition("=")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not equals or not math.isfinite(value) or value <= 0:
        raise click.BadParameter(
            f"{item!r} is not QUOTA=VALUE with a value above 0", param_hint="QUOTA"
        )
    return _known(name, whom), value


def _known(name: str, whom: ClientQuotaEntity) -> str:
    known = _OF_CLIENTS if whom.ip is None else _OF_ADDRESSES
    if name not in known:
        raise click.BadParameter(
            f"{name!r} is not one of {', '.join(known)}{or_near(name, known)}", param_hint="QUOTA"
        )
    return name


def _alter(
    admin: Admin,
    whom: ClientQuotaEntity,
    values: Mapping[str, float | None],
    verb: str,
    *,
    output: str,
    dry_run: bool,
) -> None:
    errors = admin.alter_client_quotas({whom: values}, validate_only=dry_run).errors()
    if not errors:
        result = f"could be {verb}" if dry_run else verb
        rows = [
            _entity_row(whom) | {"quota": quota, "value": value, "result": result}
            for quota, value in values.items()
        ]
        print_rows(rows, output, _RESULT_COLUMNS)
    finish(errors, output)


def _entity_row(entity: ClientQuotaEntity) -> dict[str, object]:
    return {
        kind: name if name is None or isinstance(name, str) else _DEFAULT
        for kind, name in entity._asdict().items()
    }
