// A stretch of neighbouring ops in rows, and the order of steps in which they run as a cascade.
//
// The order is that of chipmodel.cascades.rows: each step computes, of one op, rows that a later op needs and
// that are not there yet. A group has the steps up to one of the last op.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace columns {

using Int = std::int64_t;

// An affine cost: cycles of one transfer of some bytes, rounded down, and what each run of bytes after the
// first one adds, by its length; the last number is that of all longer ones.
struct Rate {
    Int once, numerator, denominator;
    const Int *further;
    Int lengths;
    Int cycles(Int bytes, Int runs = 1) const {
        if (bytes <= 0) {
            return 0;
        }
        const Int more = runs > 1 ? (runs - 1) * further[std::min(bytes / runs, lengths - 1)] : 0;
        return once + bytes * numerator / denominator + more;
    }
};

struct OpRow {
    Int rows;          // of its outputs: the units of its steps
    Int cycles;        // where the cycles of a step of so many rows begin in the table
    Int weights;       // bytes
    Int loads;         // whether they come for certain: else some may be there from before
    Int carried;       // bytes that parts hand on where there are several; of one op its scratch
    Int macs;          // multiply-accumulates of all rows
    Int needs, needs_end;
    Int makes, makes_end;
};

struct NeedRow {
    Int tensor;
    Int first, stop;   // where the rows that each row reads begin in the table
};

struct TensorRow {
    Int bytes, rows;
    Int maker;         // the op of the stretch that makes it; -1 for none
    Int role;          // Role
    Int rolls;         // whether its rows may pass through a rolling buffer
    Int channels;      // runs of bytes of a row of which only some of the columns are needed
};

enum Role : Int { INSIDE, INPUT, OUTPUT };
// Where a tensor lies: it passes in stripes, costs nothing, or stays whole: from the first step on, to the last
// one, and loaded by the stretch itself; late is what the run before has only just made.
enum Place : Int { PASSES = 0, FREE = 1, STAYS = 2, BEFORE = 4, AFTER = 8, COMES = 16, LATE = 32 };

struct Span {
    Int start = 0, stop = 0;
    bool empty() const { return stop <= start; }
    Int size() const { return empty() ? 0 : stop - start; }
    void join(Span other) {
        if (other.empty()) {
            return;
        }
        *this = empty() ? other : Span{std::min(start, other.start), std::max(stop, other.stop)};
    }
};

struct Step {
    Int op;
    Span rows;
    Int band = 0;
};

// Bands of columns of the last op's output, one after another: for each band, where the cycles of each op's
// steps begin in the table and the columns of each tensor, of so many.
struct Bands {
    Int count = 1;
    const Int *cycles = nullptr, *columns = nullptr, *of_columns = nullptr;
};

struct Stretch {
    std::vector<OpRow> ops;
    std::vector<NeedRow> needs;
    std::vector<Int> makes;      // tensors that ops make
    std::vector<TensorRow> tensors;
    const Int *table;            // cycles by rows, and rows read by row
    bool rolls;                  // whether the chip addresses rolling buffers

    Span reads(const NeedRow &need, Span rows) const {
        return {table[need.first + rows.start], table[need.stop + rows.stop - 1]};
    }
    Int count() const { return Int(ops.size()); }
    bool is_remade(Int op, Int remade) const { return remade >> op & 1; }
};

// The steps of a cascade in order, in groups, and the most rows of each tensor inside that are there at once.
struct Walk {
    std::vector<Step> steps;
    std::vector<Int> ends;       // the step after the last one of each group
    std::vector<Int> most;       // by tensor
    bool possible = true;

    // The same steps once for each band, of which groups are small if they are `fine`.
    void repeat(Int bands, bool fine) {
        if (fine) {
            split_by_first();
        }
        const std::vector<Step> once = steps;
        const std::vector<Int> groups = ends;
        for (Int band = 1; band < bands; ++band) {
            for (Step step : once) {
                step.band = band;
                steps.push_back(step);
            }
            for (Int end : groups) {
                ends.push_back(end + band * Int(once.size()));
            }
        }
    }

private:
    // Groups are divided before each step of the first op, so that stripes can be small.
    void split_by_first() {
        std::vector<Int> found;
        Int start = 0;
        for (Int end : ends) {
            for (Int at = start + 1; at < end; ++at) {
                if (steps[at].op == 0) {
                    found.push_back(at);
                }
            }
            found.push_back(end);
            start = end;
        }
        ends = std::move(found);
    }
};

class Walker {
public:
    // Ops of the set `remade` make the rows of their only output again for each step that reads them.
    Walker(const Stretch &stretch, const Int *heights, Int remade, Int most_steps)
        : stretch_(stretch), heights_(heights), remade_(remade), most_steps_(most_steps),
          done_(stretch.ops.size(), 0), ahead_(done_), reached_(done_), reading_(stretch.ops.size()) {
        walk_.most.assign(stretch.tensors.size(), 0);
        for (Int op = 0; op < stretch.count(); ++op) {
            for (Int at = stretch.ops[op].needs; at < stretch.ops[op].needs_end; ++at) {
                const Int maker = stretch.tensors[stretch.needs[at].tensor].maker;
                if (maker >= 0 && stretch.is_remade(maker, remade)) {
                    reading_[maker] = {op, at};
                }
            }
        }
    }

