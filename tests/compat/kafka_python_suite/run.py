"""Runs kafka-python's own integration tests, of its source distribution, against our broker: `make compat-kafka-python`.

The tests come from the package index by pip, are unpacked into a temporary directory and never kept. Their fixtures would start
a Java Kafka; told of a broker that runs already (KAFKA_URI), they use that. What the archive lacks is put beside them.
With `--three` the broker is one of three nodes. With `--write` the results go to docs/kafka-python-tests.md. Further arguments go to pytest.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[3]))

from millstream.testing.broker import Broker
from tests.oracle.cluster.three import three_of_ours
from tests.support.kafka_node import free_port

PAGE: Final = Path(__file__).parents[3] / "docs" / "kafka-python-tests.md"
SETTINGS: Final = {
    "num.partitions": "4",
    "group.min.session.timeout.ms": "100",
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
"""What the fixtures would have written into the file of a Kafka they start."""
REASONS: Final = {
    "test_ssl_integration": "starts a Java Kafka from files that the archive does not contain",
}
"""Why a test does not pass, by a part of its name; skipped ones say it themselves."""
OF_ONE_NODE: Final = (
    "test_alter_replica_log_dirs",  # names the first broker, which need not have the partition
    "test_alter_partition_reassignments",  # asks for a replica on each broker
)
_SERVICE: Final = '''
class ExternalService:
    """A broker that runs already."""

    def __init__(self, host, port):
        self.host, self.port = host, port

    def open(self):
        pass

    def close(self):
        pass


SpawnedService = None
'''


def main(arguments: list[str]) -> int:
    released = version("kafka-python")
    with tempfile.TemporaryDirectory(prefix="kafka-python-") as directory:
        root = _unpacked(Path(directory), released)
        rest = [a for a in arguments if a not in {"--write", "--three"}] or ["test/integration"]
        if "--three" in arguments:
            rest += ["-k", " and ".join(f"not {name}" for name in OF_ONE_NODE)]
        with _three() if "--three" in arguments else _one() as bootstrap:
            output = _run(root, bootstrap, rest)
    sys.stdout.write(output)
    if "--write" in arguments:
        PAGE.write_text(_page(released, _results(output)))
    return 0 if " passed" in output else 1


def _unpacked(directory: Path, released: str) -> Path:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--no-build-isolation"]  # fmt: skip
    subprocess.run([*pip, "--dest", str(directory), f"kafka-python=={released}"], check=True)
    archive = next(directory.glob("*.tar.gz"))
    with tarfile.open(archive) as opened:
        opened.extractall(directory, filter="data")
    root = directory / archive.name.removesuffix(".tar.gz")
    (root / "test" / "__init__.py").touch()  # or `test` would be that of the standard library
    (root / "test" / "service.py").write_text(_SERVICE)
    return root


@contextmanager
def _one() -> Iterator[str]:
    port = free_port()
    advertised = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}", "node.id": "0"}
    with Broker(in_process=False, settings=SETTINGS | advertised, port=port) as broker:
        yield broker.bootstrap_servers


@contextmanager
def _three() -> Iterator[str]:
    """The fixtures take one address."""
    settings = SETTINGS | {"advertised.listeners": "PLAINTEXT://{client}"}
    with three_of_ours(settings, first_number=0) as nodes:
        yield nodes.client_address(0)


def _run(root: Path, bootstrap: str, arguments: list[str]) -> str:
    environment = os.environ | {
        "KAFKA_URI": f"kafka://{bootstrap}",
        "KAFKA_VERSION": "4.3.0",
        "KAFKA_ROOT": str(root),
    }
    pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", "-q", "-rA", "--tb=line", "--show-capture=no"]  # fmt: skip
    done = subprocess.run(
        [*pytest, *arguments],
        cwd=root, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout[done.stdout.rfind("short test summary info") :] + done.stderr


def _results(output: str) -> list[tuple[str, str, str]]:
    """(test, outcome, why)."""
    found = []
    for line in output.splitlines():
        told = re.match(
            r"(PASSED|FAILED|ERROR|SKIPPED)(?: \[(\d+)\])? test/integration/(\S+)(.*)", line
        )
        if told:
            outcome, times, name, rest = told.groups()
            why = (
                rest.strip()
                if times
                else next((w for part, w in REASONS.items() if part in name), "")
            )
            shown = name.removesuffix(":").replace(".py::", " · ").replace("|", "¦")
            found.append((shown, f"{outcome.lower()}{f', {times} times' if times else ''}", why))
    return sorted(found, key=lambda row: (row[1].startswith("passed"), row))


def _page(released: str, results: list[tuple[str, str, str]]) -> str:
    passed = sum(outcome == "passed" for _, outcome, _ in results)
    lines = [
        f"# kafka-python's integration tests, release {released}",
        "",
        "Written by `make compat-kafka-python WRITE=1`: the tests of its source distribution, against one broker of ours.",
        f"{passed} pass; the others, with the reason:",
        "",
        "| test | outcome | why |",
        "|---|---|---|",
        *(
            f"| {name} | {outcome} | {'' if outcome == 'passed' else why} |"
            for name, outcome, why in results
        ),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
