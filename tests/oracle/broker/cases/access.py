"""What users are told who may do something, and who may not: every API, step by step, from no rule at all to all that it asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from millstream.model import ZERO_UUID
from tests.oracle.broker.runner import case
from tests.oracle.broker.session import Session, Topic, batch

# fmt: off
# One request a line, as in a table: formatted they would be a thousand lines.
ALICE = "alice"
TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, TOKEN, USER = 2, 3, 4, 5, 6, 7
(ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE,
 CREATE_TOKENS, DESCRIBE_TOKENS) = range(2, 15)
LITERAL, PREFIXED = 3, 4
DENY, ALLOW = 2, 3
ANYTHING = {
    "resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1, "principal_filter": f"User:{ALICE}",
    "host_filter": None, "operation": 1, "permission_type": 1,
}
UNKNOWN_ID = bytes(15) + b"\x09"


class Rule(NamedTuple):
    operation: int
    type: int
    name: str = "kafka-cluster"
    pattern: int = LITERAL
    permission: int = ALLOW
    principal: str = f"User:{ALICE}"
    host: str = "*"


def grant(s: Session, *rules: Rule) -> None:
    """From now on these are alice's rules."""
    s.quietly("DeleteAcls", 3, filters=[ANYTHING])
    if rules:
        s.quietly("CreateAcls", 3, creations=[
            {"resource_type": r.type, "resource_name": r.name, "resource_pattern_type": r.pattern, "principal": f"User:{ALICE}",
             "host": "*", "operation": r.operation, "permission_type": r.permission} for r in rules])
    s.settle()


def ask(s: Session, api: str, version: int, note: str = "", **fields: Any) -> Any:
    """Asks as alice."""
    s.login(ALICE)
    return s.ask(api, version, note, connection=ALICE, **fields)


Asking = Callable[[str], None]


def by_stages(s: Session, asking: Asking, *stages: tuple[str, tuple[Rule, ...]]) -> None:
    """Asks once with each set of rules; `asking` is given what they are called."""
    for note, rules in (("no rule", ()), *stages):
        grant(s, *rules)
        asking(note)
    grant(s)


def on(topic: Topic | str, *operations: int) -> tuple[Rule, ...]:
    name = topic if isinstance(topic, str) else topic.name
    return tuple(Rule(operation, TOPIC, name) for operation in operations)


def of_group(name: str, *operations: int) -> tuple[Rule, ...]:
    return tuple(Rule(operation, GROUP, name) for operation in operations)


def cluster(*operations: int) -> tuple[Rule, ...]:
    return tuple(Rule(operation, CLUSTER) for operation in operations)


def named(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "topic_id": ZERO_UUID} for name in names]


# --- topics


@case("Metadata", "DescribeTopicPartitions", "DescribeCluster")
def access_to_metadata(s: Session) -> None:
    mine, theirs, absent = s.topic("mine"), s.topic("theirs"), s.name("absent")

    def asking(note: str) -> None:
        names = named(mine.name, theirs.name, absent, "bad name")
        for version in (1, 7, 9, 13):
            ask(s, "Metadata", version, note, topics=names, allow_auto_topic_creation=False)
        ask(s, "Metadata", 13, f"{note}, by id", allow_auto_topic_creation=False, topics=[
            {"name": None, "topic_id": each} for each in (mine.id, theirs.id, UNKNOWN_ID)])
        for version in (0, 12):
            ask(s, "Metadata", version, f"{note}, all", topics=[] if version == 0 else None, allow_auto_topic_creation=False)
        ask(s, "Metadata", 10, f"{note}, with operations", topics=named(mine.name), allow_auto_topic_creation=False,
            include_cluster_authorized_operations=True, include_topic_authorized_operations=True)
        ask(s, "DescribeTopicPartitions", 0, note, topics=[{"name": each["name"]} for each in names], response_partition_limit=100)
        ask(s, "DescribeTopicPartitions", 0, f"{note}, all", topics=[], response_partition_limit=100)
        ask(s, "DescribeCluster", 2, note, include_cluster_authorized_operations=True)

    by_stages(
        s, asking,
        ("describe one", on(mine, DESCRIBE)),
        ("read implies it", on(mine, READ)),
        ("create does not", on(mine, CREATE)),
        ("by prefix", (Rule(DESCRIBE, TOPIC, s.name("m"), PREFIXED),)),
        ("all but one", (Rule(DESCRIBE, TOPIC, s.name(), PREFIXED), Rule(DESCRIBE, TOPIC, theirs.name, permission=DENY))),
        ("denied to read", (*on(mine, DESCRIBE), Rule(READ, TOPIC, mine.name, permission=DENY))),
        ("the absent one", on(absent, DESCRIBE)),
        ("the cluster", (*on(mine, ALL), *cluster(DESCRIBE, ALTER))),
    )


