"""SCRAM credentials of users (KIP-554). Passwords are salted and hashed here: brokers never see them."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import Results, check, done, item_error
from millstream.clients.admin.core.routes import AnyBroker, Controller
from millstream.clients.admin.driver import AdminCalls
from millstream.errors import ConfigError, KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from millstream.protocol.generated.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
    UserName,
)
from millstream.security.scram import ScramMechanism

DEFAULT_ITERATIONS: Final = 8192
_SALT_BYTES: Final = 24


class ScramCredentialInfo(NamedTuple):
    mechanism: ScramMechanism
    iterations: int


@dataclass(frozen=True, slots=True)
class UpsertScramCredential:
    """A user's password for one mechanism. The salt is drawn unless it is given."""

    user: str
    mechanism: ScramMechanism
    password: str = field(repr=False)
    iterations: int = DEFAULT_ITERATIONS
    salt: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class DeleteScramCredential:
    user: str
    mechanism: ScramMechanism


async def describe_user_scram_credentials(
    admin: AdminCalls, users: Iterable[str] = (), *, timeout_ms: int | None = None
) -> Results[str, list[ScramCredentialInfo]]:
    """Describes the credentials of these users, or of all that have any (Kafka 2.7).

    ResourceNotFound for a user without credentials.

    Mechanisms of a later Kafka are left out.
    """
    names = [UserName(user) for user in users]

    def read(
        response: DescribeUserScramCredentialsResponse, asked: Asked[None]
    ) -> dict[None, Results[str, list[ScramCredentialInfo]]]:
        check(response.error_code, "describe_user_scram_credentials", response.error_message)
        described = Results({each.user: _described(each) for each in response.results})
        return dict.fromkeys(asked.keys, described)

    call = Call(
        api=ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
        response=DescribeUserScramCredentialsResponse,
        route=AnyBroker(),
        build=lambda _: DescribeUserScramCredentialsRequest(users=names or None),
        read=read,
    )
    return await admin._driver.one(call, None, admin._driver.deadline(timeout_ms))


async def alter_user_scram_credentials(
    admin: AdminCalls,
    alterations: Iterable[UpsertScramCredential | DeleteScramCredential],
    *,
    timeout_ms: int | None = None,
) -> Results[str, None]:
    """Changes credentials by user (Kafka 2.7).

    Brokers refuse several alterations of one user in a call (DuplicateResource).
    """
    by_user: dict[str, list[UpsertScramCredential | DeleteScramCredential]] = {}
    for each in alterations:
        by_user.setdefault(each.user, []).append(each)

    def build(asked: Asked[str]) -> AlterUserScramCredentialsRequest:
        wanted = [each for user in asked.keys for each in by_user[user]]
        return AlterUserScramCredentialsRequest(
            deletions=[
                ScramCredentialDeletion(each.user, each.mechanism)
                for each in wanted
                if isinstance(each, DeleteScramCredential)
            ],
            upsertions=[
                salted(each, each.salt or secrets.token_bytes(_SALT_BYTES))
                for each in wanted
                if isinstance(each, UpsertScramCredential)
            ],
        )

    call = Call(
        api=ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        response=AlterUserScramCredentialsResponse,
        route=Controller(),
        build=build,
        read=lambda response, _: {
            each.user: done(each.error_code, each.user, each.error_message)
            for each in response.results
        },
    )
    return await admin._driver.run(call, by_user, admin._driver.deadline(timeout_ms))


def salted(credential: UpsertScramCredential, salt: bytes) -> ScramCredentialUpsertion:
    """Returns the salted password, which the broker is told instead of the password (RFC 5802).

    Raises ConfigError for no password.
    """
    if not credential.password:
        raise ConfigError(
            f"{credential.user}: the password is empty; to take the password away, delete the credential"
        )
    return ScramCredentialUpsertion(
        name=credential.user,
        mechanism=credential.mechanism,
        iterations=credential.iterations,
        salt=salt,
        salted_password=hashlib.pbkdf2_hmac(
            credential.mechanism.hash_name,
            credential.password.encode(),
            salt,
            credential.iterations,
        ),
    )


def _described(
    result: DescribeUserScramCredentialsResult,
) -> list[ScramCredentialInfo] | KafkaError:
    if result.error_code:
        return item_error(result.error_code, result.user, result.error_message)
    return sorted(
        ScramCredentialInfo(ScramMechanism(each.mechanism), each.iterations)
        for each in result.credential_infos
        if each.mechanism in ScramMechanism.__members__.values()
    )
