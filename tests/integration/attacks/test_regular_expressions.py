"""Expressions that a client may send, made to cost as much as they can: nobody else waits for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.errors import InvalidRegularExpression
from millstream.model import ZERO_UUID
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import ConfigResourceType
from millstream.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from millstream.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest
from millstream.protocol.generated.find_coordinator import FindCoordinatorRequest
from millstream.protocol.generated.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
)
from millstream.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from millstream.protocol.generated.init_producer_id import InitProducerIdRequest
from millstream.protocol.generated.list_transactions import ListTransactionsRequest
from tests.patience import wait_until
from tests.support.attacks import AttackedNode
from tests.support.clients.raw_client import RawClient

TOPICS = 300
COSTLY = {
    "ten thousand groups": "()" * 10_000,
    "nine hundred letters": r"\p{L}{900}",
    "every choice open": r"(\p{L}?){1000}",
    "optional letters": "(a?)" * 8_000,
    "too large once it is compiled": r"(\p{L}{1000})" * 40,
}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedNode]:
    directory: Path = tmp_path_factory.mktemp("expressions")
    with AttackedNode(directory) as node:
        with node.client() as client:
            topics = [CreatableTopic(f"{'a' * 200}{i}", 1, 1) for i in range(TOPICS)]
            answer = client.ask(ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=topics))
            assert not any(topic.error_code for topic in answer.topics)
            _ready(client)
        yield node


def _ready(client: RawClient) -> None:
    """Returns when both coordinators answer."""
    for kind, key in ((0, "ready"), (1, "t")):
        request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
        client.ask(ApiKey.FIND_COORDINATOR, 4, request)
    wait_until(lambda: _heartbeat(client, "ready", "a").error_code == 0)
    request = InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=1_000)
    wait_until(lambda: client.ask(ApiKey.INIT_PRODUCER_ID, 4, request).error_code == 0)


def _heartbeat(
    client: RawClient, group: str, regex: str | None, epoch: int = 0
) -> ConsumerGroupHeartbeatResponse:
    request = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="member",
        member_epoch=epoch,
        rebalance_timeout_ms=10_000,
        subscribed_topic_regex=regex,
        topic_partitions=[],
    )
    answer: ConsumerGroupHeartbeatResponse = client.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request)
    return answer


def _topics_owned(client: RawClient, group: str) -> int:
    answer = _heartbeat(client, group, "a+1?[0-9]")
    assert answer.assignment is not None, answer
    return len(answer.assignment.topic_partitions)


@pytest.mark.parametrize("name", COSTLY)
def test_a_subscription_by_a_costly_expression_delays_nobody(node: AttackedNode, name: str) -> None:
    with node.client() as client, node.attack():
        refused = _heartbeat(client, f"group of {name}", COSTLY[name]).error_code
        assert refused == (InvalidRegularExpression.code if "too large" in name else 0)
        if not refused:  # the next heartbeats find it matched, or not yet
            for _ in range(3):
                _heartbeat(client, f"group of {name}", COSTLY[name])


@pytest.mark.parametrize("name", COSTLY)
def test_a_list_of_transactions_by_a_costly_expression_delays_nobody(
    node: AttackedNode, name: str
) -> None:
    with node.client() as client, node.attack():
        request = ListTransactionsRequest(transactional_id_pattern=COSTLY[name])
        answer = client.ask(ApiKey.LIST_TRANSACTIONS, 2, request)
        assert answer.error_code == (InvalidRegularExpression.code if "too large" in name else 0)


@pytest.mark.parametrize("name", COSTLY)
def test_client_metrics_by_a_costly_expression_delay_nobody(node: AttackedNode, name: str) -> None:
    config = AlterableConfig(name="match", value=f"client_id={COSTLY[name]}")
    resource = AlterConfigsResource(ConfigResourceType.CLIENT_METRICS, "costly", [config])
    with node.client() as client, node.attack():
        request = IncrementalAlterConfigsRequest(resources=[resource])
        answer = client.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)
        assert answer.responses[0].error_code == 0
        request = GetTelemetrySubscriptionsRequest(client_instance_id=ZERO_UUID)
        assert client.ask(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, 0, request).requested_metrics == []


def test_a_subscription_finds_its_topics_behind_costly_ones(node: AttackedNode) -> None:
    with node.client() as client:
        wait_until(lambda: _topics_owned(client, "plain") == 20)
