"""Entries of the disk cache as people read them, and bundles of entries for other machines.

A bundle is a folder, a .tar or a .tar.zst with the files of entries, KEY.kwa, and `bundle.json`, which says
what they are.
"""

from __future__ import annotations

import io
import json
import os
import re
import secrets
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from .. import _core
from ..argument_types import described, numpy_names
from ..errors import KernelError, placeless_error
from .warmup import BODIES

_file_name = re.compile(r"([0-9a-f]{32})\.kwa")
_contents = "bundle.json"
_format = "kernelwright bundle 1"
_most_bytes = 256 << 20  # of an entry, as in runtime/cache_files.cpp
_code = "machine code"
_architecture = re.compile(r"cubin \d+\noption --gpu-architecture=(\w+)\n")


@dataclass(frozen=True)
class Entry:
    """One file of the cache. `state` is "sound", "damaged", "not private", "not readable" or "of another
    version"; what is not sound has no types. The code of a launch on GPUs has the body "machine code" and no
    types: other kernels with the same text use it. `used` counts seconds since 1970.
    """

    key: str
    name: str
    state: str
    bytes: int
    used: int
    types: tuple[str, ...] = ()
    body: str = ""
    target: str = ""
    options: tuple[str, ...] = ()
    is_of_this_build: bool = False
    key_lines: tuple[str, ...] = ()  # they hold everything that could change its code

    def as_dict(self) -> dict[str, Any]:
        """Returns its fields, without the lines of its key, as values of JSON."""
        return {name: value for name, value in asdict(self).items() if name != "key_lines"}

    @property
    def subject(self) -> str:
        """The name and the types: "add(f32[:], f32[:])"."""
        has_types = self.target and self.body != _code
        return f"{self.name}({', '.join(self.types)})" if has_types else self.name


def _facts(preimage: str) -> dict[str, Any]:
    """Returns what the preimage of a key tells of types, body, target and options."""
    if found := _architecture.match(preimage):
        return {"body": _code, "target": found[1], "is_of_this_build": True}
    lines: dict[str, str] = {}
    for line in preimage.splitlines():
        word, _, rest = line.partition(" ")
        if word in ("option", "target"):
            word, _, rest = rest.partition(" ")
        lines.setdefault(word, rest)
    if "signature" not in lines:  # a library
        return {"is_of_this_build": True}
    arguments = []
    for argument in lines["signature"].partition("outs")[0].split():
        kind, dtype, rank, strides, alias = argument.split(":")
        arguments.append((int(kind), numpy_names.get(dtype, dtype), int(rank), int(strides), int(alias)))
    fp = ("strict", "default", "fast")[int(lines["fp"])]
    options = [f"fp={fp}"] if fp != "default" else []
    options += [name for name in ("debug", "unchecked", "debug_info") if lines[name] == "1"]
    return {
        "types": tuple(described(arguments)),
        "body": BODIES[int(lines["body"])],
        "target": lines["machine"],
        "options": tuple(options),
        "is_of_this_build": lines["build"] == _core.build_id,
    }


def path_of(key: str) -> Path:
    return Path(_core.cache_directory()) / f"{key}.kwa"


def entries(wanted: Iterable[str] = ()) -> list[Entry]:
    """Returns the entries of the user's cache, the last used last: all, or those with these names of kernels
    or beginnings of keys.
    """
    names = list(wanted)
    out = []
    for key, size, used, name, state, preimage in _core.cache_list():
        if names and name not in names and not any(len(n) >= 4 and key.startswith(n) for n in names):
            continue
        try:
            facts = _facts(preimage) if preimage else {}
        except (ValueError, KeyError, IndexError):
            facts = {}  # of a writer whose lines we do not know
        out.append(Entry(key, name, state, size, used, key_lines=tuple(preimage.splitlines()), **facts))
    return out


def refuse(message: str, help_text: str) -> KernelError:
    """Returns E509."""
    return placeless_error("KernelValueError", "E509", message, help_text)


def _needs_zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise refuse(
            "a bundle .tar.zst needs the package zstandard", "pip install kernelwright[cli], or name a folder"
        ) from None
    return zstandard


@contextmanager
def _opened(path: str, mode: str, is_compressed: bool) -> Iterator[IO[bytes]]:
    """Opens the tar archive of a bundle."""
    with open(path, mode) as file:
        if not is_compressed:
            yield file
        elif mode == "rb":
            zstandard = _needs_zstandard()
            try:
                with zstandard.ZstdDecompressor().stream_reader(file) as stream:
                    yield stream
            except zstandard.ZstdError as error:
                raise tarfile.ReadError(str(error)) from error
        else:
            with _needs_zstandard().ZstdCompressor(level=10).stream_writer(file, closefd=False) as stream:
                yield stream


def is_archive(path: str) -> bool:
    return path.endswith((".tar", ".tar.zst"))


def export(path: str, wanted: Iterable[str] = ()) -> list[Entry]:
    """Writes the sound entries of this build, or those of the wanted kernels, to a folder, .tar or .tar.zst.

    A folder that has a bundle keeps its entries. Raises KernelValueError (E509) if there are no entries, or
    the place is of something else, and OSError. An archive appears whole or not at all; the list of a folder
    is written last.
    """
    before = _check_place(path)
    chosen = [e for e in entries(wanted) if e.state == "sound" and e.is_of_this_build]
    if not chosen:
        raise refuse("no entry of the cache is wanted", "`kw cache ls` lists what there is")
    told = [{k: v for k, v in e.as_dict().items() if k not in ("state", "used")} for e in chosen]
    keys = {e.key for e in chosen}
    told = [e for e in before if e["key"] not in keys] + told
    contents = {"format": _format, "build": _core.build_id, "entries": told}
    text = json.dumps(contents, indent=1).encode() + b"\n"
    files = {f"{e.key}.kwa": path_of(e.key).read_bytes() for e in chosen}
    if is_archive(path):
        with _replacing(path) as part:
            _write_archive(part, {_contents: text, **files}, path.endswith(".zst"))
    else:
        os.makedirs(path, exist_ok=True)
        for name, data in {**files, _contents: text}.items():
            with _replacing(str(Path(path) / name)) as part:
                Path(part).write_bytes(data)
    return chosen


