"""Who is charged with what, and who is not. Throttle times are Kafka's: tests/properties/quota."""

from __future__ import annotations

import math
from typing import Any

import pytest

from millstream.broker.quotas.node_quotas import NodeClocks, NodeQuotas
from millstream.broker.quotas.throttled_clients import QuotaKind
from millstream.broker.requests.request_context import RequestContext
from millstream.errors import ThrottlingQuotaExceeded
from millstream.metadata.stored_security import quota_entity
from millstream.net.server.client_connection import ClientConnection
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.fetch import FetchRequest
from millstream.protocol.generated.headers import RequestHeader
from millstream.protocol.generated.heartbeat import HeartbeatRequest
from millstream.protocol.generated.produce import ProduceRequest
from millstream.protocol.generated.vote import VoteRequest
from millstream.quota.rate import QuotaWindows
from millstream.quota.token_bucket import MutationCharge
from millstream.runtime import Instant

EVERYBODY = quota_entity([("user", None)])


class HandClock:
    """Goes on when a test says so."""

    def __init__(self) -> None:
        self.now_ms = 0

    def now(self) -> Instant:
        return Instant(self.now_ms, self.now_ms)


def quotas(clock: HandClock | None = None, **limits: float) -> NodeQuotas:
    made = NodeQuotas(QuotaWindows(), QuotaWindows(), clock or HandClock())
    made.use({EVERYBODY: limits})
    return made


def context(key: ApiKey, version: int = 0, now_ms: int = 0, **fields: Any) -> RequestContext:
    header = RequestHeader(request_api_key=key, request_api_version=version, client_id="c")
    connection = ClientConnection(1, "10.0.0.9", 5555, "PLAINTEXT", **fields)
    return RequestContext(header, connection, Instant(now_ms, now_ms))


def test_a_produce_is_charged_with_its_size_and_its_time_and_the_longer_wait_counts() -> None:
    made = quotas(producer_byte_rate=1_000, request_percentage=10)
    asked = context(ApiKey.PRODUCE)
    assert made.charge(asked, ProduceRequest(), request_bytes=10_500, busy_ns=1_000) == 500
    # 200 % of a second where 100 are free: ten seconds, of which a client waits one window at most.
    wait_ms = made.charge(asked, ProduceRequest(), request_bytes=0, busy_ns=2_000_000_000)
    assert wait_ms == 1_000


def test_a_produce_is_charged_with_its_bytes_once_and_when_it_comes() -> None:
    """Those behind it wait although it is not answered yet."""
    made = NodeQuotas(QuotaWindows(), QuotaWindows(), HandClock(), NodeClocks(lambda: 0, lambda: 0))
    made.use({EVERYBODY: {"producer_byte_rate": 1_000}})
    asked = context(ApiKey.PRODUCE)
    asked.time = made.request_time()
    assert made.charge_arrival(asked, 10_500) == 500
    assert made.charge(asked, ProduceRequest(), request_bytes=10_500, busy_ns=0) == 500
    assert [rate.per_second(0) for _, rate in made.rates(QuotaKind.PRODUCE)] == [1_050]


def test_other_requests_are_charged_with_their_time_alone() -> None:
    made = quotas(producer_byte_rate=1)
    asked = context(ApiKey.HEARTBEAT)
    assert made.charge(asked, HeartbeatRequest(), request_bytes=10_000, busy_ns=1) == 0


def test_nodes_do_not_wait_for_each_other() -> None:
    made = quotas(request_percentage=0.001)
    second = {"request_bytes": 0, "busy_ns": 1_000_000_000}
    assert made.charge(context(ApiKey.VOTE), VoteRequest(), **second) == 0
    follower = FetchRequest(replica_id=2)
    assert made.charge(context(ApiKey.FETCH), follower, **second) == 0
    passed_on = context(ApiKey.CREATE_TOPICS, is_forwarded=True)
    assert made.charge(passed_on, HeartbeatRequest(), **second) == 0
    assert made.charge(context(ApiKey.FETCH), FetchRequest(), **second) == 1_000


def test_a_fetch_that_has_to_wait_is_not_charged() -> None:
    clock = HandClock()
    made = quotas(clock, consumer_byte_rate=1_000)
    asked = context(ApiKey.FETCH)
    assert made.fetch_bytes_max(asked) == 10_000
    assert made.charge_fetch(asked, 10_000) == 0
    assert made.charge_fetch(asked, 1_000) == 1_000
    clock.now_ms = 11_000
    assert made.charge_fetch(asked, 1_000) == 0, "the windows are over"


