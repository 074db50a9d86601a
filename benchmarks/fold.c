/* The fold of one crowd, by hand in C: what the simulator's compiled fold is measured against.
 *
 * Softmax regression without delays: for every check-in of b samples the scores, the mean of the
 * per-sample gradients (each clipped to an L1 norm of S), Laplace noise on every parameter, a step
 * of c/sqrt(t), the projection onto a ball of radius R, and the number of wrong predictions.
 *
 *   gcc -O3 -march=native [-DFEATURES=50 -DCLASSES=10] fold.c -lm -o fold
 *   ./fold SAMPLES-FILE SAMPLES BATCH RATE NOISE-SCALE SEED
 *
 * The file holds SAMPLES rows of FEATURES float32, then SAMPLES labels as float32. Printed are the
 * CPU seconds per check-in, the number of wrong predictions, and the parameters, class by class.
 *
 * Written to be fast. Sizes are constants, so that the compiler unrolls; sums and products are in
 * vectors of 16 floats, one lane per class, so that no score needs a sum across lanes. w[j][k] is
 * at j*CLASSES + k without gaps: the vector of one feature reaches into the next one's, where what
 * is read is masked and what is written is written again. So no noise is drawn for padding.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef FEATURES
#define FEATURES 50
#endif
#ifndef CLASSES
#define CLASSES 10
#endif
#define LANES 16
#define BLOCK 4 /* features, or samples, taken together: sums that the processor overlaps */
#define SIZE (FEATURES * CLASSES)
#define WIDTH ((FEATURES + BLOCK - 1) / BLOCK * BLOCK)
#define ROOM ((WIDTH * CLASSES + 2 * LANES) / LANES * LANES)
#define CLIP 2.0f
#define RADIUS 1e6f
#if CLASSES > LANES
#error "one vector holds the scores of a sample: CLASSES must be at most 16"
#endif

typedef float Floats __attribute__((vector_size(4 * LANES)));
typedef uint32_t Words __attribute__((vector_size(4 * LANES)));
typedef int32_t Ints __attribute__((vector_size(4 * LANES)));

static const Ints NUMBER = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

