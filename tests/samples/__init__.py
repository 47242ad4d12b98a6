# SPDX-License-Identifier: Apache-2.0
"""Hosts, fleets, results folders and recorded runs that tests read, and changes to them."""
