"""Store drafts of forms: the address of a form names its draft, and every node can read it."""

import re
import secrets

from starlette.requests import Request

from crowdml.portal.pages.context import service_of
from crowdml.portal.pages.owner.form_parsing import FormFields

DRAFT_NAME = re.compile(r"[A-Za-z0-9_-]{16,32}", re.ASCII)


def draft_name(request: Request) -> str | None:
    """Return the draft's name in the address."""
    name = request.query_params.get("draft", "")
    return name if DRAFT_NAME.fullmatch(name) else None


def new_draft_name() -> str:
    return secrets.token_urlsafe(15)


async def read_draft(request: Request, name: str) -> FormFields | None:
    """Read a draft of this owner; None if there is none."""
    owner = request.state.owner.name
    return await service_of(request).run_in_reader(lambda store: store.drafts.read(owner, name))


async def save_draft(request: Request, name: str, posted: FormFields) -> None:
    owner = request.state.owner.name
    await service_of(request).run_in_writer(lambda store: store.drafts.keep(owner, name, posted))


async def delete_draft(request: Request, name: str | None = None) -> None:
    """Delete one draft of this owner, or all of them."""
    owner = request.state.owner.name
    await service_of(request).run_in_writer(lambda store: store.drafts.drop(owner, name))
