// A way to run a stretch, and which of several no other one is better than.
#pragma once

#include "passing.h"

#include <array>
#include <numeric>

namespace columns {

// Cycles that have no end.
constexpr Int ENDLESS = Int(1) << 50;

enum Key : Int { SIZE, FIRST, END, NEEDED, CYCLES, LOADS, STORES, AHEAD, BEHIND, WHOLE, KEYS };

// The most DMA cycles of transfers whose data lie in some bytes: each has a set-up, and only so many fit.
struct Moved {
    const Int *sizes, *sums, *counts;
    Int many, set_up, numerator, denominator;

    Int in(Int bytes) const {
        const Int at = std::max<Int>(0, std::upper_bound(sums, sums + many, bytes) - sums - 1);
        const Int more = std::max<Int>(0, bytes - sums[at]) / std::max<Int>(1, sizes[at]);
        return bytes * numerator / denominator + 1 + set_up * (counts[at] + more + 1);
    }
};

// A way for one of the places of tensors. Of two ways the one is better whose keys are all no larger: bytes at
// the fullest, the first and the last step; DMA cycles that must have passed when the NPU begins; its cycles,
// with those for which it waits; DMA cycles of loads and of stores; of loads that may come before it, and of
// stores after it, below 0; whether the first loads bring all.
struct Way {
    Int place;
    std::array<Int, KEYS> keys;
    std::array<Int, 4> made_by;  // of a cascade: heights, weights loaded again, groups a stripe, buffers
    // The most DMA cycles that may be moved ahead before and after it, and those of earlier stores that may be
    // still to come when it begins, as its steps leave room for them.
    Int most_before = ENDLESS, most_after = ENDLESS, most_behind = ENDLESS;
    // Of a plan that is sought: DMA cycles of stores that no step hides, as they begin after the last one, and
    // whether a load has to wait for those of the stretch before.
    Int last = 0;
    bool waits = false;
    // How much longer than what is moved ahead after it the way takes at least, as steps leave room for less.
    Int beyond = -ENDLESS;
    Int macs = 0;
};

// Least times by set of tensors and by DMA cycles moved ahead, at equally far points.
struct Levels {
    const Int *points;
    Int count, width;

    // What numbers of ways are rounded to (assumed): what a border may have, and what waits add up from.
    Int grain() const { return std::max<Int>(1, width / 4); }
    Int fine_grain() const { return std::max<Int>(1, width / 256); }

    // The place of the first point that is more than `ahead`, from `place` on, which is none that is later.
    Int place_of(Int ahead, Int place = 0) const {
        const Int first = points[1];
        while (place + 1 < count && first + place * width <= ahead) {
            ++place;
        }
        return place;
    }

    // The least time of a set at which so much has been moved ahead.
    Int time(const Int *times, Int place, Int ahead) const {
        const Int next = std::min(place + 1, count - 1);
        return std::max(times[place], times[next] - std::max<Int>(0, points[next] - ahead));
    }
};

constexpr Int NEVER = Int(1) << 60;

// The most cycles of a path that counts, and the least times to the border before a stretch and from the border
// after it on: by set of tensors, `rest_step` apart, and by DMA cycles moved ahead, of which more take less.
struct Limit {
    Levels levels;
    const Int *before, *rest;
    Int rest_step, most;

    // The least cycles of a path from a set on to another one, without those of a stretch that moves `places` points
    // more DMA cycles than it takes: what it leaves moved ahead is so much less than what there was before. A time
    // falls by no more than the DMA cycles ahead grow, so between points both have the least that they may.
    Int beside(Int set, Int after, Int places) const {
        const Int *times = before + set * levels.count, *left = rest + after * rest_step, last = levels.count - 1;
        const Int width = levels.width;
        Int found = NEVER, at = 0;
        // Before the first point it takes as long as there, and beyond the last one longer by what is more.
        for (; at < std::min(last, -places); ++at) {
            found = std::min(found, times[0] + std::max(left[at + 1], left[at] - width));
        }
        for (; at < last - places && at < last; ++at) {
            const Int *begun = times + at + places;
            found = std::min(found, std::max(begun[0] + left[at + 1], begun[1] + left[at] - width));
        }
        for (; at < last; ++at) {
            const Int begun = times[last] + (at + places - last) * width;
            found = std::min(found, begun + std::max(left[at + 1], left[at]));
        }
        const Int end = last + places;
        return std::min(found, times[std::clamp<Int>(end, 0, last)] + std::max<Int>(0, places) * width + left[last]);
    }
};

struct Chip {
    Rate load, store, weights;
    bool last;   // whether nothing comes after the stretch
    bool whole;  // whether what passes may also be there whole
    bool for_bytes;  // whether bytes, cycles of the NPU and multiply-accumulates alone are asked for
    Int most_macs;
};

// What passes a stretch that has so much room. Where no plan is sought, any may have the whole tensor there while
// the stretch runs, and move it at once, if there is room for it.
inline Passing in_room(Passing found, const TensorRow &row, const Chip &chip, Int room) {
    if (chip.whole && row.bytes <= room) {
        found.cycles = std::min(found.cycles, (row.role == INPUT ? chip.load : chip.store).cycles(row.bytes));
        found.bytes[1] = std::min(found.bytes[1], row.bytes);
        found.ahead[1] = std::max(found.ahead[1], found.cycles);
        found.behind[1] = std::max(found.behind[1], found.cycles);
    }
    return found;
}

// What is in SharedMemory at both borders of a stretch, and DMA cycles of stores around it.
struct MoveRow {
    Int before, after;
    Int after_bytes;
    Int behind;          // of stores that may be still to come before
    Int passing_behind;  // those of tensors that are loaded again
    Int behind_after;
    Int leaving;         // of tensors that leave
    Int early, early_after;
};

// Where each tensor lies, by place: PASSES, STAYS or FREE; the room beside what stays, and whether an output has the
// memory of an input.
struct Places {
    const Int *of_tensor;
    const Int *room;
    const Int *shares;
    const MoveRow *moves;
    Int count, tensors;
    Int weights;  // DMA cycles of weights of the stretch of which some may be there from before
    const Limit &limit;
    mutable std::vector<Int> known;  // Limit::beside, by place and points moved, from the fewest on; -1: not yet
    Int of(Int place, Int tensor) const { return of_tensor[place * tensors + tensor] & ~LATE; }
    bool late(Int place, Int tensor) const { return of_tensor[place * tensors + tensor] & LATE; }

