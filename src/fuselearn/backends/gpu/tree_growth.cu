// The growth of a whole tree on the GPU, leaf by leaf, the one of the largest gain first, as on the host
// (`boosting.gradient.growth`): kernels of gradient_rows.cu and gradient_histograms.cu split and count one leaf at a
// time, and those here say which, in memory that these read. The host starts as many steps as a tree may have splits,
// and waits for none of them. Of numbers only: neither categories nor monotonic columns.
//
// A node is a row of `nodes`: where its rows begin, how many they are, sums of g, h and weights, its histogram, depth,
// left child (-1 in a leaf, and the right one follows it), bits of the gain of its best split (-infinity where there is
// none, or it is made), and the record of that split as `choose` writes it.

#define NODE 18
#define START 0
#define SIZE 1
#define SUMS 2
#define SLOT 5
#define DEPTH 6
#define LEFT 7
#define GAIN 8
#define SPLIT 9
#define LEAST_GAIN 1e-12
// control: number of nodes, node to be split or -1, first node that `choose` has looked at, number of these.
#define N_NODES 0
#define CHOSEN 1
#define LOOKED_AT 2
#define N_LOOKED_AT 3
// What the kernels for one leaf read. task: first row, place of its words; sizes: its rows, then first and last part,
// then first and last chunk, then the slots of new, parent's and sibling's histogram.
#define RANGE 0
#define OFFSET 1
#define ROWS 0
#define PARTS 1
#define CHUNKS 3
#define NEW_SLOT 5
#define PARENT_SLOT 6
#define SIBLING_SLOT 7

__device__ void set_range(int64* task, int* sizes, int64 start, int64 size, int chunk_rows) {
    task[RANGE] = start;
    task[OFFSET] = 0;
    sizes[ROWS] = (int)size;
    sizes[PARTS] = sizes[CHUNKS] = 0;
    sizes[PARTS + 1] = (int)((size + PART - 1) / PART);
    sizes[CHUNKS + 1] = (int)((size + chunk_rows - 1) / chunk_rows);
}

// The root, whose rows were counted.
extern "C" __global__ void plant_tree(int64 n_rows, int slot, const int64* root_sums, int64* nodes, int64* control,
                                      int* slots, int64* sums) {
    nodes[START] = 0;
    nodes[SIZE] = n_rows;
    for (int field = 0; field < 3; ++field) nodes[SUMS + field] = sums[field] = root_sums[field];
    nodes[SLOT] = slots[0] = slot;
    nodes[DEPTH] = 0;
    nodes[LEFT] = -1;
    nodes[GAIN] = __double_as_longlong(-INFINITE);
    control[N_NODES] = 1;
    control[CHOSEN] = -1;
    control[LOOKED_AT] = 0;
    control[N_LOOKED_AT] = 1;
}

