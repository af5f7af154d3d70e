// Before Python 3.14, a thread that asks for the GIL of an interpreter that is ending is ended by
// pthread_exit, which unwinds its stack: frames of C++ then give up references without the GIL, are noexcept,
// or catch all, each of which kills the process. Here such a thread sleeps, in the first frame of this module
// that the unwinding comes to, until the process is gone; as Python does itself from 3.14 on. The linker
// hands the module's references to the personality routine, which is asked at each frame, to this one
// (--wrap).
#define PY_SSIZE_T_CLEAN
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
