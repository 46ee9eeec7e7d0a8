// The complete search for offsets: lowest level first, any constraint, one capacity.
//
// Source: this project; the branching follows Moffitt 2023 (MiniMalloc), see docs/references.md.
//
// Which plans are enough. Take any plan that fits and push its items down, one at a time, each to the
// lowest offset it may have above the items below it, until none can move. Each move lowers the sum of
// offsets, so this ends. In the resulting *settled* plan every item is at the lowest of its offsets
// (aligned, within a range of its variant) that is not below the tops of the conflicting items under it.
// Only settled plans are searched. Moving an item down passes no item above it, so the argument also holds
// with pins, memories, heights that differ by section, and items that must be in different memories (each
// settles within its own memory).
//
// State. A section's *floor* is the height below which nothing more may be placed in it. An item's *floor*
// is the greatest floor of its sections, its *level* the lowest offset that it may have from there. A
// section's level is the least level of its unplaced items: all of them must fit between it and the
// capacity (rule 1). Where an item has no offset left, the branch ends.
//
// Branching. Take a section `s` at level `h` such that no section of its items at level `h` has a lower
// level (the lowest section is one; there may be others). In any plan that agrees with the state, one of
// two things holds. Either the lowest unplaced item of `s` is one of the items at level `h`, at `h`: then
// nothing can come below it in its other sections any more, so it may be placed there for good. Or `s`
// stays empty up to the next height at which one of its items can rest: this wastes bytes of the section,
// which it can afford only up to the capacity less its level and its unplaced items. The section with the
// fewest branches is taken, weighted by the failures it was part of.
//
// Symmetry. Two changes turn a settled plan that fits into another: items equal in everything swap places;
// an item resting on another with exactly the same sections, both of even height and free to be anywhere,
// swaps with it. Each makes the list of item ranks by offset smaller, so repeating them ends, and in the
// final plan equal items (rule 3) and such stacks (rule 4) are in order of rank. Also, an item placed at
// its level must rest: its level must follow from the tops of placed items, not from floors raised by
// wasted bytes (rule 2).
//
// Backjumping. A failure is explained by a set of sections `E`: no plan agrees with the floors of these
// sections and their unplaced items. A frame whose item has no section in `E` cannot help, so the search
// returns past it. The explanation of a frame joins those of its branches and the reasons why there are no
// others: its section; for each of its items above the level, a section with the item's floor; all
// sections of an item refused by rules 2 or 4 or considered when leaving the section empty; a section of a
// placed item that another must not share a memory with; and, where a section of an item put at `h` has a
// floor below `h`, what keeps the items of that section above it.
//
// The search is a loop over explicit frames, so that it can be paused at any node and resumed.
#pragma once

#include "branching.h"

// Whether rule 1 is broken; if so, explain it, by the floor of a single section where there is one.
inline bool overfull(const SearchState &state) {
    const Int why = state.control.item_count, capacity = state.control.capacity;
    Int found = -1;
    for (Int q = 0; q < state.sections.count; ++q) {
        const Section &section = state.sections[q];
        if (section.rest_count && section.level + section.rest_height > capacity) {
            found = q;
            if (section.floor + section.rest_height > capacity) {
                break;
            }
        }
    }
    if (found < 0) {
        return false;
    }
    Section &section = state.sections[found];
    section.weight += 10;
    clear(state.sets, why);
    if (section.floor + section.rest_height > capacity) {
        add(state.sets, why, found);
    } else {
        add_level(state, why, found);
    }
    return true;
}

// Whether the arrays have space for one more frame, whatever it does.
inline bool has_space(const SearchState &state) {
    const Control &control = state.control;
    return control.depth + 2 < state.frames.count &&
           control.log_length + 2 * state.sections.count + state.items.count < state.log.count &&
           control.choices_length + control.max_choices < state.choices.count;
}