static inline Floats load(const float *from) {
    Floats v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline void store(float *to, Floats v) { memcpy(to, &v, sizeof v); }

static inline Floats choose(Ints mask, Floats yes, Floats no) {
    return (Floats)((mask & (Ints)yes) | (~mask & (Ints)no));
}

static inline Floats larger(Floats a, Floats b) { return choose(a > b, a, b); }

/* Across lanes by halves: 8 apart, 4 apart, 2 apart, neighbours. */
#define ACROSS(v, combine)                                   \
    do {                                                     \
        v = combine(v, __builtin_shuffle(v, NUMBER ^ 8));    \
        v = combine(v, __builtin_shuffle(v, NUMBER ^ 4));    \
        v = combine(v, __builtin_shuffle(v, NUMBER ^ 2));    \
        v = combine(v, __builtin_shuffle(v, NUMBER ^ 1));    \
    } while (0)
#define PLUS(a, b) ((a) + (b))
#define OR(a, b) ((a) | (b))

static inline float total(Floats v) {
    ACROSS(v, PLUS);
    return v[0];
}

static inline float top(Floats v) {
    ACROSS(v, larger);
    return v[0];
}

static inline int any(Ints mask) {
    ACROSS(mask, OR);
    return mask[0] != 0;
}

/* exp(v) for v <= 0 as 2^n 2^f; from 2^-100 down it stays there, clear of denormal numbers. */
static inline Floats exponential(Floats v) {
    v = larger(v * 1.44269504f, (Floats){} - 100.0f);
    Floats n = __builtin_convertvector(__builtin_convertvector(v, Ints), Floats);
    n = n + __builtin_convertvector(n > v, Floats); /* the mask is -1 where it is true */
    Floats f = v - n;
    Floats p = (Floats){} + 2.18775051e-4f;
    p = p * f + 1.23878219e-3f;
    p = p * f + 9.68458038e-3f;
    p = p * f + 5.5480428e-2f;
    p = p * f + 2.40230501e-1f;
    p = p * f + 6.93146944e-1f;
    p = p * f + 1.0f;
    Words power = (Words)(__builtin_convertvector(n, Ints) + 127) << 23;
    return p * (Floats)power;
}

/* -log(u / 2^23): the exponent times log 2, and a polynomial in the fraction. */
static inline Floats minus_log(Floats u) {
    Words word = (Words)u;
    Floats exponent = 150.0f - __builtin_convertvector((Ints)(word >> 23), Floats);
    Floats f = (Floats)((word & 0x7fffffu) | 0x3f800000u) - 1.0f;
    Floats p = (Floats){} - 6.15147082e-3f;
    p = p * f + 3.48497108e-2f;
    p = p * f - 9.32520404e-2f;
    p = p * f + 1.65822759e-1f;
    p = p * f - 2.39826158e-1f;
    p = p * f + 3.31548631e-1f;
    p = p * f - 4.99838561e-1f;
    p = p * f + 9.99994278e-1f;
    p = p * f + 3.38696537e-8f;
    return exponent * 0.693147181f - p;
}

/* Sixteen generators, xoshiro128++, one per lane. */
typedef struct {
    Words a, b, c, d;
} Streams;

static inline Words rotate(Words v, int bits) { return (v << bits) | (v >> (32 - bits)); }

static inline Words next(Streams *s) {
    Words word = rotate(s->a + s->d, 7) + s->a, shifted = s->b << 9;
    s->c ^= s->a;
    s->d ^= s->b;
    s->b ^= s->c;
    s->a ^= s->d;
    s->c ^= shifted;
    s->d = rotate(s->d, 11);
    return word;
}

static inline Floats laplace(Streams *s) {
    Words word = next(s);
    Floats u = __builtin_convertvector((Ints)(word >> 9), Floats) + 0.5f;
    return (Floats)((Words)minus_log(u) ^ (word << 31));
}

static Streams seed(uint64_t state) {
    Streams s;
    for (size_t i = 0; i < sizeof s / 4; i++) { /* splitmix64 */
        uint64_t z = (state += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        ((uint32_t *)&s)[i] = (uint32_t)((z ^ (z >> 31)) >> 32) | 1u;
    }
    return s;
}

/* s[row][k] = sum over j of x[row][j] w[j][k], for one sample and for four. */
static inline void scores_of_one(float *s, const float *x, const float *w) {
    Floats a0 = {}, a1 = {}, a2 = {}, a3 = {};
    for (int j = 0; j < WIDTH; j += BLOCK) {
        a0 += x[j] * load(w + j * CLASSES);
        a1 += x[j + 1] * load(w + (j + 1) * CLASSES);
        a2 += x[j + 2] * load(w + (j + 2) * CLASSES);
        a3 += x[j + 3] * load(w + (j + 3) * CLASSES);
    }
    store(s, (a0 + a1) + (a2 + a3));
}

static inline void scores_of_four(float *s, const float *x, const float *w) {
    Floats a0 = {}, a1 = {}, a2 = {}, a3 = {}, b0 = {}, b1 = {}, b2 = {}, b3 = {};
    for (int j = 0; j < WIDTH; j += 2) {
        Floats w_a = load(w + j * CLASSES), w_b = load(w + (j + 1) * CLASSES);
        a0 += x[j] * w_a;
        b0 += x[j + 1] * w_b;
        a1 += x[j + WIDTH] * w_a;
        b1 += x[j + 1 + WIDTH] * w_b;
        a2 += x[j + 2 * WIDTH] * w_a;
        b2 += x[j + 1 + 2 * WIDTH] * w_b;
        a3 += x[j + 3 * WIDTH] * w_a;
        b3 += x[j + 1 + 3 * WIDTH] * w_b;
    }
    store(s, a0 + b0);
    store(s + LANES, a1 + b1);
    store(s + 2 * LANES, a2 + b2);
    store(s + 3 * LANES, a3 + b3);
}

/* In place of the scores: P(k|x) - [k = y], clipped, times `share`. Whether it was wrong. */
static inline int slopes(float *s, int label, float l1_norm, float share) {
    Ints real = NUMBER < CLASSES;
    Floats score = choose(real, load(s), (Floats){} - 1e30f);
    float highest = top(score);
    /* Wrong if another is higher, or as high and earlier: NumPy's argmax takes the first. */
    int wrong = any((score > s[label]) | ((score == s[label]) & (NUMBER < label)));
    Floats p = (Floats)((Ints)exponential(score - highest) & real);
    Floats one = (Floats)((NUMBER == label) & (Ints)((Floats){} + 1.0f));
    p = p * (1.0f / total(p)) - one;
    float norm = total((Floats)((Ints)p & 0x7fffffff)) * l1_norm;
    store(s, p * (norm > CLIP ? share * CLIP / norm : share));
    return wrong;
}

/* g[j][k] = sum over rows of x[row][j] s[row][k], in the order that mends what overlaps. */
static inline void gradient(float *g, const float *x, const float *s, int n) {
    for (int j = 0; j < WIDTH; j += BLOCK) {
        Floats a0 = {}, a1 = {}, a2 = {}, a3 = {};
        const float *x_row = x + j;
        for (int row = 0; row < n; row++, x_row += WIDTH) {
            Floats slope = load(s + row * LANES);
            a0 += x_row[0] * slope;
            a1 += x_row[1] * slope;
            a2 += x_row[2] * slope;
            a3 += x_row[3] * slope;
        }
        store(g + j * CLASSES, a0);
        store(g + (j + 1) * CLASSES, a1);
        store(g + (j + 2) * CLASSES, a2);
        store(g + (j + 3) * CLASSES, a3);
    }
}

static inline Floats last_block(Floats v, int at) {
    return at + LANES <= SIZE ? v : (Floats)((Ints)v & (NUMBER < SIZE - at));
}

/* w -= step (g + noise), in one pass; then back into the ball. */
static inline void update(float *w, const float *g, float step, float scale, Streams *streams) {
    Floats squares = {};
    if (scale > 0) {
        Streams s = *streams; /* in registers */
        for (int at = 0; at < SIZE; at += LANES) {
            Floats noisy = load(g + at) + scale * laplace(&s);
            Floats v = load(w + at) - step * last_block(noisy, at);
            store(w + at, v);
            squares += v * v;
        }
        *streams = s;
    } else {
        for (int at = 0; at < SIZE; at += LANES) {
            Floats v = load(w + at) - step * load(g + at);
            store(w + at, v);
            squares += v * v;
        }
    }
    float length = total(squares);
    if (length > RADIUS * RADIUS)
        for (int at = 0; at < SIZE; at += LANES)
            store(w + at, load(w + at) * (RADIUS / sqrtf(length)));
}

static long fold(float *w, const float *x, const float *y, const float *l1_norms, long checkins,
                 int b, double c, float scale, Streams *streams) {
    float *s = calloc((size_t)b * LANES, sizeof *s);
    static float g[ROOM];
    long wrong = 0;
    for (long i = 0; i < checkins; i++) {
        long first = i * b;
        const float *x_i = x + first * WIDTH;
        int row = 0;
        for (; row + BLOCK <= b; row += BLOCK)
            scores_of_four(s + row * LANES, x_i + row * WIDTH, w);
        for (; row < b; row++)
            scores_of_one(s + row * LANES, x_i + row * WIDTH, w);
        for (row = 0; row < b; row++)
            wrong += slopes(s + row * LANES, (int)y[first + row], l1_norms[first + row], 1.0f / b);
        gradient(g, x_i, s, b);
        update(w, g, (float)(c / sqrt((double)(i + 1))), scale, streams);
    }
    free(s);
    return wrong;
}

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr, "usage: fold SAMPLES-FILE SAMPLES BATCH RATE NOISE-SCALE SEED\n");
        return 2;
    }
    long n = atol(argv[2]);
    int b = atoi(argv[3]);
    float *x = calloc((size_t)n * WIDTH, sizeof *x), *l1_norms = calloc(n, sizeof *l1_norms);
    float *y = calloc(n, sizeof *y), *w = calloc(ROOM, sizeof *w);
    FILE *file = fopen(argv[1], "rb");
    size_t got = 0;
    for (long i = 0; file && i < n; i++) {
        got += fread(x + i * WIDTH, sizeof *x, FEATURES, file);
        for (int j = 0; j < FEATURES; j++)
            l1_norms[i] += fabsf(x[i * WIDTH + j]);
    }
    if (!file || b < 1 || got + fread(y, sizeof *y, n, file) != (size_t)n * (FEATURES + 1)) {
        fprintf(stderr, "cannot read %ld samples of %d features from %s\n", n, FEATURES, argv[1]);
        return 1;
    }
    Streams streams = seed(strtoull(argv[6], NULL, 10));
    double before = cpu_seconds();
    long wrong = fold(w, x, y, l1_norms, n / b, b, atof(argv[4]), atof(argv[5]), &streams);
    printf("%.9g %ld", (cpu_seconds() - before) / (n / b), wrong);
    for (int k = 0; k < CLASSES; k++)
        for (int j = 0; j < FEATURES; j++)
            printf(" %.9g", w[j * CLASSES + k]);
    printf("\n");
    return 0;
}
