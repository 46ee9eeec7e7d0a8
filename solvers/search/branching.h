// Choose the section to branch in and the items to try there, and explain why no other would do;
// `kernel.h` states the rules, and what an explanation is.
#pragma once

#include "moves.h"

// Whether nothing can still come below the items at the level of section `q`.
inline bool closed_below(const SearchState &state, const Section &section) {
    for (const Link &member : members(state, section)) {
        const Item &item = state.items[member.to];
        if (item.level != section.level || item.placed) {
            continue;
        }
        for (const Link &other : sections_of(state, item)) {
            if (state.sections[other.to].level < section.level) {
                return false;
            }
        }
    }
    return true;
}

// The estimated cost of branching in section `q` under the current BRANCH_RULE.
inline double cost(const SearchState &state, Int q, Int branches) {
    const Control &control = state.control;
    const Section &section = state.sections[q];
    if (control.branch_rule == FEWEST_THEN_LAST) {
        return branches - 1e-9 * q;
    }
    if (control.branch_rule == FEWEST_THEN_HEAVIEST) {
        return branches - 1e-10 * std::min(section.weight, TIE_WEIGHT_LIMIT);
    }
    const double low = 1.0 + 1024.0 * (control.capacity - section.level) / control.capacity;
    return branches / (section.weight * low);
}

// The section to branch in: the first with at most one branch, else the cheapest.
inline Int best_section(const SearchState &state) {
    Int best = -1;
    double least = 1e30;
    for (Int q = 0; q < state.sections.count; ++q) {
        const Section &section = state.sections[q];
        if (section.rest_count == 0) {
            continue;
        }
        Int branches = section.at_level;
        if (section.level + section.rest_height < state.control.capacity) {
            ++branches;
        }
        const double at = cost(state, q, branches);
        if (at < least && closed_below(state, section)) {
            best = q;
            least = at;
            if (branches <= 1) {
                return best;
            }
        }
    }
    return best;
}

// Rule 2: whether the tops of placed items alone put item `i` at `height`.
inline bool rests(const SearchState &state, const Item &item, Int variant, Int height) {
    Int top = 0;
    for (const Link &link : sections_of(state, item)) {
        top = std::max(top, state.sections[link.to].top);
    }
    return lifted(state, item, variant, top) == height;
}

// Rule 4: whether `i` would rest on an item of higher rank with exactly the same sections.
inline bool stacked_wrongly(const SearchState &state, Int i, Int height) {
    const Item &item = state.items[i];
    const Section &section = state.sections[state.links[item.sections_begin].to];
    const Int under = section.top_item;
    if (under < 0 || section.top != height || state.items[under].rank < item.rank) {
        return false;
    }
    return item.loose && state.items[under].loose && same(state.sets, i, under);
}

// Whether no placed item in the variant's memory must be apart from `i`; set `row` has the reason.
inline bool allowed(const SearchState &state, const Item &item, Int variant, Int row) {
    for (const Link &apart : links_of(state, item.apart_begin, item.apart_end)) {
        const Item &other = state.items[apart.to];
        if (other.placed && other.memory == state.variant(variant).memory) {
            add(state.sets, row, state.links[other.sections_begin].to);
            return false;
        }
    }
    return true;
}

// On how many sides (0 to 2) item `i`, at its level, would end level with the next section's floor.
inline Int flush_sides(const SearchState &state, const Item &item) {
    const Int top = item.level + item.size;
    const Int left = state.links[item.sections_begin].to - 1;
    const Int right = state.links[item.sections_end - 1].to + 1;
    Int sides = 0;
    if (left < 0 || state.sections[left].floor == top) {
        ++sides;
    }
    if (right >= state.sections.count || state.sections[right].floor == top) {
        ++sides;
    }
    return sides;
}

// Insert a choice in order of rank, among those from row `first` on.
inline void insert(const SearchState &state, Int first, Int i, Int variant) {
    const Control &control = state.control;
    Int key = state.items[i].rank;
    if (control.flush_first) {
        key -= flush_sides(state, state.items[i]) * control.item_count;
    }
    Int to = state.control.choices_length++;
    while (to > first && state.choices[to - 1].key > key) {
        state.choices[to] = state.choices[to - 1];
        --to;
    }
    state.choices[to] = {i, variant, key};
}

// List the items that may be the lowest unplaced one of section `q`, by rank.
inline void list_choices(const SearchState &state, const Section &section, Int row) {
    const Control &control = state.control;
    const Int first = control.choices_length, height = section.level;
    for (const Link &member : members(state, section)) {
        const Item &item = state.items[member.to];
        if (item.level != height || item.placed) {
            continue;
        }
        if (control.rule_twins && item.twin >= 0 && !state.items[item.twin].placed) {
            continue;
        }
        if (control.rule_stacks && stacked_wrongly(state, member.to, height)) {
            continue;
        }
        for (Int v = item.variants_begin; v < item.variants_end; ++v) {
            if (lifted(state, item, v, item.floor) != height) {
                continue;
            }
            if (control.rule_rest && !rests(state, item, v, height)) {
                continue;
            }
            if (allowed(state, item, v, row)) {
                insert(state, first, member.to, v);
            }
        }
    }
}

// Whether item `i`, at `height`, is sure to have been a choice, or left out only for its twin.
inline bool was_choice(const SearchState &state, Int i, Int height) {
    const Control &control = state.control;
    const Item &item = state.items[i];
    if (item.variants_end - item.variants_begin != 1 || item.apart_end > item.apart_begin) {
        return false;
    }
    if (control.rule_rest && !rests(state, item, item.variants_begin, height)) {
        return false;
    }
    return !(control.rule_stacks && stacked_wrongly(state, i, height));
}

// Put into set `row` why only its choices may be lowest in section `q`.
//
// Call it when all choices are taken back. The set is a little larger than it must be: it has all sections
// of an item at the height, unless that is sure to have been a choice.
inline void explain(const SearchState &state, Int q, Int height, Int row) {
    add(state.sets, row, q);
    for (const Link &member : members(state, state.sections[q])) {
        const Item &item = state.items[member.to];
        if (item.placed) {
            continue;
        }
        if (item.level != height) {
            add_witness(state, row, item);
            continue;
        }
        if (!was_choice(state, member.to, height)) {
            join(state.sets, row, member.to);
        }
        for (const Link &other : sections_of(state, item)) {
            if (state.sections[other.to].floor < height) {
                add_level(state, row, other.to);
            }
        }
    }
}
