"""AlterUserScramCredentials: what verifies users' passwords is stored or removed (KIP-554).

Version 0. One result for each user, who can be altered once in a request: DUPLICATE_RESOURCE otherwise.
Unknown mechanisms are UNSUPPORTED_SASL_MECHANISM, no name or iterations outside 4096-16384
UNACCEPTABLE_CREDENTIAL, a credential to delete that is not there RESOURCE_NOT_FOUND. Salted passwords are
turned into keys at once and stored nowhere.
"""

from __future__ import annotations

from collections.abc import Awaitable

from millstream.broker.requests.api_spec import ApiSpec, Lists, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient
from millstream.controller.security.scram_credentials import ALTER_USER_SCRAM_CREDENTIALS
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    versions=range(1),
    permissions=(cluster_permission(Operation.ALTER),),
    is_forwarded=True,
    lists=(
        Lists(("deletions",), ("results",), records=lambda _each: 1),
        Lists(("upsertions",), ("results",), records=lambda _each: 1),
    ),
)


def handle(
    request: AlterUserScramCredentialsRequest,
    context: RequestContext,
    *,
    controller: ControllerClient,
) -> Awaitable[AlterUserScramCredentialsResponse]:
    return controller.ask(ALTER_USER_SCRAM_CREDENTIALS, request, context)


def failed(
    request: AlterUserScramCredentialsRequest, _version: int, error: KafkaError
) -> AlterUserScramCredentialsResponse:
    deleted = [each.name for each in request.deletions]
    users = dict.fromkeys(deleted + [each.name for each in request.upsertions])
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(
                user=user, error_code=error.code, error_message=str(error)
            )
            for user in users
        ]
    )