    // Whether no path counts on which the stretch lies so and takes so many NPU and DMA cycles.
    bool is_beyond(Int place, Int cycles, Int moved) const {
        if (limit.most >= NEVER) {
            return false;
        }
        const Int width = limit.levels.width, end = limit.levels.count - 1;
        const Int more = moved + weights + moves[place].leaving - cycles;
        const Int at = std::min(std::max(more >= 0 ? more / width : -((width - 1 - more) / width), -end), end);
        const Int past = more - at * width;
        Int besides = beside(place, at) + (at == end ? std::max<Int>(0, past) : 0);
        if (at < end && past > 0) {
            besides = std::max(besides, beside(place, at + 1) - width + past);
        }
        return besides + cycles > limit.most;
    }

    Int beside(Int place, Int at) const {
        const Int ends = limit.levels.count - 1, each = 2 * ends + 1;
        known.resize(count * each, -1);
        Int &found = known[place * each + ends + at];
        found = found < 0 ? limit.beside(moves[place].before, moves[place].after, at) : found;
        return found;
    }

    bool are_beyond(Int cycles, Int moved) const {
        for (Int place = 0; place < count; ++place) {
            if (!is_beyond(place, cycles, moved)) {
                return false;
            }
        }
        return true;
    }
};

// Of rows of integers those that no other one is better than, of equal ones the first. Of two rows with the
// same first numbers the one is better whose others are all no larger.
template <std::size_t SIZE_OF, class Row> class Best {
public:
    using Keys = std::array<Int, SIZE_OF>;

    void add(const Keys &keys, const Row &row) {
        keys_.push_back(keys);
        rows_.push_back(row);
    }

    std::vector<Row> take(std::size_t alike) {
        std::vector<std::size_t> order(keys_.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [this](std::size_t one, std::size_t other) { return keys_[one] < keys_[other]; });
        std::vector<std::size_t> kept, likely;  // The likely ones that beat another: those that did so last first.
        std::vector<Row> rows;
        for (std::size_t at : order) {
            if (!kept.empty() && !std::equal(keys_[at].begin(), keys_[at].begin() + alike, keys_[kept.back()].begin())) {
                likely.clear();
            }
            if (!is_beaten(keys_[at], likely, alike)) {
                kept.push_back(at);
                likely.push_back(at);
                rows.push_back(rows_[at]);
            }
        }
        return rows;
    }

private:
    bool is_beaten(const Keys &keys, std::vector<std::size_t> &likely, std::size_t alike) const {
        for (std::size_t number = 0; number < likely.size(); ++number) {
            const Keys &other = keys_[likely[number]];
            bool beaten = true;
            for (std::size_t key = alike; key < SIZE_OF && beaten; ++key) {
                beaten = other[key] <= keys[key];
            }
            if (beaten) {
                std::swap(likely[number], likely[number / 2]);
                return true;
            }
        }
        return false;
    }

    std::vector<Keys> keys_;
    std::vector<Row> rows_;
};

// Takes ways as they are found.
using Taker = std::vector<Way>;

// What may be loaded before the first step into the tensor's own buffers.
inline void set_ahead(Passing &found, const Loads &loads, Int largest) {
    for (Int depth = 0; depth < 2; ++depth) {
        const Int ahead = loads.rolls() ? (depth + 1) * loads.once() + loads.filled(found.bytes[depth])
                                        : found.first + depth * largest;
        found.ahead[depth] = std::min(found.cycles, ahead);
    }
}

} // namespace columns
