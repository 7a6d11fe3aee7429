// Fused kernels of boosting on a GPU.
//
// Sums are taken in pieces of rows whose size does not depend on the GPU, each piece in a fixed order, and the pieces are
// added in a fixed order: no additions of floating-point numbers race. Defined by cuda_kernels.py: VALUE is float or
// double, WIDTH how many of them are 16 bytes, GAPS whether some value may be NaN, RESIDENT how many thread blocks a
// multiprocessor shall have.

#define BLOCK 1024
#define TALLY_ROWS 4096

struct alignas(16) Vector { VALUE at[WIDTH]; };

__device__ double over_warp(double sum) {
    for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    return sum;
}

// out[block][column][row of the block] = X[rows[...]][columns[...]]; gaps[0] = 1 where one is NaN.
extern "C" __global__ void lay_out(const VALUE* X, long long row_step, long long column_step, const long long* rows,
                                   long long n_rows, const long long* columns, int n_columns, VALUE* out, int* gaps) {
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    VALUE* to = out + (row / BLOCK) * BLOCK * n_columns + row % BLOCK;
    const VALUE* from = row < n_rows ? X + rows[row] * row_step : X;
    bool gap = false;
    for (int j = 0; j < n_columns; ++j) {
        VALUE x = row < n_rows ? from[columns[j] * column_step] : (VALUE)0;
        gap |= x != x;
        to[(long long)j * BLOCK] = x;
    }
    if (gap) gaps[0] = 1;
}

// Sums of w, w (observed), w z and w z^2 over the rows of a class in a block, z = (x - mean) * factor.
extern "C" __global__ void __launch_bounds__(256, RESIDENT) moments(
        const VALUE* values, int n_columns, const double* weights, const int* piece_block, const int* piece_first,
        const int* piece_last, const double* means, const double* factors, double* partial) {
    // Weights as the lanes will read them: two at a time, neighbours side by side.
    __shared__ double2 shared_weights[BLOCK / 2];
    const int STEPS = BLOCK / (32 * WIDTH);
    int piece = blockIdx.x, first = piece_first[piece], last = piece_last[piece];
    long long start = (long long)piece_block[piece] * BLOCK;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, n_warps = blockDim.x >> 5;
    for (int i = threadIdx.x; i < BLOCK; i += blockDim.x) {
        double w = i >= first && i < last ? weights[start + i] : 0.0;
        int vector = i / WIDTH, part = i % WIDTH;
        int place = ((vector / 32) * (WIDTH / 2) + part / 2) * 32 + vector % 32;
        ((double*)shared_weights)[2 * place + (part & 1)] = w;
    }
    __syncthreads();
    double* out = partial + (long long)piece * (1 + 3 * n_columns);
    double whole = 0.0;
    for (int i = lane; i < BLOCK / 2; i += 32) whole += shared_weights[i].x + shared_weights[i].y;
    whole = over_warp(whole);
    if (threadIdx.x == 0) out[0] = whole;
    for (int j = warp; j < n_columns; j += n_warps) {
        const Vector* column = (const Vector*)(values + start * n_columns + (long long)j * BLOCK);
        double mean = means[j], factor = factors[j], observed = 0.0, sum = 0.0, squares = 0.0;
        Vector read[STEPS];
#pragma unroll
        for (int k = 0; k < STEPS; ++k) read[k] = column[k * 32 + lane];
#pragma unroll
        for (int k = 0; k < STEPS; ++k) {
#pragma unroll
            for (int half = 0; half < WIDTH / 2; ++half) {
                double2 w = shared_weights[(k * (WIDTH / 2) + half) * 32 + lane];
#pragma unroll
                for (int c = 0; c < 2; ++c) {
                    VALUE x = read[k].at[2 * half + c];
                    double z = ((double)x - mean) * factor, weight = c ? w.y : w.x;
#if GAPS
                    bool here = x == x;
                    z = here ? z : 0.0;
                    weight = here ? weight : 0.0;
                    observed += weight;
#endif
                    double wz = weight * z;
                    sum += wz;
                    squares += wz * z;
                }
            }
        }
        sum = over_warp(sum);
        squares = over_warp(squares);
#if GAPS
        observed = over_warp(observed);
#else
        observed = whole;
#endif
        if (lane == 0) {
            out[1 + j] = observed;
            out[1 + n_columns + j] = sum;
            out[1 + 2 * n_columns + j] = squares;
        }
    }
}

