// Borders between stretches: what may have been moved ahead of the NPU, and the least times to get there.
#pragma once

#include "ways.h"

namespace columns {

struct Around {
    Moved ahead, ahead_after, behind, behind_after;
    Int capacity, later, most;
    bool alone, for_bytes;
};

// A row of a table between two borders; see COLUMNS in kernel.py.
struct TableRow {
    Int before, after, needed, cycles, moved, most_before, most_after, least, beyond;
    std::array<Int, 4> made_by;
    Int bytes;

    // The same with what may be moved ahead, or be still to come, rounded to more, and what has to be there to less:
    // rows that hardly differ in it are compared by their cycles.
    TableRow rounded(const Levels &levels) const {
        TableRow found = *this;
        found.most_before = up(most_before, levels.grain());
        found.most_after = up(most_after, levels.grain());
        found.least = -up(-least, levels.fine_grain());
        found.needed = -up(-needed, levels.fine_grain());
        return found;
    }

    static Int up(Int number, Int grain) { return number + ((-number) % grain + grain) % grain; }

    // Cycles from the begin of the NPU's work on, with so many moved ahead at the end.
    Int taken(Int ahead) const { return std::max(cycles, beyond + ahead); }
};

inline TableRow table_row(const Way &way, const Places &places, const Around &around) {
    const auto &keys = way.keys;
    const MoveRow &move = places.moves[way.place];
    if (around.for_bytes) {
        const Int bytes = around.capacity - places.room[way.place] + keys[SIZE];
        return {move.before, move.after, 0, keys[CYCLES], way.macs, 0, 0, 0, 0, way.made_by, bytes};
    }
    const Int room = places.room[way.place], loads = keys[LOADS] + places.weights;
    const Int late = std::min(around.behind.in(std::max<Int>(0, room - keys[FIRST])), way.most_behind);
    Int needed = keys[NEEDED] - std::min(move.behind, late);
    if (way.waits) {
        needed = keys[NEEDED];
    } else if (keys[WHOLE]) {
        needed = std::max(needed, keys[NEEDED] - std::min(move.behind - move.passing_behind, late));
    }
    const Int queued = around.behind_after.in(around.capacity - move.after_bytes);
    const Int pending = keys[BEHIND] < 0 ? std::min(queued, move.leaving - keys[BEHIND]) : queued;
    const Int ahead = std::min(around.ahead.in(room - keys[SIZE]) - keys[AHEAD], way.most_before);
    const Int free = around.alone ? std::min(around.capacity - move.after_bytes, room - keys[END])
                                  : around.capacity - std::max(move.after_bytes, keys[END]);
    const Int later = std::min(around.ahead_after.in(std::max<Int>(0, free)), way.most_after);
    const Int after = std::min(std::min(later, around.later) + move.early_after, around.most);
    const Int most_after = after - way.last;
    // What is ahead before is for this stretch, or it is ahead after, too.
    const Int most_before = std::min(std::min(ahead, loads + around.later) + move.early, after + loads + move.leaving);
    const Int least = -std::min(move.behind_after, pending);
    const Int waits = std::max<Int>(0, least - most_after);  // For the stores that no step hides.
    return {move.before,
            move.after,
            needed,
            keys[CYCLES] + waits,
            loads + keys[STORES] + move.leaving,
            std::min(most_before, around.most),
            most_after + waits,
            least,
            way.beyond,
            way.made_by,
            around.capacity - room + keys[SIZE]};
}

// Reach the border after a table's ways from the times before; see path.py. Who has moved more counts as having
// moved less in the end, so a row needs no look at points where less is moved than it leaves at least.
inline void reach(const std::vector<TableRow> &table, const Levels &levels, const Int *before, Int *after) {
    const Int *points = levels.points;
    for (const TableRow &row : table) {
        const Int *times = before + row.before * levels.count;
        Int *reached = after + row.after * levels.count, place = 0;
        const Int first = std::max<Int>(0, (row.least - points[0]) / levels.width);
        for (Int level = std::min(first, levels.count - 1); level < levels.count; ++level) {
            const Int point = std::max(points[level], row.least);
            if (point >= row.most_after + levels.width) {
                break;
            }
            const Int taken = row.taken(point);
            Int ahead = std::max(row.needed, point + row.moved - taken);
            ahead = std::max(std::min(ahead, row.most_before), points[0]);
            place = levels.place_of(ahead, place);  // What is ahead before never falls from point to point.
            const Int begun = levels.time(times, place, ahead);
            const Int waits = std::max<Int>(0, row.needed - ahead) + taken;
            const Int moves = point - ahead + row.moved;
            reached[level] = std::min(reached[level], std::min(NEVER, begun + std::max(waits, moves)));
        }
    }
}

// Improve the least times from the border before a table's ways on by those from the border after it; those to
// the border before say what a path takes at least that has one of these ways.
inline Int reach_back(const std::vector<TableRow> &table, const Levels &levels, const Int *begun, const Int *after,
                      Int *before) {
    const Int *points = levels.points, last = levels.count - 1;
    Int least = NEVER;
    for (const TableRow &row : table) {
        const Int *left = after + row.after * levels.count, *times = begun + row.before * levels.count;
        Int *reached = before + row.before * levels.count;
        for (Int level = 0; level <= last; ++level) {
            const Int ahead = std::max(std::min(points[level], row.most_before), points[0]);
            const Int waits = std::max<Int>(0, row.needed - ahead) + row.cycles;
            const Int most = row.most_after + levels.width - 1;
            const Int kept = std::max(std::min(std::max(ahead - row.moved + waits, row.least), most), points[0]);
            const Int place = std::min((kept - points[0]) / levels.width, last);
            const Int next = left[std::min(place + 1, last)], gone = kept - points[place];
            const Int rest = place < last ? std::max(next, left[place] - gone) : next - gone;
            const Int time = std::min(NEVER, std::max(waits, kept - ahead + row.moved) + std::max<Int>(0, rest));
            reached[level] = std::min(reached[level], time);
            least = std::min(least, times[std::max<Int>(0, level - 1)] + time);
        }
    }
    return least;
}

} // namespace columns
