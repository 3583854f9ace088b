"""scripts/setup against a machine made of stubs: what it asks for, what it skips, what it repairs."""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.patience import LONG_ENOUGH_S

ROOT = Path(__file__).resolve().parents[3]

COMPILED = "src/millstream/compiled/finder.py"
SOURCES = [
    f"src/{name.replace('.', '/')}.py"
    for file in ("setup.py", COMPILED)
    for name in re.findall(r'"(millstream\.[\w.]+)"', (ROOT / file).read_text())
]
"""What is compiled."""

TOOLS = [
    "cat", "chmod", "cksum", "cp", "dirname", "find", "flock", "grep", "head", "mkdir", "rm", "sed", "sh", "touch", "tr",
]  # fmt: skip

JAVA_17 = """#!/bin/sh
echo 'openjdk version "17.0.16" 2025-07-15' >&2
"""

# Answers the questions that scripts/setup asks a Python, and makes a .venv whose Python logs what pip and compileall are to do.
PYTHON = """#!/bin/sh
case "$*" in
*"sys.exit(not"*) exit ${UNSUPPORTED:-0} ;;
*_base_executable*) echo "$0" ;;
*version_info*) echo "3 11" ;;
*ensurepip*) test -e "$MACHINE/has-venv" ;;
"-m venv "*)
    mkdir -p "$3/bin"
    cp "$0" "$3/bin/python"
    echo "#!$PWD/$3/bin/python" >"$3/bin/pip"
    printf '#!/bin/sh\necho "$*${SPARK_HOME:+ of $SPARK_HOME}" >>"$MACHINE/millstream.log"\nexit ${MILLSTREAM_STATUS:-0}\n' >"$3/bin/millstream"
    chmod +x "$3/bin/millstream" ;;
*"-m pip"*)
    echo "${*##*--no-input }" >>"$MACHINE/pip.log"
    case "$*" in *--quiet*) ;; *) printf "$WORDS_OF_PIP" ;; esac
    if [ -n "${PIP_DIES:-}" ]; then kill -9 $$; fi
    exit ${PIP_STATUS:-0} ;;
*"-m compileall"*) echo "$*" >>"$MACHINE/compileall.log" ;;
*--version*) echo "Python 3.11.2" ;;
esac
"""

APT = """#!/bin/sh
echo "$*" >>"$MACHINE/apt.log"
echo "words of apt"
case "$*" in *python3-venv*) touch "$MACHINE/has-venv" ;; esac
case "$*" in *openjdk*) cp "$MACHINE/java-17" "$MACHINE/bin/java" ;; esac
"""

WORDS_OF_PIP = """\
Collecting pyspark==4.3.0 (from -r requirements/demo.txt (line 7))
  Downloading pyspark-4.3.0.tar.gz (434.4 MB)
Collecting numpy==2.3.4
Installing collected packages: numpy, pyspark
"""

EVERYTHING = [
    "install --require-hashes -r requirements/build.txt",
    "install --require-hashes --no-build-isolation -r requirements/demo.txt",
    "install --no-deps --no-build-isolation --editable .",
]


