/* Preloaded: pthread_create refuses all threads but the first KW_TEST_THREADS, as a system at its limit does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
  static atomic_int created;
  const char *most = getenv("KW_TEST_THREADS");
  if (atomic_fetch_add(&created, 1) >= (most ? atoi(most) : 0)) return EAGAIN;
  create_fn *create = (create_fn *)dlsym(RTLD_NEXT, "pthread_create");
  return create(thread, attributes, run, argument);
}
