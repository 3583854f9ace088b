"""Our command line and kcat, with the same flags, on the same topics."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S

pytestmark = [
    pytest.mark.compat,
    pytest.mark.skipif(
        shutil.which("kcat") is None, reason="kcat is not installed (apt-get install kcat)"
    ),
]

OURS = [sys.executable, "-m", "millstream.cli.main"]
LIKE_KCAT = ["--property", "ignore.error=true"]
"""kcat takes a line without the separator for a value without a key."""
LINES = "".join(f"key-{n}:value {n}\n" for n in range(200)) + "no key\n"


def ended(command: list[str], given: str = "", **environment: str) -> str:
    done = subprocess.run(
        command, input=given, env=os.environ | environment,
        capture_output=True, text=True, timeout=LONG_ENOUGH_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_either_writes_both_print_alike(shared_broker: Broker, topic: str) -> None:
    servers = shared_broker.bootstrap_servers
    ours = ["-b", servers]
    ended(["kcat", "-P", "-b", servers, "-t", topic, "-K", ":", "-z", "zstd", "-H", "a=1"], LINES)
    ended([*OURS, "produce", topic, "-K", ":", *LIKE_KCAT, "-z", "zstd", "-H", "a=1", *ours], LINES)
    for start in ("beginning", "-50"):
        for template in ("%t [%p] %o %k=%s %K/%S %h\n", "%T %R%s\\n"):
            theirs = ended(["kcat", "-C", "-b", servers, "-t", topic, "-o", start, "-e", "-q", "-f", template])  # fmt: skip
            same = ended([*OURS, "consume", topic, "-o", start, "-e", "-q", "-f", template, *ours])
            assert same == theirs
            assert len(theirs) > 50


def test_envelopes_say_the_same(shared_broker: Broker, topic: str) -> None:
    servers = shared_broker.bootstrap_servers
    ended([*OURS, "produce", topic, "-K", ":", *LIKE_KCAT, "-b", servers], LINES)
    theirs = ended(["kcat", "-C", "-b", servers, "-t", topic, "-e", "-q", "-J"]).splitlines()
    same = ended([*OURS, "consume", topic, "-o", "beginning", "-e", "-J", "-b", servers]).splitlines()  # fmt: skip
    for mine, other in zip(map(json.loads, same), map(json.loads, theirs), strict=True):
        assert (mine["topic"], mine["partition"], mine["offset"], mine["timestamp"]) == (
            other["topic"], other["partition"], other["offset"], other["ts"],
        )  # fmt: skip
        assert (mine["key"], mine["value"]) == (other["key"], other["payload"])


def test_a_group_goes_from_one_to_the_other(shared_broker: Broker, topic: str) -> None:
    servers, group = shared_broker.bootstrap_servers, f"group-{topic}"
    ended([*OURS, "produce", topic, "-b", servers], "1\n2\n3\n")
    first = ended([*OURS, "consume", topic, "-G", group, "--from-beginning", "-c", "2", "-b", servers])  # fmt: skip
    assert first == "1\n2\n"
    rest = ended(["kcat", "-b", servers, "-G", group, "-q", "-c", "1", "-X", "auto.offset.reset=earliest", topic])  # fmt: skip
    assert rest == "3\n"
