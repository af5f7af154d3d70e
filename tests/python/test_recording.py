"""Manifests: what a run records, and that `kw warmup` compiles it without the program."""

from __future__ import annotations

import json
import os
import py_compile
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kernelwright as kw
from kernelwright import _core, argument_types, cli
from kernelwright.commands.workers import in_processes
from kernelwright.warm import manifest, recording

PROGRAM = """
import sys
import numpy as np
import kernelwright as kw

level, table = 2.5, np.arange(4.0)


def scaled(v):
    return v * level


@kw.kernel
def first(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        y[i] = scaled(x[i]) + table[0] + np.sqrt(x[i])
    return y


class Holder:
    def inner(self, by):
        @kw.kernel(fp="strict")
        def times(x, n=2):
            __private = x[0] * by
            x[0] = __private * n
            return x
        return times

    @kw.kernel
    def method(self, x):
        x[0] = x[0] * -0.0
        return x


if __name__ == "__main__":
    first(np.ones(3))
    first(np.ones(0))  # runs `plain`
    Holder().inner(3)(np.ones(3, "f4"))
    Holder().method(np.ones((2, 4), "i2")[:, ::2][0])
    kw.kernel("def given(x):\\n    x[0] = 1\\n    return x")(np.ones(2))
    kw.ops.exp(kw.Tensor(np.ones(3)))
    print("_llvm.so" in open("/proc/self/maps").read())
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def run(program: Path, cache: str, **env: str) -> str:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("KW_")}
    clean |= {"KW_CACHE_DIR": str(program.parent / cache), **env}
    done = subprocess.run(
        [sys.executable, str(program)], env=clean, capture_output=True, text=True, cwd=program.parent
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def warmed(program: Path, cache: str, *words: str) -> tuple[int, str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("KW_")}
    done = subprocess.run(
        [sys.executable, "-m", "kernelwright", "warmup", *words],
        env={**clean, "KW_CACHE_DIR": str(program.parent / cache)},
        capture_output=True,
        text=True,
    )
    assert done.stderr == "", done.stderr
    return done.returncode, done.stdout


def test_what_a_run_recorded_serves_it_on_an_empty_machine(program: Path) -> None:
    path = program.parent / "manifest.json"
    assert run(program, "first", KW_RECORD=str(path)) == "True\n"
    recorded = path.read_text()
    # what the cache has is recorded too, once
    assert run(program, "first", KW_RECORD=str(path)) == "False\n"
    assert path.read_text() == recorded
    versions = manifest.load(str(path))
    assert [(v["kernel"], v["types"], v["body"]) for v in versions] == [
        ("first", ["f64[:]", "f64[:]"], "main"),
        ("first", ["f64[:]", "f64[:]"], "plain"),
        ("times", ["f32[:]", "int"], "main"),
        ("method", ["unused", "i16[:]/any"], "main"),
        ("given", ["f64[:]"], "main"),
        ("exp_loops", ["f64[:]"], "main"),
    ]
    of_first = versions[0]["source"]
    assert of_first["path"] == str(program) and of_first["text"].startswith("@kw.kernel\ndef first(x):\n")
    assert of_first["line"] == 13 and of_first["callees"][0]["text"].startswith("def scaled(v):\n")
    assert versions[2]["options"] == {"fp": 0}
    program.rename(program.with_suffix(".away"))  # nothing is imported
    status, told = warmed(program, "second", str(path))
    # each `main` with its `plain`, and the recorded `plain`
    assert status == 0 and len(told.splitlines()) == 2 * 5 + 1 + 1 and ", 0 not made; " in told
    program.with_suffix(".away").rename(program)
    assert run(program, "second") == "False\n"


def test_targets_of_a_manifest(program: Path) -> None:
    path = program.parent / "manifest.json"
    run(program, "first", KW_RECORD=str(path))
    status, told = warmed(program, "first", str(path), "--target", "host,generic", "--jobs", "2")
    lines = told.splitlines()
    assert status == 0 and len(lines) == 2 * 11 + 1 and ", 0 not made; " in lines[-1]
    # 5 `plain` for this machine, and 5 of both for the other one
    assert int(lines[-1].split()[0]) >= 14
    targets = {line.split()[1] for line in lines[:-1]}
    assert targets == {_core.target_class(), "generic"}


def test_the_identity_is_found_again_from_the_text(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = program.parent / "manifest.json"
    run(program, "first", KW_RECORD=str(path))
    # as under another version of Python, which compiles the text itself
    monkeypatch.setattr(manifest, "bytecode", lambda: "cpython-399-00000000")
    for version in manifest.load(str(path)):
        assert manifest._identity(version) == version["identity"], version["kernel"]
    monkeypatch.undo()
    for version in manifest.load(str(path)):
        assert manifest._identity(version) == version["identity"], version["kernel"]
        version["source"]["text"] = version["source"]["text"].replace("return", "pass; return")
        with pytest.raises(recording.ManifestError, match=r"is not that of the recorded code$"):
            manifest.compile_entry(version)
    broken = json.loads(json.dumps(manifest.load(str(path))[0]))
    broken["source"]["text"] = "x = 3\n"
    with pytest.raises(recording.ManifestError) as e:
        manifest.compile_entry(broken)
    assert str(e.value) == f"this Python makes no function of the text at {program}:13"


@kw.kernel
def doubled(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        y[i] = 2 * x[i]
    return y


def fresh() -> Any:
    return kw.kernel(doubled.__wrapped__)


def names(path: Path) -> list[tuple[str, list[str]]]:
    return [(v["kernel"], v["types"]) for v in manifest.load(str(path))]


def test_a_stretch_of_a_program(tmp_path: Path) -> None:
    outer, inner = tmp_path / "outer.json", tmp_path / "inner.json"
    fresh()(np.ones(1, "f2"))
    with kw.record(str(outer)):
        fresh()(np.ones(1, "f4"))
        with kw.record(str(inner)):
            fresh()(np.ones(1, "f8"))
        fresh()(np.ones(1, "i4"))
    fresh()(np.ones(1, "i8"))
    assert names(outer) == [("doubled", ["f32[:]"]), ("doubled", ["i32[:]"])]
    assert names(inner) == [("doubled", ["f64[:]"])]


def test_a_cached_kernel_without_its_text(program: Path) -> None:
    """It runs while it is recorded, and its entry says why it cannot be made."""
    path, caller = program.parent / "m.json", program.parent / "caller.py"
    caller.write_text("import numpy as np\nimport program\nprint(program.first(np.ones(2))[1])\n")
    assert run(caller, "cache") == "3.5\n"
    py_compile.compile(str(program), cfile=str(program.with_suffix(".pyc")))
    program.unlink()
    assert run(caller, "cache", KW_RECORD=str(path)) == "3.5\n"
    (entry,) = manifest.load(str(path))
    assert entry["source"]["text"] == "" and len(entry["source"]["callees"]) == 1
    with pytest.raises(
        recording.ManifestError, match=r"^this Python makes no function of the text at .*:13$"
    ):
        manifest.compile_entry(entry)


def test_warm_ups_are_recorded_and_compiled_for_other_targets(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    with kw.record(str(path)):
        fresh().warmup("f32[:]/any", target="generic")
    (version, plain) = manifest.load(str(path))
    assert (version["target"], version["body"], plain["body"]) == ("generic", "main", "plain")
    made = manifest.compile_entry({**version, "target": "avx2"})
    assert [(m.target, m.body) for m in made] == [("avx2", "main"), ("avx2", "plain")]


def test_files_that_are_no_manifests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"a": 1}\n')
    with pytest.raises(ValueError) as e:
        recording.start(str(path))
    assert str(e.value) == f"'{path}' is no manifest of kernelwright: record into another file"
    assert path.read_text() == '{"a": 1}\n'
    for text in ('{"a": 1}', "", "[", '{"format": "kernelwright manifest 1", "versions": [3]}'):
        path.write_text(text)
        assert cli.main(["warmup", str(path)]) == 2
        said = f"kw warmup: '{path}' is no manifest of this version of kernelwright\n"
        assert capsys.readouterr().err == said
    assert cli.main(["warmup", str(tmp_path / "none.json")]) == 2
    assert capsys.readouterr().err.startswith("kw warmup: [Errno 2] No such file or directory")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"types": ["f63[:]"]}, "'f63[:]' is no type of an argument"),
        ({"body": "third"}, "'third' is no body of a kernel"),
        ({"target": "sse"}, "there is no target 'sse'"),
        ({"outs": [7]}, "'outs' has the value 7, which none has"),
        ({"captures": {"n": {"kind": 99}}}, "'kind' has the value 99, which none has"),
        ({"captures": {"n": {}}}, "'kind' is missing"),
        ({"captures": {"n": {"kind": 1, "real": "1g"}}}, "'real' is no hexadecimal number"),
        (
            {"source": {"text": 3, "path": "", "line": 1}},
            "an entry is damaged: TypeError: 'int' object is not subscriptable",
        ),
        ({"source": {}}, "an entry is damaged: KeyError: 'text'"),
        ({"types": ["f64[:]"] * 65}, "'args' has the alias 64"),
        ({"options": {"fp": "fast"}}, "'fp' has a value of a wrong type"),
        ({"grain": 99}, "'grain' has the value 99, which none has"),
    ],
)
def test_damaged_entries(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    with kw.record(str(path)):
        fresh()(np.ones(1))
    (version,) = manifest.load(str(path))
    with pytest.raises(ValueError) as e:
        manifest.compile_entry({**version, **change})
    assert str(e.value) == message
    del version["identity"]
    with pytest.raises(recording.ManifestError, match=r"^an entry is damaged: KeyError: 'identity'$"):
        manifest.compile_entry(version)


def test_a_version_that_does_not_compile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.json"
    with kw.record(str(path)):
        fresh()(np.ones(1))
    path.write_text(path.read_text().replace("f64[:]", "f64[:, :]"))
    assert cli.main(["warmup", str(path), "--jobs", "1"]) == 1
    found = capsys.readouterr()
    assert found.err.startswith("doubled(f64[:, :]): not made\n") and "error[E201]" in found.err
    assert found.out.startswith("0 compiled, 0 in the cache, 1 not made; ")


def test_a_file_of_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "some.py"
    path.write_text(
        "import kernelwright as kw\n\n\n@kw.kernel\ndef one(x: 'f64[:]'):\n    x[0] = 1\n    return x\n\n\n"
        "@kw.kernel\ndef two(x, y):\n    x[0] = y\n    return x\n\n\nassert __name__ != '__main__'\n"
    )
    assert cli.main(["warmup", str(path)]) == 1
    found = capsys.readouterr()
    assert [line.split()[1:4] for line in found.out.splitlines()[:2]] == [
        ["host", "main", "one"],
        ["host", "plain", "one"],
    ]
    assert found.out.splitlines()[2].startswith("2 compiled, 0 in the cache, 1 not made; ")
    assert found.err.startswith("two: not made\nkernel 'two': warmup() needs the type of 'x': give it")
    assert found.err.endswith("\non the command line, for x, y: --args 'f32[:, :], f32[:, :]'\n")
    assert cli.main(["warmup", f"{path}:two", "--args", "f32[:], float", "--target", "generic,avx2"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5


def ends_at_three(value: int) -> int:
    if value == 3:
        os._exit(7)
    return value + 1


def test_workers_that_end_are_replaced() -> None:
    found = dict(in_processes(f"{__name__}:ends_at_three", [1, 2, 3, 4, 5, 6], 2))
    ended = found.pop(3)
    assert found == {1: 2, 2: 3, 4: 5, 5: 6, 6: 7}
    assert isinstance(ended, RuntimeError) and str(ended) == "its process ended with status 7"
    assert list(in_processes(f"{__name__}:ends_at_three", [], 2)) == []


def test_types_and_signatures() -> None:
    texts = ["f32[:, :]/inner", "=0", "bool", "bool_", "bf16[:]/any", "unused", "u8", "float", "i64[]", "int"]
    assert argument_types.described(argument_types.signature(texts)) == texts


def test_threads_that_call_an_operator_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """The recorder runs Python: no lock is held meanwhile that a thread with the interpreter's lock needs."""
    program = """\
import sys, threading
import numpy as np
import kernelwright as kw

sys.setswitchinterval(1e-6)
begin = threading.Barrier(4)

def call():
    begin.wait()
    for dtype in ("f4", "f8", "i4", "i8", "u1"):
        for name in ("exp", "tanh", "abs", "neg"):
            getattr(kw.ops, name)(np.ones((2, 3), dtype))

threads = [threading.Thread(target=call, daemon=True) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
"""
    subprocess.run(
        [sys.executable, "-c", program],
        env={
            **os.environ,
            "KW_RECORD": str(tmp_path / "manifest.json"),
            "KW_CACHE_DIR": str(tmp_path / "cache"),
        },
        timeout=100,
        check=True,
    )
    assert len(json.loads((tmp_path / "manifest.json").read_text())["versions"]) > 10


