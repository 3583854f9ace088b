"""What acts is named by an imperative verb: a function that returns None does something, and its name says what.

A participle (`closed`, `appended`) names a value that a function returns. What happened elsewhere has three forms: `on_…` is told of an
event by whoever caused it, as Kafka's listeners are; `note_…` remembers what became of what this object has begun; `record_…` counts it
in a metric. What waits begins with `wait`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tests.tidy.test_source_rules import SOURCE, product_files, tree

_VERBS = """
abandon abort absorb accept accumulate ack acknowledge activate add admit adopt advance allocate alter announce
answer append apply archive ask assign attach attempt authenticate await back balance beat become begin believe call
cancel carry catch change charge check checkpoint choose claim clean clear close commit compact compare complete
configure confirm connect continue converse copartition copy cordon count create cut damage deal decide declare
decode deepen delay delete deliver disable discard disconnect disown do downgrade drain draw drive drop dump elect
emit encode end enqueue ensure enter even exchange expect expel expire explain extend fail feed fence fetch fill
find finish fire fix flush fold follow force forget format forward freeze gather give go grow guard hand handle
handshake happen hasten heal hear heartbeat heed hold ignore index initialize insist join keep kill lead learn leave
let limit link listen live load lock log look lose lower maintain make map mark match materialize maybe measure mend
merge move negotiate note notice number observe offer on open optimize order park partition pass patch pause pay
perform persist pipe place plan point poll post postpone prefer prepare print process produce protect prune publish
pump punctuate purge push put raise read rebalance rebootstrap rebuild receive reconfigure record refresh refuse
register rejoin relax release remember remove rename repeat replace replay reply report request require reserve
reset resign resize resolve rest restart restore resume retire retry return reuse revive rewind ring roll rotate run
satisfy say schedule scramble seal seek send serve set settle shake share show shuffle shut shutdown signal skip
split stand start stay step stop store submit subscribe suspend swap sync take tell terminate throttle tidy touch trace
transition trickle truncate try turn unfence unite unlink unload unlock unregister unstage unsubscribe update
upgrade use validate verify vote wait wake wakeup want warn watch withdraw withhold work write
"""
VERBS = frozenset(_VERBS.split())
"""The first words of functions that act. Add one where none of these says it, and no participle."""

_ASYNCIO = "asyncio.Protocol and BufferedProtocol"
_KAFKA_STREAMS = "Kafka Streams, and public here"
_SPARK = "pyspark.sql.streaming.StreamingQueryListener"
FOREIGN = {
    "buffer_updated": _ASYNCIO,
    "connection_lost": _ASYNCIO,
    "connection_made": _ASYNCIO,
    "data_received": _ASYNCIO,
    "force_terminate_transaction": "Kafka's Admin.forceTerminateTransaction, and public",
    "foreach": _KAFKA_STREAMS,
    "init": _KAFKA_STREAMS,
    "init_transactions": "Kafka's producer, and public",
    "main": "Python's name for what a program begins with",
    "multi_put": "Storm's IBackingMap.multiPut, and public",
    "onQueryIdle": _SPARK,
    "onQueryProgress": _SPARK,
    "onQueryStarted": _SPARK,
    "onQueryTerminated": _SPARK,
    "partitions_for_keys": "Kafka's partitionForKey, for many keys: a compiled leaf, which fills what it is given",
    "prepareForTriggerAvailableNow": "pyspark.sql.datasource.DataSourceStreamReader",
    "rollback": "sqlite3.Connection, as the standard library calls it",
    "sendall": "socket.socket, as http.client calls it",
    "startup": "uvicorn.Server",
    "to": _KAFKA_STREAMS,
}
"""Names that another interface demands."""

VALUES = {
    "_none": "the initializer of a reduction in windows: a value, which is None",
    "_nothing": "the initializer of an aggregate in a table: a value, which is None",
    "user_data": "what an assignor says to the leader: a value, which is None for these",
}


class Acting(NamedTuple):
    """A function that returns None."""

    module: str
    """Its path below `src/millstream`, without `.py`."""
    line: int
    name: str

    @property
    def verb(self) -> str:
        return self.name.strip("_").split("_")[0]


def acting(module: str, parsed: ast.Module) -> Iterator[Acting]:
    for node in ast.walk(parsed):
        match node:
            case (
                ast.FunctionDef(name=name, returns=ast.Constant(value=None))
                | ast.AsyncFunctionDef(name=name, returns=ast.Constant(value=None))
            ):
                if not name.startswith("__") and not names_something_else(node):
                    yield Acting(module, node.lineno, name)


def names_something_else(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Properties name values, and commands of click what users type."""
    decorators = [ast.unparse(each).partition("(")[0] for each in function.decorator_list]
    return any(name.endswith(("property", ".setter", ".command", ".group")) for name in decorators)


def product_functions() -> list[Acting]:
    return [
        each
        for path in product_files()
        for each in acting(path.relative_to(SOURCE).with_suffix("").as_posix(), tree(path))
    ]


def test_what_acts_is_named_by_a_verb() -> None:
    wrong = [
        f"src/millstream/{each.module}.py:{each.line} {each.name}"
        for each in product_functions()
        if each.verb not in VERBS and each.name not in FOREIGN and each.name not in VALUES
    ]
    assert not wrong, (
        "these return None, so they act: begin their names with a verb (`close`, not `closed`; `on_closed` where an event is told; "
        f"VERBS has those in use), or return the value that they name: {wrong}"
    )


def test_lists_name_what_is_there() -> None:
    functions = product_functions()
    names = {each.name for each in functions}
    assert not (FOREIGN.keys() | VALUES.keys()) - names, (
        "no function has these names: take them off"
    )
    assert not VERBS - {each.verb for each in functions}, "no function begins so: take them off"
    assert _VERBS.split() == sorted(VERBS), "each once, in order"


def test_what_returns_a_value_or_names_one_may_be_a_participle() -> None:
    source = """
def closed() -> None: ...
def taken() -> int: ...
def __exit__(self) -> None: ...
async def _told() -> None: ...
@property
def opened(self) -> None: ...
@cli.command("topics")
def topics() -> None: ...
"""
    assert [each.name for each in acting("a", ast.parse(source))] == ["closed", "_told"]
