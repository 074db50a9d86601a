"""Test downloads from a real server on loopback: the whole right file, or only a reason."""

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from crowdml.errors import CrowdmlError, InvalidInput, Unreachable
from crowdml.simulation import ProgressBar
from crowdml.simulation.datasets import dataset_files
from crowdml.simulation.datasets.cache import cache_folder
from crowdml.simulation.datasets.dataset_files import MNIST, DatasetFile, read_dataset_file

CONTENT = bytes(range(256)) * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        answers = {
            "/good": CONTENT,
            "/changed": CONTENT[:-1] + b"?",
            "/longer": CONTENT * 3,
            "/interrupted": CONTENT[:100_000],
        }
        if self.path not in answers:
            self.send_error(404)
            return
        content = answers[self.path]
        self.send_response(200)
        length = len(CONTENT) if self.path == "/interrupted" else len(content)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(content)

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:  # the client closed the connection
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("CROWDML_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "*")
    return tmp_path / "crowdml"


def source(url: str) -> DatasetFile:
    return DatasetFile("toys/toy.bin", len(CONTENT), SHA256, url)


def left_behind(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.is_file()]


def test_good_file_is_kept(
    server: str, cache: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert read_dataset_file(source(f"{server}/good")) == CONTENT
    assert capfd.readouterr().out == ""
    assert left_behind(cache) == [cache / "toys" / "toy.bin"]
    monkeypatch.setattr(dataset_files, "download", None)
    assert read_dataset_file(source(f"{server}/good")) == CONTENT


def test_damaged_cache_is_replaced(server: str, cache: Path) -> None:
    (cache / "toys").mkdir(parents=True)
    (cache / "toys" / "toy.bin").write_bytes(b"half a file")
    assert read_dataset_file(source(f"{server}/good")) == CONTENT
    assert (cache / "toys" / "toy.bin").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("path", "kind", "reason"),
    [
        ("changed", InvalidInput, f"must have the SHA-256 checksum {SHA256}, found "),
        ("longer", InvalidInput, "must have the SHA-256 checksum"),
        ("interrupted", Unreachable, "ended after 100,000 of 256,000 bytes"),
        ("missing", Unreachable, "answered 404 Not Found"),
    ],
)
def test_anything_else_leaves_nothing(
    server: str, cache: Path, path: str, kind: type[CrowdmlError], reason: str
) -> None:
    with pytest.raises(kind, match=reason) as caught:
        read_dataset_file(source(f"{server}/{path}"))
    assert "try again, or set CROWDML_DATA to a folder that has toys/toy.bin" in str(caught.value)
    assert left_behind(cache) == []


def test_server_down(cache: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        port = http.server_port
    with pytest.raises(Unreachable, match=r"could not be downloaded .* set CROWDML_DATA"):
        read_dataset_file(source(f"http://127.0.0.1:{port}/good"))
    assert left_behind(cache) == []


def test_user_interrupts(server: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ProgressBar, "__call__", interrupt)
    with pytest.raises(KeyboardInterrupt):
        read_dataset_file(source(f"{server}/good"))
    assert left_behind(cache) == []


def test_cache_that_cannot_be_written(server: str, cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    with pytest.raises(Unreachable, match="could not be downloaded to"):
        read_dataset_file(source(f"{server}/good"))


def test_not_public(cache: Path) -> None:
    with pytest.raises(InvalidInput, match=f"cannot be downloaded. Set CROWDML_DATA .* {SHA256}"):
        read_dataset_file(DatasetFile("toys/toy.bin", len(CONTENT), SHA256))


def test_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROWDML_DATA", str(tmp_path))
    public, private = source("http://127.0.0.1:9/"), DatasetFile("toys/toy.bin", 3, SHA256)
    with pytest.raises(InvalidInput, match="Put it there, or unset CROWDML_DATA to download it"):
        read_dataset_file(public)
    with pytest.raises(InvalidInput, match="Put it there, since it is not public anywhere"):
        read_dataset_file(private)
    (tmp_path / "toys").mkdir()
    (tmp_path / "toys" / "toy.bin").write_bytes(CONTENT[1:])
    with pytest.raises(InvalidInput, match=r"toy.bin must have the SHA-256 .* Replace it"):
        read_dataset_file(public)
    (tmp_path / "toys" / "toy.bin").write_bytes(CONTENT)
    assert read_dataset_file(public) == CONTENT


def test_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache_folder() == tmp_path / "crowdml"
    for value in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert cache_folder() == Path.home() / ".cache" / "crowdml"


def test_addresses() -> None:
    for mnist in MNIST.values():
        assert mnist.url is not None
        assert mnist.url.startswith("https://")
        assert mnist.url.endswith(mnist.path)
