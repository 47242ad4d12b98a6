"""What a host says of its environments, which becomes env.json if it is of those that were sent."""

from pathlib import Path
from typing import Any

from rekindle.environments import Specification
from rekindle.records import Complaint, EnvRecord, RecordError, convert

from .capsules import save


def receive(environments: list[Any], host: str, folder: Path, sent: list[Specification]) -> None:
    """Write env.json and its locks into the ``folder`` of a host's records.

    Args:
        environments: as the host reported them.
        host: its name.
        folder: results/<run>/<host>.
        sent: the specifications that the host was given.

    Raises:
        Complaint: they do not fit the schema, or are not of the locks that were sent.
    """
    try:
        env = convert({"host": host, "environments": environments}, EnvRecord)
        locks = sorted((spec["name"], spec["lock"], spec["lock_sha256"]) for spec in sent)
        if sorted((one.framework, one.lock, one.lock_sha256) for one in env.environments) != locks:
            raise RecordError("its locks are not those that were sent")
        save(env, folder)
    except RecordError as error:
        message = f"What came from the host is not a valid EnvRecord: {error.message.rstrip('.')}."
        raise Complaint(message, "run the stage again.") from None
