"""List the files behind the data sets, with their checksums and addresses."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from crowdml.errors import CrowdmlError, InvalidInput, Unreachable
from crowdml.simulation.datasets.cache import cache_folder
from crowdml.simulation.datasets.download import download


@dataclass(frozen=True)
class DatasetFile:
    """Describe a file whose bytes never change.

    Args:
        path: Its path inside the data folder.
        url: The public address of exactly this file, if there is one.
    """

    path: str
    n_bytes: int
    sha256: str
    url: str | None = None


def _mnist(name: str, n_bytes: int, sha256: str) -> DatasetFile:
    file = f"{name}-ubyte.gz"
    url = f"https://ossci-datasets.s3.amazonaws.com/mnist/{file}"
    return DatasetFile(f"mnist/{file}", n_bytes, sha256, url)


MNIST = {
    "x_train": _mnist(
        "train-images-idx3",
        9_912_422,
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    ),
    "y_train": _mnist(
        "train-labels-idx1",
        28_881,
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    ),
    "x_test": _mnist(
        "t10k-images-idx3",
        1_648_877,
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    ),
    "y_test": _mnist(
        "t10k-labels-idx1",
        4_542,
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    ),
}

# The files below were computed from public data, but are not public themselves.
CIFAR10 = DatasetFile(
    "cifar10_cnn_pca100.npz",
    11_192_015,
    "21ac1efc9fea0dc45bcf7d0e2586feaeeb4e0dd88415f69d35a3911bd0b31203",
)
EXTRASENSORY = DatasetFile(
    "activity_extrasensory.npz",
    3_102_294,
    "994aa12ed5231a3c80b116e71146423794427370f4c469307a74f4fa64065b6b",
)
AIR = DatasetFile(
    "air_beijing_3h.npz",
    2_499_122,
    "10adf8934cfb7345d89685a980996d11b5e87a0f31e4a8ec4cd375bce853b3c8",
)


def read_dataset_file(file: DatasetFile) -> bytes:
    """Read and verify a file: from the folder CROWDML_DATA if set, else cached or downloaded.

    Raises:
        InvalidInput: If the file is not there, is not the right one, or cannot be downloaded.
        Unreachable: If the download failed.
    """
    folder = os.environ.get("CROWDML_DATA")
    if folder:
        return _read_from_folder(file, Path(folder))
    path = cache_folder() / file.path
    if path.is_file():
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() == file.sha256:
            return content
    if file.url is None:
        raise InvalidInput(
            f"{file.path} is not public anywhere, so it cannot be downloaded. Set CROWDML_DATA "
            f"to a folder that has it (SHA-256 {file.sha256})."
        )
    try:
        download(file.url, path, file.sha256, file.n_bytes)
    except CrowdmlError as error:
        kind = Unreachable if isinstance(error, Unreachable) else InvalidInput
        raise kind(
            f"{error} Connect to the internet and try again, or set CROWDML_DATA to a folder "
            f"that has {file.path}."
        ) from error
    return path.read_bytes()


def _read_from_folder(file: DatasetFile, folder: Path) -> bytes:
    try:
        content = (folder / file.path).read_bytes()
    except OSError as error:
        otherwise = (
            "or unset CROWDML_DATA to download it"
            if file.url
            else "since it is not public anywhere and cannot be downloaded"
        )
        raise InvalidInput(
            f"CROWDML_DATA is {folder}, where {file.path} cannot be read ({error.strerror}). "
            f"Put it there, {otherwise}."
        ) from error
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise InvalidInput(
            f"{folder / file.path} must have the SHA-256 checksum {file.sha256}, "
            f"found {found}. Replace it by the original."
        )
    return content
