// The ways to run one op on its own, in stripes of rows and slices of channels.
#pragma once

#include "ways.h"

namespace columns {

// A way to cut one op, the NPU cycles of all parts, and the bytes that an output takes beside the input of which it
// has the memory.
struct Cut {
    Int rows, channels, cycles, beside;
};

// The ways of one op on its own.
class OpWays {
public:
    OpWays(const Stretch &stretch, const Chip &chip, const Places &places, Taker &best, Int channels, Int takes,
           const Int *by_channels, Int whole, bool in_turn, bool by_rows)
        : stretch_(stretch), chip_(chip), places_(places), best_(best), channels_(channels), takes_(takes),
          whole_(whole), in_turn_(in_turn), by_rows_(by_rows), by_channels_(by_channels) {}

    void take(Int number, const Cut &cut) {
        const OpRow &op = stretch_.ops[0];
        starts_.clear();
        for (Int start = 0; start < op.rows; start += cut.rows) {
            starts_.push_back(start);
        }
        stripes_ = Int(starts_.size());
        starts_.push_back(op.rows);
        slices_ = (channels_ + cut.channels - 1) / cut.channels;
        last_slice_ = channels_ - (slices_ - 1) * cut.channels;
        compute_ = cut.cycles;
        cut_beside_ = cut.beside;
        if (places_.are_beyond(compute_, 0)) {
            return;
        }
        for (Int outer = 0; outer < (stripes_ > 1 && slices_ > 1 && !in_turn_ ? 2 : 1); ++outer) {
            weigh(cut, outer);
            measure(cut, outer);
            for (Int place = 0; place < places_.count; ++place) {
                take_place(place, {number, outer, 0, 0});
            }
        }
    }

private:
    // Loads of slices of weights, each again for every stripe unless slices are outside.
    void weigh(const Cut &cut, Int outer) {
        const Int weights = stretch_.ops[0].weights;
        slice_ = (weights * std::min(cut.channels, channels_) + channels_ - 1) / channels_;
        const bool loads = stretch_.ops[0].loads;
        const Int whole = loads ? chip_.weights.cycles(slice_) : 0;
        const Int rest = loads ? chip_.weights.cycles((weights * last_slice_ + channels_ - 1) / channels_) : 0;
        const Int rounds = outer || slices_ == 1 ? 1 : stripes_;
        slice_loads_ = weights ? rounds * slices_ : 0;
        slice_cycles_ = slices_ > 1 ? whole : rest;
        last_cycles_ = rest;
        rounds_ = rounds;
        weight_cycles_ = weights ? rounds * ((slices_ - 1) * whole + rest) : 0;
    }

    void measure(const Cut &cut, Int outer) {
        const OpRow &op = stretch_.ops[0];
        passing_.assign(stretch_.tensors.size(), Passing{});
        latest_.assign(stretch_.tensors.size(), 0);
        for (Int at = op.needs; at < op.needs_end; ++at) {
            const NeedRow &need = stretch_.needs[at];
            TensorRow tensor = stretch_.tensors[need.tensor];
            tensor.rolls = tensor.rolls > 0 && !(outer && slices_ > 1);
            std::vector<Span> read;
            for (Int stripe = 0; stripe < stripes_; ++stripe) {
                read.push_back(stretch_.reads(need, {starts_[stripe], starts_[stripe + 1]}));
            }
            measure_input(need.tensor, tensor, read, cut, outer, by_channels_[at]);
        }
        for (Int at = op.makes; at < op.makes_end; ++at) {
            measure_output(stretch_.makes[at], cut);
        }
    }

