"""Asks a schema registry: its address is an option, and the questions of a verb have one event loop."""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from millstream.cli.command import INTERRUPTED, TERMINATED, TerminationRequested
from millstream.cli.completion.local_names import offered
from millstream.cli.records.value_formats import REGISTRY_VARIABLE
from millstream.cli.suggestions import or_near
from millstream.errors import ConfigError, MillstreamError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from millstream.clients.serdes.registry import SchemaRegistry

_DEFAULT: Final = "http://localhost:8081"
_TIMEOUT_MS: Final = 5_000
"""Twice so long, for the one repetition, waits a person who misspelt an address: as long as for a cluster."""
_COMPLETION_MS: Final = 1_500
"""Who presses Tab waits no longer for names."""

T = TypeVar("T")
Ask = Callable[["SchemaRegistry"], Awaitable[T]]
Returned = TypeVar("Returned")


def registry_options(command: Callable[..., Returned]) -> Callable[..., Returned]:
    """Adds the options that say where the registry is."""
    with_file = click.option(
        "--ca",
        "ca_file",
        type=click.Path(exists=True, dir_okay=False),
        help="Certificates (PEM) that the registry's must be signed with, for https.",
    )(command)
    return click.option(
        "--schema-registry",
        "url",
        metavar="URL",
        help=f"Address of the registry; http://NAME:PASSWORD@HOST:PORT logs in.  [default: ${REGISTRY_VARIABLE}, else {_DEFAULT}]",
    )(with_file)


def ask_registry(url: str | None, ca_file: str | None, ask: Ask[T]) -> T:
    """Returns what the registry answers. Raises SchemaRegistryError, ConfigError."""
    try:
        return asyncio.run(_asked(url, ca_file, ask, timeout_ms=_TIMEOUT_MS))
    except KeyboardInterrupt as interruption:
        # The thread that waits for a registry ends by its time limit only, and the interpreter waits for its threads.
        # Nothing was begun that this leaves half done: a request is one change or none.
        sys.stdout.flush()
        os._exit(TERMINATED if isinstance(interruption, TerminationRequested) else INTERRUPTED)


async def _asked(url: str | None, ca_file: str | None, ask: Ask[T], *, timeout_ms: int) -> T:
    from millstream.clients.serdes.registry import Limits, SchemaRegistry

    async with SchemaRegistry(
        url or os.environ.get(REGISTRY_VARIABLE) or _DEFAULT,
        ssl_context=_context(ca_file),
        limits=Limits(timeout_ms=timeout_ms, retries=1),
    ) as registry:
        return await ask(registry)


def _context(ca_file: str | None) -> ssl.SSLContext | None:
    if ca_file is None:
        return None
    try:
        return ssl.create_default_context(cafile=ca_file)
    except ssl.SSLError as error:
        raise ConfigError(f"{ca_file} has no certificates that can be read: {error}") from error


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
    try:
        names = asyncio.run(
            _asked(given.get("url"), given.get("ca_file"), ask, timeout_ms=_COMPLETION_MS)
        )
    except (MillstreamError, OSError):
        return []
    return offered(names, incomplete)