@case("Metadata")
def access_to_automatic_creation(s: Session) -> None:
    new = s.name("new")

    def asking(note: str) -> None:
        ask(s, "Metadata", 12, note, topics=named(new, "bad name"), allow_auto_topic_creation=True)

    by_stages(
        s, asking,
        ("may describe", (*on(new, DESCRIBE), *on("bad name", DESCRIBE))),
        ("may not describe", on(new, CREATE)),
    )
    grant(s, *on(new, CREATE, DESCRIBE))
    ask(s, "Metadata", 12, "may", topics=named(new), allow_auto_topic_creation=True)
    s.until(lambda: s.quietly("Metadata", 12, topics=named(new), allow_auto_topic_creation=False).topics[0].error_code == 0, "created")
    other = s.name("other")
    grant(s, *on(other, DESCRIBE), *cluster(CREATE))
    ask(s, "Metadata", 12, "may on the cluster", topics=named(other), allow_auto_topic_creation=True)
    grant(s)


@case("CreateTopics", "DeleteTopics", "CreatePartitions")
def access_to_changes_of_topics(s: Session) -> None:
    def creating(note: str) -> None:
        suffix = note.replace(" ", "-")
        for version in (2, 7):
            topics = [{"name": s.name(f"{each}{suffix}{version}"), "num_partitions": 1, "replication_factor": 1} for each in ("a", "b")]
            ask(s, "CreateTopics", version, note, timeout_ms=10_000, topics=topics)
        twice = [{"name": s.name("twice"), "num_partitions": 1, "replication_factor": 1}] * 2
        ask(s, "CreateTopics", 7, f"{note}, twice and the metadata", timeout_ms=10_000, validate_only=True,
            topics=[*twice, {"name": "__cluster_metadata", "num_partitions": 1, "replication_factor": 1}])

    by_stages(
        s, creating,
        ("one of two", (Rule(CREATE, TOPIC, s.name("a"), PREFIXED),)),
        ("and told", (Rule(CREATE, TOPIC, s.name("a"), PREFIXED), Rule(DESCRIBE_CONFIGS, TOPIC, s.name("a"), PREFIXED))),
        ("the cluster", cluster(CREATE)),
        ("only told", (Rule(DESCRIBE_CONFIGS, TOPIC, s.name("a"), PREFIXED),)),
    )
    grown = s.topic("grown")

    def growing(note: str) -> None:
        topics = [{"name": name, "count": 2, "assignments": None} for name in (grown.name, s.name("absent"))]
        ask(s, "CreatePartitions", 3, note, topics=topics, timeout_ms=10_000, validate_only=True)

    by_stages(s, growing, ("describe", on(grown, DESCRIBE)), ("alter", on(grown, ALTER)))
    kept = s.topic("kept")

    def deleting(note: str) -> None:
        names = [kept.name, s.name("absent")]
        ask(s, "DeleteTopics", 5, note, topic_names=names, timeout_ms=10_000)
        ask(s, "DeleteTopics", 6, note, timeout_ms=10_000, topics=named(*names))
        ask(s, "DeleteTopics", 6, f"{note}, by id", timeout_ms=10_000,
            topics=[{"name": None, "topic_id": each} for each in (kept.id, UNKNOWN_ID)])

    by_stages(
        s, deleting,
        ("describe", (*on(kept, DESCRIBE), *on(s.name("absent"), DESCRIBE))),
        ("the absent one", on(s.name("absent"), DELETE)),
        ("read", on(kept, READ)),
    )
    grant(s, *on(kept, DELETE))
    ask(s, "DeleteTopics", 6, "delete", timeout_ms=10_000, topics=named(kept.name))
    gone = s.topic("gone")
    grant(s, *cluster(DELETE))
    ask(s, "DeleteTopics", 6, "delete on the cluster", timeout_ms=10_000, topics=named(gone.name))
    grant(s)


# --- records


