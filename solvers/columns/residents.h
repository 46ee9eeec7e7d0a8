// Which tensors are in SharedMemory at the borders of a stretch, and what moves between them
// (solvers/fluid/residents.py).
#pragma once

#include "stretch.h"

#include <array>

namespace columns {

// Numbers of runs are -1 where there is none.
struct TensorFacts {
    Int bytes, made, first, last, store, stored, complete, held, until, first_read, kept;
};

struct ReadRow {
    Int tensor, cycles, alone;  // to load it, and by an op that is in no cascade
};

// Rows by border or by run: those of number `at` lie between two offsets.
template <class Row> struct Lists {
    const Row *rows;
    const Int *offsets;
    const Row *begin(Int at) const { return rows + offsets[at]; }
    const Row *end(Int at) const { return rows + offsets[at + 1]; }
    Int size(Int at) const { return offsets[at + 1] - offsets[at]; }
};

// What is in SharedMemory at two borders, and DMA cycles.
struct Move {
    Int before, after, loads;
    Int stores;          // of results, and of tensors that are made and not there after
    Int leaving;         // of those that were there before, in SharedMemory alone, and are not there after
    Int before_bytes, after_bytes;
    Int behind;          // of stores that may be still to come before
    Int passing_behind;  // those of tensors that are loaded again, and are not there after
    Int behind_after;
    Int early, early_after;  // of stores that may have come, of tensors that leave meanwhile or later
    Int at_once;         // of stores of tensors that leave when they are complete, and that the next run loads
};

// Tensors that are tracked at a border, as bits: those there, and those there that have not been stored.
struct BorderState {
    Int number, there, dirty, bytes, behind;
};

struct Residents {
    const TensorFacts *tensors;
    Lists<Int> tracked, untracked;  // by border
    Lists<ReadRow> reads;           // by run, as what follows
    Lists<Int> made, completed;
    const Int *results_before;      // DMA cycles of all stores of results before each border
    Int runs;

    static constexpr Int NONE = -1;

    // The bit of a tensor among those that are tracked at a border, and those of all for which something holds.
    Int bit(Int border, Int tensor) const {
        const Int *found = std::find(tracked.begin(border), tracked.end(border), tensor);
        return found == tracked.end(border) ? 0 : Int(1) << (found - tracked.begin(border));
    }

    template <class Holds> Int bits(Int border, Holds holds) const {
        Int found = 0;
        for (Int at = 0; at < tracked.size(border); ++at) {
            found |= holds(tensors[tracked.begin(border)[at]]) ? Int(1) << at : 0;
        }
        return found;
    }

    template <class Amount> Int sum(Int border, Int among, Amount amount) const {
        Int found = 0;
        for (Int at = 0; at < tracked.size(border); ++at) {
            found += among >> at & 1 ? amount(tensors[tracked.begin(border)[at]]) : 0;
        }
        return found;
    }

    Int stores(Int border, Int among) const {
        return sum(border, among, [](const TensorFacts &tensor) { return tensor.store; });
    }

    // Bits of one border as bits of another one, of those that are tracked there, too.
    Int moved(Int among, Int from, Int to) const {
        Int found = 0;
        for (Int at = 0; at < tracked.size(from); ++at) {
            found |= among >> at & 1 ? bit(to, tracked.begin(from)[at]) : 0;
        }
        return found;
    }

    Int every(Int border) const { return (Int(1) << tracked.size(border)) - 1; }

    // Those that may have been stored, and loaded for the reader before the border.
    Int written(Int border) const {
        return bits(border, [&](const TensorFacts &tensor) { return tensor.store && tensor.first_read < border; });
    }

    Int unread(Int border) const {
        return bits(border, [&](const TensorFacts &tensor) { return border <= tensor.first_read; });
    }

    Int unfinished(Int border) const {
        return bits(border, [&](const TensorFacts &tensor) { return tensor.held != NONE && border <= tensor.held; });
    }

    // The number of a state: bits of those there, then of the `written` ones that are in SharedMemory alone.
    Int number(Int border, Int there, Int dirty) const {
        Int found = there, next = Int(1) << tracked.size(border);
        const Int among = written(border);
        for (Int at = 0; at < tracked.size(border); ++at) {
            if (among >> at & 1) {
                found += dirty >> at & 1 ? next : 0;
                next <<= 1;
            }
        }
        return found;
    }

    // The sets of tensors that may be there, stored or not.
    std::vector<BorderState> arrivals(Int border) const {
        std::vector<BorderState> found;
        const Int staying = unfinished(border), all = every(border);
        for (Int there = 0; there <= all; ++there) {
            if (!(staying & ~there)) {
                // What was loaded again has been stored, so these stores are of tensors that are not there.
                const Int bytes = sum(border, there, [](const TensorFacts &tensor) { return tensor.bytes; });
                found.push_back({there, there, 0, bytes, results_before[border] + stores(border, all & ~there)});
            }
        }
        return found;
    }

