"""Says what has failed in one sentence, and the details to whoever looks for them: in the log at
DEBUG, and in causes.
"""

from __future__ import annotations

import copy
import logging
from typing import Final, TypeVar

from millstream.errors import MillstreamError

_Error = TypeVar("_Error", bound=BaseException)
_OWN: Final = "millstream"
_PLACE: Final = "raised_at"
"""An attribute of an error that came from another process, where its traceback has stayed."""


def log_failure(logger: logging.Logger, what: str, error: BaseException) -> None:
    """Logs a failure that has a sentence with it, and where the program has raised.

    Another one is a mistake of ours, and keeps its traceback.
    """
    if isinstance(error, MillstreamError):
        logger.error("%s: %s: %s%s", what, type(error).__name__, error, _raised_at(error))
        logger.debug("%s", what, exc_info=error)
    else:
        logger.error("%s", what, exc_info=error)


def keep_place(error: BaseException) -> None:
    """Notes in the error where the program has raised, for the process that it goes to."""
    error.__dict__[_PLACE] = _raised_at(error)


def without_causes(error: _Error) -> _Error:
    """Returns an error like this one to be raised to the program: nothing stands between its
    sentence and the reader.
    """
    if not isinstance(error, MillstreamError):
        return error
    try:
        like = copy.copy(error)
    except TypeError:  # a class of the program whose initializer takes something else
        return error
    like.__suppress_context__ = True
    return like if str(like) == str(error) else error


def _raised_at(error: BaseException) -> str:
    """Returns the function of the program that has raised, of the first cause; nothing where none did."""
    if isinstance(noted := error.__dict__.get(_PLACE), str):
        return noted
    at, found = _first_cause(error).__traceback__, ""
    was_own = False
    while at is not None:
        is_own = str(at.tb_frame.f_globals.get("__name__", "")).split(".")[0] == _OWN
        if was_own and not is_own:
            code = at.tb_frame.f_code
            found = f" (raised in {code.co_qualname}, {code.co_filename}:{at.tb_lineno})"
        was_own, at = is_own, at.tb_next
    return found


def _first_cause(error: BaseException) -> BaseException:
    """Returns where the causes begin, or come round again: a program may raise an error from itself."""
    seen = {id(error)}
    while error.__cause__ is not None and id(error.__cause__) not in seen:
        error = error.__cause__
        seen.add(id(error))
    return error
