"""Options of every verb that talks to a cluster: its address, and the settings of the client.

What an option says beats what a property says, which beats the file (KIP-1137), which beats the profile. A login counts
as a whole: a user's name of one with the password of another is nobody's. Names are Kafka's dotted ones or ours.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import click

from millstream.cli.arguments import as_text
from millstream.cli.completion.local_names import client_settings, profile_names
from millstream.cli.suggestions import CLUSTER_OPTIONS, CONFIG_OPTION, PROFILE_OPTION
from millstream.cli.terminal import printable
from millstream.errors import BrokerNotAvailable, ConfigError
from millstream.quoting import some_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from millstream.cli.registry.address import RegistryAddress
    from millstream.clients.blocking import Admin

ENVIRONMENT: Final = "MILLSTREAM_BOOTSTRAP_SERVERS"
_WAITS: Final = ("default_api_timeout_ms", "max_block_ms")
_WAIT_MS: Final = 15_000
"""A person waits at the terminal: the clients' own minute is too long for a wrong address."""

_BOOTSTRAPS: Final = frozenset({"bootstrap.servers", "bootstrap.controllers"})
_NOT_NAMED: Final = "name the cluster with -b HOST:PORT, or start one: millstream server"
_LOGIN: Final = frozenset({"sasl_username", "sasl_plain_username", "sasl_password", "sasl_plain_password", "sasl_jaas_config"})  # fmt: skip
_NOTED: Final = "millstream.client_properties"

Given: TypeAlias = Any  # Any: what click made of an option, as its declaration says
Settings: TypeAlias = dict[str, Given]
"""The clients' own check says what is wrong with a value."""

Returned = TypeVar("Returned")

_ADDRESS, property_option = (
    click.option(
        *CLUSTER_OPTIONS[0],
        "bootstrap",
        metavar="HOST:PORT,...",
        help=f"Addresses of the cluster.  [default: ${ENVIRONMENT}, else localhost:9092]",
    ),
    click.option(
        *CLUSTER_OPTIONS[2],
        "client_properties",
        multiple=True,
        metavar="KEY=VALUE",
        shell_complete=client_settings,
        help="A setting of the client, such as client.id=me; may be repeated.",
    ),
)


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """The options as they were given; `settings` makes a client's keyword arguments of them.

    `file_settings` are those of the file, and of the profile where the file has none.
    """

    bootstrap: str | None = None
    file_settings: Mapping[str, str] = field(default_factory=dict)
    properties: tuple[str, ...] = ()
    is_named: bool = True
    """Whether anybody has said which cluster it is: localhost:9092 is a guess."""

    def settings(
        self,
        config: type[DataclassInstance],
        *others: type[DataclassInstance],
        **chosen: object,
    ) -> Settings:
        """Returns the settings for the client with this config class.

        `chosen` by options of the verb; None: not chosen.

        A file serves all clients, so its settings of other clients are left out, and so are
        properties for the `others` of a verb.
        """
        from millstream.clients.config.registry import REGISTRY_SETTINGS
        from millstream.clients.config.settings import setting_names
        from millstream.clients.properties_file import plain, settings_for

        names = setting_names(config)
        of_others = {name for each in others for name in setting_names(each)}
        gathered: Settings = {key: _WAIT_MS for key in _WAITS if key in names}
        gathered["bootstrap_wait_ms"] = 0
        gathered["bootstrap_servers"] = os.environ.get(ENVIRONMENT, "localhost:9092")
        properties = pairs(self.properties, "-X")
        gathered |= settings_for(config, beneath(properties, self.file_settings))
        for key, value in properties.items():
            known = names.get(plain(key))
            if known is None and (plain(key) in of_others or plain(key) in REGISTRY_SETTINGS):
                continue
            gathered[key if known is None else known.name] = value  # unknown: the client says so
        if self.bootstrap is not None:
            gathered["bootstrap_servers"] = self.bootstrap
        return gathered | {key: value for key, value in chosen.items() if value is not None}

    def adding(self, properties: Mapping[str, str]) -> ClusterOptions:
        """Returns these options with more properties, which beat those before."""
        more = tuple(as_text(f"{key}={value}", key) for key, value in properties.items())
        return replace(self, properties=(*self.properties, *more))

    def registry(self, url: str | None) -> RegistryAddress | None:
        """Returns the schema registry at `url`, or that of the settings or the environment. Raises ConfigError."""
        from millstream.cli.registry.address import registry_address

        return registry_address(url, {**self.file_settings, **pairs(self.properties, "-X")})

    def admin(self) -> Admin:
        """Raises ConfigError for a property that Admin does not have, with the nearest that it has."""
        from millstream.clients.blocking import Admin
        from millstream.clients.config import AdminConfig

        return Admin(**self.settings(AdminConfig))


def admin_beside(settings: Settings) -> Admin:
    """Returns an Admin with the settings that it shares with another client, of whatever kind that is."""
    from millstream.clients.blocking import Admin
    from millstream.clients.config import AdminConfig
    from millstream.clients.config.settings import setting_names

    known = setting_names(AdminConfig)
    shared = {key: value for key, value in settings.items() if key in known}
    own = {"default_api_timeout_ms": _WAIT_MS}
    return Admin(**(own | shared))


def check_reachable(settings: Settings) -> None:
    """Raises BrokerNotAvailable at once when nothing listens at any address of these settings.

    For clients that, once they run, should outlive a restart of the cluster.
    """
    with admin_beside(settings) as admin:
        admin.describe_cluster()