    std::vector<BorderState> states(Int border) const {
        std::vector<BorderState> found;
        const Int among = written(border), alone = unread(border);
        for (BorderState state : arrivals(border)) {
            const Int choices = among & state.there, there = state.there;
            // All parts of the choices, from none on.
            for (Int dirty = 0;; dirty = (dirty - choices) & choices) {
                state.number = number(border, there, dirty);
                state.dirty = dirty | (alone & there);
                found.push_back(state);
                if (dirty == choices) {
                    break;
                }
            }
        }
        return found;
    }

    std::vector<Move> moves(Int start, Int stop) const {
        Int inputs = 0, results = 0, read = 0, made_here = 0;
        std::array<Int, 8> loads{};  // of the tensors that are tracked before, by their bits
        for (Int run = start; run < stop; ++run) {
            for (const ReadRow *row = reads.begin(run); row < reads.end(run); ++row) {
                const TensorFacts &tensor = tensors[row->tensor];
                const Int cycles = stop == start + 1 ? row->alone : row->cycles;
                if (tensor.first < start) {
                    const Int *found = std::find(tracked.begin(start), tracked.end(start), row->tensor);
                    if (found != tracked.end(start)) {
                        Int &most = loads[found - tracked.begin(start)];
                        most = std::max(most, cycles);
                        read |= Int(1) << (found - tracked.begin(start));
                    }
                } else if (tensor.made == NONE && tensor.first_read == run) {
                    inputs += cycles;
                }
            }
            for (const Int *tensor = made.begin(run); tensor < made.end(run); ++tensor) {
                made_here |= bit(stop, *tensor);
            }
            for (const Int *tensor = completed.begin(run); tensor < completed.end(run); ++tensor) {
                results += tensors[*tensor].stored;
            }
        }
        Int passing = 0, next = 0;
        for (Int at = 0; at < tracked.size(start); ++at) {
            passing |= loads[at] ? Int(1) << at : 0;
        }
        for (const ReadRow *row = stop < runs ? reads.begin(stop) : nullptr; row && row < reads.end(stop); ++row) {
            next |= bit(stop, row->tensor);
        }
        const Int at_once = next & bits(stop, [&](const TensorFacts &tensor) { return tensor.complete == stop - 1; });
        const Int later = bits(stop, [&](const TensorFacts &tensor) { return tensor.last != stop; });
        const Int open = unfinished(start), unread_after = unread(stop);
        const Int may_be_early = later & ~unfinished(stop), all = every(stop);
        const std::vector<BorderState> after_all = arrivals(stop);
        std::vector<Move> found;
        for (const BorderState &before : states(start)) {
            const Int away = every(start) & ~before.there, back = moved(away & ~read, start, stop);
            const Int dirty = moved(before.dirty, start, stop), finished = moved(before.dirty & ~open, start, stop);
            Int loaded = inputs;
            for (Int at = 0; at < tracked.size(start); ++at) {
                loaded += away & read & (Int(1) << at) ? loads[at] : 0;
            }
            for (const BorderState &after : after_all) {
                if (back & after.there) {
                    continue;  // Nobody loads what would come back.
                }
                const Int gone = all & ~after.there, kept = moved(after.there, stop, start);
                const Int may_leave = after.there & may_be_early & (unread_after | dirty | made_here);
                found.push_back({before.number,
                                 number(stop, after.there, after.there & (dirty | made_here)),
                                 loaded,
                                 results + stores(stop, gone & made_here),
                                 stores(stop, gone & dirty),
                                 before.bytes,
                                 after.bytes,
                                 before.behind,
                                 stores(start, passing & away & ~kept),
                                 after.behind,
                                 // A tensor may be stored long before it leaves, if it is needed after the next run.
                                 stores(stop, (gone | later) & finished),
                                 stores(stop, may_leave),
                                 stores(stop, gone & dirty & at_once)});
            }
        }
        return found;
    }
};

// Where the tensors of a stretch lie in its moves.
class MovePlaces {
public:
    struct Found {
        std::vector<Int> places;
        Int room, shares, stored;
    };

    // What nobody follows costs nothing, or stays where a plan is sought.
    MovePlaces(const Residents &residents, Int start, Int stop, const Int *numbers, const std::vector<TensorRow> &rows,
               const std::vector<NeedRow> &needs, Int capacity, bool for_plan, Int old, Int taken)
        : residents_(residents), start_(start), stop_(stop), numbers_(numbers), rows_(rows), capacity_(capacity),
          for_plan_(for_plan), old_(old), taken_(taken) {
        for (Int at = 0; at < Int(rows.size()); ++at) {
            again_.push_back(rows[at].role == OUTPUT &&
                             std::any_of(needs.begin(), needs.end(), [&](const NeedRow &need) { return need.tensor == at; }));
            results_.push_back(completes(numbers[at]));
            most_ += rows[at].bytes;
        }
        if (for_plan) {
            for (const Int *tensor = residents.untracked.begin(stop); tensor < residents.untracked.end(stop); ++tensor) {
                staying_ += residents.tensors[*tensor].bytes;
            }
        }
    }

    // Bytes of what stays that is not followed.
    Int staying() const { return staying_; }

