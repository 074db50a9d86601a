"""Make task files for the vectors of terms: every mechanism, and every field of the terms."""

LEAST = """\
name = "activity"
title = "Activity"
objective = "Recognise what people do."
owner = "Jane Doe, Example University"
contact = "study@example.org"
purpose = "A free app that counts steps."
sensors = "Accelerometer at 20 Hz."

[features]
count = 64

[target]
labels = ["still", "on foot", "in a vehicle"]

[model]
kind = "softmax"

[privacy]
mechanism = "laplace"
epsilon = 1.0

[collection]
batch = 20
buffer = 100

[stop]
updates = 1000
"""

MOST = """\
name = "noise-map-2"
title = "Noise map"
objective = "Predict how loud a street is."
owner = "City of Ulm"
contact = "https://example.org/lärm"
purpose = "A map of noise, for everyone – α to ω."
sensors = "Microphone: loudness only, ‖x‖ ≤ 1."

[features]
count = 8
description = "Third-octave levels, scaled."

[target]
description = "dB(A) above 40"
scale = 12.5
unit = "dB(A)"

[model]
kind = "huber"
clip = 0.5
regularization = 0.001
radius = 50.0
intercept = true
delta = 0.75
tolerance = 3.0

[privacy]
mechanism = "laplace"
epsilon = 2.5
epsilon_e = 0.25

[collection]
batch = 10
buffer = 40
heldout = 0.2

[optimizer]
kind = "adagrad"
c = 0.3

[stop]
error = 0.1

[enrolment]
mode = "invite"
"""

SENSOR = """\
[features.sensor]
kind = "motion"
rate = 20
window = 64
first_bin = 0.1
trigger = "label-change"

[target]"""

ENTERED = """\
count = 2
sensor = { kind = "manual", transform = "values", fields = ["weight", "height"], scale = 200 }"""

ROOM = """\
names = ["temperature", "light"]
center = [21.0, 300.0]
scale = [3.0, 250.0]
length = 2.1
missing = "center\""""

DIRECTION = LEAST.replace('mechanism = "laplace"\nepsilon = 1.0', "epsilon = 4.0")
GAUSSIAN = LEAST.replace('"laplace"', '"gaussian"')

ONE_NUMBER = (
    DIRECTION.replace("count = 64", "count = 1")
    .replace('labels = ["still", "on foot", "in a vehicle"]', "scale = 1.0")
    .replace('"softmax"', '"ridge"')
    .replace("epsilon = 4.0", "epsilon = 4.0\ndirections = {directions}")
    .replace("buffer = 100", "buffer = 2380")
)

TASKS = [
    LEAST,
    MOST,
    LEAST.replace("epsilon = 1.0", "epsilon = inf"),
    LEAST.replace("[target]", SENSOR),
    LEAST.replace("count = 64", ENTERED),
    LEAST.replace("count = 64", ROOM),
    LEAST.replace("count = 64", "count = 2\nlength = 70.0\nscale = [1, 3]"),
    DIRECTION,
    DIRECTION.replace("epsilon = 4.0", "epsilon = 6.5\ndirections = 256").replace(
        "batch = 20", "batch = 20\ncheckins = 4\nevaluators = 0.3\ncounters = 0.2"
    ),
    MOST.replace('"laplace"', '"direction"')
    .replace("epsilon_e = 0.25\n", "")
    .replace("clip = 0.5\n", "")
    .replace("heldout = 0.2\n", ""),
    GAUSSIAN,
    GAUSSIAN.replace("epsilon = 1.0", "epsilon = inf"),
    MOST.replace('"laplace"', '"gaussian"').replace("epsilon = 2.5", "epsilon = 2.5\ndelta = 1e-9"),
    # Many slots; with d = 1, as many steps as a slot has, and one step more.
    LEAST.replace("count = 64", "count = 5000"),
    DIRECTION.replace("count = 64", "count = 1000")
    .replace("epsilon = 4.0", "epsilon = 4.0\ndirections = 4096")
    .replace("buffer = 100", "buffer = 2000"),
    *(ONE_NUMBER.format(directions=directions) for directions in (40, 41)),
]
