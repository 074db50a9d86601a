"""Build or check a server's image: python -m tests.packaging.image build docker|buildah, or check.

`build` needs no package besides Python. buildah works as root and without a registry: Debian's
debootstrap makes the base image. `check` starts the server of an image that buildah has built.
"""

import ast
import json
import os
import re
import shlex
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "examples" / "docker"
IMAGE = "crowdml"
BUILDAH = ("--isolation", "chroot")
PASSED_ON = ("cert", "extra-index-url", "index-url", "timeout", "trusted-host")
"""The settings of pip that reach the build."""

READY_SECONDS, STOP_SECONDS = 120.0, 10.0
PAGES = ("/", "/crowdml.whl", "/metrics")
"""Paths that a server must be able to answer although its disk is read-only."""

CADDYFILE = re.compile(r"^```\n(example\.org \{\n.*?)^```", re.DOTALL | re.MULTILINE)

Seconds = float


def base() -> str:
    """Return the name of the image that ours is based on."""
    (name,) = re.findall(r"^FROM (\S+:\S+)", (DOCKER / "Dockerfile").read_text(), re.MULTILINE)
    return str(name)


def build(builder: str) -> None:
    """Build the image, with the machine's settings of pip as secrets that no layer keeps."""
    began = time.monotonic()
    own: list[str] = []
    if builder == "buildah":
        ignored = DOCKER / "Dockerfile.dockerignore"
        own = [*BUILDAH, "--pull-never", "--layers", "--ignorefile", str(ignored)]
        if not works([builder, "inspect", "--type", "image", base()]):
            make_base()
    with tempfile.TemporaryDirectory() as folder:
        listed = output([sys.executable, "-m", "pip", "config", "list"])
        for name, secret in secrets(listed, Path(folder)).items():
            own += ["--secret", f"id={name},src={secret}"]
        run([builder, "build", *own, "--file", DOCKER / "Dockerfile", "--tag", IMAGE, ROOT])
    say(f"built {IMAGE} with {builder} in {time.monotonic() - began:.0f} s")


def make_base() -> None:
    """Make a Debian from its packages, without settings of this machine, and name it."""
    _, _, release = base().partition(":")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "base"
        run(["debootstrap", "--variant=minbase", release.removesuffix("-slim"), place])
        for known in ("etc/hostname", "etc/resolv.conf", "var/log/bootstrap.log"):
            (place / known).unlink(missing_ok=True)
        for downloaded in ("dev", "var/cache/apt", "var/lib/apt/lists"):
            shutil.rmtree(place / downloaded)
            (place / downloaded).mkdir()
        container = output(["buildah", "from", "scratch"])
        try:
            run(["buildah", "add", "--quiet", container, place, "/"])
            run(["buildah", "commit", "--quiet", container, base()])
        finally:
            run(["buildah", "rm", container])


def secrets(listed: str, folder: Path) -> dict[str, Path]:
    """Write the files that pip gets while the image is built, by their names in the Dockerfile.

    Args:
        listed: What `pip config list` prints. Files of this machine are of no use to the build, but
            for its certificates.
    """
    settings: dict[str, str] = {}
    for line in listed.splitlines():  # The environment's settings have priority, so they come last.
        name, _, value = line.partition("=")
        section, _, option = name.rpartition(".")
        words = [word for word in ast.literal_eval(value).split() if not word.startswith("file:")]
        if section in ("global", ":env:") and option in PASSED_ON and words:
            settings[option] = " ".join(words)
    found = {"pip": folder / "pip.conf"}
    if certificates := settings.pop("cert", ""):
        found["certificates"] = Path(certificates)
        settings["cert"] = "/run/secrets/certificates.pem"
    lines = (f"{name} = {value}\n" for name, value in settings.items())
    found["pip"].write_text("[global]\n" + "".join(lines))
    return found


def check() -> None:
    """Run the image's server on PostgreSQL; check its user, its answers and how it ends."""
    from crowdml.demo import free_port
    from tests.support.postgres import running_postgres

    check_files()
    with running_postgres() as postgres, container() as (name, root):
        size = sum(file.lstat().st_size for file in root.rglob("*") if not file.is_symlink())
        say(f"the image: {size / 1e6:.0f} MB")
        port, began = free_port(), time.monotonic()
        with serving(name, root, port, postgres.make("crowdml")) as server:
            answer(port, "/readyz", READY_SECONDS)
            say(f"/readyz answers after {time.monotonic() - began:.1f} s, on PostgreSQL")
            status = Path(f"/proc/{server}/status").read_text()
            (user,) = re.findall(r"^Uid:\t(\d+)\t\1\t\1\t\1$", status, re.MULTILINE)
            mounts = Path(f"/proc/{server}/mounts").read_text()
            (options,) = re.findall(r"^\S+ / \S+ (\S+)", mounts, re.MULTILINE)
            say(f"the server runs as user {user}; its root is {options.split(',')[0]}")
            assert int(user) > 0, "the server must not be root"
            assert "ro" in options.split(","), options
            for path in PAGES:
                say(f"{path}: {len(answer(port, path)):,} bytes")
            with unfinished(port):
                seconds = stop(server)
            say(f"stopped {seconds:.1f} s after SIGTERM, while a body had not arrived in full")