// Open a new frame, or end the search; False, with an explanation, where the state is a dead end.
inline bool branch(const SearchState &state) {
    Control &control = state.control;
    if (control.unplaced_items == 0) {
        control.status = FOUND;
        return true;
    }
    if (overfull(state)) {
        return false;
    }
    if (!has_space(state)) {
        control.status = NO_SPACE;
        return true;
    }
    const Int q = best_section(state);
    const Section &section = state.sections[q];
    Frame &frame = state.frames[++control.depth];
    frame.section = q;
    frame.height = section.level;
    frame.first = frame.next = control.choices_length;
    const Int row = control.item_count + 1 + control.depth;
    clear(state.sets, row);
    list_choices(state, section, row);
    if (section.level + section.rest_height < control.capacity) {
        state.choices[control.choices_length++].item = LEAVE_EMPTY;
    }
    frame.stop = control.choices_length;
    return true;
}

// Whether another choice in this frame could avoid the current failure.
inline bool may_help(const SearchState &state, const Frame &frame) {
    const Int why = state.control.item_count;
    if (frame.chosen < 0) {
        return has(state.sets, why, frame.section);
    }
    return overlap(state.sets, why, frame.chosen);
}

// Return to the last frame that may avoid the failure.
inline void back(const SearchState &state) {
    Control &control = state.control;
    while (control.depth >= 0) {
        const Frame &frame = state.frames[control.depth];
        undo(state, frame);
        if (!control.rule_jumps || may_help(state, frame)) {
            join(state.sets, control.item_count + 1 + control.depth, control.item_count);
            return;
        }
        control.choices_length = frame.first;
        --control.depth;
    }
    control.status = EXHAUSTED;
}

// Take the last frame's next choice and branch again; False, with an explanation, where that fails.
inline bool choose(const SearchState &state) {
    Control &control = state.control;
    Frame &frame = state.frames[control.depth];
    const Choice &choice = state.choices[frame.next++];
    frame.chosen = choice.item;
    frame.log_before = control.log_length;
    ++control.stamp;
    ++control.nodes;
    const bool fits = choice.item == LEAVE_EMPTY ? leave_empty(state, frame.section, frame.height,
                                                               control.item_count + 1 + control.depth)
                                                 : put(state, choice.item, choice.variant, frame.height);
    return fits && branch(state);
}

// Begin again: nothing placed, no frame; weights, ranks and the number of nodes stay.
inline void restart(const SearchState &state) {
    Control &control = state.control;
    control.status = RUNNING;
    control.log_length = 0;
    control.choices_length = 0;
    control.unplaced_items = control.item_count;
    control.depth = -1;
    for (Int i = 0; i < control.item_count; ++i) {
        Item &item = state.items[i];
        item.floor = 0;
        item.witness = -1;
        item.placed = 0;
        item.level = lowest(state, item, 0);
        if (item.level == NEVER) {
            control.status = EXHAUSTED;
        }
    }
    for (Int q = 0; q < state.sections.count; ++q) {
        Section &section = state.sections[q];
        section.floor = 0;
        section.top = 0;
        section.top_item = -1;
        section.rest_height = 0;
        for (const Link &member : members(state, section)) {
            section.rest_height += member.height;
        }
        section.rest_count = section.members_end - section.members_begin;
        find_level(state, section);
    }
    if (control.status == RUNNING && !branch(state)) {
        control.status = EXHAUSTED;
    }
}

// Search for at most `nodes` more choices; the status, RUNNING where that was not enough.
inline Int run(const SearchState &state, Int nodes) {
    Control &control = state.control;
    const Int until = control.nodes + nodes, why = control.item_count;
    while (control.status == RUNNING && control.nodes < until) {
        const Frame &frame = state.frames[control.depth];
        if (frame.next < frame.stop) {
            if (!choose(state)) {
                back(state);
            }
            continue;
        }
        const Int row = why + 1 + control.depth;
        explain(state, frame.section, frame.height, row);
        clear(state.sets, why);
        join(state.sets, why, row);
        control.choices_length = frame.first;
        --control.depth;
        back(state);
    }
    return control.status;
}
