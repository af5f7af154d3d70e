// How threads end with the interpreter. Before Python 3.14, a thread that asks for the GIL of an interpreter
// that is ending is ended by pthread_exit, which unwinds the stack: through frames of C++ that give up
// references without the GIL, that are noexcept, or that catch all, each of which kills the process. Here such
// a thread sleeps instead, in the first frame of this module that the unwinding comes to, until the process is
// gone; as Python itself does from 3.14 on.
// The linker hands this module's references to the personality routine, which decides what a frame does with
// an unwinding, to this function (--wrap).
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <unistd.h>
#include <unwind.h>

#if PY_VERSION_HEX < 0x030D0000
#define Py_IsFinalizing _Py_IsFinalizing
#endif

extern "C" {

_Unwind_Reason_Code __real___gxx_personality_v0(int version, _Unwind_Action actions,
                                                _Unwind_Exception_Class exception_class,
                                                _Unwind_Exception *exception, _Unwind_Context *context);

_Unwind_Reason_Code __wrap___gxx_personality_v0(int version, _Unwind_Action actions,
                                                _Unwind_Exception_Class exception_class,
                                                _Unwind_Exception *exception, _Unwind_Context *context) {
  while ((actions & _UA_FORCE_UNWIND) && Py_IsFinalizing()) ::pause();
  return __real___gxx_personality_v0(version, actions, exception_class, exception, context);
}
}
