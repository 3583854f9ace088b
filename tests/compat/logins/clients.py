"""The programs of franz/, kafkajs/ and python/, which log in, write a record and read it: README.md says how they are asked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.patience import LONG_ENOUGH_S

_PROGRAMS: Final = Path(__file__).parent
_BUILT: Final = Path(__file__).parents[3] / "build" / "logins"
_ENDS_S: Final = 10
"""How long a client takes to end once it has told its user."""


@dataclass(frozen=True)
class OtherClient:
    name: str
    command: tuple[str, ...]
    built: Path

    def why_not(self) -> str:
        """Returns why it cannot be run here, nothing where it can."""
        if shutil.which(self.command[0]) is None or not self.built.exists():
            return f"{self.name} is not built: make compat-logins"
        return ""

    def says(self, settings: dict[str, Any]) -> list[str]:
        """Runs it with the settings of a login, and a record of its own; returns the lines that it prints."""
        asked = {**settings, "value": uuid.uuid4().hex, "timeoutS": int(LONG_ENOUGH_S)}
        done = subprocess.run(
            self.command, input=json.dumps(asked), env={**os.environ, "NODE_PATH": str(_BUILT / "node_modules")},
            capture_output=True, text=True, timeout=LONG_ENOUGH_S + _ENDS_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return [line for line in done.stdout.splitlines() if line]


FRANZ_GO: Final = OtherClient(
    "franz-go",
    (str(_BUILT / "franz"),),
    _BUILT / "franz",
)
KAFKAJS: Final = OtherClient(
    "kafkajs",
    ("node", str(_PROGRAMS / "kafkajs" / "client.js")),
    _BUILT / "node_modules" / "kafkajs",
)


def _python(name: str, program: str) -> OtherClient:
    """It needs no building; all of its cases are run with those of the others, some always (test_python_clients.py)."""
    path = _PROGRAMS / "python" / program
    return OtherClient(name, (sys.executable, "-W", "ignore", str(path)), _BUILT)


LIBRDKAFKA: Final = _python("librdkafka", "librdkafka.py")
KAFKA_PYTHON: Final = _python("kafka-python", "kafka_python.py")
AIOKAFKA: Final = _python("aiokafka", "aiokafka_client.py")
IN_PYTHON: Final = (LIBRDKAFKA, KAFKA_PYTHON, AIOKAFKA)
CLIENTS: Final = (FRANZ_GO, KAFKAJS, *IN_PYTHON)
