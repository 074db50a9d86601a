"""Send the average gradient and the counts of a minibatch with noise, and read them."""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import msgspec
import numpy as np

from crowdml.errors import InvalidInput
from crowdml.privacy.chance import Chance
from crowdml.privacy.checkin_key import CheckinKey
from crowdml.privacy.events import CheckinEvent, NoiseEvent, Release
from crowdml.privacy.mechanism import CheckinEstimates, Implausible
from crowdml.privacy.minibatch import MinibatchView, choose_rows
from crowdml.privacy.noise.calibration import INT32_MAX, NoiseCalibration
from crowdml.privacy.noise.grid import quantize
from crowdml.types import Array, Flags, Ints

Count = Annotated[int, msgspec.Meta(ge=-INT32_MAX, le=INT32_MAX)]


class NoisePayload(msgspec.Struct, frozen=True):
    """Carry ĝ, n_s, n̂_e and n̂_y: integers with exact noise.

    Args:
        samples: n_s, all samples of the minibatch.
        heldout: How many of them were set aside for counting errors.
        errors: n̂_e; may be negative.
        labels: n̂_y for each class; empty for a real target.
        grid: A gradient value is its integer times 2^grid.
        gradient: ĝ, as little-endian int32.
    """

    number: ClassVar[None] = None
    """Check-ins with noise are not numbered."""

    samples: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    heldout: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
    errors: Count
    labels: Annotated[tuple[Count, ...], msgspec.Meta(max_length=1000)]
    grid: Annotated[int, msgspec.Meta(ge=-1000, le=1000)]
    gradient: bytes


@dataclass(frozen=True)
class NoiseChannel(NoiseCalibration):
    """Bound, quantise and add noise on the device; check and read on the server."""

    payload_type: ClassVar[type[NoisePayload]] = NoisePayload

    # On the device

    def make_payload(
        self, minibatch: MinibatchView, event: CheckinEvent, key: CheckinKey, chance: Chance
    ) -> NoisePayload:
        """Add exactly the event's noise to the average gradient, the error and the label counts.

        Errors are counted on the held-out samples, or on all samples where none are held out.
        Gradients are averaged over the samples that were used for them. λw is added in whole steps
        after the noise, because it depends only on public numbers.
        """
        own = self._require_own(event, minibatch.n_samples)
        truth = self._truth(minibatch, own, choose_rows(own.n_samples, own.n_heldout, chance))
        noisy = {r.what: self._hide(truth[r.what], r, chance) for r in own.releases}
        return NoisePayload(
            samples=own.n_samples,
            heldout=own.n_heldout,
            errors=int(_fit(noisy["errors"])[0]),
            labels=tuple(_fit(noisy["labels"]).tolist()) if "labels" in noisy else (),
            grid=self.grid(own.n_training),
            gradient=_fit(noisy["gradient"] + self._decay(minibatch, own)).astype("<i4").tobytes(),
        )

    def _truth(
        self, minibatch: MinibatchView, event: NoiseEvent, heldout: Flags
    ) -> dict[str, Ints]:
        """Return the values that would be sent without noise, in whole steps, by name."""
        g = minibatch.mean_gradient(~heldout, self.clip, self.norm)
        length = float(np.linalg.norm(g, self.norm))
        if g.shape != (self.size,) or not length <= self.clip:
            raise InvalidInput(
                f"an average gradient must be {self.size} numbers with an L{self.norm} norm of at "
                f"most {self.clip:g}, found {g.size} with {length:g}. Clip each sample first."
            )
        evaluated = heldout if event.n_heldout else ~heldout
        return {
            "gradient": quantize(g, self.grid(event.n_training)),
            "errors": np.array([int(minibatch.mistakes()[evaluated].sum())]),
            "labels": np.bincount(minibatch.labels, minlength=self.n_classes),
        }

    def _decay(self, minibatch: MinibatchView, event: NoiseEvent) -> Ints:
        w = np.clip(minibatch.w, -self.radius, self.radius)
        return quantize(self.regularization * w, self.grid(event.n_training))

    def _require_own(self, event: CheckinEvent, n_samples: int) -> NoiseEvent:
        """Raise unless the event is for this minibatch and this mechanism.

        The sensitivities must match too: noise for a smaller sensitivity would hide too little.
        """
        own = self.event(n_samples)
        if event != own:
            raise InvalidInput(
                f"an event must be the check-in's own, for {n_samples} samples with the levels "
                f"{', '.join(f'{release.level:g}' for release in own.releases)}, found {event}."
            )
        return own

    def _hide(self, values: Ints, release: Release, chance: Chance) -> Ints:
        if math.isinf(release.level):
            return values
        return self.law.add(values, release.sensitivity, release.level, chance)

    # On the server

    def check(self, payload: NoisePayload, key: CheckinKey) -> None:
        n = payload.samples
        if n < self.batch:
            raise Implausible(
                "too-few-samples",
                f"samples must be at least {self.batch}, found {n}. Collect more.",
            )
        if n > self.buffer:
            raise Implausible(
                "too-many-samples",
                f"samples must be at most {self.buffer}, found {n}. Stop at the buffer.",
            )
        expected = self.n_heldout(n)
        if payload.heldout != expected:
            raise Implausible(
                "wrong-heldout",
                f"heldout must be {expected} of {n} samples, found {payload.heldout}.",
            )
        if len(payload.labels) != self.n_classes:
            raise Implausible(
                "wrong-size",
                f"labels must be {self.n_classes} counts, found {len(payload.labels)}.",
            )
        if len(payload.gradient) != 4 * self.size:
            raise Implausible(
                "wrong-size",
                f"gradient must be {self.size} int32 values ({4 * self.size} bytes), found "
                f"{len(payload.gradient)} bytes.",
            )
        self._check_values(payload)

    def _check_values(self, payload: NoisePayload) -> None:
        n_training = payload.samples - payload.heldout
        grid, bound = self._plausible(n_training)
        if payload.grid != grid:
            raise Implausible(
                "wrong-grid", f"grid must be {grid} for {n_training} samples, found {payload.grid}."
            )
        errors_excess, labels_excess = self.plausible_excess
        evaluated = payload.heldout or payload.samples
        _require("errors", payload.errors, -errors_excess, evaluated + errors_excess)
        if payload.labels:
            most = payload.samples + labels_excess
            _require("labels", min(payload.labels), -labels_excess, most)
            _require("labels", max(payload.labels), -labels_excess, most)
        gradient = np.frombuffer(payload.gradient, dtype="<i4")
        _require("gradient", int(np.minimum.reduce(gradient)), -bound, bound)
        _require("gradient", int(np.maximum.reduce(gradient)), -bound, bound)

    def read(self, payload: NoisePayload, key: CheckinKey) -> CheckinEstimates:
        g: Array = np.frombuffer(payload.gradient, dtype="<i4") * 2.0**payload.grid
        evaluated = payload.heldout or payload.samples
        return CheckinEstimates(
            g=g,
            evaluated=evaluated,
            errors=payload.errors,
            reported_errors=min(max(payload.errors, 0), evaluated),
            labels=payload.labels,
            labelled=payload.samples,
        )


def _fit(values: Ints) -> Ints:
    return np.clip(values, -INT32_MAX, INT32_MAX)


def _require(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise Implausible("implausible", f"{name} must lie in {low} … {high}, found {value}.")
