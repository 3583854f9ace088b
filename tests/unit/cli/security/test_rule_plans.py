"""Which rules `millstream acls add` makes of its options: those that `kafka-acls` 4.3.1 makes of the same ones."""

from __future__ import annotations

import pytest
from click import UsageError

from millstream.cli.security.resource_options import NamedResources
from millstream.cli.security.rule_plans import WantedRules, What, Whom, filter_of, planned_rules
from millstream.cli.security.words import rule_row, rule_words
from millstream.errors import ConfigError
from millstream.security.acl import Operation, PatternType, PermissionType, ResourceType

ALICE = Whom(permission=PermissionType.ALLOW, principals=["User:alice"], hosts=[])
TOPIC = tuple(NamedResources(topics=("orders",)))
BOTH = tuple(NamedResources(topics=("orders",), groups=("app",)))


def planned(what: What, *whoms: Whom) -> set[tuple[str, str, str, str]]:
    rules = planned_rules(whoms or (ALICE,), what)
    assert len(set(rules)) == len(rules)
    return {
        (rule.resource_type.name, rule.resource_name, rule.operation.name, rule.host)
        for rule in rules
    }


def test_without_an_operation_all_are_meant() -> None:
    assert planned(What(resources=TOPIC)) == {("TOPIC", "orders", "ALL", "*")}


def test_each_principal_host_operation_and_resource_has_a_rule() -> None:
    whom = Whom(
        permission=PermissionType.DENY,
        principals=["User:a", "User:b"],
        hosts=["10.0.0.1", "10.0.0.2"],
    )
    what = What(resources=BOTH, operations=[Operation.READ, Operation.DESCRIBE])
    assert len(planned_rules([whom], what)) == 2 * 2 * 2 * 2


def test_a_producer_writes_describes_and_creates_its_topic() -> None:
    assert planned(What(resources=TOPIC, producer=True)) == {
        ("TOPIC", "orders", "WRITE", "*"), ("TOPIC", "orders", "DESCRIBE", "*"), ("TOPIC", "orders", "CREATE", "*"),
    }  # fmt: skip


def test_a_producer_in_transactions_uses_its_id() -> None:
    resources = tuple(NamedResources(topics=("t",), transactional_ids=("x",)))
    what = What(resources=resources, producer=True, idempotent=True)
    assert planned(what) == {
        ("TOPIC", "t", "WRITE", "*"), ("TOPIC", "t", "DESCRIBE", "*"), ("TOPIC", "t", "CREATE", "*"),
        ("TRANSACTIONAL_ID", "x", "WRITE", "*"), ("TRANSACTIONAL_ID", "x", "DESCRIBE", "*"),
        ("CLUSTER", "kafka-cluster", "IDEMPOTENT_WRITE", "*"),
    }  # fmt: skip


def test_a_consumer_reads_its_topic_and_its_group() -> None:
    assert planned(What(resources=BOTH, consumer=True)) == {
        ("TOPIC", "orders", "READ", "*"), ("TOPIC", "orders", "DESCRIBE", "*"), ("GROUP", "app", "READ", "*"),
    }  # fmt: skip


def test_a_producer_that_consumes_needs_both() -> None:
    assert len(planned(What(resources=BOTH, consumer=True, producer=True))) == 5


def test_a_prefix_is_meant_for_what_has_names() -> None:
    """There is one cluster: its name is no prefix."""
    resources = tuple(NamedResources(topics=("orders-",), cluster=True))
    what = What(resources=resources, pattern=PatternType.PREFIXED, operations=[Operation.DESCRIBE])
    patterns = {rule.resource_type: rule.pattern_type for rule in planned_rules([ALICE], what)}
    assert patterns == {
        ResourceType.TOPIC: PatternType.PREFIXED,
        ResourceType.CLUSTER: PatternType.LITERAL,
    }


@pytest.mark.parametrize(
    ("what", "whom", "told"),
    [
        (What(resources=TOPIC), Whom(permission=PermissionType.ALLOW, principals=[], hosts=[]), "say who"),
        (What(resources=()), ALICE, "say on what"),
        (What(resources=TOPIC, consumer=True), ALICE, "--consumer needs --group"),
        (What(resources=(), producer=True), ALICE, "need --topic"),
        (What(resources=TOPIC, producer=True, operations=[Operation.READ]), ALICE, "leave --operation out"),
        (What(resources=BOTH, producer=True), ALICE, "a producer needs nothing of a group"),
        (What(resources=TOPIC, idempotent=True), ALICE, "--idempotent goes with --producer"),
    ],
)  # fmt: skip
def test_what_makes_no_rule_is_said(what: What, whom: Whom, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        planned_rules([whom], what)


def test_hosts_without_a_principal_are_refused() -> None:
    deny = Whom(permission=PermissionType.DENY, principals=[], hosts=["10.0.0.1"])
    with pytest.raises(ConfigError, match="--deny-host needs --deny-principal"):
        planned_rules([ALICE, deny], What(resources=TOPIC))


def test_an_operation_that_the_resource_does_not_have_is_refused() -> None:
    with pytest.raises(
        UsageError, match="ClusterAction is no operation on a Topic: those are Read, "
    ):
        planned(What(resources=TOPIC, operations=[Operation.CLUSTER_ACTION]))


def test_what_is_not_named_does_not_matter() -> None:
    rules = planned_rules([ALICE], What(resources=BOTH, consumer=True))
    (every,) = WantedRules().filters(PatternType.ANY)
    assert all(map(every.matches, rules))
    (of_topic,) = WantedRules(resources=TOPIC, principals=["User:alice"]).filters(PatternType.ANY)
    assert {rule.resource_name for rule in rules if of_topic.matches(rule)} == {"orders"}
    (of_bob,) = WantedRules(principals=["User:bob"]).filters(PatternType.ANY)
    assert not any(map(of_bob.matches, rules))


def test_the_filter_of_a_rule_finds_that_one_alone() -> None:
    rules = planned_rules([ALICE], What(resources=BOTH, consumer=True, producer=True))
    for rule in rules:
        assert [each for each in rules if filter_of(rule).matches(each)] == [rule]


def test_a_rule_in_words() -> None:
    what = What(resources=TOPIC, pattern=PatternType.PREFIXED, operations=[Operation.ALTER_CONFIGS])
    (rule,) = planned_rules([ALICE], what)
    assert rule_words(rule) == (
        "ALLOW User:alice AlterConfigs on Topic names that begin with orders, host *"
    )
    assert rule_row(rule)["operation"] == "ALTER_CONFIGS"