class Machine:
    """A checkout, and a PATH on which only a few real tools and our stubs can be found."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.checkout = directory / "checkout"
        self.bin = directory / "bin"
        self.bin.mkdir(parents=True)
        for tool in TOOLS:
            found = shutil.which(tool)
            if found is not None:
                (self.bin / tool).symlink_to(found)
        self.program("python3", PYTHON)
        self.program("java", JAVA_17)
        self.program("id", "#!/bin/sh\necho 1000\n")
        self.program("kcat", "#!/bin/sh\n")
        (directory / "java-17").write_text(JAVA_17)
        (directory / "java-17").chmod(0o755)
        (directory / "has-venv").touch()
        for name in ("scripts", "requirements"):
            shutil.copytree(ROOT / name, self.checkout / name)
        for name in ("pyproject.toml", "setup.py", COMPILED, *SOURCES):
            (self.checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.checkout / name)

    def program(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def become_root_with_apt(self) -> None:
        self.program("id", "#!/bin/sh\necho 0\n")
        self.program("apt-get", APT)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(self.checkout / "scripts/setup"), *arguments],
            env={
                "PATH": str(self.bin),
                "MACHINE": str(self.directory),
                "WORDS_OF_PIP": WORDS_OF_PIP,
                **environment,
            },
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def setup(self, *arguments: str, **environment: str) -> tuple[int, str]:
        with self.start(*(arguments or ("demo",)), **environment) as process:
            out, err = process.communicate(timeout=LONG_ENOUGH_S)
        assert out == ""
        return process.returncode, err

    def log(self, name: str = "pip.log") -> list[str]:
        """What was asked of pip, apt or compileall since the last look."""
        path = self.directory / name
        lines = path.read_text().splitlines() if path.exists() else []
        path.write_text("")
        return lines


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_everything_is_installed_once_and_the_second_run_is_silent(machine: Machine) -> None:
    status, said = machine.setup()
    assert status == 0, said
    assert machine.log() == EVERYTHING
    assert machine.setup() == (0, "")
    assert machine.log() == []


def test_pyspark_is_compiled_once_and_what_works_without_it_is_no_failure(machine: Machine) -> None:
    status, said = machine.setup(MILLSTREAM_STATUS="2", SPARK_HOME="/somebody/spark")
    assert status == 0
    assert "PySpark is not compiled" in said
    assert machine.log("millstream.log") == ["pipeline compile-pyspark"]
    assert machine.setup() == (0, "")
    assert machine.log("millstream.log") == []


def test_each_package_is_told_while_it_is_fetched(machine: Machine) -> None:
    """The first set-up takes minutes: who watches it sees that something happens."""
    _, said = machine.setup()
    assert [line for line in said.splitlines() if line.startswith("set-up:   ")] == [
        "set-up:   fetching pyspark==4.3.0",
        "set-up:   fetching numpy==2.3.4",
        "set-up:   installing what was fetched",
    ]


def test_without_java_one_sentence_says_what_to_install(machine: Machine) -> None:
    (machine.bin / "java").unlink()
    status, said = machine.setup()
    assert status == 1
    assert said == (
        "set-up: missing: Java 17 or newer for Apache Spark; "
        "install it (Debian 12: apt-get install openjdk-17-jre-headless), then run make again.\n"
    )
    assert not (machine.checkout / ".venv").exists()


def test_java_8_is_no_java_17(machine: Machine) -> None:
    machine.program("java", JAVA_17.replace("17.0.16", "1.8.0_412"))
    status, said = machine.setup()
    assert status == 1
    assert "missing: Java 17" in said


def test_the_java_that_counts_is_the_one_that_spark_starts(machine: Machine) -> None:
    machine.become_root_with_apt()
    status, said = machine.setup(JAVA_HOME="/nowhere")
    assert status == 1
    assert said.startswith("set-up: JAVA_HOME=/nowhere has no Java 17 or newer")
    assert machine.log("apt.log") == []


def test_a_chosen_python_that_is_too_old_is_not_replaced(machine: Machine) -> None:
    machine.become_root_with_apt()
    status, said = machine.setup(PYTHON="python3", UNSUPPORTED="1")
    assert status == 1
    assert said.startswith("set-up: PYTHON=python3 is no Python 3.11 or newer")
    assert machine.log("apt.log") == []


def test_without_a_new_python_one_sentence_says_what_to_install(machine: Machine) -> None:
    status, said = machine.setup(UNSUPPORTED="1")
    assert status == 1
    assert said == (
        "set-up: missing: Python 3.11 or newer with its venv module; "
        "install it (Debian 12: apt-get install python3 python3-venv), then run make again.\n"
    )


def test_without_venv_one_sentence_says_what_to_install(machine: Machine) -> None:
    (machine.directory / "has-venv").unlink()
    status, said = machine.setup()
    assert status == 1
    assert said == (
        f"set-up: missing: the venv module of {machine.bin}/python3; "
        "install it (Debian 12: apt-get install python3-venv), then run make again.\n"
    )


def test_root_gets_what_is_missing_from_apt_in_one_line(machine: Machine) -> None:
    machine.become_root_with_apt()
    (machine.directory / "has-venv").unlink()
    (machine.bin / "java").unlink()
    status, said = machine.setup()
    assert status == 0, said
    assert "set-up: installing python3-venv openjdk-17-jre-headless with apt\n" in said
    assert "words of apt" not in said
    assert machine.log() == EVERYTHING


def test_without_kcat_the_tests_are_set_up_with_a_note(machine: Machine) -> None:
    (machine.bin / "kcat").unlink()
    status, said = machine.setup("dev")
    assert status == 0
    assert "kcat is not installed; its tests will be skipped" in said


def test_the_demo_is_ready_once_the_tests_are(machine: Machine) -> None:
    machine.setup("dev")
    assert len(machine.log()) == len(EVERYTHING) + 1
    assert machine.setup("demo") == (0, "")


def test_a_changed_lock_file_installs_that_set_and_nothing_else(machine: Machine) -> None:
    machine.setup()
    machine.log()
    with (machine.checkout / "requirements/demo.txt").open("a") as pins:
        pins.write("# another pin\n")
    assert machine.setup()[0] == 0
    assert machine.log() == EVERYTHING[1:2]


@pytest.mark.parametrize("leaf", [*SOURCES[:6], COMPILED, SOURCES[6], SOURCES[-1]])
def test_what_is_compiled_is_compiled_again_when_it_changes(machine: Machine, leaf: str) -> None:
    machine.setup()
    machine.log()
    with (machine.checkout / leaf).open("a") as source:
        source.write("# another line\n")
    assert machine.setup()[0] == 0
    assert machine.log() == EVERYTHING[2:]


def test_a_compiled_leaf_of_an_older_source_is_not_left_behind(machine: Machine) -> None:
    machine.setup()
    stale = machine.checkout / "src/millstream/records/walker_compiled.cpython-311.so"
    requests = machine.checkout / "src/millstream/compiled/requests_0123__mypyc.cpython-311.so"
    stale.touch()
    requests.touch()
    assert machine.setup()[0] == 0
    assert stale.exists()
    assert requests.exists()
    with (machine.checkout / "setup.py").open("a") as build:
        build.write("# another line\n")
    assert machine.setup()[0] == 0
    assert not stale.exists()
    assert not requests.exists()


def test_every_set_up_compiles_what_has_changed_to_bytecode(machine: Machine) -> None:
    """An editable install has none, and where PYTHONDONTWRITEBYTECODE is set Python never makes it."""
    machine.setup()
    assert machine.log("compileall.log") == ["-I -m compileall -q -j 0 src/millstream"]
    machine.setup()
    assert machine.log("compileall.log") == ["-I -m compileall -q -j 0 src/millstream"]


def test_a_killed_pip_leaves_nothing_that_is_trusted(machine: Machine) -> None:
    status, said = machine.setup(PIP_DIES="1")
    assert status == 1
    assert said.endswith("set-up: pip was killed; run make again.\n")
    machine.log()
    status, said = machine.setup()
    assert status == 0
    assert "making it anew" in said
    assert machine.log() == EVERYTHING


def test_a_failed_download_does_not_cost_the_environment(machine: Machine) -> None:
    machine.setup()
    machine.log()
    status, said = machine.setup("dev", PIP_STATUS="1")
    assert status == 1
    assert "is the package index within reach?" in said
    machine.log()
    assert machine.setup("demo") == (0, "")
    assert machine.log() == []


def test_a_moved_checkout_gets_a_new_environment(machine: Machine) -> None:
    machine.setup()
    machine.log()
    machine.checkout = machine.checkout.rename(machine.directory / "elsewhere")
    status, said = machine.setup()
    assert status == 0
    assert "making it anew" in said
    assert machine.log() == EVERYTHING


def test_another_python_gets_a_new_environment(machine: Machine) -> None:
    machine.setup()
    machine.log()
    machine.program("python3.13", PYTHON.replace("3 11", "3 13"))
    assert machine.setup(PYTHON="python3.13")[0] == 0
    assert machine.log() == EVERYTHING


@pytest.mark.skipif(shutil.which("flock") is None, reason="flock (util-linux) is not installed")
def test_set_ups_of_one_checkout_wait_for_each_other(machine: Machine) -> None:
    with (machine.checkout / "scripts/setup").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with machine.start("demo") as first, machine.start("demo") as second:
            for process in (first, second):
                assert process.stderr is not None
                assert "waiting for it" in process.stderr.readline()
            assert machine.log() == []
            fcntl.flock(lock, fcntl.LOCK_UN)
            for process in (first, second):
                process.communicate(timeout=LONG_ENOUGH_S)
    assert (first.returncode, second.returncode) == (0, 0)
    assert machine.log() == EVERYTHING


def test_an_unknown_set_is_refused(machine: Machine) -> None:
    assert machine.setup("deom") == (2, "usage: scripts/setup demo|dev\n")


@pytest.mark.skipif(
    shutil.which("shellcheck") is None,
    reason="shellcheck is not installed (Debian: apt-get install shellcheck)",
)
@pytest.mark.parametrize(
    "script",
    [*sorted(str(path.relative_to(ROOT)) for path in (ROOT / "scripts").iterdir()), ".ci/run"],
)
def test_shellcheck_finds_nothing(script: str) -> None:
    done = subprocess.run(
        ["shellcheck", script], cwd=ROOT, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.stdout == ""
