"""The credentials of the cluster, as an image has them."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field

from millstream.broker.login.stored_credentials import StoredCredentials
from millstream.metadata.image import MetadataImage
from millstream.metadata.stored_security import ScramCredential, ScramUser, TokenInformation
from millstream.runtime import Instant
from millstream.security.delegation_token import token_hmac
from millstream.security.login.mechanism import SaslAccepted, SaslChallenge, SaslRefused, SaslWork
from millstream.security.login.scram_server import ScramServer, ScramVerifier
from millstream.security.sasl_scram import ScramClient
from millstream.security.scram import ScramMechanism

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
ALICE = ScramCredential(b"salt", b"stored", b"server", 8192)
ENDS_MS = 10_000
TOKEN = TokenInformation(
    token_id="token-1",
    owner="User:carol:with:colons",
    requester="User:dave",
    renewers=(),
    issue_timestamp_ms=0,
    max_timestamp_ms=20_000,
    expiration_timestamp_ms=ENDS_MS,
)


@dataclass
class World:
    """A metadata image, and a clock."""

    image: MetadataImage = field(
        default_factory=lambda: MetadataImage(
            scram={ScramUser("alice", SHA_256): ALICE}, delegation_tokens={"token-1": TOKEN}
        )
    )
    now_ms: int = ENDS_MS - 1
    salts: int = 0

    def now(self) -> Instant:
        return Instant(self.now_ms, 0)

    def wall_ms(self) -> int:
        return self.now_ms

    def salt(self, count: int) -> bytes:
        self.salts += 1
        return bytes([self.salts]) * count

    def credentials(self, secret_key: str | None = "master") -> StoredCredentials:
        return StoredCredentials(self, secret_key, self, self.salt)


def test_a_user_has_a_credential_for_each_mechanism() -> None:
    credentials = World().credentials()
    assert credentials.of_user(SHA_256, "alice") == ScramVerifier(
        "alice", b"salt", b"stored", b"server", 8192
    )
    assert credentials.of_user(SHA_512, "alice") is None
    assert credentials.of_user(SHA_256, "Alice") is None


def test_somebody_stands_for_all_of_a_mechanism() -> None:
    world = World()
    credentials = world.credentials()
    assert credentials.of_anybody(SHA_256) == credentials.of_user(SHA_256, "alice")
    assert credentials.of_anybody(SHA_512) is None
    dora = ScramCredential(b"another salt", b"stored", b"server", 4096)
    world.image = MetadataImage(scram={ScramUser("dora", SHA_512): dora})
    assert credentials.of_anybody(SHA_256) is None
    assert credentials.of_anybody(SHA_512) == credentials.of_user(SHA_512, "dora")


def test_a_removed_user_is_gone_at_once() -> None:
    world = World()
    credentials = world.credentials()
    world.image = MetadataImage()
    assert credentials.of_user(SHA_256, "alice") is None


def test_too_few_iterations_are_no_credential() -> None:
    world = World()
    weak = ScramCredential(b"salt", b"stored", b"server", 4095)
    world.image = MetadataImage(scram={ScramUser("alice", SHA_256): weak})
    assert world.credentials().of_user(SHA_256, "alice") is None


def test_a_token_logs_its_owner_in() -> None:
    password = base64.b64encode(token_hmac("master", "token-1")).decode()
    for mechanism in ScramMechanism:
        server = ScramServer(mechanism, World().credentials(), "server", b"secret")
        client = ScramClient(mechanism, "token-1", password, "nonce", token_auth=True)
        work = server.answer(client.first())
        assert isinstance(work, SaslWork)
        challenge = work.do()
        assert isinstance(challenge, SaslChallenge)
        final = client.answer(challenge.message)
        assert final is not None
        step = server.answer(final)
        assert isinstance(step, SaslAccepted)
        assert (step.name, step.token_authenticated) == ("carol:with:colons", True)
        assert step.expires_at_ms == ENDS_MS
        assert client.answer(step.message) is None


def test_the_keys_of_a_token_are_computed_once() -> None:
    world = World()
    credentials = world.credentials()
    compute = credentials.of_token(SHA_256, "token-1")
    assert callable(compute)
    computed = compute()
    assert credentials.of_token(SHA_256, "token-1") == computed
    assert callable(credentials.of_token(SHA_512, "token-1"))


def test_a_renewed_token_ends_later_without_new_keys() -> None:
    world = World()
    credentials = world.credentials()
    compute = credentials.of_token(SHA_256, "token-1")
    assert callable(compute)
    compute()
    renewed = TokenInformation(
        token_id="token-1",
        owner=TOKEN.owner,
        requester=TOKEN.requester,
        renewers=(),
        issue_timestamp_ms=0,
        max_timestamp_ms=20_000,
        expiration_timestamp_ms=15_000,
    )
    world.image = MetadataImage(delegation_tokens={"token-1": renewed})
    verifier = credentials.of_token(SHA_256, "token-1")
    assert isinstance(verifier, ScramVerifier)
    assert verifier.expires_at_ms == 15_000


def test_a_token_that_has_ended_or_is_gone_is_none() -> None:
    world = World()
    credentials = world.credentials()
    assert credentials.of_token(SHA_256, "token-2") is None
    world.now_ms = ENDS_MS
    assert credentials.of_token(SHA_256, "token-1") is None
    world.now_ms = 0
    world.image = MetadataImage()
    assert credentials.of_token(SHA_256, "token-1") is None


def test_without_a_secret_of_the_cluster_there_are_no_tokens() -> None:
    assert World().credentials(None).of_token(SHA_256, "token-1") is None


def test_the_token_of_another_cluster_is_refused() -> None:
    password = base64.b64encode(token_hmac("another master", "token-1")).decode()
    server = ScramServer(SHA_256, World().credentials(), "server", b"secret")
    client = ScramClient(SHA_256, "token-1", password, "nonce", token_auth=True)
    work = server.answer(client.first())
    assert isinstance(work, SaslWork)
    challenge = work.do()
    assert isinstance(challenge, SaslChallenge)
    final = client.answer(challenge.message)
    assert final is not None
    assert isinstance(server.answer(final), SaslRefused)
