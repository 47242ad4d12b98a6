# SPDX-License-Identifier: Apache-2.0
"""Where NVFlare 2.7 leaves files, how its processes are called, and what it starts trainers with.

Also the tasks that any of its workflows logs, and the files of models and trackers. Other lines of its logs
are known to the checks that need them.
"""
