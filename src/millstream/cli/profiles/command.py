"""`millstream profile`: add, list, show, use and remove named settings of a client."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.cluster_options import (
    beneath,
    file_option,
    pairs,
    property_option,
    read_client_file,
    refuse_unknown,
)
from millstream.cli.command import ClientGroup, report_error
from millstream.cli.completion.local_names import profile_names
from millstream.cli.rows import (
    Row,
    confirm,
    dry_run_option,
    note,
    output_option,
    print_rows,
    yes_option,
)
from millstream.cli.suggestions import CLUSTER_OPTIONS

if TYPE_CHECKING:
    from millstream.cli.profiles.files import Profiles

_BOOTSTRAP: Final = "bootstrap.servers"
_PROTOCOL: Final = "security.protocol"
_REGISTRY: Final = "schema.registry.url"
_LISTED: Final = ("profile", "in_use", "bootstrap_servers", "security_protocol")
_SETTINGS: Final = ("setting", "value")
_HIDDEN: Final = "(secret)"
_ON_DISK: Final = (".location", "_location", ".token.file", "_token_file")
_name = click.argument("name", metavar="PROFILE", shell_complete=profile_names)


@click.group(cls=ClientGroup)
def profile() -> None:
    """Keep the address and the login of a cluster under a name: `millstream -p prod topics list`."""


@profile.command()
@click.option(
    *CLUSTER_OPTIONS[0], "bootstrap", metavar="HOST:PORT,...", help="Addresses of the cluster."
)
@file_option(None)
@property_option
@click.argument("name", metavar="PROFILE")
@click.option("--replace", is_flag=True, help="Overwrite a profile of that name.")
@click.option("--use", is_flag=True, help="Use it from now on where nothing else names a cluster.")
def add(
    name: str,
    *,
    bootstrap: str | None,
    config_file: str | None,
    client_properties: tuple[str, ...],
    replace: bool,
    use: bool,
) -> None:
    """Keep the settings of --config, of -X and the address of -b as PROFILE.

    All settings of the file are copied, the password too, into a file that only you can read: after a change
    of it, add the file with --replace.
    """
    from millstream.errors import ConfigError

    profiles = _profiles()
    settings = profile_settings(
        bootstrap, read_client_file(config_file), pairs(client_properties, "-X")
    )
    if profiles.path(name).exists() and not replace:
        raise ConfigError(f"there is a profile {name} already: --replace overwrites it")
    path = profiles.write(name, settings)
    click.echo(f"profile {name} is kept in {path}")
    if use:
        profiles.use(name)


@profile.command("list")
@output_option
def list_command(*, output: str) -> None:
    """List profiles with their addresses."""
    from millstream.errors import ConfigError

    profiles = _profiles()
    in_use = profiles.in_use()
    rows: list[Row] = []
    refused = []
    for name in profiles.names():
        try:
            rows.append(_row(name, profiles.settings(name), in_use))
        except ConfigError as error:
            refused.append(error)
    print_rows(rows, output, _LISTED)
    if not rows and not refused:
        note(
            "there are no profiles yet: millstream profile add NAME -b HOST:PORT makes one", output
        )
    for each in refused:
        report_error(each, as_json=output in {"json", "jsonl"})
    if refused:
        raise click.exceptions.Exit(1)


@profile.command()
@output_option
@_name
def show(name: str, *, output: str) -> None:
    """Show the settings of a profile, without its secrets."""
    found = _profiles().settings(name)
    rows = [{"setting": key, "value": value} for key, value in shown_settings(found).items()]
    print_rows(rows, output, _SETTINGS)


@profile.command()
@click.argument("name", metavar="PROFILE", required=False, shell_complete=profile_names)
@click.option("--none", "nothing", is_flag=True, help="Use no profile where none is named.")
def use(name: str | None, *, nothing: bool) -> None:
    """Use a profile from now on, wherever no option and no variable of the environment names a cluster or a profile."""
    if (name is None) != nothing:
        raise click.UsageError("name a PROFILE, or give --none")
    _profiles().use(name)
    click.echo("no profile is in use" if name is None else f"profile {name} is in use")


@profile.command()
@yes_option
@dry_run_option
@_name
def remove(name: str, *, yes: bool, dry_run: bool) -> None:
    """Remove a profile, and the password in it."""
    profiles = _profiles()
    path = profiles.existing(name)
    if dry_run:
        click.echo(f"profile {name} would be removed: {path}")
        return
    confirm(f"Remove profile {name}", yes=yes)
    profiles.remove(name)
    click.echo(f"profile {name} is removed")


def shown_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Returns the settings with `(secret)` in place of what is secret, and of what no client knows:
    it may be anything.
    """
    from millstream.clients.config.registry import SHOWN_SETTINGS, without_login
    from millstream.clients.properties_file import plain, public_names

    public = public_names() | SHOWN_SETTINGS

    def shown(key: str, value: str) -> str:
        if plain(key) == plain(_REGISTRY):
            return without_login(value)
        return value if plain(key) in public else _HIDDEN

    return {key: shown(key, value) for key, value in settings.items()}


def _row(name: str, settings: Mapping[str, str], in_use: str | None) -> Row:
    from millstream.clients.properties_file import plain

    found = {plain(key): value for key, value in settings.items()}
    return {
        "profile": name,
        "in_use": "yes" if name == in_use else "no",
        "bootstrap_servers": found.get(plain(_BOOTSTRAP)),
        "security_protocol": found.get(plain(_PROTOCOL)),
    }


def profile_settings(
    bootstrap: str | None, of_file: Mapping[str, str], given: Mapping[str, str]
) -> dict[str, str]:
    """Returns what a profile is to hold. Raises ConfigError for what no client would take."""
    from millstream.clients.config import ClientConfig
    from millstream.clients.config.registry import registry_config
    from millstream.clients.config.settings import parse_settings
    from millstream.clients.properties_file import plain, settings_for
    from millstream.errors import ConfigError

    refuse_unknown(given)
    beating = dict(given) if bootstrap is None else {**given, _BOOTSTRAP: bootstrap}
    beaten = {plain(key) for key in beating}
    left = beneath(given, of_file)
    settings = {key: value for key, value in left.items() if plain(key) not in beaten} | beating
    if not settings:
        raise ConfigError("there is nothing to keep: give -b HOST:PORT, --config FILE or -X KEY=VALUE")  # fmt: skip
    parse_settings(ClientConfig, settings_for(ClientConfig, settings))
    registry_config(settings)
    return {key: _from_anywhere(key, value) for key, value in settings.items()}


def _from_anywhere(key: str, value: str) -> str:
    """A path that is told from here is of no use in another directory."""
    return str(Path(value).absolute()) if key.endswith(_ON_DISK) and value else value


def _profiles() -> Profiles:
    from millstream.cli.profiles.files import profiles_of_user

    return profiles_of_user(os.environ)
