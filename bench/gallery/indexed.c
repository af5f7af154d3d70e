/* The loops of indexed.py as plain C, which checks nothing. Read case.py for the order of the arguments. */

void gather(const float *restrict x, const long *restrict idx, float *restrict y, long n) {
  for (long i = 0; i < n; i++) y[i] = x[idx[i]];
}

void scatter_add(const float *restrict x, const long *restrict idx, long n, float *restrict y, long count) {
  for (long k = 0; k < n; k++) y[k] = 0.0f;
  for (long p = 0; p < count; p++) y[idx[p]] += x[p];
}

void histogram(const long *restrict x, long bins, long *restrict y, long n) {
  for (long k = 0; k < bins; k++) y[k] = 0;
  for (long p = 0; p < n; p++) y[x[p]] += 1;
}

void spmv(const long *restrict ptr, const long *restrict col, const float *restrict val, const float *restrict x,
          float *restrict y, long n) {
  for (long i = 0; i < n; i++) {
    float total = 0.0f;
    for (long p = ptr[i]; p < ptr[i + 1]; p++) total += val[p] * x[col[p]];
    y[i] = total;
  }
}

void embedding(const float *restrict table, const long *restrict ids, float *restrict y, long n, long width) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < width; j++) y[i * width + j] = table[ids[i] * width + j];
}
