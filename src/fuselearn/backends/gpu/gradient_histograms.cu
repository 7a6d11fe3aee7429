// Histograms of gradients, and the search for splits; see gradient_tiles.cu, which stands before this.

// What is added to a bin for each row of some leaves, as words whose sums over CHUNK rows fit into 32 bits: limbs of g,
// the lowest first, the low and high half of h, and either 1 in the free bits of the last word or two halves of the
// weight.
template <int LIMBS, bool WEIGHTED>
__device__ void pack_words(const int* rows, const int64* starts, const int* sizes, const int64* offsets,
                           const int* part_starts, int n_leaves, const int64* g, const int* h, const int* weights,
                           unsigned* words) {
    const int STRIDE = LIMBS == 2 && !WEIGHTED ? 4 : 8;
    int leaf = group_of(part_starts, n_leaves, blockIdx.x);
    int first = (blockIdx.x - part_starts[leaf]) * PART, last = min(first + PART, sizes[leaf]);
    for (int i = first + threadIdx.x; i < last; i += blockDim.x) {
        int row = rows[starts[leaf] + i];
        int64 row_g = g[row];
        unsigned row_h = h[row], own[8] = {0, 0, 0, 0, 0, 0, 0, 0};
#pragma unroll
        for (int limb = 0; limb < LIMBS - 1; ++limb)
            own[limb] = (unsigned)(row_g >> (limb * LIMB_BITS)) & ((1u << LIMB_BITS) - 1u);
        own[LIMBS - 1] = (unsigned)(int)(row_g >> ((LIMBS - 1) * LIMB_BITS));
        own[LIMBS] = row_h & ((1u << HALF_BITS) - 1u);
        own[LIMBS + 1] = (row_h >> HALF_BITS) << COUNT_BITS;
        if (WEIGHTED) {
            unsigned weight = weights[row];
            own[LIMBS + 2] = weight & ((1u << HALF_BITS) - 1u);
            own[LIMBS + 3] = weight >> HALF_BITS;
        } else
            own[LIMBS + 1] += 1u;
        uint4* to = (uint4*)(words + (offsets[leaf] + i) * STRIDE);
        to[0] = make_uint4(own[0], own[1], own[2], own[3]);
        if (STRIDE == 8) to[1] = make_uint4(own[4], own[5], own[6], own[7]);
    }
}

__device__ uint4 of_lane(uint4 value, int lane) {
    return make_uint4(__shfl_sync(0xffffffffu, value.x, lane), __shfl_sync(0xffffffffu, value.y, lane),
                      __shfl_sync(0xffffffffu, value.z, lane), __shfl_sync(0xffffffffu, value.w, lane));
}

