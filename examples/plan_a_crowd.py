# %% [markdown]
# # Plan a crowd
#
# People should not be asked for data that cannot teach anything. So before anyone is asked: will
# this crowd learn, at an ε that it may agree to? Open this file in Jupyter or an editor that
# knows cells, or run it as it is: `python examples/plan_a_crowd.py`. It needs `pip install
# '.[sim]'`.

# %%
from crowdml.protocol import Task
from crowdml.simulation import ExpectedCrowd, ProgressBar, advise, load_activity

# %% [markdown]
# A task says what is learnt from what, and what a person loses by taking part: here a total of
# ε = 4.

# %%
STEPS = """
name = "steps"
title = "Still, walking or jogging?"
objective = "Tell from a phone's movement what its owner does."
owner = "A group for movement"
contact = "study@example.org"
purpose = "A free app that counts minutes of movement."
sensors = "Accelerometer, 20 readings a second."

[features]
count = 12

[target]
labels = ["still", "walking", "jogging"]

[model]
kind = "softmax"

[privacy]
epsilon = 4.0

[collection]
batch = 50

[stop]
updates = 150
"""
task = Task.from_toml(STEPS)

# %% [markdown]
# We expect 150 people who give 50 samples each. The package has recordings that resemble theirs.
# Every mechanism is tried, with the samples used in one check-in or in several.

# %%
data = load_activity()
crowd = ExpectedCrowd(devices=150, samples=50)
advice = advise(task, crowd, data, progress=ProgressBar())
print(advice.sentence)

# %% [markdown]
# Every setting that was tried, the recommended one in bold.

# %%
advice

# %%
advice.plot("150 people, 50 samples each")

# %% [markdown]
# How small may the crowd be? Try a few sizes.

# %%
for devices in (5, 15, 50, 150):
    smaller = ExpectedCrowd(devices, samples=50)
    best = advise(task, smaller, data, mechanisms=["direction"]).recommended
    print(f"{devices:>4} people: error {best.error:.3f}, {best.low:.3f} to {best.high:.3f}")

# %% [markdown]
# And at a stronger promise? The same crowd at ε = 1, and the number of people that it would take
# to get below an error of 5 %.

# %%
strong = Task.from_toml(STEPS.replace("epsilon = 4.0", "epsilon = 1.0"))
careful = advise(strong, crowd, data, target_error=0.05)
print(careful.sentence)
