// One line on a terminal that shows the progress of a long run, and is gone when the run is over.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "steady_clock.hpp"

namespace dynpar {
namespace detail {

/// Shows nothing where it is not wanted, where standard error is no terminal, and in the first second.
class progress_line {
public:
    progress_line(bool wanted, const char* engine) : engine_(engine), on_(wanted && isatty(STDERR_FILENO) == 1) {
        if (on_) begun_ = last_ = steady_nanoseconds();
    }
    ~progress_line() {
        if (shown_) std::fputs("\r\033[K", stderr);
    }
    progress_line(const progress_line&) = delete;
    progress_line& operator=(const progress_line&) = delete;

    /// Whether anything is ever shown.
    bool on() const { return on_; }

    /// Whether it is time for the next line.
    bool due() const {
        if (!on_) return false;
        return steady_nanoseconds() - last_ >= (shown_ ? 200 : 1000) * std::int64_t{1000000};
    }

    /// Shows a line in place of the one before: "12345 grids done, 17 live, 2500000 per second".
    void show(std::uint64_t count, const char* what, std::uint64_t rest, const char* what_rest) {
        const std::int64_t now = steady_nanoseconds();
        const double seconds = static_cast<double>(now - last_) * 1e-9;
        const double rate = seconds > 0 ? static_cast<double>(count - last_count_) / seconds : 0;
        std::fprintf(stderr, "\rdynpar: %s: %.0f s: %llu %s, %llu %s, %.0f per second\033[K", engine_,
                     static_cast<double>(now - begun_) * 1e-9, static_cast<unsigned long long>(count), what,
                     static_cast<unsigned long long>(rest), what_rest, rate);
        std::fflush(stderr);
        last_ = now;
        last_count_ = count;
        shown_ = true;
    }

private:
    const char* engine_;
    bool on_;
    bool shown_ = false;
    std::int64_t begun_ = 0;
    std::int64_t last_ = 0;
    std::uint64_t last_count_ = 0;
};

}  // namespace detail
}  // namespace dynpar
