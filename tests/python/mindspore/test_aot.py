"""Libraries and sources in C++ as custom operators: the C interface, attributes, what goes wrong."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from custom_cases import first

import kernelwright as kw
import kernelwright.mindspore as ms
from kernelwright.mindspore import Tensor, ops
from kernelwright.mindspore.ops import CustomRegOp

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")

x = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
head = "#include <cstdint>\n#include <cstring>\n#include <string>\n#include <vector>\n"
arguments = (
    "int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra"
)
double = f"""{head}
extern "C" int Double({arguments}) {{
  if (nparam != 2 || strcmp(dtypes[0], "float32") || stream) return 7;
  int64_t n = 1;
  for (int d = 0; d < 8; ++d) n *= shapes[1][d];  // padded with ones
  for (int64_t i = 0; i < n; ++i) ((float *)params[1])[i] = 2 * ((float *)params[0])[i];
  return 0;
}}
"""


returned = (
    "Return value from CPU AOT kernel(…)'s function({}) is {}. Any return value not equal to 0 will be"
    " treated as user defined error code and we will terminate execution. If termination is not your purpose,"
    " please set return value to 0."
)


def write(folder: Path, text: str, name: str = "k.cc") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def values(t: Any) -> Any:
    return t.asnumpy().tolist()


def test_sources_and_libraries(tmp_path: Path) -> None:
    source = write(tmp_path, double)
    assert values(ops.Custom(f"{source}:Double", first, first, "aot")(Tensor(x))) == (2 * x).tolist()
    assert values(ops.Custom(f"{source}:Double", first, first)(Tensor(x.T.copy()))) == (2 * x.T).tolist()
    library = tmp_path / "k.so"
    subprocess.run(["g++", "-shared", "-fPIC", "-o", library, source], check=True)
    assert values(ops.Custom(f"{library}:Double", first, first, "aot")(Tensor(x))) == (2 * x).tolist()
    turned = Tensor.from_numpy(x).T
    assert values(ops.Custom(f"{library}:Double", first, first, "aot")(turned)) == (2 * x.T).tolist()
    assert float(ops.Custom(f"{library}:Double", first, first, "aot")(Tensor(1.5))) == 3
    os.chdir(tmp_path)
    assert values(ops.Custom("./k.so:Double", first, first, "aot")(Tensor(x))) == (2 * x).tolist()


def test_cold_processes_compile_a_source_once(tmp_path: Path) -> None:
    compiler = tmp_path / "logged g++"
    compiler.write_text('#!/bin/sh\necho "$@" >>"$KW_TEST_LOG"\nexec g++ "$@"\n')
    compiler.chmod(0o755)
    program = (
        "import sys, numpy as np, kernelwright.mindspore as ms\n"
        "op = ms.ops.Custom(sys.argv[1] + ':Double', lambda s: s, lambda t: t, 'aot')\n"
        "print(op(ms.Tensor(np.ones(2, np.float32))).asnumpy().tolist())\n"
    )
    environment = {
        **os.environ,
        "CXX": shlex.quote(str(compiler)),
        "KW_CACHE_DIR": str(tmp_path / "cache"),
        "KW_TEST_LOG": str(tmp_path / "log"),
    }
    command = [sys.executable, "-c", program, write(tmp_path, double)]
    started = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    assert [p.communicate(timeout=120)[0] for p in started] == ["[2.0, 2.0]\n"] * 3
    runs = (tmp_path / "log").read_text().splitlines()
    assert sum("c++-cpp-output" in r for r in runs) == 1, runs
    assert not list((tmp_path / "cache").glob("*.lock"))


def test_an_edited_source_is_compiled_anew(tmp_path: Path) -> None:
    source = write(tmp_path, double)
    before = ops.Custom(f"{source}:Double", first, first, "aot")
    write(tmp_path, double.replace("2 * ((", "3 * (("))
    assert values(ops.Custom(f"{source}:Double", first, first, "aot")(Tensor(x))) == (3 * x).tolist()
    assert values(before(Tensor(x))) == (2 * x).tolist()
    (tmp_path / "other").mkdir()
    namesake = write(tmp_path / "other", double.replace("2 * ((", "4 * (("))
    assert values(ops.Custom(f"{namesake}:Double", first, first, "aot")(Tensor(x))) == (4 * x).tolist()
    write(tmp_path, "#define TIMES 5\n", "times.h")
    with_header = '#include "times.h"\n' + double.replace("2 * ((", "TIMES * ((")
    source = write(tmp_path, with_header)
    assert values(ops.Custom(f"{source}:Double", first, first, "aot")(Tensor(x))) == (5 * x).tolist()
    write(tmp_path, "#define TIMES 6\n", "times.h")
    assert values(ops.Custom(f"{source}:Double", first, first, "aot")(Tensor(x))) == (6 * x).tolist()


def test_bprop(tmp_path: Path) -> None:
    source = write(tmp_path, double)
    op = ops.Custom(f"{source}:Double", first, first, "aot", lambda a, out, dout: (dout * 2.0,))
    assert values(ms.grad(lambda t: op(t))(Tensor(x))) == np.full((2, 3), 2.0).tolist()
    plain = ops.Custom(f"{source}:Double", first, first, "aot")
    with pytest.raises(RuntimeError, match=r"k\.cc:Double\) was asked for, but none was given"):
        ms.grad(lambda t: plain(t))(Tensor(x))


with_extra = f"""{head}
#include "custom_aot_extra.h"

