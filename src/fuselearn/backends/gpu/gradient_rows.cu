// Rows of gradient boosting: their bins, gradients, leaves and scores; see gradient_tiles.cu, which stands before this.

// bins[tile][row][column of the tile] = number of edges below x; X's column of a place is -1 behind the last.
template <typename Value>
__device__ void fill_bins(const Value* X, int64 row_step, int64 column_step, int64 n_rows, const int* columns,
                          const double* edges, int n_edges, int missing, byte* bins) {
    double* own_edges = (double*)shared_memory;
    int tile = blockIdx.y, lane = threadIdx.x & 31, warp = threadIdx.x >> 5, n_warps = blockDim.x >> 5;
    for (int i = threadIdx.x; i < n_edges * LANES; i += blockDim.x)
        own_edges[i] = edges[(int64)(tile * LANES + i % LANES) * n_edges + i / LANES];
    __syncthreads();
    int64 column = columns[tile * LANES + lane];
    int64 last = min(n_rows, ((int64)blockIdx.x + 1) * BIN_ROWS);
    for (int64 row = (int64)blockIdx.x * BIN_ROWS + warp; row < last; row += n_warps) {
        int bin = 0;
        if (column >= 0) {
            double x = (double)X[row * row_step + column * column_step];
            if (x != x) bin = missing;
            else {
                int n = n_edges;
                while (n > 0) {
                    int half = n / 2;
                    bool below = own_edges[(bin + half) * LANES + lane] < x;
                    bin = below ? bin + half + 1 : bin;
                    n = below ? n - half - 1 : half;
                }
            }
        }
        bins[((int64)tile * n_rows + row) * LANES + lane] = (byte)bin;
    }
}

extern "C" __global__ void fill_bins_float32(const float* X, int64 row_step, int64 column_step, int64 n_rows,
                                             const int* columns, const double* edges, int n_edges, int missing,
                                             byte* bins) {
    fill_bins<float>(X, row_step, column_step, n_rows, columns, edges, n_edges, missing, bins);
}

extern "C" __global__ void fill_bins_float64(const double* X, int64 row_step, int64 column_step, int64 n_rows,
                                             const int* columns, const double* edges, int n_edges, int missing,
                                             byte* bins) {
    fill_bins<double>(X, row_step, column_step, n_rows, columns, edges, n_edges, missing, bins);
}

// Adds the losses that the threads of a block have met, by role, to those of all rows.
__device__ void add_losses(const int64* own, uint64* sums) {
    for (int role = 0; role < 6; ++role) {  // whole units of the three roles, then shares of a unit
        int64 sum = own[role];
        for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
        if ((threadIdx.x & 31) == 0 && sum != 0) atomicAdd(&sums[role], (uint64)sum);
    }
}

__device__ void note_loss(int64* own, int role, double steps, double share_steps) {
    double units = floor(steps);
    int64 whole = (int64)units, shares = (int64)rint((steps - units) * share_steps);
    for (int k = 0; k < 3; ++k) {
        own[k] += role == k ? whole : 0;
        own[3 + k] += role == k ? shares : 0;
    }
}

// g, h and losses as `numeric.gradients` has them: two classes with one score, or a score for each class.
extern "C" __global__ void log_loss(const double* scores, const int* codes, const double* weights,
                                    const signed char* roles, const bool* present, int64 n_rows, int n_outputs,
                                    double g_steps, double h_steps, double loss_steps, int64* g, int* h,
                                    uint64* sums) {
    int64 own[6] = {0, 0, 0, 0, 0, 0};
    for (int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x; i < n_rows; i += (int64)gridDim.x * blockDim.x) {
        double w = weights ? weights[i] : 1.0, loss;
        int role = present && !present[i] ? UNUSED : roles[i], code = codes[i];
        if (n_outputs == 1) {
            double score = scores[i], e = exp(-fabs(score));
            double likely = 1.0 / (1.0 + e), unlikely = e / (1.0 + e);
            bool right = (score >= 0) == (code == 1);
            double distance = right ? unlikely : likely;
            g[i] = (int64)rint((code == 1 ? -distance : distance) * w * g_steps);
            h[i] = (int)ceil(w * likely * unlikely * h_steps);
            loss = right ? log1p(e) : log1p(e) + fabs(score);
        } else {
            double largest = scores[i], total = 0.0;
            for (int k = 1; k < n_outputs; ++k) largest = fmax(largest, scores[k * n_rows + i]);
            for (int k = 0; k < n_outputs; ++k) total += exp(scores[k * n_rows + i] - largest);
            for (int k = 0; k < n_outputs; ++k) {
                double p = exp(scores[k * n_rows + i] - largest) / total;
                g[k * n_rows + i] = (int64)rint((code == k ? p - 1.0 : p) * w * g_steps);
                h[k * n_rows + i] = (int)ceil(w * p * (1.0 - p) * h_steps);
            }
            loss = log(total) + largest - scores[code * n_rows + i];
        }
        note_loss(own, role, w * fmin(loss, LOSS_LIMIT) * loss_steps, g_steps);
    }
    add_losses(own, sums);
}

