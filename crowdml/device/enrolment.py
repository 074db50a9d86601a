"""Joining a task: read the terms, decide, pin them, get a token."""

from contextlib import closing, nullcontext
from urllib.parse import urlsplit

from crowdml.device.certificate import fetch_pinned
from crowdml.device.store import Identity
from crowdml.device.transport import HttpTransport, Transport
from crowdml.errors import InvalidInput, NotPrivate, TermsChanged
from crowdml.privacy import Limits
from crowdml.protocol import Enrol, TaskView, Terms, terms_hash

__all__ = ["DEFAULT_CHECKINS", "default_limits", "enrol", "read_terms"]

DEFAULT_CHECKINS = 20
"""How many check-ins the device limit allows, where the participant does not say."""


def default_limits(terms: Terms) -> Limits:
    """One use for each sample, and a bounded number of check-ins for the device."""
    cost = terms.epsilon_per_sample
    return Limits(per_sample=cost, per_device=DEFAULT_CHECKINS * cost)


def read_terms(view: TaskView, task: str) -> Terms:
    """The terms in a task's description, which must carry the task's name and their own hash."""
    terms = Terms.parse(view.terms)
    if terms.task != task or terms_hash(view.terms) != view.terms_sha256:
        raise TermsChanged(
            f"the terms of {task} do not carry its name and hash. Do not join this task."
        )
    return terms


def enrol(
    url: str,
    task: str,
    *,
    invite: str | None = None,
    fingerprint: str | None = None,
    terms_sha256: str | None = None,
    limits: Limits | None = None,
    accept_no_privacy: bool = False,
    insecure_http: bool = False,
    transport: Transport | None = None,
) -> Identity:
    """A new identity; nothing is kept unless all of this succeeds."""
    certificate = pin(url, fingerprint) if fingerprint else None
    opened = (
        nullcontext(transport)
        if transport
        else closing(HttpTransport(url, task, certificate, insecure_http))
    )
    with opened as server:
        view = server.task()
        terms = read_terms(view, task)
        if terms_sha256 and terms_sha256 != view.terms_sha256:
            raise TermsChanged(
                f"the terms must have the hash {terms_sha256}, found {view.terms_sha256}. Read "
                "them before joining."
            )
        if not terms.private and not accept_no_privacy:
            raise NotPrivate(
                f"the task {task} is NOT PRIVATE: it adds no noise, and the server could learn "
                "your samples. To join all the same, say --accept-no-privacy (in Python, "
                "accept_no_privacy=True)."
            )
        enrolled = server.enrol(Enrol(view.terms_sha256, invite))
    return Identity(
        url=url,
        task=task,
        device=enrolled.device,
        token=enrolled.token,
        terms=view.terms,
        limits=limits or default_limits(terms),
        certificate=certificate,
        insecure_http=insecure_http,
    )


def pin(url: str, fingerprint: str) -> str:
    """The certificate with this fingerprint at this address."""
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname:
        raise InvalidInput(f"a fingerprint needs an https:// address, found {url!r}.")
    return fetch_pinned(parts.hostname, parts.port or 443, fingerprint, timeout=10.0)