def check_files() -> None:
    """Let Compose and Caddy read what is written for them, where they are installed."""
    here = os.environ | {"DATABASE_PASSWORD": "none"}
    for program in (["docker", "compose"], ["docker-compose"]):
        if works([*program, "version"]):
            run([*program, "--file", DOCKER / "compose.yaml", "config", "--quiet"], here)
            say(f"{program[-1]} reads compose.yaml")
    if works(["caddy", "version"]):
        for i, text in enumerate(caddyfiles()):
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "Caddyfile"
                file.write_text(text)
                run(["caddy", "validate", "--adapter", "caddyfile", "--config", file])
            say(f"Caddy reads example {i + 1} in operate.md")


def caddyfiles() -> list[str]:
    """Return the two Caddyfiles of operate.md: for a site, and for a path beside other sites."""
    text = (ROOT / "docs" / "operate.md").read_text()
    (whole,) = CADDYFILE.findall(text)
    (proxy,) = re.findall(r"`(reverse_proxy /\S+ \S+)`", text)
    return [whole, whole.replace("reverse_proxy 127.0.0.1:8443", proxy)]


@contextmanager
def container() -> Iterator[tuple[str, Path]]:
    """Make a container of the image; return its name and the place of its root."""
    name = output(["buildah", "from", "--pull-never", IMAGE])
    try:
        yield name, Path(output(["buildah", "mount", name]))
    finally:
        run(["buildah", "rm", name])


@contextmanager
def serving(name: str, root: Path, port: int, database: str) -> Iterator[int]:
    """Start the server's process as the image says, with a read-only root."""
    config = json.loads(output(["buildah", "inspect", name]))["OCIv1"]["config"]
    command = [*config["Entrypoint"], *config["Cmd"], "--port", str(port)]
    with tempfile.TemporaryDirectory() as volume:
        os.chmod(volume, 0o777)  # As an empty volume, whose owner becomes the image's user.
        start = shlex.join([
            "buildah", "run", *BUILDAH, "--env", f"CROWDML_DATABASE={database}",
            "--mount", "type=tmpfs,destination=/tmp",
            "--volume", f"{volume}:{config['WorkingDir']}", name, "--", *command,
        ])  # fmt: skip
        # buildah itself writes a file to /run when it starts, and removes it when it ends.
        where = shlex.quote(str(root))
        script = f"""mount --bind {where} {where} && mount -o remount,bind,ro {where} \
            && mount -t tmpfs none {where}/run && exec {start}"""
        outer = subprocess.Popen(["unshare", "--mount", "sh", "-c", script], start_new_session=True)
        try:
            yield server_below(outer)
            assert outer.wait(STOP_SECONDS) == 0, outer.returncode
        finally:
            if outer.poll() is None:
                os.killpg(outer.pid, signal.SIGKILL)
                outer.wait()


def server_below(outer: subprocess.Popen[bytes]) -> int:
    """Return the first process below buildah that runs a program of the image."""
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        assert outer.poll() is None, "buildah run has ended"
        for each in descendants(outer.pid):
            program, *words = Path(f"/proc/{each}/cmdline").read_bytes().split(b"\0")
            if b"python" in program and words[0].endswith(b"/bin/crowdml"):
                return each
        time.sleep(0.05)
    raise AssertionError("the server does not start")


def descendants(process: int) -> list[int]:
    """List all processes that a process has started, the oldest first."""
    files = Path(f"/proc/{process}/task").glob("*/children")
    children = [int(each) for file in files for each in file.read_text().split()]
    return children + [each for child in children for each in descendants(child)]


def stop(process: int) -> Seconds:
    """Send SIGTERM, and return how long the process takes to end."""
    began = time.monotonic()
    os.kill(process, signal.SIGTERM)
    try:
        while ") Z " not in Path(f"/proc/{process}/stat").read_text():
            assert time.monotonic() - began < STOP_SECONDS, "the server does not stop"
            time.sleep(0.01)
    except (FileNotFoundError, ProcessLookupError):
        pass
    return time.monotonic() - began


def answer(port: int, path: str, patience: Seconds = 30.0) -> bytes:
    """Return what the server answers; its certificate is self-signed."""
    context = ssl._create_unverified_context()
    until = time.monotonic() + patience
    while True:
        try:
            url = f"https://127.0.0.1:{port}{path}"
            with urllib.request.urlopen(url, timeout=patience, context=context) as found:
                return bytes(found.read())
        except (urllib.error.URLError, ConnectionError) as error:
            if isinstance(error, urllib.error.HTTPError) or time.monotonic() > until:
                raise
            time.sleep(0.05)


@contextmanager
def unfinished(port: int) -> Iterator[None]:
    """Send a request whose body never comes."""
    with (
        socket.create_connection(("127.0.0.1", port)) as plain,
        ssl._create_unverified_context().wrap_socket(plain) as secure,
    ):
        lines = "POST /v1/tasks/none/checkins HTTP/1.1", "Host: x", "Content-Length: 100", "", "{"
        secure.sendall("\r\n".join(lines).encode())
        yield


def works(command: list[str]) -> bool:
    if not shutil.which(command[0]):
        return False
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def run(command: list[object], environment: dict[str, str] | None = None) -> None:
    subprocess.run(list(map(str, command)), env=environment, check=True)


def output(command: list[str]) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    build(sys.argv[2]) if sys.argv[1] == "build" else check()
