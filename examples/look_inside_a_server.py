# %% [markdown]
# # Look inside a live server
#
# What does a server know about the people who teach it? Here a real server runs in a separate
# process, and real devices join it over HTTP, each with its own file, ledger and exact random
# draws. Then we look at everything that the server has. It needs `pip install '.[server,sim]'`.

# %%
import atexit
import json
import math
import tempfile
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.request import urlopen

import msgspec
import numpy as np

from crowdml import Device, load_model
from crowdml.demo import ServerProcess
from crowdml.protocol import Task, terms_hash
from crowdml.server import Store
from crowdml.server.log.fold import Fold
from crowdml.simulation import load_activity

# %% [markdown]
# A task: three labels, a total of ε = 4 for a person, one check-in of ten samples.

# %%
task = Task.from_toml("""
name = "steps"
title = "Still, walking or jogging?"
objective = "Tell from a phone's movement what its owner does."
owner = "An example"
contact = "nobody: what takes part are recordings"
purpose = "To look inside."
sensors = "Accelerometer, 20 readings a second."

[features]
count = 12

[target]
labels = ["Still", "Walking", "Jogging"]

[model]
kind = "softmax"

[privacy]
epsilon = 4.0

[collection]
batch = 10

[stop]
updates = 40
""")

# %% [markdown]
# Start the server on an empty database, and let 40 people take part. Each `add` keeps a sample on
# the device; the tenth makes the check-in.

# %%
life = ExitStack()
atexit.register(life.close)  # what is entered here ends when this program does
folder = Path(life.enter_context(tempfile.TemporaryDirectory()))
server = ServerProcess(folder)
with closing(Store(server.database)) as store:
    store.create_task(task)
life.enter_context(server)

data = load_activity()
hands = data.deal(40, np.random.default_rng(0))
ledgers = []
for person, hand in enumerate(hands):
    device = Device.join(server.url, "steps", file=folder / f"{person}" / "steps.device")
    for sample in hand[:10]:
        device.add(data.x_train[sample], data.labels[int(data.y_train[sample])])
    ledgers.append(device.ledger)
    device.close()
print("a person has lost", ledgers[0].epsilon_per_person, "in total")

# %% [markdown]
# What anyone may read: how far it is, and an estimate of the error by the fifth of the devices
# that measure it instead of training.


# %%
def read(path: str) -> bytes:
    with urlopen(f"{server.url}/v1/tasks/steps{path}") as answer:
        return answer.read()


statistics = json.loads(read("/stats"))
for name in ("state", "version", "devices", "active_devices", "error"):
    print(f"{name:>15}: {statistics[name]}")

# %% [markdown]
# What the owner has, who holds the database: a log with a row for each check-in. A row has the
# device, the time, the model's version, and what was sent: nothing else is there about samples. A
# check-in that trains sends one of 1,024 directions. One that evaluates sends whether the model
# was wrong about one sample, and one that counts sends the answer of one sample, both by
# randomised response. Not even how many samples there were is sent.

# %%
with closing(Store(server.database)) as store:
    row = store.task("steps")
    log = list(store.log(row.id))
payloads = [msgspec.msgpack.decode(entry.payload) for entry in log]
for each in payloads[:5]:
    print(each)
print(Counter(field for each in payloads for field in each if field != "number"))

# %% [markdown]
# The model is a fold over that log and over nothing else: w starts at zero, and anyone who has
# the log gets the same, bit for bit.

# %%
fold = Fold(row.task, terms_hash(row.terms))
for entry in log:
    fold.apply(entry)
exported = np.array(json.loads(read("/export?format=json"))["weights"])
print("the same as the server's:", np.array_equal(fold.exported, exported.ravel()))

# %% [markdown]
# And does it work, on people who took no part? Anyone may load it, and use it as an estimator.

# %%
model = load_model(f"{server.url}/tasks/steps")
truth = np.array(task.terms.target.labels)[data.y_test.astype(int)]
error = (model.predict(data.x_test) != truth).mean()
print(f"error {error:.3f} after {len(log)} numbers from 40 people")

# %% [markdown]
# Why one number hides a person: for any ten samples, each of the 1,024 numbers is sent with one
# of two probabilities. Their ratio is the most that the server can learn from the number it got.

# %%
choice = task.terms.mechanism().choice
print(f"{choice.likely:.5f} or {choice.unlikely:.5f}")
print(f"a factor of {choice.likely / choice.unlikely:.1f}, and e^4 is {math.exp(4):.1f}")
