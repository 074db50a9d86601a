"""Connect to Flower: a client's update leaves as one direction, and a ledger is kept.

Flower's own mod for local privacy adds floating-point noise, calibrated by a formula that is proved
only for ε < 1. This mod names one of k public directions by exact randomness, for any ε that a
choice can have. A file on the client's side adds up what was sent.
"""

import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from crowdml.device import Account, AccountEntry
from crowdml.errors import CrowdmlError, InvalidInput
from crowdml.privacy import (
    Chance,
    CheckinEvent,
    CheckinKey,
    DirectionMechanism,
    Ledger,
    Limits,
    SystemChance,
    best_closest,
)
from crowdml.types import Array, Flags, Ints

if TYPE_CHECKING:
    from flwr.app import Context, Message

__all__ = ["DirectionMod"]

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]

LENGTH = DirectionMechanism(1.0, 2, 1, 1).length
"""The length of the mechanism's unit; the clipping norm is a multiple of it."""

MOST_ROUNDS = 1_000_000
"""The most rounds; the ledger ends earlier if no ε is left."""

PRECONDITION = 6
"""Flower's code for a mod that cannot do what it is asked to."""

logger = logging.getLogger(__name__)


class DirectionMod:
    """Send a Flower client's update as one of k directions, and nothing else.

    The app's update u is what it returns for a `train` message, minus what it received. The mod
    shortens u to `clipping_norm` and sends it by the direction mechanism. The reply is what was
    received plus an estimate of u that is right on average, if u is spread over many numbers:
    E[û] = u and E‖û‖² ≈ d·S²/m² for d parameters, with 1/m² = 0.44 at ε = 4 a round and 6.3 at 1.
    So the mod suits small models and many clients.

    The promise covers everything that the client computed from. Whatever its data, its training
    and its bugs are, each of k replies has one of two known probabilities, at most a factor e^ε
    apart. The promise does not cover other ways out, so the mod closes them: it drops the metrics
    of the reply, sends 1 as the number of examples, sends a direction even if the app fails or
    returns nonsense, and rejects messages of other types, which ask for losses or accuracies. Not
    hidden are whether and when a client replies, and how long its training took.

    Args:
        epsilon: The total ε that a client loses over all rounds.
        rounds: K, the number of rounds that share ε. After K rounds, or when the ledger has no ε
            left, the client replies with an error and does not call its app.
        clipping_norm: S, as in Flower: longer updates are shortened to S.
        folder: The folder of the ledgers, on the client's side: one for each `partition-id` of
            Flower's node configuration, or a single ledger. The promise ends if it is lost.
        directions: k.
        chance: The source of all randomness; the system's secure generator by default.

    Example:

        app = ClientApp(mods=[DirectionMod(4.0, rounds=10, clipping_norm=0.1, folder="ledgers")])

    Reference: Isik, Chen, Özgür, Weissman, No, NeurIPS 2023 (k-closest encoding).
    """

    def __init__(
        self,
        epsilon: float,
        rounds: int,
        clipping_norm: float,
        folder: Path | str,
        *,
        directions: int = 1024,
        chance: Chance | None = None,
    ) -> None:
        if rounds < 1 or not 0 < clipping_norm < np.inf or not epsilon > 0:
            raise InvalidInput(
                "epsilon and clipping_norm must be positive, clipping_norm finite and rounds at "
                f"least 1, found {epsilon}, {clipping_norm} and {rounds}."
            )
        self.epsilon, self.rounds = epsilon, rounds
        self.clipping_norm, self.directions = clipping_norm, directions
        self.folder, self.chance = Path(folder), chance or SystemChance()
        self.mechanism(1)  # rejects at once numbers with which no choice is possible

    def mechanism(self, size: int) -> DirectionMechanism:
        """Make the mechanism of one round for a model with `size` parameters."""
        epsilon = self.epsilon / self.rounds
        return DirectionMechanism(
            epsilon=epsilon,
            directions=self.directions,
            closest=best_closest(self.directions, epsilon),
            size=size,
            checkins=MOST_ROUNDS,
            scale=self.clipping_norm / LENGTH,
        )

    def ledger(self, partition: Any = None) -> Ledger:
        """Read what a client has sent so far."""
        with closing(self._account(partition)) as account:
            return Ledger.of(payload.event for payload in account.statement.entries)

    def __call__(
        self,
        message: "Message",
        context: "Context",
        call_next: "Callable[[Message, Context], Message]",
    ) -> "Message":
        try:
            sent = _sent(message)
            mechanism = self.mechanism(sum(array.size for array in _real(sent).values()))
            key, event = self._spend(mechanism, context)
        except CrowdmlError as error:
            from flwr.app import Error, Message

            return Message(Error(code=PRECONDITION, reason=str(error)), reply_to=message)
        update = _Update(_update(message, context, call_next, sent))
        payload = mechanism.make_payload(update, event, key, self.chance)
        estimate = mechanism.read(payload, key).g
        assert estimate is not None
        return _reply(message, sent, estimate)

    def _spend(
        self, mechanism: DirectionMechanism, context: "Context"
    ) -> tuple[CheckinKey, CheckinEvent]:
        """Charge the ledger, on disk, before anything is computed that could be sent."""
        words = f"flower {mechanism}"
        limits = Limits(per_sample=self.epsilon, per_device=self.epsilon)
        with closing(self._account(context.node_config.get("partition-id"))) as account:
            while True:
                before = account.statement.entries
                number = len(before) + 1
                key = CheckinKey(sha256(words.encode()).hexdigest(), str(context.node_id), number)
                event = mechanism.event(1, key)
                Ledger.of(payload.event for payload in before).require(event, limits)
                run = AccountEntry("flower", f"run {context.run_id}", True, event)
                # Otherwise another process has sent this number in the meantime.
                with suppress(sqlite3.IntegrityError):
                    account.add_entry(f"flower {number}", run)
                    return key, event

    def _account(self, partition: Any) -> Account:
        return Account(self.folder if partition is None else self.folder / f"partition-{partition}")


