#include "module.h"

#include "borders.h"
#include "cascade_ways.h"
#include "op_ways.h"
#include "residents.h"

namespace {

using namespace columns;

class Array : public HeldArray {
public:
    Int *writable() const { return static_cast<Int *>(view_.buf); }
    const Int *data() const { return static_cast<const Int *>(view_.buf); }
    Int size() const { return view_.len / Int(sizeof(Int)); }

    template <class Row> std::vector<Row> rows() const {
        const Row *first = reinterpret_cast<const Row *>(view_.buf);
        return {first, first + view_.len / Int(sizeof(Row))};
    }
};

enum Position { OPS, NEEDS, MAKES, TENSORS, TABLE, CHOICES, AGAIN, GROUPS, PLACES, ROOM, SHARES, BY_CHANNELS, BANDS, RUNS, CHIP, MOVES, FITTING, POINTS, BEFORE_TIMES, REST, COUNT };
enum Setting { LOAD = 0, STORE = 3, WEIGHTS = 6, CAPACITY = 9, LAST, ROLLS, MOST_STEPS, CHANNELS, ON_ITS_OWN, LATER, MOST, BESIDES, TAKES, WHOLE_TOO, IN_TURN, WIDTH, MOST_CYCLES, FOR_BYTES, MOST_MACS, BY_ROWS };

// The sets of bands, after none: their number, cycles by band and op, columns by band and tensor, all columns.
std::vector<Bands> read_bands(const Array &array, const Stretch &stretch) {
    std::vector<Bands> found(1);
    const Int *at = array.data(), *end = at + array.size();
    const Int tensors = Int(stretch.tensors.size());
    while (at < end) {
        const Int count = *at;
        const Int *cycles = at + 1, *columns = cycles + count * stretch.count();
        found.push_back({count, cycles, columns, columns + count * tensors});
        at = columns + (count + 1) * tensors;
    }
    return found;
}

std::vector<Way> find_ways(const Array *arrays, const Around &around, const Places &places) {
    const Int *settings = arrays[CHIP].data();
    // What further runs add, of loads and then of stores; weights lie in one run.
    const Int lengths = arrays[RUNS].size() / 2;
    auto rate = [&](Int at) {
        const Int *further = arrays[RUNS].data() + (at == STORE ? lengths : 0);
        return Rate{settings[at], settings[at + 1], settings[at + 2], further, lengths};
    };
    const Stretch stretch{arrays[OPS].rows<OpRow>(), arrays[NEEDS].rows<NeedRow>(), arrays[MAKES].rows<Int>(),
                          arrays[TENSORS].rows<TensorRow>(), arrays[TABLE].data(), settings[ROLLS] != 0};
    const Chip chip{rate(LOAD), rate(STORE), rate(WEIGHTS), settings[LAST] != 0, settings[WHOLE_TOO] != 0,
                    around.for_bytes, settings[MOST_MACS]};
    Taker best;
    if (settings[ON_ITS_OWN]) {
        const std::vector<Cut> cuts = arrays[CHOICES].rows<Cut>();
        Int whole = ENDLESS;
        for (const Cut &cut : cuts) {
            const bool all = cut.rows >= stretch.ops[0].rows && cut.channels >= settings[CHANNELS];
            whole = all ? std::min(whole, cut.cycles) : whole;
        }
        OpWays ways(stretch, chip, places, best, settings[CHANNELS], settings[TAKES], arrays[BY_CHANNELS].data(),
                    whole, settings[IN_TURN] != 0, settings[BY_ROWS] != 0);
        for (Int number = 0; number < Int(cuts.size()); ++number) {
            ways.take(number, cuts[number]);
        }
    } else {
        CascadeWays ways(stretch, chip, places, around.ahead, around.ahead_after, around.behind, best);
        const std::vector<Bands> bands = read_bands(arrays[BANDS], stretch);
        const Int each = stretch.count() + 2, choices = arrays[CHOICES].size() / each;
        const std::vector<Int> again = arrays[AGAIN].rows<Int>(), groups = arrays[GROUPS].rows<Int>();
        for (Int number = 0; number < choices; ++number) {
            const Int *heights = arrays[CHOICES].data() + number * each;
            const Int *others = heights + stretch.count();
            ways.take(number, heights, bands[others[0]], others[1], again, groups, settings[MOST_STEPS]);
        }
    }
    return best;
}

// Four step functions, each with its number of steps, set-up and rate, then sizes, sums and counts.
Moved read_moved(const Int *&at) {
    const Int many = at[0];
    const Moved found{at + 4, at + 4 + many, at + 4 + 2 * many, many, at[1], at[2], at[3]};
    at += 4 + 3 * many;
    return found;
}

std::vector<TableRow> find_table(const Array *arrays) {
    const Int *settings = arrays[CHIP].data(), *fitting = arrays[FITTING].data();
    const Moved ahead = read_moved(fitting), ahead_after = read_moved(fitting);
    const Moved behind = read_moved(fitting), behind_after = read_moved(fitting);
    const Around around{ahead, ahead_after, behind, behind_after, settings[CAPACITY], settings[LATER],
                        settings[MOST], settings[ON_ITS_OWN] != 0, settings[FOR_BYTES] != 0};
    const std::vector<MoveRow> moves = arrays[MOVES].rows<MoveRow>();
    const Int points = arrays[POINTS].size();
    const Limit limit{{arrays[POINTS].data(), points, settings[WIDTH]}, arrays[BEFORE_TIMES].data(),
                      arrays[REST].data(), arrays[REST].size() > points ? points : 0, settings[MOST_CYCLES]};
    const Int tensors = arrays[TENSORS].size() * Int(sizeof(Int)) / Int(sizeof(TensorRow));
    const Places places{arrays[PLACES].data(), arrays[ROOM].data(), arrays[SHARES].data(), moves.data(),
                        arrays[ROOM].size(), tensors, settings[BESIDES], limit, {}};
    if (around.for_bytes) {
        Best<5, TableRow> least;
        for (const Way &way : find_ways(arrays, around, places)) {
            const TableRow row = table_row(way, places, around);
            least.add({row.before, row.after, row.bytes, row.moved, row.cycles}, row);
        }
        return least.take(2);
    }
    Best<9, TableRow> best;
    for (const Way &way : find_ways(arrays, around, places)) {
        const TableRow row = table_row(way, places, around).rounded(limit.levels);
        best.add({row.before, row.after, row.needed, row.cycles, row.moved, -row.most_before, -row.most_after, row.least, row.beyond}, row);
    }
    return best.take(2);
}

// The arrays of a tuple, the last ones for writing.
template <std::size_t SIZE> bool hold(Array (&arrays)[SIZE], PyObject *tuple, std::size_t writable) {
    for (std::size_t at = 0; at < SIZE; ++at) {
        PyObject *array = PyTuple_GetItem(tuple, Py_ssize_t(at));
        if (!array || !arrays[at].hold(array, at + writable >= SIZE)) {
            return false;
        }
    }
    return true;
}

// The arrays of `Residents.arrays`, and where a stretch begins and ends.
enum ResidentArray { FACTS, TRACKED, TRACKED_AT, UNTRACKED, UNTRACKED_AT, READS, READS_AT, MADE, MADE_AT, COMPLETED, COMPLETED_AT, RESULTS, STRETCH, RESIDENT_ARRAYS };
enum StretchNumber { START, STOP, ROOM_IN_ALL, FOR_PLAN, OLD, TAKEN };

Residents read_residents(const Array *arrays) {
    auto ids = [&](Int at) { return Lists<Int>{arrays[at].data(), arrays[at + 1].data()}; };
    const Lists<ReadRow> reads{reinterpret_cast<const ReadRow *>(arrays[READS].data()), arrays[READS_AT].data()};
    return {reinterpret_cast<const TensorFacts *>(arrays[FACTS].data()), ids(TRACKED), ids(UNTRACKED), reads,
            ids(MADE), ids(COMPLETED), arrays[RESULTS].data(), arrays[READS_AT].size() - 1};
}

PyObject *as_bytes(const Int *first, std::size_t count) {
    return PyBytes_FromStringAndSize(reinterpret_cast<const char *>(first), Py_ssize_t(count * sizeof(Int)));
}

} // namespace

