// Scores of rows by many trees, as `numeric.tree_scores` packs them: of a node its cut, then its column and its link,
// in 16 bytes. A link is 4 * left child + m, where the right child follows the left one, and m is 1 if missing values
// go right; a leaf leads to itself.

typedef long long int64;

// scores[row][output] gets the baseline, then the values of the trees in their order, as on the host. With `rows`,
// these rows of X are meant.
template <typename Value>
__device__ void tree_scores(const Value* X, int64 row_step, int64 column_step, const int64* rows, int64 n_rows,
                            const int4* nodes, const double* values, const int* roots, const int* outputs,
                            int n_trees, const double* baseline, int n_outputs, double* scores) {
    int64 number = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (number >= n_rows) return;
    const Value* x = X + (rows ? rows[number] : number) * row_step;
    double* own = scores + number * n_outputs;
    for (int k = 0; k < n_outputs; ++k) own[k] = baseline[k];
    double single = own[0];
    for (int tree = 0; tree < n_trees; ++tree) {
        unsigned place = roots[tree];
        while (true) {
            int4 node = nodes[place];
            unsigned link = node.w, left = link >> 2;
            if (left == place) break;
            double value = (double)x[(unsigned)node.z * column_step], cut = __hiloint2double(node.y, node.x);
            place = left + (value != value ? link & 1u : value > cut ? 1u : 0u);
        }
        if (n_outputs == 1) single += values[place];
        else own[outputs[tree]] += values[place];
    }
    if (n_outputs == 1) own[0] = single;
}

extern "C" __global__ void tree_scores_float32(const float* X, int64 row_step, int64 column_step, const int64* rows,
                                               int64 n_rows, const int4* nodes, const double* values,
                                               const int* roots, const int* outputs, int n_trees,
                                               const double* baseline, int n_outputs, double* scores) {
    tree_scores<float>(X, row_step, column_step, rows, n_rows, nodes, values, roots, outputs, n_trees, baseline,
                       n_outputs, scores);
}

extern "C" __global__ void tree_scores_float64(const double* X, int64 row_step, int64 column_step, const int64* rows,
                                               int64 n_rows, const int4* nodes, const double* values,
                                               const int* roots, const int* outputs, int n_trees,
                                               const double* baseline, int n_outputs, double* scores) {
    tree_scores<double>(X, row_step, column_step, rows, n_rows, nodes, values, roots, outputs, n_trees, baseline,
                        n_outputs, scores);
}
