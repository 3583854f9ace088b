"""The HTTP pages of a node: /metrics, /livez, /readyz, /healthz."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import asdict
from http import HTTPStatus
from typing import Final

from millstream.broker.http.health import cluster_health, reasons_not_ready, replicas_to_tell
from millstream.broker.metrics.controller_families import controller_families
from millstream.broker.metrics.exposition import CONTENT_TYPE, MetricFamily, render
from millstream.broker.metrics.group_families import group_families
from millstream.broker.metrics.node_view import NodeView
from millstream.broker.metrics.process_families import (
    process_families,
    waiting_families,
    watch_loop_idleness,
    watch_loop_lag,
)
from millstream.broker.metrics.quorum_families import metadata_families, quorum_families
from millstream.broker.metrics.quota_families import quota_families
from millstream.broker.metrics.replica_families import (
    damage_families,
    log_families,
    replica_families,
    replication_families,
)
from millstream.broker.metrics.request_families import request_families, topic_families
from millstream.broker.services import BackgroundTasks
from millstream.net.server.http_server import (
    HttpResponse,
    HttpServer,
    Responder,
    one_piece,
    plain,
)


def families(node: NodeView) -> Iterator[MetricFamily]:
    """Yields the metric families.

    Each is read from the node when it is asked for; the node may go on between two of them.
    """
    yield from process_families(node)
    yield from request_families(node.metrics.requests)
    yield from quota_families(node)
    yield from controller_families(node)
    yield from quorum_families(node)
    yield from metadata_families(node)
    if node.broker is not None:
        yield from waiting_families(node.broker)
        yield from topic_families(node.metrics.topics)
        yield from replica_families(node, node.broker)
        yield from replication_families(node.metrics.replication)
        yield from damage_families(node.metrics.replication)
        yield from group_families(node.metrics.groups, node.broker)
        yield from log_families(node.broker)


_LOGGER = logging.getLogger(__name__)
_SAMPLES_BETWEEN_BREATHS: Final = 500


def start_http(server: HttpServer, node: NodeView, tasks: BackgroundTasks) -> None:
    """Starts the HTTP server.

    It runs from the first moment of the start to the last of the shutdown, so that probes see both.
    """
    tasks.start(server.serve(responder(node)), "http")
    tasks.start(watch_loop_lag(node.metrics), "event loop lag")
    tasks.start(watch_loop_idleness(node.metrics, node.clock), "event loop idleness")
    _LOGGER.info("metrics and health at %s", server.url)
    if server.is_reachable_from_outside:
        _LOGGER.info(
            "%s may read there names of topics, groups, users and client ids, addresses of clients and how the cluster is: "
            "docs/guide/doors.md says how to close it",
            "whoever has a certificate of its authorities"
            if server.asks_for_certificates
            else "whoever reaches that port",
        )


def responder(node: NodeView) -> Responder:
    pages: dict[str, Callable[[], HttpResponse]] = {
        "/metrics": lambda: HttpResponse(HTTPStatus.OK, CONTENT_TYPE, _metrics(node)),
        "/livez": lambda: _json(HTTPStatus.OK, {"status": "alive"}),
        "/readyz": lambda: _ready(node),
        "/healthz": lambda: _health(node),
    }

    def respond(path: str) -> HttpResponse:
        page = pages.get(path)
        if page is None:
            return plain(HTTPStatus.NOT_FOUND, f"there are {', '.join(pages)}\n")
        return page()

    return respond


async def _metrics(node: NodeView) -> AsyncIterator[bytes]:
    """Requests of clients go between the pieces, however many partitions there are."""
    for family in families(node):
        for piece in render(family, _SAMPLES_BETWEEN_BREATHS):
            yield piece
            await node.long_work.next_turn()


def _ready(node: NodeView) -> HttpResponse:
    reasons = reasons_not_ready(node)
    if reasons:
        told = {"status": "not ready", "state": node.life.state.name, "reasons": reasons}
        return _json(HTTPStatus.SERVICE_UNAVAILABLE, told)
    return _json(HTTPStatus.OK, {"status": "ready", "replicas": replicas_to_tell(node)})


def _health(node: NodeView) -> HttpResponse:
    """Always 200: what is wrong with the cluster is no reason to restart this node or to send clients elsewhere."""
    health = cluster_health(node)
    status = "healthy" if health.is_healthy else "unhealthy"
    return _json(HTTPStatus.OK, {"status": status, **asdict(health)})


def _json(status: HTTPStatus, content: object) -> HttpResponse:
    body = json.dumps(content).encode() + b"\n"
    return HttpResponse(status, "application/json", one_piece(body))
