// Before Python 3.14, a thread that requests the GIL of an ending interpreter is ended by pthread_exit, which
// unwinds its stack. C++ frames then release references without the GIL, are noexcept, or catch all; each
// kills the process. Here such a thread sleeps until the process is gone, as in Python 3.14, in the first
// frame of this module that unwinding reaches. The linker (--wrap) redirects the personality routine, which
// unwinding calls for each frame, to the function below.
#include <Python.h>
#include <unistd.h>
#include <unwind.h>

static bool interpreter_is_ending() noexcept {
#if PY_VERSION_HEX < 0x030D0000
  return _Py_IsFinalizing();
#else
  return Py_IsFinalizing();
#endif
}

extern "C" {

_Unwind_Reason_Code __real___gxx_personality_v0(int version, _Unwind_Action actions,
                                                _Unwind_Exception_Class exception_class,
                                                _Unwind_Exception *exception, _Unwind_Context *context);

_Unwind_Reason_Code __wrap___gxx_personality_v0(int version, _Unwind_Action actions,
                                                _Unwind_Exception_Class exception_class,
                                                _Unwind_Exception *exception, _Unwind_Context *context) {
  while ((actions & _UA_FORCE_UNWIND) && interpreter_is_ending()) ::pause();
  return __real___gxx_personality_v0(version, actions, exception_class, exception, context);
}
}
