"""A task host that carries out the orders of a test."""

from __future__ import annotations

import logging
import os
import sys

from millstream.spark.pipeline import host_process
from tests.support.kills.orders import EXECUTOR_VARIABLE, Orders

if __name__ == "__main__":
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    os.environ[EXECUTOR_VARIABLE] = sys.argv[2]
    host_process.main(sys.argv[1:], Orders.from_environment().observe)
