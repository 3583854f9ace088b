"""The APIs that a node serves, found from the modules of `broker.handlers` and `broker.controller_handlers`, and what
each listener serves of them.

ApiVersions, dispatch and the compatibility page read it. Owns no policy: a handler module says
everything about its API.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Final

from millstream.broker import controller_handlers, handlers
from millstream.broker.requests.api_spec import ApiSpec, Failed, error_at_the_top
from millstream.broker.requests.handler_services import Handle
from millstream.errors import KafkaError
from millstream.protocol.api import CONTROLLER_APIS, ApiKey, Message


@dataclass(frozen=True, slots=True)
class Handler:
    """An API, the function that serves it, and the function that says that a whole request failed.

    `handle` gives the response at once when nothing must wait (the fast path), an awaitable when something must, and
    None when the client wants no answer (acks=0). The awaitable is cancelled when the connection closes: what mutates
    state goes through its owner (a partition, a coordinator, the controller), never through the waiting handler. A
    KafkaError it raises is answered by `failed`, which raises NoAnswer when the client wants none.
    """

    api: ApiSpec
    handle: Handle
    failed: Failed


def _handler(module: ModuleType) -> Handler:
    api: ApiSpec = module.API
    return Handler(api, module.handle, getattr(module, "failed", error_at_the_top(api.key)))


def _found(package: ModuleType) -> Mapping[ApiKey, Handler]:
    names = [found.name for found in pkgutil.iter_modules(package.__path__)]
    served = [_handler(import_module(f"{package.__name__}.{name}")) for name in names]
    by_key = {handler.api.key: handler for handler in served}
    assert len(by_key) == len(served), "two handler modules declare the same API key"
    return MappingProxyType(by_key)


BROKER_HANDLERS: Final[Mapping[ApiKey, Handler]] = _found(handlers)
"""What clients and other brokers are served on the listeners of a broker."""
_OWN_OF_CONTROLLERS: Final = _found(controller_handlers)
CONTROLLER_HANDLERS: Final[Mapping[ApiKey, Handler]] = MappingProxyType(
    {
        **{key: handler for key, handler in BROKER_HANDLERS.items() if key in CONTROLLER_APIS},
        **_OWN_OF_CONTROLLERS,
    }
)
"""What brokers and administrators are served on the listeners of a controller: as on a broker's,
where it has no handler of its own."""
HANDLERS: Final[Mapping[ApiKey, Handler]] = MappingProxyType(
    {**CONTROLLER_HANDLERS, **BROKER_HANDLERS}
)
"""Every API that is served on some listener."""


def error_response(key: ApiKey, version: int, request: Message, error: KafkaError) -> Message:
    """Returns the response of API `key` that says that all of `request` failed with `error`. Raises NoAnswer."""
    handler = HANDLERS.get(key)
    failed = error_at_the_top(key) if handler is None else handler.failed
    return failed(request, version, error)
