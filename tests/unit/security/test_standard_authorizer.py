"""Decisions of Kafka's StandardAuthorizer: who wins, what is implied, what covers a resource."""

from __future__ import annotations

import pytest

from millstream.metadata.stored_security import AccessControlEntry
from millstream.security.acl import Operation, ResourceType
from millstream.security.authorizer import (
    DEFAULT_ALLOW,
    DEFAULT_DENY,
    SUPER_USER,
    AuthorizerNotReady,
)
from millstream.security.authorizer_settings import AuthorizerSettings
from millstream.security.principal import ANONYMOUS
from millstream.security.standard_authorizer import StandardAuthorizer
from tests.support.access_rules import authorizer, client, rule

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
READ, WRITE, DESCRIBE = Operation.READ, Operation.WRITE, Operation.DESCRIBE


def may(
    decider: StandardAuthorizer,
    operation: Operation = READ,
    *,
    name: str = "orders",
    who: str = "alice",
    host: str = "10.0.0.9",
    kind: ResourceType = TOPIC,
) -> bool:
    return decider.decide(client(who, host), operation, kind, name).is_allowed


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (rule(READ, TOPIC, "orders"), True),
        (rule(READ, TOPIC, "*"), True),
        (rule(READ, TOPIC, "ord", prefixed=True), True),
        (rule(READ, TOPIC, "orders", prefixed=True), True),
        (rule(READ, TOPIC, "orders", principal="User:*"), True),
        (rule(READ, TOPIC, "orders", host="10.0.0.9"), True),
        (rule(Operation.ALL, TOPIC, "orders"), True),
        (rule(READ, TOPIC, "ord"), False),
        (rule(READ, TOPIC, "orders2", prefixed=True), False),
        (rule(READ, TOPIC, "*", prefixed=True), False),
        (rule(READ, GROUP, "orders"), False),
        (rule(WRITE, TOPIC, "orders"), False),
        (rule(READ, TOPIC, "orders", principal="User:Alice"), False),
        (rule(READ, TOPIC, "orders", principal="Group:alice"), False),
        (rule(READ, TOPIC, "orders", principal="Group:*"), False),
        (rule(READ, TOPIC, "orders", host="10.0.0.0/8"), False),
        (rule(READ, TOPIC, "orders", host="10.0.0.8"), False),
    ],
)
def test_a_rule_covers_by_type_name_principal_host_and_operation(
    given: AccessControlEntry, told: bool
) -> None:
    assert may(authorizer(given)) is told


def test_everybody_of_any_type_is_meant_by_the_wildcard() -> None:
    decider = authorizer(rule(READ, TOPIC, "orders", principal="User:*"))
    robot = client()
    robot.principal = type(ANONYMOUS)("Robot", "r2")
    assert decider.decide(robot, READ, TOPIC, "orders").is_allowed


@pytest.mark.parametrize(
    "deny",
    [
        rule(READ, TOPIC, "*", deny=True),
        rule(READ, TOPIC, "o", prefixed=True, deny=True),
        rule(Operation.ALL, TOPIC, "orders", principal="User:*", deny=True),
        rule(READ, TOPIC, "orders", host="10.0.0.9", deny=True),
    ],
)
def test_a_denial_wins_wherever_it_stands(deny: AccessControlEntry) -> None:
    allow = rule(READ, TOPIC, "orders")
    assert not may(authorizer(allow, deny))
    decision = authorizer(deny, allow).decide(client(), READ, TOPIC, "orders")
    assert (decision.is_allowed, decision.by) == (False, deny)


@pytest.mark.parametrize(
    ("allowed", "implied", "told"),
    [
        (READ, DESCRIBE, True),
        (WRITE, DESCRIBE, True),
        (Operation.DELETE, DESCRIBE, True),
        (Operation.ALTER, DESCRIBE, True),
        (Operation.ALTER_CONFIGS, Operation.DESCRIBE_CONFIGS, True),
        (Operation.CREATE, DESCRIBE, False),
        (Operation.ALTER, Operation.DESCRIBE_CONFIGS, False),
        (Operation.ALTER_CONFIGS, DESCRIBE, False),
        (READ, WRITE, False),
    ],
)
def test_to_allow_may_imply_to_describe(allowed: Operation, implied: Operation, told: bool) -> None:
    assert may(authorizer(rule(allowed, TOPIC, "orders")), implied) is told