class Kept : public AotKernelData {{
 public:
  float factor = 0;
  std::string mode;
  int calls = 0;
}};

extern "C" int ScaleInit(int *ndims, int64_t **shapes, const char **dtypes, AotExtra *extra) {{
  auto *kept = new Kept;
  kept->factor = extra->Attr<float>("factor");
  kept->mode = extra->Attr<std::string>("mode");
  if (!extra->Attr<bool>("on") || extra->Attr<int64_t>("number") != 7 || extra->HasAttr("none")) return 3;
  auto ints = extra->Attr<std::vector<int64_t>>("ints");
  auto table = extra->Attr<std::vector<std::vector<float>>>("table");
  auto pairs = extra->Attr<std::vector<std::vector<int64_t>>>("pairs");
  auto reals = extra->Attr<std::vector<float>>("reals");
  if (ints != std::vector<int64_t>{{1, 2}} || table.size() != 2 || table[1][0] != 2.5f) return 4;
  if (pairs[0][1] != 4 || reals[0] != 1 || kept->mode.size() != 40) return 5;
  extra->SetKernelData(kept);
  extra->SetWorkSpace({{(size_t)(shapes[0][0] * shapes[0][1])}});
  return 0;
}}

extern "C" std::vector<int64_t> ScaleInferShape(int *ndims, int64_t **shapes, AotExtra *extra) {{
  return {{shapes[0][1], shapes[0][0]}};
}}

extern "C" TypeId ScaleInferType(std::vector<TypeId> types, AotExtra *extra) {{
  return types[0] == kNumberTypeFloat32 ? kNumberTypeFloat64 : kNumberTypeInt32;
}}

