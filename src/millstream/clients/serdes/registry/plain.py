"""A registry's serde as a plain one, for code that writes and reads without a client: topologies of Streams, scripts.

Owns the waiting: a look-up blocks the caller until the registry has answered, as Java's serializers do. Must not be
used on an event loop's own time where that matters; clients take the registry serde itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from millstream.clients.core.serialization import LookupNeeded
from millstream.clients.serdes.registry.serde import RegistrySerde
from millstream.clients.serdes.serde import Serde
from millstream.errors import ConfigError

T = TypeVar("T")
A = TypeVar("A")


def for_topic(serde: RegistrySerde[T], topic: str) -> Serde[T]:
    """Returns `serde` as one of `topic`: the subject is the topic's wherever the values go, into changelogs too.

    Each schema is looked up when it is first met, in a thread of its own: the first value that is written, and the
    first value of each writer that is read, wait for the registry. Raises ConfigError for a serde with `id_in_header`,
    for which there are no headers here; writing and reading raise SchemaRegistryError where the registry fails.
    """
    if serde.id_in_header:
        raise ConfigError(
            f"the {serde.name} serde writes its schema into a header, which a plain serde has not: leave id_in_header out"
        )
    name = f"{serde.name} of {topic}"
    return Serde(name, partial(_write, serde, topic), partial(_read, serde, topic))


def prefix_for_topic(serde: RegistrySerde[T], topic: str) -> bytes:
    """Returns the bytes in front of all values of a topic, for those who write the values
    themselves; waits for the registry.
    """
    return _waited_for(partial(serde.prefix, topic))


def _write(serde: RegistrySerde[T], topic: str, value: T) -> bytes:
    return _found(lambda: serde.serialize(topic, value, []))


def _read(serde: RegistrySerde[T], topic: str, data: bytes) -> T:
    return _found(lambda: serde.deserialize(topic, data, []))


def _found(attempt: Callable[[], T]) -> T:
    """Returns the result of the attempt, after all look-ups that it asks for."""
    while True:
        try:
            return attempt()
        except LookupNeeded as needed:
            _waited_for(needed.look_up)


def _waited_for(ask: Callable[[], Awaitable[A]]) -> A:
    from millstream.clients.blocking.loop_thread import shared

    async def asked() -> A:
        return await ask()

    return shared().run(asked())
