// The rows of the search's arrays: what ``columns.py`` numbers, as structs of 64-bit fields in the same
// order.
#pragma once

#include <cstdint>

using Int = std::int64_t;
using Word = std::uint64_t;

enum Status : Int { RUNNING, FOUND, EXHAUSTED, NO_SPACE };
enum BranchRule : Int { FEWEST_THEN_LAST, FEWEST_THEN_HEAVIEST, WEIGHTED_LOWEST };
enum LogKind : Int { FLOOR_CHANGED, ITEM_CHANGED, LEVEL_CHANGED };

constexpr Int NEVER = Int(1) << 61;
constexpr Int LEAVE_EMPTY = -1;
constexpr Int TIE_WEIGHT_LIMIT = Int(1) << 30;

struct Control {
    Int status, depth, nodes, log_length, choices_length, stamp, unplaced_items, capacity, item_count;
    Int rule_rest, rule_twins, rule_stacks, rule_jumps, max_choices, branch_rule, flush_first;
};

struct Item {
    Int size, align, twin, loose, drop, rank;
    Int sections_begin, sections_end, conflicts_begin, conflicts_end;
    Int variants_begin, variants_end, apart_begin, apart_end;
    Int floor, level, placed, offset, memory, witness;
};

struct Section {
    Int members_begin, members_end, floor, top, top_item, rest_height, rest_count;
    Int level, at_level, logged, weight;
};

// The rows of ``links`` are of three kinds.
struct Link {
    Int to, height, section; // an item or a section; the height there; of a conflict, where it is that high
};
struct Variant {
    Int memory, ranges_begin, unused;
};
struct Range {
    Int low, high, unused;
};

struct Frame {
    Int section, height, first, stop, next, chosen, log_before;
};

struct LogEntry {
    Int kind, index, x, y, z;
};

struct Choice {
    Int item, variant, key;
};

template <class Row> constexpr Int columns_of = sizeof(Row) / sizeof(Int);

static_assert(columns_of<Control> == 16 && columns_of<Item> == 20 && columns_of<Section> == 11);
static_assert(columns_of<Link> == 3 && columns_of<Variant> == 3 && columns_of<Range> == 3);
static_assert(columns_of<Frame> == 7 && columns_of<LogEntry> == 5 && columns_of<Choice> == 3);
