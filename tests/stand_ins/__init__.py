# SPDX-License-Identifier: Apache-2.0
"""Commands that tests put in the place of Docker's, SLURM's and others."""