// Adds the histograms of chunks of leaves to those of the leaves. Each lane has a column of its own, so that the
// additions of a warp are to different banks of the shared memory; after CHUNK rows the sums, which are of 32 bits, are
// moved on to the 64 bits of registers.
template <int LIMBS, bool WEIGHTED>
__device__ void count_rows(const byte* bins, int64 n_rows, const int* rows, const int64* starts, const int* sizes,
                           const int64* offsets, const int* chunk_starts, int n_leaves, int chunk_rows,
                           const int* tiles, int n_tiles, const int* slots, int n_bins, const unsigned* words,
                           uint64* histograms) {
    const int WORDS = LIMBS + 2 + (WEIGHTED ? 2 : 0), STRIDE = LIMBS == 2 && !WEIGHTED ? 4 : 8;
    const int CELLS = MOST_BINS * LANES / THREADS, N_WARPS = THREADS / 32;
    // Through shared memory lanes tell each other faster than directly, but seven words leave no room for that.
    const bool STAGED = WORDS < 7;
    unsigned* sums = (unsigned*)shared_memory;  // (bin, word, lane)
    uint4* stage = (uint4*)(sums + n_bins * WORDS * LANES) + (threadIdx.x >> 5) * 32 * (STRIDE / 4);
    int leaf = group_of(chunk_starts, n_leaves, blockIdx.x), tile = tiles[blockIdx.y];
    int first = (blockIdx.x - chunk_starts[leaf]) * chunk_rows, last = min(first + chunk_rows, sizes[leaf]);
    if (first >= last) return;  // there are as many blocks as the largest leaf has chunks
    const int* own_rows = rows + starts[leaf];
    const uint4* own_words = (const uint4*)(words + offsets[leaf] * STRIDE);
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const byte* tile_bins = bins + (int64)tile * n_rows * LANES + lane;
    for (int i = threadIdx.x; i < n_bins * WORDS * LANES; i += THREADS) sums[i] = 0;
    int64 sum_g[CELLS], sum_h[CELLS], sum_w[WEIGHTED ? CELLS : 1];
#pragma unroll
    for (int k = 0; k < CELLS; ++k) sum_g[k] = sum_h[k] = 0;
    if (WEIGHTED) {
#pragma unroll
        for (int k = 0; k < CELLS; ++k) sum_w[WEIGHTED ? k : 0] = 0;
    }
    __syncthreads();
    for (int start = first; start < last; start += CHUNK) {
        int stop = min(start + CHUNK, last);
        for (int at = start + warp * 32; at < stop; at += N_WARPS * 32) {
            // Each lane reads what belongs to one of 32 rows, and they tell each other. Behind the last row all is 0.
            int row = 0;
            uint4 low = make_uint4(0, 0, 0, 0), high = make_uint4(0, 0, 0, 0);
            if (at + lane < stop) {
                int64 place = (int64)(at + lane) * (STRIDE / 4);
                row = own_rows[at + lane];
                low = own_words[place];
                if (STRIDE == 8) high = own_words[place + 1];
            }
            if (STAGED) {
                __syncwarp();
                stage[lane * (STRIDE / 4)] = low;
                if (STRIDE == 8) stage[lane * 2 + 1] = high;
                __syncwarp();
            }
#pragma unroll
            for (int base = 0; base < 32; base += ROWS_AT_A_TIME) {
                int bin[ROWS_AT_A_TIME];
#pragma unroll
                for (int k = 0; k < ROWS_AT_A_TIME; ++k)
                    bin[k] = __ldg(tile_bins + (int64)__shfl_sync(0xffffffffu, row, base + k) * LANES);
#pragma unroll
                for (int k = 0; k < ROWS_AT_A_TIME; ++k) {
                    unsigned* cell = sums + bin[k] * (WORDS * LANES) + lane;
                    uint4 own_low = STAGED ? stage[(base + k) * (STRIDE / 4)] : of_lane(low, base + k);
                    atomicAdd(cell, own_low.x);
                    atomicAdd(cell + LANES, own_low.y);
                    atomicAdd(cell + 2 * LANES, own_low.z);
                    atomicAdd(cell + 3 * LANES, own_low.w);
                    if (WORDS > 4) {
                        uint4 own_high = STAGED ? stage[(base + k) * 2 + 1] : of_lane(high, base + k);
                        atomicAdd(cell + 4 * LANES, own_high.x);
                        if (WORDS > 5) atomicAdd(cell + 5 * LANES, own_high.y);
                        if (WORDS > 6) atomicAdd(cell + 6 * LANES, own_high.z);
                    }
                }
            }
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < CELLS; ++k) {
            int number = threadIdx.x + k * THREADS;
            if (number < n_bins * LANES) {
                unsigned* cell = sums + (number / LANES) * (WORDS * LANES) + lane;
                int64 g = 0;
#pragma unroll
                for (int limb = 0; limb < LIMBS; ++limb) {
                    unsigned word = cell[limb * LANES];
                    g += (limb < LIMBS - 1 ? (int64)word : (int64)(int)word) << (limb * LIMB_BITS);
                    cell[limb * LANES] = 0;
                }
                sum_g[k] += g;
                unsigned low = cell[LIMBS * LANES], high = cell[(LIMBS + 1) * LANES];
                cell[LIMBS * LANES] = cell[(LIMBS + 1) * LANES] = 0;
                int64 h = (int64)low + ((int64)(high >> COUNT_BITS) << HALF_BITS);
                if (WEIGHTED) {
                    sum_h[k] += h;
                    sum_w[WEIGHTED ? k : 0] +=
                        (int64)cell[(LIMBS + 2) * LANES] + ((int64)cell[(LIMBS + 3) * LANES] << HALF_BITS);
                    cell[(LIMBS + 2) * LANES] = cell[(LIMBS + 3) * LANES] = 0;
                } else
                    sum_h[k] += (h << SUM_COUNT_BITS) + (high & ((1u << COUNT_BITS) - 1u));
            }
        }
        __syncthreads();
    }
    uint64* out = histograms + ((int64)slots[leaf] * n_tiles + tile) * n_bins * 3 * LANES + lane;
#pragma unroll
    for (int k = 0; k < CELLS; ++k) {
        int number = threadIdx.x + k * THREADS;
        if (number < n_bins * LANES) {
            uint64* cell = out + (number / LANES) * 3 * LANES;
            int64 h = WEIGHTED ? sum_h[k] : sum_h[k] >> SUM_COUNT_BITS;
            int64 w = WEIGHTED ? sum_w[WEIGHTED ? k : 0] : sum_h[k] & ((1 << SUM_COUNT_BITS) - 1);
            if (sum_g[k] != 0) atomicAdd(cell, (uint64)sum_g[k]);
            if (h != 0) atomicAdd(cell + LANES, (uint64)h);
            if (w != 0) atomicAdd(cell + 2 * LANES, (uint64)w);
        }
    }
}