extern "C" int Scale({arguments}) {{
  auto *kept = static_cast<Kept *>(static_cast<AotExtra *>(extra)->KernelData());
  if (nparam != 3) return 6;
  float *temporary = (float *)params[2];  // asked for elements, not bytes
  int64_t n = shapes[0][0], m = shapes[0][1];
  for (int64_t i = 0; i < n * m; ++i) temporary[i] = kept->factor * ((float *)params[0])[i];
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) ((double *)params[1])[j * n + i] = temporary[i * m + j];
  return 0;
}}
"""


def attributes() -> Any:
    info = CustomRegOp("Scale").input(0, "x").output(0, "y").dtype_format(("float32", ""), ("float64", ""))
    told = {
        "factor": 3,
        "mode": "m" * 40,
        "on": True,
        "number": 7,
        "ints": [1, 2],
        "table": [[1.5], [2.5]],
        "pairs": [[3, 4], [5, 6]],
        "reals": [1, 2.5],
    }
    for name, value in told.items():
        info = info.attr(name, "required", "all", value=value)
    return info.target("CPU").get_op_info()


@pytest.mark.parametrize("abi", [0, 1])
def test_attributes_workspaces_and_inference(tmp_path: Path, abi: int) -> None:
    source = write(tmp_path, with_extra)
    library = tmp_path / "k.so"
    flags = [f"-D_GLIBCXX_USE_CXX11_ABI={abi}", *(f"-I{p}" for p in kw.include_paths())]
    subprocess.run(["g++", "-shared", "-fPIC", *flags, "-o", library, source], check=True)
    for func in (f"{library}:Scale", f"{source}:Scale"):
        op = ops.Custom(func, None, None, "aot", reg_info=attributes())
        for given in (x, x[:1], x):
            found = op(Tensor(given))
            assert found.dtype == ms.float64 and values(found) == (3 * given.T).tolist()


def test_names_that_end_in_an_exclamation_mark(tmp_path: Path) -> None:
    """As Julia's functions that write into their arguments; helpers hang their words behind the mark."""
    named = f"""extern "C" int Scale({arguments}) __asm__("\\"scale!\\"");
extern "C" int Doubled({arguments}) __asm__("scale");
"""
    helpers = """class AotExtra;
extern "C" int ScaleInit(int *, int64_t **, const char **, AotExtra *) __asm__("\\"scale!Init\\"");
"""
    plain = double.removeprefix(head).replace("int Double", "int Doubled")
    source = write(tmp_path, head + helpers + named + plain + with_extra.removeprefix(head))
    library = tmp_path / "k.so"
    includes = [f"-I{p}" for p in kw.include_paths()]
    subprocess.run(["g++", "-shared", "-fPIC", *includes, "-o", library, source], check=True)
    turned = lambda shape: (shape[1], shape[0])  # noqa: E731
    op = ops.Custom(f"{library}:scale!", turned, ms.float64, "aot", reg_info=attributes())
    assert values(op(Tensor(x))) == (3 * x.T).tolist()
    assert values(ops.Custom(f"{library}:scale", first, first, "aot")(Tensor(x))) == (2 * x).tolist()
    with pytest.raises(RuntimeError, match=r"fetching function 'double!'\. Error info: .*double!"):
        ops.Custom(f"{library}:double!", first, first, "aot")(Tensor(x))


passed = f"""{head}
#include "custom_aot_extra.h"

extern "C" int AddInit(int *ndims, int64_t **shapes, const char **dtypes, AotExtra *extra) {{
  return extra->HasAttr("refused") ? 9 : 0;
}}

extern "C" std::vector<int64_t> AddInferShape(int *ndims, int64_t **shapes, AotExtra *extra) {{
  return {{shapes[0][0], shapes[0][1] * (int64_t)extra->Attr<std::vector<float>>("paddings").size() / 2}};
}}

extern "C" int Add({arguments}) {{
  float scale = static_cast<AotExtra *>(extra)->Attr<float>("scale");
  for (int64_t i = 0; i < shapes[0][0] * shapes[0][1]; ++i)
    ((float *)params[2])[i] = ((float *)params[0])[i] + scale * ((float *)params[1])[i];
  return 0;
}}
"""


def test_attributes_that_calls_pass(tmp_path: Path) -> None:
    source = write(tmp_path, passed)
    info = CustomRegOp("Add").input(0, "a").input(1, "b").output(0, "c")
    info = info.attr("scale", "required", "float").attr("paddings", "required", "all", value=[2.0, 2.0])
    told = info.target("CPU").get_op_info()
    op = ops.Custom(f"{source}:Add", None, first, "aot", reg_info=told)
    for scale in (0.5, 2.0, 0.5):
        assert values(op(Tensor(x), Tensor(x), scale)) == (x + np.float32(scale) * x).tolist()
    with pytest.raises(TypeError, match="the attribute 'scale' is missing from the call"):
        op(Tensor(x), Tensor(x))
    with pytest.raises(
        TypeError, match="argument 3 is 4, but libraries take tensors, and the attributes that"
    ):
        op(Tensor(x), Tensor(x), 1.0, 4)
    plain = ops.Custom(f"{source}:Add", first, first, "aot")
    plain.add_prim_attr("scale", 3.0)
    assert values(plain(Tensor(x), Tensor(x))) == (4 * x).tolist()
    plain.add_prim_attr("refused", True)
    with pytest.raises(RuntimeError) as e:
        plain(Tensor(x), Tensor(x))
    assert re.sub(r"\(/.*?\)", "(…)", str(e.value)) == returned.format("AddInit", 9)


