"""Serve the owner's pages, which create, manage and export tasks without the command line.

Every page but the sign-in page is wrapped by `for_owner` or `on_post` in `session`, which ask for a
sign-in and reject forged forms. A change is stored with the owner's name, for the log of actions.
"""

from starlette.routing import Route

from crowdml.portal.pages.owner import creation, dashboard, editing, signin, task_actions

__all__ = ["ROUTES"]

ROUTES = [
    Route("/owner", dashboard.show_dashboard),
    Route("/owner/sign-in", signin.show_sign_in, methods=["GET"]),
    Route("/owner/sign-in", signin.sign_in, methods=["POST"]),
    Route("/owner/sign-out", signin.sign_out, methods=["POST"]),
    Route("/owner/new", creation.show_form, methods=["GET"]),
    Route("/owner/new", creation.submit_form, methods=["POST"]),
    Route("/owner/new/pilot", creation.upload, methods=["POST"]),
    Route("/owner/tasks/{task}", task_actions.show_task),
    Route("/owner/tasks/{task}/state", task_actions.set_state, methods=["POST"]),
    Route("/owner/tasks/{task}/edit", editing.edit_task, methods=["POST"]),
    Route("/owner/tasks/{task}/delete", editing.delete_task, methods=["POST"]),
    Route("/owner/tasks/{task}/invites", task_actions.make_invite, methods=["POST"]),
    Route("/owner/tasks/{task}/revoke", task_actions.revoke_device, methods=["POST"]),
]
