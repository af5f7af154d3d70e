"""`kw cache`: what it tells of entries, and bundles that carry them to other machines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

PROGRAM = """
import numpy as np
import kernelwright as kw

@kw.kernel
def first(x, n):
    y = output_tensor((1,), x.dtype)
    y[0] = x[0] * n
    return y

@kw.kernel(fp="strict")
def second(x):
    x[0] = 2
    return x

print(first(np.ones((4, 4), "f4")[0, ::2], 3)[0], second(np.ones(2))[0])
"""
Done = subprocess.CompletedProcess[str]


def start(folder: Path, *words: str, cache: str = "cache", **env: str) -> Done:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("KW_")}
    clean |= {"KW_CACHE_DIR": str(folder / cache), **env}
    return subprocess.run([sys.executable, *words], cwd=folder, env=clean, capture_output=True, text=True)


def kw_cache(folder: Path, *words: str, cache: str = "cache") -> Done:
    return start(folder, "-m", "kernelwright", "cache", *words, cache=cache)


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A folder with a program and the cache that it filled."""
    (tmp_path / "program.py").write_text(PROGRAM)
    assert start(tmp_path, "program.py").stdout == "3.0 2.0\n"
    return tmp_path


def keys(folder: Path, cache: str = "cache") -> list[str]:
    return sorted(path.stem for path in (folder / cache).glob("*.kwa"))


def test_ls_tells_types_target_and_options(filled: Path) -> None:
    lines = {line.split(maxsplit=5)[5]: line for line in kw_cache(filled, "ls").stdout.splitlines()}
    assert set(lines) == {"first(f32[:]/any, int)", "second(f64[:]) fp=strict"}
    (listed,) = json.loads(kw_cache(filled, "ls", "--json", "second").stdout)["entries"]
    del listed["used"], listed["bytes"], listed["target"]
    assert listed == {
        "key": listed["key"],
        "name": "second",
        "state": "sound",
        "types": ["f64[:]"],
        "body": "main",
        "options": ["fp=strict"],
        "is_of_this_build": True,
    }
    assert kw_cache(filled, "ls", "none").stdout == ""


def test_info_shows_the_lines_of_the_key(filled: Path) -> None:
    (told,) = json.loads(kw_cache(filled, "info", "--json", "first").stdout)
    assert told["file"] == str(filled / "cache" / f"{told['key']}.kwa")
    assert (
        "signature 0:f32:1:2:0 1:i64:0:0:1 outs" in told["key_lines"] and "option fp 1" in told["key_lines"]
    )
    text = kw_cache(filled, "info", told["key"][:6]).stdout.splitlines()
    assert text[0].endswith("first(f32[:]/any, int)") and text[1].strip() == told["file"]
    assert [line.strip() for line in text[2:]] == told["key_lines"]
    missing = kw_cache(filled, "info", "third")
    assert missing.returncode == 1
    assert missing.stderr == "kw cache: no entry is of third; `kw cache ls` lists them\n"


def test_rm_removes_what_is_named(filled: Path) -> None:
    assert kw_cache(filled, "rm", "third").returncode == 1 and len(keys(filled)) == 2
    done = kw_cache(filled, "rm", "first")
    assert done.stdout == f"1 entries removed from {filled / 'cache'}\n" and len(keys(filled)) == 1


@pytest.mark.parametrize("name", ["bundle", "bundle.tar", "bundle.tar.zst"])
def test_an_empty_machine_runs_what_was_exported(filled: Path, name: str) -> None:
    done = kw_cache(filled, "export", name)
    assert done.stdout.startswith("2 entries, ") and not list(filled.glob("*.part"))
    stored = kw_cache(filled, "import", name, cache="other")
    assert stored.stdout == f"2 entries stored in {filled / 'other'}, 0 were there already\n"
    assert keys(filled) == keys(filled, "other")
    assert start(filled, "program.py", cache="other", KW_FROZEN="1").stdout == "3.0 2.0\n"
    again = kw_cache(filled, "import", name, cache="other")
    assert again.stdout == f"0 entries stored in {filled / 'other'}, 2 were there already\n"
    # a bundle in a folder is a shared cache as it stands
    if name == "bundle":
        shared = start(filled, "program.py", cache="third", KW_CACHE_SHARED=str(filled / name), KW_FROZEN="1")
        assert shared.stdout == "3.0 2.0\n"