def read_client_file(file: str | None) -> dict[str, str]:
    """Returns the settings of a properties file. Keys that no client has are named once, on standard error."""
    if file is None:
        return {}
    from millstream.clients.properties_file import properties_of, unknown_in_file

    try:
        settings = properties_of(file)
    except ConfigError as error:
        raise click.BadParameter(str(error)) from error
    unknown = unknown_in_file(settings)
    if unknown:
        names = printable(some_of(unknown))
        click.echo(f"warning: {file}: no client has a setting named {names}", err=True)
    return settings


def beneath(higher: Iterable[str], lower: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the settings of a lower level; without its login where a higher one has any of a login: clients take
    sasl.jaas.config before a name and a password, wherever these were given.
    """
    from millstream.clients.properties_file import plain

    if _LOGIN.isdisjoint(map(plain, higher)):
        return lower
    return {key: value for key, value in lower.items() if plain(key) not in _LOGIN}


def cluster_options(command: Callable[..., Returned]) -> Callable[..., Returned]:
    """Adds the options; the command gets them as one ClusterOptions, `cluster`."""

    @wraps(command)
    def gathered(
        *arguments: Given,
        bootstrap: str | None,
        config_file: str | None,
        client_properties: tuple[str, ...],
        profile: str | None,
        **options: Given,
    ) -> Returned:
        cluster = given_cluster(bootstrap, config_file, client_properties, profile)
        try:
            return command(*arguments, cluster=cluster, **options)
        except BrokerNotAvailable as error:
            if cluster.is_named:
                raise
            raise BrokerNotAvailable(f"{error}; {_NOT_NAMED}") from error

    return _ADDRESS(settings_options(gathered))


def settings_options(command: Callable[..., Returned]) -> Callable[..., Returned]:
    """Adds the options that name settings of clients: a file, single ones, a profile."""
    return file_option(command)(property_option(_profile_option(command)(command)))


def refuse_unknown(given: Mapping[str, str]) -> None:
    """Raises ConfigError for a setting that no client has, with what was perhaps meant."""
    from millstream.clients.config import ClientConfig
    from millstream.clients.config.settings import parse_settings
    from millstream.clients.properties_file import unknown_to_all

    for key in unknown_to_all(given):
        parse_settings(ClientConfig, {key: given[key]})


def given_cluster(
    bootstrap: str | None, config_file: str | None, properties: tuple[str, ...], profile: str | None
) -> ClusterOptions:
    """Returns the options of a verb together with what they name.

    A file that says where its cluster is has its own login, or none: what a profile has that only the environment names
    does not go there. Raises ConfigError, and BadParameter.
    """
    from millstream.cli.profiles.files import PROFILE_VARIABLE, settings_of_profile

    context = click.get_current_context()
    given = (*context.meta.get(_NOTED, ()), *properties)
    says_where = {key.replace("_", ".") for key in pairs(given, "-X")} & _BOOTSTRAPS
    names_cluster = bool(
        bootstrap
        or config_file
        or says_where
        or context.params.get("controllers")
        or os.environ.get(ENVIRONMENT)
    )
    of_file = read_client_file(config_file)
    environment: Mapping[str, str] = os.environ
    if any(key.replace("_", ".") in _BOOTSTRAPS for key in of_file):
        environment = {key: each for key, each in os.environ.items() if key != PROFILE_VARIABLE}
    settings = settings_of_profile(profile, environment, names_cluster=names_cluster)
    is_named = names_cluster or bool(settings)
    return ClusterOptions(bootstrap, {**beneath(of_file, settings), **of_file}, given, is_named)


def file_option(
    command: Callable[..., Given] | None,
) -> Callable[[Callable[..., Returned]], Callable[..., Returned]]:
    """Returns the option that names a file; `--config`, too, unless the `command` has another one of that name: `topics
    create --config KEY=VALUE`.
    """
    return click.option(
        *_unless_taken(CONFIG_OPTION, command),
        *CLUSTER_OPTIONS[1],
        "config_file",
        type=click.Path(exists=True, dir_okay=False),
        help="Properties file with settings of the client, such as the login; as for Kafka's tools.",
    )


def _profile_option(
    command: Callable[..., Given],
) -> Callable[[Callable[..., Returned]], Callable[..., Returned]]:
    return click.option(
        *CLUSTER_OPTIONS[3],
        *_unless_taken(PROFILE_OPTION, command),
        "profile",
        metavar="NAME",
        shell_complete=profile_names,
        help="Settings that `millstream profile add` has kept.  [default: $MILLSTREAM_PROFILE]",
    )


def _unless_taken(option: str, command: Callable[..., Given] | None) -> tuple[str, ...]:
    """Kafka's tools have other meanings for some names, which are theirs then."""
    own = {name for each in getattr(command, "__click_params__", ()) for name in each.opts}
    return () if option in own else (option,)


def kafka_options(
    names: Mapping[str, str],
) -> Callable[[Callable[..., Returned]], Callable[..., Returned]]:
    """Options of Kafka's tools that are settings of the client by another name; help does not list them."""

    def decorate(command: Callable[..., Returned]) -> Callable[..., Returned]:
        for option, key in names.items():
            command = click.option(
                option, hidden=True, expose_value=False, callback=partial(_note, key)
            )(command)
        return command

    return decorate


def _note(key: str, context: click.Context, _option: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.meta.setdefault(_NOTED, []).append(f"{key}={value}")


def pairs(given: Iterable[str], option: str) -> dict[str, str]:
    """KEY=VALUE items of a repeated option."""
    found = {}
    for item in given:
        key, separator, value = item.partition("=")
        if not separator or not key:
            instead = (
                "; a file with settings of the client is --command-config FILE here"
                if option == CONFIG_OPTION
                else ""
            )
            raise click.BadParameter(f"{item!r} is not KEY=VALUE{instead}", param_hint=option)
        found[key.strip()] = value
    return found
