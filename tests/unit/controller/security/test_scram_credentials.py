"""AlterUserScramCredentials: answers are those of Kafka 4.3.1."""

from __future__ import annotations

import pytest

from millstream.controller.security.scram_credentials import plan_alter_scram_credentials
from millstream.metadata.stored_security import ScramUser
from millstream.protocol.generated.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)

SHA_256, SHA_512 = 1, 2
UNSUPPORTED_MECHANISM, NOT_FOUND, DUPLICATE, UNACCEPTABLE = 33, 91, 92, 93


def put(
    name: str = "u", mechanism: int = SHA_256, iterations: int = 4096
) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=name, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=b"p"
    )


def drop(name: str = "u", mechanism: int = SHA_256) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=name, mechanism=mechanism)


def alter(
    world: object,
    *upsertions: ScramCredentialUpsertion,
    deletions: tuple[ScramCredentialDeletion, ...] = (),
) -> dict[str, int]:
    request = AlterUserScramCredentialsRequest(
        upsertions=list(upsertions), deletions=list(deletions)
    )
    response = world.submit(plan_alter_scram_credentials, request)
    return {result.user: result.error_code for result in response.results}


def test_keys_are_stored_and_the_password_is_not(world: object) -> None:
    assert alter(world, put("a", SHA_256, 8192)) == {"a": 0}
    stored = world.image.scram[ScramUser("a", SHA_256)]
    assert (stored.salt, stored.iterations, len(stored.stored_key)) == (b"salt", 8192, 32)
    assert b"p" not in (stored.stored_key, stored.server_key)


@pytest.mark.parametrize(
    ("upsertion", "code"),
    [
        (put(""), UNACCEPTABLE),
        (put("a", 0), UNSUPPORTED_MECHANISM),
        (put("a", 3), UNSUPPORTED_MECHANISM),
        (put("a", SHA_256, 4095), UNACCEPTABLE),
        (put("a", SHA_256, 16_385), UNACCEPTABLE),
    ],
)
def test_what_is_wrong_with_one_user_does_not_touch_others(
    world: object, upsertion: ScramCredentialUpsertion, code: int
) -> None:
    assert alter(world, upsertion, put("good")) == {upsertion.name: code, "good": 0}
    assert list(world.image.scram) == [ScramUser("good", SHA_256)]


def test_a_user_is_altered_once_in_a_request(world: object) -> None:
    alter(world, put("u"))
    for upsertions, deletions in (
        ((put("v"), put("v")), ()),
        ((put("v", SHA_256), put("v", SHA_512)), ()),
        ((put("u"),), (drop("u"),)),
        ((), (drop("u"), drop("u"))),
    ):
        codes = alter(world, *upsertions, deletions=deletions)
        assert list(codes.values()) == [DUPLICATE]
    assert list(world.image.scram) == [ScramUser("u", SHA_256)]


def test_the_first_thing_wrong_with_a_user_is_told(world: object) -> None:
    alter(world, put("u"))
    assert alter(world, put("u"), deletions=(drop("u", SHA_512),)) == {"u": NOT_FOUND}
    assert alter(world, put(""), put("")) == {"": UNACCEPTABLE}


def test_what_is_not_there_cannot_be_deleted(world: object) -> None:
    assert alter(world, deletions=(drop("nobody"),)) == {"nobody": NOT_FOUND}
    alter(world, put("u"))
    assert alter(world, deletions=(drop("u"),)) == {"u": 0}
    assert world.image.scram == {}
