"""The serdes of a source, a sink and a store: their own, or the application's default."""

from __future__ import annotations

from typing import Any

from millstream.errors import ConfigError
from millstream.streams.config import StreamsConfig
from millstream.streams.errors import StreamsError
from millstream.streams.serdes import bytes_
from millstream.streams.serdes.change import changes
from millstream.streams.serdes.foreign_key import responses, subscriptions
from millstream.streams.serdes.serde import Serde
from millstream.streams.topology.nodes import SinkNode, SourceNode, ValueForm
from millstream.streams.topology.stores import StoreKind, StoreSpec


def resolve(
    serde: Serde[Any] | None,  # Any: serdes of any type
    default: Serde[Any] | None,  # Any: serdes of any type
    what: str,
) -> Serde[Any]:  # Any: serdes of any type
    """Returns the serde, or the default one; StreamsError where there is neither."""
    found = serde or default
    if found is None:
        missing = ConfigError(f"no serde for {what} and no default serde")
        raise StreamsError(
            f"{what} has no serde: give it one, or set a default serde of the application"
        ) from missing
    return found


def source_serdes(
    node: SourceNode | SinkNode, config: StreamsConfig
) -> tuple[Serde[Any], Serde[Any]]:  # Any: a source or sink of any type
    """Returns the serdes of a source or sink."""
    key = resolve(node.key, config.default_key, f"the key of {node.name}")
    if node.form is ValueForm.SUBSCRIPTION:
        inside = resolve(node.value, config.default_key, f"the left keys of {node.name}")
    else:
        inside = resolve(node.value, config.default_value, f"the value of {node.name}")
    return key, _in_form(inside, node.form)


def store_serdes(
    spec: StoreSpec, config: StreamsConfig
) -> tuple[Serde[Any], Serde[Any]]:  # Any: a store of any type
    """Returns the serdes of a store. What a store of the user's keeps is its own affair."""
    if spec.kind is StoreKind.CUSTOM:
        return bytes_(), bytes_()
    key = resolve(spec.key, config.default_key, f"the key of store {spec.name}")
    if spec.kind is StoreKind.SUBSCRIPTIONS:
        left_key = resolve(spec.value, config.default_key, f"the left keys of store {spec.name}")
        return key, subscriptions(left_key)
    return key, resolve(spec.value, config.default_value, f"the value of store {spec.name}")


def _in_form(
    inside: Serde[Any],  # Any: values of any type
    form: ValueForm,
) -> Serde[Any]:  # Any: the same
    match form:
        case ValueForm.PLAIN:
            return inside
        case ValueForm.CHANGE:
            return changes(inside)
        case ValueForm.SUBSCRIPTION:
            return subscriptions(inside)
        case ValueForm.RESPONSE:
            return responses(inside)
