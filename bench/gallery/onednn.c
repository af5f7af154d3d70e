/* Operations of oneDNN (C interface, version 3) by the names of the gallery's kernels, over plain layouts.
   Prepares a primitive once and runs it; what oneDNN does not have is refused with NULL. */
#include <stdlib.h>
#include <string.h>

#include "oneapi/dnnl/dnnl.h"

struct prepared {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_t primitive;
  dnnl_exec_arg_t args[8];
  int count;
};

static int is(const char *a, const char *b) { return strcmp(a, b) == 0; }

static dnnl_memory_desc_t plain(int rank, const dnnl_dim_t *dims) {
  dnnl_memory_desc_t md = NULL;
  dnnl_dims_t strides;
  dnnl_dim_t step = 1;
  for (int d = rank; d-- > 0; step *= dims[d]) strides[d] = step;
  dnnl_memory_desc_create_with_strides(&md, rank, dims, dnnl_f32, strides);
  return md;
}

static void add_memory(struct prepared *p, int arg, const_dnnl_memory_desc_t md, void *data) {
  dnnl_memory_t memory = NULL;
  dnnl_memory_create(&memory, md, p->engine, data);
  p->args[p->count++] = (dnnl_exec_arg_t){arg, memory};
}

static dnnl_status_t make_rows(struct prepared *p, const char *name, dnnl_primitive_desc_t *pd, void **data,
                               const long *n) {
  dnnl_memory_desc_t x = plain(2, n), row = plain(1, n + 1);
  dnnl_status_t bad = dnnl_unimplemented;
  int arrays = 1;
  if (is(name, "softmax") || is(name, "log_softmax")) {
    dnnl_alg_kind_t kind = is(name, "softmax") ? dnnl_softmax_accurate : dnnl_softmax_log;
    bad = dnnl_softmax_forward_primitive_desc_create(pd, p->engine, dnnl_forward_inference, kind, x, x, 1, NULL);
  } else if (is(name, "layernorm")) {
    arrays = 3;
    bad = dnnl_layer_normalization_forward_primitive_desc_create(
        pd, p->engine, dnnl_forward_inference, x, x, NULL, 1e-5f, dnnl_use_scale | dnnl_use_shift, NULL);
  } else if (is(name, "batchnorm")) {
    arrays = 3;
    bad = dnnl_batch_normalization_forward_primitive_desc_create(
        pd, p->engine, dnnl_forward_inference, x, x, 1e-5f, dnnl_use_scale | dnnl_use_shift, NULL);
  }
  if (bad) return bad;
  add_memory(p, DNNL_ARG_SRC, x, data[0]);
  if (arrays == 3) add_memory(p, DNNL_ARG_SCALE, row, data[1]);
  if (arrays == 3) add_memory(p, DNNL_ARG_SHIFT, row, data[2]);
  add_memory(p, DNNL_ARG_DST, x, data[arrays]);
  return dnnl_success;
}

static dnnl_status_t make_line(struct prepared *p, const char *name, dnnl_primitive_desc_t *pd, void **data,
                               const long *n) {
  dnnl_alg_kind_t kind = is(name, "exponential") ? dnnl_eltwise_exp
                         : is(name, "logistic")  ? dnnl_eltwise_logistic
                         : is(name, "gelu")      ? dnnl_eltwise_gelu_tanh
                                                 : dnnl_alg_kind_undef;
  if (kind == dnnl_alg_kind_undef) return dnnl_unimplemented;
  dnnl_memory_desc_t x = plain(1, n);
  dnnl_status_t bad = dnnl_eltwise_forward_primitive_desc_create(pd, p->engine, dnnl_forward_inference, kind, x,
                                                                 x, 0, 0, NULL);
  if (bad) return bad;
  add_memory(p, DNNL_ARG_SRC, x, data[0]);
  add_memory(p, DNNL_ARG_DST, x, data[1]);
  return dnnl_success;
}

static dnnl_status_t make_image(struct prepared *p, const char *name, dnnl_primitive_desc_t *pd, void **data,
                                const long *n) {
  int halves = is(name, "max_pool");
  dnnl_dims_t window = {3, 3}, step = {1, 1}, none = {0, 0}, out = {n[0], n[1], n[2] - 2, n[3] - 2};
  if (halves) window[0] = window[1] = step[0] = step[1] = 2, out[2] = n[2] / 2, out[3] = n[3] / 2;
  dnnl_memory_desc_t x = plain(4, n), y = plain(4, out);
  dnnl_status_t bad = dnnl_unimplemented;
  if (is(name, "depthwise")) {
    dnnl_dims_t filters = {n[1], 1, 1, 3, 3};
    dnnl_memory_desc_t f = plain(5, filters);
    bad = dnnl_convolution_forward_primitive_desc_create(pd, p->engine, dnnl_forward_inference,
                                                         dnnl_convolution_direct, x, f, NULL, y, step, none, none,
                                                         none, NULL);
    if (!bad) add_memory(p, DNNL_ARG_WEIGHTS, f, data[1]);
    data++;
  } else if (halves || is(name, "average_pool")) {
    bad = dnnl_pooling_forward_primitive_desc_create(
        pd, p->engine, dnnl_forward_inference, halves ? dnnl_pooling_max : dnnl_pooling_avg_exclude_padding, x, y,
        step, window, none, none, none, NULL);
  }
  if (bad) return bad;
  add_memory(p, DNNL_ARG_SRC, x, is(name, "depthwise") ? data[-1] : data[0]);
  add_memory(p, DNNL_ARG_DST, y, data[1]);
  return dnnl_success;
}

/* `data` are the arrays of the case, arguments before results; `n` are the extents of the first one. */
struct prepared *prepare(const char *name, void **data, const long *n, int rank) {
  struct prepared *p = calloc(1, sizeof *p);
  dnnl_primitive_desc_t pd = NULL;
  if (dnnl_engine_create(&p->engine, dnnl_cpu, 0) || dnnl_stream_create(&p->stream, p->engine, 0)) return NULL;
  dnnl_status_t bad = rank == 1   ? make_line(p, name, &pd, data, n)
                      : rank == 2 ? make_rows(p, name, &pd, data, n)
                      : rank == 4 ? make_image(p, name, &pd, data, n)
                                  : dnnl_unimplemented;
  return bad || dnnl_primitive_create(&p->primitive, pd) ? NULL : p;
}

/* 0, or a status of oneDNN. */
int run(struct prepared *p, long loops) {
  dnnl_status_t bad = dnnl_success;
  for (long k = 0; k < loops && !bad; k++) bad = dnnl_primitive_execute(p->primitive, p->stream, p->count, p->args);
  return bad ? (int)bad : (int)dnnl_stream_wait(p->stream);
}
