// Evaluation of MSSBoost's candidates on a GPU, in double precision.
//
// Of a block of rows a thread has 64, and multiplies as many factors 1 + e^-|m| of at most 2 before it takes a logarithm
// (see fuselearn.numeric.logistic). Sums over the threads of a block and over the blocks are in a fixed order.

#define THREADS 128
#define ROWS 8192
#define CANDIDATES 4
#define LABELS 2

__device__ double over_block(double sum, double* room) {
    for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) room[threadIdx.x >> 5] = sum;
    __syncthreads();
    return room[0] + room[1] + room[2] + room[3];
}

// partial[block][candidate][label] = sum of log(1 + e^-(m + a y h)) over the rows of a block. `signs` are y.
extern "C" __global__ void __launch_bounds__(THREADS) losses_of_all(
        const double* outputs, int n_candidates, const signed char* signs, const double* margins, int n_labels,
        long long n_rows, const double* weights, double* partial) {
    __shared__ double room[4];
    int first_candidate = blockIdx.x * CANDIDATES, first_label = blockIdx.y * LABELS;
    long long start = (long long)blockIdx.z * ROWS, stop = min(start + ROWS, n_rows);
    double weight[CANDIDATES][LABELS], product[CANDIDATES][LABELS], excess[CANDIDATES][LABELS];
    const double* h[CANDIDATES];
    const double* m[LABELS];
    const signed char* y[LABELS];
#pragma unroll
    for (int c = 0; c < CANDIDATES; ++c) {
        int candidate = min(first_candidate + c, n_candidates - 1);
        h[c] = outputs + candidate * n_rows;
#pragma unroll
        for (int l = 0; l < LABELS; ++l) {
            int label = min(first_label + l, n_labels - 1);
            m[l] = margins + label * n_rows;
            y[l] = signs + label * n_rows;
            weight[c][l] = weights[(long long)candidate * n_labels + label];
            product[c][l] = 1.0;
            excess[c][l] = 0.0;
        }
    }
    bool idle = true;
#pragma unroll
    for (int c = 0; c < CANDIDATES; ++c)
#pragma unroll
        for (int l = 0; l < LABELS; ++l) idle &= weight[c][l] == 0.0;
    if (idle) return;  // nobody asks for the losses of weight 0
    for (long long row = start + threadIdx.x; row < stop; row += THREADS) {
        double output[CANDIDATES];
#pragma unroll
        for (int c = 0; c < CANDIDATES; ++c) output[c] = h[c][row];
#pragma unroll
        for (int l = 0; l < LABELS; ++l) {
            double margin = m[l][row], sign = y[l][row];
#pragma unroll
            for (int c = 0; c < CANDIDATES; ++c) {
                double ahead = margin + weight[c][l] * (sign * output[c]);
                product[c][l] += product[c][l] * exp(-fabs(ahead));
                excess[c][l] += fmax(-ahead, 0.0);
            }
        }
    }
#pragma unroll
    for (int c = 0; c < CANDIDATES; ++c)
#pragma unroll
        for (int l = 0; l < LABELS; ++l) {
            double loss = over_block(excess[c][l] + log(product[c][l]), room);
            int candidate = first_candidate + c, label = first_label + l;
            if (threadIdx.x == 0 && candidate < n_candidates && label < n_labels)
                partial[((long long)blockIdx.z * n_candidates + candidate) * n_labels + label] = loss;
        }
}

// The same for pairs of a candidate and a label: partial[block][pair].
extern "C" __global__ void __launch_bounds__(THREADS) losses_of_pairs(
        const double* outputs, const signed char* signs, const double* margins, int n_labels, long long n_rows,
        const double* weights, const long long* pairs, int n_pairs, double* partial) {
    __shared__ double room[4];
    long long candidate = pairs[blockIdx.x] / n_labels, label = pairs[blockIdx.x] % n_labels;
    long long start = (long long)blockIdx.y * ROWS, stop = min(start + ROWS, n_rows);
    double weight = weights[pairs[blockIdx.x]], product = 1.0, excess = 0.0;
    for (long long row = start + threadIdx.x; row < stop; row += THREADS) {
        double ahead = margins[label * n_rows + row]
            + weight * ((double)signs[label * n_rows + row] * outputs[candidate * n_rows + row]);
        product += product * exp(-fabs(ahead));
        excess += fmax(-ahead, 0.0);
    }
    double loss = over_block(excess + log(product), room);
    if (threadIdx.x == 0) partial[(long long)blockIdx.y * n_pairs + blockIdx.x] = loss;
}

// out[i] = sum of partial[block][i] over the blocks, first to last.
extern "C" __global__ void add_blocks(const double* partial, long long width, int n_blocks, double* out) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= width) return;
    double sum = 0.0;
    for (int block = 0; block < n_blocks; ++block) sum += partial[block * width + i];
    out[i] = sum;
}
