"""Finds the cases and runs them: every function of `cases/*.py` that `@case` marks, in the order of the files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from millstream.protocol.generated.api_versions import ApiVersionsResponse
from tests.oracle.broker.messages import api_key
from tests.oracle.broker.normalise import normalised
from tests.oracle.broker.session import Session
from tests.oracle.broker.transcripts import Step

CASES = Path(__file__).parent / "cases"
Run = Callable[[Session], None]


@dataclass(frozen=True)
class Case:
    """`name` is that of the function with - for _, below that of its module; topics and groups are called after it."""

    module: str
    name: str
    apis: tuple[str, ...]
    run: Run


def case(*apis: str) -> Callable[[Run], Run]:
    """Marks a function as a case, and says which APIs a broker must serve for it."""

    def mark(function: Run) -> Run:
        function.apis = apis  # type: ignore[attr-defined]  # read by `cases` alone
        return function

    return mark


@cache
def modules() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in CASES.glob("*.py") if path.stem != "__init__"))


def cases(module: str) -> Iterator[Case]:
    content = vars(import_module(f"tests.oracle.broker.cases.{module}"))
    for name, function in content.items():
        if hasattr(function, "apis"):
            yield Case(module, name.replace("_", "-"), function.apis, function)


KAFKA_SETTLES_S = 0.4


def run_case(found: Case, bootstrap: str, *, settle_s: float = 0.0) -> list[Step]:
    """The normalised steps. A case that cannot go on ends with a step that says why."""
    session = Session(bootstrap, found.name, settle_s=settle_s)
    try:
        found.run(session)
    except Exception as error:  # noqa: BLE001 - the report shows how far it went
        session.steps.append(("broken off", f"{type(error).__name__}: {error}"))
    finally:
        session.close()
    return normalised(session.steps, session.run)


def prepare(bootstrap: str) -> frozenset[int]:
    """Has the broker create the topics of its coordinators. Returns the keys of the APIs that it announces."""
    session = Session(bootstrap, "prepare")
    answer: ApiVersionsResponse = session.quietly(
        "ApiVersions", 3, client_software_name="oracle", client_software_version="1"
    )
    for kind, key in ((0, "group"), (1, "transaction"), (2, "g:AAAAAAAAAAAAAAAAAAAAAg:0")):
        session.quietly("FindCoordinator", 6, key_type=kind, coordinator_keys=[key])
    session.quietly(  # takes producer id 0, which many answers have for none
        "InitProducerId", 4, transactional_id=None, transaction_timeout_ms=1000, producer_id=-1, producer_epoch=-1
    )  # fmt: skip
    session.close()
    return frozenset(entry.api_key for entry in answer.api_keys)


def not_served(found: Case, keys: frozenset[int]) -> list[str]:
    return [api for api in found.apis if api_key(api) not in keys]
