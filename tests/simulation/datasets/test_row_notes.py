"""Test rows that are short, and columns in different units."""

import re

import numpy as np
import pytest

from crowdml.privacy import bound_rows
from crowdml.simulation import load_digits, row_notes

RAW = np.random.default_rng(0).normal(0, 1, (500, 4)) * [12, 3, 250, 1] + [45, 21, 300, 6]
"""Humidity in %, temperature in °C, light in lux, hours."""


def test_constants_bring_columns_to_one_size() -> None:
    """Check that the note's constants leave nothing to note, and that nine rows in ten fit."""
    (note,) = row_notes(RAW, 2)
    assert "varies 250 times as much" in note
    center, scale = (
        np.array(re.findall(rf"{name} = \[(.*?)\]", note)[0].split(", "), float)
        for name in ("center", "scale")
    )
    (length,) = map(float, re.findall(r"length = ([\d.]+\d)", note))
    scaled = (RAW - center) / scale / length
    assert not list(row_notes(scaled, 2))
    assert (np.linalg.norm(scaled, axis=1) <= 1).mean() == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize("norm", [1, 2])
def test_a_length_brings_short_rows_to_one(norm: int) -> None:
    short = RAW / [12, 3, 250, 1] / 200
    (note,) = row_notes(short, norm)
    (length,) = map(float, re.findall(r"length = ([\d.]+\d)", note))
    assert (np.linalg.norm(short / length, norm, axis=1) <= 1).mean() == pytest.approx(
        0.9, abs=0.02
    )
    assert "center" not in note
    assert not list(row_notes(short / length, norm))


def test_long_lists_are_not_written() -> None:
    (note,) = row_notes(np.hstack([RAW] * 4), 2)
    assert "[" not in note
    assert "crowdml task new --pilot" in note


def test_nothing_is_said_of_rows_that_are_fine() -> None:
    digits = bound_rows(load_digits().x_train, 2)
    digits /= np.linalg.norm(digits, axis=1, keepdims=True)
    assert not list(row_notes(digits[:, digits.std(axis=0) > 0.01], 2))
    assert not list(row_notes(np.ones((3, 2)), 2)), "columns without any deviation"
