"""Hold the activity data that ships with the package, and its licence.

`crowdml.simulation` reads it for simulations and the paper's figures. It is public: nothing here
comes from participants of a task.
"""
