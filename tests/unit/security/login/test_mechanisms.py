"""The machines of PLAIN, SCRAM and OAUTHBEARER, each against the client's side of it and against clients that lie."""

from __future__ import annotations

import base64

import pytest

from millstream.security.login.mechanism import (
    PlainServer,
    SaslAccepted,
    SaslChallenge,
    SaslRefused,
    SaslStep,
    SaslWork,
)
from millstream.security.login.oauthbearer_server import (
    BearerIdentity,
    BearerTokenRefused,
    OAuthBearerServer,
)
from millstream.security.login.scram_server import ScramServer, ScramVerifier
from millstream.security.sasl_client import OAuthBearerClient, OAuthBearerToken, PlainClient
from millstream.security.sasl_scram import ScramClient
from millstream.security.scram import ScramMechanism, salted_password, scram_keys
from tests.unit.security.login.verifiers import FixedVerifiers

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
FULL_NAME = (
    "Authentication failed: Client requested an authorization id that is different from username"
)
USERS = {"alice": "wonder", "bob": "tröte", "a\x01b": "x"}
VERIFIERS = FixedVerifiers({"alice": "wonder", "a=b,c": "pencil"}, {"token-1": "carol"})


def done(step: SaslStep) -> SaslStep:
    return step.do() if isinstance(step, SaslWork) else step


# PLAIN


@pytest.mark.parametrize(("name", "password"), USERS.items())
def test_a_user_of_plain_is_let_in(name: str, password: str) -> None:
    token = PlainClient(name, password).first()
    assert PlainServer(USERS).answer(token) == SaslAccepted(name)


def test_a_user_may_name_itself_as_whom_it_acts_as() -> None:
    assert PlainServer(USERS).answer(b"alice\0alice\0wonder") == SaslAccepted("alice")


