"""Offsets that a transaction has staged, and everything that removes or replaces offsets before it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.oracle.broker.cases.group_offsets import commit, fetch
from tests.oracle.broker.cases.transactions import end, init, until_complete, who
from tests.oracle.broker.runner import case
from tests.oracle.broker.session import Session, Topic

_Removal = Callable[[Session, Topic], None]


@case("TxnOffsetCommit", "DeleteTopics")
def topic_is_deleted_before_the_transaction_ends(s: Session) -> None:
    _both_ends(s, "gone", _delete_topic)


@case("TxnOffsetCommit", "DeleteTopics")
def topic_is_made_again_before_the_transaction_ends(s: Session) -> None:
    _both_ends(s, "again", _make_topic_again)


@case("TxnOffsetCommit", "OffsetDelete")
def offsets_are_deleted_before_the_transaction_ends(s: Session) -> None:
    _both_ends(s, "offsets", _delete_offsets)


@case("TxnOffsetCommit", "DeleteGroups")
def group_is_deleted_before_the_transaction_ends(s: Session) -> None:
    _both_ends(s, "group", _delete_group)


@case("TxnOffsetCommit", "OffsetCommit")
def offsets_are_set_from_outside_before_the_transaction_ends(s: Session) -> None:
    _both_ends(s, "set", lambda s, topic: commit(s, 9, "from outside", topic, 50))


@case("TxnOffsetCommit", "DeleteGroups")
def group_is_deleted_that_only_a_transaction_knows(s: Session) -> None:
    topic = s.known_topic()
    identity = who(init(s))
    _stage(s, topic, 7, identity)
    s.ask("ListGroups", 5, "staged only", states_filter=["Nothing"])
    _delete_group(s, topic)
    _fetch_both(s, "after it", topic)
    _end(s, True, identity)
    _fetch_both(s, "committed", topic)
    _delete_group(s, topic)


@case("TxnOffsetCommit", "DeleteTopics")
def topic_is_made_again_and_staged_again(s: Session) -> None:
    topic = s.known_topic()
    identity = who(init(s))
    _stage(s, topic, 7, identity)
    _make_topic_again(s, topic)
    again = Topic(topic.name, _id_of(s, topic.name))
    _stage(s, again, 3, identity)
    _fetch_both(s, "staged again", again)
    _end(s, True, identity)
    _fetch_both(s, "committed", again)


@case("TxnOffsetCommit", "OffsetDelete")
def two_transactions_stage_the_same_offset(s: Session) -> None:
    topic = s.known_topic()
    first, second = (who(init(s, 4, "", s.name(name))) for name in ("first", "second"))
    _stage(s, topic, 7, first, "first")
    _stage(s, topic, 8, second, "second")
    _end(s, True, second, "second")
    _fetch_both(s, "the second committed", topic)
    _end(s, True, first, "first")
    _fetch_both(s, "both committed", topic)
    first, second = (who(init(s, 4, "", s.name(name))) for name in ("first", "second"))
    _stage(s, topic, 17, first, "first")
    _stage(s, topic, 18, second, "second")
    _delete_offsets(s, topic)
    _fetch_both(s, "deleted", topic)
    _end(s, True, second, "second")
    _end(s, True, first, "first")
    _fetch_both(s, "both committed after it", topic)


def _both_ends(s: Session, name: str, remove: _Removal) -> None:
    """With an offset that is committed already, and without one; committed and aborted."""
    for had_offset in (False, True):
        for committed in (True, False):
            said = f"{'had an offset' if had_offset else 'had none'}, {'commit' if committed else 'abort'}"
            topic = s.known_topic(f"{name}-{had_offset}-{committed}".lower())
            if had_offset:
                commit(s, 9, said, topic, 2)
            identity = who(init(s))
            _stage(s, topic, 7, identity)
            _fetch_both(s, f"staged, {said}", topic)
            remove(s, topic)
            _fetch_both(s, f"removed, {said}", topic)
            _end(s, committed, identity)
            _fetch_both(s, f"ended, {said}", topic)


def _stage(s: Session, topic: Topic, offset: int, identity: dict[str, int], name: str = "") -> None:
    s.ask("TxnOffsetCommit", 5, "", transactional_id=s.name(name), group_id=s.name(), **identity, generation_id=-1, member_id="",
          topics=[{"name": topic.name, "partitions": [{"partition_index": 0, "committed_offset": offset, "committed_metadata": "staged"}]}])  # fmt: skip


def _end(s: Session, committed: bool, identity: dict[str, int], name: str = "") -> Any:
    answer = end(s, 5, "commit" if committed else "abort", committed, identity, s.name(name))
    until_complete(s, s.name(name))
    return answer


def _fetch_both(s: Session, note: str, topic: Topic) -> None:
    again = frozenset({14, 15, 16})
    fetch(s, 9, note, [(topic, [0])], again=again)
    fetch(s, 9, f"stable, {note}", [(topic, [0])], again=again, require_stable=True)
    fetch(s, 9, f"all, {note}", None, again=again)
    fetch(s, 9, f"all, stable, {note}", None, again=again, require_stable=True)
    fetch(
        s,
        10,
        f"by the newest id, {note}",
        [(Topic(topic.name, _id_of(s, topic.name)), [0])],
        again=again,
    )


def _id_of(s: Session, name: str) -> bytes:
    found = s.quietly("Metadata", 12, topics=[{"name": name}], allow_auto_topic_creation=False)
    return bytes(found.topics[0].topic_id)


def _delete_topic(s: Session, topic: Topic) -> None:
    s.quietly("DeleteTopics", 6, topics=[{"name": topic.name}], timeout_ms=5000)
    s.until(lambda: _id_of(s, topic.name) == bytes(16), "deleted")
    s.settle()


def _make_topic_again(s: Session, topic: Topic) -> None:
    _delete_topic(s, topic)
    s.quietly("CreateTopics", 7, timeout_ms=5000, topics=[
        {"name": topic.name, "num_partitions": 1, "replication_factor": 1}])  # fmt: skip
    s.until(lambda: _id_of(s, topic.name) != bytes(16), "made again")
    s.settle()


def _delete_offsets(s: Session, topic: Topic) -> None:
    s.ask("OffsetDelete", 0, "", group_id=s.name(),
          topics=[{"name": topic.name, "partitions": [{"partition_index": 0}]}])  # fmt: skip


def _delete_group(s: Session, topic: Topic) -> None:
    del topic
    s.ask("DeleteGroups", 2, "", groups_names=[s.name()])
