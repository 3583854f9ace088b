"""What a node says, as it starts, of the logins at its listeners."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.login.node_logins import NodeLogins
from millstream.broker.services import BackgroundTasks
from millstream.metadata.broker_registration import SecurityProtocol
from millstream.metadata.image import MetadataImage
from millstream.net.server.login_gate import WorkerPool
from millstream.runtime.system import SystemClock
from millstream.security.jaas import MODULES

SETTINGS = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "inter.broker.listener.name": "SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{MODULES["PLAIN"]} required username="node" password="sesame" user_node="sesame";',
}


class Metadata:
    image = MetadataImage()


@pytest.mark.parametrize("protocol", [SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL])
def test_plain_is_warned_of_where_the_network_sees_it(
    caplog: pytest.LogCaptureFixture, protocol: SecurityProtocol
) -> None:
    config = broker_config(SETTINGS)
    protection = replace(config.protection, protocols={"SASL_PLAINTEXT": protocol})
    logins = NodeLogins(
        replace(config, protection=protection), Metadata(), SystemClock(), cast("WorkerPool", None), cast("BackgroundTasks", None)
    )  # fmt: skip
    rules = logins.rules_of(config.listeners)
    assert set(rules["SASL_PLAINTEXT"].mechanisms) == {"PLAIN", "SCRAM-SHA-256"}
    warned = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert ["has no TLS: with PLAIN" in each for each in warned] == [True] * (not protocol.has_tls)
