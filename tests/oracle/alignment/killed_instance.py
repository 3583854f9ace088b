"""An instance of a case that kills itself at some steps of its tasks, if it is told so; the nursery of killed instances starts it."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
from dataclasses import replace
from typing import Any

import orjson

from alignment.case import made_case
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.runtime.steps import ObservedStep, observe_nothing


def main(described: str, clients: str, state_dir: str, chance: str) -> None:
    """`described`: specification, partitions and settings, as `on_killed` encodes them, with how often it is killed. `chance` decides when."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(process)d %(name)s: %(message)s")
    given: dict[str, Any] = orjson.loads(described)
    rng, kills = random.Random(chance), float(given["kills"])

    def observe(_step: ObservedStep, _task: str) -> None:
        if rng.random() < kills:
            os.kill(os.getpid(), signal.SIGKILL)

    case = made_case("killed", given["spec"], given["partitions"], ())
    config = replace(case.config, **given["settings"], state_dir=state_dir)
    seen = observe if kills else observe_nothing  # those of processes are pickled
    asyncio.run(KafkaStreams(case.topology, config, orjson.loads(clients), observe=seen).run())
