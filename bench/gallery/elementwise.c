/* The loops of elementwise.py as plain C. Read case.py for the order of the arguments. */
#include <math.h>

void copy(const float *restrict a, float *restrict c, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++) c[i * m + j] = a[i * m + j];
}

void add(const float *restrict a, const float *restrict b, float *restrict c, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++) c[i * m + j] = a[i * m + j] + b[i * m + j];
}

void saxpy(float s, const float *restrict x, const float *restrict y, float *restrict z, long n) {
  for (long i = 0; i < n; i++) z[i] = s * x[i] + y[i];
}

void chain(const float *restrict a, const float *restrict b, const float *restrict c, float *restrict d, long n,
           long m) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++) {
      float t = a[i * m + j] * b[i * m + j];
      float u = t + c[i * m + j];
      float v = u * 0.5f - a[i * m + j];
      d[i * m + j] = v * v + 1.0f;
    }
}

void broadcast_row(const float *restrict a, const float *restrict b, float *restrict c, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++) c[i * m + j] = a[i * m + j] + b[j];
}

void broadcast_column(const float *restrict a, const float *restrict b, float *restrict c, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++) c[i * m + j] = a[i * m + j] * b[i];
}

void clip(const float *restrict a, float low, float high, float *restrict c, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++) {
      float v = a[i * m + j];
      if (v < low) v = low;
      if (v > high) v = high;
      c[i * m + j] = v;
    }
}

void normalise_bytes(const unsigned char *restrict a, float *restrict c, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++) c[i * m + j] = ((float)a[i * m + j] - 127.5f) * 0.0078125f;
}

void exponential(const float *restrict a, float *restrict c, long n) {
  for (long i = 0; i < n; i++) c[i] = expf(a[i]);
}

void logistic(const float *restrict a, float *restrict c, long n) {
  for (long i = 0; i < n; i++) c[i] = 1.0f / (1.0f + expf(-a[i]));
}

void gelu(const float *restrict a, float *restrict c, long n) {
  for (long i = 0; i < n; i++) {
    float x = a[i];
    c[i] = 0.5f * x * (1.0f + tanhf(0.7978846f * (x + 0.044715f * x * x * x)));
  }
}

void black_scholes(const float *restrict spot, const float *restrict strike, const float *restrict years,
                   float rate, float volatility, float *restrict call, float *restrict put, long n) {
  for (long i = 0; i < n; i++) {
    float root = volatility * sqrtf(years[i]);
    float d1 = (logf(spot[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / root;
    float d2 = d1 - root;
    float n1 = 0.5f * (1.0f + erff(d1 * 0.70710678f));
    float n2 = 0.5f * (1.0f + erff(d2 * 0.70710678f));
    float worth = strike[i] * expf(-rate * years[i]);
    float c = spot[i] * n1 - worth * n2;
    call[i] = c;
    put[i] = c - spot[i] + worth;
  }
}
