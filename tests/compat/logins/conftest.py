"""One node of ours and one of Apache Kafka for all tests of a process: what clients are told must be the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.compat.logins.clients import CLIENTS, FRANZ_GO, OtherClient
from tests.compat.logins.secured_node import SecuredNode, secured_node
from tests.oracle.cluster.nodes import Kind
from tests.support.kafka_node import NEEDS_KAFKA


@pytest.fixture(
    scope="session",
    params=[Kind.OURS, pytest.param(Kind.KAFKA, marks=NEEDS_KAFKA)],
)
def node(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecuredNode]:
    with secured_node(request.param, tmp_path_factory.mktemp(request.param)) as running:
        yield running


def _if_built(client: OtherClient) -> pytest.ParameterSet:
    why_not = client.why_not()
    return pytest.param(
        client, id=client.name, marks=pytest.mark.skipif(bool(why_not), reason=why_not)
    )


@pytest.fixture(params=[_if_built(client) for client in CLIENTS])
def client(request: pytest.FixtureRequest) -> OtherClient:
    found: OtherClient = request.param
    return found


@pytest.fixture(params=[_if_built(FRANZ_GO)])
def franz_go(request: pytest.FixtureRequest) -> OtherClient:
    """The one that knows delegation tokens."""
    found: OtherClient = request.param
    return found


@pytest.fixture
def topic(node: SecuredNode) -> str:
    return node.new_topic()