@case("Produce", "Fetch", "ListOffsets", "DeleteRecords", "OffsetForLeaderEpoch", "DescribeProducers")
def access_to_records(s: Session) -> None:
    mine, theirs, absent = s.topic("mine"), s.topic("theirs"), s.name("absent")
    for topic in (mine, theirs):
        s.produce(topic, b"x", b"y")
    names = (mine.name, theirs.name, absent)

    def asking(note: str) -> None:
        records = batch(b"z")
        ask(s, "Produce", 9, note, acks=-1, timeout_ms=10_000,
            topic_data=[{"name": name, "partition_data": [{"index": 0, "records": records}]} for name in names])
        for each, what in ((mine.id, "mine"), (theirs.id, "theirs"), (UNKNOWN_ID, "absent")):  # of several, Kafka's order is by hash
            ask(s, "Produce", 13, f"{note}, {what} by id", acks=-1, timeout_ms=10_000,
                topic_data=[{"topic_id": each, "partition_data": [{"index": 0, "records": records}]}])
        partition = {"partition": 0, "current_leader_epoch": -1, "fetch_offset": 0, "log_start_offset": -1, "partition_max_bytes": 60,
                     "last_fetched_epoch": -1}
        for replica_id in (-1, 1):
            ask(s, "Fetch", 12, f"{note}, as {replica_id}", replica_id=replica_id, max_wait_ms=0, min_bytes=0, max_bytes=60,
                session_epoch=-1, topics=[{"topic": name, "partitions": [partition]} for name in names])
        ask(s, "Fetch", 17, f"{note}, by id", max_wait_ms=0, min_bytes=0, max_bytes=60, session_epoch=-1,
            topics=[{"topic_id": each, "partitions": [partition]} for each in (mine.id, theirs.id, UNKNOWN_ID)])
        ask(s, "ListOffsets", 7, note, replica_id=-1, topics=[{"name": name, "partitions": [{"partition_index": 0, "timestamp": -2}]} for name in names])
        ask(s, "DeleteRecords", 2, note, timeout_ms=1000, topics=[{"name": name, "partitions": [{"partition_index": 0, "offset": 0}]} for name in names])
        ask(s, "OffsetForLeaderEpoch", 4, note, replica_id=-1, topics=[
            {"topic": name, "partitions": [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}]} for name in names])
        ask(s, "DescribeProducers", 0, note, topics=[{"name": name, "partition_indexes": [0]} for name in (*names, "bad name")])

    by_stages(
        s, asking,
        ("describe", on(mine, DESCRIBE)),
        ("read", on(mine, READ)),
        ("write", on(mine, WRITE)),
        ("delete", on(mine, DELETE)),
        ("the absent one", on(absent, READ, WRITE, DELETE)),
        ("denied", (Rule(ALL, TOPIC, s.name(), PREFIXED), Rule(ALL, TOPIC, theirs.name, permission=DENY))),
        ("action", cluster(CLUSTER_ACTION)),
    )


@case("Fetch")
def access_to_a_fetch_session(s: Session) -> None:
    """Rules that change between two fetches of a session."""
    topic = s.topic()
    s.produce(topic, b"x")

    def fetch(note: str, session_id: int, epoch: int, *asked: Topic) -> Any:
        partition = {"partition": 0, "current_leader_epoch": -1, "fetch_offset": 1, "log_start_offset": -1, "partition_max_bytes": 100,
                     "last_fetched_epoch": -1}
        return ask(s, "Fetch", 12, note, max_wait_ms=0, min_bytes=0, max_bytes=100, session_id=session_id, session_epoch=epoch,
                   topics=[{"topic": each.name, "partitions": [partition]} for each in asked])

    grant(s, *on(topic, READ))
    first = fetch("begins", 0, 0, topic)
    fetch("goes on", first.session_id, 1)
    grant(s)
    fetch("may no more", first.session_id, 2)
    fetch("still not", first.session_id, 3)
    grant(s, *on(topic, READ))
    fetch("may again", first.session_id, 4)
    grant(s)


# --- groups


