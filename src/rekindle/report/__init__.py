# SPDX-License-Identifier: Apache-2.0
"""Results as the answer, pages, results.json, junit.xml and metrics.prom; and what ``--check`` ends with."""
