/* The loops of scans.py as plain C. Read case.py for the order of the arguments. */

void cumsum_rows(const float *restrict x, float *restrict y, long n, long m) {
  for (long i = 0; i < n; i++) {
    float total = 0.0f;
    for (long j = 0; j < m; j++) {
      total += x[i * m + j];
      y[i * m + j] = total;
    }
  }
}

void cumsum_columns(const float *restrict x, float *restrict y, long n, long m) {
  for (long j = 0; j < m; j++) y[j] = x[j];
  for (long i = 1; i < n; i++)
    for (long j = 0; j < m; j++) y[i * m + j] = y[(i - 1) * m + j] + x[i * m + j];
}

void smooth(const float *restrict x, float keep, float *restrict y, long n, long m) {
  for (long i = 0; i < n; i++) {
    float level = x[i * m];
    for (long j = 0; j < m; j++) {
      level = keep * level + (1.0f - keep) * x[i * m + j];
      y[i * m + j] = level;
    }
  }
}