class _Update:
    """Present an update that already exists to a mechanism."""

    n_samples = 1
    w: Array = np.zeros(1)
    labels: Ints = np.zeros(0, np.int64)

    def __init__(self, update: Array) -> None:
        self._update = update

    def mistakes(self) -> Flags:
        return np.zeros(1, np.bool_)

    def mean_gradient(self, rows: Flags, clip: float, norm: int) -> Array:
        return self._update


def _sent(message: "Message") -> Arrays:
    """Return the arrays of a message that may be answered; the reasons to reject it are public."""
    kind = message.metadata.message_type
    if kind.partition(".")[0] != "train":
        raise InvalidInput(
            f"a client with DirectionMod answers train messages alone, found {kind}: nothing "
            "would hide what it says. Set fraction_evaluate to 0, and evaluate on the server."
        )
    records = message.content.array_records
    if len(records) != 1 or any(key.startswith("fitins.") for key in records):
        raise InvalidInput(
            "DirectionMod needs a message with one ArrayRecord, as for @app.train(), found "
            f"{', '.join(records) or 'none'}."
        )
    sent = {name: array.numpy() for name, array in next(iter(records.values())).items()}
    if not any(array.size for array in _real(sent).values()):
        raise InvalidInput("DirectionMod needs arrays of floats to train, found none.")
    return sent


def _real(arrays: Arrays) -> Arrays:
    """Return the arrays that an update changes; counters of batches are sent back unchanged."""
    return {name: array for name, array in arrays.items() if array.dtype.kind == "f"}


def _update(
    message: "Message",
    context: "Context",
    call_next: "Callable[[Message, Context], Message]",
    sent: Arrays,
) -> Array:
    """Return what the app has learnt; an app that fails logs the failure here and sends zeros."""
    try:
        (record,) = call_next(message, context).content.array_records.values()
        parts = []
        for name, before in _real(sent).items():
            after = record[name].numpy()
            if after.shape != before.shape:
                raise InvalidInput(
                    f"{name} must have the shape {before.shape}, found {after.shape}."
                )
            parts.append((after.astype(np.float64) - before.astype(np.float64)).ravel())
        update = np.concatenate(parts)
        if not np.isfinite(update).all():
            raise InvalidInput("an update must be finite, found nan or inf.")
    except Exception:
        logger.exception("the app gave no update, so a random direction is sent")
        return np.zeros(sum(array.size for array in _real(sent).values()))
    return update


def _reply(message: "Message", sent: Arrays, estimate: Array) -> "Message":
    """Add the estimate to what was received; nothing else depends on the client's data."""
    from flwr.app import Array as FlowerArray
    from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict

    arrays, at = {}, 0
    for name, before in sent.items():
        after = before
        if name in _real(sent):
            step = estimate[at : at + before.size].reshape(before.shape)
            after, at = (before + step).astype(before.dtype), at + before.size
        arrays[name] = FlowerArray(np.asarray(after))
    (key,) = message.content.array_records
    metrics = MetricRecord({"num-examples": 1})
    return Message(RecordDict({key: ArrayRecord(arrays), "metrics": metrics}), reply_to=message)
