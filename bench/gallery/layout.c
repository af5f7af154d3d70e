/* The loops of layout.py as plain C. Read case.py for the order of the arguments. */

void transpose(const float *restrict a, float *restrict c, long n, long m) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) c[i * n + j] = a[j * m + i];
}

void channels_last(const float *restrict a, float *restrict c, long n, long channels, long height, long width) {
  for (long i = 0; i < n; i++)
    for (long h = 0; h < height; h++)
      for (long w = 0; w < width; w++)
        for (long k = 0; k < channels; k++)
          c[((i * height + h) * width + w) * channels + k] = a[((i * channels + k) * height + h) * width + w];
}

void swap_axes(const float *restrict a, float *restrict c, long n, long m, long l) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++)
      for (long k = 0; k < l; k++) c[(i * n + j) * l + k] = a[(j * m + i) * l + k];
}

void flip(const float *restrict a, float *restrict c, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++) c[i * m + j] = a[i * m + m - 1 - j];
}
