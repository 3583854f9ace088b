"""Adds to the refusal of a topic, a group or a transactional id that does not exist the nearest that does.

The cluster is asked only then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from millstream.cli.suggestions import or_near
from millstream.errors import (
    GroupIdNotFound,
    KafkaError,
    MillstreamError,
    NetworkException,
    TransactionalIdNotFound,
    UnknownTopicOrPartition,
)
from millstream.quoting import some_of

if TYPE_CHECKING:
    from millstream.clients.admin import Results
    from millstream.clients.blocking import Admin

Key = TypeVar("Key")
Value = TypeVar("Value")


def with_near_topics(admin: Admin, results: Results[Key, Value]) -> Results[Key, Value]:
    """Returns the results, by topic, partition or resource, in which each unknown topic is answered
    with the nearest.
    """
    return _with_near(results, UnknownTopicOrPartition, admin.list_topics)


def topics_not_there(admin: Admin, topics: Iterable[str]) -> list[str]:
    """Returns a sentence for each topic that does not exist, with the nearest that does.

    Raises KafkaError where nobody answers.
    """
    found = with_near_topics(admin, admin.describe_topics(topics))
    return [
        str(error)
        for error in found.errors().values()
        if isinstance(error, UnknownTopicOrPartition)
    ]


def with_near_groups(admin: Admin, results: Results[Key, Value]) -> Results[Key, Value]:
    """Returns the results in which each unknown group is answered with the nearest."""
    return _with_near(results, GroupIdNotFound, lambda: group_ids(admin))


def with_near_transactional_ids(admin: Admin, results: Results[Key, Value]) -> Results[Key, Value]:
    """Returns the results in which each unknown transactional id is answered with the nearest."""
    return _with_near(
        results,
        TransactionalIdNotFound,
        lambda: [each.transactional_id for each in admin.list_transactions()],
    )


def group_ids(admin: Admin) -> list[str]:
    return [each.group_id for each in admin.list_groups()]


def or_near_group(admin: Admin, group_id: str) -> str:
    """Returns `; did you mean ...?` with the nearest group, nothing where none is near or nobody tells."""
    return or_near(group_id, _asked(lambda: group_ids(admin)) - {group_id})


def check_up(admin: Admin, broker_id: int) -> None:
    """Raises NetworkException for a broker that is not up: clients would wait for it until their time limit."""
    up = sorted(node.node_id for node in admin.describe_cluster().nodes)
    if broker_id not in up:
        raise NetworkException(f"broker {broker_id} is not up; those that are: {some_of([*map(str, up)])}")  # fmt: skip


def _with_near(
    results: Results[Key, Value], kind: type[KafkaError], list_known: Callable[[], Iterable[str]]
) -> Results[Key, Value]:
    unknown = {key: error for key, error in results.items() if isinstance(error, kind)}
    if not unknown:
        return results
    known = _asked(list_known)
    for key, error in unknown.items():
        name = _name(key)
        if name not in known:
            results[key] = kind(f"{str(error).rstrip('.')}{or_near(name, known)}")
    return results


def _asked(list_known: Callable[[], Iterable[str]]) -> set[str]:
    """Returns no names where the cluster does not tell them: it is the refusal that matters."""
    try:
        return set(list_known())
    except MillstreamError:
        return set()


def _name(key: object) -> str:
    """The name of what was asked for: of the topic of a partition, of a resource with settings, or the key itself."""
    for attribute in ("topic", "name"):
        found = getattr(key, attribute, None)
        if isinstance(found, str):
            return found
    return str(key)
