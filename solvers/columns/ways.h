// A way to run a stretch, and which of several no other one is better than.
#pragma once

#include "passing.h"

#include <array>

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
};

struct Chip {
    Rate load, store, weights;
    bool last;   // whether nothing comes after the stretch
    bool whole;  // whether what passes may also be there whole
};

// Where each tensor lies, by place: PASSES, STAYS or FREE; the room beside what stays, and bytes that several
// parts take beyond one.
struct Places {
    const Int *of_tensor;
    const Int *room;
    const Int *in_parts;
    Int count, tensors;
    Int of(Int place, Int tensor) const { return of_tensor[place * tensors + tensor] & ~LATE; }
    bool late(Int place, Int tensor) const { return of_tensor[place * tensors + tensor] & LATE; }
};

// Of rows of integers those that no other one is better than, of equal ones the first. Of two rows with the
// same first numbers the one is better whose others are all no larger.
template <std::size_t SIZE_OF, class Row> class Best {
public:
    using Keys = std::array<Int, SIZE_OF>;

    void add(const Keys &keys, const Row &row) { found_.push_back({keys, row}); }

    std::vector<Row> take(std::size_t alike) {
        std::stable_sort(found_.begin(), found_.end(),
                         [](const Entry &one, const Entry &other) { return one.keys < other.keys; });
        std::vector<Entry> kept;
        std::size_t begin = 0;
        for (const Entry &entry : found_) {
            if (!kept.empty() && !std::equal(entry.keys.begin(), entry.keys.begin() + alike, kept.back().keys.begin())) {
                begin = kept.size();
            }
            if (!is_beaten(entry.keys, kept, begin, alike)) {
                kept.push_back(entry);
            }
        }
        std::vector<Row> rows;
        for (const Entry &entry : kept) {
            rows.push_back(entry.row);
        }
        return rows;
    }

private:
    struct Entry {
        Keys keys;
        Row row;
    };

    static bool is_beaten(const Keys &keys, const std::vector<Entry> &kept, std::size_t begin, std::size_t alike) {
        for (std::size_t at = begin; at < kept.size(); ++at) {
            bool beaten = true;
            for (std::size_t key = alike; key < SIZE_OF && beaten; ++key) {
                beaten = kept[at].keys[key] <= keys[key];
            }
            if (beaten) {
                return true;
            }
        }
        return false;
    }

    std::vector<Entry> found_;
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
