"""Sign owners in and out."""

import re

from starlette.requests import Request
from starlette.responses import Response

from crowdml.portal.pages.context import service_of
from crowdml.portal.pages.owner.form_drafts import delete_draft
from crowdml.portal.pages.owner.form_parsing import FormFields, read_form
from crowdml.portal.pages.owner.open_session import SignInResult, open_session
from crowdml.portal.pages.owner.session import (
    for_owner,
    forget,
    is_same_origin,
    on_post,
    reject_forged,
    remember,
    session_token,
    sign_in_page,
)
from crowdml.portal.pages.page import redirect

LARGEST_BODY = 16 * 1024


async def show_sign_in(request: Request) -> Response:
    return await _page(
        request, {"next": request.query_params.get("next", "")}, SignInResult(status=200)
    )


async def sign_in(request: Request) -> Response:
    if not is_same_origin(request):
        return reject_forged(request)
    posted = await read_form(request, LARGEST_BODY)
    name, password = posted.get("name", "").strip(), posted.get("password", "")
    result = await open_session(request, name, password, session_token(request))
    if result.token is None:
        return await _page(request, posted, result)
    response = redirect(request, safe_next(posted.get("next", "")))
    remember(request, response, result.token)
    return response


@on_post
async def _sign_out(request: Request, posted: FormFields) -> Response:
    await delete_draft(request)
    token = request.state.owner.session
    await service_of(request).run_in_writer(lambda store: store.owners.close_session(token))
    response = redirect(request, "/owner/sign-in")
    forget(request, response)
    return response


sign_out = for_owner(_sign_out)
"""Sign an owner out. A visitor without a session does not have to sign in for this."""


async def _page(request: Request, posted: FormFields, result: SignInResult) -> Response:
    names = await service_of(request).run_in_reader(lambda store: store.owners.names())
    then = safe_next(posted.get("next", ""))
    return sign_in_page(request, posted.get("name", ""), result, then=then, anyone=bool(names))


def safe_next(path: str) -> str:
    """Return where to go after signing in: always a page of the owner's area.

    >>> safe_next("/owner/tasks/activity?from=100"), safe_next("//evil.example/owner")
    ('/owner/tasks/activity?from=100', '/owner')
    """
    local = re.fullmatch(r"/owner(/[a-z0-9-]+)*(\?[A-Za-z0-9=&_.+%-]*)?", path, re.ASCII)
    return path if local and not path.startswith("/owner/sign-") else "/owner"
