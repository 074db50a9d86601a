"""Serve the owner's pages, which create, manage and export tasks without the command line."""

from starlette.routing import Route

from crowdml.portal.pages.owner import creation, dashboard, editing, signin, steering

__all__ = ["ROUTES"]

ROUTES = [
    Route("/owner", dashboard.dashboard),
    Route("/owner/sign-in", signin.form, methods=["GET"]),
    Route("/owner/sign-in", signin.sign_in, methods=["POST"]),
    Route("/owner/sign-out", signin.sign_out, methods=["POST"]),
    Route("/owner/new", creation.form, methods=["GET"]),
    Route("/owner/new", creation.submit, methods=["POST"]),
    Route("/owner/new/pilot", creation.upload, methods=["POST"]),
    Route("/owner/tasks/{task}", steering.task),
    Route("/owner/tasks/{task}/state", steering.set_state, methods=["POST"]),
    Route("/owner/tasks/{task}/edit", editing.edit, methods=["POST"]),
    Route("/owner/tasks/{task}/delete", editing.delete, methods=["POST"]),
    Route("/owner/tasks/{task}/invites", steering.invite, methods=["POST"]),
    Route("/owner/tasks/{task}/revoke", steering.revoke, methods=["POST"]),
]