    void measure_input(Int number, const TensorRow &tensor, const std::vector<Span> &read, const Cut &cut,
                       Int outer, Int of_channels) {
        const bool divided = of_channels && slices_ > 1;
        const std::vector<Int> wide(divided ? read.size() : 0, std::min(cut.channels, channels_));
        Loads loads(tensor, read, chip_.load, wide, divided ? channels_ : 1);
        Passing found;
        const Int parts = loads.parts() * (divided ? slices_ : 1);
        found.bytes[0] = loads.bytes(1, parts);
        found.bytes[1] = loads.bytes(2, parts);
        Int once = 0, late = 0, largest = 0;
        for (std::size_t at = 0; at < loads.count(); ++at) {
            const Int cycles = loads.cycles(at);
            found.first = at ? found.first : cycles;
            largest = std::max(largest, cycles);
            once += cycles;
            late += at ? loads.cycles(at, true) : 0;
        }
        // Slices that read other channels load each their own, in full but for the last, smaller one.
        Int times = divided || (outer && slices_ > 1 && loads.parts() > 1) ? slices_ : 1;
        if (divided) {
            Loads rest(tensor, read, chip_.load, std::vector<Int>(read.size(), last_slice_), channels_);
            Int end = 0;
            for (std::size_t at = 0; at < rest.count(); ++at) {
                end += rest.cycles(at);
            }
            found.cycles = (times - 1) * once + end;
        } else {
            found.cycles = times * once;
        }
        found.apart = loads.rolls() ? late : found.cycles - found.first;
        set_ahead(found, loads, largest);
        found.tail = last_part();
        if (!chip_.whole && times == 1) {
            latest_[number] = std::max(latest_[number], latest_end(loads));
        }
        passing_[number].bytes[0] = std::max(passing_[number].bytes[0], found.bytes[0]);
        if (passing_[number].cycles <= found.cycles) {
            const Int most = std::max(passing_[number].bytes[1], found.bytes[1]);
            found.bytes[0] = passing_[number].bytes[0];
            found.bytes[1] = most;
            passing_[number] = found;
        }
    }

    // The latest end of the op if each stripe waits for its load, and no stripe after it for any.
    Int latest_end(const Loads &loads) const {
        Int loaded = 0, found = 0;
        for (Int stripe = 0; stripe < stripes_; ++stripe) {
            loaded += loads.cycles(stripe);
            const Int left = starts_[stripes_] - starts_[stripe];
            found = std::max(found, loaded + compute_ * left / std::max<Int>(1, starts_[stripes_]));
        }
        return found;
    }

    void measure_output(Int number, const Cut &cut) {
        const TensorRow &tensor = stretch_.tensors[number];
        const OpRow &op = stretch_.ops[0];
        auto bytes = [&](Int rows, Int channels) {
            return (tensor.bytes * rows * channels + op.rows * channels_ - 1) / (op.rows * channels_);
        };
        const Int channels = std::min(cut.channels, channels_);
        Passing &found = passing_[number];
        found.cycles = 0;
        for (Int stripe = 0; stripe < stripes_; ++stripe) {
            const Int rows = starts_[stripe + 1] - starts_[stripe];
            const Int runs = slices_ > 1 ? rows : 1;
            found.last = chip_.store.cycles(bytes(rows, last_slice_), runs);
            found.cycles += (slices_ - 1) * chip_.store.cycles(bytes(rows, channels), runs) + found.last;
        }
        found.apart = std::max<Int>(0, found.cycles - found.last);
        found.bytes[0] = bytes(std::min(cut.rows, op.rows), channels);
        found.bytes[1] = found.bytes[0] * std::min<Int>(2, stripes_ * slices_);
        found.behind[0] = found.last;
        found.behind[1] = 2 * found.last;
        found.tail = compute_ * std::min(cut.rows, op.rows) / op.rows / slices_;
    }

    // NPU cycles of the last stripe, or of its last slice.
    Int last_part() const {
        const Int rows = starts_[stripes_] - starts_[stripes_ - 1];
        return compute_ * rows / std::max<Int>(1, starts_[stripes_]);
    }

    void take_place(Int place, std::array<Int, 4> made_by) {
        bool passes = false;
        for (Int tensor = 0; tensor < places_.tensors; ++tensor) {
            passes = passes || places_.of(place, tensor) == PASSES;
        }
        const bool in_rows = by_rows_ && places_.shares[place] && stripes_ > 1 && made_by[1] == 0;
        if (!in_rows && !passes && stripes_ > 1 && (takes_ >= 0 || compute_ + stripes_ * slices_ >= whole_)) {
            return;  // Stripes of what stays are for their cycles alone, which are rounded down for each.
        }
        beside_ = in_rows || !by_rows_ ? cut_beside_ : stretch_.tensors[takes_].bytes;
        for (Int depth = 1; depth <= (passes && stripes_ * slices_ > 1 && !chip_.for_bytes ? 2 : 1); ++depth) {
            for (Int slices = 1; slices <= (slice_loads_ > 1 && !chip_.for_bytes ? 2 : 1); ++slices) {
                made_by[2] = depth;
                made_by[3] = slices;
                take_buffers(place, depth, slices, passes, made_by);
            }
        }
    }