def test_a_path_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYLIB", write(tmp_path, double))
    op = ops.Custom("MYLIB:Double", first, first, "aot")
    op.add_prim_attr("path_from_env", True)
    assert values(op(Tensor(x))) == (2 * x).tolist()


def test_a_missing_attribute(tmp_path: Path) -> None:
    source = write(tmp_path, with_extra)
    info = CustomRegOp("Scale").input(0, "x").output(0, "y").attr("mode", "required", "str", value="up")
    op = ops.Custom(f"{source}:Scale", None, None, "aot", reg_info=info.target("CPU").get_op_info())
    with pytest.raises(RuntimeError, match="there is no attribute called factor! It has mode"):
        op(Tensor(x))


def test_values_that_stop_the_program(tmp_path: Path) -> None:
    returns = ops.Custom(write(tmp_path, double) + ":Double", first, first, "aot")
    with pytest.raises(RuntimeError) as e:
        returns(Tensor(x.astype(np.float64)))
    assert re.sub(r"\(/.*?\)", "(…)", str(e.value)) == returned.format("Double", 7)
    text = f"""#include <stdexcept>
{head}
extern "C" int T({arguments}) {{ throw std::runtime_error("user boom"); }}
"""
    throws = ops.Custom(write(tmp_path, text, "t.cc") + ":T", first, first, "aot")
    with pytest.raises(RuntimeError) as e:
        throws(Tensor(x))
    assert re.sub(r"file /.*?!", "file …!", str(e.value)) == (
        "For 'Custom' on CPU, operator failed when executing user defined file …! Error message is user boom"
    )


def test_libraries_that_are_not_there(tmp_path: Path) -> None:
    source = write(tmp_path, double)
    cases = [
        (
            "nofile.so:F",
            RuntimeError,
            r"For 'Custom' on CPU, couldn't find the AOT binary file: .*/nofile\.so",
        ),
        (
            f"{source}:G",
            RuntimeError,
            r"^For 'Custom' on CPU, error occurs when fetching function 'G'\. Error info: /.*/k\.cc:"
            r" undefined symbol: G$",
        ),
        (
            f"{tmp_path}/none.cc:F",
            RuntimeError,
            r"Compilation error in compiling .*none\.cc:\nthere is no such file",
        ),
        (
            write(tmp_path, "int f( {\n", "broken.cc") + ":F",
            RuntimeError,
            r"(?s)Compilation error in compiling .*broken\.cc:\n.*error: ",
        ),
        *(
            (
                write(tmp_path, "text", name) + ":F",
                RuntimeError,
                rf"/{name} is no library of this machine\. The source file must be a cc/cpp/cu file,"
                " but get: /.*",
            )
            for name in ("text.so", "a.c")
        ),
    ]
    for func, kind, text in cases:
        with pytest.raises(kind, match=text):
            ops.Custom(func, first, first, "aot")
    with pytest.raises(
        RuntimeError, match="'out_shape' is None, but the library has no function DoubleInferShape"
    ):
        ops.Custom(f"{source}:Double", None, first, "aot")
    with pytest.raises(
        RuntimeError, match="'out_dtype' is None, but the library has no function DoubleInferType"
    ):
        ops.Custom(f"{source}:Double", first, None, "aot")


@pytest.mark.parametrize("func", ["./a.cc", "a:b:c", "a.cc:", ":F"])
@pytest.mark.parametrize("shape", [first, (2,), None])
def test_functions_without_a_file_or_a_name(func: str, shape: Any) -> None:
    with pytest.raises(TypeError) as e:
        ops.Custom(func, shape, first, "aot")
    assert str(e.value) == (
        f"For 'Custom', 'func_type': aot, 'func': {func}, 'func' should be like 'file_name:func_name', but"
        f" got {func}"
    )


def test_a_missing_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(RuntimeError, match="the C\\+\\+ compiler 'no-such-compiler' is missing: install it"):
        ops.Custom(write(tmp_path, double) + ":Double", first, first, "aot")


def refused(func: str) -> tuple[str, str]:
    """The legal path and the file that the refusal of the white list shows."""
    with pytest.raises(TypeError) as e:
        ops.Custom(func, first, first, "aot")
    prefix = re.escape(f"For 'Custom', 'func_type': aot, 'func': {func}, ")
    text = "the legal path for the file is (.*), but the file is (.*)"
    found = re.fullmatch(prefix + text, str(e.value))
    assert found, str(e.value)
    return found[1], found[2]