@pytest.mark.parametrize(("quota", "bytes_max"), [(math.inf, 2**31 - 1), (math.nan, 2**31 - 1), (1e-300, 0)])  # fmt: skip
def test_a_fetch_is_sent_no_more_than_an_odd_quota_allows(quota: float, bytes_max: int) -> None:
    assert quotas(consumer_byte_rate=quota).fetch_bytes_max(context(ApiKey.FETCH)) == bytes_max


def test_the_time_of_a_fetch_holds_its_records_back_and_is_charged_once() -> None:
    """As on Kafka: the longer wait of the two counts, and whichever it is, the bytes are not charged."""
    clock, now_ns = HandClock(), [0]
    clocks = NodeClocks(lambda: now_ns[0], lambda: 0)
    made = NodeQuotas(QuotaWindows(), QuotaWindows(), clock, clocks)
    made.use({EVERYBODY: {"request_percentage": 10, "consumer_byte_rate": 1_000}})
    asked = context(ApiKey.FETCH)
    asked.time = made.request_time(0)
    now_ns[0] = 1_500_000_000  # 150 %, of which 100 are free
    assert made.charge_fetch(asked, 9_000) == 1_000
    busy = {"request_bytes": 0, "busy_ns": now_ns[0]}
    assert made.charge(asked, FetchRequest(), **busy) == 0, "it was charged already"
    assert [rate.per_second(0) for _, rate in made.rates(QuotaKind.REQUEST)] == [15]
    assert [rate.per_second(0) for _, rate in made.rates(QuotaKind.FETCH)] == [0]


def test_a_request_that_waited_is_charged_when_it_ends() -> None:
    clock = HandClock()
    made = quotas(clock, producer_byte_rate=1_000)
    early, late = context(ApiKey.PRODUCE, now_ms=0), context(ApiKey.PRODUCE, now_ms=30_000)
    clock.now_ms = 30_000
    assert made.charge(late, ProduceRequest(), request_bytes=10_000, busy_ns=0) == 0
    clock.now_ms = 30_001
    assert made.charge(early, ProduceRequest(), request_bytes=500, busy_ns=0) == 499


def test_without_quotas_nothing_is_asked() -> None:
    made = quotas(producer_byte_rate=1)
    assert made.is_enabled
    made.use({})
    assert not made.is_enabled


def charged(made: NodeQuotas, version: int, partitions: int) -> MutationCharge:
    """A request that creates so many partitions, at most, and is written."""
    caller = context(ApiKey.CREATE_TOPICS, version)
    charge = made.begin_mutations(caller)
    assert charge is not None
    try:
        charge.take(partitions)
    finally:
        made.settle_mutations(caller, charge)
    return charge


def test_new_clients_are_refused_when_the_bucket_is_overdrawn() -> None:
    made = quotas(controller_mutation_rate=1)
    assert charged(made, 7, 12).throttle_time_ms == 0, (
        "what is taken while there are tokens is taken whole"
    )
    with pytest.raises(ThrottlingQuotaExceeded):
        charged(made, 7, 1)
    caller = context(ApiKey.CREATE_TOPICS, 7)
    refused = made.begin_mutations(caller)
    assert refused is not None
    with pytest.raises(ThrottlingQuotaExceeded):
        refused.take(1)
    assert refused.throttle_time_ms == 1_000


def test_old_clients_are_served_and_wait_afterwards() -> None:
    made = quotas(controller_mutation_rate=1)
    assert charged(made, 5, 12).throttle_time_ms == 1_000
    assert charged(made, 5, 2).throttle_time_ms == 3_000


def test_a_plan_that_is_made_again_is_charged_once() -> None:
    made = quotas(controller_mutation_rate=1)
    caller = context(ApiKey.DELETE_TOPICS, 6)
    for _ in range(3):
        again = made.begin_mutations(caller)
        assert again is not None
        again.take(11)
    made.settle_mutations(caller, again)
    charged(made, 7, 1)


def test_what_changes_no_partitions_and_what_a_node_asks_itself_is_free() -> None:
    made = quotas(controller_mutation_rate=1)
    assert made.begin_mutations(context(ApiKey.CREATE_ACLS)) is None
    assert made.begin_mutations(None) is None
