# SPDX-License-Identifier: Apache-2.0
"""What nvidia-smi prints of a host whose GPUs are cut into MIG instances.

A recording, changed to the format of NVIDIA's MIG user guide and nvsmi_device_v12.dtd: no such host was lent.
"""

import re

_DEVICE = """<mig_device>
    <index>{index}</index>
    <gpu_instance_id>{gi}</gpu_instance_id>
    <compute_instance_id>0</compute_instance_id>
    <device_attributes><shared><multiprocessor_count>16</multiprocessor_count></shared></device_attributes>
    <fb_memory_usage><total>{total} MiB</total><used>19 MiB</used><free>{total} MiB</free></fb_memory_usage>
</mig_device>"""
_PROCESS = """<process_info>
    <gpu_instance_id>{gi}</gpu_instance_id>
    <compute_instance_id>0</compute_instance_id>
    <pid>{pid}</pid><process_name>python3</process_name><used_memory>700 MiB</used_memory>
</process_info>"""
PROFILES = ("1g.18gb", "3g.71gb")
SIZES = (16384, 71424)
"""MiB of each."""


def cut_gpus(xml: str, gpus: int = 1, instances: int = 2, busy: int | None = None) -> str:
    """Return the document with its first ``gpus`` cut; a process is on instance ``busy`` of the first."""
    for _ in range(gpus):
        whole = "<current_mig>Disabled</current_mig>"
        assert whole in xml
        xml = xml.replace(whole, "<current_mig>Enabled</current_mig>", 1)
        devices = "".join(_DEVICE.format(index=i, gi=7 + i, total=SIZES[i]) for i in range(instances))
        xml = re.sub(
            r"(?s)<mig_devices>\s*None\s*</mig_devices>",
            f"<mig_devices>{devices}</mig_devices>",
            xml,
            count=1,
        )
    if busy is not None:
        xml = xml.replace("<processes>", f"<processes>{_PROCESS.format(gi=7 + busy, pid=450)}", 1)
    return xml


def list_instances(xml: str, gpus: int = 1, instances: int = 2) -> str:
    """Return what ``nvidia-smi -L`` prints of it."""
    lines = []
    for index, uuid in enumerate(re.findall(r"<uuid>(GPU-[^<]+)</uuid>", xml)):
        lines.append(f"GPU {index}: NVIDIA H200 (UUID: {uuid})")
        for number in range(instances if index < gpus else 0):
            profile = PROFILES[number]
            lines.append(f"  MIG {profile}     Device  {number}: (UUID: {name_instance(index, number)})")
    return "\n".join(lines) + "\n"


def name_instance(gpu: int, number: int) -> str:
    """Return an instance's UUID."""
    return f"MIG-{gpu}{number}d3b9a7-41ad-5f1b-9f0c-2e6a3c1d0e5f"
