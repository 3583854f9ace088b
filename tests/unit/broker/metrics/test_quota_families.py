"""The metrics of quotas: Kafka's names and tags, and the values that follow from what clients took."""

from __future__ import annotations

from typing import Final

from millstream.broker.metrics.node_metrics import NodeMetrics
from millstream.broker.metrics.quota_families import quota_families
from millstream.broker.quotas.connection_quotas import ConnectionQuotas
from millstream.broker.quotas.node_quotas import NodeQuotas
from millstream.metadata.stored_security import QuotaEntity, quota_entity
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.create_topics import CreateTopicsRequest
from millstream.protocol.generated.fetch import FetchRequest
from millstream.protocol.generated.produce import ProduceRequest
from millstream.quota.rate import QuotaWindows
from tests.support.node_views import given_node
from tests.unit.broker.quotas.test_node_quotas import HandClock, context

EVERYBODY: Final = quota_entity([("user", None), ("client-id", None)])
IN_KAFKA: Final = {
    ("Produce", "byte-rate"), ("Produce", "throttle-time"), ("Fetch", "byte-rate"), ("Fetch", "throttle-time"), ("Request", "request-time"),
    ("Request", "throttle-time"), ("Request", "exempt-request-time"), ("ControllerMutation", "mutation-rate"), ("ControllerMutation", "tokens"),
    ("ControllerMutation", "throttle-time"), ("socket-server-metrics", "broker-connection-accept-rate"),
    ("socket-server-metrics", "connection-accept-rate"), ("socket-server-metrics", "connection-accept-throttle-time"),
    ("socket-server-metrics", "ip-connection-accept-throttle-time"),
}  # fmt: skip
"""Types and attributes of `kafka.server:type=…,user=…,client-id=…` and `…,listener=…`."""
Told = dict[str, list[tuple[float, dict[str, str]]]]


def told(quotas: NodeQuotas, *connections: ConnectionQuotas) -> Told:
    metrics = NodeMetrics(lambda: 0)
    metrics.connection_quotas = connections
    node = given_node(quotas=quotas, metrics=metrics, clock=HandClock())
    return {
        family.name: [(sample.value, dict(sample.labels)) for sample in family.samples]
        for family in quota_families(node)
    }


def quotas(entity: QuotaEntity = EVERYBODY, **limits: float) -> NodeQuotas:
    made = NodeQuotas(QuotaWindows(), QuotaWindows(), HandClock())
    made.use({entity: limits})
    return made


def test_their_names_are_those_of_the_exporter_for_kafka() -> None:
    expected = {f"kafka_server_{kind}_{name}".replace("-", "_").lower() for kind, name in IN_KAFKA}
    assert set(told(quotas())) - {"millstream_quota_throttled_total"} == expected


def test_what_a_client_took_and_waited_is_told_by_user_and_client_id() -> None:
    made = quotas(producer_byte_rate=1_000, request_percentage=1, consumer_byte_rate=100)
    asked = context(ApiKey.PRODUCE)
    made.charge(asked, ProduceRequest(), request_bytes=10_500, busy_ns=2_000_000_000)
    made.charge_fetch(asked, 500)
    found, alice = told(made), {"user": "ANONYMOUS", "client_id": "c"}
    assert found["kafka_server_produce_byte_rate"] == [(1_050, alice)]
    assert found["kafka_server_produce_throttle_time"] == [(500, alice)]
    assert found["kafka_server_fetch_byte_rate"] == [(50, alice)]
    assert found["kafka_server_fetch_throttle_time"] == [(0, alice)]
    assert found["kafka_server_request_request_time"] == [(20, alice)]
    assert found["kafka_server_request_throttle_time"] == [(1_000, alice)]
    counts = {labels["quota"]: value for value, labels in found["millstream_quota_throttled_total"]}
    assert counts["producer_byte_rate"] == counts["request_percentage"] == 1
    assert counts["consumer_byte_rate"] == 0


def test_a_part_that_does_not_count_is_empty() -> None:
    made = quotas(quota_entity([("user", None)]), producer_byte_rate=1_000)
    made.charge(context(ApiKey.PRODUCE), ProduceRequest(), request_bytes=10, busy_ns=0)
    assert told(made)["kafka_server_produce_byte_rate"] == [
        (1, {"user": "ANONYMOUS", "client_id": ""})
    ]


def test_requests_of_other_nodes_are_told_and_wait_for_nothing() -> None:
    made = quotas(request_percentage=1)
    follower = FetchRequest(replica_id=2)
    assert made.charge(context(ApiKey.FETCH), follower, request_bytes=0, busy_ns=3_000_000_000) == 0
    assert told(made)["kafka_server_request_exempt_request_time"] == [(10, {})]
    assert told(made)["kafka_server_request_request_time"] == []


