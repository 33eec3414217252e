// When grids ran: what a kernel notes of itself, and a small drawing of several of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <dynpar/platform.hpp>

#if !defined(__CUDA_ARCH__)
#include <chrono>
#endif

#include "../command_line.hpp"

namespace streams_and_events {

/// Nanoseconds by a clock that all grids of a run share: on a GPU its global timer, which goes on in steps.
DYNPAR_FUNCTION inline std::uint64_t now() {
#if DYNPAR_ON_DEVICE
    std::uint64_t time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
    return time;
#else
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
#endif
}

/// When a grid began and ended, by its own account. Zero: it did not run.
struct interval {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    bool ran() const { return begin != 0 && end >= begin; }
};

/// Notes when it begins, does nothing for so long, and notes when it ends.
DYNPAR_FUNCTION inline void note_and_spin(interval* slot, std::uint64_t nanoseconds) {
    const std::uint64_t begin = now();
    slot->begin = begin;
    std::uint64_t time = now();
    while (time - begin < nanoseconds) time = now();
    slot->end = time;
}

/// How far a clock reading may be off. The global timer of recent GPUs goes on in steps of 32 ns, of older ones in
/// steps of about a microsecond.
constexpr std::uint64_t clock_error = 1100;

/// How long two grids ran at the same time, in nanoseconds.
inline std::uint64_t overlap(const interval& a, const interval& b) {
    const std::uint64_t begin = std::max(a.begin, b.begin);
    const std::uint64_t end = std::min(a.end, b.end);
    return end > begin ? end - begin : 0;
}

/// An experiment: the grids that ran, by name, in the order in which they are drawn.
class timeline {
public:
    timeline(std::string title, std::vector<std::string> names, std::vector<interval> intervals)
        : title_(std::move(title)), names_(std::move(names)), intervals_(std::move(intervals)) {
        intervals_.resize(names_.size());  // there may have been room for more grids than this experiment has
        for (std::size_t i = 0; i < names_.size(); ++i) {
            if (!intervals_[i].ran()) throw samples::wrong_result(title_ + ": " + names_[i] + " did not run");
        }
    }

    /// Throws `wrong_result` unless `later` began after `earlier` had ended.
    void require_order(const std::string& earlier, const std::string& later) const {
        if (of(later).begin + clock_error < of(earlier).end) {
            throw samples::wrong_result(title_ + ": " + later + " began " +
                                        std::to_string(of(earlier).end - of(later).begin) + " ns before " + earlier +
                                        " had ended");
        }
    }

    /// Draws it, and says how long two of the grids overlapped.
    void draw(const samples::command_line& command, const std::string& promise, const std::string& a,
              const std::string& b) const {
        constexpr std::uint64_t width = 60;
        std::uint64_t begin = UINT64_MAX;
        std::uint64_t end = 0;
        for (const interval& i : intervals_) {
            begin = std::min(begin, i.begin);
            end = std::max(end, i.end);
        }
        const std::uint64_t span = std::max<std::uint64_t>(end - begin, 1);
        command.say("\n" + title_);
        for (std::size_t i = 0; i < names_.size(); ++i) {
            const std::uint64_t first = (intervals_[i].begin - begin) * (width - 1) / span;
            const std::uint64_t last = (intervals_[i].end - begin) * (width - 1) / span;
            std::string bar(width, ' ');
            for (std::uint64_t x = first; x <= last; ++x) bar[static_cast<std::size_t>(x)] = '#';
            char line[160];
            std::snprintf(line, sizeof line, "  %-8s|%s| %7.1f to %7.1f us", names_[i].c_str(), bar.c_str(),
                          static_cast<double>(intervals_[i].begin - begin) / 1000,
                          static_cast<double>(intervals_[i].end - begin) / 1000);
            command.say(line);
        }
        char line[160];
        std::snprintf(line, sizeof line, "  %s; %s and %s ran together for %.1f us", promise.c_str(), a.c_str(),
                      b.c_str(), static_cast<double>(overlap(of(a), of(b))) / 1000);
        command.say(line);
    }

private:
    const interval& of(const std::string& name) const {
        return intervals_[static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin())];
    }

    std::string title_;
    std::vector<std::string> names_;
    std::vector<interval> intervals_;
};

/// The experiments that need a GPU and plain `__global__` kernels: host streams, and the default stream of a block. A
/// grid lasts `nanoseconds`. Throws `wrong_result`, `dynpar::cuda_error`.
void try_plain_streams(const samples::command_line& command, std::uint64_t nanoseconds);

}  // namespace streams_and_events
