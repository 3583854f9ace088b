"""`startingOffsetsFunction`: a function of the user that says where each partition begins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millstream.errors import ConfigError
from millstream.model import TopicPartition
from millstream.spark.named_functions import function_named
from millstream.spark.source.positions import Earliest, Position, PositionRules, parse_position

OPTION = "startingOffsetsFunction"


def positions_by_function(name: str, partitions: Iterable[TopicPartition]) -> PositionRules:
    """Calls the function `name`, as `module:function`, with the list of partitions.

    Raises ConfigError where it fails or leaves one out.

    It returns for each partition an offset, or a position as `startingOffsets` takes it.
    """
    asked = sorted(partitions)
    function = function_named(OPTION, name)
    try:
        found: object = function(list(asked))
    except Exception as error:
        raise ConfigError(f"{OPTION} {name} failed: {type(error).__name__}: {error}") from error
    if not isinstance(found, Mapping):
        raise ConfigError(
            f"{OPTION} {name} must return a mapping from TopicPartition to an offset or a position, not {found!r}"
        )
    positions: dict[TopicPartition, Position] = {}
    for partition in asked:
        if partition not in found:
            raise ConfigError(f"{OPTION} {name} returned no offset for {partition}")
        positions[partition] = parse_position(OPTION, found[partition])
    others = sorted(str(each) for each in found.keys() - set(asked))
    if others:
        raise ConfigError(
            f"{OPTION} {name} returned an offset for {others[0]}, which the query does not read"
        )
    return PositionRules(Earliest(), {}, positions)
