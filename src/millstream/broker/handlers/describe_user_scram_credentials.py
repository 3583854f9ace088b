"""DescribeUserScramCredentials: mechanisms and iterations of users' credentials, never what they verify with (KIP-554).

Version 0. No users named, or null: all who have a credential. A user without one is RESOURCE_NOT_FOUND, one named twice
DUPLICATE_RESOURCE.
"""

from __future__ import annotations

from collections import Counter

from millstream.broker.requests.api_spec import ApiSpec, Lists, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.errors import DuplicateResource, KafkaError, ResourceNotFound
from millstream.metadata.image import MetadataImage
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    versions=range(1),
    permissions=(cluster_permission(Operation.DESCRIBE),),
    lists=(Lists(("users",), ("results",)),),
)


def handle(
    request: DescribeUserScramCredentialsRequest, _context: RequestContext, *, metadata: Metadata
) -> DescribeUserScramCredentialsResponse:
    credentials = _credentials(metadata.image)
    asked = Counter(user.name for user in request.users or ()) or Counter(credentials.keys())
    return DescribeUserScramCredentialsResponse(
        results=[
            _refused(
                name,
                DuplicateResource.code,
                "Cannot describe SCRAM credentials for the same user twice in a single request",
            )
            if count > 1
            else _described(name, credentials)
            for name, count in asked.items()
        ]
    )


def failed(
    request: DescribeUserScramCredentialsRequest, _version: int, error: KafkaError
) -> DescribeUserScramCredentialsResponse:
    """Returns the response; it says the error once more for each user, whose name it leaves out, as Kafka does."""
    return DescribeUserScramCredentialsResponse(
        error_code=error.code,
        error_message=str(error),
        results=[
            DescribeUserScramCredentialsResult(error_code=error.code, error_message=None)
            for _ in request.users or ()
        ],
    )


def _credentials(image: MetadataImage) -> dict[str, list[CredentialInfo]]:
    by_user: dict[str, list[CredentialInfo]] = {}
    for user, credential in image.scram.items():
        info = CredentialInfo(mechanism=user.mechanism, iterations=credential.iterations)
        by_user.setdefault(user.name, []).append(info)
    return by_user


def _described(
    name: str, credentials: dict[str, list[CredentialInfo]]
) -> DescribeUserScramCredentialsResult:
    if name not in credentials:
        return _refused(
            name,
            ResourceNotFound.code,
            "Attempt to describe a user credential that does not exist",
        )
    infos = sorted(credentials[name], key=lambda info: info.mechanism)
    return DescribeUserScramCredentialsResult(user=name, credential_infos=infos)


def _refused(name: str, code: int, problem: str) -> DescribeUserScramCredentialsResult:
    return DescribeUserScramCredentialsResult(
        user=name, error_code=code, error_message=str(KafkaError(f"{problem}: {name}"))
    )
