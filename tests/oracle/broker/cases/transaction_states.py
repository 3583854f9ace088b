"""Whatever a producer asks for, in every state of its transaction and at every epoch that it may still believe to have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.oracle.broker.cases.transactions import until_complete, who
from tests.oracle.broker.runner import case
from tests.oracle.broker.session import Session, Topic, batch, codes_of

_Identity = dict[str, int]
_Ask = Callable[[Session, Topic, str, _Identity], Any]
_Lead = Callable[[Session, Topic, str], object]
_EPOCHS = (-1, 0, 1)
"""Relative to that which the coordinator has."""


def _end(version: int, committed: bool) -> _Ask:
    return lambda s, _topic, name, identity: s.quietly(
        "EndTxn", version, transactional_id=name, committed=committed, **identity
    )


def _add_partitions(s: Session, topic: Topic, name: str, identity: _Identity) -> Any:
    return s.quietly(
        "AddPartitionsToTxn", 3, v3_and_below_transactional_id=name, v3_and_below_producer_id=identity["producer_id"],
        v3_and_below_producer_epoch=identity["producer_epoch"], v3_and_below_topics=[{"name": topic.name, "partitions": [0]}],
    )  # fmt: skip


def _add_as_a_broker(*, verify_only: bool) -> _Ask:
    return lambda s, topic, name, identity: s.quietly(
        "AddPartitionsToTxn", 5, transactions=[
            {"transactional_id": name, **identity, "verify_only": verify_only, "topics": [{"name": topic.name, "partitions": [0]}]}],
    )  # fmt: skip


def _add_offsets(s: Session, _topic: Topic, name: str, identity: _Identity) -> Any:
    return s.quietly("AddOffsetsToTxn", 4, transactional_id=name, group_id=s.name("g"), **identity)


def _commit_offsets(version: int) -> _Ask:
    return lambda s, topic, name, identity: s.quietly(
        "TxnOffsetCommit", version, transactional_id=name, group_id=s.name("g"), **identity, generation_id=-1, member_id="",
        topics=[{"name": topic.name, "partitions": [{"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}]}],
    )  # fmt: skip


def _produce(version: int) -> _Ask:
    return lambda s, topic, name, identity: s.quietly(
        "Produce", version, acks=-1, timeout_ms=5000, transactional_id=name,
        topic_data=[{"name": topic.name, "topic_id": topic.id, "partition_data": [
            {"index": 0, "records": batch(b"x", is_transactional=True, base_sequence=0, **identity)}]}],
    )  # fmt: skip


def _init(s: Session, _topic: Topic, name: str, identity: _Identity) -> Any:
    return s.quietly(
        "InitProducerId", 4, transactional_id=name, transaction_timeout_ms=60_000, **identity
    )


_ASKED: Mapping[str, _Ask] = {
    "EndTxn v3 commit": _end(3, True),
    "EndTxn v3 abort": _end(3, False),
    "EndTxn v5 commit": _end(5, True),
    "EndTxn v5 abort": _end(5, False),
    "AddPartitionsToTxn v3": _add_partitions,
    "AddPartitionsToTxn v5": _add_as_a_broker(verify_only=False),
    "AddPartitionsToTxn v5 verify": _add_as_a_broker(verify_only=True),
    "AddOffsetsToTxn v4": _add_offsets,
    "TxnOffsetCommit v4": _commit_offsets(4),
    "TxnOffsetCommit v5": _commit_offsets(5),
    "Produce v11": _produce(11),
    "Produce v12": _produce(12),
    "InitProducerId v4": _init,
}


def _begin(s: Session, topic: Topic, name: str) -> _Identity:
    """An ongoing transaction, at epoch 2: there are older ones."""
    identity = _initialized(s, topic, name)
    _produce(12)(s, topic, name, identity)
    return identity


def _initialized(s: Session, _topic: Topic, name: str, timeout_ms: int = 60_000) -> _Identity:
    for _ in range(3):
        answer = s.quietly(
            "InitProducerId", 4, transactional_id=name, transaction_timeout_ms=timeout_ms,
            producer_id=-1, producer_epoch=-1,
        )  # fmt: skip
    return who(answer)


def _ended(version: int, committed: bool) -> _Lead:
    def lead(s: Session, topic: Topic, name: str) -> None:
        if version >= 5:
            identity = _begin(s, topic, name)
        else:
            identity = _initialized(s, topic, name)
            _add_partitions(s, topic, name, identity)
        _end(version, committed)(s, topic, name, identity)

    return lead


def _begun_by_an_older_client(s: Session, topic: Topic, name: str) -> None:
    _add_partitions(s, topic, name, _initialized(s, topic, name))


def _timed_out(s: Session, topic: Topic, name: str) -> None:
    _produce(12)(s, topic, name, _initialized(s, topic, name, 300))


def _taken_over(s: Session, topic: Topic, name: str) -> None:
    """The open transaction is aborted; its new producer has not come back yet."""
    _begin(s, topic, name)
    s.quietly(
        "InitProducerId", 4, again=frozenset({14, 15, 16}), transactional_id=name, transaction_timeout_ms=60_000,
        producer_id=-1, producer_epoch=-1,
    )  # fmt: skip


_LEADS: Mapping[str, _Lead] = {
    "empty": _initialized,
    "ongoing": _begin,
    "ongoing, older client": _begun_by_an_older_client,
    "committed": _ended(5, True),
    "aborted": _ended(5, False),
    "committed, older client": _ended(3, True),
    "aborted, older client": _ended(3, False),
    "timed out": _timed_out,
    "taken over": _taken_over,
}


@case("EndTxn", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "InitProducerId")
def everything_in_every_state(s: Session) -> None:
    topic = s.topic()
    asked_at = [(asked, epoch) for asked in _ASKED for epoch in _EPOCHS]
    for state, lead in _LEADS.items():
        names = {at: s.name(f"{state}-{number}") for number, at in enumerate(asked_at)}
        for name in names.values():
            lead(s, topic, name)
        for (asked, epoch), name in names.items():
            if not state.startswith(("empty", "ongoing")):
                until_complete(s, name)
            before = _described(s, name)
            identity = {
                "producer_id": before.producer_id,
                "producer_epoch": before.producer_epoch + epoch,
            }
            codes = sorted(codes_of(_ASKED[asked](s, topic, name, identity)))
            s.until(
                lambda name=name: "Prepare" not in _described(s, name).transaction_state,
                "markers are written",
            )
            after = _described(s, name)
            s.steps.append((f"{state}: {asked}, epoch {epoch:+}", {
                "errorCodes": codes, "state": after.transaction_state, "raised": after.producer_epoch - before.producer_epoch}))  # fmt: skip


def _described(s: Session, name: str) -> Any:
    return s.quietly("DescribeTransactions", 0, transactional_ids=[name]).transaction_states[0]
