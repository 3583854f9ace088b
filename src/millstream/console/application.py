"""The web edge: addresses, content negotiation, status codes, headers. Reads only: nothing here takes more than GET.

Every page has a JSON twin: the same address with `.json` before the query, or with `Accept: application/json`.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Protocol

from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from millstream.console.rendering import STYLESHEET, Renderer, render_json, stylesheet
from millstream.console.security_headers import SecurityHeaders
from millstream.console.views.brokers import BrokersView
from millstream.console.views.groups import GroupsView, GroupView
from millstream.console.views.overview import OverviewView
from millstream.console.views.paging import Selection
from millstream.console.views.problem import Problem, problem_of, problem_of_status
from millstream.console.views.topic import TopicView
from millstream.console.views.topics import TopicsView
from millstream.errors import MillstreamError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ANY_HOST: Final = ("*",)

_JSON = "application/json"
_NUMBER_DIGITS_MAX = 9


class Pages(Protocol):
    """The source of the pages. Raises MillstreamError for one that cannot be shown."""

    async def overview(self) -> OverviewView: ...
    async def brokers(self) -> BrokersView: ...
    async def topics(self, selection: Selection) -> TopicsView: ...
    async def topic(self, name: str, partition: int | None = None) -> TopicView: ...
    async def groups(self, selection: Selection) -> GroupsView: ...
    async def group(self, group_id: str) -> GroupView: ...
    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Page:
    path: str
    json_path: str
    template: str
    section: str
    load: Callable[[Pages, QueryParams], Awaitable[DataclassInstance]]


_PAGES: Final = (
    _Page("/", "/overview.json", "overview.html", "/", lambda pages, _: pages.overview()),
    _Page(
        "/brokers",
        "/brokers.json",
        "brokers.html",
        "/brokers",
        lambda pages, _: pages.brokers(),
    ),
    _Page(
        "/topics",
        "/topics.json",
        "topics.html",
        "/topics",
        lambda pages, query: pages.topics(_selection(query)),
    ),
    _Page(
        "/topic",
        "/topic.json",
        "topic.html",
        "/topics",
        lambda pages, query: pages.topic(_text(query, "name"), _number(query, "partition")),
    ),
    _Page(
        "/groups",
        "/groups.json",
        "groups.html",
        "/groups",
        lambda pages, query: pages.groups(_selection(query)),
    ),
    _Page(
        "/group",
        "/group.json",
        "group.html",
        "/groups",
        lambda pages, query: pages.group(_text(query, "id")),
    ),
)


def create_application(pages: Pages, allowed_hosts: Sequence[str] = ANY_HOST) -> SecurityHeaders:
    """An ASGI application that closes `pages` when it ends.

    `allowed_hosts` are the names under which it may be asked: a page of another site that has its own name resolve to
    this machine (DNS rebinding) gets nothing.
    """
    renderer = Renderer()

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await pages.close()

    routes = [_style_route()]
    for page in _PAGES:
        endpoint = _endpoint(page, pages, renderer)
        routes += [Route(path, endpoint, methods=["GET"]) for path in (page.path, page.json_path)]

    async def on_error(request: Request, error: Exception) -> Response:
        response = _problem_response(request, renderer, _problem(error))
        if isinstance(error, HTTPException):
            response.headers.update(error.headers or {})
        return response

    return SecurityHeaders(
        Starlette(
            routes=routes,
            middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(allowed_hosts))],
            exception_handlers=dict.fromkeys((MillstreamError, HTTPException, Exception), on_error),
            lifespan=lifespan,
        )
    )


def _endpoint(
    page: _Page, pages: Pages, renderer: Renderer
) -> Callable[[Request], Awaitable[Response]]:
    async def show(request: Request) -> Response:
        view = await page.load(pages, request.query_params)
        if _wants_json(request):
            return Response(render_json(view), media_type=_JSON)
        twin = page.json_path + (f"?{request.url.query}" if request.url.query else "")
        return _html(renderer.render(page.template, view, section=page.section, twin=twin))

    return show


def _style_route() -> Route:
    content = stylesheet()

    async def style(_: Request) -> Response:
        return Response(content, media_type="text/css")

    return Route(f"/{STYLESHEET}", style, methods=["GET"])


def _problem(error: Exception) -> Problem:
    if isinstance(error, MillstreamError):
        return problem_of(error)
    if isinstance(error, HTTPException):
        return problem_of_status(HTTPStatus(error.status_code), error.detail)
    return problem_of_status(HTTPStatus.INTERNAL_SERVER_ERROR)


def _problem_response(request: Request, renderer: Renderer, problem: Problem) -> Response:
    if _wants_json(request):
        return Response(render_json(problem), problem.status, media_type=_JSON)
    text = renderer.render("problem.html", problem, section="", twin="")
    return _html(text, problem.status)


def _html(text: str, status: int = HTTPStatus.OK) -> Response:
    return Response(text, status, media_type="text/html")


def _wants_json(request: Request) -> bool:
    """By the address, or when JSON is named and HTML is not: browsers always name HTML."""
    accepted = request.headers.get("accept", "")
    return request.url.path.endswith(".json") or (_JSON in accepted and "text/html" not in accepted)


def _selection(query: QueryParams) -> Selection:
    return Selection(query.get("filter", ""), _number(query, "page") or 1)


def _text(query: QueryParams, name: str) -> str:
    value = query.get(name)
    if not value:
        raise HTTPException(HTTPStatus.BAD_REQUEST, f"The address lacks ?{name}=...")
    return value


def _number(query: QueryParams, name: str) -> int | None:
    value = query.get(name)
    if value is None:
        return None
    if not (value.isascii() and value.isdecimal() and len(value) <= _NUMBER_DIGITS_MAX):
        raise HTTPException(
            HTTPStatus.BAD_REQUEST, f"{name} must be a whole number of at most 9 digits."
        )
    return int(value)
