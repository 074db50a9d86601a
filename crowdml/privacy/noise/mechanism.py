"""Send the average gradient and counts with noise: the paper's mechanism, and a Gaussian one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from crowdml.phrase import Phrase
from crowdml.privacy.checkin_key import CheckinKey
from crowdml.privacy.events import NoiseEvent
from crowdml.privacy.loss import Loss
from crowdml.privacy.minibatch import MinibatchView
from crowdml.privacy.noise.calibration import NoiseLevels
from crowdml.privacy.noise.channel import NoiseChannel, NoisePayload
from crowdml.privacy.shown import Hills, ShownNumber, ShownPayload, WatchedMinibatch
from crowdml.privacy.stand_in import StandIn
from crowdml.privacy.zcdp import excess_probability, rho_of
from crowdml.types import Array, Ints

SHOWN_NUMBERS = 6
"""Numbers of each kind that an example shows."""


@dataclass(frozen=True)
class NoiseMechanism(NoiseChannel):
    """Bound, quantise, add noise, and state the cost.

    `NoiseCalibration` has the fields, and the payload is a `NoisePayload`. This class adds what
    simulations, pictures, worked examples and audits need.

    Paper: Routine 3.
    """

    def stand_in(self, noisy: bool) -> StandIn:
        from crowdml.privacy.noise.stand_in import NoiseStandIn

        return NoiseStandIn(self, noisy)

    def picture(self, epsilon: float, n_samples: int) -> Hills:
        """Return the worst case for one number of the gradient; the shares of ε stay the same."""
        loss = self.event(n_samples).loss
        more = rho_of(epsilon, loss.delta) / loss.rho if loss.rho else epsilon / loss.epsilon
        other = replace(self, levels=NoiseLevels(*(level * more for level in self.levels)))
        event = other.event(n_samples)
        return Hills(
            law=self.law,
            loss=event.loss,
            batch=n_samples,
            shift=2 * self.clip / event.n_training,
            step=2.0 ** other.grid(event.n_training),
            sensitivity=event.releases[0].sensitivity,
            level=event.releases[0].level,
            excess_probability=excess_probability(self.delta, self.counts_share),
        )

    def show(
        self,
        payload: NoisePayload,
        minibatch: WatchedMinibatch,
        key: CheckinKey,
        labels: Sequence[str],
    ) -> ShownPayload:
        ((training, truth),) = minibatch.asked
        g = self.read(payload, key).g
        assert g is not None
        evaluated = ~training if payload.heldout else training
        wrong = int(minibatch.mistakes()[evaluated].sum())
        counts = np.bincount(minibatch.labels, minlength=self.n_classes).tolist()
        pairs = zip(truth[:SHOWN_NUMBERS].tolist(), g[:SHOWN_NUMBERS].tolist(), strict=True)
        rows = [ShownNumber(Phrase("number {k}", k=k), *pair) for k, pair in enumerate(pairs, 1)]
        rows.append(ShownNumber(Phrase("wrong predictions"), wrong, payload.errors))
        rows += map(ShownNumber, labels[:SHOWN_NUMBERS], counts, payload.labels)
        return ShownPayload(tuple(rows), max(0, len(g) - SHOWN_NUMBERS))

    def private_numbers(self, payload: NoisePayload) -> list[int]:
        gradient: list[int] = np.frombuffer(payload.gradient, dtype="<i4").tolist()
        return [*gradient, payload.errors, *payload.labels]

    def log_ratios(
        self, payloads: Sequence[NoisePayload], sides: Sequence[MinibatchView], key: CheckinKey
    ) -> dict[str, tuple[Loss, Array]]:
        """Compute |v − c′|/s − |v − c|/s for Laplace noise; Gaussian noise has squares and 1/(2s²).

        A device draws which samples it holds out. The promise holds for every draw, so the first
        samples are held out here.
        """
        event, d, norm = self.event(sides[0].n_samples), self.size, self.norm
        columns = {"gradient": slice(0, d), "errors": slice(d, d + 1), "labels": slice(d + 1, None)}
        outputs = np.array([self.private_numbers(payload) for payload in payloads])
        far, farther = (
            np.abs(outputs - self._centre(side, event)).astype(float) ** norm for side in sides
        )
        found = {
            r.what: (
                self._loss(r.level),
                (farther - far)[:, columns[r.what]].sum(axis=1) * r.level / r.sensitivity**norm,
            )
            for r in event.releases
        }
        together: Array = sum((scores for _, scores in found.values()), np.zeros(len(outputs)))
        return found | {"checkin": (event.loss, together)}

    def _centre(self, side: MinibatchView, event: NoiseEvent) -> Ints:
        truth = self._truth(side, event, np.arange(event.n_samples) < event.n_heldout)
        truth["gradient"] = truth["gradient"] + self._decay(side, event)
        return np.concatenate(list(truth.values()))

    def _loss(self, level: float) -> Loss:
        return Loss(rho=level, delta=self.delta) if self.delta else Loss(epsilon=level)
