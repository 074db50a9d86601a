"""Write the model card: what hubs and people should know about a model before they use it."""

import json
from collections.abc import Iterator
from typing import Any

from crowdml.learnt import ModelDescription
from crowdml.models import MODELS
from crowdml.protocol import (
    MECHANISMS,
    Estimate,
    Statistics,
    Task,
    error_in_words,
    estimate_in_words,
)
from crowdml.server.log import Learner
from crowdml.server.results.export import learnt_model
from crowdml.server.results.task_view import current_statistics
from crowdml.visible import visible

MEANINGLESS = 0.25
"""The margin above which an estimated share counts as unknown."""

WIDE = 0.1
LIMITS = (
    "## Limits of use",
    "- Participants agreed to the purpose above. Ask the owner before you use it for another.",
    "- The model learnt only from people who chose to take part. Its error is not known for other "
    "people, places or sensors, nor for each label or each group of people.",
    "- Labels come from participants, and nobody has checked them.",
    "- It is a linear model of the features above, learnt through noise. Do not use it for "
    "decisions that can harm somebody if they are wrong.",
    "- ε is a promise to participants about what they sent. It does not protect people whose "
    "features are put into the model later.",
)


def model_card(learner: Learner) -> str:
    """Write Markdown with the head that model hubs read; raise while nothing is learnt."""
    task, now = learner.task, current_statistics(learner)
    about = learnt_model(learner.published).about
    # Hubs read YAML, and JSON is YAML.
    head = json.dumps(_metadata(task, about, now), indent=2, ensure_ascii=False)
    sections = (_learnt(task, now), _quality(task, now), _privacy(task, about), LIMITS)
    body = "\n\n".join(part for section in sections for part in section)
    body = body.replace("\n\n- ", "\n- ")
    text = _escaped(f"# {visible(task.title)}\n\n{body}")
    return f"---\n{head}\n---\n\n{text}\n\n{_use(task)}"


def _escaped(text: str) -> str:
    """Remove HTML, links and images from a text: hubs show cards to strangers.

    >>> _escaped("a <script> & ![x](//evil)")
    'a &lt;script> &amp; !\\\\[x](//evil)'
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("[", "\\[")


def _line(text: str) -> str:
    """Put an owner's text on one line, so that it cannot begin a paragraph or a heading."""
    return visible(" ".join(text.split()))


def _metadata(task: Task, about: ModelDescription, now: Statistics) -> dict[str, Any]:
    """Make the head of the card; hubs skip fields that they do not know.

    See https://huggingface.co/docs/hub/model-cards.
    """
    kind = "tabular-classification" if about.labels else "tabular-regression"
    metadata: dict[str, Any] = {
        "license": "unknown",
        "library_name": "crowdml",
        "pipeline_tag": kind,
        "tags": ["crowdml", "differential-privacy", "federated-learning", kind],
        "crowdml": {
            "task": about.task,
            "version": about.version,
            "devices": now.active_devices,
            "mechanism": about.mechanism,
            "epsilon": about.epsilon,
            "delta": about.delta,
            "unit": about.unit,
            "terms_sha256": about.terms_sha256,
        },
    }
    error = _known_error(now)
    if error is not None:
        metric = "accuracy" if about.labels else "within-tolerance"
        metadata["metrics"] = [metric]
        metadata["model-index"] = [{
            "name": about.task,
            "results": [{
                "task": {"type": kind, "name": task.title},
                "dataset": {"type": "crowdml", "name": "samples on participants' devices"},
                "metrics": [{
                    "type": metric,
                    "value": round(1 - (error.low + error.high) / 2, 4),
                    "name": f"{metric}: {error_in_words(error)}, at 95 % confidence, from noisy "
                    "counts",
                }],
            }],
        }]  # fmt: skip
    return metadata


def _learnt(task: Task, now: Statistics) -> Iterator[str]:
    terms = task.terms
    yield _line(task.objective)
    yield "## What was learnt"
    samples = "" if now.samples is None else f" with {now.samples:,} samples"
    yield (
        f"{MODELS[terms.model.kind].words.capitalize()}, learnt from {now.version:,} check-ins of "
        f"{now.active_devices:,} devices{samples}."
    )
    yield f"- **Owner**: {_line(terms.owner)}, {_line(terms.contact)}"
    yield f"- **Purpose**: {_line(terms.purpose)}"
    yield f"- **Sensors**: {_line(terms.sensors)}"
    words = " ".join([terms.features.description, *map(str, terms.features.sentences)]).strip()
    yield f"- **Features**, {terms.features.count}: {_line(words)}"
    labels = terms.target.labels
    unit = f" in {terms.target.unit}" if terms.target.unit else ""
    answer = ", ".join(labels) if labels else f"a number{unit}"
    yield _line(f"- **Answer**: {answer}. {terms.target.description}")
    if terms.model.start is not None:
        yield _line(f"- **Start**: {terms.model.start.phrase}")


def _quality(task: Task, now: Statistics) -> Iterator[str]:
    yield "## How good it is"
    what, terms = "predict another label than the participant gave", task.terms
    if not terms.n_classes:
        what = f"are off by more than {terms.model.tolerance:g} {terms.target.unit}".rstrip()
    estimate = _known_error(now)
    if estimate is None:
        yield "Not known: too few check-ins have counted errors, so noise hides the result."
        return
    yield (
        f"Of its predictions, {estimate_in_words(estimate)} {what}, with 95 % confidence. This is "
        "estimated from noisy counts of errors on participants' samples, before the model learnt "
        "from them. The counts are about this model and its earlier versions. The range allows for "
        "changes since then, for noise, and for differences between people."
    )
    if estimate.margin > WIDE:
        yield "That is a wide range. Test the model on your own data before you rely on it."


def _privacy(task: Task, about: ModelDescription) -> Iterator[str]:
    promise = task.terms.promise
    yield "## Privacy"
    if not promise.private:
        yield f"**NOT PRIVATE.** {promise.sentences['not_private']}"
    yield f"**{promise.level.pill}.** Participants who do not choose a limit read this:"
    yield f"> {' '.join(map(str, promise.what_leaves))}"
    yield f"> {' '.join(map(str, promise.what_is_lost))}"
    words = f", which {MECHANISMS[about.mechanism].words}" if promise.private else ""
    yield f"- **Mechanism**: {about.mechanism}{words}."
    yield f"- **ε** = {about.epsilon}, **δ** = {about.delta:g}, for one {about.unit}."
    start = task.terms.model.start
    if start is not None and start.rows is not None:
        yield (
            "- **Not protected** are the people of the pilot that the model starts from: their "
            "samples were not hidden."
        )
    yield f"- **Terms** that every participant agreed to, by SHA-256: `{about.terms_sha256}`"


def _use(task: Task) -> str:
    return f"""## Use it

```python
from crowdml import load_model

model = load_model("{task.name}.npz")  # `crowdml task export {task.name} --out {task.name}.npz`
model.predict(X)  # {_rows(task)}
```
"""


def _rows(task: Task) -> str:
    if task.terms.features.names:
        return "a data frame, or mappings, with the names above"
    return f"rows of {task.terms.features.count} features, as described above"


def _known_error(now: Statistics) -> Estimate | None:
    """Return the error of the current exported model; None where the estimate is too uncertain."""
    estimate = now.error
    return estimate if estimate and estimate.margin < MEANINGLESS else None
