"""The resources that dynamic configurations belong to, with Kafka's type numbers, and the places
that a value may come from.

Brokers and clients share them.
"""

from __future__ import annotations

from typing import NamedTuple

from millstream.protocol.enums import ConfigResourceType, ConfigSource


class ConfigResource(NamedTuple):
    """A resource that has configurations: a topic by name, a broker by its id as text ("" stands for all
    brokers), a group and so on.
    """

    type: ConfigResourceType
    name: str


class ConfigSynonym(NamedTuple):
    """A place that the value of a configuration may come from; of several the first counts."""

    name: str
    value: str | None
    source: ConfigSource
