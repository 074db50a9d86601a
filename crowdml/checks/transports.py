"""Check every transport of a device."""

from collections.abc import Callable

import msgspec
import numpy as np

from crowdml.device import Transport, write_checkin
from crowdml.errors import Rejected
from crowdml.models import Minibatch
from crowdml.privacy import CheckinKey, Role, SystemChance
from crowdml.protocol import Checkout, Enrol, Terms, decode_parameters, terms_hash


def check_transport(transport: Transport, invite: str | None = None) -> None:
    """Raise `AssertionError` unless the transport makes its calls to a live task.

    One device enrols, checks in once, and leaves.

    Args:
        transport: The way to a task that runs, adds noise, and in which nobody else takes part
            meanwhile.
        invite: An invite code, where the task asks for one.
    """
    view = transport.task()
    assert terms_hash(view.terms) == view.terms_sha256, "the terms must have the hash shown"
    terms = Terms.parse(view.terms)
    wrong = Enrol("0" * 64, invite)
    assert _rejection_kind(transport.enrol, wrong) == "terms-changed", (
        "unknown terms cannot be joined"
    )
    enrolled = transport.enrol(Enrol(view.terms_sha256, invite))
    token = enrolled.token
    assert enrolled.device
    assert len(token) >= 32, "a token must not be guessable"
    for bad in ("", "no-such-token"):
        assert _rejection_kind(transport.checkout, bad) == "unauthorized", f"token {bad!r}"

    checkout, terms_sha256 = transport.checkout(token)
    assert terms_sha256 == view.terms_sha256, "a check-out says which terms are in force"
    assert transport.checkout(token) == (checkout, terms_sha256), "nothing has changed meanwhile"

    tested = transport.checkout(token, Role.EVALUATE).checkout
    assert tested.version == checkout.version, "what is evaluated is the exported model of now"
    assert transport.checkout(token) == (checkout, terms_sha256), "each role has its own answer"

    body = empty_checkin(terms, CheckinKey(view.terms_sha256, enrolled.device, 1), checkout)
    answer = transport.checkin(token, body)
    assert (answer.version, answer.status) == (checkout.version + 1, "applied")
    again = transport.checkin(token, body)
    assert (again.version, again.status) == (answer.version, "duplicate"), "same bytes, same id"
    after = transport.checkout(token).checkout
    assert after.version == answer.version, "one check-in is one version, however often it is sent"
    assert after.parameters != checkout.parameters, "new parameters must not come from a cache"
    assert _rejection_kind(transport.checkin, token, b"{}") == "invalid-request"

    transport.leave(token)
    assert _rejection_kind(transport.checkout, token) == "revoked"
    assert _rejection_kind(transport.checkin, token, body) == "revoked"
    transport.close()
    assert transport.task().version == answer.version, "a closed transport opens itself again"
    transport.close()


def empty_checkin(terms: Terms, key: CheckinKey, checkout: Checkout) -> bytes:
    """Make a check-in of the smallest minibatch, whose samples are all zero."""
    n, mechanism, model = terms.collection.batch, terms.mechanism(), terms.make_model()
    w = decode_parameters(checkout.parameters, model.size)
    nothing = Minibatch(model, w, np.zeros((n, model.n_features)), np.zeros(n))
    event = mechanism.event(n, key)
    message = write_checkin(mechanism, nothing, event, key, SystemChance(), checkout.version)
    return msgspec.json.encode(message)


def _rejection_kind(call: Callable[..., object], *arguments: object) -> str:
    try:
        call(*arguments)
    except Rejected as error:
        return error.kind
    raise AssertionError(f"{call} must be rejected with {arguments!r}")
