"""DescribeClientQuotas: the stored limits of the entities that a filter finds (KIP-546).

Versions 0-1, alike. Each component asks for one type of entity: by name (0), its default (1), or whatever has a limit
(2). `strict` leaves out entities that have further parts. No components: all entities, or none when strict. Components
that contradict themselves or each other are INVALID_REQUEST, unknown types UNSUPPORTED_VERSION.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum

from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.controller.configs.client_quotas import ENTITY_TYPES, IP
from millstream.errors import InvalidRequest, KafkaError, UnsupportedVersion
from millstream.metadata.stored_security import QuotaEntity
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    versions=range(2),
    permissions=(cluster_permission(Operation.DESCRIBE_CONFIGS),),
    kept_whole="components are of three kinds at most",
    tells_all=True,
)

_Condition = Callable[[str | None], bool]


class _Match(IntEnum):
    EXACT = 0
    DEFAULT = 1
    SPECIFIED = 2


def handle(
    request: DescribeClientQuotasRequest, _context: RequestContext, *, metadata: Metadata
) -> DescribeClientQuotasResponse:
    """Describes the quotas that match the filter. Raises InvalidRequest, UnsupportedVersion."""
    conditions = _conditions(request.components)
    return DescribeClientQuotasResponse(
        entries=[
            EntryData(
                entity=[EntityData(entity_type=p.type, entity_name=p.name) for p in entity],
                values=[ValueData(key=key, value=value) for key, value in limits.items()],
            )
            for entity, limits in metadata.image.client_quotas.items()
            if _is_asked_for(entity, conditions, strict=request.strict)
        ]
    )


def failed(
    _request: DescribeClientQuotasRequest, _version: int, error: KafkaError
) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(
        error_code=error.code, error_message=str(error), entries=None
    )


def _is_asked_for(entity: QuotaEntity, conditions: dict[str, _Condition], *, strict: bool) -> bool:
    names = {part.type: part.name for part in entity}
    if strict and len(names) != len(conditions):
        return False
    return all(kind in names and holds(names[kind]) for kind, holds in conditions.items())


def _conditions(components: Sequence[ComponentData]) -> dict[str, _Condition]:
    conditions: dict[str, _Condition] = {}
    for component in components:
        kind = component.entity_type
        if not kind:
            raise InvalidRequest("Invalid empty entity type.")
        if kind in conditions:
            raise InvalidRequest(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in ENTITY_TYPES:
            raise UnsupportedVersion(f"Unsupported entity type {kind}")
        conditions[kind] = _condition(component)
    if IP in conditions and len(conditions) > 1:
        raise InvalidRequest(
            "Invalid entity filter component combination. "
            "IP filter component should not be used with user or clientId filter component."
        )
    return conditions


def _condition(component: ComponentData) -> _Condition:
    wanted = component.match
    match component.match_type:
        case _Match.EXACT:
            if wanted is None:
                raise InvalidRequest(
                    "Request specified MATCH_TYPE_EXACT, but set match string to null."
                )
            return lambda name: name == wanted
        case _Match.DEFAULT:
            if wanted is not None:
                raise InvalidRequest(
                    "Request specified MATCH_TYPE_DEFAULT, but also specified a match string."
                )
            return lambda name: name is None
        case _Match.SPECIFIED:
            if wanted is not None:
                raise InvalidRequest(
                    "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string."
                )
            return _anything
        case unknown:
            raise InvalidRequest(f"Unknown match type {unknown}")


def _anything(name: str | None) -> bool:
    del name
    return True
