"""Transactions: producer ids, the protocol of older clients, that of KIP-890, fencing, time-outs, and what describes them."""

from __future__ import annotations

from typing import Any

from tests.oracle.broker.runner import case
from tests.oracle.broker.session import Session, Topic, batch, versions

UNKNOWN_ID = bytes(15) + b"\x09"


def init(
    s: Session,
    version: int = 4,
    note: str = "",
    transactional_id: str | None = "",
    timeout_ms: int = 60_000,
    **identity: int,
) -> Any:
    given = s.name() if transactional_id == "" else transactional_id
    return s.ask(
        "InitProducerId",
        version,
        note,
        transactional_id=given,
        transaction_timeout_ms=timeout_ms,
        **({"producer_id": -1, "producer_epoch": -1} | identity),
    )


def who(answer: Any) -> dict[str, int]:
    return {"producer_id": answer.producer_id, "producer_epoch": answer.producer_epoch}


def add(  # noqa: PLR0917  # read as a sentence: who, what, with what
    s: Session,
    version: int,
    note: str,
    topics: list[dict[str, Any]],
    identity: dict[str, int],
    transactional_id: str = "",
) -> Any:
    name = transactional_id or s.name()
    return s.ask("AddPartitionsToTxn", version, note, v3_and_below_transactional_id=name, v3_and_below_producer_id=identity["producer_id"],
                 v3_and_below_producer_epoch=identity["producer_epoch"], v3_and_below_topics=topics,
                 transactions=[{"transactional_id": name, **identity, "verify_only": False, "topics": topics}])  # fmt: skip


def produce(  # noqa: PLR0917  # read as a sentence: who, what, with what
    s: Session,
    version: int,
    note: str,
    topic: Topic,
    sequence: int,
    identity: dict[str, int],
    *values: bytes,
    transactional_id: str = "",
    partition: int = 0,
) -> Any:
    records = batch(*(values or (b"v",)), is_transactional=True, base_sequence=sequence, **identity)
    return s.ask("Produce", version, note, acks=-1, timeout_ms=5000, transactional_id=transactional_id or s.name(),
                 topic_data=[{"name": topic.name, "topic_id": topic.id, "partition_data": [{"index": partition, "records": records}]}])  # fmt: skip


def end(  # noqa: PLR0917  # read as a sentence: who, what, with what
    s: Session,
    version: int,
    note: str,
    committed: bool,
    identity: dict[str, int],
    transactional_id: str = "",
) -> Any:
    return s.ask(
        "EndTxn",
        version,
        note,
        transactional_id=transactional_id or s.name(),
        committed=committed,
        **identity,
    )


