"""The audit line is Kafka's, and programs get the same as values."""

from __future__ import annotations

import pytest

from millstream.security.acl import Operation, ResourceType
from millstream.security.audit import AuditedDecision
from millstream.security.authorizer import DEFAULT_DENY, SUPER_USER, Decision
from tests.support.access_rules import client, rule


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        (
            DEFAULT_DENY,
            (
                "Principal = User:alice is Denied operation = READ from host = 10.0.0.9 on resource = Topic:LITERAL:t "
                "for request = Fetch with resourceRefCount = 3 based on rule DefaultDeny"
            ),
        ),
        (
            SUPER_USER,
            (
                "Principal = User:alice is Allowed operation = READ from host = 10.0.0.9 on resource = Topic:LITERAL:t "
                "for request = Fetch with resourceRefCount = 3 based on rule SuperUser"
            ),
        ),
        (
            Decision(is_allowed=False, by=rule(Operation.READ, ResourceType.TOPIC, "t", deny=True)),
            (
                "Principal = User:alice is Denied operation = READ from host = 10.0.0.9 on resource = Topic:LITERAL:t "
                "for request = Fetch with resourceRefCount = 3 based on rule MatchingAcl(acl=StandardAcl[resourceType=TOPIC, "
                "resourceName=t, patternType=LITERAL, principal=User:alice, host=*, operation=READ, permissionType=DENY])"
            ),
        ),
    ],
)
def test_the_line_is_kafkas(decision: Decision, told: str) -> None:
    audited = AuditedDecision(
        client(), "Fetch", Operation.READ, ResourceType.TOPIC, "t", 3, decision
    )
    assert str(audited) == told


def test_types_of_resources_are_written_in_one_word() -> None:
    audited = AuditedDecision(
        client(), "EndTxn", Operation.WRITE, ResourceType.TRANSACTIONAL_ID, "x", 1, DEFAULT_DENY
    )
    assert "on resource = TransactionalId:LITERAL:x for" in str(audited)
    assert audited.fields() == {
        "principal": "User:alice",
        "allowed": False,
        "operation": "WRITE",
        "host": "10.0.0.9",
        "resourceType": "TRANSACTIONAL_ID",
        "resource": "x",
        "request": "EndTxn",
        "resourceRefCount": 1,
        "rule": "DefaultDeny",
    }
