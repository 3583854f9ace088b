"""The indexed authorizer decides as one that looks at every rule, whatever was added and removed before (CVE-2024-27309)."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.metadata.stored_security import AccessControlEntry
from millstream.net.server.client_connection import ClientConnection
from millstream.security.acl import (
    Operation,
    PatternType,
    PermissionType,
    Resource,
    ResourcePattern,
    ResourceType,
)
from millstream.security.authorizer_settings import AuthorizerSettings
from millstream.security.principal import KafkaPrincipal
from millstream.security.standard_authorizer import StandardAuthorizer

NAMES = ("", "a", "ab", "abc", "b", "*")
HOSTS = ("10.0.0.1", "10.0.0.2")
USERS = ("alice", "bob", "*")
OPERATIONS = [
    Operation.ALL,
    Operation.READ,
    Operation.WRITE,
    Operation.DESCRIBE,
    Operation.ALTER_CONFIGS,
    Operation.DESCRIBE_CONFIGS,
]
TYPES = [ResourceType.TOPIC, ResourceType.GROUP]
IMPLYING = {
    Operation.DESCRIBE: {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER},
    Operation.DESCRIBE_CONFIGS: {Operation.ALTER_CONFIGS},
}

rules = st.builds(
    AccessControlEntry,
    resource_type=st.sampled_from(TYPES),
    resource_name=st.sampled_from(NAMES),
    pattern_type=st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    principal=st.sampled_from(USERS).map("User:{}".format),
    host=st.sampled_from([*HOSTS, "*"]),
    operation=st.sampled_from(OPERATIONS),
    permission_type=st.sampled_from([PermissionType.DENY, PermissionType.ALLOW]),
)
questions = st.tuples(
    st.sampled_from(USERS[:2]),
    st.sampled_from(HOSTS),
    st.sampled_from(OPERATIONS[1:]),
    st.sampled_from(TYPES),
    st.sampled_from(["a", "ab", "abcd", "b", "c", "*", "hardcode"]),
)
Question = tuple[str, str, Operation, ResourceType, str]


def plainly(
    present: Sequence[AccessControlEntry], asked: Question, *, allows_uncovered: bool
) -> bool:
    """Looks at one rule after the other."""
    user, host, operation, kind, name = asked
    covering = [
        each
        for each in present
        if ResourcePattern(
            ResourceType(each.resource_type), each.resource_name, PatternType(each.pattern_type)
        ).covers(Resource(kind, name))
    ]
    if not covering:
        return allows_uncovered
    matching = [
        each
        for each in covering
        if each.principal in {f"User:{user}", "User:*"} and each.host in {host, "*"}
    ]
    denied = any(
        each.permission_type == PermissionType.DENY and each.operation in {operation, Operation.ALL}
        for each in matching
    )
    meant = {operation, Operation.ALL} | IMPLYING.get(operation, set())
    allowed = any(
        each.permission_type == PermissionType.ALLOW and each.operation in meant
        for each in matching
    )
    return allowed and not denied


def decide(decider: StandardAuthorizer, asked: Question) -> bool:
    user, host, operation, kind, name = asked
    client = ClientConnection(1, host, 1, "SASL_PLAINTEXT", KafkaPrincipal("User", user))
    return decider.decide(client, operation, kind, name).is_allowed


@settings(max_examples=300)
@given(st.data(), st.booleans())
def test_decisions_are_those_of_a_plain_list(data: st.DataObject, allows_uncovered: bool) -> None:
    decider = StandardAuthorizer(AuthorizerSettings(allows_uncovered=allows_uncovered))
    present: list[AccessControlEntry] = []
    for _ in range(data.draw(st.integers(1, 6))):
        removed = [
            present.pop(data.draw(st.integers(0, len(present) - 1)))
            for _ in range(data.draw(st.integers(0, len(present))))
        ]
        added = data.draw(st.lists(rules, max_size=6))
        present += added
        decider.change(removed=removed, added=added)
        for asked in data.draw(st.lists(questions, min_size=1, max_size=6)):
            expected = plainly(present, asked, allows_uncovered=allows_uncovered)
            assert decide(decider, asked) == expected, (asked, present)
            assert decide(decider, asked) == expected, "remembered"
    decider.change(removed=present, added=())
    assert not decider._rules._by_principal, "nothing is kept of principals without rules"
    assert not any(decider._rules.covers(kind, name) for kind in TYPES for name in NAMES)