def _check_place(path: str) -> list[dict[str, Any]]:
    """Returns what a bundle in the folder `path` lists. Raises E509 if no bundle can be written there."""
    suffix = re.search(r"\.(zip|whl|gz|tgz|bz2|xz|zst|7z)$", path)
    if suffix and not is_archive(path):
        raise refuse(f"a bundle is a folder, a .tar or a .tar.zst, not a {suffix[0]}", "name it so")
    if not os.path.isdir(Path(path).parent):
        raise refuse(f"there is no folder '{Path(path).parent}' for '{Path(path).name}'", "make it first")
    if is_archive(path) or not os.path.lexists(path):
        return []
    if not os.path.isdir(path):
        raise refuse(f"'{path}' is no folder", "name a new one, a .tar or a .tar.zst")
    if not os.listdir(path):
        return []
    contents = Path(path) / _contents
    listed = _listed(contents.read_bytes()) if contents.is_file() else None
    if listed is None:
        raise refuse(f"the folder '{path}' holds something else than a bundle", "name a new folder")
    return list(listed.values())


@contextmanager
def _replacing(path: str) -> Iterator[str]:
    """Yields the name of a file of its own that takes the place of `path` at the end."""
    part = str(Path(path).parent / f".{Path(path).name}.{secrets.token_hex(8)}")
    with open(part, "xb"):  # follows no link; with the mode of files that the user makes
        pass
    try:
        yield part
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)


def _write_archive(path: str, files: dict[str, bytes], is_compressed: bool) -> None:
    with (
        _opened(path, "wb", is_compressed) as stream,
        tarfile.open(fileobj=stream, mode="w|") as archive,
    ):
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


def _files_of(path: str) -> Iterator[tuple[str, bytes]]:
    """Yields (name, bytes) of the files of a bundle. Raises E509 for what no export wrote."""
    if not os.path.lexists(path):
        raise refuse(f"there is no bundle '{path}'", "name what `kw cache export` wrote")
    if not is_archive(path):
        if not os.path.isdir(path):
            raise refuse(f"'{path}' is no folder, .tar or .tar.zst", "name what `kw cache export` wrote")
        for file in sorted(Path(path).iterdir()):
            if not file.is_file():
                raise refuse(f"'{path}' holds '{file.name}', which is no entry", "export it again")
            yield file.name, file.read_bytes()
        return
    try:
        with (
            _opened(path, "rb", path.endswith(".zst")) as stream,
            tarfile.open(fileobj=stream, mode="r|") as archive,
        ):
            for member in archive:
                if not member.isfile() or member.size > _most_bytes:
                    raise refuse(f"'{path}' holds '{member.name}', which is no entry", "export it again")
                data = archive.extractfile(member)
                assert data
                yield member.name, data.read()
    except (tarfile.TarError, EOFError) as error:
        raise refuse(f"'{path}' is no whole archive: {error}", "export it again") from error


def _listed(data: bytes) -> dict[str, dict[str, Any]] | None:
    """Returns what the list of a bundle says of entries, by their keys; None if it is no list of ours."""
    try:
        found = json.loads(data)
        return {str(e["key"]): e for e in found["entries"]} if found["format"] == _format else None
    except (ValueError, KeyError, TypeError):
        return None


def read_bundle(path: str) -> dict[str, bytes]:
    """Returns the entries of a bundle by their keys. Each has the form of an entry, its checksum, and the key
    that its preimage hashes to. Who made it is not checked: loading an entry runs its code.

    Raises KernelValueError (E509) if one is wrong, and OSError.
    """
    found: dict[str, bytes] = {}
    listed = None
    again = "export it again, and copy it as binary data"
    for name, data in _files_of(path):
        if name == _contents:
            listed = _listed(data)
            continue
        entry = _file_name.fullmatch(name)
        if not entry:
            raise refuse(f"'{path}' holds '{name}', which is no entry", again)
        state, key = _core.read_entry(data)
        if state != "sound":
            raise refuse(f"the entry {entry[1]} of '{path}' is {state}", again)
        if key != entry[1]:
            raise refuse(f"the entry {entry[1]} of '{path}' holds that of the key {key}", again)
        found[key] = data
    if listed is None:
        raise refuse(f"'{path}' is no bundle of this version of kernelwright", "name what export wrote")
    if lacking := sorted(listed.keys() - found.keys()):
        raise refuse(f"'{path}' lacks the entry {lacking[0]}, which its list names", again)
    if more := sorted(found.keys() - listed.keys()):
        raise refuse(f"'{path}' holds the entry {more[0]}, which its list does not name", again)
    return found


def import_bundle(path: str) -> tuple[int, int]:
    """Stores the entries of a bundle in the user's cache; returns how many, and how many it had already.

    All are checked before the first is stored. Raises KernelValueError (E509), and OSError.
    """
    found = read_bundle(path)
    known = {key for key, _, _, _, state, _ in _core.cache_list() if state == "sound"}
    for key, data in found.items():
        if key not in known and (problem := _core.cache_store(key, data)):
            raise OSError(problem)
    return len(found.keys() - known), len(found.keys() & known)
