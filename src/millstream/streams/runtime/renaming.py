"""Notices that a topology was changed, and what was renamed in it: it would leave its state and go on without it. Pure.

Names that the library makes up end in a number that counts the operators before them, and internal topics are
called after them. An operator that is added in front gives those behind it other numbers, so their changelogs
are other topics: new, and empty.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from typing import Final

from millstream.errors import ConfigError
from millstream.streams.topology.topology import Topology

_GENERATED: Final = re.compile(r"(?P<before>.*)-[0-9]{10}(?P<after>-changelog|-repartition|-topic)")
_BETWEEN: Final = re.compile(r".*(-repartition|-subscription-(registration|response)-topic)")
"""Topics between sub-topologies: what was not read of one whose name is gone would be lost."""

_VERSION_BYTES: Final = 6
"""The versions of one application are to differ, not all topologies of the world."""


def version_of(topology: Topology) -> str:
    """Returns a digest of what `describe()` says: nodes, their order, topics and stores. Functions are not seen."""
    text = topology.describe().encode()
    return hashlib.blake2b(text, digest_size=_VERSION_BYTES).hexdigest()


def changelogs_of(topology: Topology, application_id: str) -> frozenset[str]:
    """Returns the changelogs of all stores."""
    return frozenset(
        changelog
        for group in topology.sub_topologies
        for changelog in topology.topics_of(group, application_id).changelogs
    )


def require_same_names(
    application_id: str, wanted: Collection[str], existing: Collection[str]
) -> None:
    """Raises ConfigError where a generated name has shifted, or a topic between sub-topologies was renamed.

    Takes what `renamed` takes.
    """
    found = renamed(wanted, existing)
    if found is None:
        return
    old, new = found
    # A user who may not describe a group does not see it, and the names of its topics alone do not tell whose they are.
    of_another = f"If it belongs to an application whose name begins with {application_id}-, allow the user DESCRIBE on groups that begin with {application_id}"
    if _GENERATED.fullmatch(new) and _GENERATED.fullmatch(old):
        raise ConfigError(
            f"internal topic {new} is not there, but {old} is, which the topology does not have: operators were added or removed "
            "before one whose name is generated, so its number is another one now, and it would begin with nothing. Give the "
            f"store or the repartition its name of before, {_own_name(old, application_id)} (materialized=, store=, name=), to go "
            f"on with it; give it a name of its own, or delete {old}, if it is to begin anew; or reset the application. "
            f"{of_another}"
        )
    raise ConfigError(
        f"internal topic {new} is not there, but {old} is, which the topology does not have. Was it renamed? What was not read of {old} would be "
        f"lost. Give it its name of before, {_own_name(old, application_id)}, to go on with it; delete {old} if it is no longer needed; or "
        f"reset the application. {of_another}"
    )


def require_known_stores(
    application_id: str, task: str, new: Collection[str], left: Collection[str]
) -> None:
    """Raises ConfigError where stores would begin empty while others are left behind: they may have been renamed.

    `new`: changelogs that the committed offsets do not count. `left`: those that they count
    and the topology does not have.
    """
    if not new or not left:
        return
    begun, old = (
        ", ".join(_own_name(each, application_id) for each in sorted(names))
        for names in (new, left)
    )
    raise ConfigError(
        f"task {task} has stores that its committed offsets do not count, {begun}, and these count others that the topology does not have, "
        f"{old}. Were they renamed? Give them their names of before to go on with what they hold; delete {', '.join(sorted(left))} if the new "
        "ones are to begin empty from here on; or reset the application to count everything anew"
    )


def renamed(wanted: Collection[str], existing: Collection[str]) -> tuple[str, str] | None:
    """Returns an internal topic that the topology does not have, and the one of its kind that it
    has and that is not there.

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
    between = _BETWEEN.fullmatch(name)
    if between is not None:
        return "", between[1]
    match = _GENERATED.fullmatch(name)
    return None if match is None else (match["before"], match["after"])


def _own_name(topic: str, application_id: str) -> str:
    """Returns the name of the store or repartition that an internal topic is called after."""
    name = topic.removeprefix(f"{application_id}-")
    return re.sub("(-changelog|-repartition|-topic)$", "", name)
