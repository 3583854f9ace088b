"""Dynamic configurations through other people's admin clients."""

from __future__ import annotations

import warnings

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python's loader of schemas
    from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewTopic

from millstream.testing.broker import Broker

pytestmark = [
    pytest.mark.compat,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def test_kafka_python_sets_and_describes(shared_broker: Broker, topic: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=shared_broker.bootstrap_servers)
    try:
        admin.create_topics([NewTopic(topic, 1, 1)])
        admin.alter_configs(
            [ConfigResource(ConfigResourceType.TOPIC, topic, configs={"retention.ms": "12345"})]
        )
        told = admin.describe_configs(
            [ConfigResource(ConfigResourceType.TOPIC, topic, configs=["retention.ms"])]
        )
        assert "12345" in str(told)
    finally:
        admin.close()
