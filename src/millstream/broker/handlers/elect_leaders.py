"""ElectLeaders: the preferred replica of partitions leads again, or any that is up where none in sync is (KIP-460).

Versions 0-2, alike here but for the error of the whole request, which 1+ has at the top too. Null partitions: all of them, of
which only those are told where something happened. ELECTION_NOT_NEEDED where the leader is who it should be, which on one node is
everywhere.
"""

from __future__ import annotations

from collections.abc import Awaitable

from millstream.broker.requests.api_spec import ApiSpec
from millstream.broker.requests.request_context import RequestContext
from millstream.controller.controller import Controller
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.elect_leaders import ElectLeadersRequest, ElectLeadersResponse

API = ApiSpec(ApiKey.ELECT_LEADERS, versions=range(3))


def handle(
    request: ElectLeadersRequest, context: RequestContext
) -> Awaitable[ElectLeadersResponse]:
    return context.node.controller.submit(Controller.handle_elect_leaders, request)
