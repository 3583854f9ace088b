"""A cluster with TLS, logins and access rules goes on when nodes go, as any other."""

from __future__ import annotations

import pytest

from millstream.clients import NewTopic
from millstream.clients.blocking import Admin, Producer
from millstream.errors import ConfigError, SaslAuthenticationFailed
from millstream.testing import NodeStateError, SecureCluster


def test_nodes_fail_over_and_come_back() -> None:
    with SecureCluster() as cluster:
        first = cluster.active_controller()
        with pytest.raises(NodeStateError, match="cannot be cut"):
            cluster.partition(first)
        with Admin(**cluster.client_settings) as admin:
            admin.create_topics([NewTopic("t", 3, 3)]).raise_errors()
        with Producer(**cluster.client_settings, acks="all") as producer:
            producer.send("t", b"before").result()
            cluster.kill(first)
            while cluster.active_controller() == first:
                pass
            producer.send("t", b"after").result()
        with Admin(**cluster.client_settings) as admin:
            admin.create_topics([NewTopic("later", 1, 2)]).raise_errors()
            cluster.restart(first)
            while len(admin.describe_topics(["t"]).result("t").partitions[0].isr) < 3:
                pass  # until the node that came back has caught up
        wrong = {"sasl_username": "admin", "sasl_password": "guess"}
        with (
            Admin(**cluster.client_settings | wrong) as stranger,
            pytest.raises(SaslAuthenticationFailed),
        ):
            stranger.list_topics()


def test_settings_that_make_it_secure_are_its_own() -> None:
    with pytest.raises(ConfigError, match=r"super\.users is set for each node by the cluster"):
        SecureCluster(settings={"super.users": "User:ANONYMOUS"})
