# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action ``copy_file``, which runs on the controller."""

DOCUMENTATION = """
module: copy_file
short_description: Copy a file to the host, within the task's timeout
description:
  - Has the options of M(ansible.builtin.copy), which ignores a task's timeout while it transfers.
options:
  src: {description: File on the controller., type: path, required: true}
  dest: {description: File or folder on the host., type: str, required: true}
  mode: {description: Mode of the file., type: str}
  directory_mode: {description: Mode of folders that are created., type: str}
"""
