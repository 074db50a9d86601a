"""Check units and containers: they parse, and what they name exists."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from crowdml.cli.device.commands import EXIT_CODES
from tests.docs.pages import ROOT
from tests.docs.test_commands import KNOWN
from tests.packaging.image import base, caddyfiles, secrets

SYSTEMD, DOCKER = ROOT / "examples" / "systemd", ROOT / "examples" / "docker"
UNITS = sorted(SYSTEMD.glob("*.service"))
PROGRAMS = ("/opt/crowdml/bin/crowdml", "%h/.local/crowdml/bin/crowdml")
TERMUX = ROOT / "examples" / "termux" / "crowdml"
DOUBTFUL = 8
"""The exit code of `crowdml device run` for rows that cannot be in the task's units."""


def setting(unit: Path, name: str) -> str:
    (found,) = re.findall(rf"^{name}=(.*)$", unit.read_text(), re.MULTILINE)
    return str(found)


def exists(words: list[str]) -> bool:
    """Decide whether a command has all the options that are given to it."""
    length = 1 if (words[0],) in KNOWN else 2
    options = {word for word in words if word.startswith("--")}
    return options <= KNOWN[tuple(words[:length])]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: str(unit.name))
def test_what_a_unit_starts(unit: Path) -> None:
    program, *words = setting(unit, "ExecStart").split()
    assert program in PROGRAMS
    assert exists(words)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: str(unit.name))
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd here")
def test_systemd_reads_a_unit(unit: Path, tmp_path: Path) -> None:
    here = tmp_path / unit.name
    here.write_text(unit.read_text().replace(setting(unit, "ExecStart").split()[0], "/bin/true"))
    manager = [] if "[Service]\nUser=" in unit.read_text() else ["--user"]
    if manager:
        assert "network" not in unit.read_text(), "a user's manager has no such targets"
    run = ["systemd-analyze", *manager, "verify", "--man=no", str(here)]
    environment = os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)}
    verified = subprocess.run(run, capture_output=True, text=True, env=environment)
    # Skip messages about other units of this machine.
    assert unit.name not in verified.stderr
    assert verified.returncode == 0, verified.stderr


def test_systemd_knows_every_way_a_device_stops() -> None:
    unit = SYSTEMD / "crowdml-device.service"
    prevent = set(map(int, setting(unit, "RestartPreventExitStatus").split()))
    fine = set(map(int, setting(unit, "SuccessExitStatus").split()))
    named = {outcome.name: code for outcome, code in EXIT_CODES.items()}
    assert prevent == {1, 2, named["ENDED"], named["LIMIT"], named["TERMS"], DOUBTFUL}
    listening = setting(SYSTEMD / "crowdml-listen.service", "RestartPreventExitStatus")
    assert set(map(int, listening.split())) == {1, 2, named["ENDED"], DOUBTFUL}
    assert fine == {named["ENDED"], named["WAITING"], named["PAUSED"]}


@pytest.mark.parametrize("last", [3, DOUBTFUL])
def test_a_phone_goes_on_until_the_task_is_over(tmp_path: Path, last: int) -> None:
    """Run the script for Termux:Boot with stand-ins for Termux's commands."""
    stand_ins = {
        "termux-wake-lock": "echo locked",
        "termux-wake-unlock": "echo unlocked",
        "termux-sensor": 'echo "sensor $*"',
        "python3": "cat; n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n; "
        f'exit "$((n * {last}))"',
    }
    for name, text in stand_ins.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path), "CROWDML_PAUSE": "0"}
    run = ["bash", str(TERMUX)]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["locked", "unlocked"]
    assert (tmp_path / "n").read_text() == "2\n", "0 goes on, 3 and 8 are the end"
    assert "sensor -s accel -d 50" in (tmp_path / "crowdml.log").read_text()
    assert "set -euo pipefail" in TERMUX.read_text()


def test_the_image_is_made_of_what_is_there() -> None:
    text = (DOCKER / "Dockerfile").read_text()
    kept = (DOCKER / "Dockerfile.dockerignore").read_text().splitlines()
    copied = [
        word
        for line in re.findall("^COPY (?!--from)(.*)$", text, re.M)
        for word in line.split()[:-1]
    ]
    assert copied
    for name in copied:
        assert (ROOT / name).exists()
        assert f"!{name}" in kept
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(re.findall(r"/src\[(\w+)\]", text)) <= set(project["optional-dependencies"])
    assert {project["readme"], "LICENSE"} <= set(copied), "the package cannot be built without"
    (command,) = re.findall(r"^CMD \[(.*)\]$", text, re.M)
    assert exists([word.strip(' "') for word in command.split(",")])


def test_the_image_keeps_no_setting_of_the_machine_that_builds_it(tmp_path: Path) -> None:
    """Check that pip gets its settings as secrets of one command, which no layer keeps."""
    text = (DOCKER / "Dockerfile").read_text()
    mounted = dict(re.findall(r"--mount=type=secret,id=(\w+),target=(\S+)", text))
    given = secrets(
        "global.cert='/etc/ca.pem'\n"
        "global.extra-index-url='\\nfile:///srv/wheels\\nhttps://index.example/more'\n"
        "global.find-links='/srv/wheels'\n"
        ":env:.index-url='https://index.example/simple'\n"
        "install.user='true'",
        tmp_path,
    )
    assert given == {"pip": tmp_path / "pip.conf", "certificates": Path("/etc/ca.pem")}
    assert set(given) == set(mounted)
    assert f"PIP_CONFIG_FILE={mounted['pip']}" in text
    assert given["pip"].read_text() == (
        "[global]\nextra-index-url = https://index.example/more\n"
        f"index-url = https://index.example/simple\ncert = {mounted['certificates']}\n"
    )
    assert not re.search("^(ARG|ENV) .*PIP", text, re.M)


def test_the_image_is_based_on_a_debian_that_debootstrap_knows() -> None:
    assert re.fullmatch("debian:[a-z]+-slim", base())


def test_what_caddy_is_given() -> None:
    """Check what Caddy is given; `make image-check` lets Caddy read it."""
    alone, beside = caddyfiles()
    assert alone.startswith("example.org {\n  reverse_proxy 127.0.0.1:8443 {\n")
    assert beside == alone.replace("reverse_proxy 127", "reverse_proxy /crowd/* 127")


def test_the_containers_fit_together() -> None:
    document: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text())
    services = document["services"]
    server = services["server"]
    context = (DOCKER / server["build"]["context"]).resolve()
    assert context == ROOT
    assert (context / server["build"]["dockerfile"]).is_file()
    assert exists(server["command"])
    assert set(server["depends_on"]) < set(services)
    assert "@database/" in server["environment"]["CROWDML_DATABASE"]
    used = {each.split(":")[0] for service in services.values() for each in service["volumes"]}
    assert used == set(document["volumes"])
