// The ways to run a stretch as a cascade: bytes at its steps, NPU and DMA cycles, and waits.
#pragma once

#include "ways.h"

#include <numeric>

namespace columns {

// The ways of several ops as a cascade.
class CascadeWays {
public:
    // `ahead` and `ahead_after` say what some bytes may hold of loads that come after its borders, `behind` of
    // stores that come before.
    CascadeWays(const Stretch &stretch, const Chip &chip, const Places &places, const Moved &ahead,
                const Moved &ahead_after, const Moved &behind, Taker &best)
        : stretch_(stretch), chip_(chip), places_(places), ahead_(ahead), ahead_after_(ahead_after), behind_(behind),
          best_(best), held_cycles_(weights_once(stretch, chip)) {
        number_sets();
    }

    // One choice of `heights`, with each of the sets of weights that are loaded again; rows of the set of ops
    // `remade` are made for each step that reads them.
    void take(Int number, const Int *heights, const Bands &bands, Int remade, const std::vector<Int> &again,
              const std::vector<Int> &groups, Int most_steps) {
        bands_ = bands;
        if (stretch_.rolls && places_.are_beyond(computing(heights), held_cycles_)) {
            return;
        }
        walk_once(heights, remade, most_steps);
        if (!once_.possible || Int(once_.steps.size()) * bands.count > most_steps) {
            return;
        }
        walk_ = once_;
        walk_.repeat(bands.count, stretch_.rolls && (once_.ends.size() == 1 || bands.count > 1 || remade));
        in_band_ = Int(walk_.ends.size()) / bands.count;
        count_steps();
        if (!stretch_.rolls && places_.are_beyond(total_, held_cycles_)) {
            return;
        }
        for (Int stripe : groups) {
            if (stripe > 1 && (stripe > in_band_ || chip_.for_bytes)) {
                break;
            }
            measure(stripe);
            for (Int set = 0; set < Int(again.size()); ++set) {
                const Int held = hold_weights(again[set]);
                runs_.assign(2 * sets_.size(), -1);
                for (Int place = 0; place < places_.count; ++place) {
                    const Int moved = loaded_cycles_ + turns_cycles_;
                    if (held <= places_.room[place] && !places_.is_beyond(place, total_, moved)) {
                        take_place(place, {number, set, stripe, 0});
                    }
                }
            }
        }
    }

private:
    // Bytes that are there from one step to another; of a single buffer where there are two.
    struct Buffer {
        Int start, stop, bytes, single;
    };

    // Steps that use one stripe of what passes, and DMA cycles: of an input also those that have no room before the
    // stripe before has been read.
    struct Turn {
        Int first, last, cycles, late;
    };

    // A tensor that passes: the stripe that is next, and when the transfers of all stripes end.
    struct Running {
        const std::vector<Turn> *turns;
        bool input;
        Int turn;
        std::vector<Int> ends;
        bool has_turn() const { return turn < Int(turns->size()); }
        const Turn &next() const { return (*turns)[turn]; }
    };

    // The steps of one band, which are those of the choice before where only bands differ.
    void walk_once(const Int *heights, Int remade, Int most_steps) {
        std::vector<Int> choice(heights, heights + stretch_.count());
        choice.push_back(remade);
        if (choice == choice_) {
            return;
        }
        choice_ = std::move(choice);
        remade_ = remade;
        once_ = Walker(stretch_, heights, remade, most_steps).walk();
        Int macs = 0;
        for (const Step &step : once_.steps) {
            macs += stretch_.ops[step.op].macs * step.rows.size() / stretch_.ops[step.op].rows;
        }
        once_.possible = once_.possible && (!chip_.for_bytes || macs <= chip_.most_macs);
    }

    Int cycles(const Step &step) const {
        const Int at = bands_.cycles ? bands_.cycles[step.band * stretch_.count() + step.op] : stretch_.ops[step.op].cycles;
        return stretch_.table[at + step.rows.size()];
    }

    // The columns of a tensor in a band, and of how many.
    std::pair<Int, Int> columns(Int tensor, Int band) const {
        return bands_.columns ? std::pair{bands_.columns[band * Int(stretch_.tensors.size()) + tensor],
                                          bands_.of_columns[tensor]}
                              : std::pair<Int, Int>{1, 1};
    }

