"""Where NVFlare 2.7 leaves files, how its processes are called, and what it starts trainers with.

Also the tasks that any of its workflows logs, and what models and trackers leave in files. What else its logs
say of a run is known to the claims and rules that are about it.
"""
