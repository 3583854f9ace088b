"""Client quotas: describe and alter the limits of users, clients and addresses (KIP-546)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import Results, check, done
from millstream.clients.admin.core.routes import AnyBroker
from millstream.clients.admin.driver import AdminCalls
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated import alter_client_quotas as alter
from millstream.protocol.generated import describe_client_quotas as describe


class QuotaDefault(Enum):
    """The entity of all that have no quota of their own."""

    DEFAULT = "<default>"


class QuotaAny(Enum):
    """In a filter: any entity of this type."""

    ANY = "<any>"


DEFAULT_ENTITY: Final = QuotaDefault.DEFAULT
ANY_ENTITY: Final = QuotaAny.ANY

_TYPES: Final = ("user", "client-id", "ip")
_EXACT, _OF_DEFAULT, _SPECIFIED = 0, 1, 2


class ClientQuotaEntity(NamedTuple):
    """Whom a quota limits: a user, a client id, both, or an address; DEFAULT_ENTITY for all
    that have none of their own.

    None: that does not matter.
    """

    user: str | QuotaDefault | None = None
    client_id: str | QuotaDefault | None = None
    ip: str | QuotaDefault | None = None


class ClientQuotaFilter(NamedTuple):
    """Selects entities by type and name; ANY_ENTITY selects those that name one of that type.

    None leaves a type open; `strict` wants entities that have no type left open.
    """

    user: str | QuotaDefault | QuotaAny | None = None
    client_id: str | QuotaDefault | QuotaAny | None = None
    ip: str | QuotaDefault | QuotaAny | None = None
    strict: bool = False


async def describe_client_quotas(
    admin: AdminCalls,
    quota_filter: ClientQuotaFilter | None = None,
    *,
    timeout_ms: int | None = None,
) -> dict[ClientQuotaEntity, dict[str, float]]:
    """Describes the quotas of entities, by key, as `producer_byte_rate` (Kafka 2.6). None for all."""
    wanted = quota_filter or ClientQuotaFilter()
    components = [
        _component(kind, match)
        for kind, match in zip(_TYPES, (wanted.user, wanted.client_id, wanted.ip), strict=True)
        if match is not None
    ]

    def read(
        response: describe.DescribeClientQuotasResponse, asked: Asked[None]
    ) -> dict[None, dict[ClientQuotaEntity, dict[str, float]]]:
        check(response.error_code, "describe_client_quotas", response.error_message)
        quotas = {
            _entity({each.entity_type: each.entity_name for each in entry.entity}): {
                each.key: each.value for each in entry.values
            }
            for entry in response.entries or ()
        }
        return dict.fromkeys(asked.keys, quotas)

    call = Call(
        api=ApiKey.DESCRIBE_CLIENT_QUOTAS,
        response=describe.DescribeClientQuotasResponse,
        route=AnyBroker(),
        build=lambda _: describe.DescribeClientQuotasRequest(
            components=components, strict=wanted.strict
        ),
        read=read,
    )
    return await admin._driver.one(call, None, admin._driver.deadline(timeout_ms))


async def alter_client_quotas(
    admin: AdminCalls,
    changes: Mapping[ClientQuotaEntity, Mapping[str, float | None]],
    *,
    validate_only: bool = False,
    timeout_ms: int | None = None,
) -> Results[ClientQuotaEntity, None]:
    """Set quotas by key; None removes one (Kafka 2.6)."""

    def build(asked: Asked[ClientQuotaEntity]) -> alter.AlterClientQuotasRequest:
        entries = [
            alter.AlterClientQuotasRequestEntryData(
                entity=[
                    alter.EntityData(kind, None if name is DEFAULT_ENTITY else name)
                    for kind, name in zip(_TYPES, entity, strict=True)
                    if name is not None
                ],
                ops=[
                    alter.OpData(key, value or 0.0, value is None)
                    for key, value in changes[entity].items()
                ],
            )
            for entity in asked.keys
        ]
        return alter.AlterClientQuotasRequest(entries=entries, validate_only=validate_only)

    def read(
        response: alter.AlterClientQuotasResponse, _: Asked[ClientQuotaEntity]
    ) -> dict[ClientQuotaEntity, KafkaError | None]:
        results: dict[ClientQuotaEntity, KafkaError | None] = {}
        for entry in response.entries:
            entity = _entity({each.entity_type: each.entity_name for each in entry.entity})
            results[entity] = done(entry.error_code, entity, entry.error_message)
        return results

    call = Call(
        api=ApiKey.ALTER_CLIENT_QUOTAS,
        response=alter.AlterClientQuotasResponse,
        route=AnyBroker(),
        build=build,
        read=read,
    )
    return await admin._driver.run(call, changes, admin._driver.deadline(timeout_ms))


def _component(kind: str, match: str | QuotaDefault | QuotaAny) -> describe.ComponentData:
    if isinstance(match, str):
        return describe.ComponentData(kind, _EXACT, match)
    return describe.ComponentData(
        kind, _OF_DEFAULT if match is DEFAULT_ENTITY else _SPECIFIED, None
    )


def _entity(names: Mapping[str, str | None]) -> ClientQuotaEntity:
    def name(kind: str) -> str | QuotaDefault | None:
        if kind not in names:
            return None
        named = names[kind]
        return DEFAULT_ENTITY if named is None else named

    return ClientQuotaEntity(*(name(kind) for kind in _TYPES))
