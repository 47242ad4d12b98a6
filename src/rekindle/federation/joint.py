# SPDX-License-Identifier: Apache-2.0
"""The runs of federations in a results folder."""

from rekindle.host import folders
from rekindle.results.joints import Joint

STAGE = "federate"
JOINT = Joint(
    folder=folders.FEDERATIONS,
    stage=STAGE,
    title="jobs of the federation",
    begins={folders.KIT_RECORD: "reach", folders.LINK_RECORD: STAGE},
)
