/* The loops of reductions.py as plain C. Read case.py for the order of the arguments. */
#include <math.h>

void sum_all(const float *restrict x, float *restrict s, long n, long m) {
  float total = 0.0f;
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++) total += x[i * m + j];
  s[0] = total;
}

void sum_rows(const float *restrict x, float *restrict s, long n, long m) {
  for (long i = 0; i < n; i++) {
    float total = 0.0f;
    for (long j = 0; j < m; j++) total += x[i * m + j];
    s[i] = total;
  }
}

void sum_columns(const float *restrict x, float *restrict s, long n, long m) {
  for (long j = 0; j < m; j++) {
    float total = 0.0f;
    for (long i = 0; i < n; i++) total += x[i * m + j];
    s[j] = total;
  }
}

void dot(const float *restrict x, const float *restrict y, float *restrict s, long n) {
  float total = 0.0f;
  for (long i = 0; i < n; i++) total += x[i] * y[i];
  s[0] = total;
}

void max_rows(const float *restrict x, float *restrict s, long n, long m) {
  for (long i = 0; i < n; i++) {
    float top = x[i * m];
    for (long j = 1; j < m; j++) top = x[i * m + j] > top ? x[i * m + j] : top;
    s[i] = top;
  }
}

void argmax_rows(const float *restrict x, long *restrict s, long n, long m) {
  for (long i = 0; i < n; i++) {
    float top = x[i * m];
    long at = 0;
    for (long j = 1; j < m; j++)
      if (x[i * m + j] > top) {
        top = x[i * m + j];
        at = j;
      }
    s[i] = at;
  }
}

void norm_rows(const float *restrict x, float *restrict s, long n, long m) {
  for (long i = 0; i < n; i++) {
    float total = 0.0f;
    for (long j = 0; j < m; j++) total += x[i * m + j] * x[i * m + j];
    s[i] = sqrtf(total);
  }
}

void variance_columns(const float *restrict x, float *restrict s, long n, long m) {
  for (long j = 0; j < m; j++) {
    float mean = 0.0f;
    for (long i = 0; i < n; i++) mean += x[i * m + j];
    mean = mean / n;
    float spread = 0.0f;
    for (long i = 0; i < n; i++) {
      float d = x[i * m + j] - mean;
      spread += d * d;
    }
    s[j] = spread / n;
  }
}