def read(  # noqa: PLR0917  # read as a sentence: what, how, from where
    s: Session, note: str, topic: Topic, isolation: int = 1, version: int = 12, offset: int = 0
) -> None:
    s.ask("Fetch", version, note, replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, session_epoch=-1, isolation_level=isolation,
          topics=[{"topic": topic.name, "topic_id": topic.id, "partitions": [{"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}]}])  # fmt: skip


def until_complete(s: Session, transactional_id: str = "") -> None:
    """Markers are written after EndTxn is answered."""

    def is_complete() -> bool:
        found = s.quietly(
            "DescribeTransactions", 0, transactional_ids=[transactional_id or s.name()]
        ).transaction_states[0]
        return found.transaction_state.startswith("Complete") or found.transaction_state in (
            "Empty",
            "",
        )

    s.until(is_complete, "markers are written")


def describe(s: Session, note: str, *transactional_ids: str) -> None:
    s.ask("DescribeTransactions", 0, note, transactional_ids=list(transactional_ids or (s.name(),)))


@case("InitProducerId")
def init_producer_id(s: Session) -> None:
    for version in versions("InitProducerId"):
        name = s.name(f"t{version}")
        init(s, version, "no transactional id", None)
        first = init(s, version, "first", name)
        init(s, version, "second", name)
        init(s, version, "time limit too long", s.name("x"), timeout_ms=900_001)
        init(s, version, "time limit 0", s.name("x"), timeout_ms=0)
        init(s, version, "time limit -1", s.name("x"), timeout_ms=-1)
        s.ask(
            "InitProducerId",
            version,
            "empty transactional id",
            transactional_id="",
            transaction_timeout_ms=1000,
        )
        if version >= 3:
            init(s, version, "with its id and older epoch", name, **who(first))
            init(
                s,
                version,
                "with its id and epoch",
                name,
                producer_id=first.producer_id,
                producer_epoch=first.producer_epoch + 2,
            )
            init(s, version, "with another id", name, producer_id=987_654, producer_epoch=0)
            init(
                s,
                version,
                "id without epoch",
                name,
                producer_id=first.producer_id,
                producer_epoch=-1,
            )
            init(s, version, "epoch without id", name, producer_id=-1, producer_epoch=3)
            init(
                s,
                version,
                "id of nobody without transactional id",
                None,
                producer_id=77,
                producer_epoch=1,
            )
            init(
                s,
                version,
                "unknown transactional id with an id",
                s.name(f"u{version}"),
                producer_id=55,
                producer_epoch=3,
            )


@case("AddPartitionsToTxn", "EndTxn")
def the_older_protocol(s: Session) -> None:
    topic = s.topic(partitions=2)
    for version in range(4):
        name = s.name(f"t{version}")
        identity = who(init(s, 4, "", name))
        describe(s, "empty", name)
        end(s, version, "commit of nothing", True, identity, name)
        add(s, version, "", [{"name": topic.name, "partitions": [0]}], identity, name)
        describe(s, "ongoing", name)
        add(s, version, "again", [{"name": topic.name, "partitions": [0]}], identity, name)
        produce(s, 9, "", topic, 0, identity, b"a", b"b", transactional_id=name)
        read(s, "while it is open", topic)
        end(s, version, "commit", True, identity, name)
        until_complete(s, name)
        describe(s, "committed", name)
        end(s, version, "commit again", True, identity, name)
        end(s, version, "abort after commit", False, identity, name)
        read(s, "committed", topic)
        add(s, version, "second", [{"name": topic.name, "partitions": [0]}], identity, name)
        produce(s, 9, "second", topic, 2, identity, b"c", transactional_id=name)
        end(s, version, "abort", False, identity, name)
        until_complete(s, name)
        end(s, version, "abort again", False, identity, name)
        end(s, version, "commit after abort", True, identity, name)
        read(s, "aborted", topic)
        read(s, "aborted, uncommitted read", topic, 0)


@case("AddPartitionsToTxn", "EndTxn", "DescribeProducers")
def the_newer_protocol(s: Session) -> None:
    topic = s.topic()
    identity = who(init(s))
    for number in range(3):
        produce(s, 12, f"transaction {number}", topic, 0, identity, b"a", b"b")
        s.ask(
            "DescribeProducers",
            0,
            f"transaction {number}",
            topics=[{"name": topic.name, "partition_indexes": [0]}],
        )
        describe(s, f"ongoing {number}")
        s.ask(
            "ListOffsets",
            7,
            f"stable {number}",
            replica_id=-1,
            isolation_level=1,
            topics=[topic.partition(0, timestamp=-1)],
        )
        old = identity
        identity = who(end(s, 5, f"ends {number}", number != 1, identity))
        until_complete(s)
        describe(s, f"complete {number}")
        end(s, 5, f"the old epoch commits {number}", number != 1, old)
        end(s, 5, f"the old epoch does otherwise {number}", number == 1, old)
        produce(s, 12, f"the old epoch produces {number}", topic, 2, old, b"x")
    for version in (4, 10, 11, 12, 18):
        read(s, "all", topic, version=version)
    end(s, 5, "abort of nothing", False, identity)
    until_complete(s)
    describe(s, "after the abort of nothing")


@case("DeleteRecords", "ListOffsets", "DescribeProducers")
def first_records_of_an_open_transaction_are_deleted(s: Session) -> None:
    """The last stable offset is the log start then: where a reader with reset latest begins, and what it reads in the end."""
    topic = s.topic()
    identity = who(init(s))
    s.produce(topic, b"0")
    produce(s, 12, "in the transaction", topic, 0, identity, b"1")
    s.produce(topic, b"2")
    s.produce(topic, b"3")

    def look(note: str) -> None:
        for isolation in (0, 1):
            s.ask("ListOffsets", 7, f"latest {note}", replica_id=-1, isolation_level=isolation,
                  topics=[topic.partition(0, timestamp=-1)])  # fmt: skip
        read(s, f"behind the log start {note}", topic, offset=3)
        s.ask("DescribeProducers", 0, note, topics=[{"name": topic.name, "partition_indexes": [0]}])

    look("before")
    partitions = [{"partition_index": 0, "offset": 3}]
    s.ask("DeleteRecords", 2, "to 3", timeout_ms=3000, topics=[{"name": topic.name, "partitions": partitions}])  # fmt: skip
    look("while it is open")
    s.produce(topic, b"4")
    look("and more is written")
    end(s, 5, "aborts", False, identity)
    until_complete(s)
    look("after its end")


@case("EndTxn", "AddPartitionsToTxn", "AddOffsetsToTxn")
def errors_in_every_version(s: Session) -> None:
    topic = s.topic()
    identity = who(init(s))
    pid, epoch = identity["producer_id"], identity["producer_epoch"]
    partitions = [{"name": topic.name, "partitions": [0]}]
    for version in range(4):
        add(s, version, "unknown transactional id", partitions, identity, s.name("no"))
        add(
            s,
            version,
            "another producer",
            partitions,
            {"producer_id": 987_654, "producer_epoch": 0},
        )
        add(
            s, version, "newer epoch", partitions, {"producer_id": pid, "producer_epoch": epoch + 1}
        )
        add(s, version, "epoch -1", partitions, {"producer_id": pid, "producer_epoch": -1})
        add(
            s,
            version,
            "unknown topic",
            [{"name": s.name("no"), "partitions": [0]}, *partitions],
            identity,
        )
        add(s, version, "unknown partition", [{"name": topic.name, "partitions": [9]}], identity)
        add(s, version, "nothing", [], identity)
    for version in versions("AddOffsetsToTxn"):
        for note, name, who_ in (("unknown transactional id", s.name("no"), identity), ("another producer", s.name(), {"producer_id": 987_654, "producer_epoch": 0}),
                                 ("newer epoch", s.name(), {"producer_id": pid, "producer_epoch": epoch + 1})):  # fmt: skip
            s.ask(
                "AddOffsetsToTxn",
                version,
                note,
                transactional_id=name,
                group_id=s.name("g"),
                **who_,
            )
        s.ask(
            "AddOffsetsToTxn",
            version,
            "no group",
            transactional_id=s.name(),
            group_id="",
            **identity,
        )
    for version in versions("EndTxn"):
        end(s, version, "unknown transactional id", True, identity, s.name("no"))
        end(s, version, "another producer", True, {"producer_id": 987_654, "producer_epoch": 0})
        end(s, version, "newer epoch", True, {"producer_id": pid, "producer_epoch": epoch + 1})
        end(s, version, "epoch -1", True, {"producer_id": pid, "producer_epoch": -1})


@case("AddPartitionsToTxn")
def verification_between_brokers(s: Session) -> None:
    topic = s.topic(partitions=2)
    identity = who(init(s))
    for version in (4, 5):
        for verify in (True, False):
            for note, name, who_ in (("good", s.name(), identity), ("unknown", s.name("no"), identity), ("another producer", s.name(), {"producer_id": 987_654, "producer_epoch": 0}),
                                     ("newer epoch", s.name(), {"producer_id": identity["producer_id"], "producer_epoch": 9})):  # fmt: skip
                s.ask("AddPartitionsToTxn", version, f"{note}, verify only {verify}", transactions=[
                    {"transactional_id": name, **who_, "verify_only": verify, "topics": [{"name": topic.name, "partitions": [0, 1]}]}])  # fmt: skip
        s.ask("AddPartitionsToTxn", version, "nothing", transactions=[])


@case("InitProducerId", "EndTxn", "AddPartitionsToTxn")
def fencing(s: Session) -> None:
    topic = s.topic()
    first = who(init(s))
    produce(s, 12, "first", topic, 0, first, b"a")
    second = who(init(s, 4, "takes over"))
    until_complete(s)
    describe(s, "after the takeover")
    third = who(init(s, 4, "takes over again"))
    for version in (3, 9, 11, 12, 13):
        produce(s, version, "first, fenced", topic, 1, first, b"x")
    for version in versions("EndTxn"):
        end(s, version, "first, fenced", True, first)
        end(s, version, "second, fenced", True, second)
    for version in range(4):
        add(s, version, "first, fenced", [{"name": topic.name, "partitions": [0]}], first)
    for version in (3, 4, 5):
        init(s, version, "first asks for a new epoch", **first)
    produce(s, 12, "third", topic, 0, third, b"b")
    end(s, 5, "third", True, third)
    until_complete(s)
    read(s, "all", topic)
    read(s, "all, uncommitted", topic, 0)


@case("EndTxn", "InitProducerId")
def transaction_times_out(s: Session) -> None:
    topic = s.topic()
    identity = who(init(s, 4, "", timeout_ms=300))
    produce(s, 12, "", topic, 0, identity, b"a")
    until_complete(s)
    describe(s, "timed out")
    for version in (1, 2, 4, 5):
        end(s, version, "too late", True, identity)
    produce(s, 9, "too late", topic, 1, identity, b"b")
    produce(s, 12, "too late", topic, 1, identity, b"b")
    init(s, 4, "begins again", **identity)
    read(s, "aborted", topic)


@case("TxnOffsetCommit", "AddOffsetsToTxn")
def offsets_in_a_transaction(s: Session) -> None:
    topic = s.topic()
    group = s.name("g")

    def commit(
        version: int, note: str, identity: dict[str, int], offset: int, name: str, **options: Any
    ) -> None:
        s.ask("TxnOffsetCommit", version, note, transactional_id=name, group_id=group, **identity, **({"generation_id": -1, "member_id": ""} | options),
              topics=[{"name": topic.name, "partitions": [{"partition_index": 0, "committed_offset": offset, "committed_metadata": "m"}]}])  # fmt: skip

    def offsets(note: str, require_stable: bool) -> None:
        s.ask(
            "OffsetFetch",
            7,
            note,
            again=frozenset({14, 15, 16}),
            group_id=group,
            require_stable=require_stable,
            topics=[{"name": topic.name, "partition_indexes": [0]}],
        )

    for version in versions("TxnOffsetCommit"):
        name = s.name(f"t{version}")
        identity = who(init(s, 4, "", name))
        if version < 5:
            commit(version, "without AddOffsetsToTxn", identity, 10 + version, name)
            s.ask(
                "AddOffsetsToTxn",
                min(version, 4),
                "",
                transactional_id=name,
                group_id=group,
                **identity,
            )
        commit(version, "", identity, 20 + version, name)
        offsets("pending", require_stable=False)
        offsets("pending, stable only", require_stable=True)
        identity = (
            who(end(s, 5, "commits", True, identity, name))
            if version >= 5
            else (end(s, 3, "commits", True, identity, name), identity)[1]
        )
        until_complete(s, name)
        s.until(
            lambda: (
                s.quietly(
                    "OffsetFetch",
                    7,
                    again=frozenset(),
                    group_id=group,
                    require_stable=True,
                    topics=[{"name": topic.name, "partition_indexes": [0]}],
                )
                .topics[0]
                .partitions[0]
                .error_code
                == 0
            ),
            "stable",
        )
        offsets("committed", require_stable=True)
        if version >= 3:
            commit(
                version, "unknown member", identity, 1, name, member_id="unknown", generation_id=1
            )
            commit(version, "generation of nobody", identity, 1, name, generation_id=5)
        commit(version, "another producer", {"producer_id": 987_654, "producer_epoch": 0}, 1, name)
        commit(version, "unknown transactional id", identity, 1, s.name("no"))
    name = s.name("aborted")
    identity = who(init(s, 4, "", name))
    commit(5, "to be aborted", identity, 77, name)
    end(s, 5, "aborts", False, identity, name)
    until_complete(s, name)
    s.until(
        lambda: (
            s.quietly(
                "OffsetFetch",
                7,
                again=frozenset(),
                group_id=group,
                require_stable=True,
                topics=[{"name": topic.name, "partition_indexes": [0]}],
            )
            .topics[0]
            .partitions[0]
            .error_code
            == 0
        ),
        "stable",
    )
    offsets("after the abort", require_stable=True)


@case("DescribeTransactions", "ListTransactions", "DescribeProducers")
def describe_transactions(s: Session) -> None:
    topic = s.topic(partitions=2)
    identity = who(init(s))
    describe(s, "unknown, none and good", s.name("no"), "", s.name())
    s.ask("DescribeTransactions", 0, "nothing", transactional_ids=[])
    produce(s, 12, "", topic, 0, identity, b"a")
    describe(s, "ongoing")
    for version in versions("ListTransactions"):
        for note, options in (
            ("", {}), ("ongoing", {"state_filters": ["Ongoing"]}), ("unknown state", {"state_filters": ["Odd", "Ongoing"]}), ("its producer", {"producer_id_filters": [identity["producer_id"]]}),
            ("another producer", {"producer_id_filters": [987_654]}), ("old ones", {"duration_filter": 60_000}), ("all durations", {"duration_filter": 0}), ("by pattern", {"transactional_id_pattern": ".*transactions"}),
            ("bad pattern", {"transactional_id_pattern": "("}), ("empty pattern", {"transactional_id_pattern": ""}),
        ):  # fmt: skip
            answer = s.quietly("ListTransactions", version, **options)
            own = [
                {
                    "transactionalId": t.transactional_id,
                    "producerId": t.producer_id,
                    "state": t.transaction_state,
                }
                for t in answer.transaction_states
                if t.transactional_id == s.name()
            ]
            s.note(
                "ListTransactions",
                version,
                note,
                {
                    "errorCode": answer.error_code,
                    "unknown": answer.unknown_state_filters,
                    "states": own,
                },
            )
    s.ask(
        "DescribeProducers",
        0,
        "good, empty and unknown",
        topics=[
            {"name": topic.name, "partition_indexes": [0, 1, 5]},
            {"name": s.name("no"), "partition_indexes": [0]},
            {"name": "a b", "partition_indexes": [0]},
        ],
    )
    s.ask("DescribeProducers", 0, "nothing", topics=[])
    end(s, 5, "", True, identity)


@case("WriteTxnMarkers", "DescribeProducers")
def write_txn_markers(s: Session) -> None:
    topic = s.topic()
    identity = who(init(s))
    produce(s, 12, "", topic, 0, identity, b"a")
    for version in versions("WriteTxnMarkers"):
        for note, name, partition, epoch in (
            ("unknown topic", s.name("no"), 0, 0),
            ("unknown partition", topic.name, 9, 0),
            ("good", topic.name, 0, identity["producer_epoch"]),
            ("older epoch", topic.name, 0, -1),
        ):
            s.ask("WriteTxnMarkers", version, note, markers=[{"producer_id": identity["producer_id"], "producer_epoch": epoch, "transaction_result": False, "coordinator_epoch": 0,
                                                            "topics": [{"name": name, "partition_indexes": [partition]}]}])  # fmt: skip
        s.ask("WriteTxnMarkers", version, "nothing", markers=[])
    s.ask("DescribeProducers", 0, "then", topics=[{"name": topic.name, "partition_indexes": [0]}])
    read(s, "then", topic)
