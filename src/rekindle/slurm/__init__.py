# SPDX-License-Identifier: Apache-2.0
"""SLURM: its queue and cluster, the place that an allocation is to the driver, and the ranks on its nodes."""
