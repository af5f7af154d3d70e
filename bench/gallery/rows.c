/* The loops of rows.py as plain C. Read case.py for the order of the arguments. */
#include <math.h>

void softmax(const float *restrict x, float *restrict y, long n, long m) {
  for (long i = 0; i < n; i++) {
    float top = x[i * m];
    for (long j = 1; j < m; j++) top = x[i * m + j] > top ? x[i * m + j] : top;
    float total = 0.0f;
    for (long j = 0; j < m; j++) {
      y[i * m + j] = expf(x[i * m + j] - top);
      total += y[i * m + j];
    }
    for (long j = 0; j < m; j++) y[i * m + j] = y[i * m + j] / total;
  }
}

void log_softmax(const float *restrict x, float *restrict y, long n, long m) {
  for (long i = 0; i < n; i++) {
    float top = x[i * m];
    for (long j = 1; j < m; j++) top = x[i * m + j] > top ? x[i * m + j] : top;
    float total = 0.0f;
    for (long j = 0; j < m; j++) total += expf(x[i * m + j] - top);
    float shift = top + logf(total);
    for (long j = 0; j < m; j++) y[i * m + j] = x[i * m + j] - shift;
  }
}

void layernorm(const float *restrict x, const float *restrict gain, const float *restrict shift,
               float *restrict y, long n, long m) {
  for (long i = 0; i < n; i++) {
    float mean = 0.0f;
    for (long j = 0; j < m; j++) mean += x[i * m + j];
    mean = mean / m;
    float spread = 0.0f;
    for (long j = 0; j < m; j++) {
      float d = x[i * m + j] - mean;
      spread += d * d;
    }
    float scale = 1.0f / sqrtf(spread / m + 1e-5f);
    for (long j = 0; j < m; j++) y[i * m + j] = (x[i * m + j] - mean) * scale * gain[j] + shift[j];
  }
}

void rmsnorm(const float *restrict x, const float *restrict gain, float *restrict y, long n, long m) {
  for (long i = 0; i < n; i++) {
    float total = 0.0f;
    for (long j = 0; j < m; j++) total += x[i * m + j] * x[i * m + j];
    float scale = 1.0f / sqrtf(total / m + 1e-5f);
    for (long j = 0; j < m; j++) y[i * m + j] = x[i * m + j] * scale * gain[j];
  }
}

void batchnorm(const float *restrict x, const float *restrict gain, const float *restrict shift,
               float *restrict y, long n, long m) {
  for (long j = 0; j < m; j++) {
    float mean = 0.0f;
    for (long i = 0; i < n; i++) mean += x[i * m + j];
    mean = mean / n;
    float spread = 0.0f;
    for (long i = 0; i < n; i++) {
      float d = x[i * m + j] - mean;
      spread += d * d;
    }
    float scale = 1.0f / sqrtf(spread / n + 1e-5f);
    for (long i = 0; i < n; i++) y[i * m + j] = (x[i * m + j] - mean) * scale * gain[j] + shift[j];
  }
}
