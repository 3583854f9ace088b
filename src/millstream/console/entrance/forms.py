"""Forms as they come: bounded in size and time, and only from pages of this console."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request

from millstream.quoting import shortened

FORM_BYTES_MAX: Final = 8 * 1024
FORM_TIMEOUT_S: Final = 10.0
TOKEN: Final = "token"  # noqa: S105 - the name of a field
_FIELDS_MAX: Final = 16
_OF_FORMS: Final = "application/x-www-form-urlencoded"


async def read_form(request: Request) -> Mapping[str, str]:
    """Returns the fields of a form. Raises HTTPException for what no page of ours sends."""
    _check_sender(request)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _OF_FORMS:
        raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Send a form, as {_OF_FORMS}.")
    body = bytearray()
    try:
        async with asyncio.timeout(FORM_TIMEOUT_S):
            async for piece in request.stream():
                body += piece
                if len(body) > FORM_BYTES_MAX:
                    raise HTTPException(
                        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                        f"A form has at most {FORM_BYTES_MAX:,} bytes.",
                    )
    except TimeoutError as error:
        raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, "The form did not come in time.") from error
    try:
        fields = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_FIELDS_MAX)
    except ValueError as error:  # UnicodeDecodeError is one
        raise HTTPException(HTTPStatus.BAD_REQUEST, "This is no form of the console.") from error
    return dict(fields)


def address_of(request: Request) -> str:
    """Returns the address that a request comes from."""
    return "" if request.client is None else request.client.host


def form_named(request: Request) -> str:
    """Returns what the log calls a form."""
    return f"form {shortened(repr(request.url.path))}"


def _check_sender(request: Request) -> None:
    """Raises HTTPException for a form that a page of another site has sent.

    Browsers say so in headers that no page can set.

    Sec-Fetch-Site comes over TLS and from this machine; Origin always. What is no browser sends
    neither, and has the token to bring.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        is_ours = site == "same-origin"
    else:
        origin = request.headers.get("origin")
        is_ours = origin is None or urlsplit(origin).netloc == request.headers.get("host")
    if not is_ours:
        raise HTTPException(HTTPStatus.FORBIDDEN, "This form was sent by a page of another site.")
