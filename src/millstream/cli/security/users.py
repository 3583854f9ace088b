"""`millstream users`: users who log in by SCRAM. Their passwords are salted here, and no broker sees them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.cluster_options import ClusterOptions, cluster_options
from millstream.cli.command import ClientGroup
from millstream.cli.rows import confirm, finish, named, note, output_option, print_rows, yes_option
from millstream.cli.secure.client_file import UserLogin
from millstream.cli.security.passwords import (
    MECHANISMS,
    PasswordOptions,
    mechanism_option,
    password_options,
)
from millstream.errors import MillstreamError, ResourceNotFound
from millstream.quoting import some_of
from millstream.security.scram import ScramMechanism

if TYPE_CHECKING:
    from millstream.clients.admin import (
        DeleteScramCredential,
        ScramCredentialInfo,
        UpsertScramCredential,
    )
    from millstream.clients.blocking import Admin
    from millstream.errors import KafkaError

_COLUMNS: Final = ("user", "mechanism", "iterations")
_RESULT_COLUMNS: Final = ("user", "mechanism", "result")
_DEFAULT: Final = (ScramMechanism.SCRAM_SHA_512,)
_dry_run = click.option(
    "--dry-run", is_flag=True, help="Show what would be done, and change nothing."
)


class UserExists(MillstreamError):
    """The user is there already."""


@click.group(cls=ClientGroup)
def users() -> None:
    """List, add and remove users who log in by SCRAM, and change their passwords."""


@users.command("list")
@cluster_options
@output_option
@click.argument("names", nargs=-1, metavar="[USER]...")
def list_command(names: tuple[str, ...], *, cluster: ClusterOptions, output: str) -> None:
    """List users, or those that are named, with their mechanisms."""
    with cluster.admin() as admin:
        found = admin.describe_user_scram_credentials(names)
    rows = [
        {"user": user, "mechanism": each.mechanism.sasl_name, "iterations": each.iterations}
        for user in sorted(found.keys() - found.errors().keys())
        for each in found.result(user)
    ]
    print_rows(rows, output, _COLUMNS)
    if not found:
        note("there are no users who log in by SCRAM", output)
    finish(found.errors(), output)


@users.command()
@cluster_options
@output_option
@click.argument("user")
@password_options
@_dry_run
def add(
    user: str, *, cluster: ClusterOptions, output: str, wanted: PasswordOptions, dry_run: bool
) -> None:
    """Add a user, whose password is asked for, or read, or made. What the user may do say rules: see `millstream acls`."""
    wanted.check(cluster)
    with cluster.admin() as admin:
        if _credentials(admin, user):
            raise UserExists(
                f"{user} is there already: `millstream users password {user}` changes the password"
            )
        mechanisms = wanted.mechanisms or _DEFAULT
        if dry_run:
            _print_results(user, mechanisms, "could be added", output)
            return
        _set_password(admin, user, mechanisms, wanted, cluster)
    _print_results(user, mechanisms, "added", output)


@users.command()
@cluster_options
@output_option
@click.argument("user")
@password_options
@_dry_run
def password(
    user: str, *, cluster: ClusterOptions, output: str, wanted: PasswordOptions, dry_run: bool
) -> None:
    """Change the password of a user, for all mechanisms of the user or those that are named. Open connections stay."""
    wanted.check(cluster)
    with cluster.admin() as admin:
        there = _credentials(admin, user)
        if not there:
            raise ResourceNotFound(
                f"there is no user {user}: `millstream users add {user}` adds one"
            )
        mechanisms = wanted.mechanisms or [each.mechanism for each in there]
        if dry_run:
            _print_results(user, mechanisms, "could be changed", output)
            return
        _set_password(admin, user, mechanisms, wanted, cluster)
    _print_results(user, mechanisms, "changed", output)


@users.command()
@cluster_options
@output_option
@click.argument("names", nargs=-1, metavar="USER...")
@mechanism_option
@yes_option
@_dry_run
def remove(
    names: tuple[str, ...],
    *,
    cluster: ClusterOptions,
    output: str,
    mechanism_names: tuple[str, ...],
    yes: bool,
    dry_run: bool,
) -> None:
    """Remove users, or only their login by some --mechanism. Their rules stay, and so do open connections."""
    from millstream.clients.admin import DeleteScramCredential

    wanted = named(names, (), "USER")
    chosen = {MECHANISMS[name] for name in mechanism_names} or set(ScramMechanism)
    with cluster.admin() as admin:
        found = admin.describe_user_scram_credentials(wanted)
        errors = found.errors()
        changes = [
            DeleteScramCredential(user, each.mechanism)
            for user in wanted
            if user not in errors
            for each in found.result(user)
            if each.mechanism in chosen
        ]
        if changes and not dry_run:
            confirm(f"Remove {some_of(dict.fromkeys(each.user for each in changes))}", yes=yes)
            errors |= _alter(admin, changes)
    result = "could be removed" if dry_run else "removed"
    rows = [
        {"user": each.user, "mechanism": each.mechanism.sasl_name, "result": result}
        for each in changes
        if each.user not in errors
    ]
    print_rows(rows, output, _RESULT_COLUMNS)
    finish(errors, output)


def _credentials(admin: Admin, user: str) -> list[ScramCredentialInfo]:
    """Of one user; empty where there is none. Raises KafkaError."""
    try:
        return admin.describe_user_scram_credentials([user]).result(user)
    except ResourceNotFound:
        return []


def _set_password(
    admin: Admin,
    user: str,
    mechanisms: Sequence[ScramMechanism],
    wanted: PasswordOptions,
    cluster: ClusterOptions,
) -> None:
    """Raises KafkaError."""
    text = wanted.read(user)
    for error in _alter(admin, wanted.credentials(user, text, mechanisms)).values():
        raise error
    wanted.write_client_file(cluster, UserLogin(user, text, mechanisms[0].sasl_name))
    if wanted.client_file is not None:
        click.echo(f"{wanted.client_file}: the login of {user}", err=True)
    elif wanted.is_generated:
        click.echo(f"password of {user}: {text}", err=True)


def _alter(
    admin: Admin, changes: Iterable[UpsertScramCredential | DeleteScramCredential]
) -> dict[str, KafkaError]:
    """Brokers take one change of a user in a request, so each mechanism has its own."""
    errors: dict[str, KafkaError] = {}
    for mechanism in ScramMechanism:
        of_one = [each for each in changes if each.mechanism is mechanism]
        if of_one:
            errors |= admin.alter_user_scram_credentials(of_one).errors()
    return errors


def _print_results(
    user: str, mechanisms: Sequence[ScramMechanism], result: str, output: str
) -> None:
    rows = [{"user": user, "mechanism": each.sasl_name, "result": result} for each in mechanisms]
    print_rows(rows, output, _RESULT_COLUMNS)
