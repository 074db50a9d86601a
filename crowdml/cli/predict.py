"""Define `crowdml predict`."""

from typing import Annotated, Any

import msgspec
import numpy as np
import typer

from crowdml.cli.options import CSV, FINGERPRINT, INSECURE_HTTP, JSON, LABEL, source_name
from crowdml.cli.output import counted, print_json, print_lines
from crowdml.device import load_model, read_prediction_rows
from crowdml.device.sources import SampleForm
from crowdml.errors import InvalidInput
from crowdml.learnt import LearntModel, LearntSoftmax
from crowdml.tables import read_dialect


def predict(
    model: Annotated[
        str, typer.Argument(help="An exported .npz or .json file, or https://HOST/tasks/NAME.")
    ],
    source: Annotated[
        str,
        typer.Option(
            help="A CSV or JSON-lines file of features, perhaps with labels; - is standard input."
        ),
    ],
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Also print the probability of each label.")
    ] = False,
    csv: CSV = None,
    label: LABEL = None,
    fingerprint: FINGERPRINT = None,
    insecure_http: INSECURE_HTTP = False,
    json: JSON = False,
) -> None:
    """Predict a label or a number for each line of a file, with a learnt model."""
    learnt = load_model(model, fingerprint=fingerprint, insecure_http=insecure_http)
    labels = learnt.about.labels
    if probabilities and not isinstance(learnt, LearntSoftmax):
        kind = learnt.about.kind
        raise InvalidInput(
            f"--probabilities needs a model of the kind softmax, found {kind}. Leave it out."
        )
    if probabilities and not json:
        print_lines(",".join(["prediction", *sorted(labels)]))
    rows, known = [], []
    for x, y in read_prediction_rows(source, _form(learnt, source, csv, label), labels):
        row = _row(learnt, x, probabilities)
        rows += [row] if json else []
        if y is not None:
            known.append((row["prediction"], labels[int(y)] if labels else y))
        if not json:
            print_lines(
                ",".join(map(_text, [row["prediction"], *row.get("probabilities", {}).values()]))
            )
    error = _error(known) if known else {}
    if json:
        print_json(msgspec.structs.asdict(learnt.about) | error | {"rows": rows})
    for what, value in error.items():
        print_lines(
            f"{what} {value:.4g} over {counted(len(known), 'line')} with an answer",
            err=True,
        )


def _form(model: LearntModel, source: str, csv: str | None, label: str | None) -> SampleForm:
    about = model.about
    return SampleForm(
        names=about.names if about.named else (),
        may_miss=about.missing == "center",
        dialect=read_dialect(csv) if csv else None,
        label=label,
        requires_y=False,
        count=model.n_features_in_,
        on_note=lambda note: print_lines(f"{source_name(source)}: {note}", err=True),
    )


def _row(model: LearntModel, x: list[float | None], probabilities: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"prediction": model.predict([x])[0].item()}
    if probabilities and isinstance(model, LearntSoftmax):
        shares = model.predict_proba([x])[0]
        row["probabilities"] = dict(zip(sorted(model.about.labels), shares.tolist(), strict=True))
    return row


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.9g}"


def _error(known: list[tuple[Any, Any]]) -> dict[str, float]:
    """Compute the share of wrong labels, or the root mean square error of numbers."""
    predicted, true = map(np.array, zip(*known, strict=True))
    if predicted.dtype.kind == "U":
        return {"error": float((predicted != true).mean())}
    return {"root_mean_square_error": float(np.sqrt(((predicted - true) ** 2).mean()))}
