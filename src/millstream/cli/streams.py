"""`millstream streams`: looks at topologies without running them, and resets applications."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from millstream.cli.application_reset import reset
from millstream.cli.suggestions import SuggestingGroup

if TYPE_CHECKING:
    from millstream.streams.topology.topology import Topology


@click.group(cls=SuggestingGroup, short_help="Describe and draw topologies, reset applications.")
def streams() -> None:
    """Look at topologies of the Streams library, and have applications begin anew."""


streams.add_command(reset)


@streams.command(short_help="Print or draw a topology.")
@click.argument("target", metavar="MODULE:TOPOLOGY")
@click.option(
    "--svg", "picture", metavar="FILE", help="Write a drawing (SVG) to FILE. - is standard output."
)
def describe(target: str, picture: str | None) -> None:
    """Print a topology as Kafka Streams does, or draw it.

    TOPOLOGY is a Topology, a StreamsBuilder or a TopologyBuilder in MODULE, or a function without arguments that makes
    one. MODULE is imported as Python would from the current directory.
    """
    topology = _topology(target)
    if picture is None:
        click.echo(topology.describe(), nl=False)
    elif picture == "-":
        click.echo(topology.to_svg(), nl=False)
    else:
        try:
            Path(picture).write_text(topology.to_svg(), encoding="utf-8")
        except OSError as error:
            raise click.ClickException(f"cannot write {picture}: {error.strerror}") from error


def _topology(target: str) -> Topology:
    from millstream.streams import StreamsBuilder, Topology, TopologyBuilder

    found = _named(target)
    if callable(found) and not isinstance(found, StreamsBuilder | TopologyBuilder | Topology):
        try:
            found = found()
        except Exception as error:
            raise click.ClickException(f"{target} failed: {_shown(error)}") from error
    if isinstance(found, StreamsBuilder | TopologyBuilder):
        try:
            found = found.build()
        except Exception as error:
            raise click.ClickException(f"{target} cannot be built: {error}") from error
    if not isinstance(found, Topology):
        raise click.ClickException(
            f"{target} is {type(found).__name__}; name a Topology, a builder of one, or a function that makes one"
        )
    return found


def _named(target: str) -> object:
    """Raises ClickException saying what is missing."""
    from importlib import import_module

    module_name, separator, name = target.partition(":")
    if not separator or not module_name or not name:
        raise click.UsageError(f"{target!r} is not MODULE:TOPOLOGY, as in my_app.pipeline:topology")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"no module {error.name}; run from the directory it is in"
            if error.name is not None and f"{module_name}.".startswith(f"{error.name}.")
            else f"{module_name} cannot be imported: it imports {error.name}, which is not installed"
        ) from error
    except Exception as error:
        raise click.ClickException(f"{module_name} cannot be imported: {_shown(error)}") from error
    if not hasattr(module, name):
        raise click.ClickException(f"module {module_name} has no {name}")
    found: object = getattr(module, name)
    return found


def _shown(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
