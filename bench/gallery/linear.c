/* The loops of linear.py as plain C. Read case.py for the order of the arguments. */
#include <math.h>

void matvec(const float *restrict a, const float *restrict x, float *restrict y, long n, long m) {
  for (long i = 0; i < n; i++) {
    float total = 0.0f;
    for (long j = 0; j < m; j++) total += a[i * m + j] * x[j];
    y[i] = total;
  }
}

void matvec_transposed(const float *restrict a, const float *restrict x, float *restrict y, long n, long m) {
  for (long j = 0; j < m; j++) {
    float total = 0.0f;
    for (long i = 0; i < n; i++) total += a[i * m + j] * x[i];
    y[j] = total;
  }
}

void outer(const float *restrict x, const float *restrict y, float *restrict c, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++) c[i * m + j] = x[i] * y[j];
}

void lu(const float *restrict a, float *restrict c, long n) {
  for (long r = 0; r < n; r++)
    for (long j = 0; j < n; j++) c[r * n + j] = a[r * n + j];
  for (long k = 0; k < n; k++)
    for (long i = k + 1; i < n; i++) {
      c[i * n + k] = c[i * n + k] / c[k * n + k];
      for (long j = k + 1; j < n; j++) c[i * n + j] = c[i * n + j] - c[i * n + k] * c[k * n + j];
    }
}

void cholesky(const float *restrict a, float *restrict c, long n) {
  for (long r = 0; r < n; r++) {
    for (long j = 0; j <= r; j++) {
      float total = a[r * n + j];
      for (long k = 0; k < j; k++) total -= c[r * n + k] * c[j * n + k];
      if (r == j)
        c[r * n + j] = sqrtf(total);
      else
        c[r * n + j] = total / c[j * n + j];
    }
    for (long j = r + 1; j < n; j++) c[r * n + j] = 0.0f;
  }
}

void triangular_solve(const float *restrict a, const float *restrict b, float *restrict x, long n) {
  for (long r = 0; r < n; r++) {
    float total = b[r];
    for (long k = 0; k < r; k++) total -= a[r * n + k] * x[k];
    x[r] = total / a[r * n + r];
  }
}

void floyd_warshall(const float *restrict a, float *restrict d, long n) {
  for (long r = 0; r < n; r++)
    for (long j = 0; j < n; j++) d[r * n + j] = a[r * n + j];
  for (long k = 0; k < n; k++)
    for (long i = 0; i < n; i++)
      for (long j = 0; j < n; j++) {
        float through = d[i * n + k] + d[k * n + j];
        d[i * n + j] = through < d[i * n + j] ? through : d[i * n + j];
      }
}
