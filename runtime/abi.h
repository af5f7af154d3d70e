/* The ABI of a compiled CPU kernel, version 1 (core.md 2): plain C, append-only. Generated code reads KwEnv
   by offset, so fields never move. Nothing here may depend on C++. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A fault of a run. The first claimer (compare-and-swap of state 0 → 1) fills it and sets state to 2. */
typedef struct {
  uint32_t state; /* 0 none, 1 claimed, 2 set */
  uint32_t site;
  int64_t value, bound;
} KwFault;

typedef struct KwEnv {
  uint32_t abi, threads;
  void (*parallel)(const struct KwEnv *, int64_t n, void (*body)(void *frame, int64_t chunk, int32_t worker),
                   void *frame);
  void *(*scratch)(const struct KwEnv *, size_t bytes); /* this thread's; null when there is no memory */
  const volatile uint32_t *cancel;                      /* never null; polled, non-zero ends the run */
} KwEnv;

/* 0 ok, 1 fault, 2 cancelled, 3 no memory for scratch */
typedef int32_t (*KwEntry)(const KwEnv *, void *const *data, const int64_t *dims, const uint64_t *scalars,
                           void *workspace, KwFault *);

enum { KW_ABI_VERSION = 1 };
