// ``kernel.py`` in C++, function by function; why the search is complete, and what each function does, is
// said there.
#pragma once

#include "branching.h"

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

inline bool has_space(const SearchState &state) {
    const Control &control = state.control;
    return control.depth + 2 < state.frames.count &&
           control.log_length + 2 * state.sections.count + state.items.count < state.log.count &&
           control.choices_length + control.max_choices < state.choices.count;
}

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

inline bool may_help(const SearchState &state, const Frame &frame) {
    const Int why = state.control.item_count;
    if (frame.chosen < 0) {
        return has(state.sets, why, frame.section);
    }
    return overlap(state.sets, why, frame.chosen);
}

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
