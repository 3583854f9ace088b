"""Answers requests with very many elements in parts, so that no request holds the event loop for long.

A handler answers a request of a few hundred elements in some milliseconds. One with a hundred thousand is cut here into requests
of that size, which are handled one after another with the requests of others between them; the answers are put together
again, in the order of the request. So no handler knows of it. `LISTS` says which lists of an API may be cut: their elements do not depend on each other, as a
partition's answer does not depend on the next partition's. What two elements of one request mean together (a topic that stands
twice) is seen only where both are in one part. `WHOLE` names the APIs whose lists belong together, and why they may.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from millstream.controller.settings import RECORDS_PER_REQUEST_MAX
from millstream.errors import PolicyViolation
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.generated.create_topics import CreatableTopic
from millstream.protocol.message_values import MessageValue

ELEMENTS_PER_PART: Final = 50
_ELEMENTS_ENCODED_AT_ONCE: Final = 1_000
"""Of some ten fields each, in a few milliseconds."""
TELLS_ALL: Final = frozenset(
    {
        ApiKey.CONSUMER_GROUP_DESCRIBE, ApiKey.DESCRIBE_ACLS, ApiKey.DESCRIBE_CLIENT_QUOTAS, ApiKey.DESCRIBE_CONFIGS,
        ApiKey.DESCRIBE_GROUPS, ApiKey.DESCRIBE_LOG_DIRS, ApiKey.DESCRIBE_PRODUCERS, ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS, ApiKey.DESCRIBE_TRANSACTIONS, ApiKey.FETCH, ApiKey.JOIN_GROUP, ApiKey.LIST_GROUPS,
        ApiKey.LIST_TRANSACTIONS, ApiKey.METADATA, ApiKey.OFFSET_FETCH, ApiKey.READ_SHARE_GROUP_STATE, ApiKey.SHARE_GROUP_DESCRIBE,
        ApiKey.STREAMS_GROUP_DESCRIBE,
    }
)  # fmt: skip
"""Short requests whose answers may be long: they tell all that there is of something."""
Element: TypeAlias = (
    Any  # Any: whatever a list of a message holds; paths name fields of any generated class
)
Path = tuple[str, ...]
"""Names of lists, from the outermost in."""
_TOLD: Final[Mapping[ApiKey, Path]] = MappingProxyType(
    {
        ApiKey.DESCRIBE_LOG_DIRS: ("results", "topics", "partitions"),
        ApiKey.DESCRIBE_PRODUCERS: ("topics", "partitions", "active_producers"),
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: ("groups", "topics", "partitions"),
        ApiKey.FETCH: ("responses", "partitions"),
        ApiKey.METADATA: ("topics", "partitions"),
        ApiKey.OFFSET_FETCH: ("groups", "topics", "partitions"),
        ApiKey.READ_SHARE_GROUP_STATE: ("results", "partitions", "state_batches"),
    }
)
"""Where an answer has its elements, if that is deep inside it or has to be looked up fast."""


@dataclass(frozen=True, slots=True)
class Lists:
    """The lists of a request that hold its elements, and the lists of the response that answer them, in the same order."""

    asked: Path
    answered: Path
    per_part: int = ELEMENTS_PER_PART
    """Fewer where an element costs much; more where each part waits for the disk."""
    records: Callable[[Element], int] = lambda _element: 0
    """How many records an element of the outermost list asks the metadata log for, at least. Of a whole request that many are
    too many, as in Kafka, although the parts would do."""


def _records_of_topic(topic: CreatableTopic) -> int:
    partitions = len(topic.assignments) or max(topic.num_partitions, 1)
    return 1 + partitions + len(topic.configs)


_TOPIC_PARTITIONS: Final = ("topics", "partitions")
_SHARE_STATE: Final = Lists(_TOPIC_PARTITIONS, ("results", "partitions"), 50)
_COMMITS: Final = Lists(_TOPIC_PARTITIONS, _TOPIC_PARTITIONS, 200)

LISTS: Final[Mapping[ApiKey, tuple[Lists, ...]]] = MappingProxyType(
    {
        ApiKey.ADD_PARTITIONS_TO_TXN: (Lists(("transactions",), ("results_by_transaction",)),),
        ApiKey.ALTER_CLIENT_QUOTAS: (Lists(("entries",), ("entries",), records=lambda each: len(each.ops)),),
        ApiKey.ALTER_CONFIGS: (Lists(("resources",), ("responses",), 20, lambda each: len(each.configs)),),
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: (Lists(_TOPIC_PARTITIONS, ("responses", "partitions")),),
        ApiKey.ALTER_REPLICA_LOG_DIRS: (Lists(("dirs", "topics", "partitions"), ("results", "partitions")),),
        ApiKey.ALTER_SHARE_GROUP_OFFSETS: (Lists(_TOPIC_PARTITIONS, ("responses", "partitions")),),
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (
            Lists(("deletions",), ("results",), records=lambda _each: 1),
            Lists(("upsertions",), ("results",), records=lambda _each: 1),
        ),
        ApiKey.CONSUMER_GROUP_DESCRIBE: (Lists(("group_ids",), ("groups",)),),
        ApiKey.CREATE_ACLS: (Lists(("creations",), ("results",), records=lambda _each: 1),),
        ApiKey.CREATE_PARTITIONS: (Lists(("topics",), ("results",), 20),),
        ApiKey.CREATE_TOPICS: (Lists(("topics",), ("topics",), 20, _records_of_topic),),
        ApiKey.DELETE_ACLS: (Lists(("filters",), ("filter_results",)),),
        ApiKey.DELETE_GROUPS: (Lists(("groups_names",), ("results",)),),
        ApiKey.DELETE_RECORDS: (Lists(_TOPIC_PARTITIONS, _TOPIC_PARTITIONS),),
        ApiKey.DELETE_SHARE_GROUP_OFFSETS: (Lists(("topics",), ("responses",)),),
        ApiKey.DELETE_SHARE_GROUP_STATE: (_SHARE_STATE,),
        ApiKey.DELETE_TOPICS: (
            Lists(("topics",), ("responses",), 20),
            Lists(("topic_names",), ("responses",), 20),
        ),
        ApiKey.DESCRIBE_CONFIGS: (Lists(("resources",), ("results",), 2),),
        ApiKey.DESCRIBE_GROUPS: (Lists(("groups",), ("groups",)),),
        ApiKey.DESCRIBE_PRODUCERS: (Lists(("topics", "partition_indexes"), _TOPIC_PARTITIONS),),
        ApiKey.DESCRIBE_QUORUM: (Lists(_TOPIC_PARTITIONS, _TOPIC_PARTITIONS),),
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (
            Lists(("groups", "topics", "partitions"), ("groups", "topics", "partitions")),
        ),
        ApiKey.DESCRIBE_TRANSACTIONS: (Lists(("transactional_ids",), ("transaction_states",)),),
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (Lists(("users",), ("results",)),),
        ApiKey.ELECT_LEADERS: (
            Lists(("topic_partitions", "partitions"), ("replica_election_results", "partition_result")),
        ),
        ApiKey.FIND_COORDINATOR: (Lists(("coordinator_keys",), ("coordinators",)),),
        ApiKey.INCREMENTAL_ALTER_CONFIGS: (Lists(("resources",), ("responses",), 20, lambda each: len(each.configs)),),
        ApiKey.INITIALIZE_SHARE_GROUP_STATE: (_SHARE_STATE,),
        ApiKey.LIST_OFFSETS: (Lists(_TOPIC_PARTITIONS, _TOPIC_PARTITIONS),),
        ApiKey.LIST_PARTITION_REASSIGNMENTS: (Lists(("topics", "partition_indexes"), _TOPIC_PARTITIONS),),
        ApiKey.METADATA: (Lists(("topics",), ("topics",)),),
        ApiKey.OFFSET_COMMIT: (_COMMITS,),
        ApiKey.OFFSET_DELETE: (_COMMITS,),
        ApiKey.OFFSET_FETCH: (
            Lists(("groups", "topics", "partition_indexes"), ("groups", "topics", "partitions")),
            Lists(("topics", "partition_indexes"), _TOPIC_PARTITIONS),
        ),
        ApiKey.OFFSET_FOR_LEADER_EPOCH: (Lists(_TOPIC_PARTITIONS, _TOPIC_PARTITIONS),),
        ApiKey.PRODUCE: (
            Lists(("topic_data", "partition_data"), ("responses", "partition_responses"), 50),
        ),
        ApiKey.READ_SHARE_GROUP_STATE: (_SHARE_STATE,),
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: (_SHARE_STATE,),
        ApiKey.SHARE_GROUP_DESCRIBE: (Lists(("group_ids",), ("groups",)),),
        ApiKey.STREAMS_GROUP_DESCRIBE: (Lists(("group_ids",), ("groups",)),),
        ApiKey.TXN_OFFSET_COMMIT: (_COMMITS,),
        ApiKey.WRITE_SHARE_GROUP_STATE: (_SHARE_STATE,),
        ApiKey.WRITE_TXN_MARKERS: (
            Lists(("markers", "topics", "partition_indexes"), ("markers", "topics", "partitions")),
        ),
    }
)  # fmt: skip


def in_parts(request: Message, key: ApiKey) -> tuple[Lists, Iterator[Message]] | None:
    """Returns the request as several, made when they are asked for; None when it is short, or belongs together.

    Raises PolicyViolation.
    """
    filled = [lists for lists in LISTS.get(key, ()) if getattr(request, lists.asked[0])]
    if not filled or (len(filled) == 1 and _has_one_part(request, filled[0])):
        return None
    for lists in filled:
        _check_records(getattr(request, lists.asked[0]), lists)
    return filled[0], _parts(request, filled)


def has_long_lists(answer: Message, key: ApiKey) -> bool:
    """Whether there are thousands of elements in its lists and the lists in those."""
    told = _TOLD.get(key)
    if told is not None and getattr(answer, told[0]):
        return not _is_short(getattr(answer, told[0]), told[1:], _ELEMENTS_ENCODED_AT_ONCE)
    total = 0
    for name in answer.field_names():
        elements = getattr(answer, name)
        if isinstance(elements, list):
            total += len(elements)
            for element in elements[:ELEMENTS_PER_PART]:
                total += _list_lengths(element)
    return total > _ELEMENTS_ENCODED_AT_ONCE


def _list_lengths(element: object) -> int:
    if not isinstance(element, MessageValue):
        return 0
    values = (getattr(element, name) for name in element.field_names())
    return sum(len(value) for value in values if isinstance(value, list))


def _parts(request: Message, filled: Sequence[Lists]) -> Iterator[Message]:
    bare = copy.copy(request)
    for lists in filled:
        setattr(bare, lists.asked[0], [])
    for lists in filled:
        elements = getattr(request, lists.asked[0])
        for piece in _pieces(elements, lists.asked[1:], lists.per_part):
            yield _with(bare, lists.asked[0], piece)


def joined(answers: Sequence[Message], lists: Lists) -> Message:
    """Joins the answers of all parts. An error that is not about an element is the answer to all of them."""
    for answer in answers:
        if getattr(answer, "error_code", 0):
            return answer
    whole, name = answers[0], lists.answered[0]
    together: list[Element] = []
    for answer in answers:
        _append(together, getattr(answer, name), lists.answered[1:])
    setattr(whole, name, together)
    return whole


def _check_records(elements: Sequence[Element], lists: Lists) -> None:
    if sum(map(lists.records, elements)) > RECORDS_PER_REQUEST_MAX:
        raise PolicyViolation("Unable to perform excessively large batch operation.")


def _has_one_part(request: Message, lists: Lists) -> bool:
    return _is_short(getattr(request, lists.asked[0]), lists.asked[1:], lists.per_part)


def _is_short(elements: Sequence[Element], inner: Path, limit: int) -> bool:
    return len(elements) <= limit and _weight(elements, inner, limit) <= limit


def _weight(elements: Sequence[Element], inner: Path, limit: int) -> int:
    """Returns the number of elements at the innermost level; no more than needed to see that it is above `limit`."""
    if not inner:
        return len(elements)
    total = 0
    for element in elements:
        nested = getattr(element, inner[0])
        total += max(1, _weight(nested, inner[1:], limit)) if nested else 1
        if total > limit:
            break
    return total


def _pieces(elements: Sequence[Element], inner: Path, limit: int) -> Iterator[list[Element]]:
    """Lists of `limit` elements at the innermost level, or a few less."""
    if not inner:
        for begin in range(0, len(elements), limit):
            yield list(elements[begin : begin + limit])
        return
    piece: list[Element] = []
    room = limit
    for element in elements:
        for part, weight in _parts_of(element, inner, limit):
            if weight > room:
                yield piece
                piece, room = [], limit
            piece.append(part)
            room -= weight
    yield piece


def _parts_of(element: Element, inner: Path, limit: int) -> Iterator[tuple[Element, int]]:
    """The element whole if it is short, else several of it with parts of what it holds."""
    nested = getattr(element, inner[0])
    if not nested:
        yield element, 1
    elif _is_short(nested, inner[1:], limit):
        yield element, _weight(nested, inner[1:], limit)
    else:
        for piece in _pieces(nested, inner[1:], limit):
            yield _with(element, inner[0], piece), _weight(piece, inner[1:], limit)


def _with(message: Element, name: str, value: object) -> Element:
    changed = copy.copy(message)
    setattr(changed, name, value)
    return changed


def _append(together: list[Element], answers: list[Element], inner: Path) -> None:
    """Appends the answers of a part. Where an element was cut, the last answer and the first of the next part are about the same: they become one."""
    if inner and together and answers and _are_of_one(together[-1], answers[0], inner[0]):
        _append(getattr(together[-1], inner[0]), getattr(answers[0], inner[0]), inner[1:])
        answers = answers[1:]
    together += answers


def _are_of_one(left: Element, right: Element, but_for: str) -> bool:
    return all(
        getattr(left, name) == getattr(right, name)
        for name in left.field_names()
        if name != but_for
    )


WHOLE: Final[Mapping[ApiKey, str]] = MappingProxyType(
    {
        ApiKey.ADD_RAFT_VOTER: "about one voter, and where it listens",
        ApiKey.ALTER_PARTITION: "planned in a thread, by the number of partitions",
        ApiKey.ASSIGN_REPLICAS_TO_DIRS: "planned in a thread, by the number of partitions",
        ApiKey.BEGIN_QUORUM_EPOCH: "about one partition, and where one leader listens",
        ApiKey.BROKER_HEARTBEAT: "one broker says all of itself, planned in a thread",
        ApiKey.BROKER_REGISTRATION: "one broker says all of itself, planned in a thread",
        ApiKey.CONSUMER_GROUP_HEARTBEAT: "one member says all that it wants, to its shard in a thread",
        ApiKey.CONTROLLER_REGISTRATION: "one controller says all of itself",
        ApiKey.CREATE_DELEGATION_TOKEN: "refused over plain connections before its list is looked at",
        ApiKey.DESCRIBE_CLIENT_QUOTAS: "components are of three kinds at most",
        ApiKey.DESCRIBE_DELEGATION_TOKEN: "refused over plain connections before its list is looked at",
        ApiKey.DESCRIBE_LOG_DIRS: "answered by directory, in turns; what is asked for becomes a set",
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: "answers 2000 partitions at most, and a cursor",
        ApiKey.END_QUORUM_EPOCH: "about one partition, and where one leader listens",
        ApiKey.FETCH: "a session is one whole; it is read in turns",
        ApiKey.FETCH_SNAPSHOT: "about one partition",
        ApiKey.JOIN_GROUP: "one member says all that it wants, to its shard in a thread",
        ApiKey.LEAVE_GROUP: "members that leave together cause one rebalance, planned in a thread",
        ApiKey.LIST_CONFIG_RESOURCES: "kinds of resources, made a set",
        ApiKey.LIST_GROUPS: "filters, made sets",
        ApiKey.LIST_TRANSACTIONS: "filters, made sets",
        ApiKey.SHARE_ACKNOWLEDGE: "a session is one whole",
        ApiKey.SHARE_FETCH: "a session is one whole",
        ApiKey.SHARE_GROUP_HEARTBEAT: "one member says all that it wants, to its shard in a thread",
        ApiKey.STREAMS_GROUP_HEARTBEAT: "one member says all that it wants, to its shard in a thread",
        ApiKey.SYNC_GROUP: "one generation's assignment, taken in a thread",
        ApiKey.UPDATE_FEATURES: "all features or none",
        ApiKey.UPDATE_RAFT_VOTER: "one voter says all of itself",
        ApiKey.VOTE: "about one partition",
    }
)  # fmt: skip
"""Lists that are handled together, and why the loop is not held by them."""
