"""Addresses as Java writes them, which is how Kafka's rules, logs and answers have them."""

from __future__ import annotations

import pytest

from millstream.net.server.admission import Admission
from millstream.net.server.limits import ConnectionLimits, connection_overrides
from millstream.security.acl import Operation, ResourceType
from millstream.security.principal import host_text
from tests.support.access_rules import authorizer, client, rule

READ, TOPIC = Operation.READ, ResourceType.TOPIC
LOOPBACK = "0:0:0:0:0:0:0:1"


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("10.0.0.9", "10.0.0.9"),
        ("::ffff:10.0.0.9", "10.0.0.9"),
        ("::1", LOOPBACK),
        ("2001:DB8::a:0:01", "2001:db8:0:0:0:a:0:1"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0"),
        ("*", "*"),
        ("no.address", "no.address"),
        ("", ""),
    ],
)
def test_an_address_has_one_text(address: str, text: str) -> None:
    assert host_text(address) == text
    assert host_text(text) == text


@pytest.mark.parametrize("written", [LOOPBACK, "::1", "0:0::1"])
def test_a_rule_is_about_a_host_however_its_address_is_written(written: str) -> None:
    here, elsewhere = client(host=LOOPBACK), client(host="0:0:0:0:0:0:0:2")
    deny = rule(READ, TOPIC, "orders", host=written, deny=True)
    decider = authorizer(rule(READ, TOPIC, "orders"), deny)
    assert not decider.decide(here, READ, TOPIC, "orders").is_allowed
    assert decider.decide(elsewhere, READ, TOPIC, "orders").is_allowed
    only_here = authorizer(rule(READ, TOPIC, "orders", host=written))
    assert only_here.decide_for_any(here, READ, TOPIC).is_allowed
    assert not only_here.decide_for_any(elsewhere, READ, TOPIC).is_allowed


def test_an_own_limit_of_an_address_counts_however_it_is_written() -> None:
    overrides = connection_overrides("[::1]:1,::ffff:10.0.0.9:2")
    assert overrides == {LOOPBACK: 1, "10.0.0.9": 2}
    admission = Admission(ConnectionLimits(connections_per_host_overrides=overrides))
    admission.admit("CLIENTS", LOOPBACK)
    assert admission.refusal(LOOPBACK) is not None
