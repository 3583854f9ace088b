"""Views to HTML and JSON. Templates and the stylesheet are files of this package; everything in them is escaped."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined

from millstream.console.views.payload import visible

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from millstream.console.pages import Visitor

_PACKAGE = "millstream.console"
_UNKNOWN = "\N{EN DASH}"

STYLESHEET: Final = "console.css"


def page_url(path: str, **query: str | int) -> str:
    """Returns the address of a page. Names stand in the query, where every character of a topic or group may stand."""
    return f"{path}?{urlencode(query)}" if query else path


def number_text(number: int | None) -> str:
    """Returns a number with thousands apart; a dash for what is not known."""
    return _UNKNOWN if number is None else f"{number:,}"


def stylesheet() -> bytes:
    return files(_PACKAGE).joinpath("static", STYLESHEET).read_bytes()


def render_json(view: DataclassInstance) -> bytes:
    return orjson.dumps(view, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _readable(shown: object) -> object:
    """Names, member ids and messages are whatever a stranger chose: what hides or turns text around is written out."""
    return (
        visible(shown) if type(shown) is str else shown
    )  # Markup, made by templates, is another type


class Renderer:
    def __init__(self) -> None:
        self._environment = Environment(
            loader=PackageLoader(_PACKAGE),
            autoescape=True,
            finalize=_readable,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals["page_url"] = page_url
        self._environment.filters["number"] = number_text

    def render(
        self,
        template: str,
        view: DataclassInstance,
        *,
        section: str,
        twin: str,
        visitor: Visitor | None,
    ) -> str:
        """Renders a page.

        `section` is the path to be marked in the navigation, `twin` the address of the same page as JSON.

        `visitor`: None for who has to log in first.
        """
        return self._environment.get_template(template).render(
            view=view, section=section, twin=twin, visitor=visitor
        )