// Notes the best splits of the nodes that were looked at, chooses the leaf to be split, and tells where its rows go.
extern "C" __global__ void choose_leaf(int64* nodes, int64* control, const int64* records, double unit_g, double unit_h,
                                       double l2, int64 least_w, int max_depth, int missing, const int* positions,
                                       int64* task, int* sizes, int* position, byte* goes_left) {
    __shared__ double gains[MOST_BINS];
    __shared__ int64 chosen;
    int k = threadIdx.x, n_nodes = (int)control[N_NODES];
    if (k < control[N_LOOKED_AT]) {
        int64* node = nodes + (control[LOOKED_AT] + k) * NODE;
        for (int field = 0; field < NODE - SPLIT; ++field) node[SPLIT + field] = records[k * RECORD + field];
        double g = node[SUMS] * unit_g, h = node[SUMS + 1] * unit_h + l2, value = h > 0 ? -g / h : 0.0;
        double score = __longlong_as_double(node[SPLIT]), gain = score - -value * (2 * g + h * value);
        bool open = node[SUMS + 2] >= 2 * least_w && node[DEPTH] < max_depth && node[SPLIT + 2] >= 0;
        open = open && gain > LEAST_GAIN * fabs(score);
        node[GAIN] = __double_as_longlong(open ? gain : -INFINITE);
    }
    __syncthreads();
    gains[k] = k < n_nodes ? __longlong_as_double(nodes[k * NODE + GAIN]) : -INFINITE;
    __syncthreads();
    if (k == 0) {
        double largest = -INFINITE;
        for (int other = 0; other < n_nodes; ++other) largest = fmax(largest, gains[other]);
        chosen = -1;
        if (largest > -INFINITE)
            for (int other = n_nodes - 1; other >= 0; --other)
                if (gains[other] >= largest * (1 - TIE_SHARE)) chosen = other;
        control[N_LOOKED_AT] = 0;
        control[CHOSEN] = chosen;
        int64* node = nodes + (chosen < 0 ? 0 : chosen) * NODE;
        set_range(task, sizes, node[START], chosen < 0 ? 0 : node[SIZE], PART);
        position[0] = chosen < 0 ? positions[0] : positions[node[SPLIT + 1]];
    }
    __syncthreads();
    if (chosen < 0) return;
    const int64* node = nodes + chosen * NODE;
    // Bins that the leaf has no rows of go with the heavier side.
    int64 left_weight = node[SPLIT + 6], weight = node[SUMS + 2];
    bool left = left_weight >= weight - left_weight;
    if (k < missing) left = k <= node[SPLIT + 2];
    if (k == missing && node[SPLIT + 7] > 0) left = node[SPLIT + 3] > 0;
    goes_left[k] = left;
}

// The children of the leaf that was split, of which the lighter one is to be counted.
extern "C" __global__ void add_children(int64 n_rows, int64* nodes, int64* control, const int* n_left, int chunk_rows,
                                        int spare_slot, int64* task, int* sizes, int* slots, int64* sums) {
    int64 chosen = control[CHOSEN];
    if (chosen < 0) {
        set_range(task, sizes, 0, 0, chunk_rows);
        sizes[NEW_SLOT] = sizes[PARENT_SLOT] = sizes[SIBLING_SLOT] = slots[0] = slots[1] = spare_slot;
        return;
    }
    int64 first = control[N_NODES];
    int64 *parent = nodes + chosen * NODE, *left = nodes + first * NODE, *right = left + NODE;
    int64 start = parent[START] < n_rows ? parent[START] + n_rows : parent[START] - n_rows;
    parent[LEFT] = first;
    parent[GAIN] = __double_as_longlong(-INFINITE);
    left[START] = start;
    left[SIZE] = n_left[0];
    right[START] = start + n_left[0];
    right[SIZE] = parent[SIZE] - n_left[0];
    for (int field = 0; field < 3; ++field) {
        left[SUMS + field] = sums[field] = parent[SPLIT + 4 + field];
        right[SUMS + field] = sums[3 + field] = parent[SUMS + field] - parent[SPLIT + 4 + field];
    }
    left[DEPTH] = right[DEPTH] = parent[DEPTH] + 1;
    left[LEFT] = right[LEFT] = -1;
    left[GAIN] = right[GAIN] = __double_as_longlong(-INFINITE);
    bool left_is_lighter = left[SUMS + 2] <= right[SUMS + 2];
    int64 *lighter = left_is_lighter ? left : right, *other = left_is_lighter ? right : left;
    lighter[SLOT] = (first - 1) / 2;
    other[SLOT] = parent[SLOT];
    set_range(task, sizes, lighter[START], lighter[SIZE], chunk_rows);
    sizes[NEW_SLOT] = sizes[SIBLING_SLOT] = (int)lighter[SLOT];
    sizes[PARENT_SLOT] = (int)parent[SLOT];
    slots[0] = (int)left[SLOT];
    slots[1] = (int)right[SLOT];
    control[N_NODES] = first + 2;
    control[LOOKED_AT] = first;
    control[N_LOOKED_AT] = 2;
}
