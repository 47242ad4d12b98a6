# SPDX-License-Identifier: Apache-2.0
"""The fabric between hosts: pairs at once in a round robin, then all together; what is wrong gets a name.

A conductor on the first host tells a player on each what to measure, and with whom. `conduct` decides what
comes next, and `judgement` what it means, on a host as on the controller.
"""
