// A place is looked up by its instruction, because lines are found by a walk through a table. The GIL guards
// what is known.
#include "bind/call_place.h"

#include <Python.h>

#include <map>
#include <memory>
#include <utility>

#include "bind/dispatch/raise.h"
#include "bind/dispatch/state.h"
#include "support/text.h"

namespace kw {

namespace {

/// Chosen: some 300 KB. Programs have fewer calls of kernels, unless they make their text as they run.
constexpr size_t most_places = 4096;

std::string package_folder;

/// An instruction of a code object, which stays alive: no other one then gets its address.
using Instruction = std::pair<PyCodeObject *, int>;

int instruction_of(PyFrameObject *frame) {
#if PY_VERSION_HEX >= 0x030B0000
  return PyFrame_GetLasti(frame);
#else
  return frame->f_lasti;
#endif
}

/// Returns whether this thread runs Python code of the main interpreter. PyGILState_Check() is always true
/// once a process has had sub-interpreters.
bool holds_the_gil() {
#if PY_VERSION_HEX >= 0x030D0000
  PyThreadState *present = PyThreadState_GetUnchecked();
#else
  PyThreadState *present = _PyThreadState_UncheckedGet();
#endif
  return present && present == PyGILState_GetThisThreadState();
}

bool is_own(const PyCodeObject *code) {
  std::string file = utf8(code->co_filename);
  return file.starts_with(package_folder) && !file.starts_with(package_folder + "examples/");
}

}  // namespace

void set_package_folder(std::string folder) { package_folder = std::move(folder); }

const CallPlace *find_python_call() {
  if (!holds_the_gil()) return nullptr;
  // Null entries are instructions of the package. Never destroyed: the last warning of a process may name
  // one.
  static auto &known = *new std::map<Instruction, std::unique_ptr<const CallPlace>>;
  PyFrameObject *innermost = PyEval_GetFrame();
  Py_XINCREF(innermost);
  PyRef frame(reinterpret_cast<PyObject *>(innermost));
  while (frame) {
    auto *f = reinterpret_cast<PyFrameObject *>(frame.get());
    PyCodeObject *code = PyFrame_GetCode(f);
    PyRef held(reinterpret_cast<PyObject *>(code));
    Instruction here{code, instruction_of(f)};
    auto found = known.find(here);
    if (found == known.end()) {
      if (known.size() == most_places) return nullptr;
      auto place = is_own(code) ? nullptr
                                : std::make_unique<const CallPlace>(
                                      CallPlace{utf8(code->co_filename), PyFrame_GetLineNumber(f)});
      found = known.emplace(here, std::move(place)).first;
      Py_INCREF(code);
    }
    if (found->second) return found->second.get();
    frame = PyRef(reinterpret_cast<PyObject *>(PyFrame_GetBack(f)));
  }
  return nullptr;
}

}  // namespace kw