    // The stripe of a group: none has groups of two bands.
    Int stripe_of(Int group, Int size) const {
        const Int each = (in_band_ + size - 1) / size;
        return group / in_band_ * each + group % in_band_ / size;
    }

    void count_steps() {
        const Int ops = stretch_.count(), tensors = Int(stretch_.tensors.size());
        computed_.assign(ops, 0);
        begins_.assign(ops, -1);
        first_read_.assign(tensors, -1);
        used_.assign(tensors, Span{-1, -1});
        spans_.assign(ops, Span{-1, -1});
        std::vector<bool> parts(ops, false);
        std::vector<Int> area(ops, 0), open(tensors, -1);
        total_ = macs_ = 0;
        ends_.clear();
        inside_.clear();
        for (Int at = 0; at < Int(walk_.steps.size()); ++at) {
            const Step &step = walk_.steps[at];
            const OpRow &op = stretch_.ops[step.op];
            begins_[step.op] = begins_[step.op] < 0 ? total_ : begins_[step.op];
            touch(spans_[step.op], at);
            for (Int need = op.needs; need < op.needs_end; ++need) {
                const Int tensor = stretch_.needs[need].tensor;
                first_read_[tensor] = first_read_[tensor] < 0 ? total_ : first_read_[tensor];
                touch(used_[tensor], at);
                if (open[tensor] >= 0) {
                    add_inside({open[tensor], at}, bytes_inside(tensor));
                    open[tensor] = -1;
                }
            }
            for (Int make = op.makes; make < op.makes_end; ++make) {
                const Int tensor = stretch_.makes[make];
                touch(used_[tensor], at);
                if (stretch_.is_remade(step.op, remade_) && open[tensor] < 0) {
                    open[tensor] = at;
                }
                area[step.op] += make == op.makes ? step.rows.size() * columns(tensor, step.band).first : 0;
            }
            computed_[step.op] += cycles(step);
            total_ += cycles(step);
            ends_.push_back(total_);
            parts[step.op] = parts[step.op] || step.rows.size() < op.rows;
        }
        for (Int at = 0; at < tensors; ++at) {
            const TensorRow &tensor = stretch_.tensors[at];
            if (open[at] >= 0) {
                add_inside({open[at], used_[at].stop}, bytes_inside(at));
            } else if (tensor.role == INSIDE && !stretch_.is_remade(tensor.maker, remade_)) {
                add_inside(used_[at], bytes_inside(at));
            }
        }
        for (Int op = 0; op < ops; ++op) {
            const OpRow &row = stretch_.ops[op];
            add_inside(spans_[op], parts[op] ? row.carried : 0);
            macs_ += row.macs * area[op] / (row.rows * columns(stretch_.makes[row.makes], 0).second);
        }
    }

    // Those of all rows that are there at once, in the widest band.
    Int bytes_inside(Int at) const {
        const TensorRow &tensor = stretch_.tensors[at];
        Int widest = 0;
        for (Int band = 0; band < bands_.count; ++band) {
            widest = std::max(widest, columns(at, band).first);
        }
        return walk_.most[at] * tensor.bytes / tensor.rows * widest / columns(at, 0).second;
    }

    // NPU cycles of all steps, where rows are made once: an op has steps of its height, and one of the rest.
    Int computing(const Int *heights) const {
        Int found = 0;
        for (Int band = 0; band < bands_.count; ++band) {
            for (Int op = 0; op < stretch_.count(); ++op) {
                const Int rows = stretch_.ops[op].rows, height = std::max<Int>(1, std::min(rows, heights[op]));
                found += rows / height * cycles({op, {0, height}, band}) + cycles({op, {0, rows % height}, band});
            }
        }
        return found;
    }

    static Int weights_once(const Stretch &stretch, const Chip &chip) {
        Int cycles = 0;
        for (const OpRow &op : stretch.ops) {
            cycles += op.loads * chip.weights.cycles(op.weights);
        }
        return cycles;
    }

    static void touch(Span &span, Int at) { span = {span.start < 0 ? at : span.start, at}; }

    void add_inside(Span span, Int bytes) {
        if (bytes) {
            inside_.push_back({span.start, span.stop, bytes, bytes});
        }
    }