def test_to_deny_implies_nothing() -> None:
    decider = authorizer(rule(READ, TOPIC, "orders", deny=True), rule(DESCRIBE, TOPIC, "orders"))
    assert may(decider, DESCRIBE)
    assert not may(decider, READ)


def test_what_no_rule_covers_is_up_to_the_setting() -> None:
    others = rule(READ, TOPIC, "orders", principal="User:bob")
    closed, opened = authorizer(others), authorizer(others, allows_uncovered=True)
    assert closed.decide(client(), READ, TOPIC, "nobody's") is DEFAULT_DENY
    assert opened.decide(client(), READ, TOPIC, "nobody's") is DEFAULT_ALLOW
    # a rule covers it, for whomever
    assert opened.decide(client(), WRITE, TOPIC, "orders") is DEFAULT_DENY
    assert opened.decide(client(), READ, GROUP, "orders") is DEFAULT_ALLOW


def test_super_users_stand_above_all_rules_and_before_they_are_loaded() -> None:
    settings = AuthorizerSettings(frozenset({"User:admin"}))
    loaded = [False]
    decider = StandardAuthorizer(settings, lambda: loaded[0])
    decider.change(removed=(), added=[rule(READ, TOPIC, "*", principal="User:*", deny=True)])
    assert decider.decide(client("admin"), READ, TOPIC, "orders") is SUPER_USER
    with pytest.raises(AuthorizerNotReady):
        decider.decide(client(), READ, TOPIC, "orders")
    loaded[0] = True
    assert not may(decider)


def test_a_decision_is_forgotten_when_a_rule_changes() -> None:
    decider, allow = authorizer(), rule(READ, TOPIC, "orders")
    assert not may(decider)
    decider.change(removed=(), added=[allow, allow])
    assert may(decider)
    decider.change(removed=[allow], added=())
    assert may(decider)  # the same rule is there a second time
    decider.change(removed=[allow], added=())
    assert not may(decider)


def test_settings_are_read_as_kafka_reads_them() -> None:
    from millstream.broker.config.broker_config import broker_config

    config = broker_config(
        {"super.users": " User:admin ; User:CN=a,O=b;;", "allow.everyone.if.no.acl.found": "TRUE"}
    )
    assert config.read(AuthorizerSettings) == AuthorizerSettings(
        frozenset({"User:admin", "User:CN=a,O=b"}), allows_uncovered=True
    )


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ((), False),
        ((rule(WRITE, TOPIC, "a"),), True),
        ((rule(Operation.ALL, TOPIC, "a", prefixed=True),), True),
        ((rule(READ, TOPIC, "a"),), False),
        ((rule(WRITE, TOPIC, "a", host="10.0.0.8"),), False),
        ((rule(WRITE, TOPIC, "a"), rule(WRITE, TOPIC, "*", deny=True)), False),
        ((rule(WRITE, TOPIC, "a"), rule(WRITE, TOPIC, "a", deny=True)), False),
        ((rule(WRITE, TOPIC, "ab"), rule(WRITE, TOPIC, "a", prefixed=True, deny=True)), False),
        ((rule(WRITE, TOPIC, "a", prefixed=True), rule(WRITE, TOPIC, "a", deny=True)), True),
        (
            (
                rule(WRITE, TOPIC, "a", prefixed=True),
                rule(WRITE, TOPIC, "a", prefixed=True, deny=True),
            ),
            False,
        ),
        ((rule(WRITE, TOPIC, "*"), rule(WRITE, TOPIC, "a", prefixed=True, deny=True)), True),
        ((rule(WRITE, TOPIC, "ab", prefixed=True), rule(WRITE, TOPIC, "b", deny=True)), True),
    ],
)
def test_writing_to_any_topic_is_decided_by_what_the_denials_leave(
    rules: tuple[AccessControlEntry, ...], told: bool
) -> None:
    """Kafka's `authorizeByResourceType`."""
    decider = authorizer(*rules)
    for _ in range(2):  # the second time it is remembered
        assert decider.decide_for_any(client(), WRITE, TOPIC).is_allowed is told


def test_long_names_are_decided_and_not_remembered() -> None:
    decider = authorizer(rule(READ, GROUP, "*"))
    for number in range(10):
        assert may(decider, name=f"{number}" * 30_000, kind=GROUP)
    assert may(decider, name="short", kind=GROUP)
    assert len(decider._remembered) == 1