#define COUNTING(NAME, LIMBS, WEIGHTED)                                                                                \
    extern "C" __global__ void pack_##NAME(const int* rows, const int64* starts, const int* sizes,                     \
                                           const int64* offsets, const int* part_starts, int n_leaves, const int64* g, \
                                           const int* h, const int* weights, unsigned* words) {                        \
        pack_words<LIMBS, WEIGHTED>(rows, starts, sizes, offsets, part_starts, n_leaves, g, h, weights, words);        \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS, 1) count_##NAME(                                             \
        const byte* bins, int64 n_rows, const int* rows, const int64* starts, const int* sizes, const int64* offsets,  \
        const int* chunk_starts, int n_leaves, int chunk_rows, const int* tiles, int n_tiles, const int* slots,        \
        int n_bins, const unsigned* words, uint64* histograms) {                                                       \
        count_rows<LIMBS, WEIGHTED>(bins, n_rows, rows, starts, sizes, offsets, chunk_starts, n_leaves, chunk_rows,    \
                                    tiles, n_tiles, slots, n_bins, words, histograms);                                 \
    }

COUNTING(2, 2, false)
COUNTING(3, 3, false)
COUNTING(2_weighted, 2, true)
COUNTING(3_weighted, 3, true)

// The same without shared memory, for GPUs that have too little of it: every row is added to the sums of all.
extern "C" __global__ void count_in_place(const byte* bins, int64 n_rows, const int* rows, const int64* starts,
                                          const int* sizes, const int* part_starts, int n_leaves, const int* tiles,
                                          int n_tiles, const int* slots, int n_bins, const int64* g, const int* h,
                                          const int* weights, uint64* histograms) {
    int leaf = group_of(part_starts, n_leaves, blockIdx.x), tile = tiles[blockIdx.y], lane = threadIdx.x & 31;
    int first = (blockIdx.x - part_starts[leaf]) * PART, last = min(first + PART, sizes[leaf]);
    const byte* tile_bins = bins + (int64)tile * n_rows * LANES + lane;
    uint64* out = histograms + ((int64)slots[leaf] * n_tiles + tile) * n_bins * 3 * LANES + lane;
    for (int i = first + (threadIdx.x >> 5); i < last; i += blockDim.x >> 5) {
        int row = rows[starts[leaf] + i];
        uint64* cell = out + tile_bins[(int64)row * LANES] * 3 * LANES;
        atomicAdd(cell, (uint64)g[row]);
        atomicAdd(cell + LANES, (uint64)h[row]);
        atomicAdd(cell + 2 * LANES, (uint64)(weights ? weights[row] : 1));
    }
}

