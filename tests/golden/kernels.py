# Naive loops whose schedules are pinned in avx2.txt and avx512.txt beside this file: for each kind of kernel
# that the scheduler has a form for. The comment above a kernel names the types of its arguments; nothing here
# is run.
# mypy: ignore-errors


# f32[:, :] f32[:, :] f32[:, :]
def chain(a, b, c):
    t = allocate(a.shape, a.dtype)
    u = allocate(a.shape, a.dtype)
    d = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            t[i, j] = a[i, j] * b[i, j]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            u[i, j] = t[i, j] + c[i, j]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            d[i, j] = u[i, j] * u[i, j] - a[i, j]
    return d


# f32[:, :] f32[:]
def broadcast_add(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = a[i, j] + b[j]
    return c


# f32[:, :]
def row_sum(a):
    s = output_tensor((a.shape[0],), a.dtype)
    for i in range(a.shape[0]):
        total = 0.0
        for j in range(a.shape[1]):
            total += a[i, j]
        s[i] = total
    return s


# f32[:, :]
def column_sum(a):
    s = output_tensor((a.shape[1],), a.dtype)
    for j in range(a.shape[1]):
        total = 0.0
        for i in range(a.shape[0]):
            total += a[i, j]
        s[j] = total
    return s


# f32[:, :]
def full_sum(a):
    s = output_tensor((1,), a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s[0] += a[i, j]
    return s


# f32[:, :]
def argmax(a):
    s = output_tensor((a.shape[0],), "int64")
    for i in range(a.shape[0]):
        best = a[i, 0]
        at = 0
        for j in range(1, a.shape[1]):
            if a[i, j] > best:
                best = a[i, j]
                at = j
        s[i] = at
    return s


# f32[:, :]
def softmax(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        top = x[i, 0]
        for j in range(1, x.shape[1]):
            top = max(top, x[i, j])
        total = 0.0
        for j in range(x.shape[1]):
            y[i, j] = exp(x[i, j] - top)
            total += y[i, j]
        for j in range(x.shape[1]):
            y[i, j] = y[i, j] / total
    return y


# f32[:, :]
def log_softmax(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        top = x[i, 0]
        for j in range(1, x.shape[1]):
            top = max(top, x[i, j])
        total = 0.0
        for j in range(x.shape[1]):
            total += exp(x[i, j] - top)
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] - top - log(total)
    return y


# f32[:, :] f32[:] f32[:]
def layernorm(x, gain, shift):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        mean = 0.0
        for j in range(x.shape[1]):
            mean += x[i, j]
        mean = mean / x.shape[1]
        spread = 0.0
        for j in range(x.shape[1]):
            spread += (x[i, j] - mean) * (x[i, j] - mean)
        scale = 1.0 / sqrt(spread / x.shape[1] + 1e-5)
        for j in range(x.shape[1]):
            y[i, j] = (x[i, j] - mean) * scale * gain[j] + shift[j]
    return y


# f32[:, :] f32[:]
def rmsnorm(x, gain):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(x.shape[1]):
            total += x[i, j] * x[i, j]
        scale = 1.0 / sqrt(total / x.shape[1] + 1e-5)
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * scale * gain[j]
    return y


# f32[:, :, :]
def batchnorm(x):
    y = output_tensor(x.shape, x.dtype)
    for c in range(x.shape[1]):
        mean = 0.0
        for b in range(x.shape[0]):
            for p in range(x.shape[2]):
                mean += x[b, c, p]
        mean = mean / (x.shape[0] * x.shape[2])
        for b in range(x.shape[0]):
            for p in range(x.shape[2]):
                y[b, c, p] = x[b, c, p] - mean
    return y


# f32[:, :] f32[:]
def matvec(a, x):
    y = output_tensor((a.shape[0],), a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            y[i] += a[i, j] * x[j]
    return y


# f32[:, :] f32[:]
def vecmat(a, x):
    y = output_tensor((a.shape[1],), a.dtype)
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            y[j] += x[i] * a[i, j]
    return y


# f32[:] f32[:]
def outer_product(x, y):
    c = output_tensor((x.shape[0], y.shape[0]), x.dtype)
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            c[i, j] = x[i] * y[j]
    return c


# f32[:, :, :] f32[:, :, :]
def depthwise(x, f):
    y = output_tensor((x.shape[0], x.shape[1] - 2, x.shape[2] - 2), x.dtype)
    for c in range(x.shape[0]):
        for h in range(x.shape[1] - 2):
            for w in range(x.shape[2] - 2):
                total = 0.0
                for p in range(3):
                    for q in range(3):
                        total += x[c, h + p, w + q] * f[c, p, q]
                y[c, h, w] = total
    return y


# f32[:, :, :]
def max_pool(x):
    y = output_tensor((x.shape[0], x.shape[1] // 2, x.shape[2] // 2), x.dtype)
    for c in range(x.shape[0]):
        for h in range(x.shape[1] // 2):
            for w in range(x.shape[2] // 2):
                top = x[c, 2 * h, 2 * w]
                for p in range(2):
                    for q in range(2):
                        top = max(top, x[c, 2 * h + p, 2 * w + q])
                y[c, h, w] = top
    return y


# f32[:, :]
def transpose(a):
    c = output_tensor((a.shape[1], a.shape[0]), a.dtype)
    for i in range(a.shape[1]):
        for j in range(a.shape[0]):
            c[i, j] = a[j, i]
    return c


# f32[:, :, :, :]
def permute(a):
    c = output_tensor((a.shape[0], a.shape[2], a.shape[3], a.shape[1]), a.dtype)
    for i in range(a.shape[0]):
        for h in range(a.shape[2]):
            for w in range(a.shape[3]):
                for k in range(a.shape[1]):
                    c[i, h, w, k] = a[i, k, h, w]
    return c


# f32[:, :]
def stencil_2d(a):
    c = output_tensor((a.shape[0] - 2, a.shape[1] - 2), a.dtype)
    for i in range(a.shape[0] - 2):
        for j in range(a.shape[1] - 2):
            c[i, j] = a[i + 1, j + 1] + 0.2 * (a[i, j + 1] + a[i + 2, j + 1] + a[i + 1, j] + a[i + 1, j + 2])
    return c


# f32[:, :, :]
def stencil_3d(a):
    c = output_tensor((a.shape[0] - 2, a.shape[1] - 2, a.shape[2] - 2), a.dtype)
    for i in range(a.shape[0] - 2):
        for j in range(a.shape[1] - 2):
            for k in range(a.shape[2] - 2):
                c[i, j, k] = (
                    a[i, j + 1, k + 1] + a[i + 2, j + 1, k + 1] + a[i + 1, j, k + 1] - a[i + 1, j + 2, k]
                )
    return c


# f32[:, :] f32[:, :] i64
def jacobi(a, b, steps):
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = b[i, j]
    return a, b


# f32[:, :]
def cumsum(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(x.shape[1]):
            total += x[i, j]
            y[i, j] = total
    return y


# f32[:, :] i64[:]
def gather_rows(t, idx):
    y = output_tensor((idx.shape[0], t.shape[1]), t.dtype)
    for i in range(idx.shape[0]):
        for j in range(t.shape[1]):
            y[i, j] = t[idx[i], j]
    return y


# f32[:, :] i64[:] f32[:, :]
def scatter_add(t, idx, x):
    for i in range(idx.shape[0]):
        for j in range(t.shape[1]):
            t[idx[i], j] += x[i, j]
    return t


# i64[:] i64[:]
def histogram(bins, x):
    for i in range(x.shape[0]):
        bins[x[i]] += 1
    return bins


# f32[:, :]
def lu(c):
    n = c.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            c[i, k] = c[i, k] / c[k, k]
            for j in range(k + 1, n):
                c[i, j] = c[i, j] - c[i, k] * c[k, j]
    return c


# f32[:, :] f32[:, :]
def triangular_solve(a, x):
    for i in range(x.shape[0]):
        for k in range(i):
            for r in range(x.shape[1]):
                x[i, r] -= a[i, k] * x[k, r]
        for r in range(x.shape[1]):
            x[i, r] = x[i, r] / a[i, i]
    return x


# f32[:, :]
def floyd_warshall(d):
    for k in range(d.shape[0]):
        for i in range(d.shape[0]):
            for j in range(d.shape[0]):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])
    return d


# f32[:] f32[:] i64
def mandelbrot(re, im, steps):
    c = output_tensor((im.shape[0], re.shape[0]), "int32")
    for i in range(im.shape[0]):
        for j in range(re.shape[0]):
            x = 0.0
            y = 0.0
            k = 0
            while k < steps and x * x + y * y <= 4.0:
                t = x * x - y * y + re[j]
                y = 2.0 * x * y + im[i]
                x = t
                k += 1
            c[i, j] = k
    return c


# f32[:, :] f32[:, :] f32[:, :]
def add_matmul(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


# f32[:, :] f32[:, :]
def cosines(a, b):
    c = output_tensor((a.shape[0], b.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            dot = 0.0
            norm = 0.0
            for k in range(a.shape[1]):
                dot += a[i, k] * b[j, k]
                norm += b[j, k] * b[j, k]
            c[i, j] = dot / norm
    return c


# f32[:]
def clamped_smooth(u):
    v = output_tensor(u.shape, u.dtype)
    n = u.shape[0]
    for i in range(n):
        v[i] = 0.5 * u[i] + 0.25 * (u[max(i - 1, 0)] + u[min(i + 1, n - 1)])
    return v


# f32[:, :] f32[:, :]
def recurrent_cell(w, x):
    h = output_tensor((w.shape[0],), w.dtype)
    for t in range(x.shape[0]):
        for j in range(w.shape[0]):
            s = x[t, j]
            for k in range(w.shape[1]):
                s += w[j, k] * x[t, k]
            h[j] = tanh(s)
    return h


# f32[:]
def fibonacci(v):
    for k in unroll(2, v.shape[0]):
        v[k] = v[k - 1] + v[k - 2]
    return v


# i64[:]
def running_sum(x):
    y = output_tensor(x.shape, x.dtype)
    s = x[0] * 0
    for i in range(x.shape[0]):
        s += x[i]
        y[i] = s
    return y


# f32[:]
def recurrence(x):
    y = output_tensor(x.shape, x.dtype)
    s = x[0]
    for i in range(1, x.shape[0]):
        s = s * 0.5 + x[i]
        y[i] = s
    return y


# f32[:, :]
def mean_of_neighbours(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            y[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])
    return y


# f32[:]
def place_of_least(x):
    at = output_tensor((1,), "int64")
    best = x[0]
    k = 0
    for i in range(x.shape[0]):
        if x[i] < best:
            best = x[i]
            k = i
    at[0] = k
    return at
