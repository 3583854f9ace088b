"""Every API in every situation: one session each, which asks once and has the rules of its situation on resources of its own.

A question is an API and the permission that is looked at; whatever else the request needs is allowed. A situation is what the rules say of
the resource: nothing, just that, something that implies it, a prefix, another host … So what differs between two sessions of one question is
its situation alone. Brokers pass on to the controller what it decides, so those questions are forwarded ones (`--apart` for ours).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from tests.oracle.broker.cases.access import (
    ALICE,
    ALL,
    ALLOW,
    ALTER,
    ALTER_CONFIGS,
    ANYTHING,
    CLUSTER,
    CLUSTER_ACTION,
    CREATE,
    CREATE_TOKENS,
    DELETE,
    DENY,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    DESCRIBE_TOKENS,
    GROUP,
    IDEMPOTENT_WRITE,
    LITERAL,
    PREFIXED,
    READ,
    TOPIC,
    TRANSACTIONAL_ID,
    UNKNOWN_ID,
    USER,
    WRITE,
    Rule,
)  # fmt: skip
from tests.oracle.broker.messages import Fields
from tests.oracle.broker.runner import case
from tests.oracle.broker.session import Session, Topic, batch

# fmt: off
# One question a line, as in a table: formatted they would be a thousand lines.
TOKEN_OF_ALICE = "token"
"""The connection of who has logged in with a token of alice."""
EVERYBODY = "User:*"
ELSEWHERE, HERE = "10.9.9.9", "127.0.0.1"
TWO_PHASE_COMMIT = 15
_IMPLYING = {DESCRIBE: READ, DESCRIBE_CONFIGS: ALTER_CONFIGS}
_IMPLYING_ON_CLUSTER = {**_IMPLYING, DESCRIBE: ALTER}
_OTHERS = {
    TOPIC: (CREATE, ALTER_CONFIGS), CLUSTER: (CREATE, ALTER_CONFIGS), GROUP: (ALTER_CONFIGS, DELETE), TRANSACTIONAL_ID: (DESCRIBE, TWO_PHASE_COMMIT),
    USER: (CREATE_TOKENS, DESCRIBE_TOKENS),
}
"""Operations that a type of resource has, of which one at least implies nothing of another that is asked."""


class Asked(NamedTuple):
    """The resource that a session asks about, and what else its request may name."""

    s: Session
    name: str
    id: bytes
    """Of a topic; one that nobody has where there is none."""
    given: str
    """Begins the names of topics, groups and transactional ids that are allowed whatever the situation is."""

    def committed(self, name: str) -> list[Fields]:
        return [{"name": name, "topic_id": self.id, "partitions": [{"partition_index": 0, "committed_offset": 1}]}]


class Question(NamedTuple):
    api: str
    version: int
    operation: int
    fields: Callable[[Asked], Fields]
    also: tuple[tuple[int, int], ...] = ()
    """The permissions that the request needs besides, as (operation, type)."""
    note: str = ""
    family: str = ""
    """Begins the names of its resources, where they must be others than those of the other questions."""


class Situation(NamedTuple):
    name: str
    rules: Callable[[int, int, str], tuple[Rule, ...]]
    """From operation, type and name of the resource."""
    connection: str = ALICE
    exists: bool = True


def _rule(operation: int, kind: int, name: str, *, pattern: int = LITERAL, principal: str = f"User:{ALICE}", host: str = "*", permission: int = ALLOW) -> tuple[Rule, ...]:
    return (Rule(operation, kind, name, pattern, permission, principal, host),)


def _implying(operation: int, kind: int, name: str) -> tuple[Rule, ...]:
    implying = _IMPLYING_ON_CLUSTER if kind == CLUSTER else _IMPLYING
    return _rule(implying.get(operation, ALL), kind, name)


def _another(operation: int, kind: int, name: str) -> tuple[Rule, ...]:
    """One that the type has and that implies nothing of what is asked."""
    implied = {ALTER_CONFIGS: DESCRIBE_CONFIGS}
    return _rule(next(each for each in _OTHERS[kind] if operation not in (each, implied.get(each))), kind, name)


def _prefixed(operation: int, kind: int, name: str) -> tuple[Rule, ...]:
    return _rule(operation, kind, name[:-3], pattern=PREFIXED)


def _denied_though_allowed(operation: int, kind: int, name: str, *, to: str = f"User:{ALICE}") -> tuple[Rule, ...]:
    return (*_rule(ALL, kind, name), *_rule(operation, kind, name, principal=to, permission=DENY))


def _denied_by_prefix(operation: int, kind: int, name: str) -> tuple[Rule, ...]:
    return (*_rule(operation, kind, name), *_rule(ALL, kind, name[:-3], pattern=PREFIXED, permission=DENY))


SITUATIONS = (
    Situation("no rule", lambda _operation, _kind, _name: ()),
    Situation("allowed", _rule),
    Situation("implied", _implying),
    Situation("another operation", _another),
    Situation("denied", _denied_though_allowed),
    Situation("denied to all", partial(_denied_though_allowed, to=EVERYBODY)),
    Situation("allowed to all", partial(_rule, principal=EVERYBODY)),
    Situation("from here", partial(_rule, host=HERE)),
    Situation("from elsewhere", partial(_rule, host=ELSEWHERE)),
    Situation("by token", _rule, TOKEN_OF_ALICE),
)
OF_NAMES = (
    Situation("by prefix", _prefixed),
    Situation("denied by prefix", _denied_by_prefix),
    Situation("absent and allowed", _rule, exists=False),
    Situation("absent without rule", lambda _operation, _kind, _name: (), exists=False),
)
WILDCARD = Situation("wildcard", lambda operation, kind, _name: _rule(operation, kind, "*"))


def grant(s: Session, *rules: Rule) -> None:
    """From now on these are all rules there are."""
    s.quietly("DeleteAcls", 3, filters=[{**ANYTHING, "principal_filter": None}])
    s.quietly("CreateAcls", 3, creations=[
        {"resource_type": r.type, "resource_name": r.name, "resource_pattern_type": r.pattern, "principal": r.principal,
         "host": r.host, "operation": r.operation, "permission_type": r.permission} for r in rules])
    s.settle()


@contextmanager
def logged_in(s: Session) -> Iterator[None]:
    """No rule and no token is left behind."""
    s.login(ALICE)
    token = s.quietly("CreateDelegationToken", 3, connection=ALICE, max_lifetime_ms=600_000, owner_principal_type=None, owner_principal_name=None, renewers=[])
    for _ in range(5):  # those who check logins learn of a token last
        s.settle()
    s.login_by_token(TOKEN_OF_ALICE, token.token_id, token.hmac)
    yield
    grant(s)
    forget(s, token.hmac)


def forget(s: Session, hmac: bytes) -> None:
    """Ends a token that alice owns or may renew: other cases list what there are."""
    s.quietly("ExpireDelegationToken", 2, connection=ALICE, hmac=hmac, expiry_time_period_ms=-1)


def ask(question: Question, situation: Situation, asked: Asked) -> Any:
    note = f"{question.note}, {situation.name}" if question.note else situation.name
    return asked.s.ask(question.api, question.version, note, connection=situation.connection, **question.fields(asked))


def ask_about_names(s: Session, kind: int, questions: tuple[Question, ...], ids: Callable[[str], bytes]) -> None:
    """Two sets of rules for each question: those of all situations, whose resources have different names, and the wildcard."""
    given = s.name("given")
    with logged_in(s):
        for question in questions:
            also = tuple(Rule(operation, other, given, PREFIXED) for operation, other in question.also)
            for situations in ((*SITUATIONS, *OF_NAMES), (WILDCARD,)):
                names = {each.name: s.name(_suffix(question.family, each)) for each in situations}
                grant(s, *also, *(rule for each in situations for rule in each.rules(question.operation, kind, names[each.name])))
                for each in situations:
                    name = names[each.name]
                    ask(question, each, Asked(s, name, ids(name), given))


def _suffix(family: str, situation: Situation) -> str:
    return f"{family}-{situation.name.replace(' ', '-')}".removeprefix("-")


def topics(s: Session, family: str = "") -> dict[str, Topic]:
    """The topics of those situations in which there are some, by name, and the one that is given."""
    names = [s.name(_suffix(family, each)) for each in (*SITUATIONS, *OF_NAMES, WILDCARD) if each.exists] + [s.name("given")]
    created = s.quietly("CreateTopics", 7, timeout_ms=10_000, topics=[{"name": name, "num_partitions": 1, "replication_factor": 1} for name in names])
    assert not any(topic.error_code for topic in created.topics), created
    for name in names:
        s.until(partial(s.is_led, name, 1), f"topic {name} has a leader")
    s.settle()
    return {topic.name: Topic(topic.name, topic.topic_id) for topic in created.topics}


# --- topics

NOBODY = {"producer_id": 99_999, "producer_epoch": 0}
_FETCHED = {"partition": 0, "current_leader_epoch": -1, "fetch_offset": 0, "log_start_offset": -1, "partition_max_bytes": 60, "last_fetched_epoch": -1}
_FETCH = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 60, "session_epoch": -1}
_JOINING = {"rebalance_timeout_ms": 5000, "process_id": "p", "active_tasks": [], "standby_tasks": [], "warmup_tasks": [], "client_tags": []}


def _produced(topic: Fields, **options: Any) -> Fields:
    return {"acks": -1, "timeout_ms": 10_000, "topic_data": [{**topic, "partition_data": [{"index": 0, "records": batch(b"z", **options)}]}]}


def _config(kind: int, name: str, *keys: str) -> Fields:
    return {"resources": [{"resource_type": kind, "resource_name": name, "configuration_keys": list(keys)}]}


def _no_change(kind: int, name: str) -> Fields:
    return {"validate_only": True, "resources": [{"resource_type": kind, "resource_name": name, "configs": list[Fields]()}]}


def _acknowledged(topic_id: bytes) -> list[Fields]:
    return [{"topic_id": topic_id, "partitions": [{"partition_index": 7, "acknowledgement_batches": [{"first_offset": 0, "last_offset": 0, "acknowledge_types": [1]}]}]}]


def _share_fetch(group: str, topic_id: bytes) -> Fields:
    return {"group_id": group, "member_id": ALICE, "share_session_epoch": 0, "max_wait_ms": 0, "min_bytes": 0, "max_bytes": 100, "max_records": 1, "batch_size": 1,
            "topics": [{"topic_id": topic_id, "partitions": [{"partition_index": 7}]}]}


def _streams(group: str, topic: str) -> Fields:
    return {"group_id": group, "member_id": ALICE, "member_epoch": 0, **_JOINING,
            "topology": {"epoch": 0, "subtopologies": [{"subtopology_id": "0", "source_topics": [topic]}]}}


def _in_transaction(transactional_id: str, topic: str) -> Fields:
    return {"v3_and_below_transactional_id": transactional_id, "v3_and_below_producer_id": 99_999, "v3_and_below_producer_epoch": 0,
            "v3_and_below_topics": [{"name": topic, "partitions": [0]}]}


def _offsets_in_transaction(transactional_id: str, group: str, topic: str) -> Fields:
    return {"transactional_id": transactional_id, "group_id": group, **NOBODY, "generation_id": -1, "member_id": "",
            "topics": [{"name": topic, "partitions": [{"partition_index": 0, "committed_offset": 1}]}]}


_SIMPLE = {"generation_id_or_member_epoch": -1, "member_id": ""}
OF_TOPICS = (
    Question("Metadata", 1, DESCRIBE, lambda a: {"topics": [{"name": a.name}]}),
    Question("Metadata", 13, DESCRIBE, lambda a: {"topics": [{"name": a.name}], "allow_auto_topic_creation": False, "include_topic_authorized_operations": True}),
    Question("Metadata", 13, DESCRIBE, lambda a: {"topics": [{"name": None, "topic_id": a.id}], "allow_auto_topic_creation": False, "include_topic_authorized_operations": True}, note="by id"),
    Question("DescribeTopicPartitions", 0, DESCRIBE, lambda a: {"topics": [{"name": a.name}], "response_partition_limit": 9}),
    Question("Produce", 9, WRITE, lambda a: _produced({"name": a.name})),
    Question("Produce", 13, WRITE, lambda a: _produced({"topic_id": a.id}), note="by id"),
    Question("Fetch", 12, READ, lambda a: {"replica_id": -1, **_FETCH, "topics": [{"topic": a.name, "partitions": [_FETCHED]}]}),
    Question("Fetch", 17, READ, lambda a: {**_FETCH, "topics": [{"topic_id": a.id, "partitions": [_FETCHED]}]}, note="by id"),
    Question("ListOffsets", 7, DESCRIBE, lambda a: {"replica_id": -1, "topics": [{"name": a.name, "partitions": [{"partition_index": 0, "timestamp": -2}]}]}),
    Question("DeleteRecords", 2, DELETE, lambda a: {"timeout_ms": 1000, "topics": [{"name": a.name, "partitions": [{"partition_index": 0, "offset": 0}]}]}),
    Question("OffsetForLeaderEpoch", 4, DESCRIBE, lambda a: {"replica_id": -1, "topics": [{"topic": a.name, "partitions": [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}]}]}),
    Question("DescribeProducers", 0, READ, lambda a: {"topics": [{"name": a.name, "partition_indexes": [0]}]}),
    Question("CreatePartitions", 3, ALTER, lambda a: {"timeout_ms": 10_000, "validate_only": True, "topics": [{"name": a.name, "count": 2, "assignments": None}]}),
    Question("DescribeConfigs", 4, DESCRIBE_CONFIGS, lambda a: _config(2, a.name, "retention.ms")),
    Question("AlterConfigs", 2, ALTER_CONFIGS, lambda a: _no_change(2, a.name)),
    Question("IncrementalAlterConfigs", 1, ALTER_CONFIGS, lambda a: _no_change(2, a.name)),
    Question("AddPartitionsToTxn", 3, WRITE, lambda a: _in_transaction(a.given, a.name), ((WRITE, TRANSACTIONAL_ID),)),
    Question("OffsetCommit", 9, READ, lambda a: {"group_id": a.given, **_SIMPLE, "topics": a.committed(a.name)}, ((READ, GROUP),)),
    Question("OffsetCommit", 10, READ, lambda a: {"group_id": a.given, **_SIMPLE, "topics": a.committed(a.name)}, ((READ, GROUP),), "by id"),
    Question("OffsetFetch", 9, DESCRIBE, lambda a: {"groups": [{"group_id": a.given, "topics": [{"name": a.name, "partition_indexes": [0]}]}]}, ((DESCRIBE, GROUP),)),
    Question("OffsetFetch", 10, DESCRIBE, lambda a: {"groups": [{"group_id": a.given, "topics": [{"topic_id": a.id, "partition_indexes": [0]}]}]}, ((DESCRIBE, GROUP),), "by id"),
    Question("OffsetDelete", 0, READ, lambda a: {"group_id": a.given, "topics": [{"name": a.name, "partitions": [{"partition_index": 5}]}]}, ((DELETE, GROUP),)),
    Question("TxnOffsetCommit", 3, READ, lambda a: _offsets_in_transaction(a.given, a.given, a.name), ((WRITE, TRANSACTIONAL_ID), (READ, GROUP))),
    Question("ConsumerGroupHeartbeat", 1, DESCRIBE, lambda a: {"group_id": f"{a.given}-consumer", "member_id": ALICE, "member_epoch": 9, "subscribed_topic_names": [a.name]}, ((READ, GROUP),)),
    Question("ShareGroupHeartbeat", 1, DESCRIBE, lambda a: {"group_id": f"{a.given}-share", "member_id": ALICE, "member_epoch": 9, "subscribed_topic_names": [a.name]}, ((READ, GROUP),)),
    Question("StreamsGroupHeartbeat", 0, DESCRIBE, lambda a: _streams(f"{a.given}-{a.name}", a.name), ((READ, GROUP),)),
    Question("ShareFetch", 2, READ, lambda a: _share_fetch(f"{a.given}-share", a.id), ((READ, GROUP),)),
    Question("ShareAcknowledge", 2, READ, lambda a: {"group_id": f"{a.given}-share", "member_id": ALICE, "share_session_epoch": -1, "topics": _acknowledged(a.id)}, ((READ, GROUP),)),
    Question("DescribeShareGroupOffsets", 1, DESCRIBE, lambda a: {"groups": [{"group_id": f"{a.given}-share", "topics": [{"topic_name": a.name, "partitions": [0]}]}]}, ((DESCRIBE, GROUP),)),
    Question("DeleteShareGroupOffsets", 0, READ, lambda a: {"group_id": f"{a.given}-share", "topics": [{"topic_name": a.name}]}, ((DELETE, GROUP),)),
    Question("AlterShareGroupOffsets", 0, READ, lambda a: {"group_id": f"{a.given}-share", "topics": [{"topic_name": a.name, "partitions": [{"partition_index": 0, "start_offset": 0}]}]}, ((READ, GROUP),)),
    Question("CreateTopics", 7, CREATE, lambda a: {"timeout_ms": 10_000, "validate_only": True, "topics": [{"name": a.name, "num_partitions": 1, "replication_factor": 1}]}, family="new"),
    Question("DeleteTopics", 6, DELETE, lambda a: {"timeout_ms": 10_000, "topics": [{"name": a.name}]}),
)
"""The last one takes the topics away."""


@case(*dict.fromkeys(question.api for question in OF_TOPICS))
def topics_by_situation(s: Session) -> None:
    known = topics(s)
    s.quietly("OffsetCommit", 9, group_id=s.name("given"), **_SIMPLE, topics=[{"name": s.name("given"), "partitions": [{"partition_index": 0, "committed_offset": 1}]}])
    ask_about_names(s, TOPIC, OF_TOPICS, lambda name: known[name].id if name in known else UNKNOWN_ID)


# --- groups

OF_GROUPS = (
    Question("FindCoordinator", 3, DESCRIBE, lambda a: {"key": a.name, "key_type": 0}),
    Question("FindCoordinator", 4, DESCRIBE, lambda a: {"key_type": 0, "coordinator_keys": [a.name]}),
    Question("JoinGroup", 9, READ, lambda a: {"group_id": a.name, "session_timeout_ms": 60_000, "rebalance_timeout_ms": 100, "member_id": "nobody", "protocol_type": "consumer",
                                              "protocols": [{"name": "range", "metadata": b""}]}),
    Question("SyncGroup", 5, READ, lambda a: {"group_id": a.name, "generation_id": 1, "member_id": "nobody", "protocol_type": "consumer", "protocol_name": "range"}),
    Question("Heartbeat", 4, READ, lambda a: {"group_id": a.name, "generation_id": 1, "member_id": "nobody"}),
    Question("LeaveGroup", 5, READ, lambda a: {"group_id": a.name, "members": [{"member_id": "nobody"}]}),
    Question("OffsetCommit", 9, READ, lambda a: {"group_id": a.name, **_SIMPLE, "topics": a.committed(a.given)}, ((READ, TOPIC),)),
    Question("OffsetFetch", 7, DESCRIBE, lambda a: {"group_id": a.name, "topics": [{"name": a.given, "partition_indexes": [0]}]}, ((DESCRIBE, TOPIC),)),
    Question("OffsetFetch", 9, DESCRIBE, lambda a: {"groups": [{"group_id": a.name, "topics": None}]}, ((DESCRIBE, TOPIC),)),
    Question("OffsetDelete", 0, DELETE, lambda a: {"group_id": a.name, "topics": [{"name": a.given, "partitions": [{"partition_index": 5}]}]}, ((READ, TOPIC),)),
    Question("TxnOffsetCommit", 3, READ, lambda a: _offsets_in_transaction(a.given, a.name, a.given), ((WRITE, TRANSACTIONAL_ID), (READ, TOPIC))),
    Question("AddOffsetsToTxn", 4, READ, lambda a: {"transactional_id": a.given, "group_id": a.name, **NOBODY}, ((WRITE, TRANSACTIONAL_ID),)),
    Question("DescribeGroups", 6, DESCRIBE, lambda a: {"groups": [a.name], "include_authorized_operations": True}),
    Question("ConsumerGroupDescribe", 1, DESCRIBE, lambda a: {"group_ids": [a.name], "include_authorized_operations": True}),
    Question("ConsumerGroupHeartbeat", 1, READ, lambda a: {"group_id": a.name, "member_id": ALICE, "member_epoch": 9, "subscribed_topic_names": [a.given]}, ((DESCRIBE, TOPIC),)),
    Question("DescribeConfigs", 4, DESCRIBE_CONFIGS, lambda a: _config(32, a.name, "consumer.session.timeout.ms")),
    Question("IncrementalAlterConfigs", 1, ALTER_CONFIGS, lambda a: _no_change(32, a.name)),
    Question("ShareGroupHeartbeat", 1, READ, lambda a: {"group_id": a.name, "member_id": ALICE, "member_epoch": 9, "subscribed_topic_names": [a.given]}, ((DESCRIBE, TOPIC),), family="share"),
    Question("ShareGroupDescribe", 1, DESCRIBE, lambda a: {"group_ids": [a.name], "include_authorized_operations": True}, family="share"),
    Question("ShareFetch", 2, READ, lambda a: _share_fetch(a.name, a.id), ((READ, TOPIC),), family="share"),
    Question("ShareAcknowledge", 2, READ, lambda a: {"group_id": a.name, "member_id": ALICE, "share_session_epoch": -1, "topics": _acknowledged(a.id)}, ((READ, TOPIC),), family="share"),
    Question("DescribeShareGroupOffsets", 1, DESCRIBE, lambda a: {"groups": [{"group_id": a.name, "topics": [{"topic_name": a.given, "partitions": [0]}]}]}, ((DESCRIBE, TOPIC),), family="share"),
    Question("AlterShareGroupOffsets", 0, READ, lambda a: {"group_id": a.name, "topics": [{"topic_name": a.given, "partitions": [{"partition_index": 0, "start_offset": 0}]}]}, ((READ, TOPIC),), family="share"),
    Question("DeleteShareGroupOffsets", 0, DELETE, lambda a: {"group_id": a.name, "topics": [{"topic_name": a.given}]}, ((READ, TOPIC),), family="share"),
    Question("StreamsGroupHeartbeat", 0, READ, lambda a: _streams(a.name, a.given), ((DESCRIBE, TOPIC),), family="streams"),
    Question("StreamsGroupDescribe", 0, DESCRIBE, lambda a: {"group_ids": [a.name], "include_authorized_operations": True}, family="nothing"),
    Question("DeleteGroups", 2, DELETE, lambda a: {"groups_names": [a.name]}),
)


@case(*dict.fromkeys(question.api for question in OF_GROUPS))
def groups_by_situation(s: Session) -> None:
    given = s.known_topic("given")
    for each in (*SITUATIONS, *OF_NAMES, WILDCARD):
        if each.exists:
            s.quietly("OffsetCommit", 9, group_id=s.name(_suffix("", each)), **_SIMPLE, topics=[given.partition(0, committed_offset=1)])
    ask_about_names(s, GROUP, OF_GROUPS, lambda _name: given.id)


# --- transactional ids

OF_TRANSACTIONAL_IDS = (
    Question("FindCoordinator", 4, DESCRIBE, lambda a: {"key_type": 1, "coordinator_keys": [a.name]}),
    Question("InitProducerId", 5, WRITE, lambda a: {"transactional_id": a.name, "transaction_timeout_ms": 1000, "producer_id": -1, "producer_epoch": 5}),
    Question("AddPartitionsToTxn", 3, WRITE, lambda a: _in_transaction(a.name, a.given), ((WRITE, TOPIC),)),
    Question("AddOffsetsToTxn", 4, WRITE, lambda a: {"transactional_id": a.name, "group_id": a.given, **NOBODY}, ((READ, GROUP),)),
    Question("TxnOffsetCommit", 3, WRITE, lambda a: _offsets_in_transaction(a.name, a.given, a.given), ((READ, GROUP), (READ, TOPIC))),
    Question("EndTxn", 4, WRITE, lambda a: {"transactional_id": a.name, "committed": True, **NOBODY}),
    Question("DescribeTransactions", 0, DESCRIBE, lambda a: {"transactional_ids": [a.name]}),
    Question("Produce", 9, WRITE, lambda a: {"transactional_id": a.name, **_produced({"name": a.given}, **NOBODY, base_sequence=0, is_transactional=True)}, ((WRITE, TOPIC),)),
)


@case(*dict.fromkeys(question.api for question in OF_TRANSACTIONAL_IDS))
def transactional_ids_by_situation(s: Session) -> None:
    given = s.known_topic("given")
    for each in (*SITUATIONS, *OF_NAMES, WILDCARD):
        if each.exists:
            s.quietly("InitProducerId", 5, transactional_id=s.name(_suffix("", each)), transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1)
    ask_about_names(s, TRANSACTIONAL_ID, OF_TRANSACTIONAL_IDS, lambda _name: given.id)


# --- the cluster

_NOTHING = {**ANYTHING, "principal_filter": "User:nobody"}
_SHARE_STATE = [{"topic_id": UNKNOWN_ID, "partitions": [{"partition": 0}]}]


def _share_state(api: str) -> Question:
    return Question(f"{api}", 0, CLUSTER_ACTION, lambda a: {"group_id": a.given, "topics": _SHARE_STATE})


def _markers(a: Asked) -> Fields:
    return {"markers": [{**NOBODY, "transaction_result": True, "coordinator_epoch": 0, "topics": [{"name": a.name, "partition_indexes": [0]}]}]}


OF_THE_CLUSTER = (
    Question("DescribeAcls", 3, DESCRIBE, lambda _a: _NOTHING),
    Question("DescribeLogDirs", 4, DESCRIBE, lambda _a: {"topics": []}),
    Question("DescribeQuorum", 2, DESCRIBE, lambda _a: {"topics": [{"topic_name": "no-such", "partitions": [{"partition_index": 0}]}]}),
    Question("ListPartitionReassignments", 0, DESCRIBE, lambda _a: {"timeout_ms": 1000, "topics": []}),
    Question("DescribeUserScramCredentials", 0, DESCRIBE, lambda _a: {"users": [{"name": "nobody"}]}),
    Question("DescribeCluster", 2, DESCRIBE, lambda _a: {"include_cluster_authorized_operations": True}),
    Question("Metadata", 10, DESCRIBE, lambda _a: {"topics": [], "include_cluster_authorized_operations": True}),
    Question("CreateAcls", 3, ALTER, lambda _a: {"creations": [{"resource_type": 2, "resource_name": "t", "resource_pattern_type": 3, "principal": "nobody", "host": "*", "operation": 3, "permission_type": 3}]}),
    Question("DeleteAcls", 3, ALTER, lambda _a: {"filters": [_NOTHING]}),
    Question("AlterUserScramCredentials", 0, ALTER, lambda _a: {"deletions": [{"name": "nobody", "mechanism": 1}]}),
    Question("AlterReplicaLogDirs", 2, ALTER, lambda a: {"dirs": [{"path": "/nowhere", "topics": [{"name": a.name, "partitions": [0]}]}]}),
    Question("ElectLeaders", 2, ALTER, lambda a: {"election_type": 0, "timeout_ms": 1000, "topic_partitions": [{"topic": a.name, "partitions": [0]}]}),
    Question("AlterPartitionReassignments", 1, ALTER, lambda a: {"timeout_ms": 1000, "topics": [{"name": a.name, "partitions": [{"partition_index": 0, "replicas": [1]}]}]}),
    Question("UpdateFeatures", 1, ALTER, lambda _a: {"validate_only": True, "timeout_ms": 1000, "feature_updates": []}),
    Question("UnregisterBroker", 0, ALTER, lambda _a: {"broker_id": 99}),
    Question("AddRaftVoter", 0, ALTER, lambda _a: {"cluster_id": "wrong", "timeout_ms": 1000, "voter_id": 9, "voter_directory_id": UNKNOWN_ID, "listeners": []}),
    Question("RemoveRaftVoter", 0, ALTER, lambda _a: {"cluster_id": "wrong", "voter_id": 9, "voter_directory_id": UNKNOWN_ID}),
    Question("WriteTxnMarkers", 1, ALTER, _markers),
    Question("WriteTxnMarkers", 1, CLUSTER_ACTION, _markers, note="action"),
    Question("Fetch", 12, CLUSTER_ACTION, lambda a: {"replica_id": 1, **_FETCH, "topics": [{"topic": a.name, "partitions": [_FETCHED]}]}),
    Question("OffsetForLeaderEpoch", 4, CLUSTER_ACTION, lambda a: {"replica_id": -1, "topics": [{"topic": a.name, "partitions": [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}]}]}),
    Question("FindCoordinator", 6, CLUSTER_ACTION, lambda _a: {"key_type": 2, "coordinator_keys": ["g:AAAAAAAAAAAAAAAAAAAAAg:0"]}),
    Question("AddPartitionsToTxn", 5, CLUSTER_ACTION, lambda a: {"transactions": [{"transactional_id": a.given, **NOBODY, "verify_only": False, "topics": [{"name": a.name, "partitions": [0]}]}]}),
    _share_state("InitializeShareGroupState"),
    _share_state("ReadShareGroupState"),
    _share_state("WriteShareGroupState"),
    _share_state("DeleteShareGroupState"),
    _share_state("ReadShareGroupStateSummary"),
    Question("DescribeClientQuotas", 1, DESCRIBE_CONFIGS, lambda _a: {"components": [{"entity_type": "user", "match_type": 0, "match": "nobody"}], "strict": True}),
    Question("ListConfigResources", 1, DESCRIBE_CONFIGS, lambda _a: {"resource_types": [16]}),
    Question("DescribeConfigs", 4, DESCRIBE_CONFIGS, lambda _a: _config(4, "1", "num.partitions"), note="of a broker"),
    Question("DescribeConfigs", 4, DESCRIBE_CONFIGS, lambda a: _config(16, a.name), note="of client metrics"),
    Question("AlterClientQuotas", 1, ALTER_CONFIGS, lambda _a: {"validate_only": True, "entries": [{"entity": [{"entity_type": "user", "entity_name": "nobody"}], "ops": []}]}),
    Question("IncrementalAlterConfigs", 1, ALTER_CONFIGS, lambda _a: _no_change(4, "1"), note="of a broker"),
    Question("IncrementalAlterConfigs", 1, ALTER_CONFIGS, lambda _a: _no_change(8, "1"), note="of a logger"),
    Question("IncrementalAlterConfigs", 1, ALTER_CONFIGS, lambda a: _no_change(16, a.name), note="of client metrics"),
    Question("CreateTopics", 7, CREATE, lambda a: {"timeout_ms": 10_000, "validate_only": True, "topics": [{"name": a.name, "num_partitions": 1, "replication_factor": 1}]}),
    Question("DeleteTopics", 6, DELETE, lambda a: {"timeout_ms": 10_000, "topics": [{"name": a.name}]}),
    Question("InitProducerId", 5, IDEMPOTENT_WRITE, lambda _a: {"transactional_id": None, "transaction_timeout_ms": 1000, "producer_id": -1, "producer_epoch": 5}),
)


def _by_operation() -> Iterator[tuple[int, list[Question]]]:
    for operation in dict.fromkeys(question.operation for question in OF_THE_CLUSTER):
        yield operation, [question for question in OF_THE_CLUSTER if question.operation == operation]


@case(*dict.fromkeys(question.api for question in OF_THE_CLUSTER))
def cluster_by_situation(s: Session) -> None:
    """The cluster has one name: a set of rules for each situation."""
    absent = s.name("absent")
    with logged_in(s):
        for operation, questions in _by_operation():
            for situation in (*SITUATIONS, WILDCARD):
                grant(s, *situation.rules(operation, CLUSTER, "kafka-cluster"))
                for question in questions:
                    ask(question, situation, Asked(s, absent, UNKNOWN_ID, s.name("given")))


# --- users

OF_USERS = Question("CreateDelegationToken", 3, CREATE_TOKENS, lambda a: {
    "max_lifetime_ms": 60_000, "owner_principal_type": "User", "owner_principal_name": a.name.removeprefix("User:"),
    "renewers": [{"principal_type": "User", "principal_name": ALICE}]})


@case("CreateDelegationToken", "ExpireDelegationToken")
def users_by_situation(s: Session) -> None:
    """Resources of users are named as principals are."""
    with logged_in(s):
        for situations in ((*SITUATIONS, *OF_NAMES), (WILDCARD,)):
            names = {each.name: f"User:{s.name(_suffix('', each))}" for each in situations}
            grant(s, *(rule for each in situations for rule in each.rules(OF_USERS.operation, USER, names[each.name])))
            for _ in range(5):  # the part that makes tokens learns of a rule last
                s.settle()
            for each in situations:
                made = ask(OF_USERS, each, Asked(s, names[each.name], UNKNOWN_ID, ""))
                if not made.error_code:
                    forget(s, made.hmac)
