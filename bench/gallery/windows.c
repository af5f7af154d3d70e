/* The loops of windows.py as plain C. Read case.py for the order of the arguments. */

void max_pool(const float *restrict x, float *restrict y, long n, long channels, long height, long width) {
  for (long i = 0; i < n; i++)
    for (long c = 0; c < channels; c++)
      for (long h = 0; h < height / 2; h++)
        for (long w = 0; w < width / 2; w++) {
          const float *at = x + ((i * channels + c) * height + 2 * h) * width + 2 * w;
          float top = at[0];
          for (long p = 0; p < 2; p++)
            for (long q = 0; q < 2; q++) top = at[p * width + q] > top ? at[p * width + q] : top;
          y[((i * channels + c) * (height / 2) + h) * (width / 2) + w] = top;
        }
}

void average_pool(const float *restrict x, float *restrict y, long n, long channels, long height, long width) {
  for (long i = 0; i < n; i++)
    for (long c = 0; c < channels; c++)
      for (long h = 0; h < height - 2; h++)
        for (long w = 0; w < width - 2; w++) {
          float total = 0.0f;
          for (long p = 0; p < 3; p++)
            for (long q = 0; q < 3; q++) total += x[((i * channels + c) * height + h + p) * width + w + q];
          y[((i * channels + c) * (height - 2) + h) * (width - 2) + w] = total * 0.11111111f;
        }
}

void depthwise(const float *restrict x, const float *restrict f, float *restrict y, long n, long channels,
               long height, long width) {
  for (long i = 0; i < n; i++)
    for (long c = 0; c < channels; c++)
      for (long h = 0; h < height - 2; h++)
        for (long w = 0; w < width - 2; w++) {
          float total = 0.0f;
          for (long p = 0; p < 3; p++)
            for (long q = 0; q < 3; q++)
              total += x[((i * channels + c) * height + h + p) * width + w + q] * f[(c * 3 + p) * 3 + q];
          y[((i * channels + c) * (height - 2) + h) * (width - 2) + w] = total;
        }
}