// The same of the squared error, or of a quantile's loss where `quantile` is not negative.
extern "C" __global__ void regression_loss(const double* scores, const double* target, const double* weights,
                                           const signed char* roles, int64 n_rows, double g_steps, double h_steps,
                                           double loss_steps, double scale, double quantile, int64* g, int* h,
                                           uint64* sums) {
    int64 own[6] = {0, 0, 0, 0, 0, 0};
    for (int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x; i < n_rows; i += (int64)gridDim.x * blockDim.x) {
        double w = weights ? weights[i] : 1.0, excess = scores[i] - target[i], gradient, loss;
        if (quantile < 0) {
            double relative = excess / scale;
            gradient = fmin(fmax(relative, -1.0), 1.0);
            loss = relative * relative;
        } else {
            gradient = excess > 0 ? 1.0 - quantile : excess < 0 ? -quantile : 0.0;
            loss = gradient * excess / scale;
        }
        g[i] = (int64)rint(w * gradient * g_steps);
        h[i] = (int)ceil(w * h_steps);
        note_loss(own, roles[i], w * fmin(loss, LOSS_LIMIT) * loss_steps, g_steps);
    }
    add_losses(own, sums);
}

// Rows of leaves are cut into parts of PART rows. For each part: a bit for each row that goes left, and their number.
extern "C" __global__ void mark_left(const byte* bins, int64 n_rows, const int* rows, const int64* starts,
                                     const int* sizes, const int* positions, const byte* goes_left,
                                     const int* part_starts, int n_splits, unsigned* marks, int* n_left) {
    __shared__ byte goes[MOST_BINS];
    __shared__ int total;
    int split = group_of(part_starts, n_splits, blockIdx.x);
    int first = (blockIdx.x - part_starts[split]) * PART, size = sizes[split], position = positions[split];
    const int* own = rows + starts[split];
    if (threadIdx.x == 0) total = 0;
    goes[threadIdx.x] = goes_left[split * MOST_BINS + threadIdx.x];
    __syncthreads();
    const byte* column = bins + bin_place(n_rows, position, 0);
    int count = 0;
#pragma unroll
    for (int step = 0; step < PART / 256; ++step) {
        int i = first + step * 256 + threadIdx.x;
        bool left = i < size && goes[column[(int64)own[i < size ? i : 0] * LANES]];
        unsigned word = __ballot_sync(0xffffffffu, left);
        if ((threadIdx.x & 31) == 0) marks[blockIdx.x * (PART / 32) + (step * 256 + threadIdx.x) / 32] = word;
        count += __popc(word);
    }
    if ((threadIdx.x & 31) == 0) atomicAdd(&total, count);
    __syncthreads();
    if (threadIdx.x == 0) n_left[blockIdx.x] = total;
}

// For each split: how many rows of earlier parts go left, in place of those of each part, and how many of all.
extern "C" __global__ void add_parts(const int* part_starts, int* n_left, int* totals) {
    __shared__ int of_warps[32];
    int last = part_starts[blockIdx.x + 1], lane = threadIdx.x & 31, warp = threadIdx.x >> 5, before = 0;
    for (int base = part_starts[blockIdx.x]; base < last; base += blockDim.x) {
        int part = base + threadIdx.x, own = part < last ? n_left[part] : 0, sum = own;
        for (int step = 1; step < 32; step <<= 1) {
            int other = __shfl_up_sync(0xffffffffu, sum, step);
            sum += lane >= step ? other : 0;
        }
        if (lane == 31) of_warps[warp] = sum;
        __syncthreads();
        int earlier = 0, all = 0;
        for (int other = 0; other < 32; ++other) {
            earlier += other < warp ? of_warps[other] : 0;
            all += of_warps[other];
        }
        if (part < last) n_left[part] = before + earlier + sum - own;
        before += all;
        __syncthreads();
    }
    if (threadIdx.x == 0) totals[blockIdx.x] = before;
}

