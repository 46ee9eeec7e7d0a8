// Place an item, leave part of a section empty, and take either back; with explanations of failures.
//
// `kernel.h` defines floors, levels and explanations.
#pragma once

#include "state.h"

// Put into a set what keeps item `i` from being lower.
inline void add_witness(const SearchState &state, Int row, const Item &item) {
    if (item.witness >= 0) {
        add(state.sets, row, item.witness);
    }
}

// Put into a set what keeps the unplaced items of section `q` above its floor.
inline void add_level(const SearchState &state, Int row, Int q) {
    add(state.sets, row, q);
    for (const Link &member : members(state, state.sections[q])) {
        const Item &item = state.items[member.to];
        if (!item.placed) {
            add_witness(state, row, item);
        }
    }
}

// Compute the level of section `q`, and how many items are at it.
inline void find_level(const SearchState &state, Section &section) {
    Int level = NEVER, count = 0;
    for (const Link &member : members(state, section)) {
        const Item &item = state.items[member.to];
        if (item.placed || item.level > level) {
            continue;
        }
        if (item.level < level) {
            level = item.level;
            count = 0;
        }
        ++count;
    }
    section.level = level;
    section.at_level = count;
}

// Append old values to the log, to be restored by `undo`.
inline void log(const SearchState &state, LogKind kind, Int index, Int x, Int y, Int z) {
    state.log[state.control.log_length++] = {kind, index, x, y, z};
}

// Count item `i` out of `level` in all its sections; `settle_levels` must follow.
inline void leave_level(const SearchState &state, const Item &item, Int level) {
    for (const Link &link : sections_of(state, item)) {
        Section &section = state.sections[link.to];
        if (section.level != level) {
            continue;
        }
        if (section.logged != state.control.stamp) {
            section.logged = state.control.stamp;
            log(state, LEVEL_CHANGED, link.to, level, section.at_level, 0);
        }
        --section.at_level;
    }
}

// Compute new levels of the sections that have no item left at theirs, by the log from `begin`.
inline void settle_levels(const SearchState &state, Int begin) {
    for (Int at = begin; at < state.control.log_length; ++at) {
        const LogEntry &entry = state.log[at];
        if (entry.kind == LEVEL_CHANGED && state.sections[entry.index].at_level == 0) {
            find_level(state, state.sections[entry.index]);
        }
    }
}

// Raise item `i` to `low`, the floor of `section`; false where it has no offset left.
inline bool lift_item(const SearchState &state, Int i, Int low, Int section) {
    Item &item = state.items[i];
    const Int old = item.level;
    log(state, ITEM_CHANGED, i, item.floor, old, item.witness);
    item.floor = low;
    item.witness = section;
    if (old >= low && item.variants_end - item.variants_begin == 1) {
        return true;
    }
    item.level = lowest(state, item, low);
    if (item.level != old) {
        leave_level(state, item, old);
    }
    return item.level != NEVER;
}

// Give a section a new floor.
inline void raise_floor(const SearchState &state, Int q, Int floor) {
    Section &section = state.sections[q];
    log(state, FLOOR_CHANGED, q, section.floor, section.top, section.top_item);
    section.floor = floor;
}

// Explain that item `i` has no offset left; always false.
inline bool no_offset(const SearchState &state, const Item &item) {
    const Int why = state.control.item_count;
    clear(state.sets, why);
    add_witness(state, why, item);
    if (item.witness >= 0) {
        state.sections[item.witness].weight += 10;
    }
    return false;
}

