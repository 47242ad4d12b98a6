# SPDX-License-Identifier: Apache-2.0
"""Another user than the one that a host is connected to as, by Ansible's become."""

from typing import Any

from rekindle.records import Complaint


def refuse_become(action: Any) -> None:
    """Refuse a task that would become another user, wherever that was asked for.

    Facts are read and files sent and fetched as the user who connects: the rest as another would find a home,
    a Python and rights that are not its own.

    Raises:
        Complaint: the task would.
    """
    connection = getattr(action, "_connection", None)
    if getattr(connection, "become", None) is None:
        return
    user = action.get_become_option("become_user") or "root"
    connects = action._get_remote_user() or getattr(connection, "default_user", None)
    if user != connects:
        raise Complaint(
            f"Ansible's become asks for the user {user}, and Rekindle does everything as the one that it "
            f"connects as{f', {connects}' if connects else ''}.",
            "leave become out (ansible_become, --become), and connect as that user if it has to be "
            "(ansible_user).",
        )
