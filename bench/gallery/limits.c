/* How fast this machine copies and reads: the limit of kernels that compute little. Each of `threads` threads
   takes its part `repeats` times. Kernels are not measured here. */
#include <pthread.h>
#include <stddef.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

struct part {
  const char *from;
  char *to;
  long bytes, repeats;
  int kind; /* 0 copy, 1 copy past the caches, 2 read */
  long sum;
};

typedef long lane __attribute__((vector_size(64), aligned(64)));

static void copy(const char *from, char *to, long bytes) {
  for (long i = 0; i < bytes; i += 64) *(lane *)(to + i) = *(const lane *)(from + i);
}

static void copy_past(const char *from, char *to, long bytes) {
#if defined(__AVX512F__)
  for (long i = 0; i < bytes; i += 64) _mm512_stream_si512((void *)(to + i), _mm512_load_si512(from + i));
  _mm_sfence();
#elif defined(__AVX__)
  for (long i = 0; i < bytes; i += 32)
    _mm256_stream_si256((__m256i *)(to + i), _mm256_load_si256((const __m256i *)(from + i)));
  _mm_sfence();
#else
  copy(from, to, bytes);
#endif
}

static long read_all(const char *from, long bytes) {
  lane a = {0}, b = a, c = a, d = a;
  long i = 0;
  for (; i + 256 <= bytes; i += 256) {
    a += *(const lane *)(from + i);
    b += *(const lane *)(from + i + 64);
    c += *(const lane *)(from + i + 128);
    d += *(const lane *)(from + i + 192);
  }
  a += b + c + d;
  return a[0] + a[1] + a[2] + a[3] + a[4] + a[5] + a[6] + a[7];
}

static void *work(void *argument) {
  struct part *p = argument;
  for (long r = 0; r < p->repeats; r++) {
    if (p->kind == 0) copy(p->from, p->to, p->bytes);
    if (p->kind == 1) copy_past(p->from, p->to, p->bytes);
    if (p->kind == 2) p->sum += read_all(p->from, p->bytes);
    __asm__ volatile("" ::: "memory");
  }
  return NULL;
}

/* `bytes` is a multiple of 64 times `threads`, the addresses of 64. Returns something that depends on what was
   read. */
long move(const char *from, char *to, long bytes, long repeats, long threads, int kind) {
  pthread_t started[64];
  struct part parts[64];
  long each = bytes / threads, sum = 0;
  for (long t = 0; t < threads; t++) {
    parts[t] = (struct part){from + t * each, to + t * each, each, repeats, kind, 0};
    if (t > 0) pthread_create(&started[t], NULL, work, &parts[t]);
  }
  work(&parts[0]);
  for (long t = 1; t < threads; t++) pthread_join(started[t], NULL);
  for (long t = 0; t < threads; t++) sum += parts[t].sum;
  return sum;
}
