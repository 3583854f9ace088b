"""Explaining foreign names costs nothing where names are right: no class that runs for records has a `__getattr__`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from millstream import clients
from millstream.clients import blocking
from millstream.clients.producer.delivery import PlacedRecord
from millstream.streams import Record, SessionWindows
from millstream.streams.kernel.processors.processor import ProcessorContextImpl
from millstream.streams.serdes.windowed import Windowed
from millstream.streams.state.key_value.store import KeyValueStore
from millstream.streams.state.session.store import SessionStore

ROOT = Path(__file__).resolve().parents[3]
DESCRIBE_OR_SET_UP = {
    "BranchedKStream", "CogroupedKStream", "GlobalKTable", "KGroupedStream", "KGroupedTable", "KStream", "KTable",
    "SessionWindowedCogroupedKStream", "SessionWindowedKStream", "StreamsBuilder", "TimeWindowedCogroupedKStream",
    "TimeWindowedKStream", "Topology", "TopologyBuilder",
    "Admin", "NewTopic", "RunnerOptions",
}  # fmt: skip
"""The classes that may look names up in Python: nothing of theirs is read while records are processed."""
HOT = [
    PlacedRecord, clients.Delivery, blocking.Delivery, clients.Producer, blocking.Producer, clients.Consumer,
    blocking.Consumer, ProcessorContextImpl, KeyValueStore, SessionStore, SessionWindows, Windowed, Record,
]  # fmt: skip


class ProducerOfOrders(clients.Producer[str, str]):
    def last_order(self) -> str:
        return "the last"

    def stop(self) -> None:
        super().stop()  # type: ignore[misc] - there is none, unless another base has it


class Stoppable:
    is_stopped = False

    def stop(self) -> None:
        self.is_stopped = True


class StoppableProducer(ProducerOfOrders, Stoppable):
    """What `ProducerOfOrders` has behind it is another class's to say."""


def looks_up_in_python(kind: type) -> bool:
    """CPython 3.11 specialises reads of attributes where neither is defined, on the class or on a base of it."""
    return any(
        "__getattr__" in vars(each) or "__getattribute__" in vars(each)
        for each in kind.__mro__
        if each.__module__ != "builtins"
    )


def classes_that_ask_for_it() -> Iterator[str]:
    """Yields the classes of the sources that define one of the two, or have `explain_misspellings` set it."""
    for path in (ROOT / "src/millstream").rglob("*.py"):
        text = path.read_text()
        if re.search(r"def __getattr|@explain_misspellings", text) is not None:
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ClassDef):
                    within = {
                        each.name for each in ast.walk(node) if isinstance(each, ast.FunctionDef)
                    }
                    on_it = {ast.unparse(each) for each in node.decorator_list}
                    if {
                        "__getattr__",
                        "__getattribute__",
                    } & within or "explain_misspellings" in on_it:
                        yield node.name


def test_only_what_describes_or_sets_something_up_looks_names_up_in_python() -> None:
    metaclasses = {"ForeignNames", "ForeignNamesOfMembers"}  # of names of the class itself
    assert set(classes_that_ask_for_it()) == DESCRIBE_OR_SET_UP | metaclasses


@pytest.mark.parametrize("hot", HOT)
def test_a_class_that_is_read_for_each_record_and_what_inherits_it_do_not(hot: type) -> None:
    assert not looks_up_in_python(hot)
    assert not looks_up_in_python(type("Mine", (hot,), {}))


def test_what_inherits_from_a_generic_class_does_not_either() -> None:
    assert not looks_up_in_python(ProducerOfOrders)


@pytest.mark.parametrize(
    ("kind", "name", "told"),
    [
        (Windowed, "getStartMs", "Windowed has no getStartMs: here it is start_ms"),
        (blocking.Delivery, "isDone", "Delivery has no isDone: here it is is_done"),
        (blocking.Delivery, "addErrback", "Delivery has no addErrback: here it is the argument on_delivery= of send, which is given the error, too"),
        (clients.Delivery, "isBatchDone", "Delivery has no isBatchDone: here it is is_batch_done"),
        (KeyValueStore, "putIfAbsent", "KeyValueStore has no putIfAbsent: here it is put_if_absent"),
        (ProducerOfOrders, "lastOrder", "ProducerOfOrders has no lastOrder: here it is last_order"),
    ],
)  # fmt: skip
def test_a_foreign_name_is_explained_by_the_class_and_by_its_objects(
    kind: type, name: str, told: str
) -> None:
    for asked in (kind, object.__new__(kind)):
        with pytest.raises(AttributeError) as error:
            getattr(asked, name)
        assert str(error.value) == told
        assert (error.value.name, error.value.obj) == (name, asked)


def test_a_foreign_name_is_neither_there_nor_offered() -> None:
    window = Windowed("a", 0, 10)
    assert not hasattr(window, "getKey")
    assert [each for each in dir(window) if not each.startswith("_")] == ["end_ms", "key", "start_ms"]  # fmt: skip
    assert "getGapMs" not in dir(SessionWindows)


def test_a_misspelling_gets_the_error_of_python_that_names_what_is_near_in_a_traceback() -> None:
    with pytest.raises(AttributeError, match="'Windowed' object has no attribute 'keey'"):
        Windowed("a", 0, 10).keey  # type: ignore[attr-defined] # noqa: B018 - that is the test


def test_what_a_class_of_the_users_own_has_is_found_although_its_name_is_foreign() -> None:
    mine = object.__new__(StoppableProducer)
    mine.stop()
    assert mine.is_stopped
    with pytest.raises(AttributeError, match="ProducerOfOrders has no stop: here it is close"):
        object.__new__(ProducerOfOrders).stop()
    mine.poll = "of the object"  # type: ignore[attr-defined]
    assert mine.poll == "of the object"  # type: ignore[attr-defined]


def test_a_dataclass_of_the_users_own_may_have_slots_and_foreign_names() -> None:
    @dataclass(frozen=True, slots=True)
    class Visit(Windowed[str]):
        end: int
        pages_read: int = 0

    visit = Visit("a", 0, 10, 7)
    assert (visit.end, visit.pages_read) == (7, 0)
    with pytest.raises(AttributeError, match="Visit has no pagesRead: here it is pages_read"):
        visit.pagesRead  # type: ignore[attr-defined] # noqa: B018 - that is the test
