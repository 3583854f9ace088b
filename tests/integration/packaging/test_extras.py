"""Where a package of an extra is missing, whoever wants what needs it is told the extra in one sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from millstream.runtime.extras import MODULES
from tests.patience import LONG_ENOUGH_S

ROOT = Path(__file__).resolve().parents[3]
OPTIONAL = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

NOT_OURS = {"declarative-pipelines"}
"""What Spark's own command imports, and nothing of ours."""

OAUTHBEARER = [
    f"--override={key}={value}"
    for key, value in {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "security.inter.broker.protocol": "SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
        "listener.name.sasl_plaintext.oauthbearer.sasl.server.callback.handler.class": "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler",
        "sasl.oauthbearer.jwks.endpoint.url": "https://issuer.example/keys",
        "sasl.oauthbearer.expected.audience": "kafka",
        "sasl.oauthbearer.expected.issuer": "https://issuer.example",
    }.items()
]


def millstream(*arguments: str) -> str:
    """What runs a command of ours, as Python."""
    return f"from millstream.cli.main import main; main({list(arguments)})"


DOORS = {
    "avro": [
        "from millstream.clients.serdes import avro; avro('\"string\"')",
        "from millstream.clients.serdes.registry import confluent_avro; confluent_avro(None)",
        "from millstream.streams.serdes import avro; avro('\"string\"')",
    ],
    "json-schema": [
        "from millstream.clients.serdes.registry import confluent_json; confluent_json(None)"
    ],
    "msgpack": ["from millstream.clients.serdes import msgpack; msgpack()"],
    "protobuf": [
        "from millstream.clients.serdes import protobuf; protobuf(int)",
        "from millstream.clients.serdes.registry import confluent_protobuf; confluent_protobuf(None, int)",
    ],
    "queries": ["from millstream.streams.query_server import QueryServer"],
    "spark": [
        "from millstream.spark import SparkStreams",
        "from millstream.spark import register",
        "import millstream.spark; millstream.spark.SparkQueryServer",
        millstream("pipeline", "compile-pyspark"),
    ],
    "console": [millstream("console")],
    "demo": [millstream("demo", "flights")],
    "tls": [
        millstream("certs", "dev", "."),
        millstream("server", "--secure", "--ephemeral", "--port", "0"),
        "from millstream.testing import Broker; Broker(secure=True).__enter__()",
    ],
    "oauth": [millstream("server", "--ephemeral", "--port", "0", *OAUTHBEARER)],
}
"""By extra, what opens a door to it."""

_KNOCK = """
import contextlib, io, json, sys

class Without:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, *where):
        return None if name in missing else self.finder.find_spec(name, *where)
    def __getattr__(self, name):
        return getattr(self.finder, name)

missing = set(json.loads(sys.argv[1]))
sys.meta_path[:] = map(Without, sys.meta_path)
said = {}
for door in json.loads(sys.argv[2]):
    words = io.StringIO()
    try:
        with contextlib.redirect_stderr(words), contextlib.redirect_stdout(words):
            exec(door, {})
        said[door] = f"nothing: {words.getvalue()}"
    except SystemExit:
        said[door] = words.getvalue().strip()
    except Exception as error:
        said[door] = str(error).strip()
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """By door, what is said to who knocks where no package of any extra is installed."""
    modules = sorted({module.partition(".")[0] for those in MODULES.values() for module in those})
    doors = [door for those in DOORS.values() for door in those]
    done = subprocess.run(
        [sys.executable, "-c", _KNOCK, json.dumps(modules), json.dumps(doors)],
        cwd=tmp_path_factory.mktemp("empty"), env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, timeout=LONG_ENOUGH_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert isinstance(answers, dict)
    return answers


@pytest.mark.parametrize(
    ("extra", "door"), [(extra, door) for extra, doors in DOORS.items() for door in doors]
)
def test_who_lacks_an_extra_is_told_so_in_one_sentence(
    said: dict[str, str], extra: str, door: str
) -> None:
    assert "Traceback" not in said[door]
    *log, sentence = said[door].splitlines()
    assert f"pip install 'millstream[{extra}]'" in sentence
    assert any(package in sentence for package in (*MODULES[extra].values(), "Spark"))
    assert not log or "server" in door


def test_every_extra_has_a_door() -> None:
    assert set(DOORS) | NOT_OURS == set(OPTIONAL)
    assert set(MODULES) | NOT_OURS == set(OPTIONAL)


@pytest.mark.parametrize("extra", MODULES)
def test_what_an_extra_is_said_to_bring_it_brings(extra: str) -> None:
    wanted = {
        line.split(">")[0].split("=")[0].strip()
        for name in (extra, "spark" if extra == "demo" else extra)
        for line in OPTIONAL[name]
    }
    assert set(MODULES[extra].values()) == wanted - {"millstream[spark]"}
