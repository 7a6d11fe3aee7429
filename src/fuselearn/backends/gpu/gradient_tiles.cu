// Kernels of gradient boosting on a GPU: what those of gradient_rows.cu and gradient_histograms.cu have in common.
// gradient_tiles.py puts the files together, and gradient_kernels.py starts the kernels.
//
// Gradients are whole numbers, so that sums of them do not depend on the order of the additions, and the search for
// splits takes the same steps in the same precision as on the host (compiled with --fmad=false): trees are the same
// wherever the gradients are.
//
// Columns stand in tiles of 32. The bins of a row in a tile are 32 bytes, one memory transaction, whatever rows a leaf
// has. A histogram has the layout (tile, bin, field, column of the tile), with the fields g, h and weight: the lanes of
// a warp are the columns of a tile, both where rows are counted and where splits are looked for.

#define LANES 32
#define BIN_ROWS 4096
#define CHUNK 2048
#define THREADS 512
#define ROWS_AT_A_TIME 16
#define MOST_BINS 256
#define LIMB_BITS 21
#define HALF_BITS 20
#define COUNT_BITS 12
#define SUM_COUNT_BITS 17
#define PART 4096
#define SEGMENTS 8
#define RECORD 41
#define UNUSED 0
#define LOSS_LIMIT 1048576.0
#define TIE_SHARE 1e-10
#define NEARLY (1 - 1e-9)
#define CATEGORY_SMOOTHING 10.0
#define INFINITE __longlong_as_double(0x7ff0000000000000ll)

typedef long long int64;
typedef unsigned long long uint64;
typedef unsigned char byte;

extern __shared__ __align__(16) byte shared_memory[];

// The last group that starts at or before a number.
__device__ int group_of(const int* starts, int n_groups, int number) {
    int low = 0, high = n_groups - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (starts[middle] <= number) low = middle;
        else high = middle - 1;
    }
    return low;
}

__device__ int64 bin_place(int64 n_rows, int position, int64 row) {
    return ((int64)(position / LANES) * n_rows + row) * LANES + position % LANES;
}