    // Buffers, transfers and waits of each tensor that may pass, with so many groups a stripe.
    void measure(Int stripe) {
        passing_.assign(stretch_.tensors.size(), Passing{});
        turns_.assign(stretch_.tensors.size(), {});
        for (Int tensor = 0; tensor < Int(stretch_.tensors.size()); ++tensor) {
            if (stretch_.tensors[tensor].role == INPUT) {
                measure_input(tensor, stripe);
            } else if (stretch_.tensors[tensor].role == OUTPUT) {
                measure_output(tensor);
            }
        }
    }

    void measure_input(Int tensor, Int stripe) {
        const Int each = (in_band_ + stripe - 1) / stripe, stripes = bands_.count * each;
        std::vector<Span> read(stripes);
        std::vector<Int> shares(bands_.columns ? stripes : 0);
        std::vector<bool> reader(stretch_.ops.size(), false);
        Int group = 0, compute = 0;
        for (Int at = 0; at < Int(walk_.steps.size()); ++at) {
            group += at == walk_.ends[group];
            const Step &step = walk_.steps[at];
            const OpRow &op = stretch_.ops[step.op];
            for (Int need = op.needs; need < op.needs_end; ++need) {
                if (stretch_.needs[need].tensor == tensor) {
                    read[stripe_of(group, stripe)].join(stretch_.reads(stretch_.needs[need], step.rows));
                    reader[step.op] = true;
                    if (!shares.empty()) {
                        shares[stripe_of(group, stripe)] = columns(tensor, step.band).first;
                    }
                }
            }
        }
        const TensorRow &row = stretch_.tensors[tensor];
        Loads loads(row, read, chip_.load, shares, columns(tensor, 0).second, row.channels,
                    bands_.columns ? each : 0);
        Passing &found = passing_[tensor];
        found.bytes[0] = loads.bytes(1, loads.parts());
        found.bytes[1] = loads.bytes(2, loads.parts());
        Int largest = 0;
        for (std::size_t at = 0; at < loads.count(); ++at) {
            const Int cycles = loads.cycles(at);
            found.first = found.cycles ? found.first : cycles;
            found.apart += found.cycles ? loads.cycles(at, true) : 0;
            found.cycles += cycles;
            largest = std::max(largest, cycles);
        }
        set_ahead(found, loads, largest);
        Int before = -1, gap = 0, last = 0;
        for (Int at = 0; at < Int(loads.count()); ++at) {
            last = loads.cycles(at) ? at : last;
        }
        group = 0;
        for (Int at = 0; at < Int(walk_.steps.size()); ++at) {
            group += at == walk_.ends[group];
            const Step &step = walk_.steps[at];
            if (!reader[step.op]) {
                gap += cycles(step);
                continue;
            }
            const Int here = stripe_of(group, stripe);
            if (here == last && !found.tail) {
                found.tail = total_ - ends_[at] + cycles(step);
            }
            if (here != before) {
                Int loaded = 0, all = 0;
                for (Int next = before + 1; next <= here; ++next) {
                    loaded += loads.cycles(next, true);
                    all += loads.cycles(next);
                }
                found.wait += before < 0 ? 0 : std::max<Int>(0, loaded - gap);
                turns_[tensor].push_back({at, at, all, loaded});
            }
            turns_[tensor].back().last = at;
            before = here;
            gap = 0;
            compute += cycles(step);
        }
        found.computed = compute;
    }

    // Each step that makes rows of an output stores them; sums are stored by the last one.
    void measure_output(Int tensor) {
        const TensorRow &row = stretch_.tensors[tensor];
        const bool sums = stretch_.ops[row.maker].carried && row.role == OUTPUT && row.rolls < 0;
        Passing &found = passing_[tensor];
        Int gap = 0, before = 0, steps = 0, most = 0, compute = 0;
        for (Int at = 0; at < Int(walk_.steps.size()); ++at) {
            const Step &step = walk_.steps[at];
            found.tail += steps ? 0 : cycles(step);
            if (step.op != row.maker) {
                gap += cycles(step);
                continue;
            }
            compute += cycles(step);
            if (sums && step.rows.stop < stretch_.ops[step.op].rows) {
                continue;
            }
            found.wait += std::max<Int>(0, before - gap);
            const auto [part, of] = columns(tensor, step.band);
            const Int bytes = sums ? row.bytes : row.bytes * step.rows.size() / row.rows * part / of;
            before = chip_.store.cycles(bytes, sums || part == of ? 1 : step.rows.size() * row.channels);
            gap = 0;
            turns_[tensor].push_back({at, at, before, before});
            found.cycles += before;
            found.apart += before;
            most = std::max(most, bytes);
            ++steps;
        }
        found.last = before;
        found.apart -= before;
        found.bytes[0] = most;
        found.bytes[1] = most * std::min<Int>(2, steps);
        found.behind[0] = before;
        found.behind[1] = 2 * before;
        found.computed = compute;
    }