def test_changes_of_metadata_are_told_as_rate_and_tokens() -> None:
    made = quotas(controller_mutation_rate=1)
    caller = context(ApiKey.CREATE_TOPICS, version=7)
    charge = made.begin_mutations(caller)
    assert charge is not None
    charge.take(20)
    made.settle_mutations(caller, charge)
    found, alice = told(made), {"user": "ANONYMOUS", "client_id": "c"}
    assert found["kafka_server_controllermutation_mutation_rate"] == [(2, alice)]
    assert found["kafka_server_controllermutation_tokens"] == [(-9, alice)]
    assert made.charge(caller, CreateTopicsRequest(), request_bytes=0, busy_ns=0) == 0


def test_connections_are_told_by_listener_and_by_address_with_a_quota() -> None:
    server = ConnectionQuotas(QuotaWindows())
    made = quotas(quota_entity([("ip", "10.0.0.1")]), connection_creation_rate=1)
    made.tell_of_addresses([server])
    for _ in range(20):
        server.record("CLIENTS", 1_000, 1, 0)
    server.record_address("CLIENTS", "10.0.0.1", 0, counts_for_all=True)
    found = told(made, server)
    assert found["kafka_server_socket_server_metrics_broker_connection_accept_rate"] == [(2, {})]
    assert found["kafka_server_socket_server_metrics_connection_accept_rate"] == [
        (2, {"listener": "CLIENTS"}), (0.1, {"ip": "10.0.0.1"}),
    ]  # fmt: skip
    waits = found["kafka_server_socket_server_metrics_connection_accept_throttle_time"]
    assert waits == [(1_000, {"listener": "CLIENTS"})]


def test_an_address_that_comes_to_both_servers_of_a_node_is_told_once() -> None:
    servers = [ConnectionQuotas(QuotaWindows()), ConnectionQuotas(QuotaWindows())]
    made = quotas(quota_entity([("ip", None)]), connection_creation_rate=10)
    made.tell_of_addresses(servers)
    for slot, server in enumerate(servers):
        server.record_address("L", "10.0.0.1", 0, counts_for_all=True)
        server.record_address("L", f"10.0.1.{slot}", 0, counts_for_all=True)
    found = told(made, *servers)["kafka_server_socket_server_metrics_connection_accept_rate"]
    assert sorted((labels["ip"], value) for value, labels in found) == [
        ("10.0.0.1", 0.2), ("10.0.1.0", 0.1), ("10.0.1.1", 0.1),
    ]  # fmt: skip


def test_who_has_no_quota_any_more_is_not_told() -> None:
    server = ConnectionQuotas(QuotaWindows())
    made = quotas(producer_byte_rate=1_000, controller_mutation_rate=1)
    made.charge(context(ApiKey.PRODUCE), ProduceRequest(), request_bytes=10, busy_ns=0)
    caller = context(ApiKey.CREATE_TOPICS, version=7)
    charge = made.begin_mutations(caller)
    assert charge is not None
    made.settle_mutations(caller, charge)
    server.use({"10.0.0.1": 1, "10.0.0.2": 1})
    for address in ("10.0.0.1", "10.0.0.2"):
        server.record_address("CLIENTS", address, 0, counts_for_all=True)
    assert told(made)["kafka_server_produce_byte_rate"]
    assert told(made)["kafka_server_controllermutation_tokens"]
    made.use(
        {quota_entity([("user", "bob")]): {"producer_byte_rate": 1, "controller_mutation_rate": 1}}
    )
    server.use({"10.0.0.2": 1})
    found = told(made, server)
    assert found["kafka_server_produce_byte_rate"] == []
    assert found["kafka_server_produce_throttle_time"] == []
    assert found["kafka_server_controllermutation_tokens"] == []
    rates = found["kafka_server_socket_server_metrics_connection_accept_rate"]
    assert rates == [(0.1, {"ip": "10.0.0.2"})]


def test_no_more_clients_are_told_than_a_page_can_take() -> None:
    made = quotas(producer_byte_rate=1_000)
    for number in range(1_100):
        asked = context(ApiKey.PRODUCE)
        asked.header.client_id = f"c{number}"
        made.charge(asked, ProduceRequest(), request_bytes=1, busy_ns=0)
    samples = told(made)["kafka_server_produce_byte_rate"]
    assert (len(samples), samples[0][1]["client_id"]) == (1_000, "c1099")
