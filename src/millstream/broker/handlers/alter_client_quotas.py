"""AlterClientQuotas: limits of users, client ids and addresses are stored or removed (KIP-546).

Versions 0-1, alike. One result for each entity; each is changed as a whole or not at all, and an entity given
twice is INVALID_REQUEST, of which the first counts. With `validate_only` nothing changes. Host names in place
of addresses are not looked up.
"""

from __future__ import annotations

from collections.abc import Awaitable

from millstream.broker.requests.api_spec import ApiSpec, Lists, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient
from millstream.controller.configs.client_quotas import ALTER_CLIENT_QUOTAS
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntryData,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.ALTER_CLIENT_QUOTAS,
    versions=range(2),
    permissions=(cluster_permission(Operation.ALTER_CONFIGS),),
    is_forwarded=True,
    lists=(Lists(("entries",), ("entries",), records=lambda each: len(each.ops)),),
)


def handle(
    request: AlterClientQuotasRequest, context: RequestContext, *, controller: ControllerClient
) -> Awaitable[AlterClientQuotasResponse]:
    return controller.ask(ALTER_CLIENT_QUOTAS, request, context)


def failed(
    request: AlterClientQuotasRequest, _version: int, error: KafkaError
) -> AlterClientQuotasResponse:
    return AlterClientQuotasResponse(
        entries=[
            AlterClientQuotasResponseEntryData(
                error_code=error.code, error_message=str(error), entity=entry.entity
            )
            for entry in request.entries
        ]
    )
