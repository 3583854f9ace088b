"""Who names an argument of a method as another library does is told what it is called here."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

from millstream import clients
from millstream.clients import blocking
from millstream.foreign_names import python_clients, python_streams
from millstream.foreign_names.explanation import explain_construction, explain_misspellings
from millstream.streams import KafkaStreams, StreamsBuilder, StreamsConfig

CLIENTS: list[type] = [clients.Admin, clients.Consumer, clients.Producer, clients.ShareConsumer]
PER_RECORD: list[Any] = [
    clients.Producer.send, blocking.Producer.send, clients.ShareConsumer.acknowledge, blocking.Delivery.result,
]  # fmt: skip


def made(kind: type) -> Any:  # Any: an object that was never set up
    return object.__new__(kind)


def stream() -> Any:  # Any: so that type checkers let wrong arguments pass
    return StreamsBuilder().stream("in")


def new_builder() -> Any:
    return StreamsBuilder()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: made(clients.Consumer).poll(timeout=60), "Consumer.poll takes no timeout: write timeout_ms=, in milliseconds"),
        (lambda: made(clients.Consumer).poll(1.0), "Consumer.poll takes max_records=, timeout_ms= by name"),
        (lambda: made(clients.Consumer).poll(maxRecords=1), "Consumer.poll takes no maxRecords: write max_records="),
        (lambda: made(clients.Consumer).poll(wait=1), "Consumer.poll takes no wait; it takes max_records, timeout_ms"),
        (lambda: made(clients.Consumer).commit(ofsets={}), "Consumer.commit takes no ofsets; did you mean offsets?"),
        (lambda: made(clients.Consumer).commit(asynchronous=False), "Consumer.commit takes no asynchronous: commit waits, commit_async does not"),
        (lambda: made(clients.Consumer).subscribe(["t"], on_assign=print), "Consumer.subscribe takes no on_assign: write listener=, an object of RebalanceListener"),
        (lambda: made(blocking.Consumer).subscribe(["t"], on_assign=print), "Consumer.subscribe takes no on_assign: write listener=, an object of RebalanceListener"),
        (lambda: made(clients.Producer).flush(timeout=60), "Producer.flush takes no timeout: write timeout_ms=, in milliseconds"),
        (lambda: made(clients.Producer).init_transactions(timeout=60), "Producer.init_transactions takes no timeout: not taken: max_block_ms of the producer is its limit"),
        (lambda: made(clients.Admin).create_topics(new_topics=[]), "Admin.create_topics takes no new_topics: write topics="),
        (lambda: made(clients.Admin).create_topics([], operation_timeout=5), "Admin.create_topics takes no operation_timeout: write timeout_ms=, in milliseconds"),
        (lambda: made(KafkaStreams).close(timeout=60), "KafkaStreams.close takes no timeout: write timeout_s=, in seconds"),
        (lambda: untyped(KafkaStreams)(new_builder().build(), props={}), "KafkaStreams takes no props: the second argument is a StreamsConfig, the third the settings of all clients"),
        (lambda: new_builder().stream("t", keySerde=None), "StreamsBuilder.stream takes no keySerde: write key="),
        (lambda: stream().to("t", produced=None), "KStream.to takes no produced: write key= and value="),
        (lambda: stream().filter(bool, key_serde=None), "KStream.filter takes no key_serde; it takes predicate, name"),
        (lambda: stream().group_by(str, selector=None), "KStream.group_by takes no selector; it takes mapper, key, value, name"),
        (lambda: stream().map_values(str, True), "KStream.map_values takes retry=, name=, with_key= by name"),
    ],
)  # fmt: skip
def test_an_argument_of_elsewhere_is_named_as_it_is_here(
    call: Callable[[], Any], told: str
) -> None:
    with pytest.raises(TypeError) as error:
        finish(call)
    assert str(error.value) == told
    assert error.value.__suppress_context__ or error.value.__cause__ is not None


def finish(call: Callable[[], Any]) -> None:
    """Also where the call gives a coroutine, which fails when it is awaited."""
    asyncio.run(call())


def untyped(kind: Any) -> Any:  # Any: so that type checkers let wrong arguments pass
    return kind


def test_a_blocking_twin_says_what_its_coroutine_says() -> None:
    with blocking.Consumer(bootstrap_servers="127.0.0.1:1") as consumer:
        poll = untyped(consumer).poll
        with pytest.raises(TypeError, match=r"^Consumer\.poll takes no timeout: write timeout_ms="):
            poll(timeout=60)


def test_what_is_called_for_each_record_has_no_call_around_it() -> None:
    """There the error is Python's own, which names the method and the argument."""
    for method in PER_RECORD:
        assert isinstance(method, FunctionType)
        assert not hasattr(method, "__wrapped__")


def test_methods_stay_what_they_are() -> None:
    assert inspect.iscoroutinefunction(clients.Consumer.poll)
    assert not inspect.iscoroutinefunction(clients.Consumer.subscribe)
    assert list(inspect.signature(clients.Consumer.poll).parameters) == [
        "self", "max_records", "timeout_ms",
    ]  # fmt: skip
    assert clients.Consumer.poll.__doc__


@explain_construction
@explain_misspellings
class Described:
    def run(self, work: Callable[[], object], *, name: str = "") -> object:
        del name
        return work()


def test_an_error_of_what_a_method_does_is_raised_as_it_was() -> None:
    raised = TypeError("of the work")

    def fail() -> None:
        raise raised

    with pytest.raises(TypeError) as error:
        Described().run(fail)
    assert error.value is raised
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'work'"):
        untyped(Described()).run()


def test_what_the_tables_say_is_there() -> None:
    """Each method, and each argument that is to be written in place of another."""
    tables = {kind: python_clients.ARGUMENTS[kind.__name__] for kind in CLIENTS}
    tables[KafkaStreams] = python_streams.ARGUMENTS_OF_APPLICATION
    for kind, methods in tables.items():
        for method, arguments in methods.items():
            parameters = inspect.signature(getattr(kind, method)).parameters
            for argument, instead in arguments.items():
                assert argument not in parameters, (method, argument)
                for written in re.findall(r"write (\w+)=|and (\w+)=", instead):
                    assert "".join(written) in parameters, (method, argument, instead)


def test_a_setting_of_the_configuration_is_no_argument_of_the_application() -> None:
    application = untyped(KafkaStreams)
    with pytest.raises(TypeError, match="application_id: it is a setting of StreamsConfig"):
        application(new_builder().build(), application_id="a")
    assert StreamsConfig(application_id="a").application_id == "a"