// Class of the largest score c + sum of z (b + z a), FORMS scores at a time. Coefficients of a column stand together:
// mean, factor, then a, b, c of each form.
template <int FORMS>
__device__ void largest(const VALUE* values, int n_columns, long long n_rows, int n_forms, const double* coefficients,
                        const double* constants, double tie, int* codes) {
    const int TILE = 64, EACH = 2 + 3 * FORMS;
    __shared__ double tile[TILE * EACH];
    long long start = (long long)blockIdx.x * BLOCK;
    const Vector* block = (const Vector*)(values + start * n_columns) + threadIdx.x;
    double best[WIDTH];
    int code[WIDTH];
    for (int first_form = 0; first_form < n_forms; first_form += FORMS) {
        const double* of_forms = coefficients + (long long)(first_form / FORMS) * n_columns * EACH;
        double scores[FORMS][WIDTH];
#pragma unroll
        for (int f = 0; f < FORMS; ++f)
#pragma unroll
            for (int i = 0; i < WIDTH; ++i) scores[f][i] = constants[first_form + f];
        for (int first = 0; first < n_columns; first += TILE) {
            int n = min(TILE, n_columns - first);
            __syncthreads();
            for (int i = threadIdx.x; i < n * EACH; i += blockDim.x) tile[i] = of_forms[first * EACH + i];
            __syncthreads();
#pragma unroll 4
            for (int j = 0; j < n; ++j) {
                Vector read = block[(long long)(first + j) * (BLOCK / WIDTH)];
                const double* own = tile + j * EACH;
#pragma unroll
                for (int i = 0; i < WIDTH; ++i) {
                    VALUE x = read.at[i];
                    double z = ((double)x - own[0]) * own[1];
#pragma unroll
                    for (int f = 0; f < FORMS; ++f) {
                        double a = own[2 + 3 * f], b = own[3 + 3 * f];
#if GAPS
                        scores[f][i] += x == x ? z * (b + z * a) + own[4 + 3 * f] : 0.0;
#else
                        scores[f][i] += z * (b + z * a);
#endif
                    }
                }
            }
        }
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) {
            if (n_forms == 1) {
                code[i] = scores[0][i] > tie ? 1 : 0;
                continue;
            }
#pragma unroll
            for (int f = 0; f < FORMS; ++f) {
                int k = first_form + f;
                if (k >= n_forms) continue;
                if (k == 0 || scores[f][i] > best[i] + tie) {
                    best[i] = scores[f][i];
                    code[i] = k;
                }
            }
        }
    }
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
        long long row = start + (long long)threadIdx.x * WIDTH + i;
        if (row < n_rows) codes[row] = code[i];
    }
}

extern "C" __global__ void largest_1(const VALUE* values, int n_columns, long long n_rows, int n_forms,
                                     const double* coefficients, const double* constants, double tie, int* codes) {
    largest<1>(values, n_columns, n_rows, n_forms, coefficients, constants, tie, codes);
}

extern "C" __global__ void largest_4(const VALUE* values, int n_columns, long long n_rows, int n_forms,
                                     const double* coefficients, const double* constants, double tie, int* codes) {
    largest<4>(values, n_columns, n_rows, n_forms, coefficients, constants, tie, codes);
}

// out[group][i] = sum over the pieces of a group, in a fixed order.
extern "C" __global__ void add_pieces(const double* partial, long long width, const int* starts, double* out) {
    __shared__ double sums[32][33];
    long long i = (long long)blockIdx.x * 32 + threadIdx.x;
    int group = blockIdx.y;
    double sum = 0.0;
    if (i < width)
#pragma unroll 4
        for (int piece = starts[group] + threadIdx.y; piece < starts[group + 1]; piece += 32)
            sum += partial[piece * width + i];
    sums[threadIdx.y][threadIdx.x] = sum;
    for (int step = 16; step > 0; step >>= 1) {
        __syncthreads();
        if (threadIdx.y < step) sums[threadIdx.y][threadIdx.x] += sums[threadIdx.y + step][threadIdx.x];
    }
    if (threadIdx.y == 0 && i < width) out[group * width + i] = sums[0][threadIdx.x];
}

// Outcome of each row (1 right, -1 wrong, 0 absent), and partial sums of the weights by outcome.
extern "C" __global__ void judge(const int* predicted, const int* codes, const long long* places, const bool* excluded,
                                 long long n_rows, const double* weights, signed char* outcome, double* partial) {
    __shared__ double sums[3][8];
    double right = 0.0, wrong = 0.0, absent = 0.0;
    long long start = (long long)blockIdx.x * TALLY_ROWS;
    for (int i = threadIdx.x; i < TALLY_ROWS; i += 256) {
        long long row = start + i;
        if (row >= n_rows) break;
        long long place = places ? places[row] : row;
        bool out = place < 0 || (excluded && excluded[row]);
        bool agrees = !out && predicted[place] == codes[place];
        double w = weights[row];
        outcome[row] = out ? 0 : agrees ? 1 : -1;
        right += agrees ? w : 0.0;
        wrong += !out && !agrees ? w : 0.0;
        absent += out ? w : 0.0;
    }
    right = over_warp(right);
    wrong = over_warp(wrong);
    absent = over_warp(absent);
    if ((threadIdx.x & 31) == 0) {
        int warp = threadIdx.x >> 5;
        sums[0][warp] = right;
        sums[1][warp] = wrong;
        sums[2][warp] = absent;
    }
    __syncthreads();
    if (threadIdx.x < 3) {
        double sum = 0.0;
        for (int warp = 0; warp < 8; ++warp) sum += sums[threadIdx.x][warp];
        partial[3 * (long long)blockIdx.x + threadIdx.x] = sum;
    }
}

