"""Options of every verb that talks to a cluster: its address, and the settings of the client.

What an option says beats what a property says, which beats the file (KIP-1137). Names are Kafka's dotted ones or ours.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import click

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from millstream.clients.blocking import Admin

ENVIRONMENT: Final = "MILLSTREAM_BOOTSTRAP_SERVERS"
_WAITS: Final = ("default_api_timeout_ms", "max_block_ms")
_WAIT_MS: Final = 15_000
"""Somebody sits before the terminal: the clients' own minute is too long for a wrong address."""

_NOTED: Final = "millstream.client_properties"

Given: TypeAlias = Any  # Any: what click made of an option, as its declaration says
Settings: TypeAlias = dict[str, Given]
"""The clients' own check tells what is wrong with a value."""

Returned = TypeVar("Returned")

_DECORATORS = (
    click.option(
        "--bootstrap-server",
        "--bootstrap-servers",
        "--brokers",
        "-b",
        "bootstrap",
        metavar="HOST:PORT,...",
        help=f"Brokers to ask first.  [default: ${ENVIRONMENT}, else localhost:9092]",
    ),
    click.option(
        "--config-file",
        "--command-config",
        "--consumer.config",
        "--producer.config",
        "-F",
        "config_file",
        type=click.Path(exists=True, dir_okay=False),
        help="A client's properties, as Kafka's tools take them.",
    ),
    click.option(
        "--client-property",
        "--command-property",
        "--consumer-property",
        "--producer-property",
        "-X",
        "client_properties",
        multiple=True,
        metavar="KEY=VALUE",
        help="A setting of the client; may be repeated.",
    ),
)


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """What was given; `settings` makes a client's keyword arguments of it."""

    bootstrap: str | None = None
    config_file: str | None = None
    properties: tuple[str, ...] = ()

    def settings(self, config: type[DataclassInstance], **chosen: object) -> Settings:
        """For the client whose config class this is. `chosen` by options of the verb; None: not chosen.

        A file serves all clients: its settings of others are left out, and what nobody knows is told of.
        """
        from millstream.clients.core.settings import setting_names

        names = setting_names(config)
        gathered: Settings = {key: _WAIT_MS for key in _WAITS if key in names}
        gathered["bootstrap_servers"] = os.environ.get(ENVIRONMENT, "localhost:9092")
        for key, value in self._file().items():
            known = names.get(_plain(key))
            if known is not None:
                gathered[known.name] = value
            elif not _is_known_to_others(key):
                click.echo(f"{self.config_file}: {key} is not a setting of these clients", err=True)
        for key, value in pairs(self.properties, "-X").items():
            known = names.get(_plain(key))
            gathered[key if known is None else known.name] = value  # unknown: the client says so
        if self.bootstrap is not None:
            gathered["bootstrap_servers"] = self.bootstrap
        return gathered | {key: value for key, value in chosen.items() if value is not None}

    def adding(self, properties: Mapping[str, str]) -> ClusterOptions:
        """With more properties, which beat those before."""
        more = tuple(f"{key}={value}" for key, value in properties.items())
        return replace(self, properties=(*self.properties, *more))

    def admin(self) -> Admin:
        from millstream.clients.blocking import Admin
        from millstream.clients.core.config import AdminConfig

        return Admin(**self.settings(AdminConfig))

    def _file(self) -> dict[str, str]:
        if self.config_file is None:
            return {}
        from millstream.broker.properties import parse_properties

        with click.open_file(self.config_file, encoding="utf-8") as text:
            return parse_properties(text.read())


def cluster_options(command: Callable[..., Returned]) -> Callable[..., Returned]:
    """Adds the options; the command gets them as one ClusterOptions, `cluster`."""

    @wraps(command)
    def gathered(
        *arguments: Given,
        bootstrap: str | None,
        config_file: str | None,
        client_properties: tuple[str, ...],
        **options: Given,
    ) -> Returned:
        noted = click.get_current_context().meta.get(_NOTED, ())
        cluster = ClusterOptions(bootstrap, config_file, (*noted, *client_properties))
        return command(*arguments, cluster=cluster, **options)

    for decorate in reversed(_DECORATORS):
        gathered = decorate(gathered)
    return gathered


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
            raise click.BadParameter(f"{item!r} is not KEY=VALUE", param_hint=option)
        found[key.strip()] = value
    return found


def _plain(key: str) -> str:
    return key.replace(".", "_")


def _is_known_to_others(key: str) -> bool:
    from millstream.clients.core.config import AdminConfig, ConsumerConfig, ProducerConfig
    from millstream.clients.core.settings import setting_names

    return any(
        _plain(key) in setting_names(config)
        for config in (AdminConfig, ConsumerConfig, ProducerConfig)
    ) or key.endswith((".serializer", ".deserializer"))
