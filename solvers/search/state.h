// The arrays of one search (`state.py`), and sets of sections as bits.
#pragma once

#include <algorithm>

#include "columns.h"

// An array of rows that belongs to Python.
template <class Row> struct Table {
    Row *rows;
    Int count;

    Row &operator[](Int at) const { return rows[at]; }
};

struct Sets {
    Word *words;
    Int width;

    Word *operator[](Int row) const { return words + row * width; }
};

struct SearchState {
    Control &control;
    Table<Item> items;
    Table<Section> sections;
    Table<const Link> links;
    Sets sets;
    Table<Frame> frames;
    Table<LogEntry> log;
    Table<Choice> choices;

    const Variant &variant(Int at) const { return reinterpret_cast<const Variant &>(links[at]); }
    const Range &range(Int at) const { return reinterpret_cast<const Range &>(links[at]); }
};

// Rows ``begin`` to ``end`` of ``links``, to loop over.
struct Links {
    const Link *first, *last;

    const Link *begin() const { return first; }
    const Link *end() const { return last; }
};

inline Links links_of(const SearchState &state, Int begin, Int end) {
    return {state.links.rows + begin, state.links.rows + end};
}

inline Links members(const SearchState &state, const Section &section) {
    return links_of(state, section.members_begin, section.members_end);
}

inline Links sections_of(const SearchState &state, const Item &item) {
    return links_of(state, item.sections_begin, item.sections_end);
}

inline Links conflicts_of(const SearchState &state, const Item &item) {
    return links_of(state, item.conflicts_begin, item.conflicts_end);
}

// Put a section into a set.
inline void add(const Sets &sets, Int row, Int section) {
    sets[row][section >> 6] |= Word(1) << (section & 63);
}

// Whether a section is in a set.
inline bool has(const Sets &sets, Int row, Int section) {
    return sets[row][section >> 6] >> (section & 63) & 1;
}

// Empty a set.
inline void clear(const Sets &sets, Int row) { std::fill_n(sets[row], sets.width, 0); }

// Put all of set `more` into set `row`.
inline void join(const Sets &sets, Int row, Int more) {
    for (Int w = 0; w < sets.width; ++w) {
        sets[row][w] |= sets[more][w];
    }
}

// Whether two sets have a section in common.
inline bool overlap(const Sets &sets, Int row, Int other) {
    for (Int w = 0; w < sets.width; ++w) {
        if (sets[row][w] & sets[other][w]) {
            return true;
        }
    }
    return false;
}

// Whether two sets are equal.
inline bool same(const Sets &sets, Int row, Int other) {
    return std::equal(sets[row], sets[row] + sets.width, sets[other]);
}

// The lowest offset of a variant of item `i` that is not below `low`, or NEVER.
inline Int lifted(const SearchState &state, const Item &item, Int variant, Int low) {
    const Int end = state.variant(variant + 1).ranges_begin;
    for (Int r = state.variant(variant).ranges_begin; r < end; ++r) {
        Int offset = std::max(low, state.range(r).low);
        if (item.align > 1) {
            offset = (offset + item.align - 1) / item.align * item.align;
        }
        if (offset <= state.range(r).high) {
            return offset;
        }
    }
    return NEVER;
}

// The lowest offset of any variant of item `i` that is not below `low`, or NEVER.
inline Int lowest(const SearchState &state, const Item &item, Int low) {
    Int result = NEVER;
    for (Int v = item.variants_begin; v < item.variants_end; ++v) {
        result = std::min(result, lifted(state, item, v, low));
    }
    return result;
}
