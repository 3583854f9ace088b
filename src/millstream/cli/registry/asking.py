"""Asks a schema registry: the questions of a verb have one event loop."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from millstream.cli.cluster_options import (
    Given,
    pairs,
    read_client_file,
    refuse_unknown,
    settings_options,
)
from millstream.cli.command import INTERRUPTED, TERMINATED, TerminationRequested
from millstream.cli.completion.local_names import offered
from millstream.cli.registry.address import (
    DEFAULT_URL,
    REGISTRY_VARIABLE,
    RegistryAddress,
    registry_address,
)
from millstream.cli.suggestions import or_near
from millstream.errors import MillstreamError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from millstream.clients.serdes.registry import SchemaRegistry

_TIMEOUT_MS: Final = 5_000
"""Twice so long, for the one repetition, waits a person who misspelt an address: as long as for a cluster."""
_COMPLETION_MS: Final = 1_500
"""Who presses Tab waits no longer for names."""

T = TypeVar("T")
Ask = Callable[["SchemaRegistry"], Awaitable[T]]
Returned = TypeVar("Returned")


def registry_options(command: Callable[..., Returned]) -> Callable[..., Returned]:
    """Adds the options that say where the registry is and who asks; the command gets a RegistryAddress, `at`."""

    @wraps(command)
    def gathered(
        *arguments: Given,
        url: str | None,
        ca_file: str | None,
        token_file: str | None,
        config_file: str | None,
        client_properties: tuple[str, ...],
        profile: str | None,
        **options: Given,
    ) -> Returned:
        settings = _given_settings(url, config_file, client_properties, profile)
        at = _address(url, settings, ca_file, token_file)
        return command(*arguments, at=at, **options)

    with_settings = settings_options(gathered)
    with_token = click.option(
        "--token-file",
        type=click.Path(exists=True, dir_okay=False),
        help="File with the bearer token that logs in; read for each request.",
    )(with_settings)
    with_authorities = click.option(
        "--ca",
        "ca_file",
        type=click.Path(exists=True, dir_okay=False),
        help="Certificates (PEM) that the registry's must be signed with, for https.",
    )(with_token)
    return click.option(
        "--schema-registry",
        "url",
        metavar="URL",
        help=f"Address of the registry; http://NAME:PASSWORD@HOST:PORT logs in.  [default: schema.registry.url of the settings, else ${REGISTRY_VARIABLE}, else {DEFAULT_URL}]",
    )(with_authorities)


def _no_empty_name(
    _context: click.Context, _argument: click.Parameter, subject: str | None
) -> str | None:
    """An address that ends at the slash is that of all subjects."""
    if subject == "":
        raise click.BadParameter("a subject has no empty name; is a variable empty?")
    return subject


def subject_argument(
    *, required: bool = True
) -> Callable[[Callable[..., Returned]], Callable[..., Returned]]:
    """Adds the argument `subject`."""
    return click.argument(
        "subject", required=required, callback=_no_empty_name, shell_complete=subject_names
    )


def _given_settings(
    url: str | None, config_file: str | None, properties: Iterable[str], profile: str | None
) -> dict[str, str]:
    """Returns the settings of -X, which beat the file, which beats the profile. Raises ConfigError, BadParameter."""
    from millstream.cli.profiles.files import settings_of_profile

    given = pairs(properties, "-X")
    refuse_unknown(given)
    names_registry = bool(url or config_file or given or os.environ.get(REGISTRY_VARIABLE))
    of_profile = settings_of_profile(profile, os.environ, names_cluster=names_registry)
    return {**of_profile, **read_client_file(config_file), **given}


def _address(
    url: str | None, settings: Mapping[str, str], ca_file: str | None, token_file: str | None
) -> RegistryAddress:
    at = registry_address(
        url, settings, ca_file=ca_file, token_file=token_file, default_url=DEFAULT_URL
    )
    assert at is not None, "there is a default"
    return at


def ask_registry(at: RegistryAddress, ask: Ask[T]) -> T:
    """Returns what the registry answers. Raises SchemaRegistryError, ConfigError."""
    try:
        return asyncio.run(_asked(at, ask, timeout_ms=_TIMEOUT_MS))
    except KeyboardInterrupt as interruption:
        # The thread that waits for a registry ends by its time limit only, and the interpreter waits for its threads.
        # Nothing was begun that this leaves half done: a request is one change or none.
        sys.stdout.flush()
        os._exit(TERMINATED if isinstance(interruption, TerminationRequested) else INTERRUPTED)


async def _asked(at: RegistryAddress, ask: Ask[T], *, timeout_ms: int) -> T:
    from millstream.clients.serdes.registry import Limits

    async with at.client(Limits(timeout_ms=timeout_ms, retries=1)) as registry:
        return await ask(registry)


async def with_near_subjects(registry: SchemaRegistry, subject: str, answer: Awaitable[T]) -> T:
    """Returns the answer. Raises SubjectNotFound, with the nearest subject that there is.

    Of a subject that is missing Apicurio says now and then that the version is.
    """
    from millstream.clients.serdes.registry import (
        SchemaRegistryError,
        SubjectNotFound,
        VersionNotFound,
    )

    try:
        return await answer
    except (SubjectNotFound, VersionNotFound) as error:
        try:
            known = await registry.subjects()
        except SchemaRegistryError:
            raise error from None  # it is the refusal that matters
        if subject not in known:
            error.args = (f"{subject}: there is no such subject{or_near(subject, known)}",)
        raise


def subject_names(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offers subjects to the Tab key; none, in silence, where the registry does not answer in time."""

    async def ask(registry: SchemaRegistry) -> list[str]:
        return await registry.subjects()

    given: dict[str, Any] = context.params  # Any: click's
    url = given.get("url")
    try:
        properties = given.get("client_properties") or ()
        settings = _given_settings(url, given.get("config_file"), properties, given.get("profile"))
        at = _address(url, settings, given.get("ca_file"), given.get("token_file"))
        names = asyncio.run(_asked(at, ask, timeout_ms=_COMPLETION_MS))
    except (MillstreamError, click.ClickException, OSError):
        return []
    return offered(names, incomplete)