    void take_buffers(Int place, Int depth, Int slices, bool passes, const std::array<Int, 4> &made_by) {
        const Int second = std::min(slice_, stretch_.ops[0].weights - slice_);  // The last of two may be smaller.
        Int single = slice_ + stretch_.ops[0].carried + (places_.shares[place] ? beside_ : 0), size = single + second * (slices - 1);
        Int loads = weight_cycles_, stores = 0, last = 0, apart = 0, late = 0, behind = 0, first = slice_loads_ ? slice_cycles_ : 0;
        Int ahead = slice_loads_ ? slices * chip_.weights.cycles(slice_) : 0;
        Int passed = first, tail = compute_, latest = 0;
        const Int loaded = first;
        Meanwhile meanwhile;
        for (Int tensor = 0; tensor < places_.tensors; ++tensor) {
            const Int place_of = places_.of(place, tensor);
            const TensorRow &row = stretch_.tensors[tensor];
            if (place_of == FREE) {
                continue;
            }
            const bool has_bytes = tensor != takes_ || beside_ > 0;
            if (place_of != PASSES) {
                const Int comes = place_of & COMES ? chip_.load.cycles(row.bytes) : 0;
                size += has_bytes * row.bytes;
                single += has_bytes * row.bytes;
                loads += comes;
                (places_.late(place, tensor) ? late : first) += comes;
                ahead += places_.late(place, tensor) ? 0 : comes;
                continue;
            }
            const Passing passing = in_room(passing_[tensor], row, chip_, places_.room[place]);
            const bool input = row.role == INPUT;
            size += has_bytes * passing.bytes[depth - 1];
            single += has_bytes * passing.bytes[0];
            (input ? loads : stores) += passing.cycles;
            const bool delayed = places_.late(place, tensor);
            (delayed ? late : first) += input ? passing.first : 0;
            ahead += input && !delayed ? passing.ahead[depth - 1] : 0;
            last += input ? 0 : passing.last;
            behind += input ? 0 : passing.behind[depth - 1];
            apart += depth == 1 ? passing.apart : 0;
            meanwhile.add(passing, depth, input);
            if (input && !delayed) {
                passed += passing.cycles;
                latest = std::max(latest, latest_[tensor]);
                tail = std::min(tail, chip_.whole ? 0 : passing.tail);
            }
        }
        const Int room = places_.room[place];
        if (size > room || places_.is_beyond(place, compute_, loads + stores)) {
            return;
        }
        if (chip_.for_bytes) {
            best_.push_back({place, {size, 0, 0, 0, compute_, 0, 0, 0, 0, 0}, made_by});
            best_.back().macs = stretch_.ops[0].macs;
            return;
        }
        if (slices == 1 && slice_loads_ > 1) {
            // Pieces of the next slice come into what is free, before its buffer is.
            const Int early = (room - size) * chip_.weights.numerator / chip_.weights.denominator + 1;
            const Int waits = std::max<Int>(0, slice_cycles_ - early);
            if (chip_.whole || !waits) {
                apart += (rounds_ * (slices_ - 1) - 1) * waits + rounds_ * std::max<Int>(0, last_cycles_ - early);
            } else {
                // Every other one begins where the one before it ends, and comes when that has gone.
                apart += slice_loads_ / 2 * slice_cycles_ + (slice_loads_ - 1) / 2 * waits;
            }
        }
        const Int busy = std::max(compute_ + apart, chip_.whole ? 0 : meanwhile.cycles());
        const Int cycles = busy + late + (chip_.last ? last : 0);
        if (places_.is_beyond(place, cycles, loads + stores)) {
            return;
        }
        first = std::max(first, std::max(passed + tail, loaded + latest) - busy);
        const bool whole = stripes_ == 1 || !passes;
        best_.push_back({place,
                   {size, single, single, first, cycles, loads, stores, -ahead, -behind, Int(whole)},
                   made_by,
                   ENDLESS,
                   ENDLESS,
                   ENDLESS,
                   chip_.whole || chip_.last ? 0 : last,
                   !chip_.whole && late > 0});
    }

    const Stretch &stretch_;
    const Chip &chip_;
    const Places &places_;
    Taker &best_;
    const Int channels_, takes_;  // the output that has an input's memory
    const Int whole_;             // NPU cycles in one part
    const bool in_turn_;          // whether a row needs all channels of the one before
    const bool by_rows_;          // whether the output may have that memory row by row alone
    const Int *by_channels_;
    std::vector<Passing> passing_;
    std::vector<Int> latest_;  // by tensor that passes, if no plan has it whole
    std::vector<Int> starts_;  // rows at which stripes begin, and the end
    Int cut_beside_ = 0, beside_ = 0;
    Int stripes_ = 1, slices_ = 1, last_slice_ = 1, compute_ = 0;
    Int slice_ = 0, slice_loads_ = 0, slice_cycles_ = 0, last_cycles_ = 0, weight_cycles_ = 0, rounds_ = 1;
};

} // namespace columns