def waits(value: int) -> int:
    Path(os.environ["KW_TEST_STARTED"]).joinpath(str(os.getpid())).touch()
    time.sleep(60)
    return value


def test_workers_end_with_their_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KW_TEST_STARTED", str(tmp_path))

    def interrupted(signum: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupted)
    signal.setitimer(signal.ITIMER_REAL, 3)
    try:
        with pytest.raises(KeyboardInterrupt):
            list(in_processes(f"{__name__}:waits", [1, 2, 3, 4], 2))
    finally:
        signal.signal(signal.SIGALRM, before)
    for process in tmp_path.iterdir():
        assert not Path(f"/proc/{process.name}").exists()


def test_a_warm_up_that_stores_nothing_fails(program: Path) -> None:
    folder = program.parent
    (folder / "file").write_text("")
    environment = {**os.environ, "KW_RECORD": "m.json", "KW_CACHE_DIR": str(folder / "cache")}
    subprocess.run([sys.executable, program], cwd=folder, env=environment, check=True)
    done = subprocess.run(
        [sys.executable, "-m", "kernelwright", "warmup", "m.json"],
        cwd=folder,
        env={**os.environ, "KW_CACHE_DIR": str(folder / "file")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert f"kw warmup: nothing is stored: {folder / 'file'} is no directory\n" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("m.json", "--jobs", "0"), "argument --jobs: '0' is no number of at least 1\n"),
        (("m.json", "--jobs", "-1"), "argument --jobs: '-1' is no number of at least 1\n"),
        (
            ("m.json", "--args", "f32[:]"),
            "kw warmup: --args is for files of Python: a manifest names the types itself\n",
        ),
    ],
)
def test_requests_that_make_no_sense(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = cli.main(["warmup", *words])
    except SystemExit as end:
        status = int(end.code or 0)
    assert status == 2 and capsys.readouterr().err.endswith(message)


def test_a_full_disk_leaves_a_whole_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.json"
    recording.Recorder(str(path))
    whole = path.read_bytes()
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: real(fd, data[:5], at))
    with path.open("r+b") as file, pytest.raises(OSError, match="No space left"):
        recording._write_at(file.fileno(), b"\n{'long': 'line'}" + b"\n]}\n", len(whole) - 4)
    monkeypatch.undo()
    assert path.read_bytes() == whole and not manifest.load(str(path))
