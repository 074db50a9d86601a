# %% [markdown]
# # Compare mechanisms
#
# ε alone says little: it depends on whom it protects. `direction` protects the whole person,
# `gaussian` and `laplace` protect one sample of theirs. This file simulates all three on the same
# crowd, and shows what they teach and what they cost. It needs `pip install '.[sim]'`.

# %%
import numpy as np

from crowdml.simulation import Crowd, Learning, Plan, ProgressBar, load_activity, simulate
from crowdml.sklearn import CrowdClassifier

# %% [markdown]
# People walk, jog and rest with a phone in their pocket. Each of 108 devices has some 60 windows
# of movement, and checks in once, with 20 of them; six people are kept for testing.

# %%
data = load_activity()
crowd = Crowd(devices=108, batch=20, checkins=1)
mechanisms, epsilons = ("direction", "gaussian", "laplace"), (1.0, 4.0, 10.0)
plans = [
    Plan(crowd, Learning(mechanism=mechanism, epsilon=epsilon))
    for mechanism in mechanisms
    for epsilon in epsilons
]
results = simulate(data, plans, trials=5, progress=ProgressBar())

# %% [markdown]
# Look at ε/person beside the error. With noise it is what all samples of one device lose
# together: 80 or 205, where ε is 4.

# %%
results

# %%
results.plot("The same crowd, three mechanisms")

# %% [markdown]
# The whole person at ε = 4, or one sample at ε = 4: which learns more, and by how much?

# %%
final = {(p.learning.mechanism, p.learning.epsilon): c for p, c in zip(plans, results, strict=True)}
for mechanism in mechanisms:
    curve = final[mechanism, 4.0]
    print(
        f"{mechanism:>9}: error {curve.final:.3f}, a person loses {curve.epsilon_per_person:,.0f}"
    )

# %% [markdown]
# The same crowd in scikit-learn. `groups` says whose each row is; `bounds` are known beforehand,
# and amplitudes have a natural zero, so the model needs no intercept. `epsilon_` is the total ε of
# the person who lost the most.

# %%
whose = data.assign(108, np.random.default_rng(0))
model = CrowdClassifier(epsilon=4, bounds=(-200, 200), fit_intercept=False, random_state=0)
model.fit(data.x_train, data.y_train, groups=whose)
score = model.score(data.x_test, data.y_test)
print(f"error {1 - score:.3f}, a person loses {model.epsilon_:.0f}")
