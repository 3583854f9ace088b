"""The web edge: addresses, content negotiation, status codes, headers.

The pages take GET alone; forms are in `changing` and `entrance`.

Every page has a JSON twin: the same address with `.json` before the query, or with `Accept: application/json`.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from millstream.console.changing import change_routes
from millstream.console.entrance.door import ANY_HOST
from millstream.console.entrance.entrance import Entrance
from millstream.console.pages import Pages, Visitor
from millstream.console.rendering import STYLESHEET, Renderer, render_json, stylesheet
from millstream.console.views.paging import Selection
from millstream.console.views.problem import Problem, problem_of, problem_of_status
from millstream.errors import MillstreamError, SaslAuthenticationFailed
from millstream.net.client.tasks import ClientClosed, TaskGroup

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_SECURITY_POLICY: Final = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

_HEADERS: Final = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (
        b"referrer-policy",
        b"same-origin",
    ),  # with no-referrer browsers would not say from where a form comes
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
    (b"vary", b"Accept, Cookie"),
)


class SecurityHeaders:
    """Outermost, so that error responses of the framework have them too.

    The policy allows one thing, our stylesheet: no script runs, even if markup of a record slipped through.
    """

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *_HEADERS]}
            await send(message)

        await self._application(scope, receive, send_with_headers)


_JSON = "application/json"
_NUMBER_DIGITS_MAX = 9
_NO_REFUSALS: Final = {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}
"""There is no such form."""


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


PATHS: Final = tuple(page.path for page in _PAGES)
"""The addresses of the pages."""


def create_application(
    entrance: Entrance, allowed_hosts: Sequence[str] = ANY_HOST
) -> SecurityHeaders:
    """An ASGI application that closes `entrance` when it ends.

    `allowed_hosts` are the names under which it may be asked: a page of another site that has its own name resolve to
    this machine (DNS rebinding) gets nothing.
    """
    renderer = Renderer()

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with TaskGroup() as tasks:
            keeping = tasks.create_task(entrance.keep())
            try:
                yield
            finally:
                keeping.cancel()
                await entrance.close()

    routes = [_style_route(), *change_routes(entrance), *entrance.routes(renderer)]
    for page in _PAGES:
        endpoint = _endpoint(page, entrance, renderer)
        routes += [Route(path, endpoint, methods=["GET"]) for path in (page.path, page.json_path)]

    async def on_error(request: Request, error: Exception) -> Response:
        visitor = entrance.visitor(request)
        response = _problem_response(request, renderer, _problem(error), visitor)
        if isinstance(error, HTTPException):
            if request.method == "POST" and HTTPStatus(error.status_code) not in _NO_REFUSALS:
                entrance.log_refusal(request, error.detail)
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
    page: _Page, entrance: Entrance, renderer: Renderer
) -> Callable[[Request], Awaitable[Response]]:
    async def show(request: Request) -> Response:
        visitor = entrance.visitor(request)
        if visitor is None:
            return _turned_away(request, entrance)
        try:
            view = await page.load(visitor.pages, request.query_params)
        except (SaslAuthenticationFailed, ClientClosed) as error:
            if isinstance(error, SaslAuthenticationFailed):
                await entrance.forget(request)
            if entrance.visitor(request) is not None:
                raise
            # The session has ended, perhaps by another page of the same browser, which closed its clients under this one.
            return _turned_away(request, entrance)
        if _wants_json(request):
            return Response(render_json(view), media_type=_JSON)
        twin = page.json_path + (f"?{request.url.query}" if request.url.query else "")
        text = renderer.render(
            page.template, view, section=page.section, twin=twin, visitor=visitor
        )
        return _html(text)

    return show


def _turned_away(request: Request, entrance: Entrance) -> Response:
    if _wants_json(request):
        raise HTTPException(HTTPStatus.UNAUTHORIZED, "Log in first.")
    return entrance.turned_away(request)


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


def _problem_response(
    request: Request, renderer: Renderer, problem: Problem, visitor: Visitor | None
) -> Response:
    if _wants_json(request):
        return Response(render_json(problem), problem.status, media_type=_JSON)
    text = renderer.render("problem.html", problem, section="", twin="", visitor=visitor)
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
