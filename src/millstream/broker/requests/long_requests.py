"""Answers requests with very many elements in parts, so that no request holds the event loop for long.

A handler answers a request of a few hundred elements in some milliseconds. One with a hundred thousand is cut here into
requests of that size, which are handled one after another with the requests of others between them; the answers are put
together again, in the order of the request. So no handler handles long requests; its ApiSpec says which lists may be
cut: their elements do not depend on each other, as a partition's answer does not depend on the next partition's. What
two elements of one request mean together (a topic that stands twice) is seen only where both are in one part.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Final

from millstream.broker.requests.api_spec import ELEMENTS_PER_PART, ApiSpec, Element, Lists, Path
from millstream.controller.settings import RECORDS_PER_REQUEST_MAX
from millstream.errors import PolicyViolation
from millstream.protocol.api import Message
from millstream.protocol.message_values import MessageValue

_ELEMENTS_ENCODED_AT_ONCE: Final = 1_000
"""Of some ten fields each, in a few milliseconds."""


def in_parts(request: Message, api: ApiSpec) -> tuple[Lists, Iterator[Message]] | None:
    """Returns the request as several, made when they are asked for; None when it is short, or belongs together.

    Raises PolicyViolation.
    """
    filled = [lists for lists in api.lists if getattr(request, lists.asked[0])]
    if not filled or (len(filled) == 1 and _has_one_part(request, filled[0])):
        return None
    for lists in filled:
        _check_records(getattr(request, lists.asked[0]), lists)
    return filled[0], _parts(request, filled)


def has_long_lists(answer: Message, api: ApiSpec) -> bool:
    """Whether there are thousands of elements in its lists and the lists in those."""
    told = api.answer_lists
    if told and getattr(answer, told[0]):
        return not _is_short(getattr(answer, told[0]), told[1:], _ELEMENTS_ENCODED_AT_ONCE)
    total = 0
    for name in answer.field_names():
        elements = getattr(answer, name)
        if isinstance(elements, list):
            total += len(elements)
            for element in elements[:ELEMENTS_PER_PART]:
                total += _list_lengths(element)
    return total > _ELEMENTS_ENCODED_AT_ONCE


def _list_lengths(element: object) -> int:
    if not isinstance(element, MessageValue):
        return 0
    values = (getattr(element, name) for name in element.field_names())
    return sum(len(value) for value in values if isinstance(value, list))


def _parts(request: Message, filled: Sequence[Lists]) -> Iterator[Message]:
    bare = copy.copy(request)
    for lists in filled:
        setattr(bare, lists.asked[0], [])
    for lists in filled:
        elements = getattr(request, lists.asked[0])
        for piece in _pieces(elements, lists.asked[1:], lists.per_part):
            yield _with(bare, lists.asked[0], piece)


def joined(answers: Sequence[Message], lists: Lists) -> Message:
    """Joins the answers of all parts. An error that is not about an element is the answer to all of them."""
    for answer in answers:
        if getattr(answer, "error_code", 0):
            return answer
    whole, name = answers[0], lists.answered[0]
    together: list[Element] = []
    for answer in answers:
        _append(together, getattr(answer, name), lists.answered[1:])
    setattr(whole, name, together)
    return whole


def _check_records(elements: Sequence[Element], lists: Lists) -> None:
    if sum(map(lists.records, elements)) > RECORDS_PER_REQUEST_MAX:
        raise PolicyViolation("Unable to perform excessively large batch operation.")


def _has_one_part(request: Message, lists: Lists) -> bool:
    return _is_short(getattr(request, lists.asked[0]), lists.asked[1:], lists.per_part)


def _is_short(elements: Sequence[Element], inner: Path, limit: int) -> bool:
    return len(elements) <= limit and _weight(elements, inner, limit) <= limit


def _weight(elements: Sequence[Element], inner: Path, limit: int) -> int:
    """Returns the number of elements at the innermost level; no more than needed to see that it is above `limit`."""
    if not inner:
        return len(elements)
    total = 0
    for element in elements:
        nested = getattr(element, inner[0])
        total += max(1, _weight(nested, inner[1:], limit)) if nested else 1
        if total > limit:
            break
    return total


def _pieces(elements: Sequence[Element], inner: Path, limit: int) -> Iterator[list[Element]]:
    """Lists of `limit` elements at the innermost level, or a few less."""
    if not inner:
        for begin in range(0, len(elements), limit):
            yield list(elements[begin : begin + limit])
        return
    piece: list[Element] = []
    room = limit
    for element in elements:
        for part, weight in _parts_of(element, inner, limit):
            if weight > room:
                yield piece
                piece, room = [], limit
            piece.append(part)
            room -= weight
    yield piece


def _parts_of(element: Element, inner: Path, limit: int) -> Iterator[tuple[Element, int]]:
    """The element whole if it is short, else several of it with parts of what it holds."""
    nested = getattr(element, inner[0])
    if not nested:
        yield element, 1
    elif _is_short(nested, inner[1:], limit):
        yield element, _weight(nested, inner[1:], limit)
    else:
        for piece in _pieces(nested, inner[1:], limit):
            yield _with(element, inner[0], piece), _weight(piece, inner[1:], limit)


def _with(message: Element, name: str, value: object) -> Element:
    changed = copy.copy(message)
    setattr(changed, name, value)
    return changed


def _append(together: list[Element], answers: list[Element], inner: Path) -> None:
    """Appends the answers of a part.

    Where an element was cut, the last answer and the first of the next part are about the same: they become one.
    """
    if inner and together and answers and _are_of_one(together[-1], answers[0], inner[0]):
        _append(getattr(together[-1], inner[0]), getattr(answers[0], inner[0]), inner[1:])
        answers = answers[1:]
    together += answers


def _are_of_one(left: Element, right: Element, but_for: str) -> bool:
    return all(
        getattr(left, name) == getattr(right, name)
        for name in left.field_names()
        if name != but_for
    )
