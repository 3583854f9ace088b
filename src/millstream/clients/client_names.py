"""Names for clients that were given none: their kind and a number of this process, as Kafka's Java clients are called."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from millstream.clients.core.config import ClientConfig

_Config = TypeVar("_Config", bound=ClientConfig)

_numbers: defaultdict[type[ClientConfig], Iterator[int]] = defaultdict(lambda: itertools.count(1))


def named(config: _Config) -> _Config:
    """The same, with a client_id."""
    if config.client_id:
        return config
    return replace(config, client_id=config.default_client_id(next(_numbers[type(config)])))