PyObject *column_moves(PyObject *, PyObject *tuple) {
    Array arrays[RESIDENT_ARRAYS];
    if (!hold(arrays, tuple, 0)) {
        return nullptr;
    }
    const Int *stretch = arrays[STRETCH].data();
    const std::vector<Move> moves = read_residents(arrays).moves(stretch[START], stretch[STOP]);
    static_assert(sizeof(Move) == 13 * sizeof(Int));
    return as_bytes(reinterpret_cast<const Int *>(moves.data()), moves.size() * 13);
}

PyObject *column_border(PyObject *, PyObject *tuple) {
    enum { NUMBERS = RESIDENT_ARRAYS, TENSOR_ROWS, NEED_ROWS, ALL };
    Array arrays[ALL];
    if (!hold(arrays, tuple, 0)) {
        return nullptr;
    }
    const Int *stretch = arrays[STRETCH].data(), start = stretch[START], stop = stretch[STOP];
    const Residents residents = read_residents(arrays);
    const std::vector<TensorRow> tensors = arrays[TENSOR_ROWS].rows<TensorRow>();
    const MovePlaces places(residents, start, stop, arrays[NUMBERS].data(), tensors, arrays[NEED_ROWS].rows<NeedRow>(),
                            stretch[ROOM_IN_ALL], stretch[FOR_PLAN] != 0, stretch[OLD], stretch[TAKEN]);
    MovePlaces::Found found;
    std::vector<Int> rows;
    for (const Move &move : residents.moves(start, stop)) {
        if (places.find(move, found)) {
            rows.insert(rows.end(), {move.before, move.after, move.after_bytes + places.staying(), move.behind,
                                     move.passing_behind, move.behind_after, move.leaving + found.stored, move.early,
                                     move.early_after, found.room, found.shares});
            rows.insert(rows.end(), found.places.begin(), found.places.end());
        }
    }
    return as_bytes(rows.data(), rows.size());
}

