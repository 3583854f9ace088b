"""The most specific quota holds, in Kafka's order (KIP-55)."""

from __future__ import annotations

import pytest

from millstream.metadata.stored_security import QuotaEntity, quota_entity
from millstream.quota.client_quotas import ClientQuotas, Counted

USER, CLIENT = "user", "client-id"
BY_PRECEDENCE: list[tuple[QuotaEntity, Counted]] = [
    (quota_entity([(CLIENT, "c"), (USER, "u")]), Counted("u", "c")),
    (quota_entity([(CLIENT, None), (USER, "u")]), Counted("u", "c")),
    (quota_entity([(USER, "u")]), Counted("u", "")),
    (quota_entity([(CLIENT, "c"), (USER, None)]), Counted("u", "c")),
    (quota_entity([(CLIENT, None), (USER, None)]), Counted("u", "c")),
    (quota_entity([(USER, None)]), Counted("u", "")),
    (quota_entity([(CLIENT, "c")]), Counted("", "c")),
    (quota_entity([(CLIENT, None)]), Counted("", "c")),
]


@pytest.mark.parametrize("first", range(len(BY_PRECEDENCE)))
def test_of_several_the_most_specific_holds(first: int) -> None:
    limits = {entity: float(number) for number, (entity, _) in enumerate(BY_PRECEDENCE)}
    quotas = ClientQuotas({e: limit for e, limit in limits.items() if limit >= first})
    counted = quotas.counted("u", "c")
    assert counted == BY_PRECEDENCE[first][1]
    assert quotas.limit(counted) == first


def test_where_users_alone_have_quotas_others_are_counted_by_user_too() -> None:
    quotas = ClientQuotas({quota_entity([(USER, "u")]): 5.0})
    counted = quotas.counted("other", "c")
    assert counted == Counted("other", "")
    assert quotas.limit(counted) is None


def test_one_kind_is_taken_from_all_quotas_of_a_cluster() -> None:
    stored: list[tuple[QuotaEntity, dict[str, float]]] = [
        (quota_entity([(USER, "u")]), {"producer_byte_rate": 7.0, "consumer_byte_rate": 8.0}),
        (quota_entity([("ip", "10.0.0.1")]), {"connection_creation_rate": 3.0}),
    ]
    quotas = ClientQuotas.of("consumer_byte_rate", stored)
    assert quotas.limit(quotas.counted("u", "c")) == 8
    assert not ClientQuotas.of("request_percentage", stored)
