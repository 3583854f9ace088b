"""`millstream cluster ready` against a node, against what says that it is not ready, and against nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner, Result

from millstream.cli.main import main
from millstream.testing.node_runner import ThreadNode
from tests.patience import LONG_ENOUGH_S
from tests.support.kafka_node import free_port

FENCED = (503, {"status": "not ready", "reasons": ["the broker is fenced", "replica t-0 failed"]})
READY = (200, {"status": "ready"})


def ready(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["cluster", "ready", *arguments])


@contextmanager
def answering(*answers: tuple[int, object]) -> Iterator[str]:
    """What gives these answers, the last of them again and again."""
    left = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, told = left.pop(0) if len(left) > 1 else left[0]
            body = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(LONG_ENOUGH_S)


def test_a_node_that_runs_is_ready(tmp_path: Path) -> None:
    port = free_port()
    node = ThreadNode(
        {
            "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
            "log.dirs": str(tmp_path),
            "millstream.http.listener": f"http://127.0.0.1:{port}",
        }
    )
    node.start(LONG_ENOUGH_S)
    result = ready(f"http://127.0.0.1:{port}")
    node.stop()
    assert (result.exit_code, result.output) == (0, "ready\n")


def test_why_a_node_is_not_ready_is_told() -> None:
    with answering(FENCED) as url:
        result = ready(url)
    assert result.exit_code == 1
    assert result.stderr == (
        f"the node at {url.removeprefix('http://')} is not ready: the broker is fenced; replica t-0 failed\n"
    )


def test_a_node_is_asked_again_for_as_long_as_is_wanted() -> None:
    with answering(FENCED, FENCED, READY) as url:
        result = ready(url, "--wait-ms", str(int(LONG_ENOUGH_S * 1_000)))
    assert (result.exit_code, result.output) == (0, "ready\n")


def test_where_nothing_answers_is_told() -> None:
    port = free_port()
    result = ready(f"http://127.0.0.1:{port}/")
    assert result.exit_code == 5
    assert result.stderr == f"no node answers at 127.0.0.1:{port}: [Errno 111] Connection refused\n"


def test_another_program_is_no_node() -> None:
    with answering((404, "no such page")) as url:
        result = ready(url)
    assert result.exit_code == 5
    assert "what answers has no /readyz (status 404)" in result.stderr


@pytest.mark.parametrize(
    "url", ["localhost:9404", "ftp://localhost:1", "http://", "http://h:1/metrics", "http://h:x"]
)
def test_what_is_no_address_of_a_node_is_refused(url: str) -> None:
    result = ready(url)
    assert result.exit_code == 2
    assert "Invalid value for URL" in result.stderr