    // Weights of the set `again` take turns in one buffer; those of other ops stay. The most bytes at a step
    // beside what passes or stays; no end of them where one of the set would be loaded once.
    Int hold_weights(Int again) {
        again_ = again;
        buffers_ = inside_;
        loaded_cycles_ = turn_bytes_ = turns_cycles_ = turns_first_ = turns_wait_ = turns_computed_ = 0;
        std::vector<Int> turns(stretch_.ops.size(), 0);
        for (Int op = 0; op < stretch_.count(); ++op) {
            const Int weights = stretch_.ops[op].weights;
            if (is_again(op)) {
                turn_bytes_ = std::max(turn_bytes_, weights);
                turns_computed_ += computed_[op];
            } else {
                loaded_cycles_ += stretch_.ops[op].loads * chip_.weights.cycles(weights);
            }
        }
        Int before = -1, gap = 0;
        for (const Step &step : walk_.steps) {
            if (!is_again(step.op)) {
                gap += cycles(step);
                continue;
            }
            if (step.op != before) {
                const OpRow &op = stretch_.ops[step.op];
                const Int cycles = chip_.weights.cycles(op.weights * op.loads);
                turns_cycles_ += cycles;
                turns_first_ = before < 0 ? cycles : turns_first_;
                turns_wait_ += before < 0 ? 0 : std::max<Int>(0, cycles - gap);
                ++turns[step.op];
            }
            before = step.op;
            gap = 0;
        }
        Span turn{-1, -1};
        for (Int op = 0; op < stretch_.count(); ++op) {
            if (is_again(op) && turns[op] < 2) {
                return ENDLESS;
            }
            if (is_again(op)) {
                turn = {turn.start < 0 ? spans_[op].start : std::min(turn.start, spans_[op].start),
                        std::max(turn.stop, spans_[op].stop)};
            } else if (stretch_.ops[op].weights) {
                const Int weights = stretch_.ops[op].weights;
                buffers_.push_back({spans_[op].start, spans_[op].stop, weights, weights});
            }
        }
        if (turn_bytes_) {
            buffers_.push_back({turn.start, turn.stop, turn_bytes_, turn_bytes_});
        }
        base_changes_.clear();
        for (const Buffer &buffer : buffers_) {
            add_changes(base_changes_, buffer);
        }
        std::sort(base_changes_.begin(), base_changes_.end());
        count_begun();
        Int bytes = 0, most = 0;
        for (const auto &[step, change] : base_changes_) {
            bytes += change;
            most = std::max(most, bytes);
        }
        return most;
    }

    static void add_changes(std::vector<std::pair<Int, Int>> &changes, const Buffer &buffer) {
        changes.push_back({buffer.start, buffer.bytes});
        changes.push_back({buffer.stop + 1, -buffer.bytes});
    }

    bool is_again(Int op) const { return again_ >> op & 1 && stretch_.ops[op].weights; }

    void take_place(Int place, std::array<Int, 4> made_by) {
        bool passes = false;
        for (Int tensor = 0; tensor < places_.tensors; ++tensor) {
            const TensorRow &row = stretch_.tensors[tensor];
            const bool passing = row.role != INSIDE && places_.of(place, tensor) == PASSES;
            if (passing && row.role == OUTPUT && first_read_[tensor] >= 0) {
                return;  // What is read again inside has to be there.
            }
            passes = passes || passing;
        }
        if (!passes && made_by[2] > 1) {
            return;
        }
        for (Int depth = 1; depth <= (passes && !chip_.for_bytes ? 2 : 1); ++depth) {
            made_by[3] = depth;
            take_depth(place, depth, made_by);
        }
    }

