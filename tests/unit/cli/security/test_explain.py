"""`millstream acls explain` decides as a broker does, and says by what."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from millstream.cli.main import main
from millstream.cli.security.explain import Question, _lines, _row, decided
from millstream.cli.security.words import principal_of
from millstream.clients.admin import AclBinding
from millstream.errors import ConfigError
from millstream.security.acl import Operation, PatternType, PermissionType, Resource, ResourceType

READ = Question(
    principal_of("alice"), "", Operation.READ, Resource(ResourceType.TOPIC, "orders-eu")
)
MAY_READ = AclBinding(
    resource_type=ResourceType.TOPIC, resource_name="orders-", pattern_type=PatternType.PREFIXED,
    principal="User:alice", operation=Operation.READ,
)  # fmt: skip
NOBODY = replace(MAY_READ, principal="User:*", permission_type=PermissionType.DENY)


def test_the_rule_that_allows_is_told() -> None:
    decision = decided(READ, [MAY_READ], {})
    assert decision.is_allowed
    assert decision.by == MAY_READ
    assert _lines(READ, decision, [MAY_READ], are_settings_known=False) == [
        "allowed: User:alice Read Topic orders-eu",
        "  because of the rule ALLOW User:alice Read on Topic names that begin with orders-, host *",
    ]


def test_what_is_implied_is_told_by_the_rule_that_implies_it() -> None:
    describe = replace(READ, operation=Operation.DESCRIBE)
    assert decided(describe, [MAY_READ], {}).by == MAY_READ


def test_a_rule_that_denies_wins() -> None:
    decision = decided(READ, [MAY_READ, NOBODY], {})
    assert not decision.is_allowed
    assert decision.by == NOBODY


def test_a_denial_says_what_might_change_it() -> None:
    lines = _lines(READ, decided(READ, [], {}), [], are_settings_known=False)
    assert lines[:2] == ["denied: User:alice Read Topic orders-eu", "  because no rule allows it"]
    assert "super.users" in lines[2]
    assert "--server-config FILE" in lines[2]
    known = _lines(READ, decided(READ, [], {}), [], are_settings_known=True)
    assert known == lines[:2]


def test_a_super_user_may_whatever_rules_say() -> None:
    decision = decided(
        READ, [NOBODY], {"super.users": "User:admin; User:alice", "num.partitions": "3"}
    )
    assert (decision.is_allowed, decision.by) == (True, "SuperUser")


def test_what_no_rule_covers_may_be_open() -> None:
    assert decided(READ, [], {"allow.everyone.if.no.acl.found": "true"}).by == "DefaultAllow"
    other = replace(MAY_READ, principal="User:bob")
    assert decided(READ, [other], {"allow.everyone.if.no.acl.found": "true"}).by == "DefaultDeny"


def test_settings_that_are_none_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"super\.users"):
        decided(READ, [], {"super.users": "admin"})


def test_rules_for_a_host_count_from_there_alone() -> None:
    at_home = replace(MAY_READ, host="10.0.0.9")
    decision = decided(READ, [at_home], {})
    assert not decision.is_allowed
    lines = _lines(READ, decision, [at_home], are_settings_known=True)
    assert lines[-1] == "  rules for single hosts did not count (10.0.0.9): give one with --host"
    from_home = replace(READ, client_host="10.0.0.9")
    assert decided(from_home, [at_home], {}).is_allowed


def test_programs_get_the_rule_as_fields() -> None:
    row = _row(READ, decided(READ, [MAY_READ], {}))
    assert (row["allowed"], row["by"], row["host"]) == (True, "MatchingAcl", None)
    assert isinstance(row["rule"], dict)
    assert row["rule"]["resource"] == "orders-"
    assert _row(READ, decided(READ, [], {}))["rule"] is None


def test_settings_of_a_node_that_are_no_text_are_used_wrongly(tmp_path: Path) -> None:
    """Exit code 1 would say that the user may not."""
    file = tmp_path / "server.properties"
    file.write_bytes(b"super.users=User:\xfc")
    done = CliRunner().invoke(main, ["acls", "explain", "me", "Read", "topic:t", "--server-config", str(file)])  # fmt: skip
    assert done.exit_code == 2
    assert done.stderr == f"error: {file} is not a text in UTF-8: 'utf-8' codec can't decode byte 0xfc in position 17: invalid start byte\n"  # fmt: skip
