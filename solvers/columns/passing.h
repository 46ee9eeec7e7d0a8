// What passes a stretch through buffers of stripes: bytes of the buffers, DMA cycles of the transfers, and the
// cycles for which a single buffer makes the NPU wait.
#pragma once

#include "stretch.h"

namespace columns {

// One tensor in stripes, with one buffer or two for each stripe.
struct Passing {
    Int bytes[2] = {0, 0};  // of one buffer, of two
    Int cycles = 0;         // of all transfers
    Int first = 0, last = 0;
    Int behind[2] = {0, 0}; // of stores after the last step
    Int ahead[2] = {0, 0};  // of loads before the first step
    Int computed = 0;       // NPU cycles of the ops that use the buffer
    Int apart = 0;          // of those after the first that share no cycle with the op that uses the buffer
    Int wait = 0;           // for which the NPU has no step of another op meanwhile
    Int tail = 0;           // NPU cycles from the step on that needs the last load; up to the first store
};

// The least time from the first step to the last one for what passes meanwhile, and cannot before or after.
struct Meanwhile {
    Int moved = 0, most = 0;

    void add(const Passing &passing, Int depth, bool input) {
        const Int cycles = std::max<Int>(0, passing.cycles - (input ? passing.ahead : passing.behind)[depth - 1]);
        moved += cycles;
        most = std::max(most, cycles ? cycles + passing.tail : 0);
    }

    Int cycles() const { return std::max(moved, most); }
};

// The rows that each stripe reads of a tensor, and what loads bring of them. With a rolling buffer a stripe
// loads its new rows only, some of them early where the buffer is larger than the stripe before.
class Loads {
public:
    // Each stripe reads `shares` of its rows, of so many, in `runs` of bytes a row, other ones after every `alike`
    // stripes; all of them where there are none.
    Loads(const TensorRow &tensor, std::vector<Span> read, const Rate &rate, std::vector<Int> shares = {},
          Int of = 1, Int runs = 1, Int alike = 0)
        : tensor_(tensor), read_(std::move(read)), rate_(rate), shares_(std::move(shares)), of_(of), runs_(runs),
          alike_(alike) {
        rolls_ = tensor.rolls && shares_.empty() && measure_ring(1);
    }

    bool rolls() const { return rolls_; }
    Int once() const { return rate_.once; }
    // DMA cycles of so many bytes, without what each transfer takes.
    Int filled(Int bytes) const { return bytes * rate_.numerator / rate_.denominator + 1; }

    // Bytes of the buffers of `depth` stripes.
    Int bytes(Int depth, Int parts) {
        if (rolls_) {
            measure_ring(depth);
            return std::min(tensor_.bytes, held_ * (tensor_.bytes / tensor_.rows));
        }
        Int most = 0;
        for (std::size_t at = 0; at < read_.size(); ++at) {
            most = std::max(most, in_stripe(at));
        }
        return most * std::min(depth, parts);
    }

    Int parts() const {
        Int found = 0;
        for (std::size_t at = 0; at < read_.size(); ++at) {
            found += is_new(at);
        }
        return std::max<Int>(1, found);
    }

    bool is_new(std::size_t at) const {
        if (read_[at].empty()) {
            return false;
        }
        const bool other = alike_ && at % alike_ == 0 && shares_[at] < of_;
        return at == 0 || other || read_[at].start != read_[at - 1].start || read_[at].stop != read_[at - 1].stop;
    }

    // DMA cycles of the load of a stripe; of the part of it that has no room before, with `late`.
    Int cycles(std::size_t at, bool late = false) const {
        if (!is_new(at)) {
            return 0;
        }
        if (!rolls_) {
            const bool divided = !shares_.empty() && shares_[at] < of_;
            return rate_.cycles(in_stripe(at), divided ? runs_ * read_[at].size() : 1);
        }
        const Int before = at ? stops_[at - 1] : 0;
        Int rows = stops_[at] - std::max(starts_[at], before);
        if (late && at) {
            rows -= held_one_ - (stops_[at - 1] - starts_[at - 1]);
        }
        return rows > 0 ? rate_.cycles(rows * (tensor_.bytes / tensor_.rows)) : 0;
    }

    std::size_t count() const { return read_.size(); }

private:
    Int in_stripe(std::size_t at) const {
        const Int share = shares_.empty() ? 1 : shares_[at];
        return (tensor_.bytes * read_[at].size() * share + tensor_.rows * of_ - 1) / (tensor_.rows * of_);
    }

    // Whether a rolling buffer of `depth` stripes is smaller than the tensor and saves loads.
    bool measure_ring(Int depth) {
        const std::size_t count = read_.size();
        starts_.assign(count, tensor_.rows);
        stops_.assign(count, 0);
        Int separate = 0, fresh = 0;
        for (std::size_t at = count; at-- > 0;) {
            const Int later = at + 1 < count ? starts_[at + 1] : tensor_.rows;
            starts_[at] = read_[at].empty() ? later : std::min(later, read_[at].start);
        }
        for (std::size_t at = 0; at < count; ++at) {
            const Int before = at ? stops_[at - 1] : 0;
            stops_[at] = read_[at].empty() ? before : std::max(before, read_[at].stop);
            separate += read_[at].size();
            fresh += read_[at].empty() ? 0 : std::max<Int>(0, stops_[at] - std::max(starts_[at], before));
        }
        held_ = 0;
        for (std::size_t at = 0; at < count; ++at) {
            if (!read_[at].empty()) {
                held_ = std::max(held_, stops_[ahead(at, depth)] - starts_[at]);
            }
        }
        if (depth == 1) {
            held_one_ = held_;
        }
        return held_ < tensor_.rows && fresh < separate;
    }

    // The stripe that is `depth` - 1 stripes that read some rows later.
    std::size_t ahead(std::size_t at, Int depth) const {
        std::size_t found = at;
        for (std::size_t next = at + 1; next < read_.size() && depth > 1; ++next) {
            if (!read_[next].empty()) {
                found = next;
                --depth;
            }
        }
        return found;
    }

    const TensorRow &tensor_;
    std::vector<Span> read_;
    const Rate &rate_;
    std::vector<Int> shares_;
    Int of_, runs_, alike_;
    bool rolls_ = false;
    Int held_ = 0, held_one_ = 0;
    std::vector<Int> starts_, stops_;
};

} // namespace columns
