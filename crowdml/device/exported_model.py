"""Load a learnt model, from a file or from the server that learnt it."""

from contextlib import closing
from pathlib import Path

from crowdml.device.enrolment import fetch_certificate
from crowdml.device.network import HttpTransport, read_link
from crowdml.errors import InvalidInput
from crowdml.learnt import LearntModel, read_model
from crowdml.tables import check_kind, read_file


def load_model(
    source: Path | str, *, fingerprint: str | None = None, insecure_http: bool = False
) -> LearntModel:
    """Load the model as an estimator: `predict`, `predict_proba`, `classes_`, `feature_names_in_`.

    It takes features as the task describes them, does with them what devices do, and works in
    scikit-learn's pipelines. `model.about` says what it was learnt under.

    Args:
        source: An .npz or .json file of `crowdml task export`, or the address of a task, such as
            https://HOST/tasks/NAME.
        fingerprint: SHA-256 of the server's self-signed certificate.
        insecure_http: Allow plain HTTP beyond loopback.
    """
    check_kind("source", source, (str, Path), "a file, or the address of a task")
    name = str(source)
    if not name:
        raise InvalidInput("a model must be a file or the address of a task, found nothing.")
    if "://" in name:
        return _fetch(name, fingerprint, insecure_http)
    try:
        data = read_file(Path(source), f"the model {name}")
    except OSError as error:
        raise InvalidInput(f"cannot read the model {name}: {error.strerror}.") from error
    return read_model(data, name)


def _fetch(url: str, fingerprint: str | None, insecure_http: bool) -> LearntModel:
    root, task = read_link(url)
    certificate = fetch_certificate(root, fingerprint) if fingerprint is not None else None
    with closing(HttpTransport(root, task, certificate, insecure_http)) as server:
        return read_model(server.export(), url)
