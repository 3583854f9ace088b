"""Notices that generated names have shifted: a topology that was changed would leave its state and go on without it. Pure.

Names that the library makes up end in a number that counts the operators before them, and internal topics are called after them. An
operator that is added in front gives those behind it other numbers, so their changelogs are other topics: new, and empty.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from millstream.errors import ConfigError

_GENERATED: Final = re.compile(r"(?P<before>.*)-[0-9]{10}(?P<after>-changelog|-repartition|-topic)")


def require_same_names(
    application_id: str, wanted: Collection[str], existing: Collection[str]
) -> None:
    """Raises ConfigError where a generated name has shifted. Takes what `renamed` takes."""
    found = renamed(wanted, existing)
    if found is not None:
        old, new = found
        raise ConfigError(
            f"internal topic {new} is not there, but {old} is, which the topology does not have: operators were added or removed "
            "before one whose name is generated, so its number is another one now, and it would begin with nothing. Give the "
            f"store or the repartition its name of before, {_own_name(old, application_id)} (materialized=, store=, name=), to go "
            f"on with it; give it a name of its own, or delete {old}, if it is to begin anew; or reset the application"
        )


def renamed(wanted: Collection[str], existing: Collection[str]) -> tuple[str, str] | None:
    """Returns an internal topic that the topology does not have, and the one of its kind that it has and that is not there.

    `wanted`: the internal topics of the topology. `existing`: those that the application has in the cluster.
    """
    left = _by_kind(set(existing) - set(wanted))
    for name in sorted(set(wanted) - set(existing)):
        kind = _kind(name)
        if kind is not None and kind in left:
            return left[kind], name
    return None


def _by_kind(names: Collection[str]) -> Mapping[tuple[str, str], str]:
    """Returns the first name of each kind, of those that are generated."""
    found: dict[tuple[str, str], str] = {}
    for name in sorted(names):
        kind = _kind(name)
        if kind is not None:
            found.setdefault(kind, name)
    return found


def _kind(name: str) -> tuple[str, str] | None:
    match = _GENERATED.fullmatch(name)
    return None if match is None else (match["before"], match["after"])


def _own_name(topic: str, application_id: str) -> str:
    """Returns the name of the store or repartition that an internal topic is called after."""
    name = topic.removeprefix(f"{application_id}-")
    return re.sub("(-changelog|-repartition|-topic)$", "", name)