// histograms[slot] = 0, or, with `others`, histograms[slot] -= histograms[other]; some tiles only.
extern "C" __global__ void subtract(int64* histograms, const int* slots, const int* others, const int* tiles,
                                    int n_tiles, int n_bins) {
    int64 size = (int64)n_bins * 3 * LANES, i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    int64 place = (int64)tiles[blockIdx.y] * size + i;
    int64* own = histograms + (int64)slots[blockIdx.z] * n_tiles * size + place;
    *own = others ? *own - histograms[(int64)others[blockIdx.z] * n_tiles * size + place] : 0;
}

// Sums of g, h and weight of a leaf, from the bins of one column.
extern "C" __global__ void leaf_sums(const int64* histograms, int slot, int n_tiles, int position, int n_bins,
                                     int64* sums) {
    const int64* own = histograms + ((int64)slot * n_tiles + position / LANES) * n_bins * 3 * LANES + position % LANES;
    if (threadIdx.x < 3) {
        int64 sum = 0;
        for (int b = 0; b < n_bins; ++b) sum += own[(b * 3 + threadIdx.x) * LANES];
        sums[threadIdx.x] = sum;
    }
}

// Categories of a leaf by g / (h + smoothing), those of equal means by their bins.
extern "C" __global__ void order_categories(const int64* histograms, const int* slots, int n_tiles, int n_bins,
                                            const int* positions, const int* numbers, int n_categorical,
                                            double unit_g, double unit_h, byte* orders, int* n_ordered) {
    __shared__ double means[MOST_BINS];
    __shared__ bool here[MOST_BINS];
    int position = positions[blockIdx.y], b = threadIdx.x;
    int64 out = (int64)blockIdx.x * n_categorical + numbers[blockIdx.y];
    const int64* own =
        histograms + ((int64)slots[blockIdx.x] * n_tiles + position / LANES) * n_bins * 3 * LANES + position % LANES;
    here[b] = b < n_bins && own[(b * 3 + 2) * LANES] > 0;
    if (b < n_bins)
        means[b] = own[b * 3 * LANES] * unit_g / (own[(b * 3 + 1) * LANES] * unit_h + CATEGORY_SMOOTHING);
    int n = __syncthreads_count(here[b]);
    if (here[b]) {
        int rank = 0;
        for (int other = 0; other < n_bins; ++other)
            rank += here[other] && (means[other] < means[b] || (means[other] == means[b] && other < b));
        orders[out * MOST_BINS + rank] = (byte)b;
    }
    if (b == 0) n_ordered[out] = n;
}

