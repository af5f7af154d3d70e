// Part of each shared library, and of no program: its static objects are never destroyed. Threads that Python
// calls daemons compile and run kernels while the process ends, and nobody waits for them; what they use must
// be there until the system takes all memory back.
// Constructors of static objects register their destructors by this function, which takes the place of the C
// library's own within the library: LLVM's, which are linked into it, do so too.

extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void *), void *, void *) noexcept {
  return 0;
}
