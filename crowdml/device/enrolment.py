"""Join a task: read the terms, decide, pin them, get a token."""

import re
from collections.abc import Mapping
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypedDict, Unpack

from crowdml.device.agreement import require_successor
from crowdml.device.identity import Identity, check_limits
from crowdml.device.network import HttpTransport, Transport, fetch_pinned, split_root
from crowdml.device.storage import DeviceStore
from crowdml.errors import DeviceError, InvalidInput, NotPrivate, TermsChanged, Unreachable
from crowdml.keywords import check_keywords
from crowdml.privacy import Limits
from crowdml.protocol import Enrol, TaskView, Terms, check_name, terms_hash
from crowdml.tables import check_kind

SENSIBLE = re.compile("[!-~]{1,200}")


class TermsOffer(NamedTuple):
    """Hold terms to agree to: as values, as text, and the hash of the text."""

    terms: Terms
    text: str
    sha256: str


class JoinOptions(TypedDict, total=False):
    """List what a participant can ask for when joining.

    Args:
        invite: An invite code, where the task asks for one.
        fingerprint: SHA-256 of a self-signed certificate to trust.
        terms_sha256: The hash of the terms that were shown: others are not joined.
        limits: On ε; by default one check-in's cost per sample, and for the device what the terms
            say, or as many check-ins as are usual if they say nothing.
        accept_no_privacy: Join even a task that is not private: no noise, or an ε above
            `PRIVATE_UP_TO`.
        insecure_http: Allow plain HTTP beyond loopback.
    """

    invite: str | None
    fingerprint: str | None
    terms_sha256: str | None
    limits: Limits | None
    accept_no_privacy: bool
    insecure_http: bool


def check_join(url: object, task: object, file: object, options: Mapping[str, object]) -> None:
    """Raise `TypeError` for a keyword that `Device.join` does not have, and check the others."""
    others = ("chance", "file", "on_step", "retry_timer", "transport")
    check_keywords("join", options, (*JoinOptions.__annotations__, *others))
    for name, value in {"url": url, "task": task}.items():
        check_kind(name, value, str, "a text")
    check_name(str(task))
    check_kind("file", file, (str, Path, type(None)), "a path or None")
    for name, value in options.items():
        if name == "limits" and value is not None:
            check_limits(value)
        elif name in ("accept_no_privacy", "insecure_http"):
            check_kind(name, value, bool, "True or False")
        elif name != "limits":
            check_kind(name, value, (str, type(None)), "a text or None")


def default_limits(terms: Terms) -> Limits:
    """Return limits that allow each sample once, and the usual number of check-ins."""
    promise = terms.promise
    return Limits(promise.epsilon_per_sample, promise.epsilon_over_checkins)


def read_terms(view: TaskView, task: str) -> TermsOffer:
    """Read the terms in a task's description; they must have the task's name and their own hash."""
    terms = Terms.parse(view.terms)
    if terms.task != task or terms_hash(view.terms) != view.terms_sha256:
        raise TermsChanged(
            f"the terms of {task} do not carry its name and hash. Do not join this task."
        )
    return TermsOffer(terms, view.terms, view.terms_sha256)


def enrol(
    url: str, task: str, transport: Transport | None = None, **join_options: Unpack[JoinOptions]
) -> Identity:
    """Get a new identity from the server; nothing is stored unless every step succeeds."""
    fingerprint, insecure_http = (
        join_options.get("fingerprint"),
        join_options.get("insecure_http", False),
    )
    certificate = fetch_certificate(url, fingerprint) if fingerprint is not None else None
    opened = (
        nullcontext(transport)
        if transport
        else closing(HttpTransport(url, task, certificate, insecure_http))
    )
    with opened as server:
        offer = read_terms(server.task(), task)
        shown = join_options.get("terms_sha256")
        if shown and shown != offer.sha256:
            raise TermsChanged(
                f"the terms must have the hash {shown}, found {offer.sha256}. Read them before "
                "joining."
            )
        promise = offer.terms.promise
        if not promise.private and not join_options.get("accept_no_privacy"):
            raise NotPrivate(
                f"the task {task} is NOT PRIVATE. {promise.sentences['not_private']} To join all "
                "the same, add --accept-no-privacy (in Python, accept_no_privacy=True)."
            )
        enrolled = server.enrol(Enrol(offer.sha256, join_options.get("invite")))
        if not all(map(SENSIBLE.fullmatch, (enrolled.device, enrolled.token))):
            # A name becomes part of a text that is hashed, and a token becomes part of a header.
            raise Unreachable("the server gives no name and token that make sense.")
    return Identity(
        url=url,
        task=task,
        device=enrolled.device,
        token=enrolled.token,
        terms=offer.text,
        limits=join_options.get("limits") or default_limits(offer.terms),
        certificate=certificate,
        insecure_http=insecure_http,
    )


def joined_again(
    known: Identity, file: Path, url: str, task: str, **join_options: Unpack[JoinOptions]
) -> Identity:
    """Return the identity with the given limits and no other change."""
    if (known.url.rstrip("/"), known.task) != (url.rstrip("/"), task):
        raise DeviceError(
            f"{file} has joined {known.task} at {known.url}. Leave that, or use another file."
        )
    if not known.token:
        raise DeviceError(
            f"{file} has left {task}, and keeps its ledger only. Use another file, or leave once "
            "more to erase it."
        )
    shown, agreed = join_options.get("terms_sha256"), terms_hash(known.terms)
    if shown and shown != agreed:
        raise TermsChanged(
            f"{file} has joined on the terms {agreed}, and those shown are {shown}. Run `crowdml "
            "device agree`, or leave first."
        )
    return replace(known, limits=join_options.get("limits") or known.limits)


def rejoin(
    store: DeviceStore, offer: TermsOffer, url: str, **join_options: Unpack[JoinOptions]
) -> int:
    """Join a task anew with the file of a device that the server no longer knows.

    The file keeps its ledger, which counts against the limits, and the samples that no check-in has
    used: `InvalidInput` if they do not fit the terms.

    Args:
        offer: The terms that the participant has agreed to.

    Returns:
        How many samples are kept.
    """
    known = store.joined
    require_successor(offer.terms, Terms.parse(known.terms), store.n_samples)
    join_options["limits"] = join_options.get("limits") or known.limits
    store.join(enrol(url, known.task, **join_options))
    return store.n_samples


def moved(
    identity: Identity, url: str, fingerprint: str | None, insecure_http: bool = False
) -> Identity:
    """Return the same device, task and terms, at another address of its server."""
    certificate = fetch_certificate(url, fingerprint) if fingerprint is not None else None
    with closing(HttpTransport(url, identity.task, certificate, insecure_http)) as server:
        offer, agreed = read_terms(server.task(), identity.task), terms_hash(identity.terms)
        if offer.sha256 != agreed:
            raise TermsChanged(
                f"the terms there must be the agreed ones, {agreed}, found {offer.sha256}. "
                "Nothing is changed."
            )
        # A server that does not know this device would end it at its next check-in.
        server.checkout(identity.token)
    return replace(identity, url=url, certificate=certificate, insecure_http=insecure_http)


def fetch_certificate(url: str, fingerprint: str) -> str:
    """Fetch the certificate with this fingerprint at this address."""
    parts = split_root(url)
    if parts.scheme != "https":
        raise InvalidInput(f"a fingerprint needs an https:// address, found {url!r}.")
    return fetch_pinned(parts.hostname, parts.port or 443, fingerprint, timeout=10.0)