    void take_depth(Int place, Int depth, const std::array<Int, 4> &made_by) {
        Int loads = loaded_cycles_ + turns_cycles_, stores = 0, last = 0, behind = 0, wait = turns_wait_;
        Int ahead = chip_.weights.cycles(turn_bytes_);
        Int apart = std::max<Int>(0, turns_cycles_ - turns_first_), beside = std::min(apart, total_ - turns_computed_);
        const Int end = Int(walk_.steps.size()) - 1;
        around_.clear();
        Meanwhile meanwhile;
        for (Int tensor = 0; tensor < places_.tensors; ++tensor) {
            const TensorRow &row = stretch_.tensors[tensor];
            const Int place_of = places_.of(place, tensor);
            if (row.role == INSIDE || place_of == FREE) {
                continue;
            }
            if (place_of != PASSES) {
                const Int start = place_of & BEFORE ? 0 : used_[tensor].start;
                around_.push_back({start, place_of & AFTER ? end : used_[tensor].stop, row.bytes, row.bytes});
                loads += place_of & COMES ? chip_.load.cycles(row.bytes) : 0;
                ahead += place_of & COMES && !places_.late(place, tensor) ? chip_.load.cycles(row.bytes) : 0;
                continue;
            }
            const Passing passing = in_room(passing_[tensor], row, chip_, places_.room[place]);
            around_.push_back({used_[tensor].start, used_[tensor].stop, passing.bytes[depth - 1], passing.bytes[0]});
            (row.role == INPUT ? loads : stores) += passing.cycles;
            ahead += row.role == INPUT && !places_.late(place, tensor) ? passing.ahead[depth - 1] : 0;
            last += row.role == OUTPUT ? passing.last : 0;
            behind += row.role == OUTPUT ? passing.behind[depth - 1] : 0;
            meanwhile.add(passing, depth, row.role == INPUT);
            if (depth == 1) {
                wait = std::max(wait, passing.wait);
                apart += passing.apart;
                beside += std::min(passing.apart, total_ - passing.computed);
            }
        }
        const Int room = places_.room[place];
        wait = std::max(wait, apart - std::min(total_, beside));
        const Int in_order = std::max(total_ + wait, chip_.whole ? 0 : meanwhile.cycles());
        if (places_.is_beyond(place, in_order, loads + stores)) {
            return;
        }
        const Int bytes = fullest();
        if (bytes > room || (chip_.for_bytes && macs_ > chip_.most_macs)) {
            return;
        }
        if (chip_.for_bytes) {
            best_.push_back({place, {bytes, 0, 0, 0, total_, 0, 0, 0, 0, 0}, made_by});
            best_.back().macs = macs_;
            return;
        }
        const Most most = most_moved(room, bytes);
        Int first = 0, at_end = 0;
        for (const std::vector<Buffer> *buffers : {&buffers_, &around_}) {
            for (const Buffer &buffer : *buffers) {
                first += buffer.start == 0 ? buffer.single : 0;
                at_end += buffer.stop == end ? buffer.single : 0;
            }
        }
        const Int busy = std::max(in_order, chip_.whole ? 0 : run(place, depth));
        const Int late = needed(place, true, busy), cycles = busy + late + (chip_.last ? last : 0);
        if (places_.is_beyond(place, cycles, loads + stores)) {
            return;
        }
        best_.push_back({place,
                         {bytes, first, at_end, needed(place, false, busy), cycles, loads, stores, -ENDLESS, -behind, 0},
                         made_by,
                         most.before + ahead,
                         most.after,
                         most.behind,
                         chip_.whole || chip_.last ? 0 : last,
                         !chip_.whole && late > 0,
                         most.beyond});
    }

    // The cycles of all steps where the DMA engine does one transfer after another, in the order in which buffers
    // are free for them: a store when a step has made a stripe, a load when the stripe has been read that it follows
    // in a buffer.
    Int run(Int place, Int depth) {
        const Int set = passing_sets_[place];
        Int &clock = runs_[2 * set + depth - 1];
        clock = clock < 0 ? run_steps(sets_[set], depth) : clock;
        return clock;
    }

    // Number the sets of tensors that pass, by place.
    void number_sets() {
        for (Int place = 0; place < places_.count; ++place) {
            std::vector<bool> passes(places_.tensors);
            for (Int tensor = 0; tensor < places_.tensors; ++tensor) {
                passes[tensor] = stretch_.tensors[tensor].role != INSIDE && places_.of(place, tensor) == PASSES;
            }
            const auto known = std::find(sets_.begin(), sets_.end(), passes);
            passing_sets_.push_back(known - sets_.begin());
            if (known == sets_.end()) {
                sets_.push_back(passes);
            }
        }
    }