@pytest.mark.parametrize(
    ("token", "told"),
    [
        (b"\0alice\0wrong", "Authentication failed: Invalid username or password"),
        (b"\0nobody\0wonder", "Authentication failed: Invalid username or password"),
        (b"\0\0wonder", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"bob\0alice\0wonder", FULL_NAME),
        (b"bob\0alice\0wrong", "Authentication failed: Invalid username or password"),
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"alice\0wonder", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        (b"\0alice\0wonder\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0a\0b\0c\0d", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0alice\0wonder\xff", "Authentication failed: Invalid username or password"),
    ],
)
def test_plain_tells_what_kafka_tells(token: bytes, told: str) -> None:
    step = PlainServer(USERS).answer(token)
    assert isinstance(step, SaslRefused)
    assert step.told == told
    assert "wonder" not in step.reason


# SCRAM


def scram(mechanism: ScramMechanism = SHA_256, nonce: str = "server") -> ScramServer:
    return ScramServer(mechanism, VERIFIERS, nonce, b"secret")


def conversation(server: ScramServer, client: ScramClient) -> SaslStep:
    """Until somebody has nothing to say."""
    step = done(server.answer(client.first()))
    if isinstance(step, SaslChallenge):
        final = client.answer(step.message)
        assert final is not None
        step = done(server.answer(final))
    return step


@pytest.mark.parametrize("mechanism", ScramMechanism)
@pytest.mark.parametrize(("name", "password"), [("alice", "wonder"), ("a=b,c", "pencil")])
def test_a_user_of_scram_is_let_in_and_believes_the_server(
    mechanism: ScramMechanism, name: str, password: str
) -> None:
    client = ScramClient(mechanism, name, password, "nonce")
    step = conversation(scram(mechanism), client)
    assert isinstance(step, SaslAccepted)
    assert (step.name, step.token_authenticated, step.expires_at_ms) == (name, False, None)
    assert client.answer(step.message) is None, "the server has proved that it knows the password"


def test_the_example_of_rfc_7677_is_reproduced() -> None:
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    keys = scram_keys(SHA_256, salted_password(SHA_256, b"pencil", salt, 4096))
    verifiers = FixedVerifiers({}, {})
    verifiers.users["user"] = ScramVerifier("user", salt, keys.stored_key, keys.server_key, 4096)
    server = ScramServer(SHA_256, verifiers, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", b"")
    assert server.answer(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO") == SaslChallenge(
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    assert server.answer(
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    ) == SaslAccepted("user", b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


@pytest.mark.parametrize("mechanism", ScramMechanism)
@pytest.mark.parametrize(("name", "password"), [("alice", "wrong"), ("nobody", "wonder")])
def test_wrong_passwords_and_unknown_names_are_refused_alike(
    mechanism: ScramMechanism, name: str, password: str
) -> None:
    step = conversation(scram(mechanism), ScramClient(mechanism, name, password, "nonce"))
    assert isinstance(step, SaslRefused)
    assert step.told is None
    assert step.reason == f"wrong user name or password for {name!r}"


def test_an_unknown_name_has_always_the_same_salt_and_others_have_others() -> None:
    def challenge(name: str, secret: bytes = b"secret") -> SaslStep:
        first = ScramClient(SHA_256, name, "x", "nonce").first()
        return ScramServer(SHA_256, VERIFIERS, "server", secret).answer(first)

    assert challenge("nobody") == challenge("nobody")
    assert challenge("nobody") != challenge("nobody2")
    assert challenge("nobody") != challenge("nobody", b"another secret")


def test_an_unknown_name_looks_like_a_known_one() -> None:
    verifiers = FixedVerifiers({}, {})
    verifiers.users["user"] = ScramVerifier("user", b"s" * 24, b"", b"", 8192)
    verifiers.of_anybody = lambda mechanism: verifiers.of_user(mechanism, "user")  # type: ignore[method-assign]
    step = ScramServer(SHA_512, verifiers, "server", b"secret").answer(b"n,,n=nobody,r=nonce")
    assert isinstance(step, SaslChallenge)
    nonce, salt, iterations = step.message.split(b",")
    assert (nonce, iterations) == (b"r=nonceserver", b"i=8192")
    assert len(base64.b64decode(salt[2:])) == 24


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_a_delegation_token_stands_for_its_owner_until_it_ends(mechanism: ScramMechanism) -> None:
    client = ScramClient(mechanism, "token-1", "carol", "nonce", token_auth=True)
    step = conversation(scram(mechanism), client)
    assert isinstance(step, SaslAccepted)
    assert (step.name, step.token_authenticated, step.expires_at_ms) == ("carol", True, 5_000)
    assert client.answer(step.message) is None


@pytest.mark.parametrize(
    ("name", "password", "token_auth"),
    [("token-1", "carol", False), ("alice", "wonder", True), ("token-2", "carol", True)],
)
def test_tokens_are_no_users_and_users_no_tokens(
    name: str, password: str, token_auth: bool
) -> None:
    client = ScramClient(SHA_256, name, password, "nonce", token_auth=token_auth)
    assert isinstance(conversation(scram(), client), SaslRefused)


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"n=alice,r=nonce",
        b"y,,n=alice,r=nonce",
        b"p=tls-unique,,n=alice,r=nonce",
        b"n,,n=al\xc3\xafce,r=nonce",
        b"n,,n=alice,r=",
        b"n,,n=al=ice,r=nonce",
        b"n,,r=nonce,n=alice",
        b"n,,n=alice,r=nonce,",
        b"n,,n=alice,r=nonce\0",
        b"n,,n=alice,r=" + b"x" * 5000,
    ],
)
def test_what_is_no_first_message_is_refused(first: bytes) -> None:
    step = scram().answer(first)
    assert isinstance(step, SaslRefused)
    assert step.told is None


def test_unknown_extensions_are_ignored() -> None:
    step = scram().answer(b"n,,m=future,n=alice,r=nonce,extra=1")
    assert isinstance(step, SaslChallenge)


def test_nobody_acts_as_another_one() -> None:
    step = scram().answer(b"n,a=bob,n=alice,r=nonce")
    assert isinstance(step, SaslRefused)
    assert step.told == FULL_NAME


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ((b"r=nonceserver", b"r=nonceServer"), "answers another exchange"),
        ((b"r=nonceserver", b"r=nonce"), "answers another exchange"),
        ((b"c=biws", b"c=eSws"), "another channel binding"),
        ((b",p=", b",x="), "the last SCRAM message is none"),
        ((b",p=", b",p=AAAA"), "wrong user name or password"),
    ],
)
def test_a_last_message_that_does_not_fit_is_refused(
    change: tuple[bytes, bytes], reason: str
) -> None:
    """A server that looks at a part of the nonce only lets replayed messages in (CVE-2024-56128)."""
    server, client = scram(), ScramClient(SHA_256, "alice", "wonder", "nonce")
    step = server.answer(client.first())
    assert isinstance(step, SaslChallenge)
    final = client.answer(step.message)
    assert final is not None
    step = server.answer(final.replace(*change))
    assert isinstance(step, SaslRefused)
    assert reason in step.reason


