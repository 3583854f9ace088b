"""Handlers name the services they take, and are given them once, when their route is made."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Any, get_type_hints

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.requests.handler_services import (
    ControllerServices,
    HandlerServices,
    NodeServices,
    bound,
)
from millstream.broker.requests.registry import (
    BROKER_HANDLERS,
    CONTROLLER_HANDLERS,
    HANDLERS,
    Handler,
)
from millstream.broker.services import Metadata
from millstream.metadata.image import MetadataImage
from tests.support.handler_services import (
    GivenMetadata,
    controller_services,
    handler_services,
    request_context,
)

EVERY_HANDLER = pytest.mark.parametrize("handler", HANDLERS.values(), ids=lambda h: h.api.key.name)
ON_EVERY_LISTENER = pytest.mark.parametrize(
    ("handler", "services"),
    [
        *((handler, handler_services()) for handler in BROKER_HANDLERS.values()),
        *((handler, controller_services()) for handler in CONTROLLER_HANDLERS.values()),
    ],
    ids=lambda given: given.api.key.name if isinstance(given, Handler) else type(given).__name__,
)
OF_DISPATCH = {"clock", "disk_pool", "failures", "long_work", "metrics", "quotas"}
"""What dispatch itself takes of a controller's services."""


def taken(handler: Handler) -> Mapping[str, object]:
    """The services of `handler`, by their names, as its module annotates them."""
    names = list(inspect.signature(handler.handle).parameters)[2:]
    if names != ["services"]:
        kinds = get_type_hints(handler.handle)
        return {name: kinds[name] for name in names}
    kind = group_of_services(handler)
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def group_of_services(handler: Handler) -> Any:
    """The class `Services` of its module. A compiled handler has no annotations."""
    kind = sys.modules[handler.handle.__module__].Services
    assert is_dataclass(kind)
    annotated = get_type_hints(handler.handle)
    assert annotated.get("services", kind) is kind
    return kind


@ON_EVERY_LISTENER
def test_what_a_handler_takes_are_services_under_their_names_and_types(
    handler: Handler, services: NodeServices
) -> None:
    found, given = taken(handler), get_type_hints(type(services))
    assert found == {name: given.get(name) for name in found}


@EVERY_HANDLER
def test_services_are_keyword_only_or_one_frozen_group_of_the_module(handler: Handler) -> None:
    first, second, *others = inspect.signature(handler.handle).parameters.values()
    assert (first.name, second.name.removeprefix("_")) == ("request", "context")
    if [each.name for each in others] == ["services"]:
        kind = group_of_services(handler)
        assert (kind.__name__, kind.__module__) == ("Services", handler.handle.__module__)
        assert kind.__dataclass_params__.frozen
    else:
        assert {each.kind for each in others} <= {inspect.Parameter.KEYWORD_ONLY}


def test_every_service_is_taken_by_a_handler() -> None:
    for services, handlers in (
        (HandlerServices, BROKER_HANDLERS),
        (ControllerServices, CONTROLLER_HANDLERS),
    ):
        of_dispatch = set() if services is HandlerServices else OF_DISPATCH
        used = {name for handler in handlers.values() for name in taken(handler)} | of_dispatch
        assert used == set(get_type_hints(services))


@ON_EVERY_LISTENER
def test_a_bound_handler_is_the_function_with_its_arguments_and_nothing_else(
    handler: Handler, services: NodeServices
) -> None:
    found = bound(handler.handle, services)
    if not taken(handler):
        assert found is handler.handle
        return
    assert isinstance(found, partial)
    assert (found.func, found.args) == (handler.handle, ())
    if "services" not in found.keywords:
        assert found.keywords == {name: getattr(services, name) for name in taken(handler)}


@dataclass(frozen=True)
class Services:
    config: DynamicConfig
    metadata: Metadata


def handle_with_a_group(_request: object, _context: object, services: Services) -> Services:
    return services


def test_a_group_of_services_holds_those_of_the_node() -> None:
    config = DynamicConfig(broker_config({}))
    metadata = GivenMetadata(MetadataImage())
    given = handler_services(config=config, metadata=metadata)
    found = bound(handle_with_a_group, given)(None, request_context(0))
    assert found == Services(config, metadata)


def test_a_handler_that_names_what_no_node_has_is_not_bound() -> None:
    def handle(_request: object, _context: object, *, oracle: object) -> None: ...

    with pytest.raises(AttributeError, match="oracle"):
        bound(handle, handler_services())


def test_a_service_that_a_test_did_not_give_fails_when_it_is_touched() -> None:
    with pytest.raises(AssertionError, match=r"`metadata\.image` was used.* gave no `metadata`"):
        _ = handler_services().metadata.image
