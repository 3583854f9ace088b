"""The forms of administrators: what they change in the cluster, and the line in the log that says so.

Each form comes from a page of this console, with the token of its browser, and is carried out as the user who sends it:
the access rules of the cluster are asked as always.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from millstream.console.entrance.entrance import Entrance
from millstream.console.entrance.forms import TOKEN, address_of, read_form
from millstream.console.entrance.logins import check_form
from millstream.console.entrance.refusal_log import one_line
from millstream.console.pages import Changes
from millstream.console.rendering import page_url
from millstream.errors import (
    BrokerNotAvailable,
    KafkaError,
    MalformedMessage,
    MillstreamError,
    NetworkException,
    RequestTimedOut,
    SaslAuthenticationFailed,
    UnknownServerError,
)
from millstream.net.client.tasks import ClientClosed
from millstream.quoting import shortened

_LOGGER = logging.getLogger("millstream.console")
_PARTITIONS_DIGITS_MAX: Final = 5
Fields = Mapping[str, str]
_MAY_HAVE: Final = "%s may have %s, which the cluster has not said: %s"
_IN_DOUBT: Final = (
    RequestTimedOut,
    NetworkException,
    BrokerNotAvailable,
    UnknownServerError,
    MalformedMessage,
    ClientClosed,
)
"""After these the cluster may have done it: what was sent is done even if the answer is lost. Once a connection is lost
the next may be refused, so that BrokerNotAvailable is among them. And a session may end, with its clients, under a
form that was sent."""


@dataclass(frozen=True, slots=True)
class _Form:
    """`onward` is shown when it is done. `verb` and `field`, which has the name of the thing, are for the log."""

    path: str
    verb: str
    field: str
    perform: Callable[[Changes, Fields], Awaitable[None]]
    onward: Callable[[Fields], str]


_FORMS: Final = (
    _Form(
        "/topic/create",
        "created topic",
        "name",
        lambda changes, fields: changes.create_topic(
            _given(fields, "name"), _partitions(fields.get("partitions", ""))
        ),
        lambda fields: page_url("/topic", name=fields["name"]),
    ),
    _Form(
        "/topic/delete",
        "deleted topic",
        "name",
        lambda changes, fields: changes.delete_topic(_confirmed(fields, "name")),
        lambda _: "/topics",
    ),
    _Form(
        "/group/delete",
        "deleted group",
        "id",
        lambda changes, fields: changes.delete_group(_confirmed(fields, "id")),
        lambda _: "/groups",
    ),
)


def change_routes(entrance: Entrance) -> list[Route]:
    """Returns where forms are sent."""
    return [Route(each.path, _endpoint(each, entrance), methods=["POST"]) for each in _FORMS]


def _endpoint(form: _Form, entrance: Entrance) -> Callable[[Request], Awaitable[Response]]:
    async def change(request: Request) -> Response:
        fields = await read_form(request)
        visitor = entrance.visitor(request)
        check_form(visitor, fields.get(TOKEN, ""))
        assert visitor is not None, "its form was checked"
        if not visitor.is_admin:
            raise HTTPException(HTTPStatus.FORBIDDEN, "You may read here, and change nothing.")
        user = f"user {visitor.user!r} from {address_of(request)}"
        what = f"{form.verb} {shortened(repr(fields.get(form.field, '')))}"
        try:
            await _perform(form, visitor.pages.changes, fields, user, what)
        except SaslAuthenticationFailed:
            await entrance.forget(request)
            if entrance.visitor(request) is not None:
                raise
            return entrance.turned_away(request)
        return RedirectResponse(form.onward(fields), HTTPStatus.SEE_OTHER)

    return change


async def _perform(form: _Form, changes: Changes, fields: Fields, user: str, what: str) -> None:
    """Carries a form out, and says in the log whether that was done; not what a form lacks, which
    has been asked of nobody.
    """
    try:
        await form.perform(changes, fields)
    except HTTPException:
        raise
    except _IN_DOUBT as error:
        _LOGGER.warning(_MAY_HAVE, user, what, one_line(str(error)))
        kind = next(each for each in _IN_DOUBT if isinstance(error, each))
        if not issubclass(kind, KafkaError):
            raise
        raise kind(
            f"{error} Whether it was done is not known: look before you try again."
        ) from error
    except MillstreamError as error:
        _LOGGER.info("%s has not %s: %s", user, what, one_line(str(error)))
        raise
    except BaseException as error:
        _LOGGER.warning(_MAY_HAVE, user, what, type(error).__name__)
        raise
    _LOGGER.info("%s has %s", user, what)


def _given(fields: Fields, name: str) -> str:
    value = fields.get(name, "")
    if not value:
        raise HTTPException(HTTPStatus.BAD_REQUEST, f"The form lacks its {name}.")
    return value


def _confirmed(fields: Fields, name: str) -> str:
    """What is deleted is gone: its name is typed once more."""
    value = _given(fields, name)
    if fields.get("confirmed") != value:
        raise HTTPException(
            HTTPStatus.BAD_REQUEST, "Nothing was deleted: type the name as it stands to confirm it."
        )
    return value


def _partitions(text: str) -> int | None:
    """None: as many as the cluster makes by default."""
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= _PARTITIONS_DIGITS_MAX):
        raise HTTPException(HTTPStatus.BAD_REQUEST, "Partitions must be a whole number.")
    return int(text)
