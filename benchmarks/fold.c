/* The fold of one crowd, by hand in C: what the simulator's compiled fold is measured against.
 *
 * Softmax regression without delays: for every check-in of b samples the scores, the mean of the
 * per-sample gradients, what a mechanism makes of it, a step of c/sqrt(t), the projection onto a
 * ball of radius R, and the number of wrong predictions. Laplace noise comes on every parameter,
 * per-sample gradients are clipped to an L1 norm of S for it, and no gradient may be much longer than
 * the last ones. A direction is z along the gradient and a normal vector besides, with z the normal
 * quantile of the chosen one of k uniform numbers.
 *
 *   gcc -O3 -march=native -fno-math-errno [-DFEATURES=50 -DCLASSES=10] fold.c -lm -o fold
 *   ./fold SAMPLES-FILE SAMPLES BATCH RATE SEED laplace SCALE LIMIT
 *   ./fold SAMPLES-FILE SAMPLES BATCH RATE SEED direction SCALE LENGTH K T P
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
#define LONGEST 1e30f /* longer than any gradient */
#define REMEMBERED_LENGTHS 200
#define ROW ((REMEMBERED_LENGTHS + LANES - 1) / LANES * LANES + LANES)
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

static inline Floats root(Floats v) {
    float of[LANES];
    store(of, v);
    for (int k = 0; k < LANES; k++)
        of[k] = sqrtf(of[k]);
    return load(of);
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

/* Box and Muller's two normal numbers in each lane: a radius from one word, an angle from another.
 * 23 bits turn it within a quarter of the circle, and two more say in which quarter. */
static inline void normals(Streams *s, Floats *x, Floats *y) {
    Words word = next(s), turn = next(s);
    Floats u = __builtin_convertvector((Ints)(word >> 9), Floats) + 0.5f;
    Floats r = root(2.0f * (Floats)((Words)minus_log(u) & 0x7fffffffu)); /* rounding: maybe < 0 */
    Floats f = __builtin_convertvector((Ints)(turn >> 9), Floats) * 0x1p-23f, f2 = f * f;
    Floats cosine = (Floats){} + 8.58162543e-4f, sine = (Floats){} + 1.51675118e-4f;
    cosine = cosine * f2 - 2.08105714e-2f;
    cosine = cosine * f2 + 2.5365071e-1f;
    cosine = cosine * f2 - 1.23369821f;
    cosine = cosine * f2 + 9.99999953e-1f;
    sine = sine * f2 - 4.67415067e-3f;
    sine = sine * f2 + 7.96899226e-2f;
    sine = sine * f2 - 6.4596376e-1f;
    sine = (sine * f2 + 1.57079632f) * f;
    *x = (Floats)((Words)(r * cosine) ^ (turn << 31));
    *y = (Floats)((Words)(r * sine) ^ ((turn & 2u) << 30));
}

/* One number at a time, by splitmix64, for what a check-in needs once. */
static inline uint64_t random64(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline double uniform(uint64_t *state) {
    return ((random64(state) >> 11) + 0.5) * 0x1p-53;
}

static Streams seed(uint64_t *state) {
    Streams s;
    for (size_t i = 0; i < sizeof s / 4; i++)
        ((uint32_t *)&s)[i] = (uint32_t)(random64(state) >> 32) | 1u;
    return s;
}

/* Marsaglia's polar method. */
static double normal(uint64_t *state) {
    double a, b, square;
    do {
        a = 2 * uniform(state) - 1;
        b = 2 * uniform(state) - 1;
        square = a * a + b * b;
    } while (square >= 1);
    return a * sqrt(-2 * log(square) / square);
}

/* Marsaglia and Tsang's method, for a shape of 1 or more. */
static double gamma_draw(double shape, uint64_t *state) {
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = normal(state), v = 1 + c * x;
        if (v <= 0)
            continue;
        v = v * v * v;
        double u = uniform(state), x2 = x * x;
        if (u < 1 - 0.0331 * x2 * x2 || log(u) < x2 / 2 + d * (1 - v + log(v)))
            return d * v;
    }
}

/* The normal quantile of 1 - q. Wichura's algorithm AS 241 (PPND7). */
static double upper_quantile(double q) {
    double half = 0.5 - q;
    if (fabs(half) <= 0.425) {
        double r = 0.180625 - half * half;
        return half * (((59.10937472 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179) /
               (((67.187563600 * r + 78.757757664) * r + 17.895169469) * r + 1.0);
    }
    double r = sqrt(-log(half > 0 ? q : 1 - q)), z;
    if (r <= 5) {
        r -= 1.6;
        z = (((0.17023821103 * r + 1.3067284816) * r + 2.7568153900) * r + 1.4234372777) /
            ((0.12021132975 * r + 0.73700164250) * r + 1.0);
    } else {
        r -= 5;
        z = (((0.017337203997 * r + 0.42868294337) * r + 3.0812263860) * r + 6.6579051150) /
            ((0.012258202635 * r + 0.24197894225) * r + 1.0);
    }
    return half > 0 ? z : -z;
}

/* What the mechanism makes of an average gradient; `k` is 0 for Laplace noise, whose `length` is the
 * first limit. */
typedef struct {
    float scale, length;
    int k, t;
    double p;
} Law;

/* z of the codeword that is chosen: of its rank r, the one with r - 1 of k above it. */
static double pull(const Law *law, uint64_t *state) {
    int best = uniform(state) < law->p, of = best ? law->t : law->k - law->t;
    int r = 1 + (best ? 0 : law->t) + (int)(uniform(state) * of);
    double above = gamma_draw(r, state), below = gamma_draw(law->k + 1 - r, state);
    return upper_quantile(above / (above + below));
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
static inline int slopes(float *s, int label, float l1_norm, float clip, float share) {
    Ints real = NUMBER < CLASSES;
    Floats score = choose(real, load(s), (Floats){} - 1e30f);
    float highest = top(score);
    /* Wrong if another is higher, or as high and earlier: NumPy's argmax takes the first. */
    int wrong = any((score > s[label]) | ((score == s[label]) & (NUMBER < label)));
    Floats p = (Floats)((Ints)exponential(score - highest) & real);
    Floats one = (Floats)((NUMBER == label) & (Ints)((Floats){} + 1.0f));
    p = p * (1.0f / total(p)) - one;
    float norm = total((Floats)((Ints)p & 0x7fffffff)) * l1_norm;
    store(s, p * (norm > clip ? share * clip / norm : share));
    return wrong;
}

/* g[j][k] = sum over rows of x[row][j] s[row][k]; later writes correct overlapping ones. */
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

/* g + noise in place of g; returns its length. */
static inline float add_noise(float *g, float scale, Streams *streams) {
    Floats squares = {};
    if (scale > 0) {
        Streams s = *streams; /* in registers */
        for (int at = 0; at < SIZE; at += LANES) {
            Floats v = last_block(load(g + at) + scale * laplace(&s), at);
            store(g + at, v);
            squares += v * v;
        }
        *streams = s;
    } else {
        for (int at = 0; at < SIZE; at += LANES)
            squares += load(g + at) * load(g + at);
    }
    return sqrtf(total(squares));
}

/* The last lengths: as a ring, and ascending between numbers below and above all of them, in two
 * rows that take turns. */
typedef struct {
    float first, newest[REMEMBERED_LENGTHS], ordered[2][ROW];
    long seen;
} Usual;

static Usual usual_from(float first) {
    Usual usual = {.first = first};
    for (int i = 0; i < REMEMBERED_LENGTHS; i++)
        usual.newest[i] = LONGEST;
    for (int i = 0; i < 2 * ROW; i++)
        usual.ordered[i / ROW][i % ROW] = i % ROW ? LONGEST : -1.0f;
    return usual;
}

/* By how much a gradient of this length is shortened: to 1.5 times what nine of ten were. */
static inline float shortening(Usual *usual, float length) {
    long known = usual->seen < REMEMBERED_LENGTHS ? usual->seen : REMEMBERED_LENGTHS;
    const float *now = usual->ordered[usual->seen % 2];
    float *after = usual->ordered[(usual->seen + 1) % 2];
    float limit = known < 10 ? usual->first : 1.5f * now[1 + (int)(0.9 * (known - 1))];
    float *place = &usual->newest[usual->seen++ % REMEMBERED_LENGTHS], oldest = *place;
    *place = length;
    for (int at = 1; at < ROW - LANES; at += LANES) {
        Floats own = load(now + at), before = load(now + at - 1);
        Floats kept = choose(own < oldest, own, load(now + at + 1));
        before = larger(choose(before < oldest, before, own), (Floats){} + length);
        store(after + at, choose(before < kept, before, kept));
    }
    return length > limit ? limit / length : 1.0f;
}

/* w -= step g; then back into the ball. */
static inline void update(float *w, const float *g, float step) {
    Floats squares = {};
    for (int at = 0; at < SIZE; at += LANES) {
        Floats v = load(w + at) - step * load(g + at);
        store(w + at, v);
        squares += v * v;
    }
    float length = total(squares);
    if (length > RADIUS * RADIUS)
        for (int at = 0; at < SIZE; at += LANES)
            store(w + at, load(w + at) * (RADIUS / sqrtf(length)));
}

/* g becomes scale v: z along g, or against it, and normal in every other direction. */
static inline void direct(float *g, const Law *law, Streams *streams, uint64_t *state) {
    static float v[ROOM + LANES];
    Floats squares = {}, along = {};
    Streams s = *streams;
    for (int at = 0; at < SIZE; at += 2 * LANES) {
        Floats v0, v1, g0 = load(g + at), g1 = at + LANES < SIZE ? load(g + at + LANES) : (Floats){};
        normals(&s, &v0, &v1);
        store(v + at, v0);
        store(v + at + LANES, v1);
        squares += g0 * g0 + g1 * g1;
        along += g0 * v0 + g1 * v1;
    }
    *streams = s;
    float norm = sqrtf(total(squares)), z = (float)pull(law, state), own = 0;
    if (norm > 0) {
        if (norm < law->length && uniform(state) < (1 - norm / law->length) / 2)
            z = -z;
        own = (z - total(along) / norm) / norm * law->scale;
    }
    for (int at = 0; at < SIZE; at += LANES)
        store(g + at, last_block(own * load(g + at) + law->scale * load(v + at), at));
}

static long fold(float *w, const float *x, const float *y, const float *l1_norms, long checkins,
                 int b, double c, const Law *law, Streams *streams, uint64_t *state) {
    float *s = calloc((size_t)b * LANES, sizeof *s);
    float clip = law->k ? LONGEST : CLIP;
    Usual usual = usual_from(law->length);
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
            wrong += slopes(s + row * LANES, (int)y[first + row], l1_norms[first + row], clip,
                            1.0f / b);
        gradient(g, x_i, s, b);
        float step = (float)(c / sqrt((double)(i + 1)));
        if (law->k)
            direct(g, law, streams, state);
        else
            step *= shortening(&usual, add_noise(g, law->scale, streams));
        update(w, g, step);
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
    if (argc < 9 || (!strcmp(argv[6], "direction") && argc != 12)) {
        fprintf(stderr, "usage: fold SAMPLES-FILE SAMPLES BATCH RATE SEED laplace SCALE LIMIT\n"
                        "       fold ... direction SCALE LENGTH K T P\n");
        return 2;
    }
    Law law = {.scale = atof(argv[7]), .length = atof(argv[8])};
    if (argc == 12)
        law = (Law){law.scale, law.length, atoi(argv[9]), atoi(argv[10]), atof(argv[11])};
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
    uint64_t state = strtoull(argv[5], NULL, 10);
    Streams streams = seed(&state);
    double before = cpu_seconds();
    long wrong = fold(w, x, y, l1_norms, n / b, b, atof(argv[4]), &law, &streams, &state);
    printf("%.9g %ld", (cpu_seconds() - before) / (n / b), wrong);
    for (int k = 0; k < CLASSES; k++)
        for (int j = 0; j < FEATURES; j++)
            printf(" %.9g", w[j * CLASSES + k]);
    printf("\n");
    return 0;
}
