"""Test a user's own file, right and wrong."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from crowdml.errors import InvalidInput
from crowdml.simulation.datasets import Dataset, load_dataset
from tests.simulation.datasets.test_datasets import check_dataset

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 4))
Y = RNG.integers(0, 3, 50)


def load_arrays(folder: Path, **arrays: npt.ArrayLike) -> Dataset:
    file = folder / "mine.npz"
    np.savez(file, **{name: np.asarray(array) for name, array in arrays.items()})  # type: ignore[arg-type]
    return load_dataset(str(file))


def load_text(folder: Path, text: str) -> Dataset:
    file = folder / "mine.csv"
    file.write_text(text, encoding="utf-8")
    return load_dataset(str(file))


def test_npz(tmp_path: Path) -> None:
    data = load_arrays(tmp_path, X=X, y=Y)
    check_dataset(data)
    assert data.name == "mine"
    assert data.labels == ("0", "1", "2")
    assert (len(data.y_train), len(data.y_test)) == (40, 10)
    assert set(data.person) == {0}
    again = load_arrays(tmp_path, x=X, y=Y)
    assert (again.x_test == data.x_test).all()


def test_npz_with_test_set_and_people(tmp_path: Path) -> None:
    user = np.repeat(["zoe", "ann"], 25)
    data = load_arrays(tmp_path, X=X / 100, y=Y, user=user, X_test=X[:5] / 100, y_test=Y[:5])
    check_dataset(data)
    assert (data.x_train == X / 100).all()  # short rows stay unchanged
    assert (data.x_test == X[:5] / 100).all()
    assert (data.y_train == Y).all()
    assert data.person.tolist() == [1] * 25 + [0] * 25


def test_people_are_held_out_whole(tmp_path: Path) -> None:
    person = np.arange(50) % 10
    data = load_arrays(tmp_path, X=np.eye(50), y=Y, person=person)
    held_out = {int(person[row.argmax()]) for row in data.x_test}
    assert len(held_out) == 2
    assert len(data.y_test) == 10
    assert not held_out & set(data.person)


@pytest.mark.parametrize(
    ("y", "labels"),
    [
        (np.array([2.0, -1.0] * 25), ("-1", "2")),
        (np.array([True, False] * 25), ("False", "True")),
        (np.array(["walk", "sit"] * 25), ("sit", "walk")),
        (np.array([0.5, 1.0] * 25), ()),
    ],
)
def test_labels_or_numbers(
    tmp_path: Path, y: npt.NDArray[np.generic], labels: tuple[str, ...]
) -> None:
    data = load_arrays(tmp_path, X=X, y=y, X_test=X, y_test=y)
    assert data.labels == labels
    names = [labels[int(k)] for k in data.y_train] if labels else data.y_train.tolist()
    wanted = [str(v).removesuffix(".0") for v in y.tolist()] if labels else y.tolist()
    assert names == wanted


def test_many_whole_numbers_are_not_labels(tmp_path: Path) -> None:
    data = load_arrays(tmp_path, X=np.ones((1001, 1)), y=np.arange(1001))
    assert data.labels == ()
    assert sorted([*data.y_train, *data.y_test]) == list(range(1001))


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"X": X}, "must have the arrays X and y, .* found x"),
        ({"X": X, "y": Y, "X_test": X}, "both or neither"),
        ({"X": X[:, 0], "y": Y}, r"X must be a table .* shape \(50,\)"),
        ({"X": np.where(X > 2, np.nan, X), "y": Y}, r"found nan at X\[\d+, \d+\] \(of \d+ such\)"),
        ({"X": X.astype(str), "y": Y}, "X must be a table of numbers"),
        ({"X": X, "y": Y[:9]}, r"y must have one entry for each of the 50 rows, .* \(9,\)"),
        ({"X": X, "y": Y, "user": Y[:9]}, "person must have one entry"),
        (
            {"X": X, "y": np.full(50, np.nan)},
            r"y must be finite numbers, found nan at y\[0\] \(of 50 such\)",
        ),
        ({"X": X, "y": Y, "X_test": X[:, :2], "y_test": Y}, "X_test must have 4 columns"),
        ({"X": X, "y": Y, "X_test": X, "y_test": Y[:2]}, "as many rows as y_test"),
        ({"X": X, "y": Y.astype(object)}, "must be an .npz file of plain arrays"),
        ({"X": X[:1], "y": Y[:1]}, "at least two samples"),
    ],
)
def test_wrong_npz(tmp_path: Path, arrays: dict[str, npt.ArrayLike], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        load_arrays(tmp_path, **arrays)


def test_not_an_npz(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"cannot read .*none\.npz: No such file"):
        load_dataset(str(tmp_path / "none.npz"))
    for content in (b"", b"text", b"PK\x03\x04 not really"):
        (tmp_path / "bad.npz").write_bytes(content)
        with pytest.raises(
            InvalidInput, match=r"must be an \.npz file of plain arrays, found one that is damaged"
        ):
            load_dataset(str(tmp_path / "bad.npz"))
    with (tmp_path / "bad.npz").open("wb") as file:
        np.save(file, X)
    with pytest.raises(
        InvalidInput, match=r"must be an \.npz file of plain arrays, found one that is damaged"
    ):
        load_dataset(str(tmp_path / "bad.npz"))


def test_csv_without_names(tmp_path: Path) -> None:
    text = "\n".join(f"{a},{b},{a > b:d}" for a, b in X[:, :2])
    data = load_text(tmp_path, text + "\n\n")
    check_dataset(data)
    assert data.labels == ("0", "1")
    assert len(data.y_train) + len(data.y_test) == 50


def test_csv_with_names_people_and_text_labels(tmp_path: Path) -> None:
    lines = [f'{a / 10},"p{k % 6}", {b / 10},{"left, up" if a > b else "right"}'
             for k, (a, b) in enumerate(X[:, :2])]  # fmt: skip
    data = load_text(tmp_path, "\ufeffa, User ,b,y\n" + "\n".join(lines).replace("left, up", "up"))
    check_dataset(data)
    assert data.labels == ("right", "up")
    assert data.x_train.shape[1] == 2
    assert ((data.x_train[:, 0] > data.x_train[:, 1]) == data.y_train).all()
    assert len(set(data.person)) == 5


def test_csv_with_people_in_the_last_column(tmp_path: Path) -> None:
    data = load_text(tmp_path, "a,y,person\n" + "0.5,1.25,7\n0.25,2.5,8\n" * 10)
    assert data.labels == ()
    assert set(data.person) == {0, 1}
    assert set(data.y_train) == {1.25, 2.5}


def test_csv_with_semicolons_and_decimal_commas(tmp_path: Path) -> None:
    data = load_text(tmp_path, "a;y\n" + "0,5;1,25\n0.25;2,5\n" * 10)
    assert set(data.x_train[:, 0]) == {0.5, 0.25}
    assert set(data.y_train) == {1.25, 2.5}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "at least one line of values, found none"),
        ("1,NA,0\n1,2,0\n", "line 1, column 'x1'"),
        ("a,b,y\n1,nan,0\n1,2,0\n", "line 2, column 'b': must be a finite number .* found 'nan'"),
        ("a,b,y\n1,2,0\n1,2,inf\n", "line 3, column 'y': must be a finite number, found 'inf'"),
        ("1;2;0\n3;4;1\n", "found 1 columns. Columns are .* look like semicolons: replace them"),
        ("1.5;2;0\n1,5;2,5;0\n", "line 2: must have 1 columns .* look like semicolons"),
        ("3,0\n1\t2,0\n", "line 2, column 'x0': .* look like tabs: replace them"),
        ("1\n2\n", "must have a feature and a label"),
        ("person,y\n1,2\n", "must have a feature and a label, found 1 columns"),
    ],
)
def test_wrong_csv(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        load_text(tmp_path, text)


def test_not_a_csv(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match=r"cannot be read as a \.csv file"):
        load_dataset(str(tmp_path / "bad.csv"))
    with pytest.raises(InvalidInput, match=r"cannot be read as a \.csv file"):
        load_dataset(str(tmp_path / "none.csv"))
