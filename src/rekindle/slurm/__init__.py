# SPDX-License-Identifier: Apache-2.0
"""Runs on nodes of a SLURM cluster: the place that an allocation is to the driver."""
