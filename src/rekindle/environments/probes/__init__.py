# SPDX-License-Identifier: Apache-2.0
"""Scripts that an environment's own interpreter runs; the last line of each is its report in JSON.

They run as single files, without Rekindle on their path.
"""