PyObject *column_ways(PyObject *, PyObject *tuple) {
    Array arrays[COUNT];
    if (!hold(arrays, tuple, 0)) {
        return nullptr;
    }
    std::vector<TableRow> found;
    Py_BEGIN_ALLOW_THREADS;
    found = find_table(arrays);
    Py_END_ALLOW_THREADS;
    static_assert(sizeof(TableRow) == 14 * sizeof(Int));
    return as_bytes(reinterpret_cast<const Int *>(found.data()), found.size() * 14);
}

PyObject *column_reach(PyObject *, PyObject *tuple) {
    enum { TABLE_ROWS, LEVELS, STEP, FROM_TIMES, AFTER_TIMES, ALL };
    Array arrays[ALL];
    if (!hold(arrays, tuple, 1)) {
        return nullptr;
    }
    Py_BEGIN_ALLOW_THREADS;
    const Levels levels{arrays[LEVELS].data(), arrays[LEVELS].size(), arrays[STEP].data()[0]};
    reach(arrays[TABLE_ROWS].rows<TableRow>(), levels, arrays[FROM_TIMES].data(), arrays[AFTER_TIMES].writable());
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

PyObject *column_reach_back(PyObject *, PyObject *tuple) {
    enum { TABLE_ROWS, LEVELS, STEP, BEGUN, REST_AFTER, REST_BEFORE, ALL };
    Array arrays[ALL];
    if (!hold(arrays, tuple, 1)) {
        return nullptr;
    }
    Int found;
    Py_BEGIN_ALLOW_THREADS;
    const Levels levels{arrays[LEVELS].data(), arrays[LEVELS].size(), arrays[STEP].data()[0]};
    found = reach_back(arrays[TABLE_ROWS].rows<TableRow>(), levels, arrays[BEGUN].data(), arrays[REST_AFTER].data(),
                       arrays[REST_BEFORE].writable());
    Py_END_ALLOW_THREADS;
    return PyLong_FromLongLong(found);
}