def test_a_stored_key_is_no_password() -> None:
    """Whoever has read the metadata log proves nothing with what stands there but what it could compute: not the client's key."""
    server = scram()
    step = server.answer(b"n,,n=alice,r=nonce")
    assert isinstance(step, SaslChallenge)
    zero = base64.b64encode(bytes(32))
    assert isinstance(server.answer(b"c=biws,r=nonceserver,p=" + zero), SaslRefused)


# OAUTHBEARER


def validate(token: str) -> BearerIdentity:
    if token != "good.token":
        raise BearerTokenRefused("its signature is wrong")
    return BearerIdentity("dora", 9_000)


def bearer(token: str = "good.token", **extensions: str) -> bytes:
    return OAuthBearerClient(OAuthBearerToken(token, 0, extensions)).first()


def test_a_bearer_is_let_in_until_its_token_ends() -> None:
    step = done(OAuthBearerServer(validate).answer(bearer(logicalCluster="lkc-1")))
    assert step == SaslAccepted("dora", expires_at_ms=9_000)


def test_a_bearer_is_refused_by_a_challenge_and_told_the_rest_when_it_gives_up() -> None:
    server = OAuthBearerServer(validate)
    assert done(server.answer(bearer("bad"))) == SaslChallenge(b'{"status":"invalid_token"}')
    step = server.answer(b"\x01")
    assert isinstance(step, SaslRefused)
    assert step.told == '{"status":"invalid_token"}'
    assert "signature" in step.reason


def test_a_refused_bearer_has_no_second_try_in_the_same_exchange() -> None:
    server = OAuthBearerServer(validate)
    done(server.answer(bearer("bad")))
    assert isinstance(done(server.answer(bearer())), SaslRefused)


def test_a_bearer_acts_as_nobody_else() -> None:
    step = done(OAuthBearerServer(validate).answer(b"n,a=eve,\x01auth=Bearer good.token\x01\x01"))
    assert isinstance(step, SaslRefused)
    assert step.told is not None
    assert "authorization id (eve)" in step.told
    own = done(OAuthBearerServer(validate).answer(b"n,a=dora,\x01auth=Bearer good.token\x01\x01"))
    assert isinstance(own, SaslAccepted)


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"\x01",
        b"n,,auth=Bearer good.token",
        b"n,,\x01auth=Bearer good.token\x01",
        b"n,,\x01auth=Basic good.token\x01\x01",
        b"n,,\x01auth=Bearer\x01\x01",
        b"n,,\x01auth=Bearer good.token;\x01\x01",
        b"n,,\x01\x01",
        b"n,,\x01auth=Bearer good.token\x01x1=2\x01\x01",
        b"y,,\x01auth=Bearer good.token\x01\x01",
        b"n,,\x01auth=Bearer " + b"x" * 70_000 + b"\x01\x01",
    ],
)
def test_what_is_no_bearer_message_is_refused_before_it_is_validated(first: bytes) -> None:
    def never(_token: str) -> BearerIdentity:
        raise AssertionError

    assert isinstance(OAuthBearerServer(never).answer(first), SaslRefused)


def test_no_repr_shows_a_secret() -> None:
    shown = repr(
        [
            SaslChallenge(b"wonder"),
            SaslAccepted("alice", b"wonder"),
            SaslWork(lambda: SaslChallenge(b"wonder")),
            VERIFIERS.of_user(SHA_256, "alice"),
        ]
    )
    assert "wonder" not in shown
    assert "salt" not in shown