extern "C" __global__ void multiply(const double* weights, const signed char* outcome, long long n_rows, double right,
                                    double wrong, double absent, double* out) {
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n_rows) out[row] = weights[row] * (outcome[row] > 0 ? right : outcome[row] < 0 ? wrong : absent);
}

// Sixteen rows of a piece as a lane sees them: their bins in its column, four to a word, and the weight of one of them.
struct Rows16 { unsigned word[4]; double weight; };

__device__ __forceinline__ Rows16 read_rows(const unsigned char* own, const int* rows, const double* weights,
                                            long long at, long long first, long long last) {
    Rows16 read;
    long long mine = at + (threadIdx.x & 15);
    bool inside = mine >= first && mine < last;
    read.weight = inside ? weights[mine] : 0.0;
    if (rows) {
        int row = inside ? rows[mine] : 0;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            read.word[i] = 0;
#pragma unroll
            for (int k = 0; k < 4; ++k)
                read.word[i] |= (unsigned)own[__shfl_sync(0xffffffffu, row, 4 * i + k)] << (8 * k);
        }
    } else {
        uint4 all = *(const uint4*)(own + at);
        read.word[0] = all.x;
        read.word[1] = all.y;
        read.word[2] = all.z;
        read.word[3] = all.w;
    }
    return read;
}

// Weight in each bin of up to 32 columns, one column a lane, over the rows of a piece. With `rows`, bins are those of
// rows[i]; weights always stand in the order of the pieces.
extern "C" __global__ void histograms(const unsigned char* bins, long long stride, const int* rows,
                                      const double* weights, int n_columns, int tile_columns, int n_bins,
                                      const long long* piece_first, const long long* piece_last, double* partial) {
    extern __shared__ double histogram[];
    int lane = threadIdx.x, column = blockIdx.y * tile_columns + lane;
    bool works = lane < tile_columns && column < n_columns;
    const unsigned char* own = bins + (works ? column : 0) * stride;
    double* mine = histogram + lane;
    for (int b = 0; b < n_bins; ++b) mine[b * 32] = 0.0;
    long long first = piece_first[blockIdx.x], last = piece_last[blockIdx.x], at = first & ~15ll;
    Rows16 next = read_rows(own, rows, weights, at, first, last);
    for (; at < last; at += 16) {
        Rows16 now = next;
        if (at + 16 < last) next = read_rows(own, rows, weights, at + 16, first, last);
#pragma unroll
        for (int i = 0; i < 16; i += 4) {
            // Four rows at a time, so that their loads do not wait for each other; a row whose bin an earlier one of
            // them has goes on from that one's sum.
            int bin[4];
            double sum[4];
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                bin[k] = ((now.word[i / 4] >> (8 * k)) & 255u) * 32;
                sum[k] = mine[bin[k]];
            }
#pragma unroll
            for (int k = 0; k < 4; ++k) {
#pragma unroll
                for (int earlier = 0; earlier < k; ++earlier) sum[k] = bin[earlier] == bin[k] ? sum[earlier] : sum[k];
                sum[k] += __shfl_sync(0xffffffffu, now.weight, i + k);
            }
#pragma unroll
            for (int k = 0; k < 4; ++k) mine[bin[k]] = sum[k];
        }
    }
    double* out = partial + ((long long)blockIdx.x * gridDim.y + blockIdx.y) * n_bins * 32 + lane;
    for (int b = 0; b < n_bins; ++b) out[b * 32] = mine[b * 32];
}

// Leaf of each row, or its number in `of_leaf`.
extern "C" __global__ void walk(const unsigned char* bins, long long stride, long long n_rows, const int* feature,
                                const int* cut, const bool* missing_left, const int* left, const int* right,
                                int missing, const int* of_leaf, int* out) {
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n_rows) return;
    int node = 0;
    while (feature[node] >= 0) {
        int bin = bins[feature[node] * stride + row];
        bool goes_left = bin == missing ? missing_left[node] : bin <= cut[node];
        node = goes_left ? left[node] : right[node];
    }
    out[row] = of_leaf[node];
}