    Walk walk() {
        stretch_.rolls ? rolling() : recomputing();
        return std::move(walk_);
    }

private:
    void rolling() {
        const Int last = stretch_.count() - 1, rows = stretch_.ops[last].rows;
        while (done_[last] < rows && walk_.possible) {
            advance(last, rows);
            for (Int at = 0; at < last && done_[last] == rows; ++at) {
                // Rows that are made again begin a round for their reader, so that those of its own come first.
                const Int op = remade_ ? last - 1 - at : at;
                if (reached_[op] < stretch_.ops[op].rows) {
                    until(op, stretch_.ops[op].rows);
                }
            }
            walk_.ends.push_back(Int(walk_.steps.size()));
        }
    }

    bool is_remade(Int op) const { return stretch_.is_remade(op, remade_); }

    void until(Int op, Int stop) {
        const Int most = is_remade(op) ? stop : stretch_.ops[op].rows;
        while (done_[op] < stop && walk_.possible) {
            advance(op, most);
        }
    }

    // The next rows of an op, up to row `most`, after all that they need.
    void advance(Int op, Int most) {
        const OpRow &row = stretch_.ops[op];
        const Span made{done_[op], std::min(most, done_[op] + std::max<Int>(1, heights_[op]))};
        ahead_[op] = made.stop;
        for (Int at = row.needs; at < row.needs_end; ++at) {
            const NeedRow &need = stretch_.needs[at];
            const Int maker = stretch_.tensors[need.tensor].maker;
            if (maker >= 0) {
                const Span needed = stretch_.reads(need, made);
                if (is_remade(maker)) {
                    done_[maker] = ahead_[maker] = std::min(reached_[maker], needed.start);
                }
                until(maker, needed.stop);
            }
        }
        if (Int(walk_.steps.size()) >= most_steps_) {
            walk_.possible = false;
            return;
        }
        walk_.steps.push_back({op, made});
        done_[op] = made.stop;
        reached_[op] = std::max(reached_[op], made.stop);
        for (Int at = row.makes; at < row.makes_end; ++at) {
            const Int tensor = stretch_.makes[at];
            if (stretch_.tensors[tensor].role == INSIDE) {
                const Int held = made.stop - std::min(made.start, oldest(tensor));
                walk_.most[tensor] = std::max(walk_.most[tensor], held);
            }
        }
    }

    // The first row of a tensor that a later step reads.
    Int oldest(Int tensor) const {
        const Int maker = stretch_.tensors[tensor].maker;
        Int found = stretch_.tensors[tensor].rows;
        for (Int op = maker + 1; op < stretch_.count(); ++op) {
            for (Int at = stretch_.ops[op].needs; at < stretch_.ops[op].needs_end; ++at) {
                const NeedRow &need = stretch_.needs[at];
                if (need.tensor != tensor) {
                    continue;
                }
                const Int start = is_remade(maker) ? done_[op] : std::min(done_[op], next_round(op));
                if (start < stretch_.ops[op].rows) {
                    found = std::min(found, stretch_.table[need.first + start]);
                }
            }
        }
        return found;
    }

    // The row to which an op goes back for the next step that reads it; its number of rows for none.
    Int next_round(Int op) const {
        const Int rows = stretch_.ops[op].rows;
        if (!is_remade(op)) {
            return rows;
        }
        const auto [reader, need] = reading_[op];
        const Int start = std::min(ahead_[reader], next_round(reader));
        return start < stretch_.ops[reader].rows ? stretch_.table[stretch_.needs[need].first + start] : rows;
    }

    void recomputing() {
        const Int last = stretch_.count() - 1, rows = stretch_.ops[last].rows;
        const Int height = std::max<Int>(1, heights_[last]);
        std::vector<Span> needed(stretch_.ops.size());
        for (Int start = 0; start < rows && walk_.possible; start += height) {
            std::fill(needed.begin(), needed.end(), Span{});
            needed[last] = {start, std::min(rows, start + height)};
            need_all(needed, needed[last].stop == rows);
            for (Int op = 0; op <= last; ++op) {
                take_stripe(op, needed[op]);
            }
            walk_.possible = Int(walk_.steps.size()) <= most_steps_;
            walk_.ends.push_back(Int(walk_.steps.size()));
        }
    }

    void need_all(std::vector<Span> &needed, bool ends) const {
        for (Int op = stretch_.count() - 1; op >= 0; --op) {
            if (ends) {
                needed[op].join({done_[op], stretch_.ops[op].rows});
            }
            if (needed[op].empty()) {
                continue;
            }
            needed[op].start = std::min(needed[op].start, done_[op]);
            for (Int at = stretch_.ops[op].needs; at < stretch_.ops[op].needs_end; ++at) {
                const Int maker = stretch_.tensors[stretch_.needs[at].tensor].maker;
                if (maker >= 0) {
                    needed[maker].join(stretch_.reads(stretch_.needs[at], needed[op]));
                }
            }
        }
    }

    void take_stripe(Int op, Span rows) {
        if (rows.empty()) {
            return;
        }
        walk_.steps.push_back({op, rows});
        done_[op] = std::max(done_[op], rows.stop);
        for (Int at = stretch_.ops[op].makes; at < stretch_.ops[op].makes_end; ++at) {
            Int &most = walk_.most[stretch_.makes[at]];
            most = std::max(most, rows.size());
        }
    }

    const Stretch &stretch_;
    const Int *heights_;
    const Int remade_, most_steps_;
    std::vector<Int> done_, ahead_, reached_;  // by op: rows made, of the step that is next, and the most ever
    std::vector<std::pair<Int, Int>> reading_;  // of what is made again the op that reads it, and its need
    Walk walk_;
};

} // namespace columns
