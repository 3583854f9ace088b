"""The properties of Kafka's reader and formatter (`--property`), checked: one that is not known
would change nothing, in silence.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import click

from millstream.cli.suggestions import or_near


def require_known(given: Collection[str], known: Collection[str]) -> None:
    """Raises BadParameter for a name that is not among the `known` ones, with the nearest of these."""
    for name in given:
        if name not in known:
            raise click.BadParameter(
                f"there is no property {name}{or_near(name, known)}", param_hint="--property"
            )


def flag(given: Mapping[str, str], name: str, *, default: bool = False) -> bool:
    """Returns whether a property is true. Raises BadParameter where it is neither true nor false."""
    text = given.get(name, str(default)).strip().lower()
    if text not in {"true", "false"}:
        raise click.BadParameter(
            f"{name} must be true or false, not {given[name]!r}", param_hint="--property"
        )
    return text == "true"
