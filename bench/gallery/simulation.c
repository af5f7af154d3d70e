/* The loops of simulation.py as plain C. Read case.py for the order of the arguments. */
#include <math.h>

void mandelbrot(const float *restrict re, const float *restrict im, long steps, int *restrict c, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++) {
      float x = 0.0f, y = 0.0f;
      long k = 0;
      while (k < steps && x * x + y * y <= 4.0f) {
        float t = x * x - y * y + re[j];
        y = 2.0f * x * y + im[i];
        x = t;
        k++;
      }
      c[i * m + j] = k;
    }
}

void levenshtein(const int *restrict a, const int *restrict b, int *restrict d, long n, long m) {
  for (long k = 0; k <= n; k++) d[k * (m + 1)] = k;
  for (long k = 0; k <= m; k++) d[k] = k;
  for (long r = 1; r <= n; r++)
    for (long j = 1; j <= m; j++) {
      int step = d[(r - 1) * (m + 1) + j - 1];
      if (a[r - 1] != b[j - 1]) step++;
      int above = d[(r - 1) * (m + 1) + j], left = d[r * (m + 1) + j - 1];
      int shift = (above < left ? above : left) + 1;
      d[r * (m + 1) + j] = step < shift ? step : shift;
    }
}

void n_body(const double *restrict p, const double *restrict mass, double *restrict f, long n) {
  for (long i = 0; i < n; i++) {
    double ax = 0.0, ay = 0.0, az = 0.0;
    for (long j = 0; j < n; j++) {
      double dx = p[j * 3] - p[i * 3], dy = p[j * 3 + 1] - p[i * 3 + 1], dz = p[j * 3 + 2] - p[i * 3 + 2];
      double d = dx * dx + dy * dy + dz * dz + 1e-3;
      double s = mass[j] / (d * sqrt(d));
      ax += dx * s;
      ay += dy * s;
      az += dz * s;
    }
    f[i * 3] = ax;
    f[i * 3 + 1] = ay;
    f[i * 3 + 2] = az;
  }
}
