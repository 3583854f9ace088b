"""Whatever a client sends while it logs in, the answer is an action: nothing is raised, and nobody is let in by chance."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millstream.protocol.api import ApiKey, Message
from millstream.protocol.frames import encode_request
from millstream.protocol.generated.sasl_authenticate import SaslAuthenticateRequest
from millstream.protocol.generated.sasl_handshake import SaslHandshakeRequest
from millstream.runtime import Instant
from millstream.security.login.login import (
    GoOn,
    LoggedIn,
    Login,
    Mechanism,
    PassOn,
    TurnAway,
    WorkFirst,
)
from millstream.security.login.mechanism import PlainServer, SaslWork
from millstream.security.login.oauthbearer_server import (
    BearerIdentity,
    BearerTokenRefused,
    OAuthBearerServer,
)
from millstream.security.login.scram_server import ScramServer
from millstream.security.sasl_scram import ScramClient
from millstream.security.scram import ScramMechanism
from tests.unit.security.login.verifiers import FixedVerifiers

SCRAM = ScramMechanism.SCRAM_SHA_256
VERIFIERS = FixedVerifiers({"alice": "wonder"}, {"token-1": "carol"})
NOW = Instant(0, 0)


def believe_nobody(_token: str) -> BearerIdentity:
    raise BearerTokenRefused("nobody is believed")


MECHANISMS = {
    "PLAIN": Mechanism(lambda: PlainServer({"alice": "wonder"})),
    "SCRAM-SHA-256": Mechanism(lambda: ScramServer(SCRAM, VERIFIERS, "server", b"secret")),
    "OAUTHBEARER": Mechanism(lambda: OAuthBearerServer(believe_nobody)),
}


def frame(key: ApiKey, version: int, message: Message) -> bytes:
    pieces = encode_request(key, version, 1, None, message)
    return b"".join(bytes(piece) for piece in pieces)[4:]  # type: ignore[arg-type]


TOKENS = st.one_of(
    st.binary(max_size=80),
    st.text("=,nrcapvxyzauth \x01\0", max_size=60).map(lambda text: f"n,,{text}".encode()),
    st.sampled_from([b"\0alice\0wrong", b"n,,n=alice,r=nonce", b"c=biws,r=nonceserver,p=AAAA", b"\x01"]),
)  # fmt: skip
FRAMES = st.one_of(
    st.binary(max_size=60),
    st.builds(
        lambda name, version: frame(ApiKey.SASL_HANDSHAKE, version, SaslHandshakeRequest(name)),
        st.sampled_from([*MECHANISMS, "GSSAPI"]),
        st.integers(0, 1),
    ),
    st.builds(
        lambda token, version: frame(
            ApiKey.SASL_AUTHENTICATE, version, SaslAuthenticateRequest(token)
        ),
        TOKENS,
        st.integers(0, 2),
    ),
    TOKENS,
)


@given(st.lists(FRAMES, max_size=6))
def test_whatever_comes_is_answered_by_an_action_and_lets_nobody_in(frames: list[bytes]) -> None:
    login = Login(MECHANISMS, NOW)
    for each in frames:
        action = login.receive(memoryview(each), NOW)
        if isinstance(action, WorkFirst):
            action = action.do()
        assert isinstance(action, GoOn | PassOn | TurnAway)
        if isinstance(action, TurnAway):
            return


@given(
    st.sampled_from(sorted(MECHANISMS)),
    st.integers(0, 1),
    st.lists(TOKENS, min_size=1, max_size=3),
)
def test_no_token_but_the_right_one_lets_in(
    mechanism: str, version: int, tokens: list[bytes]
) -> None:
    login = Login(MECHANISMS, NOW)
    handshake = frame(ApiKey.SASL_HANDSHAKE, version, SaslHandshakeRequest(mechanism))
    login.receive(memoryview(handshake), NOW)
    for token in tokens:
        sent = token
        if version == 1:
            sent = frame(ApiKey.SASL_AUTHENTICATE, 1, SaslAuthenticateRequest(token))
        action = login.receive(memoryview(sent), NOW)
        if isinstance(action, WorkFirst):
            action = action.do()
        assert not isinstance(action, LoggedIn)
        if isinstance(action, TurnAway):
            return


NAMES = st.text(st.characters(min_codepoint=1, max_codepoint=126), min_size=1, max_size=20)


@given(NAMES, st.text(max_size=20), st.text(max_size=20), st.sampled_from(ScramMechanism))
def test_scram_lets_in_exactly_the_right_password(
    name: str, password: str, tried: str, mechanism: ScramMechanism
) -> None:
    server = ScramServer(mechanism, FixedVerifiers({name: password}, {}), "server", b"secret")
    client = ScramClient(mechanism, name, tried, "nonce")
    challenge = server.answer(client.first())
    assert not isinstance(challenge, SaslWork)
    final = client.answer(challenge.message)  # type: ignore[union-attr]
    assert final is not None
    step = server.answer(final)
    assert hasattr(step, "name") == (tried == password)
