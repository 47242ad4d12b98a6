# SPDX-License-Identifier: Apache-2.0
"""The catalogue of builds and the rules for them: data, with a source for each fact."""

import functools
import itertools
import re
from collections.abc import Iterator
from importlib.resources import files

from msgspec.structs import replace

from rekindle import locks
from rekindle.gpus.models import parse_version
from rekindle.records import Record, allow_decoding, decode_json
from rekindle.records.plan import FRAMEWORKS, Framework, name_plain, name_runtime

OF_ONE_TORCH = ("torch", "torchvision")
"""torch, and packages that are compiled for one torch."""

_NAMES = {
    "torch": "torch",
    "lightning": "Lightning",
    "transformers": "Transformers",
    "tensorflow": "TensorFlow",
}


class Kernels(Record, kw_only=True, frozen=True):
    """Kernels of a library in a wheel with the same architectures."""

    library: str
    arch_list: tuple[str, ...]
    ptx: str
    """Version of the language of their PTX: ``8.5``; empty if they have none."""
    kib: int
    """Size of the part that one GPU loads."""


class CatalogueBuild(Record, kw_only=True, frozen=True):
    """One build of a framework for one architecture."""

    framework: Framework
    version: str
    variant: str
    """``cpu``, or the CUDA that it was compiled with: ``cu128``."""
    architecture: str
    requirements: tuple[str, ...]
    pythons: tuple[str, ...]
    glibc: str
    """Oldest that its wheel's tag allows."""
    cuda: str | None = None
    toolkit: str | None = None
    """CUDA that it was compiled with; its PTX needs a driver that supports it."""
    nccl: str | None = None
    arch_list: tuple[str, ...] = ()
    """``sm_90`` is machine code, ``compute_90`` is PTX; as the build itself reports it."""
    wheel: str | None = None
    """File that toolkit and arch_list were read from."""
    kernels: tuple[Kernels, ...] = ()
    """By library, of a build whose kernels do not all have the ``arch_list``."""
    torch: str | None = None
    """The torch in the environment of a framework on torch."""
    nvflare: str = ""

    @property
    def title(self) -> str:
        """Name, version and CUDA, for messages."""
        torch = f" with torch {self.torch}" if self.torch else ""
        return f"{self.name} {self.version}{torch} ({name_runtime(self.cuda)})"

    @property
    def emits(self) -> str | None:
        """The newest PTX that its compiler (XLA) writes: the one of its own kernels."""
        return max((kernels.ptx for kernels in self.kernels if kernels.ptx), key=parse_version, default=None)

    @property
    def name(self) -> str:
        """The framework's usual name, with its extension."""
        framework, plus, extension = name_plain(self.framework).partition("+")
        return f"{_NAMES[framework]}{plus}{extension}"

    @property
    def lent(self) -> tuple[str, ...]:
        """Its requirements that the host's own torch replaces; empty if it is not on torch."""
        on_torch = self.torch or self.framework.partition("+")[0] == "torch"
        return tuple(name for name in OF_ONE_TORCH if on_torch and name in map(_named, self.requirements))

    def lock(self, python: str) -> str:
        """Return the file name of its lock for ``python`` (``3.11``).

        The version of a host's own build, and NVFlare's usual release, are not part of it.
        """
        version = [] if self.variant == "system" else [self.version]
        nvflare = [] if self.nvflare == load_rules().nvflare.version else [f"nvflare{self.nvflare}"]
        parts = [self.framework, *version, self.variant, *nvflare]
        return "-".join(parts) + f"-py{python.replace('.', '')}.txt"

    def is_locked(self, python: str) -> bool:
        """Whether there is a lock of it for ``python``, on which packages of jobs can be resolved."""
        return name_plain(self.lock(python)) in locks.list_locks()


def adapt_to_own_torch(build: CatalogueBuild) -> CatalogueBuild:
    """Return ``build`` as locked for a host with its own torch, which replaces some requirements."""
    rest = tuple(requirement for requirement in build.requirements if _named(requirement) not in build.lent)
    return replace(build, variant="system", requirements=rest)


class _OnTorch(Record, kw_only=True, frozen=True):
    version: str
    torch: str
    variant: str
    pythons: tuple[str, ...] | None = None
    """If they differ from the others'."""


@allow_decoding
class _Builds(Record, kw_only=True, frozen=True):
    framework: Framework
    sources: dict[str, str]
    builds: tuple[CatalogueBuild, ...]


@allow_decoding
class _OnTorchBuilds(Record, kw_only=True, frozen=True):
    framework: Framework
    sources: dict[str, str]
    requirements: tuple[str, ...]
    """Of every build, before its torch's; ``{version}`` is its own version."""
    pythons: tuple[str, ...]
    builds: tuple[_OnTorch, ...]