def test_the_white_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write(tmp_path, double)
    monkeypatch.setenv("MS_CUSTOM_AOT_WHITE_LIST", "/nowhere")
    assert refused(f"{source}:Double") == ("/nowhere", source)
    monkeypatch.setenv("MS_CUSTOM_AOT_WHITE_LIST", str(tmp_path))
    assert values(ops.Custom(f"{source}:Double", first, first, "aot")(Tensor(x))) == (2 * x).tolist()


def test_the_white_list_and_what_links_lead_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ok, out = tmp_path / "ok", tmp_path / "out"
    for folder in (ok, out):
        folder.mkdir()
    (ok / "k.cc").symlink_to(write(out, double))
    (out / "link.cc").symlink_to(write(ok, double, "real.cc"))
    monkeypatch.setenv("MS_CUSTOM_AOT_WHITE_LIST", str(ok))
    assert refused(f"{ok}/k.cc:Double") == (str(ok), f"{out}/k.cc")
    assert values(ops.Custom(f"{out}/link.cc:Double", first, first, "aot")(Tensor(x))) == (2 * x).tolist()
    monkeypatch.setenv("MS_CUSTOM_AOT_WHITE_LIST", "/nowhere")
    assert refused(f"{ok}/k.cc:Double") == ("/nowhere", f"{out}/k.cc")
    for other in (f"{ok}-evil", f"{ok}/k.cc/deeper", f"/evil{ok}"):  # whole names count, and from the root on
        monkeypatch.setenv("MS_CUSTOM_AOT_WHITE_LIST", other)
        assert refused(f"{out}/link.cc:Double") == (other, f"{ok}/real.cc")
    monkeypatch.setenv("MS_CUSTOM_AOT_WHITE_LIST", str(tmp_path))
    assert values(ops.Custom(f"{ok}/k.cc:Double", first, first, "aot")(Tensor(x))) == (2 * x).tolist()


def test_a_library_that_is_replaced(tmp_path: Path) -> None:
    library = tmp_path / "k.so"
    kept = []
    for factor in (2, 3, 4):
        source = write(tmp_path, double.replace("2 * ((", f"{factor} * (("))
        subprocess.run(["g++", "-shared", "-fPIC", "-o", tmp_path / "new.so", source], check=True)
        library.write_bytes((tmp_path / "new.so").read_bytes())  # over the file that is in use
        kept.append(ops.Custom(f"{library}:Double", first, first, "aot"))
        assert values(kept[-1](Tensor(x))) == (factor * x).tolist()
    library.unlink()
    assert values(kept[0](Tensor(x))) == (2 * x).tolist()
    whole = (tmp_path / "new.so").read_bytes()
    for size in (3000, 9000):
        library.write_bytes(whole[:size])
        with pytest.raises(RuntimeError, match="the library is cut short"):
            ops.Custom(f"{library}:Double", first, first, "aot")


def test_init_runs_anew_for_other_types(tmp_path: Path) -> None:
    text = f"""{head}
#include "custom_aot_extra.h"
static int64_t count = 0;
extern "C" int CountInit(int *ndims, int64_t **shapes, const char **dtypes, AotExtra *extra) {{
  ++count;
  return 0;
}}
extern "C" int Count({arguments}) {{
  *(int64_t *)params[1] = count;
  return 0;
}}
"""
    op = ops.Custom(write(tmp_path, text) + ":Count", (1,), ms.int64, "aot")
    given = [np.zeros(2, np.float32), np.zeros(2, np.float32), np.zeros(2), np.zeros((2, 1)), np.zeros(2)]
    assert [int(op(Tensor(a))) for a in given] == [1, 1, 2, 3, 4]


def test_outputs_that_nobody_writes_are_zeros(tmp_path: Path) -> None:
    text = f'{head}\nextern "C" int Nothing({arguments}) {{ return 0; }}\n'
    op = ops.Custom(write(tmp_path, text) + ":Nothing", (1000,), ms.float32, "aot")
    assert not op(Tensor(x)).asnumpy().any()
    with pytest.raises(TypeError, match=r"argument 1 is 3.0, but libraries take tensors"):
        op(Tensor(x), 3.0)
