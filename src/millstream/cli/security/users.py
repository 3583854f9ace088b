"""`millstream users`: users who log in by SCRAM. Their passwords are salted here, and no broker sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.cluster_options import ClusterOptions, cluster_options
from millstream.cli.command import ClientGroup
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
from millstream.cli.secure.client_file import UserLogin
from millstream.cli.security.passwords import (
    MECHANISMS,
    PasswordOptions,
    mechanism_option,
    password_options,
)
from millstream.cli.terminal import printable
from millstream.errors import MillstreamError, ResourceNotFound
from millstream.quoting import some_of
from millstream.security.scram import ScramMechanism

if TYPE_CHECKING:
    from millstream.clients.admin import (
        DeleteScramCredential,
        UpsertScramCredential,
    )
    from millstream.clients.blocking import Admin
    from millstream.errors import KafkaError

_COLUMNS: Final = ("user", "mechanism", "iterations")
_RESULT_COLUMNS: Final = ("user", "mechanism", "result")
_DEFAULT: Final = (ScramMechanism.SCRAM_SHA_512,)


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
        note("there are no users who log in by SCRAM: millstream users add NAME makes one", output)
    finish(found.errors(), output)


@users.command()
@cluster_options
@output_option
@click.argument("user")
@password_options
@dry_run_option
def add(
    user: str, *, cluster: ClusterOptions, output: str, wanted: PasswordOptions, dry_run: bool
) -> None:
    """Add a user, whose password is asked for, or read, or made.

    What the user may do say rules: see `millstream acls`.
    """

    def mechanisms(there: Sequence[ScramMechanism]) -> Sequence[ScramMechanism]:
        if there:
            raise UserExists(
                f"{user} is there already: `millstream users password {user}` changes the password"
            )
        return wanted.mechanisms or _DEFAULT

    _set_password(user, wanted, mechanisms, cluster, output=output, done="added", dry_run=dry_run)


@users.command()
@cluster_options
@output_option
@click.argument("user")
@password_options
@dry_run_option
def password(
    user: str, *, cluster: ClusterOptions, output: str, wanted: PasswordOptions, dry_run: bool
) -> None:
    """Change the password of a user, for all mechanisms of the user or those that are named. Open connections stay."""

    def mechanisms(there: Sequence[ScramMechanism]) -> Sequence[ScramMechanism]:
        if not there:
            raise ResourceNotFound(
                f"there is no user {user}: `millstream users add {user}` adds one"
            )
        return wanted.mechanisms or there

    _set_password(user, wanted, mechanisms, cluster, output=output, done="changed", dry_run=dry_run)


@users.command()
@cluster_options
@output_option
@click.argument("names", nargs=-1, metavar="USER...")
@mechanism_option
@yes_option
@dry_run_option
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
    changed = {each.user for each in changes}
    for user in wanted:
        if user not in errors and user not in changed:
            words = " or ".join(sorted(each.sasl_name for each in chosen))
            note(f"{user} has no login by {words}", output)
    result = "would be removed" if dry_run else "removed"
    rows = [
        {"user": each.user, "mechanism": each.mechanism.sasl_name, "result": result}
        for each in changes
        if each.user not in errors
    ]
    print_rows(rows, output, _RESULT_COLUMNS)
    finish(errors, output)


def _mechanisms_of(admin: Admin, user: str) -> list[ScramMechanism]:
    """Those by which a user logs in; empty where there is no such user. Raises KafkaError."""
    try:
        found = admin.describe_user_scram_credentials([user]).result(user)
    except ResourceNotFound:
        return []
    return [each.mechanism for each in found]


def _set_password(
    user: str,
    wanted: PasswordOptions,
    mechanisms_for: Callable[[Sequence[ScramMechanism]], Sequence[ScramMechanism]],
    cluster: ClusterOptions,
    *,
    output: str,
    done: str,
    dry_run: bool,
) -> None:
    """Raises UsageError, OSError and KafkaError."""
    wanted.check(cluster)
    with cluster.admin() as admin:
        mechanisms = mechanisms_for(_mechanisms_of(admin, user))
        if dry_run:
            _print_results(user, mechanisms, f"would be {done}", output)
            return
        text = wanted.read(user)
        _keep(user, text, mechanisms[0], wanted, cluster)
        try:
            errors = _alter(admin, wanted.credentials(user, text, mechanisms))
            for error in errors.values():
                raise error
        except (MillstreamError, KeyboardInterrupt):
            if wanted.client_file is not None:
                click.echo(
                    f"warning: {wanted.client_file} stays, with a password that {printable(user)} may not have",
                    err=True,
                )
            raise
    _print_results(user, mechanisms, done, output)


def _keep(
    user: str,
    text: str,
    mechanism: ScramMechanism,
    wanted: PasswordOptions,
    cluster: ClusterOptions,
) -> None:
    """Writes or tells the password before the cluster has it: nobody would know it if the disk were full afterwards.

    Raises OSError.
    """
    wanted.write_client_file(cluster, UserLogin(user, text, mechanism.sasl_name))
    if wanted.client_file is not None:
        click.echo(f"{wanted.client_file}: the login of {printable(user)}", err=True)
    elif wanted.is_generated:
        click.echo(f"password of {printable(user)}: {text}", err=True)


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