// The best split of a leaf on each column; see `numeric.gradient_histograms`, whose steps these are.
extern "C" __global__ void scan(const int64* histograms, const int* slots, const int* tiles, int n_tiles, int n_bins,
                                const int64* sums, const double* bounds, const int* n_values, const int* monotonic,
                                const int* order_of, const byte* orders, const int* n_ordered, int n_categorical,
                                double unit_g, double unit_h, double l2, int64 least_w, int64 least_h, double* scores,
                                int* cuts, int64* left_sums) {
    const int BATCH = 8, SEGMENT = MOST_BINS / SEGMENTS;
    __shared__ int64 segment_sums[3][SEGMENTS][LANES], segment_best[3][2][SEGMENTS][LANES];
    __shared__ double segment_score[2][SEGMENTS][LANES];
    __shared__ int segment_cut[2][SEGMENTS][LANES];
    int lane = threadIdx.x & 31, segment = threadIdx.x >> 5, tile = tiles[blockIdx.y], position = tile * LANES + lane;
    const int64* own = histograms + ((int64)slots[blockIdx.x] * n_tiles + tile) * n_bins * 3 * LANES + lane;
    int64 g = sums[3 * blockIdx.x], h = sums[3 * blockIdx.x + 1], weight = sums[3 * blockIdx.x + 2];
    double lower = bounds[2 * blockIdx.x], upper = bounds[2 * blockIdx.x + 1], penalty = l2;
    bool unbounded = lower == -INFINITE && upper == INFINITE;
    int place = order_of[position], sign = monotonic[position], missing = n_bins - 1;
    int n_directions = 1, n_cuts = n_values[position] - 1;
    const byte* order = 0;
    if (place >= 0) {
        int64 number = (int64)blockIdx.x * n_categorical + place;
        n_cuts = n_ordered[number] - 1;
        penalty = l2 + CATEGORY_SMOOTHING;
        order = orders + number * MOST_BINS;
    } else if (n_cuts >= 0 && own[(missing * 3 + 2) * LANES] > 0)
        n_directions = 2;
    // Cuts of a column are shared out among warps in segments, whose sums are added up first.
    int begin = segment * SEGMENT, most = n_directions == 2 ? n_cuts + 1 : n_cuts, end = min(begin + SEGMENT, most);
    int64 before_g = 0, before_h = 0, before_w = 0;
    for (int cut = begin; cut < end; ++cut) {
        int b = order ? order[cut] : cut;
        before_g += own[b * 3 * LANES];
        before_h += own[(b * 3 + 1) * LANES];
        before_w += own[(b * 3 + 2) * LANES];
    }
    segment_sums[0][segment][lane] = before_g;
    segment_sums[1][segment][lane] = before_h;
    segment_sums[2][segment][lane] = before_w;
    __syncthreads();
    before_g = before_h = before_w = 0;
    for (int other = 0; other < segment; ++other) {
        before_g += segment_sums[0][other][lane];
        before_h += segment_sums[1][other][lane];
        before_w += segment_sums[2][other][lane];
    }
    for (int direction = 0; direction < n_directions; ++direction) {
        int64 left_g = before_g, left_h = before_h, left_w = before_w;
        int stop = min(end, direction == 0 ? most : n_cuts);
        if (direction == 1) {
            left_g += own[missing * 3 * LANES];
            left_h += own[(missing * 3 + 1) * LANES];
            left_w += own[(missing * 3 + 2) * LANES];
        }
        double best_score = -INFINITE, threshold = 0.0;
        int best_cut = -1;
        int64 best_g = 0, best_h = 0, best_w = 0;
        for (int base = begin; base < stop; base += BATCH) {
            int64 bin_g[BATCH], bin_h[BATCH], bin_w[BATCH];
#pragma unroll
            for (int k = 0; k < BATCH; ++k) {
                int cut = min(base + k, stop - 1), b = order ? order[cut] : cut;
                bin_g[k] = own[b * 3 * LANES];
                bin_h[k] = own[(b * 3 + 1) * LANES];
                bin_w[k] = own[(b * 3 + 2) * LANES];
            }
#pragma unroll
            for (int k = 0; k < BATCH; ++k) {
                if (base + k >= stop) continue;
                left_g += bin_g[k];
                left_h += bin_h[k];
                left_w += bin_w[k];
                if (left_w < least_w || left_h < least_h) continue;
                if (weight - left_w < least_w || h - left_h < least_h) continue;
                double side_g = left_g * unit_g, other_g = (g - left_g) * unit_g;
                double side_h = left_h * unit_h + penalty, other_h = (h - left_h) * unit_h + penalty;
                if (unbounded && side_g * side_g * other_h + other_g * other_g * side_h < threshold * side_h * other_h)
                    continue;
                double side_value = fmin(fmax(-side_g / side_h, lower), upper);
                double other_value = fmin(fmax(-other_g / other_h, lower), upper);
                if (sign * (other_value - side_value) < 0) continue;
                double score = -side_value * (2 * side_g + side_h * side_value) -
                               other_value * (2 * other_g + other_h * other_value);
                if (best_cut < 0 || score > best_score + TIE_SHARE * fabs(best_score)) {
                    best_score = score;
                    best_cut = base + k;
                    threshold = score * NEARLY;
                    best_g = left_g;
                    best_h = left_h;
                    best_w = left_w;
                }
            }
        }
        segment_score[direction][segment][lane] = best_score;
        segment_cut[direction][segment][lane] = best_cut;
        segment_best[0][direction][segment][lane] = best_g;
        segment_best[1][direction][segment][lane] = best_h;
        segment_best[2][direction][segment][lane] = best_w;
    }
    __syncthreads();
    if (segment > 0) return;
    double best_score = -INFINITE;
    int best_cut = -1, best_direction = 0, best_segment = 0;
    for (int direction = 0; direction < n_directions; ++direction)
        for (int other = 0; other < SEGMENTS; ++other) {
            double score = segment_score[direction][other][lane];
            int cut = segment_cut[direction][other][lane];
            if (cut >= 0 && (best_cut < 0 || score > best_score + TIE_SHARE * fabs(best_score))) {
                best_score = score;
                best_cut = cut;
                best_direction = direction;
                best_segment = other;
            }
        }
    int64 out = ((int64)blockIdx.x * n_tiles + tile) * LANES + lane;
    scores[out] = best_score;
    cuts[2 * out] = best_cut;
    cuts[2 * out + 1] = best_direction;
    for (int field = 0; field < 3; ++field)
        left_sums[3 * out + field] = best_cut < 0 ? 0 : segment_best[field][best_direction][best_segment][lane];
}