// Place item `i`; False, with an explanation, where another one has no offset left.
inline bool put(const SearchState &state, Int i, Int variant, Int height) {
    const Int begin = state.control.log_length;
    Item &item = state.items[i];
    item.placed = 1;
    item.offset = height;
    item.memory = state.variant(variant).memory;
    --state.control.unplaced_items;
    for (const Link &link : sections_of(state, item)) {
        Section &section = state.sections[link.to];
        raise_floor(state, link.to, height + link.height);
        section.top = height + link.height;
        section.top_item = i;
        section.rest_height -= link.height;
        --section.rest_count;
    }
    leave_level(state, item, item.level);
    for (const Link &conflict : conflicts_of(state, item)) {
        const Item &other = state.items[conflict.to];
        const Int top = height + conflict.height;
        if (other.placed || other.floor >= top) {
            continue;
        }
        if (!lift_item(state, conflict.to, top, conflict.section)) {
            return no_offset(state, other);
        }
    }
    settle_levels(state, begin);
    return true;
}

// The lowest offset of item `i`, or `most`, if nothing of section `q` is at `height`.
//
// An item that could be at `height` and is not rests on one that is not in `q` and is at `height` or
// above; or it is of a variant that begins higher.
inline Int next_rest(const SearchState &state, const Item &item, Int q, Int height, Int most) {
    Int top = NEVER;
    for (const Link &conflict : conflicts_of(state, item)) {
        const Item &other = state.items[conflict.to];
        if (!other.placed && !has(state.sets, conflict.to, q)) {
            top = std::min(top, height + other.size - other.drop);
        }
    }
    for (Int v = item.variants_begin; v < item.variants_end; ++v) {
        Int offset = lifted(state, item, v, item.floor);
        if (offset <= height) {
            offset = top < NEVER ? lifted(state, item, v, std::max(top, height + 1)) : NEVER;
        }
        most = std::min(most, offset);
    }
    return most;
}

// Keep section `q` empty from `height` up to the next offset that any of its items can have; false where
// that is too high. What is considered goes into set `row`.
inline bool leave_empty(const SearchState &state, Int q, Int height, Int row) {
    Section &section = state.sections[q];
    Int floor = NEVER;
    for (const Link &member : members(state, section)) {
        const Item &item = state.items[member.to];
        if (item.placed) {
            continue;
        }
        if (item.level > height) {
            floor = std::min(floor, item.level);
        } else {
            floor = next_rest(state, item, q, height, floor);
            join(state.sets, row, member.to);
        }
    }
    if (floor + section.rest_height > state.control.capacity) {
        const Int why = state.control.item_count;
        section.weight += 10;
        clear(state.sets, why);
        join(state.sets, why, row);
        add_level(state, why, q);
        return false;
    }
    const Int begin = state.control.log_length;
    raise_floor(state, q, floor);
    for (const Link &member : members(state, section)) {
        const Item &item = state.items[member.to];
        if (item.placed || item.floor >= floor) {
            continue;
        }
        if (!lift_item(state, member.to, floor, q)) {
            return no_offset(state, item);
        }
    }
    settle_levels(state, begin);
    return true;
}

inline void take_back(const SearchState &state, const LogEntry &old) {
    if (old.kind == LEVEL_CHANGED) {
        Section &section = state.sections[old.index];
        section.level = old.x;
        section.at_level = old.y;
    } else if (old.kind == ITEM_CHANGED) {
        Item &item = state.items[old.index];
        item.floor = old.x;
        item.level = old.y;
        item.witness = old.z;
    } else {
        Section &section = state.sections[old.index];
        section.floor = old.x;
        section.top = old.y;
        section.top_item = old.z;
    }
}

// Take back the frame's last choice.
inline void undo(const SearchState &state, const Frame &frame) {
    if (frame.chosen >= 0) {
        Item &item = state.items[frame.chosen];
        item.placed = 0;
        ++state.control.unplaced_items;
        for (const Link &link : sections_of(state, item)) {
            state.sections[link.to].rest_height += link.height;
            ++state.sections[link.to].rest_count;
        }
    }
    for (Int at = state.control.log_length - 1; at >= frame.log_before; --at) {
        take_back(state, state.log[at]);
    }
    state.control.log_length = frame.log_before;
}
