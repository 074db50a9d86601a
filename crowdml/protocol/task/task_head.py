"""Write the first lines of a new task file, with sentences that its owner has to replace."""

TASK_HEAD = """\
# A crowdml task. Everything that decides what leaves a device is part of the terms, which
# participants agree to and their devices pin: it cannot be changed later.
name = "{name}"
title = {title}
objective = "Say in plain words what is learnt, and what for."
owner = "Say who runs the task."
contact = "Say how to reach you: a mail address, a page."
purpose = "Say what the model will be used for, and by whom."
sensors = "Say in plain words which sensors are read, and how often."
"""

PILOT_WORDS = "Say whose samples the pilot has, and that they may be used openly."
"""The text of `model.pilot` in a new task file."""