    Int run_steps(const std::vector<bool> &passes, Int depth) {
        Int clock = 0, engine = 0, weights = 0;
        auto move = [&](Int cycles) { return engine = std::max(engine, clock) + cycles; };
        auto transfer = [&](Running &now, Int turn) {
            if (turn < Int(now.turns->size())) {
                now.ends[turn] = move(depth > 1 ? (*now.turns)[turn].cycles : (*now.turns)[turn].late);
            }
        };
        running_.clear();
        for (Int tensor = 0; tensor < places_.tensors; ++tensor) {
            if (passes[tensor]) {
                const bool input = stretch_.tensors[tensor].role == INPUT;
                running_.push_back({&turns_[tensor], input, 0, std::vector<Int>(turns_[tensor].size(), 0)});
            }
        }
        for (Running &now : running_) {
            if (now.input && depth > 1) {
                transfer(now, 1);
            }
        }
        for (Int at = 0; at < Int(walk_.steps.size()); ++at) {
            const Int op = walk_.steps[at].op;
            if (is_again(op) && (!at || walk_.steps[at - 1].op != op)) {
                clock = std::max(clock, weights);
            }
            for (const Running &now : running_) {
                const Int awaited = now.turn - (now.input ? 0 : depth);
                if (awaited >= 0 && now.has_turn() && now.next().first == at) {
                    clock = std::max(clock, now.ends[awaited]);
                }
            }
            clock += cycles(walk_.steps[at]);
            for (bool input : {false, true}) {
                for (Running &now : running_) {
                    if (now.input == input && now.has_turn() && now.next().last == at) {
                        transfer(now, now.turn + (input ? depth : 0));
                        ++now.turn;
                    }
                }
            }
            const Int next = at + 1 < Int(walk_.steps.size()) ? walk_.steps[at + 1].op : op;
            if (is_again(op) && next != op) {
                weights = move(next_turn(at + 1));
            }
        }
        return clock;
    }

    // DMA cycles of the weights that are loaded next for some turn, from a step on.
    Int next_turn(Int at) const {
        for (; at < Int(walk_.steps.size()); ++at) {
            const OpRow &op = stretch_.ops[walk_.steps[at].op];
            if (is_again(walk_.steps[at].op)) {
                return chip_.weights.cycles(op.weights * op.loads);
            }
        }
        return 0;
    }

    // The most bytes at a step; `changes_` are those of all buffers.
    Int fullest() {
        changes_.clear();
        for (const Buffer &buffer : around_) {
            add_changes(changes_, buffer);
        }
        std::sort(changes_.begin(), changes_.end());
        const auto middle = Int(changes_.size());
        changes_.insert(changes_.end(), base_changes_.begin(), base_changes_.end());
        std::inplace_merge(changes_.begin(), changes_.begin() + middle, changes_.end());
        Int bytes = 0, most = 0;
        for (const auto &[step, change] : changes_) {
            bytes += change;
            most = std::max(most, bytes);
        }
        return most;
    }

    struct Most {
        Int before, after, behind, beyond;
    };

    // The most loads of later stretches, beside which the steps have to have room, that may have come before the
    // first step, with weights that are needed later, and after the last one; and the most earlier stores that
    // may come after the first step began. `fullest` bytes leave the least room, so steps that have much else
    // need no look.
    Most most_moved(Int room, Int fullest) const {
        const Int after = ahead_after_.in(room - fullest), before = ahead_.in(room - fullest);
        const Int behind = behind_.in(room - fullest);
        Most most{ENDLESS, ENDLESS, ENDLESS, -ENDLESS};
        Int bytes = 0;
        for (std::size_t at = 0; at < changes_.size();) {
            const Int step = changes_[at].first;
            for (; at < changes_.size() && changes_[at].first == step; ++at) {
                bytes += changes_[at].second;
            }
            const Int next = at < changes_.size() ? changes_[at].first : Int(ends_.size());
            if (step >= next) {
                continue;
            }
            const Int left = total_ - ends_[next - 1], past = step ? ends_[step - 1] : 0, begun = begun_[step];
            if (after + left < most.after) {
                most.after = std::min(most.after, ahead_after_.in(room - bytes) + left);
            }
            if (before + begun < most.before) {
                most.before = std::min(most.before, ahead_.in(room - bytes) + begun);
            }
            if (behind + past < most.behind) {
                most.behind = std::min(most.behind, behind_.in(room - bytes) + past);
            }
            // Weights of ops that begin later come before this step only as far as there is room.
            const Int later = past + own_.back() - own_[step];
            if (later - before > most.beyond) {
                most.beyond = std::max(most.beyond, later - ahead_.in(room - bytes));
            }
        }
        return most;
    }

