"""Runs `kafka-storage` on every case below and writes down what it says and leaves: how kafka_4_3_1_storage.json was made.

    MILLSTREAM_KAFKA_CLASSPATH=JARS python tests/golden/record_kafka_storage.py tests/golden/kafka_4_3_1_storage.json

Each case has a directory of its own, `{dir}` in what is recorded, a settings file in it, and commands that run one after the other.
Of a failure that the tool did not expect the message is kept, and the traces of Java are not.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

CLUSTER = "AAAAAAAAAAAAAAAAAAAAAw"
FORMAT = ["format", "-t", CLUSTER, "-c", "{dir}/node.properties"]
INFO = ["info", "-c", "{dir}/node.properties"]
ONE, TWO = "JEXY6aqzQY-32P5TStzaFg", "MvDxzVmcRsaTz33bUuRU6A"
BOTH = f"1@localhost:9093:{ONE},2@[::1]:9094:{TWO}"

COMBINED = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": "{dir}/a",
}
STATIC = {**COMBINED, "controller.quorum.voters": "1@localhost:9093"}
DYNAMIC = {**COMBINED, "controller.quorum.bootstrap.servers": "localhost:9093"}
CONTROLLER = {**DYNAMIC, "process.roles": "controller", "listeners": "CONTROLLER://localhost:9093"}
BROKER = {**DYNAMIC, "process.roles": "broker", "listeners": "PLAINTEXT://localhost:9092"}
TWO_DIRECTORIES = {"log.dirs": "{dir}/b,{dir}/a"}
MAP = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"
OWN = {
    "node.id": "1", "controller.quorum.bootstrap.servers": "localhost:9093", "controller.listener.names": "CONTROLLER", "num.network.threads": "3",
    "num.io.threads": "8", "socket.send.buffer.bytes": "102400", "socket.receive.buffer.bytes": "102400", "socket.request.max.bytes": "104857600",
    "log.dirs": "{dir}/a", "num.partitions": "1", "num.recovery.threads.per.data.dir": "2", "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1", "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1", "log.retention.hours": "168", "log.segment.bytes": "1073741824", "log.retention.check.interval.ms": "300000",
}  # fmt: skip
"""What the three files of settings that come with Kafka have in common."""
OWN_SERVER = {
    **OWN, "process.roles": "broker,controller", "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093", "inter.broker.listener.name": "PLAINTEXT",
    "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093", "listener.security.protocol.map": MAP,
}  # fmt: skip
OWN_CONTROLLER = {
    **OWN,
    "process.roles": "controller",
    "listeners": "CONTROLLER://:9093",
    "advertised.listeners": "CONTROLLER://localhost:9093",
}
OWN_BROKER = {
    **OWN, "process.roles": "broker", "node.id": "2", "listeners": "PLAINTEXT://localhost:9092", "inter.broker.listener.name": "PLAINTEXT",
    "advertised.listeners": "PLAINTEXT://localhost:9092", "listener.security.protocol.map": MAP,
}  # fmt: skip

Case = tuple[dict[str, str], list[list[str]]]


def formatting(settings: dict[str, str], *options: str) -> Case:
    return settings, [[*FORMAT, *options]]


def meta(**fields: str) -> str:
    values = {"version": "1", "cluster.id": CLUSTER, "node.id": "1", "directory.id": ONE}
    values |= {name.replace("_", "."): value for name, value in fields.items()}
    return "".join(f"{name}={value}\n" for name, value in values.items() if value)


CASES: dict[str, Case] = {
    "static": formatting(STATIC),
    "static twice": (STATIC, [FORMAT, FORMAT, [*FORMAT, "-g"], INFO]),
    "static with long options": (STATIC, [["format", "--config", "{dir}/node.properties", "--cluster-id", CLUSTER, "--ignore-formatted"]]),
    "static, two directories": (STATIC | TWO_DIRECTORIES, [FORMAT, INFO]),
    "static, metadata apart": (STATIC | {"metadata.log.dir": "{dir}/m"}, [FORMAT, INFO]),
    "static, metadata in the second": formatting(STATIC | TWO_DIRECTORIES | {"metadata.log.dir": "{dir}/a"}),
    "static, one directory twice": formatting(STATIC | {"log.dirs": "{dir}/a,{dir}/a"}),
    "static, log.dir": formatting({name: value for name, value in STATIC.items() if name != "log.dirs"} | {"log.dir": "{dir}/a"}),
    "static, other voters": formatting(STATIC | {"controller.quorum.voters": "1@localhost:9093,2@localhost:9094"}),
    "static, not a voter": formatting(STATIC | {"controller.quorum.voters": "2@localhost:9093"}),
    "static controller": formatting(CONTROLLER | {"controller.quorum.voters": "1@localhost:9093"}),
    "static broker": formatting(BROKER | {"controller.quorum.voters": "2@localhost:9093"}),
    "static broker that votes": formatting(BROKER | {"controller.quorum.voters": "1@localhost:9093"}),
    "static, standalone": formatting(STATIC, "--standalone"),
    "static, initial controllers": formatting(STATIC, "--initial-controllers", BOTH),
    "static, no initial controllers": formatting(STATIC, "--no-initial-controllers"),
    "dynamic": formatting(DYNAMIC),
    "standalone": (DYNAMIC, [[*FORMAT, "-s"], INFO]),
    "standalone, two directories": formatting(DYNAMIC | TWO_DIRECTORIES, "--standalone"),
    "standalone, metadata apart": formatting(DYNAMIC | {"metadata.log.dir": "{dir}/m"}, "--standalone"),
    "standalone, advertised": formatting(
        DYNAMIC | {"listeners": "PLAINTEXT://:9092,CONTROLLER://:9093", "advertised.listeners": "PLAINTEXT://one:9092,CONTROLLER://two:9095"},
        "-s",
    ),
    "standalone, two controller listeners": formatting(
        DYNAMIC | {"controller.listener.names": "SECOND,CONTROLLER", "listener.security.protocol.map": "SECOND:PLAINTEXT,CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
                   "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093,SECOND://localhost:9094"},
        "-s",
    ),
    "standalone, every address": formatting(DYNAMIC | {"listeners": "PLAINTEXT://:9092,CONTROLLER://:9093"}, "-s"),
    "standalone, 0.0.0.0": formatting(DYNAMIC | {"listeners": "PLAINTEXT://localhost:9092,CONTROLLER://0.0.0.0:9093"}, "-s"),
    "standalone, IPv6": formatting(DYNAMIC | {"listeners": "PLAINTEXT://localhost:9092,CONTROLLER://[::1]:9093"}, "-s"),
    "standalone, lower case": formatting(DYNAMIC | {"listeners": "PLAINTEXT://localhost:9092,controller://localhost:9093", "controller.listener.names": "controller"}, "-s"),
    "standalone, no controller listener": formatting(DYNAMIC | {"listeners": "PLAINTEXT://localhost:9092"}, "-s"),
    "Kafka's own server.properties": (OWN_SERVER, [[*FORMAT, "--standalone"], INFO]),
    "Kafka's own controller.properties": (OWN_CONTROLLER, [[*FORMAT, "--standalone"], INFO]),
    "Kafka's own broker.properties": (OWN_BROKER, [FORMAT, INFO]),
    "standalone controller": formatting(CONTROLLER, "-s"),
    "standalone broker": formatting(BROKER, "-s"),
    "initial controllers": formatting(DYNAMIC, "-I", BOTH),
    "initial controllers, two directories": formatting(DYNAMIC | TWO_DIRECTORIES, "-I", BOTH),
    "initial controllers, others": formatting(DYNAMIC, "-I", f"2@[::1]:9094:{TWO}"),
    "initial controllers of a broker": formatting(BROKER, "-I", f"2@[::1]:9094:{TWO}"),
    "initial controllers, one id twice": formatting(DYNAMIC, "-I", f"1@localhost:9093:{ONE},1@localhost:9094:{TWO}"),
    "initial controllers, one directory twice": formatting(DYNAMIC, "-I", f"1@localhost:9093:{ONE},2@localhost:9094:{ONE}"),
    "initial controllers, empty": formatting(DYNAMIC, "-I", ""),
    "initial controllers, no id": formatting(DYNAMIC, "-I", f"localhost:9093:{ONE}"),
    "initial controllers, bad id": formatting(DYNAMIC, "-I", f"x@localhost:9093:{ONE}"),
    "initial controllers, negative id": formatting(DYNAMIC, "-I", f"-1@localhost:9093:{ONE}"),
    "initial controllers, no port": formatting(DYNAMIC, "-I", f"1@localhost:{ONE}"),
    "initial controllers, port no number": formatting(DYNAMIC, "-I", f"1@localhost:x:{ONE}"),
    "initial controllers, no host": formatting(DYNAMIC, "-I", "1@"),
    "initial controllers, nothing before @": formatting(DYNAMIC, "-I", f"@localhost:9093:{ONE}"),
    "initial controllers, no right bracket": formatting(DYNAMIC, "-I", f"1@[::1:9093:{ONE}"),
    "initial controllers, no colon behind the bracket": formatting(DYNAMIC, "-I", f"1@[::1]9093:{ONE}"),
    "initial controllers, commas": formatting(DYNAMIC, "-I", f",1@localhost:9093:{ONE},"),
    "initial controllers, bad port": formatting(DYNAMIC, "-I", f"1@localhost:70000:{ONE}"),
    "initial controllers, no directory": formatting(DYNAMIC, "-I", "1@localhost:9093"),
    "initial controllers, bad directory": formatting(DYNAMIC, "-I", "1@localhost:9093:x"),
    "initial controllers, blank": formatting(DYNAMIC, "-I", f"1@localhost:9093:{ONE}, 2@localhost:9094:{TWO}"),
    "initial controllers, reserved directory": formatting(DYNAMIC, "-I", "1@localhost:9093:AAAAAAAAAAAAAAAAAAAAAA"),
    "no initial controllers": formatting(DYNAMIC, "-N"),
    "no initial controllers of a broker": formatting(BROKER, "-N"),
    "two flags": formatting(DYNAMIC, "-N", "-s"),
    "broker": (BROKER, [FORMAT, INFO]),
    "no cluster id": (STATIC, [["format", "-c", "{dir}/node.properties"]]),
    "no config": (STATIC, [["format", "-t", CLUSTER]]),
    "config missing": (STATIC, [["format", "-t", CLUSTER, "-c", "{dir}/other.properties"]]),
    "cluster id of words": (STATIC, [["format", "-t", "my-cluster", "-c", "{dir}/node.properties"], INFO]),
    "cluster id empty": (STATIC, [["format", "-t", "", "-c", "{dir}/node.properties"]]),
    "another cluster id": (STATIC, [FORMAT, ["format", "-g", "-t", TWO, "-c", "{dir}/node.properties"]]),
    "no role": formatting(STATIC | {"process.roles": ""}),
    "bad role": formatting(STATIC | {"process.roles": "king"}),
    "no node id": formatting({name: value for name, value in STATIC.items() if name != "node.id"}),
    "negative node id": formatting(STATIC | {"node.id": "-1"}),
    "bad node id": formatting(STATIC | {"node.id": "x"}),
    "broker.id": formatting({name: value for name, value in STATIC.items() if name != "node.id"} | {"broker.id": "1"}),
    "no controller listener names": formatting(STATIC | {"controller.listener.names": ""}),
    "no quorum": formatting(COMBINED, "-s"),
    "unknown setting": formatting(STATIC | {"no.such.setting": "1"}),
    "bad value of another setting": formatting(STATIC | {"num.partitions": "x"}),
    "feature": formatting(STATIC, "-f", "group.version=0", "--feature", "transaction.version=1"),
    "feature twice": formatting(STATIC, "-f", "transaction.version=0", "-f", "transaction.version=1"),
    "feature with blanks": formatting(STATIC, "-f", " transaction.version = 1 "),
    "every feature off": formatting(
        STATIC, "-f", "group.version=0", "-f", "share.version=0", "-f", "streams.version=0", "-f", "transaction.version=0",
        "-f", "eligible.leader.replicas.version=0",
    ),
    "feature unknown": formatting(STATIC, "-f", "no.such=1"),
    "feature too high": formatting(STATIC, "-f", "group.version=2"),
    "feature negative": formatting(STATIC, "-f", "group.version=-1"),
    "feature without level": formatting(STATIC, "-f", "group.version"),
    "feature level no number": formatting(STATIC, "-f", "group.version=x"),
    "feature level beyond a short": formatting(STATIC, "-f", "group.version=99999"),
    "feature metadata.version": formatting(STATIC, "-f", "metadata.version=25"),
    "feature metadata.version and release": formatting(STATIC, "-f", "metadata.version=25", "-r", "4.3-IV0"),
    "feature metadata.version too low": formatting(STATIC, "-f", "metadata.version=6"),
    "feature metadata.version unstable": formatting(STATIC, "-f", "metadata.version=31"),
    "feature metadata.version too high": formatting(STATIC, "-f", "metadata.version=99"),
    "kraft.version 0, static": formatting(STATIC, "-f", "kraft.version=0"),
    "kraft.version 1, static": formatting(STATIC, "-f", "kraft.version=1"),
    "kraft.version 0, standalone": formatting(DYNAMIC, "-s", "-f", "kraft.version=0"),
    "kraft.version 1, standalone": formatting(DYNAMIC, "-s", "-f", "kraft.version=1"),
    "kraft.version 2, standalone": formatting(DYNAMIC, "-s", "-f", "kraft.version=2"),
    "kraft.version 0, no initial controllers": formatting(DYNAMIC, "-N", "-f", "kraft.version=0"),
    "kraft.version 1, broker": formatting(BROKER, "-f", "kraft.version=1"),
    "standalone with an old release": formatting(DYNAMIC, "-s", "-r", "3.8"),
    "eligible.leader.replicas.version with an old release": formatting(STATIC, "-r", "4.0-IV0", "-f", "eligible.leader.replicas.version=1"),
    "share.version with an old release": formatting(STATIC, "-r", "3.9", "-f", "share.version=1"),
    "scram": formatting(
        STATIC,
        "-S", 'SCRAM-SHA-256=[name=alice,iterations=8192,salt="MWx2NHBkbnc0ZndxN25vdGN4bTB5Y2g=",password=alice-secret]',
        "--add-scram", 'SCRAM-SHA-512=[name=alice,salt="MWx2NHBkbnc0ZndxN25vdGN4bTB5Y2g=",saltedpassword="mT0yyUUxnlJaC99HXgRTSYlbuqa4FSGtJCJfTMvjYCE="]',
    ),
    "scram of a standalone node": formatting(DYNAMIC, "-s", "-S", 'SCRAM-SHA-256=[name=bob,salt="c2FsdA==",password="with=sign"]'),
    "scram, name with blanks": formatting(STATIC, "-S", 'SCRAM-SHA-256=[name= bob ,salt="c2FsdA==",password=p]'),
    "scram, with an old release": formatting(STATIC, "-r", "3.4", "-S", "SCRAM-SHA-256=[name=alice,password=p]"),
    **{
        f"scram: {text}": formatting(STATIC, "-S", text)
        for text in (
            "SCRAM-SHA-256", "SCRAM-SHA-1=[name=a,password=b]", "scram-sha-256=[name=a,password=b]", "SCRAM-SHA-256=name=a,password=b",
            "SCRAM-SHA-256=[name=a,password=b", "SCRAM-SHA-256=[]", "SCRAM-SHA-256=[password=b]", "SCRAM-SHA-256=[name=a]",
            "SCRAM-SHA-256=[name=a,saltedpassword=YCE=]", "SCRAM-SHA-256=[name=a,password=b,salt=!]", "SCRAM-SHA-256=[name=a,password=b,iterations=x]",
            "SCRAM-SHA-256=[name=a,password=b,iterations=1]", "SCRAM-SHA-256=[name=a,password=b,iterations=16385]", "SCRAM-SHA-256=[name=a,password=b,x=1]",
            "SCRAM-SHA-256=[name=a,password=b,y]", "SCRAM-SHA-256=[name=a,salt=YCE=,saltedpassword=!]",
        )
    },
    **{
        f"release {release}": formatting(STATIC, "-r", release)
        for release in ("3.3-IV3", "3.3", "3.4", "3.5-IV2", "3.6", "3.7-IV4", "3.8", "3.9", "4.0", "4.0-IV1", "4.1", "4.2", "4.3", "4.3-IV0", "4.4", "4.4-IV0", "3.2", "3.3-IV2", "2.8", "4", "x", "")
    },
    "unstable features": formatting(STATIC | {"unstable.feature.versions.enable": "true"}),
    "release 4.4-IV0, unstable features": formatting(STATIC | {"unstable.feature.versions.enable": "true"}, "-r", "4.4-IV0"),
    "feature unstable": formatting(STATIC | {"unstable.feature.versions.enable": "true"}, "-f", "share.version=2"),
    "info of nothing": (STATIC, [INFO]),
    "info without config": (STATIC, [["info"]]),
    "info of two directories that are not there": (STATIC | TWO_DIRECTORIES, [INFO]),
    "random-uuid with an argument": (STATIC, [["random-uuid", "x"]]),
    "version-mapping": (STATIC, [["version-mapping"]]),
    **{
        f"version-mapping {release}": (STATIC, [["version-mapping", "-r", release]])
        for release in ("3.3-IV3", "3.4-IV0", "3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2", "3.7-IV0", "3.7-IV1", "3.7-IV2", "3.7-IV3", "3.7-IV4",
                        "3.8-IV0", "3.9-IV0", "4.0-IV0", "4.0-IV1", "4.0-IV2", "4.0-IV3", "4.1-IV0", "4.1-IV1", "4.2-IV0", "4.2-IV1", "4.3-IV0", "4.4-IV0",
                        "3.3", "3.5", "3.6", "3.7", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4", "2.8-IV0", "x")
    },
    "feature-dependencies": (STATIC, [["feature-dependencies"]]),
    **{
        f"feature-dependencies {text}": (STATIC, [["feature-dependencies", "-f", text]])
        for text in (
            "metadata.version=30", "metadata.version=7", "metadata.version=6", "metadata.version=31", "metadata.version=99", "kraft.version=0", "kraft.version=1",
            "kraft.version=2", "transaction.version=0", "transaction.version=1", "transaction.version=2", "transaction.version=3", "group.version=1",
            "eligible.leader.replicas.version=1", "eligible.leader.replicas.version=0", "share.version=1", "share.version=2", "share.version=3", "streams.version=1",
            "streams.version=2", "no.such=1", "group.version", "group.version=x", " group.version = 1 ", "group.version=-1",
        )
    },
    "two feature-dependencies": (STATIC, [["feature-dependencies", "-f", "group.version=1", "--feature", "metadata.version=20"]]),
    "no command": (STATIC, [[]]),
    "unknown command": (STATIC, [["frmat"]]),
}  # fmt: skip

FILES: dict[str, dict[str, str]] = {
    "a is a file": {"a": ""},
    "other files in a": {"a/other": "x"},
    "a is of another node": {"a/meta.properties": meta(node_id="2")},
    "a is of another cluster": {"a/meta.properties": meta(cluster_id=TWO)},
    "a has no directory.id": {"a/meta.properties": meta(directory_id="")},
    "a has no cluster.id": {"a/meta.properties": meta(cluster_id="")},
    "a has no node.id": {"a/meta.properties": meta(node_id="")},
    "a has no version": {"a/meta.properties": meta(version="")},
    "a has a version that is not known": {"a/meta.properties": meta(version="2")},
    "a is of Zookeeper": {"a/meta.properties": f"version=0\nbroker.id=1\ncluster.id={CLUSTER}\n"},
    "a is cut off": {"a/meta.properties": "#\n#Sun\nnode.id=1\ndirecto"},
    "a is empty": {"a/meta.properties": ""},
    "only b is formatted": {"b/meta.properties": meta()},
    "b is of another node": {"a/meta.properties": meta(), "b/meta.properties": meta(node_id="2", directory_id=TWO)},
    "b is of another cluster": {"a/meta.properties": meta(), "b/meta.properties": meta(cluster_id=TWO, directory_id=TWO)},
    "b has the id of a": {"a/meta.properties": meta(), "b/meta.properties": meta()},
    "there was a bootstrap.checkpoint": {"a/bootstrap.checkpoint": "x"},
    "there was a snapshot": {"a/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint": "x"},
}  # fmt: skip
"""What stands in the directory before, by the name of a case: info, format and format -g of it, with one directory or with two."""


def cases() -> dict[str, tuple[dict[str, str], dict[str, str], list[list[str]]]]:
    found = {name: ({}, *case) for name, case in CASES.items()}
    for name, files in FILES.items():
        settings = STATIC | TWO_DIRECTORIES if " b " in f" {name} " else STATIC
        for what, command in (("info", INFO), ("format", FORMAT), ("format -g", [*FORMAT, "-g"])):
            found[f"{name}: {what}"] = (files, settings, [command])
    snapshot = FILES["there was a snapshot"]
    found["there was a snapshot: standalone"] = (snapshot, DYNAMIC, [[*FORMAT, "-s"]])
    return found


def record(case: tuple[dict[str, str], dict[str, str], list[list[str]]]) -> dict[str, Any]:
    files, settings, commands = case
    with tempfile.TemporaryDirectory() as directory:
        for name, text in files.items():
            path = Path(directory, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        lines = [f"{name}={value}" for name, value in settings.items()]
        Path(directory, "node.properties").write_text("\n".join(lines).replace("{dir}", directory))
        runs = [run(command, directory) for command in commands]
        return {"before": files, "settings": settings, "runs": runs, "left": left(Path(directory))}


def run(command: list[str], directory: str) -> dict[str, Any]:
    arguments = [each.replace("{dir}", directory) for each in command]
    done = subprocess.run(
        ["java", "-cp", os.environ["MILLSTREAM_KAFKA_CLASSPATH"], "kafka.tools.StorageTool", *arguments],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    return {
        "arguments": command, "exit": done.returncode, "out": sentences(done.stdout, directory), "error": sentences(done.stderr, directory),
    }  # fmt: skip


def sentences(text: str, directory: str) -> list[str]:
    """The lines that are no trace and no line of a log."""
    lines = text.replace(directory, "{dir}").splitlines()
    noise = re.compile(r"\t|java\.|Caused by|.* (ERROR|WARN) ")
    return [line for line in lines if not noise.match(line)]


def left(directory: Path) -> dict[str, Any]:
    """By name, the files in data directories: the text of meta.properties, the others in hexadecimal digits."""
    found = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.name != "node.properties":
            name = str(path.relative_to(directory))
            text = path.name == "meta.properties"
            found[name] = path.read_text() if text else path.read_bytes().hex()
    return found


def main(target: str) -> None:
    named = cases()
    with ThreadPoolExecutor(2) as pool:
        records = dict(zip(named, pool.map(record, named.values()), strict=True))
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in records.items()]
    Path(target).write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1])