class _Extension(Record, kw_only=True, frozen=True):
    frameworks: dict[str, tuple[str, ...]]
    """Versions of torch in its locks, by framework."""
    requirements: tuple[str, ...]
    """In addition to the extended build's, whose pins stay the same if possible."""
    with_nvflare: dict[str, tuple[str, ...]] = {}
    """Further ones, by release of NVFlare."""
    pythons: tuple[str, ...] = ("3.10", "3.11", "3.12")
    architectures: tuple[str, ...] = ("aarch64", "x86_64")
    """For which all requirements have files."""
    because: str


@allow_decoding
class _Extensions(Record, kw_only=True, frozen=True):
    sources: dict[str, str]
    extensions: dict[str, _Extension]


class _Release(Record, kw_only=True, frozen=True):
    pythons: tuple[str, ...]
    source: str


class _NvflareRules(Record, kw_only=True, frozen=True):
    version: str
    """The default on hosts."""
    releases: dict[str, _Release]


class _LockRules(Record, kw_only=True, frozen=True):
    pythons: tuple[str, ...]
    glibc: str
    source: str


class _Table(Record, kw_only=True, frozen=True):
    source: str
    by: dict[str, str]


@allow_decoding
class Rules(Record, kw_only=True, frozen=True):
    """Rules for every build."""

    nvflare: _NvflareRules
    locks: _LockRules
    cuda_minimum_driver: _Table
    """Major version of CUDA → its oldest driver."""
    driver_cuda: _Table
    """Driver → the newest CUDA that it supports."""
    ptx_targets: _Table
    """Compute capability → its first PTX; every compiler here supports all older ones."""


def cut_python_minor(version: str) -> str:
    """Return ``3.12`` of ``3.12.3``."""
    return ".".join(version.split(".")[:2])


@functools.cache
def load_rules() -> Rules:
    """Return the rules."""
    return decode_json(_data("rules"), Rules)


@functools.cache
def list_builds(framework: Framework, nvflare: str | None = None) -> tuple[CatalogueBuild, ...]:
    """Return the builds of ``framework``, newest first.

    Args:
        framework: with its extension, and the number of what jobs require beside its lock.
        nvflare: release in its lock; None for the usual one.
    """
    release = nvflare or load_rules().nvflare.version
    base, plus, extension = name_plain(framework).partition("+")
    catalogued = _extended(base, extension, release) if plus else _builds(base)
    return tuple(replace(build, framework=framework, nvflare=release) for build in catalogued)


def _builds(framework: str) -> tuple[CatalogueBuild, ...]:
    if framework in {"lightning", "transformers"}:
        data = decode_json(_data(framework), _OnTorchBuilds)
        pairs = itertools.product(data.builds, _builds("torch"))
        catalogued = [
            _on_torch(data, pair, build)
            for pair, build in pairs
            if (pair.torch, pair.variant) == (build.version, build.variant)
        ]
    else:
        catalogued = list(decode_json(_data(framework), _Builds).builds)
    catalogued.sort(
        key=lambda build: (parse_version(build.torch or build.version), build.variant), reverse=True
    )
    return tuple(catalogued)


def list_environments() -> list[Framework]:
    """Return every name that an environment can have."""
    extended = (
        f"{framework}+{name}"
        for name, extension in _extensions().items()
        for framework in extension.frameworks
    )
    return [*FRAMEWORKS, *extended]


def _extended(framework: str, name: str, nvflare: str) -> Iterator[CatalogueBuild]:
    extension = _extensions().get(name)
    if extension is None:
        return
    torches = extension.frameworks.get(framework, ())
    requirements = (*extension.requirements, *extension.with_nvflare.get(nvflare, ()))
    for build in _builds(framework):
        pythons = tuple(minor for minor in build.pythons if minor in extension.pythons)
        locked = (build.torch or build.version) in torches and build.architecture in extension.architectures
        if locked and pythons:
            yield replace(
                build,
                framework=f"{framework}+{name}",
                pythons=pythons,
                requirements=(*build.requirements, *requirements),
            )


@functools.cache
def _extensions() -> dict[str, _Extension]:
    return decode_json(_data("extensions"), _Extensions).extensions


def _on_torch(data: _OnTorchBuilds, pair: _OnTorch, build: CatalogueBuild) -> CatalogueBuild:
    own = (text.format(version=pair.version) for text in data.requirements)
    return replace(
        build,
        framework=data.framework,
        version=pair.version,
        torch=build.version,
        pythons=tuple(minor for minor in build.pythons if minor in (pair.pythons or data.pythons)),
        requirements=(*own, *build.requirements),
    )


def _named(requirement: str) -> str:
    return re.split(r"[^\w-]", requirement, maxsplit=1)[0]


def _data(name: str) -> bytes:
    return files("rekindle.solver").joinpath("catalogue", f"{name}.json").read_bytes()
