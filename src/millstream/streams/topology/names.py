"""Generated names: one counter per builder, burned exactly as Kafka Streams burns it.

The numbers are part of the names of changelog and repartition topics, so an application that is ported
from Java finds its state again only if every operator takes the same numbers in the same order.
"""

from __future__ import annotations

import re

from millstream.streams.errors import TopologyError

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")
_GENERATED = re.compile(r"KSTREAM.*-[0-9]{10}")
NAME_LENGTH_MAX = 249
"""That of a topic in Kafka (Topic.MAX_NAME_LENGTH)."""
REPARTITION_SUFFIX = "-repartition"


def check_name(name: str) -> str:
    """Return the name, or raise TopologyError if Kafka could not use it in a topic name."""
    return _checked(name, "a name")


def check_topic(topic: str, reader: str) -> str:
    """Return the topic, or raise TopologyError naming the node if no broker could have such a topic."""
    return _checked(topic, f"the topic of {reader}")


def check_store(name: str) -> str:
    """Return the name of a store, or raise TopologyError if its changelog could not be called after it."""
    return _checked(name, "the name of a store, and so of its changelog topic,")


def _checked(name: str, what: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"{what} must be a str, not {name!r}")
    if not name:
        raise TopologyError(f"{what} must not be empty")
    if name in {".", ".."}:
        raise TopologyError(f"{what} must not be {name!r}")
    if len(name) > NAME_LENGTH_MAX:
        raise TopologyError(f"{what} has at most {NAME_LENGTH_MAX} characters, {name!r} has more")
    if not _LEGAL.fullmatch(name):
        raise TopologyError(
            f"{what} may contain ASCII letters, digits, '.', '_' and '-' only, not so {name!r}"
        )
    return name


def is_generated(name: str) -> bool:
    """Whether a prefix of a repartition topic is one that the library made up."""
    return _GENERATED.fullmatch(name) is not None


class NameGenerator:
    """The counter of one builder."""

    __slots__ = ("_next",)

    def __init__(self) -> None:
        self._next = 0

    def processor_name(self, prefix: str) -> str:
        """PREFIX and ten digits."""
        number = self._next
        self._next = number + 1
        return f"{prefix}{number:010d}"

    def store_name(self, prefix: str) -> str:
        """PREFIX, STATE-STORE and ten digits."""
        return self.processor_name(f"{prefix}STATE-STORE-")

    def name_or_generate(self, name: str | None, prefix: str) -> str:
        """Returns the user's name, or a generated one; a number is taken either way."""
        generated = self.processor_name(prefix)
        return generated if name is None else check_name(name)

    def suffixed_or_generate(self, name: str | None, suffix: str, prefix: str) -> str:
        """Returns the user's name with a suffix, or a generated one; a number is taken either way."""
        generated = self.processor_name(prefix)
        return generated if name is None else check_name(check_name(name) + suffix)