// The first column whose score is, to rounding, the largest, with all that the host needs of its split: bits of the
// score, place of the column, cut, direction, sums of the left side, weight of missing values, number of ordered
// categories, and these, eight to a number.
extern "C" __global__ void choose(const int64* histograms, const int* slots, int n_tiles, int n_bins,
                                  const int* positions, int n_columns, const double* scores, const int* cuts,
                                  const int64* left_sums, const int* order_of, const byte* orders,
                                  const int* n_ordered, int n_categorical, int64* records) {
    __shared__ double largest[32];
    __shared__ int first;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int64 base = (int64)blockIdx.x * n_tiles * LANES;
    double own = -INFINITE;
    for (int place = threadIdx.x; place < n_columns; place += blockDim.x)
        own = fmax(own, scores[base + positions[place]]);
    for (int step = 16; step > 0; step >>= 1) own = fmax(own, __shfl_xor_sync(0xffffffffu, own, step));
    if (lane == 0) largest[warp] = own;
    if (threadIdx.x == 0) first = n_columns;
    __syncthreads();
    double most = -INFINITE;
    for (int other = 0; other < blockDim.x / 32; ++other) most = fmax(most, largest[other]);
    double least = most > -INFINITE && most < INFINITE ? most - TIE_SHARE * fabs(most) : most;
    for (int place = threadIdx.x; place < n_columns; place += blockDim.x)
        if (scores[base + positions[place]] >= least) {
            atomicMin(&first, place);
            break;
        }
    __syncthreads();
    int position = positions[first];
    int64 from = base + position, *record = records + (int64)blockIdx.x * RECORD;
    if (threadIdx.x == 0) {
        record[0] = __double_as_longlong(scores[from]);
        record[1] = first;
        record[2] = cuts[2 * from];
        record[3] = cuts[2 * from + 1];
        for (int field = 0; field < 3; ++field) record[4 + field] = left_sums[3 * from + field];
        int64 slot = (int64)slots[blockIdx.x] * n_tiles + position / LANES;
        record[7] = histograms[(slot * n_bins + n_bins - 1) * 3 * LANES + 2 * LANES + position % LANES];
        record[8] = 0;
    }
    if (order_of[position] >= 0) {
        int64 number = (int64)blockIdx.x * n_categorical + order_of[position];
        if (threadIdx.x == 0) record[8] = n_ordered[number];
        const int64* order = (const int64*)(orders + number * MOST_BINS);
        if (threadIdx.x < MOST_BINS / 8) record[9 + threadIdx.x] = order[threadIdx.x];
    }
}
