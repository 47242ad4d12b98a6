# SPDX-License-Identifier: Apache-2.0
"""The variables by which the driver tells a run's processes what they are."""

MEMBER = "REKINDLE_MEMBER"
"""What this host is in a run of several hosts: a RunMember, in JSON. Others have none."""
WORKSPACE = "REKINDLE_WORKSPACE"
"""The folder of NVFlare's workspaces."""
SERVER = "REKINDLE_SERVER"
"""The name that the server of a further simulation records by."""