// Writes the rows of leaves into the other half of `rows`, those that go left first, each side in its order.
extern "C" __global__ void move_rows(int64 n_rows, int* rows, const int64* starts, const int* sizes,
                                     const int* part_starts, int n_splits, const unsigned* marks, const int* n_left,
                                     const int* totals) {
    __shared__ int before[PART / 32];
    int split = group_of(part_starts, n_splits, blockIdx.x), lane = threadIdx.x & 31;
    int first = (blockIdx.x - part_starts[split]) * PART, size = sizes[split];
    const unsigned* own_marks = marks + blockIdx.x * (PART / 32);
    if (threadIdx.x < 32) {
        int carry = 0;
        for (int base = 0; base < PART / 32; base += 32) {
            int own = __popc(own_marks[base + lane]), sum = own;
            for (int step = 1; step < 32; step <<= 1) {
                int other = __shfl_up_sync(0xffffffffu, sum, step);
                sum += lane >= step ? other : 0;
            }
            before[base + lane] = carry + sum - own;
            carry += __shfl_sync(0xffffffffu, sum, 31);
        }
    }
    __syncthreads();
    int64 start = starts[split];
    const int* from = rows + start;
    int* to = rows + (start < n_rows ? start + n_rows : start - n_rows);
    int left_at = n_left[blockIdx.x], right_at = totals[split] + first - left_at;
#pragma unroll 4
    for (int step = 0; step < PART / 256; ++step) {
        int place = step * 256 + threadIdx.x, i = first + place;
        if (i >= size) break;
        unsigned word = own_marks[place / 32];
        int lefts = before[place / 32] + __popc(word & ((1u << lane) - 1u));
        int row = from[i];
        if (word >> lane & 1u) to[left_at + lefts] = row;
        else to[right_at + place - lefts] = row;
    }
}

// Adds the value of the leaf that a row ends in. Of a node: place of its column (-1 in a leaf), cut, whether missing
// values go left, children, and the row of its categories or -1.
extern "C" __global__ void add_tree(const byte* bins, int64 n_rows, const signed char* roles, const bool* present,
                                    const int* nodes, const byte* categories_left, const double* values, int missing,
                                    double* scores) {
    int64 row = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n_rows || roles[row] == UNUSED || (present && !present[row])) return;
    int node = 0, position;
    while ((position = nodes[6 * node]) >= 0) {
        int bin = bins[bin_place(n_rows, position, row)], category_row = nodes[6 * node + 5];
        bool left = bin == missing ? nodes[6 * node + 2] != 0
                  : category_row >= 0 ? categories_left[category_row * MOST_BINS + bin] != 0
                  : bin <= nodes[6 * node + 1];
        node = nodes[6 * node + (left ? 3 : 4)];
    }
    scores[row] += values[node];
}

// Bits of a residual, in the order of the residuals.
__device__ uint64 key_of(double target, double score) {
    uint64 bits = (uint64)__double_as_longlong(target - score + 0.0), sign = 1ull << 63;
    return bits & sign ? ~bits : bits | sign;
}

// Weights of the residuals of each leaf up to the middle between two bounds. Rows of a leaf may be in several ranges.
extern "C" __global__ void weigh(const int* rows, const int64* starts, const int* sizes, const int* part_starts,
                                 const int* leaves, int n_ranges, const double* scores, const double* target,
                                 const int* weights, const uint64* lower, const uint64* upper, uint64* totals) {
    int range = group_of(part_starts, n_ranges, blockIdx.x), leaf = leaves[range];
    int first = (blockIdx.x - part_starts[range]) * PART, last = min(first + PART, sizes[range]);
    uint64 middle = lower[leaf] + (upper[leaf] - lower[leaf]) / 2, sum = 0;
    for (int i = first + threadIdx.x; i < last; i += blockDim.x) {
        int row = rows[starts[range] + i];
        if (key_of(target[row], scores[row]) <= middle) sum += weights ? weights[row] : 1;
    }
    for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if ((threadIdx.x & 31) == 0 && sum) atomicAdd(&totals[leaf], sum);
}

// Halves the bounds of each leaf: the weight up to what is looked for is at least its rank.
extern "C" __global__ void halve(int n_leaves, const int64* ranks, uint64* lower, uint64* upper, uint64* totals) {
    int leaf = blockIdx.x * blockDim.x + threadIdx.x;
    if (leaf >= n_leaves) return;
    uint64 middle = lower[leaf] + (upper[leaf] - lower[leaf]) / 2;
    if (lower[leaf] < upper[leaf]) {
        if ((int64)totals[leaf] >= ranks[leaf]) upper[leaf] = middle;
        else lower[leaf] = middle + 1;
    }
    totals[leaf] = 0;
}
