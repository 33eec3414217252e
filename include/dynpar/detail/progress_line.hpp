// One line on a terminal that shows the progress of a long run, and is gone when the run is over.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>

namespace dynpar {
namespace detail {

/// Shows nothing where it is not wanted, where standard error is no terminal, and in the first second.
class progress_line {
public:
    using clock = std::chrono::steady_clock;

    progress_line(bool wanted, const char* engine) : engine_(engine), on_(wanted && isatty(STDERR_FILENO) == 1) {
        if (on_) begun_ = last_ = clock::now();
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
        const clock::time_point now = clock::now();
        return now - last_ >= (shown_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(1000));
    }

    /// Shows a line in place of the one before: "12345 grids done, 17 live, 2500000 per second".
    void show(std::uint64_t count, const char* what, std::uint64_t rest, const char* what_rest) {
        const clock::time_point now = clock::now();
        const double seconds = std::chrono::duration<double>(now - last_).count();
        const double rate = seconds > 0 ? static_cast<double>(count - last_count_) / seconds : 0;
        std::fprintf(stderr, "\rdynpar: %s: %.0f s: %llu %s, %llu %s, %.0f per second\033[K", engine_,
                     std::chrono::duration<double>(now - begun_).count(), static_cast<unsigned long long>(count), what,
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
    clock::time_point begun_;
    clock::time_point last_;
    std::uint64_t last_count_ = 0;
};

}  // namespace detail
}  // namespace dynpar
