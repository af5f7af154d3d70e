/* The loops of stencils.py as plain C. Read case.py for the order of the arguments. */
#include <stdlib.h>

void stencil_1d(const float *restrict a, float *restrict c, long n) {
  for (long i = 0; i < n - 2; i++) c[i] = 0.25f * a[i] + 0.5f * a[i + 1] + 0.25f * a[i + 2];
}

void stencil_2d(const float *restrict a, float *restrict c, long n, long m) {
  for (long i = 0; i < n - 2; i++)
    for (long j = 0; j < m - 2; j++)
      c[i * (m - 2) + j] = 0.2f * (a[(i + 1) * m + j + 1] + a[i * m + j + 1] + a[(i + 2) * m + j + 1] +
                                   a[(i + 1) * m + j] + a[(i + 1) * m + j + 2]);
}

void blur(const float *restrict a, const float *restrict w, float *restrict c, long n, long m) {
  for (long i = 0; i < n - 2; i++)
    for (long j = 0; j < m - 2; j++) {
      float total = 0.0f;
      for (long p = 0; p < 3; p++)
        for (long q = 0; q < 3; q++) total += w[p * 3 + q] * a[(i + p) * m + j + q];
      c[i * (m - 2) + j] = total;
    }
}

void heat_3d(const float *restrict a, float *restrict c, long n, long m, long l) {
  for (long i = 0; i < n - 2; i++)
    for (long j = 0; j < m - 2; j++)
      for (long k = 0; k < l - 2; k++) {
        float v = a[((i + 1) * m + j + 1) * l + k + 1];
        c[(i * (m - 2) + j) * (l - 2) + k] =
            v + 0.1f * (a[(i * m + j + 1) * l + k + 1] + a[((i + 2) * m + j + 1) * l + k + 1] +
                        a[((i + 1) * m + j) * l + k + 1] + a[((i + 1) * m + j + 2) * l + k + 1] +
                        a[((i + 1) * m + j + 1) * l + k] + a[((i + 1) * m + j + 1) * l + k + 2] - 6.0f * v);
      }
}

void jacobi(const float *restrict a, long steps, float *restrict c, long n, long m) {
  float *restrict b = malloc(n * m * sizeof *b);
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++) c[i * m + j] = a[i * m + j];
  for (long t = 0; t < steps; t++) {
    for (long i = 1; i < n - 1; i++)
      for (long j = 1; j < m - 1; j++)
        b[i * m + j] =
            0.25f * (c[(i - 1) * m + j] + c[(i + 1) * m + j] + c[i * m + j - 1] + c[i * m + j + 1]);
    for (long i = 1; i < n - 1; i++)
      for (long j = 1; j < m - 1; j++) c[i * m + j] = b[i * m + j];
  }
  free(b);
}

void sobel(const unsigned char *restrict a, unsigned char *restrict c, long n, long m) {
  for (long i = 0; i < n - 2; i++)
    for (long j = 0; j < m - 2; j++) {
      const unsigned char *r0 = a + i * m + j, *r1 = r0 + m, *r2 = r1 + m;
      int x = r0[2] + 2 * r1[2] + r2[2] - r0[0] - 2 * r1[0] - r2[0];
      int y = r2[0] + 2 * r2[1] + r2[2] - r0[0] - 2 * r0[1] - r0[2];
      int g = abs(x) + abs(y);
      c[i * (m - 2) + j] = g < 255 ? g : 255;
    }
}
