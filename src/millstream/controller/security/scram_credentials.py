"""AlterUserScramCredentials: what verifies users' passwords; one result for each user (KIP-554)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from millstream.controller.operation import ControllerApi, ControllerContext, ControllerResult
from millstream.errors import (
    DuplicateResource,
    KafkaError,
    ResourceNotFound,
    UnacceptableCredential,
    UnsupportedSaslMechanism,
    UnsupportedVersion,
)
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.features import Capability, can
from millstream.metadata.image import MetadataImage
from millstream.metadata.stored_security import ScramUser
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from millstream.protocol.generated.metadata_records import (
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from millstream.security.scram import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    ScramMechanism,
    scram_keys,
)


@dataclass(frozen=True, slots=True)
class _Alteration:
    user: str
    plan: Callable[[], MetadataRecord]
    """Raises what is wrong with it."""


def plan_alter_scram_credentials(
    context: ControllerContext, request: AlterUserScramCredentialsRequest
) -> ControllerResult[AlterUserScramCredentialsResponse]:
    """A user can be altered once in a request; the first thing wrong with a user is told, deletions
    before the others.
    """
    image = context.image
    alterations = [
        *(_Alteration(asked.name, partial(_deletion, asked, image)) for asked in request.deletions),
        *(_Alteration(asked.name, partial(_upsertion, asked)) for asked in request.upsertions),
    ]
    counts = Counter(alteration.user for alteration in alterations)
    records: list[MetadataRecord] = []
    results: dict[str, AlterUserScramCredentialsResult] = {}
    for alteration in alterations:
        if alteration.user in results:
            continue
        result = results[alteration.user] = AlterUserScramCredentialsResult(
            user=alteration.user, error_message=None
        )
        try:
            if not can(image, Capability.SCRAM):
                raise UnsupportedVersion("The current metadata.version does not support SCRAM")
            record = alteration.plan()
            if counts[alteration.user] > 1:
                raise DuplicateResource(
                    "A user credential cannot be altered twice in the same request"
                )
        except KafkaError as error:
            result.error_code, result.error_message = error.code, str(error)
        else:
            records.append(record)
    response = AlterUserScramCredentialsResponse(results=list(results.values()))
    return ControllerResult(tuple(records), response)


ALTER_USER_SCRAM_CREDENTIALS: Final = ControllerApi(
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS, plan_alter_scram_credentials
)


def _upsertion(asked: ScramCredentialUpsertion) -> UserScramCredentialRecord:
    mechanism = _checked_mechanism(asked.name, asked.mechanism)
    if asked.iterations < ITERATIONS_MIN:
        raise UnacceptableCredential("Too few iterations")
    if asked.iterations > ITERATIONS_MAX:
        raise UnacceptableCredential("Too many iterations")
    keys = scram_keys(mechanism, bytes(asked.salted_password))
    return UserScramCredentialRecord(
        name=asked.name,
        mechanism=mechanism,
        salt=bytes(asked.salt),
        stored_key=keys.stored_key,
        server_key=keys.server_key,
        iterations=asked.iterations,
    )


def _deletion(
    asked: ScramCredentialDeletion, image: MetadataImage
) -> RemoveUserScramCredentialRecord:
    mechanism = _checked_mechanism(asked.name, asked.mechanism)
    if ScramUser(asked.name, mechanism) not in image.scram:
        raise ResourceNotFound("Attempt to delete a user credential that does not exist")
    return RemoveUserScramCredentialRecord(name=asked.name, mechanism=mechanism)


def _checked_mechanism(user: str, number: int) -> ScramMechanism:
    if not user:
        raise UnacceptableCredential("Username must not be empty")
    try:
        return ScramMechanism(number)
    except ValueError:
        raise UnsupportedSaslMechanism("Unknown SCRAM mechanism") from None