    // Whether nobody has to make or load a tensor that nobody can, and what is there has room.
    bool find(const Move &move, Found &found) const {
        for (const Int *tensor = residents_.tracked.begin(stop_); tensor < residents_.tracked.end(stop_); ++tensor) {
            const bool other = !is_operand(*tensor) && !is_untracked(start_, *tensor);
            if (other && is_there(stop_, move.after, *tensor) && !is_there(start_, move.before, *tensor)) {
                return false;
            }
        }
        found.places.clear();
        for (Int at = 0; at < Int(rows_.size()); ++at) {
            const Int tensor = numbers_[at];
            const bool before = is_there(start_, move.before, tensor), after = is_there(stop_, move.after, tensor);
            const Int place = place_of(tensor, before, after);
            found.places.push_back(again_[at] && place == FREE ? STAYS | AFTER : place);
        }
        found.shares = taken_ >= 0 && found.places[old_] & STAYS && found.places[taken_] & STAYS;
        if (found.shares) {
            found.places[taken_] = FREE;  // The output has the memory of the input.
        }
        found.room = capacity_ - through(move) - around(found.places);
        found.stored = 0;
        for (Int at = 0; at < Int(rows_.size()); ++at) {
            const bool passes = (found.places[at] & ~LATE) == PASSES;
            found.stored += results_[at] && !passes ? residents_.tensors[numbers_[at]].stored : 0;
        }
        return found.room >= most_ || found.room >= std::max(whole(found.places, BEFORE), whole(found.places, AFTER));
    }

private:
    bool completes(Int tensor) const {
        const auto &completed = residents_.completed;
        return std::find(completed.begin(start_), completed.end(stop_ - 1), tensor) != completed.end(stop_ - 1);
    }

    bool is_operand(Int tensor) const { return std::find(numbers_, numbers_ + rows_.size(), tensor) != numbers_ + rows_.size(); }

    bool is_untracked(Int border, Int tensor) const {
        const auto &untracked = residents_.untracked;
        return std::find(untracked.begin(border), untracked.end(border), tensor) != untracked.end(border);
    }

    bool is_there(Int border, Int state, Int tensor) const {
        return tensor != Residents::NONE &&
               (state & residents_.bit(border, tensor) || (for_plan_ && is_untracked(border, tensor)));
    }

    Int place_of(Int tensor, bool before, bool after) const {
        if (tensor == Residents::NONE) {
            return PASSES;
        }
        const TensorFacts &facts = residents_.tensors[tensor];
        if (facts.until != Residents::NONE && start_ > facts.until) {
            return FREE;  // It may be part of another one.
        }
        const Int late = facts.complete != Residents::NONE && facts.complete == start_ - 1 ? LATE : 0;
        if (!before && !after) {
            // What nobody needs is not stored.
            const bool free = is_untracked(start_, tensor) || is_untracked(stop_, tensor) || !facts.kept;
            return free ? FREE : PASSES | late;
        }
        const bool comes = !before && (facts.made == Residents::NONE || facts.made < start_);
        return STAYS | (before ? BEFORE : 0) | (after ? AFTER : 0) | (comes ? COMES | late : 0);
    }

    // Bytes of what others have there all the time.
    Int through(const Move &move) const {
        Int found = 0;
        auto add = [&](const Int *tensor, const Int *end) {
            for (; tensor < end; ++tensor) {
                const bool stays = is_there(start_, move.before, *tensor) && is_there(stop_, move.after, *tensor);
                found += stays && !is_operand(*tensor) ? residents_.tensors[*tensor].bytes : 0;
            }
        };
        add(residents_.tracked.begin(start_), residents_.tracked.end(start_));
        add(residents_.untracked.begin(start_), residents_.untracked.end(start_));
        return found;
    }

    // Bytes of tensors that are not complete, beside those that lie within them here.
    Int around(const std::vector<Int> &places) const {
        Int found = 0;
        for (Int at = 0; at < Int(rows_.size()); ++at) {
            if (!is_held(at, places)) {
                continue;
            }
            bool counted = false;
            for (Int other = 0; other < at; ++other) {
                counted = counted || (numbers_[other] == numbers_[at] && is_held(other, places));
            }
            found += (counted ? 0 : residents_.tensors[numbers_[at]].bytes) - rows_[at].bytes;
        }
        return found;
    }

    bool is_held(Int at, const std::vector<Int> &places) const {
        const Int tensor = numbers_[at];
        return tensor != Residents::NONE && residents_.tensors[tensor].held != Residents::NONE && places[at] & STAYS;
    }

    // Bytes of the operands that are there as a whole at one of the borders.
    Int whole(const std::vector<Int> &places, Int side) const {
        Int found = 0;
        for (Int at = 0; at < Int(rows_.size()); ++at) {
            found += places[at] & STAYS && places[at] & side ? rows_[at].bytes : 0;
        }
        return found;
    }

    const Residents &residents_;
    Int start_, stop_;
    const Int *numbers_;  // of the operands; -1 for what is no tensor of the problem
    const std::vector<TensorRow> &rows_;
    Int capacity_;
    bool for_plan_;
    Int old_, taken_;
    std::vector<bool> again_, results_;
    Int most_ = 0, staying_ = 0;
};

} // namespace columns
