"""Names of clients: for those that were given none, and as `repr()` shows them."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Final, TypeVar

from millstream.clients.config import ClientConfig
from millstream.model import TopicPartition

_Config = TypeVar("_Config", bound=ClientConfig)

_Name = TypeVar("_Name", str, TopicPartition)
_SHOWN_MAX: Final = 5

_numbers: defaultdict[type[ClientConfig], Iterator[int]] = defaultdict(lambda: itertools.count(1))


def named(config: _Config) -> _Config:
    """Returns the same, with a client_id: its kind and a number of this process, as Kafka's Java clients are called."""
    if config.client_id:
        return config
    return replace(config, client_id=config.default_client_id(next(_numbers[type(config)])))


def described(client: object, config: ClientConfig, *, is_closed: bool, **more: object) -> str:
    """Returns the `repr()` of a client: who it is and whom it talks to.

    `more` is said where it is set; never a secret.
    """
    told = {
        "client_id": config.client_id,
        "bootstrap_servers": ",".join(map(str, config.bootstrap_servers)),
        **more,
    }
    words = "".join(f" {name}={value!r}" for name, value in told.items() if value)
    return f"<{type(client).__name__}{words}{' closed' if is_closed else ''}>"


def first_of(names: Collection[_Name]) -> str:
    """Returns the names, or where they are many the first of them and how many more there are."""
    shown = ",".join(str(name) for name in sorted(names)[:_SHOWN_MAX])
    return shown if len(names) <= _SHOWN_MAX else f"{shown} and {len(names) - _SHOWN_MAX} more"