@case("FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "OffsetFetch", "OffsetDelete", "DescribeGroups")
def access_to_groups(s: Session) -> None:
    group, other, topic, hidden, absent = s.name("g"), s.name("other"), s.topic("t"), s.topic("hidden"), s.name("absent")
    topics = [t.partition(0, committed_offset=1) for t in (topic, hidden)]
    s.quietly("OffsetCommit", 9, group_id=other, generation_id_or_member_epoch=-1, member_id="", topics=topics)

    def asking(note: str) -> None:
        for kind in (0, 1):
            ask(s, "FindCoordinator", 3, f"{note}, {kind}", key=group, key_type=kind)
            ask(s, "FindCoordinator", 4, f"{note}, {kind}", key_type=kind, coordinator_keys=[group, other])
        ask(s, "FindCoordinator", 6, f"{note}, 2", key_type=2, coordinator_keys=["g:AAAAAAAAAAAAAAAAAAAAAg:0"])
        for version in (4, 9):
            ask(s, "JoinGroup", version, note, group_id=group, session_timeout_ms=60_000, rebalance_timeout_ms=100, member_id="nobody",
                protocol_type="consumer", protocols=[{"name": "range", "metadata": b""}])
        ask(s, "SyncGroup", 5, note, group_id=group, generation_id=1, member_id="nobody", protocol_type="consumer", protocol_name="range")
        ask(s, "SyncGroup", 5, f"{note}, without names", group_id=group, generation_id=1, member_id="nobody", protocol_type=None, protocol_name=None)
        ask(s, "Heartbeat", 4, note, group_id=group, generation_id=1, member_id="nobody")
        ask(s, "LeaveGroup", 5, note, group_id=group, members=[{"member_id": "nobody"}])
        ask(s, "LeaveGroup", 2, note, group_id=group, member_id="nobody")
        committed = [{"name": name, "partitions": [{"partition_index": 0, "committed_offset": 1}]} for name in (topic.name, hidden.name, absent)]
        ask(s, "OffsetCommit", 9, note, group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=committed)
        by_id = [{"topic_id": each, "partitions": [{"partition_index": 0, "committed_offset": 1}]} for each in (topic.id, hidden.id, UNKNOWN_ID)]
        ask(s, "OffsetCommit", 10, note, group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=by_id)
        for version in (1, 5, 7):
            ask(s, "OffsetFetch", version, note, group_id=other, topics=[{"name": name, "partition_indexes": [0]} for name in (topic.name, hidden.name)])
        ask(s, "OffsetFetch", 7, f"{note}, all", group_id=other, topics=None)
        ask(s, "OffsetFetch", 9, note, groups=[
            {"group_id": other, "topics": None}, {"group_id": group, "topics": [{"name": hidden.name, "partition_indexes": [0]}]}])
        ask(s, "OffsetFetch", 10, note, groups=[{"group_id": other, "topics": [{"topic_id": each, "partition_indexes": [0]} for each in (topic.id, hidden.id, UNKNOWN_ID)]}])
        ask(s, "OffsetDelete", 0, note, group_id=other, topics=[{"name": name, "partitions": [{"partition_index": 5}]} for name in (topic.name, hidden.name, absent)])
        for version in (3, 6):
            ask(s, "DescribeGroups", version, note, groups=[group, other], include_authorized_operations=True)
        ask(s, "ListGroups", 5, note, states_filter=[], types_filter=[])

    by_stages(
        s, asking,
        ("describe", (*of_group(group, DESCRIBE), *of_group(other, DESCRIBE))),
        ("read the group", (*of_group(group, READ), *of_group(other, READ))),
        ("and a topic", (*of_group(group, READ), *of_group(other, READ), *on(topic, READ))),
        ("delete", (*of_group(other, DELETE), *on(topic, READ))),
        ("only the topics", (*on(topic, READ), *on(hidden, READ))),
        ("a transactional id", (Rule(DESCRIBE, TRANSACTIONAL_ID, group),)),
        ("action", cluster(CLUSTER_ACTION)),
    )
    grant(s, *of_group(group, DESCRIBE))
    ask(s, "DeleteGroups", 2, "describe", groups_names=[group, other])
    grant(s, *of_group(other, DELETE))
    ask(s, "DeleteGroups", 2, "delete one", groups_names=[group, other])
    grant(s)


@case("ConsumerGroupHeartbeat", "ConsumerGroupDescribe")
def access_to_consumer_groups(s: Session) -> None:
    group, topic, hidden = s.name("g"), s.known_topic("t"), s.known_topic("hidden")
    s.quietly("ConsumerGroupHeartbeat", 1, group_id=group, member_id="somebody", member_epoch=0, rebalance_timeout_ms=60_000,
              subscribed_topic_names=[topic.name], topic_partitions=[])
    s.until(lambda: s.quietly("ConsumerGroupDescribe", 1, group_ids=[group]).groups[0].assignment_epoch >= 1, "assigned")

    def asking(note: str) -> None:
        for names in ([topic.name], [topic.name, hidden.name], None):
            # An epoch that cannot be: what is allowed is refused by the coordinator.
            ask(s, "ConsumerGroupHeartbeat", 1, f"{note}, {0 if names is None else len(names)} topics", group_id=group, member_id="alice", member_epoch=9,
                subscribed_topic_names=names)
        ask(s, "ConsumerGroupHeartbeat", 1, f"{note}, nonsense", group_id=group, member_id="", member_epoch=-9)
        ask(s, "ConsumerGroupDescribe", 1, note, group_ids=[group, s.name("absent")], include_authorized_operations=True)

    by_stages(
        s, asking,
        ("read the group", of_group(group, READ)),
        ("only the topic", on(topic, DESCRIBE)),
        ("and one topic", (*of_group(group, READ), *on(topic, DESCRIBE))),
        ("and both", (*of_group(group, READ), *on(topic, DESCRIBE), *on(hidden, DESCRIBE))),
    )


@case("ConsumerGroupHeartbeat", "ConsumerGroupDescribe")
def access_by_expression(s: Session) -> None:
    group, topic = s.name("g"), s.known_topic("t")
    s.known_topic("hidden")
    grant(s, *of_group(group, READ), *on(topic, DESCRIBE))
    joined = ask(s, "ConsumerGroupHeartbeat", 1, "joins", group_id=group, member_id="alice", member_epoch=0, rebalance_timeout_ms=60_000,
                 subscribed_topic_regex=f"{s.name()}.*", topic_partitions=[])
    s.login(ALICE)
    state = {"epoch": joined.member_epoch}

    def has_topics() -> bool:
        answer = s.quietly("ConsumerGroupHeartbeat", 1, connection=ALICE, group_id=group, member_id="alice", member_epoch=state["epoch"])
        state["epoch"] = answer.member_epoch
        return bool(answer.assignment and answer.assignment.topic_partitions)

    s.until(has_topics, "the expression is matched")
    ask(s, "ConsumerGroupDescribe", 1, "what it matched", group_ids=[group])
    grant(s)


@case("ShareGroupHeartbeat", "ShareGroupDescribe", "ShareFetch", "ShareAcknowledge", "DescribeShareGroupOffsets", "AlterShareGroupOffsets", "DeleteShareGroupOffsets")
def access_to_share_groups(s: Session) -> None:
    group, topic, hidden = s.name("g"), s.known_topic("t"), s.known_topic("hidden")

    def asking(note: str) -> None:
        for names in ([topic.name], [topic.name, hidden.name], None):
            ask(s, "ShareGroupHeartbeat", 1, f"{note}, {0 if names is None else len(names)} topics", group_id=group, member_id="alice", member_epoch=9,
                subscribed_topic_names=names)
        ask(s, "ShareGroupHeartbeat", 1, f"{note}, nonsense", group_id=group, member_id="", member_epoch=-9)
        ask(s, "ShareGroupDescribe", 1, note, group_ids=[group], include_authorized_operations=True)
        asked = [{"topic_id": each, "partitions": [{"partition_index": 7}]} for each in (topic.id, hidden.id)]
        ask(s, "ShareFetch", 2, f"{note}, no group", group_id=None, member_id="alice", share_session_epoch=0)
        ask(s, "ShareFetch", 2, f"{note}, no member", group_id=group, member_id="", share_session_epoch=0)
        ask(s, "ShareFetch", 2, note, group_id=group, member_id="alice", share_session_epoch=0, max_wait_ms=0, min_bytes=0, max_bytes=100,
            max_records=1, batch_size=1, topics=asked)
        ask(s, "ShareAcknowledge", 2, f"{note}, no group", group_id=None, member_id="alice", share_session_epoch=1)
        ask(s, "ShareAcknowledge", 2, note, group_id=group, member_id="alice", share_session_epoch=-1, topics=[
            {**each, "partitions": [{"partition_index": 7, "acknowledgement_batches": [
                {"first_offset": 0, "last_offset": 0, "acknowledge_types": [1]}]}]} for each in asked])
        partitions = [{"topic_name": t.name, "partitions": [0]} for t in (topic, hidden)]
        ask(s, "DescribeShareGroupOffsets", 1, note, groups=[{"group_id": group, "topics": partitions}])
        ask(s, "DescribeShareGroupOffsets", 1, f"{note}, all", groups=[{"group_id": group, "topics": None}])
        ask(s, "AlterShareGroupOffsets", 0, note, group_id=group, topics=[
            {"topic_name": t, "partitions": [{"partition_index": 0, "start_offset": 0}]} for t in (topic.name, hidden.name, s.name("absent"))])
        ask(s, "DeleteShareGroupOffsets", 0, note, group_id=group, topics=[{"topic_name": t.name} for t in (topic, hidden)])

    by_stages(
        s, asking,
        ("describe", (*of_group(group, DESCRIBE), *on(topic, DESCRIBE))),
        ("read the group", of_group(group, READ)),
        ("and a topic", (*of_group(group, READ), *on(topic, READ))),
        ("delete", (*of_group(group, DELETE), *on(topic, READ))),
    )


@case("StreamsGroupHeartbeat", "StreamsGroupDescribe")
def access_to_streams_groups(s: Session) -> None:
    group, topic = s.name("g"), s.known_topic("t")
    changelog = s.name("changelog")

    def topology(*more: str) -> dict[str, Any]:
        return {"epoch": 0, "subtopologies": [
            {"subtopology_id": "0", "source_topics": [topic.name, *more], "state_changelog_topics": [{"name": changelog}]}]}

    def asking(note: str) -> None:
        joining = {"rebalance_timeout_ms": 5000, "process_id": "p", "active_tasks": [], "standby_tasks": [], "warmup_tasks": [], "client_tags": []}
        ask(s, "StreamsGroupHeartbeat", 0, f"{note}, internal", group_id=group, member_id="alice", member_epoch=0, topology=topology("__consumer_offsets"), **joining)
        ask(s, "StreamsGroupHeartbeat", 0, f"{note}, bad name", group_id=group, member_id="alice", member_epoch=0, topology=topology("bad name"), **joining)
        ask(s, "StreamsGroupHeartbeat", 0, f"{note}, nonsense", group_id=group, member_id="", member_epoch=-9)
        ask(s, "StreamsGroupHeartbeat", 0, note, group_id=group, member_id="alice", member_epoch=0, topology=topology(), **joining)
        ask(s, "StreamsGroupDescribe", 0, note, group_ids=[group], include_authorized_operations=True)

    of_both = (*on(topic, DESCRIBE), *on(changelog, DESCRIBE))
    by_stages(
        s, asking,
        ("read the group", of_group(group, READ)),
        ("and one topic", (*of_group(group, READ), *on(topic, READ))),
        ("and both", (*of_group(group, READ), *of_both)),
        ("describe", (*of_group(group, DESCRIBE), *on(topic, DESCRIBE))),
    )


# --- transactions


@case("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit", "WriteTxnMarkers", "DescribeTransactions", "ListTransactions", "Produce")
def access_to_transactions(s: Session) -> None:
    name, group, topic, hidden = s.name("x"), s.name("g"), s.topic("t"), s.topic("hidden")
    began = s.quietly("InitProducerId", 4, transactional_id=name, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1)
    who = {"producer_id": began.producer_id, "producer_epoch": began.producer_epoch}
    s.quietly("AddPartitionsToTxn", 3, v3_and_below_transactional_id=name, v3_and_below_producer_id=who["producer_id"],
              v3_and_below_producer_epoch=who["producer_epoch"], v3_and_below_topics=[{"name": t.name, "partitions": [0]} for t in (topic, hidden)])
    stranger = {"producer_id": 99_999, "producer_epoch": 0}

    def asking(note: str) -> None:
        nobody = {"transaction_timeout_ms": 1000, "producer_id": -1, "producer_epoch": -1}
        ask(s, "InitProducerId", 5, f"{note}, idempotent", transactional_id=None, **{**nobody, "producer_epoch": 5})
        ask(s, "InitProducerId", 5, f"{note}, transactional", transactional_id=name, **{**nobody, "producer_epoch": 5})
        for topics in ([topic], [topic, hidden]):
            ask(s, "AddPartitionsToTxn", 3, f"{note}, {len(topics)} topics", v3_and_below_transactional_id=name, v3_and_below_producer_id=99_999,
                v3_and_below_producer_epoch=0, v3_and_below_topics=[{"name": t.name, "partitions": [0]} for t in topics])
        ask(s, "AddPartitionsToTxn", 3, f"{note}, internal", v3_and_below_transactional_id=name, v3_and_below_producer_id=99_999,
            v3_and_below_producer_epoch=0, v3_and_below_topics=[{"name": t, "partitions": [0]} for t in (topic.name, "__consumer_offsets", s.name("absent"))])
        ask(s, "AddPartitionsToTxn", 5, note, transactions=[
            {"transactional_id": name, **stranger, "verify_only": False, "topics": [{"name": topic.name, "partitions": [0]}]}])
        ask(s, "AddOffsetsToTxn", 4, note, transactional_id=name, group_id=group, **stranger)
        ask(s, "EndTxn", 4, note, transactional_id=name, committed=True, **stranger)
        ask(s, "TxnOffsetCommit", 3, note, transactional_id=name, group_id=group, **stranger, generation_id=-1, member_id="", topics=[
            {"name": t, "partitions": [{"partition_index": 0, "committed_offset": 1}]} for t in (topic.name, hidden.name, s.name("absent"))])
        ask(s, "WriteTxnMarkers", 1, note, markers=[{**stranger, "transaction_result": True, "coordinator_epoch": 0,
            "topics": [{"name": s.name("absent"), "partition_indexes": [0]}]}])
        ask(s, "DescribeTransactions", 0, note, transactional_ids=[name, s.name("absent")])
        ask(s, "ListTransactions", 1, note, state_filters=["Ongoing"], producer_id_filters=[who["producer_id"]], duration_filter=-1)
        for transactional_id in (name, None):
            records = batch(b"z", producer_id=99_999, producer_epoch=0, base_sequence=0, is_transactional=True)
            ask(s, "Produce", 9, f"{note}, {'a transactional id' if transactional_id else 'without'}", transactional_id=transactional_id, acks=-1, timeout_ms=1000,
                topic_data=[{"name": t.name, "partition_data": [{"index": 0, "records": records}]} for t in (topic, hidden)])

    mine = (Rule(WRITE, TRANSACTIONAL_ID, name),)
    by_stages(
        s, asking,
        ("describe", (Rule(DESCRIBE, TRANSACTIONAL_ID, name),)),
        ("describe and a topic", (Rule(DESCRIBE, TRANSACTIONAL_ID, name), *on(topic, DESCRIBE))),
        ("write", mine),
        ("write and a topic", (*mine, *on(topic, WRITE))),
        ("write and a group", (*mine, *of_group(group, READ), *on(topic, READ))),
        ("idempotent", cluster(IDEMPOTENT_WRITE)),
        ("alter", cluster(ALTER)),
        ("action", cluster(CLUSTER_ACTION)),
        ("write to some topic", (Rule(WRITE, TOPIC, s.name("some"), PREFIXED),)),
        ("to none that is left", (Rule(WRITE, TOPIC, s.name("some")), Rule(WRITE, TOPIC, s.name(), PREFIXED, DENY))),
    )


# --- administration


@case("DescribeConfigs", "AlterConfigs", "IncrementalAlterConfigs", "ListConfigResources")
def access_to_configs(s: Session) -> None:
    topic, group = s.topic(), s.name("g")
    resources = [(2, topic.name), (2, s.name("absent")), (4, "1"), (8, "1"), (16, s.name("m")), (32, group)]

    def asking(note: str) -> None:
        ask(s, "DescribeConfigs", 4, note, resources=[
            {"resource_type": kind, "resource_name": name, "configuration_keys": ["retention.ms", "num.partitions"]} for kind, name in resources])
        nothing: list[dict[str, Any]] = []
        ask(s, "AlterConfigs", 2, note, validate_only=True, resources=[
            {"resource_type": kind, "resource_name": name, "configs": nothing} for kind, name in resources if kind != 8])
        ask(s, "IncrementalAlterConfigs", 1, note, validate_only=True, resources=[
            {"resource_type": kind, "resource_name": name, "configs": nothing} for kind, name in resources])
        ask(s, "IncrementalAlterConfigs", 1, f"{note}, twice", validate_only=True, resources=[
            {"resource_type": 2, "resource_name": topic.name, "configs": nothing}] * 2)
        ask(s, "ListConfigResources", 1, note, resource_types=[16])

    by_stages(
        s, asking,
        ("describe a topic", on(topic, DESCRIBE_CONFIGS)),
        ("alter a topic", on(topic, ALTER_CONFIGS)),
        ("alter a group", of_group(group, ALTER_CONFIGS)),
        ("describe the cluster", cluster(DESCRIBE_CONFIGS)),
        ("alter the cluster", cluster(ALTER_CONFIGS)),
        ("action", cluster(CLUSTER_ACTION)),
    )


@case("DescribeAcls", "CreateAcls", "DeleteAcls", "DescribeClientQuotas", "AlterClientQuotas", "DescribeUserScramCredentials", "AlterUserScramCredentials")
def access_to_administration(s: Session) -> None:
    nothing = {**ANYTHING, "principal_filter": "User:nobody"}

    def asking(note: str) -> None:
        ask(s, "DescribeAcls", 3, note, **nothing)
        ask(s, "CreateAcls", 3, note, creations=[{"resource_type": 2, "resource_name": "t", "resource_pattern_type": 3, "principal": "nobody",
            "host": "*", "operation": 3, "permission_type": 3}])
        ask(s, "DeleteAcls", 3, note, filters=[nothing])
        ask(s, "DescribeClientQuotas", 1, note, components=[{"entity_type": "user", "match_type": 0, "match": "nobody"}], strict=True)
        ask(s, "AlterClientQuotas", 1, note, validate_only=True, entries=[{"entity": [{"entity_type": "user", "entity_name": "nobody"}], "ops": []}])
        ask(s, "DescribeUserScramCredentials", 0, note, users=[{"name": "nobody"}])
        ask(s, "AlterUserScramCredentials", 0, note, deletions=[{"name": "nobody", "mechanism": 1}])
        ask(s, "DescribeLogDirs", 4, note, topics=[])
        ask(s, "DescribeLogDirs", 1, note, topics=[])
        ask(s, "AlterReplicaLogDirs", 2, note, dirs=[{"path": "/nowhere", "topics": [{"name": s.name("absent"), "partitions": [0]}]}])
        for version in (0, 2):
            ask(s, "ElectLeaders", version, note, election_type=0, timeout_ms=1000, topic_partitions=[{"topic": s.name("absent"), "partitions": [0]}])
        ask(s, "AlterPartitionReassignments", 1, note, timeout_ms=1000, topics=[
            {"name": s.name("absent"), "partitions": [{"partition_index": 0, "replicas": [1]}]}])
        ask(s, "ListPartitionReassignments", 0, note, timeout_ms=1000, topics=[])
        ask(s, "DescribeQuorum", 2, note, topics=[{"topic_name": "no-such", "partitions": [{"partition_index": 0}]}])
        ask(s, "UpdateFeatures", 1, note, validate_only=True, timeout_ms=1000, feature_updates=[])
        ask(s, "UnregisterBroker", 0, note, broker_id=99)
        ask(s, "AddRaftVoter", 0, note, cluster_id="wrong", timeout_ms=1000, voter_id=9, voter_directory_id=UNKNOWN_ID, listeners=[])
        ask(s, "RemoveRaftVoter", 0, note, cluster_id="wrong", voter_id=9, voter_directory_id=UNKNOWN_ID)

    by_stages(
        s, asking,
        ("describe", cluster(DESCRIBE)),
        ("alter", cluster(ALTER)),
        ("describe configs", cluster(DESCRIBE_CONFIGS)),
        ("alter configs", cluster(ALTER_CONFIGS)),
    )


@case("InitializeShareGroupState", "ReadShareGroupState", "WriteShareGroupState", "DeleteShareGroupState", "ReadShareGroupStateSummary")
def access_to_share_state(s: Session) -> None:
    topics = [{"topic_id": UNKNOWN_ID, "partitions": [{"partition": 0}]}]

    def asking(note: str) -> None:
        for api in ("Initialize", "Read", "Write", "Delete"):
            ask(s, f"{api}ShareGroupState", 0, note, group_id=s.name("g"), topics=topics)
        ask(s, "ReadShareGroupStateSummary", 0, note, group_id=s.name("g"), topics=topics)

    by_stages(s, asking, ("alter", cluster(ALTER)))


@case("CreateDelegationToken", "RenewDelegationToken", "ExpireDelegationToken", "DescribeDelegationToken")
def access_to_tokens(s: Session) -> None:
    def create(note: str, owner: str = "", *renewers: tuple[str, str], user: str = ALICE) -> Any:
        s.login(user)
        return s.ask("CreateDelegationToken", 3, note, connection=user, max_lifetime_ms=60_000, owner_principal_type="User" if owner else None,
                     owner_principal_name=owner or None, renewers=[{"principal_type": kind, "principal_name": name} for kind, name in renewers])

    grant(s)
    s.ask("CreateDelegationToken", 3, "nobody", max_lifetime_ms=60_000)
    own = create("her own")
    create("for bob", "bob")
    create("for bob, renewed by a group", "bob", ("Group", "g"))
    grant(s, Rule(CREATE_TOKENS, USER, "User:bob"))
    for _ in range(5):  # the part that makes tokens learns of a rule last
        s.settle()
    create("renewed by a group", "", ("Group", "g"))
    for_bob = create("for bob, allowed", "bob")
    bobs = create("his own", user="bob")

    def asking(note: str) -> None:
        for what, token in (("own", own), ("for bob", for_bob), ("bob's", bobs)):
            ask(s, "RenewDelegationToken", 2, f"{note}, {what}", hmac=token.hmac, renew_period_ms=1000)
        ask(s, "RenewDelegationToken", 2, f"{note}, unknown", hmac=b"x", renew_period_ms=1000)
        for owners in (None, [], [{"principal_type": "User", "principal_name": "bob"}]):
            told = ask(s, "DescribeDelegationToken", 3, f"{note}, quietly", owners=owners)
            s.steps.pop()
            s.note("DescribeDelegationToken", 3, f"{note}, of {owners}", sorted(
                f"{t.principal_name} by {t.token_requester_principal_name}" for t in told.tokens))

    by_stages(
        s, asking,
        ("one token", (Rule(DESCRIBE, TOKEN, bobs.token_id),)),
        ("tokens of bob", (Rule(DESCRIBE_TOKENS, USER, "User:bob"),)),
    )
    for what, token in (("for bob", for_bob), ("bob's", bobs), ("own", own)):
        ask(s, "ExpireDelegationToken", 2, what, hmac=token.hmac, expiry_time_period_ms=-1)
    s.login("bob")
    for what, token in (("for bob", for_bob), ("bob's", bobs)):
        s.ask("ExpireDelegationToken", 2, f"{what}, as bob", connection="bob", hmac=token.hmac, expiry_time_period_ms=-1)
