"""The end of a stream: a record of which a function of the user says so ends its partition, or the whole query.

Pure but for the call of that function. What is read ends before that record, which is in no micro-batch, and its
partition stays there. So that a restart knows it, the checkpoint has it beside the offsets:

    "endOfStream": {"scope": "partition", "ends": {"orders": {"0": 57}}}

57 is the offset of the record that ended `orders-0`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from millstream.clients import ConsumerRecord
from millstream.errors import ConfigError, MillstreamError
from millstream.model import Offset, TopicPartition
from millstream.spark import offsets as plan
from millstream.spark.format_options import choice, function_named
from millstream.spark.offsets import Offsets
from millstream.spark.source.whole_records import reason_of

OPTION: Final = "endOfStream"
_SCOPE: Final = "endOfStreamScope"
OPTIONS: Final = (OPTION, _SCOPE)
KEY: Final = "endOfStream"
"""In the document of offsets."""

Predicate = Callable[[ConsumerRecord], object]
"""True of the record that ends its partition, False of every other one; what users return is checked."""


class EndScope(Enum):
    """The extent of an end: all that is ended by the first record that the predicate is true of."""

    PARTITION = "partition"
    QUERY = "query"
    """All partitions, after the micro-batch in which it is found."""


@dataclass(frozen=True, slots=True)
class EndOfStreamOptions:
    function: str
    """As `function_named` takes it."""
    scope: EndScope = EndScope.PARTITION


class EndOfStreamFailed(MillstreamError):
    """The function of `endOfStream` has raised, or has returned neither True nor False: nobody
    knows whether the stream has ended.
    """


def parse_end_of_stream(
    given: Mapping[str, str], *, is_copartitioned: bool
) -> EndOfStreamOptions | None:
    """`given` has option names in lower case.

    Raises ConfigError for what is malformed, and for what would have no effect.
    """
    function = given.get(OPTION.lower())
    if function is None:
        if _SCOPE.lower() in given:
            raise ConfigError(
                f"{_SCOPE} has a use only with {OPTION}, the function that finds the end"
            )
        return None
    if is_copartitioned:
        raise ConfigError(
            f"{OPTION} cannot be given with copartition: topics that are read together would be cut at different times"
        )
    function_named(OPTION, function)
    scope = choice(_SCOPE, given.get(_SCOPE.lower(), EndScope.PARTITION.value), EndScope)
    return EndOfStreamOptions(function, scope)


def ends_in(document: Mapping[str, Any], options: EndOfStreamOptions | None) -> Offsets:  # JSON
    """The partitions that have ended, and where; none for a query that has no `endOfStream` any more."""
    if options is None or (found := document.get(KEY)) is None:
        return {}
    if not isinstance(found, Mapping):
        raise ConfigError(f"the checkpoint holds an end of the stream that is none: {found!r}")
    return plan.partition_offsets(found.get("ends"))


def with_ends(
    document: Mapping[str, Any],  # JSON
    options: EndOfStreamOptions | None,
    ends: Offsets,
) -> dict[str, Any]:  # JSON
    """The document with these ends and no others."""
    if options is None or not ends:
        return {name: value for name, value in document.items() if name != KEY}
    return {**document, KEY: {"scope": options.scope.value, "ends": plan.topics_json(ends)}}


def has_query_ended(options: EndOfStreamOptions | None, ends: Offsets) -> bool:
    return options is not None and options.scope is EndScope.QUERY and bool(ends)


def has_query_end(document: Mapping[str, Any]) -> bool:  # JSON
    """Whether nothing more is read after these offsets. They may be those of any source."""
    found = document.get(KEY)
    return isinstance(found, Mapping) and found.get("scope") == EndScope.QUERY.value


def reached(ends: Offsets, positions: Offsets) -> dict[TopicPartition, Offset]:
    """The ends of those partitions that have been read up to there."""
    return {tp: end for tp, end in ends.items() if positions.get(tp) == end}


def not_ended(offsets: Offsets, ends: Collection[TopicPartition]) -> dict[TopicPartition, Offset]:
    return {tp: offset for tp, offset in offsets.items() if tp not in ends}


def first_end(
    options: EndOfStreamOptions, is_end: Predicate, records: Iterable[ConsumerRecord]
) -> Offset | None:
    """The offset of the first record that the predicate is true of.

    Raises EndOfStreamFailed, which names the record.
    """
    for record in records:
        try:
            found = is_end(record)
        except Exception as error:
            raise _failed(options.function, record, f"raised {reason_of(error)}") from error
        if not isinstance(found, bool):
            raise _failed(options.function, record, f"returned {found!r}")
        if found:
            return Offset(record.offset)
    return None


def _failed(function: str, record: ConsumerRecord, what: str) -> EndOfStreamFailed:
    place = f"{record.topic}-{record.partition} offset {record.offset}"
    return EndOfStreamFailed(
        f"{OPTION} {function} does not say whether {place} ends the stream: it {what}, and must return True or False for every record"
    )
