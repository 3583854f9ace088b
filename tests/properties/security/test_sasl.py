"""Both sides of SCRAM agree whatever the names and passwords are; jaas options come back as they were written."""

from __future__ import annotations

import base64
import hashlib

from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.security.jaas import parse_jaas_config
from millstream.security.sasl_scram import ScramClient
from millstream.security.scram import (
    ScramMechanism,
    salted_password,
    scram_keys,
    server_signature,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
NAMES = st.from_regex(r"[a-zA-Z_]\w{0,9}", fullmatch=True)


@given(st.sampled_from(ScramMechanism), TEXTS, TEXTS, TEXTS, st.binary(min_size=1, max_size=20))
@settings(max_examples=30, deadline=None)
def test_a_server_that_keeps_only_keys_believes_the_right_password_alone(
    mechanism: ScramMechanism, name: str, password: str, attempt: str, salt: bytes
) -> None:
    keys = scram_keys(mechanism, salted_password(mechanism, password.encode(), salt, 4096))
    client = ScramClient(mechanism, name, attempt, "nonce")
    bare = client.first().decode().removeprefix("n,,")
    first = f"r=nonceserver,s={base64.b64encode(salt).decode()},i=4096"
    final = client.answer(first.encode())
    assert final is not None
    without_proof, _, proof = final.decode().rpartition(",p=")
    auth_message = f"{bare},{first},{without_proof}".encode()
    signature = server_signature(mechanism, keys.stored_key, auth_message)
    client_key = bytes(a ^ b for a, b in zip(base64.b64decode(proof), signature, strict=True))
    known = hashlib.new(mechanism.hash_name, client_key).digest() == keys.stored_key
    assert known == (attempt == password)
    assert bare.count(",") == 1  # a comma or equal sign of the name is escaped
    assert bare.removeprefix("n=").split(",")[0].replace("=2C", ",").replace("=3D", "=") == name


@given(st.dictionaries(NAMES, TEXTS, max_size=5))
def test_options_come_back_as_they_were_written(options: dict[str, str]) -> None:
    written = "".join(
        ' {}="{}"'.format(name, value.replace("\\", "\\\\").replace('"', '\\"'))
        for name, value in options.items()
    )
    assert parse_jaas_config(f"a.b.M required{written};") == ("M", options)
