# SPDX-License-Identifier: Apache-2.0
"""Peak host memory of NVFlare's server and clients with tensors streamed, beside the same job without.

    .venv/bin/python benchmarks/tensor_stream.py HOST_FOLDER

HOST_FOLDER is results/<run>/<host> of this machine with a transformers environment. Both runs exchange a
GPT-2 of 124 million parameters, as tensors, and train it on a few instructions; no GPU is needed.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

from run_here import run_here

from rekindle.jobs import load_job
from rekindle.records.layout import env_in

JOBS = Path(__file__).parents[1] / "flare_jobs"
PREPARE = """
from pathlib import Path
from instructions import files, generate, texts
from model import make_base
for site in ("site-1", "site-2"):
    generate(Path("data"), site, training=16, validation=8)
make_base(Path("base"), texts(files(Path("data"), "site-1")), full_size=True)
"""


def main() -> None:
    """Print one table."""
    host = Path(sys.argv[1])
    env = env_in(host)
    python = next(
        environment.python for environment in env.environments if environment.framework == "transformers"
    )
    job = load_job(JOBS, "tensor_stream")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [python, "-c", PREPARE], cwd=folder, env={"PYTHONPATH": str(JOBS / "llm_sft")}, check=True
        )
        given = {"model_name_or_path": f"{folder}/base", "data_path": f"{folder}/data", "batch_size": 4}
        peaks = {}
        for name, streamed in (("streamed", True), ("not streamed", False)):
            arguments = {**job.arguments, **given, "tensor_stream": streamed}
            changed = msgspec.structs.replace(job, arguments=arguments, ranks_per_site=1)
            verdict = run_here(changed, JOBS, host, Path(folder, name.replace(" ", "-")))
            message = {
                result.claim: result.message
                for result in verdict.evidence
                if result.claim == "bytes_exchanged"
            }
            print(f"{name}: {verdict.duration_s} s, {message.get('bytes_exchanged', verdict.cause)}")
            peaks[name] = verdict.host_memory_mib
    for process in sorted(peaks["streamed"]):
        with_, without = peaks["streamed"][process], peaks["not streamed"][process]
        print(f"{process:10}{with_:8} MiB streamed{without:8} MiB not streamed{with_ / without:8.2f}")


if __name__ == "__main__":
    main()