def test_a_part_of_the_cache(filled: Path) -> None:
    assert kw_cache(filled, "export", "one.tar", "second").stdout.startswith("1 entries, ")
    with tarfile.open(filled / "one.tar") as archive:
        contents, entry = archive.getnames()
        told = json.load(archive.extractfile(contents) or pytest.fail("no contents"))
    assert contents == "bundle.json" and told["format"] == "kernelwright bundle 1"
    assert [(e["name"], f"{e['key']}.kwa") for e in told["entries"]] == [("second", entry)]
    none = kw_cache(filled, "export", "none.tar", "third")
    assert (none.returncode, none.stderr) == (
        1,
        "kw cache: error[E509]: no entry of the cache is wanted\n"
        "      = help: `kw cache ls` lists what there is\n",
    )
    assert not (filled / "none.tar").exists()


def test_a_bundle_that_cannot_be_read(filled: Path) -> None:
    done = kw_cache(filled, "import", "gone.tar")
    assert (done.returncode, done.stderr) == (
        1,
        "kw cache: error[E509]: there is no bundle 'gone.tar'\n"
        "      = help: name what `kw cache export` wrote\n",
    )
    kw_cache(filled, "export", "bundle.tar.zst")
    data = (filled / "bundle.tar.zst").read_bytes()
    (filled / "cut.tar.zst").write_bytes(data[: len(data) // 2])
    cut = kw_cache(filled, "import", "cut.tar.zst", cache="other")
    assert cut.returncode == 1 and "error[E509]: 'cut.tar.zst' is no whole archive" in cut.stderr
    (filled / "wrong.tar.zst").write_bytes(b"not compressed")
    wrong = kw_cache(filled, "import", "wrong.tar.zst", cache="other")
    assert wrong.returncode == 1 and "error[E509]: 'wrong.tar.zst' is no whole archive" in wrong.stderr
    assert not keys(filled, "other")


def test_a_bundle_is_whole(filled: Path) -> None:
    kw_cache(filled, "export", "bundle")
    (first, second) = sorted((filled / "bundle").glob("*.kwa"))
    (filled / "kept").write_bytes(second.read_bytes())
    second.unlink()
    lacks = kw_cache(filled, "import", "bundle", cache="other")
    assert lacks.returncode == 1 and not keys(filled, "other")
    assert f"error[E509]: 'bundle' lacks the entry {second.stem}, which its list names" in lacks.stderr
    second.write_bytes((filled / "kept").read_bytes())
    told = json.loads((filled / "bundle/bundle.json").read_text())
    told["entries"] = [e for e in told["entries"] if e["key"] == first.stem]
    (filled / "bundle/bundle.json").write_text(json.dumps(told))
    more = kw_cache(filled, "import", "bundle", cache="other")
    assert f"error[E509]: 'bundle' holds the entry {second.stem}, which its list does not name" in more.stderr


def test_a_folder_takes_several_exports(filled: Path) -> None:
    assert kw_cache(filled, "export", "bundle", "first").returncode == 0
    assert kw_cache(filled, "export", "bundle", "second").returncode == 0
    stored = kw_cache(filled, "import", "bundle", cache="other")
    assert stored.stdout == f"2 entries stored in {filled / 'other'}, 0 were there already\n"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("b.zip", "a bundle is a folder, a .tar or a .tar.zst, not a .zip"),
        ("no/b.tar", "there is no folder 'no' for 'b.tar'"),
        ("program.py", "'program.py' is no folder"),
        (".", "the folder '.' holds something else than a bundle"),
    ],
)
def test_places_where_no_bundle_is_written(filled: Path, path: str, message: str) -> None:
    before = sorted(p.name for p in filled.iterdir())
    done = kw_cache(filled, "export", path)
    assert done.returncode == 1 and done.stderr.startswith(f"kw cache: error[E509]: {message}\n")
    assert sorted(p.name for p in filled.iterdir()) == before


def test_what_is_no_bundle_is_refused(filled: Path) -> None:
    said = kw_cache(filled, "import", "program.py").stderr
    assert said.startswith("kw cache: error[E509]: 'program.py' is no folder, .tar or .tar.zst\n")
    said = kw_cache(filled, "import", ".").stderr
    assert said.startswith("kw cache: error[E509]: '.' holds ") and "which is no entry" in said