    // For each step the DMA cycles of the weights of ops that have begun by then, and of those that come for certain.
    void count_begun() {
        begun_.assign(walk_.steps.size(), 0);
        own_.assign(walk_.steps.size(), 0);
        for (Int op = 0; op < stretch_.count(); ++op) {
            const Int cycles = is_again(op) ? 0 : chip_.weights.cycles(stretch_.ops[op].weights);
            begun_[spans_[op].start] += cycles;
            own_[spans_[op].start] += cycles * stretch_.ops[op].loads;
        }
        std::partial_sum(begun_.begin(), begun_.end(), begun_.begin());
        std::partial_sum(own_.begin(), own_.end(), own_.begin());
    }

    // DMA cycles that must have passed when the NPU begins, for each op's first step to have its weights and
    // the first rows of what it reads, and for the step that needs the last rows; or those of what is `late`.
    Int needed(Int place, bool late, Int busy) {
        auto &events = events_;
        events.clear();
        for (Int op = 0; op < stretch_.count(); ++op) {
            const Int weights = stretch_.ops[op].weights;
            if (weights && stretch_.ops[op].loads && !late && !is_again(op)) {
                events.emplace_back(begins_[op], chip_.weights.cycles(weights));
            }
        }
        if (turns_first_ && !late) {
            Int first = -1;
            for (Int op = 0; op < stretch_.count(); ++op) {
                first = is_again(op) && (first < 0 || begins_[op] < first) ? begins_[op] : first;
            }
            events.emplace_back(first, turns_first_);
        }
        for (Int tensor = 0; tensor < places_.tensors; ++tensor) {
            const Int place_of = places_.of(place, tensor);
            if (places_.late(place, tensor) != late) {
                continue;
            }
            if (place_of & COMES) {
                events.emplace_back(first_read_[tensor], chip_.load.cycles(stretch_.tensors[tensor].bytes));
            } else if (stretch_.tensors[tensor].role == INPUT && place_of == PASSES) {
                const Passing &passing = passing_[tensor];
                events.emplace_back(first_read_[tensor], std::min(passing.first, passing.cycles));
                events.emplace_back(busy - passing.tail, passing.cycles - std::min(passing.first, passing.cycles));
            }
        }
        std::sort(events.begin(), events.end());
        Int moved = 0, most = 0;
        for (const auto &[begins, cycles] : events) {
            moved += cycles;
            most = std::max(most, moved - begins);
        }
        return most;
    }

    const Stretch &stretch_;
    const Chip &chip_;
    const Places &places_;
    const Moved &ahead_, &ahead_after_, &behind_;
    Taker &best_;
    const Int held_cycles_;  // DMA cycles of all weights, each once
    Walk walk_, once_;
    std::vector<Int> choice_;  // by which `once_` was made
    Bands bands_;
    Int in_band_ = 1;
    std::vector<Passing> passing_;
    std::vector<std::vector<Turn>> turns_;  // by tensor
    std::vector<Running> running_;
    std::vector<std::vector<bool>> sets_;  // of tensors that pass
    std::vector<Int> passing_sets_, runs_;  // by place; cycles of all steps, by set and depth, -1 if not yet known
    std::vector<Int> computed_, begins_, first_read_, ends_, begun_, own_;
    std::vector<Span> used_, spans_;
    std::vector<Buffer> inside_, buffers_, around_;
    std::vector<std::pair<Int, Int>> base_changes_, changes_, events_;
    Int total_ = 0, macs_ = 0, remade_ = 0, again_ = 0, loaded_cycles_ = 0, turn_bytes_ = 0;
    Int turns_cycles_ = 0, turns_first_ = 0, turns_wait_ = 0, turns_computed_ = 0;
};

} // namespace columns
