"""Prepare the folder of a demo, and erase only what an earlier demo left."""

import shutil
from pathlib import Path

from crowdml.errors import InvalidInput

MARKER_FILE = ".crowdml-demo"
"""The file that marks a folder made by a demo: only a marked folder may be erased."""


def prepare_folder(folder: Path) -> None:
    """Make an empty folder, marked as a demo's."""
    try:
        erase_demo(folder)
        folder.mkdir(parents=True)
        (folder / MARKER_FILE).touch()
    except OSError as error:
        raise InvalidInput(
            f"cannot use the folder {folder}: {error.strerror}. Choose another with --folder."
        ) from error


def erase_demo(folder: Path) -> None:
    """Erase the folder if it is empty or belongs to an earlier demo."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is a file. Choose a folder with --folder.")
    if not (folder / MARKER_FILE).exists() and any(folder.iterdir()):
        raise InvalidInput(
            f"{folder} holds other files than an earlier demo's, which has {MARKER_FILE}. Choose "
            "another with --folder."
        )
    shutil.rmtree(folder)
