// Runs random programs on one engine and says which of them the contract does not hold for.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "generator.hpp"
#include "model.hpp"
#include "program.hpp"
#include "runner.hpp"
#include "shrink.hpp"

namespace {

using clock_type = std::chrono::steady_clock;

constexpr int exit_skipped = 77;
constexpr std::uint32_t most_slots = fuzz::slots_of_program;
constexpr std::uint64_t most_blocks_of_worker =
    20000;                               // a worker block takes some 30 microseconds for a block of its own width
constexpr const char* runs_alone = "4";  // of a program that is to fail once more: a GPU's order is another every time

constexpr const char* mutant_names[] = {"none",
                                        "dropped_launch",
                                        "launch_twice",
                                        "lost_stream_order",
                                        "early_continuation",
                                        "continuations_swapped",
                                        "depth_off_by_one",
                                        "argument_byte_changed",
                                        "child_reads_before_write",
                                        "scratch_reused_early",
                                        "wait_skipped",
                                        "event_ignored",
                                        "block_run_twice",
                                        "block_dropped",
                                        "thread_dropped",
                                        "barrier_skipped",
                                        "shared_calls_overlap",
                                        "refusal_not_told",
                                        "refused_call_not_counted",
                                        "report_count_off",
                                        "lost_count_off",
                                        "nesting_off_by_one",
                                        "value_not_reduced",
                                        "call_value_off",
                                        "call_not_answered",
                                        "iteration_dropped"};
static_assert(sizeof(mutant_names) / sizeof(*mutant_names) == fuzz::mutants);

struct arguments {
    std::uint64_t seed = 1;
    std::uint64_t first = 0;
    std::uint64_t programs = 0;  // 0: until the seconds are over
    double seconds = 0;          // 0: until the programs are done
    std::string profile = "all";
    std::string mutant = "none";
    std::string file;
    std::string folder = ".";
    std::uint64_t batch = fuzz::runner::traits().batch;
    std::uint32_t most_grids = 8000;
    double scale = 1;
    unsigned program_seconds = 60;
    unsigned most_failures = 1;
    double slow_seconds = 0;
    unsigned repeat = 1;
    unsigned threads = 1;
    unsigned most_workers = 0;
    bool list = false;
    bool print = false;
    bool shrink = false;
    bool every_mutant = false;
    bool no_shrink = false;
    bool quiet = false;
};

double seconds_since(clock_type::time_point begin) {
    return std::chrono::duration<double>(clock_type::now() - begin).count();
}

std::string own_path() {
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

/// A program whose sizes are drawn anew, smaller, until there are slots enough.
fuzz::program draw(const std::string& profile, std::uint64_t seed, std::uint64_t number,
                   const fuzz::engine_settings& settings, const fuzz::engine_traits& engine, std::uint32_t most_grids,
                   fuzz::layout& l) {
    for (;; most_grids = std::max(most_grids / 4, 1u)) {
        fuzz::program p = fuzz::draw_program(profile, seed, number, settings, engine, most_grids);
        try {
            l = fuzz::lay_out(p, engine, most_slots);
            if (l.expected.grids > engine.most_grids || l.expected.deepest > engine.most_depth)
                throw fuzz::too_large("too many grids");
            if (engine.bounds_workers && settings.worker_blocks != 0 &&
                l.expected.blocks > most_blocks_of_worker * settings.worker_blocks) {
                throw fuzz::too_large("too many blocks for so few workers");
            }
            return p;
        } catch (const fuzz::too_large&) {
            if (most_grids == 1) throw;
        }
    }
}

std::string profile_of(const arguments& a, std::uint64_t number) {
    if (a.profile != "all") return a.profile;
    return fuzz::profiles()[number / a.batch % fuzz::profiles().size()].name;
}

std::uint32_t most_grids_of(const arguments& a) {
    return static_cast<std::uint32_t>(std::max(1.0, a.most_grids * a.scale));
}

fuzz::program draw_number(const arguments& a, std::uint64_t number, fuzz::layout& l) {
    const fuzz::engine_traits engine = fuzz::runner::traits();
    const std::string profile = profile_of(a, number);
    fuzz::engine_settings settings = fuzz::draw_settings(profile, a.seed, number / a.batch, engine);
    if (a.most_workers != 0 && (settings.worker_blocks == 0 || settings.worker_blocks > a.most_workers))
        settings.worker_blocks = a.most_workers;
    return draw(profile, a.seed, number, settings, engine, most_grids_of(a), l);
}

std::string text_of(const fuzz::program& p) {
    std::ostringstream out;
    fuzz::write(out, p);
    return out.str();
}

/// Runs a program in a process of its own, which may crash or hang.
bool fails_alone(const arguments& a, const fuzz::program& p) {
    try {
        fuzz::lay_out(p, fuzz::runner::traits(), most_slots);
    } catch (const fuzz::too_large&) {
        return false;
    }
    const std::string path = own_path();
    std::string file = (std::filesystem::temp_directory_path() / "dynpar-program-XXXXXX").string();
    const int descriptor = mkstemp(file.data());
    if (descriptor < 0 || path.empty()) return false;
    const std::string text = text_of(p);
    const bool written = write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    close(descriptor);
    const std::string seconds = std::to_string(a.program_seconds);
    const pid_t child = written ? fork() : -1;
    if (child == 0) {
        const int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, 1);
        dup2(nowhere, 2);
        execl(path.c_str(), path.c_str(), "--program", file.c_str(), "--no-shrink", "--mutant", a.mutant.c_str(),
              "--program-seconds", seconds.c_str(), "--repeat", runs_alone, static_cast<char*>(nullptr));
        _exit(2);
    }
    bool failed = false;
    if (child > 0) {
        const auto begin = clock_type::now();
        int status = 0;
        while (waitpid(child, &status, WNOHANG) == 0) {
            if (seconds_since(begin) > a.program_seconds + 10) {
                kill(child, SIGKILL);
                waitpid(child, &status, 0);
                break;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        failed = !WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 2);
    }
    unlink(file.c_str());
    return failed;
}

std::string tool_name() { return "fuzz_" + fuzz::runner::traits().name; }

/// Makes a program small that fails, writes it to a file, and says how to repeat that. False if it is right when it
/// runs alone.
bool shrink(const arguments& a, const fuzz::program& p, const std::string& file) {
    if (!fails_alone(a, p)) return false;
    const auto begin = clock_type::now();
    const std::function<bool(const fuzz::program&)> fails = [&](const fuzz::program& candidate) {
        return seconds_since(begin) < 300 && fails_alone(a, candidate);
    };
    const fuzz::program small = fuzz::shrink(p, fails, 3000);
    std::ofstream(file) << text_of(small);
    const fuzz::layout l = fuzz::lay_out(small, fuzz::runner::traits(), most_slots);
    std::printf("shrunk to %llu grids, %llu blocks:\n%srepeat: %s --program %s --repeat %s%s\n",
                static_cast<unsigned long long>(l.expected.grids), static_cast<unsigned long long>(l.expected.blocks),
                text_of(small).c_str(), tool_name().c_str(), file.c_str(), runs_alone,
                a.mutant != "none" ? (" --mutant " + a.mutant).c_str() : "");
    std::fflush(stdout);
    return true;
}

int shrink_file(const arguments& a) {
    std::ifstream in(a.file);
    if (!in) throw std::runtime_error("there is no file \"" + a.file + "\"");
    if (shrink(a, fuzz::read(in), a.file + ".small")) return 1;
    std::printf("alone it is right\n");
    return 0;
}

class tool {
public:
    tool(const arguments& wanted, std::vector<std::unique_ptr<fuzz::runner>> runners)
        : arguments_(wanted),
          runners_(std::move(runners)),
          running_(runners_.size()),
          engine_(fuzz::runner::traits()),
          name_("fuzz_" + engine_.name),
          watchdog_([this] { watch(); }) {}
    ~tool() {
        over_ = true;
        watchdog_.join();
    }

    int run_file() {
        std::ifstream in(arguments_.file);
        if (!in) {
            std::fprintf(stderr, "%s: there is no file \"%s\"\n", name_.c_str(), arguments_.file.c_str());
            return 2;
        }
        const fuzz::program p = fuzz::read(in);
        const fuzz::layout l = fuzz::lay_out(p, engine_, most_slots);
        fuzz::verdict v;
        for (unsigned i = 0; i < arguments_.repeat && v.right; ++i) {
            v = run(0, p, l, mutant_named(arguments_.mutant), 0, arguments_.file);
        }
        std::printf("%s: %llu grids, %llu blocks: %s\n%s", arguments_.file.c_str(),
                    static_cast<unsigned long long>(l.expected.grids),
                    static_cast<unsigned long long>(l.expected.blocks),
                    !v.right             ? "wrong"
                    : v.out_of_resources ? "right, and out of resources"
                                         : "right",
                    v.what.c_str());
        return v.right ? 0 : 1;
    }

    int run_many() {
        begin_ = last_line_ = clock_type::now();
        next_batch_ = arguments_.first / arguments_.batch;
        const fuzz::mutant m = mutant_named(arguments_.mutant);
        std::vector<std::thread> threads;
        for (unsigned i = 1; i < runners_.size(); ++i) threads.emplace_back([this, i, m] { run_batches(i, m); });
        run_batches(0, m);
        for (std::thread& thread : threads) thread.join();
        print_sum("");
        std::sort(failed_.begin(), failed_.end());
        for (const std::uint64_t number : failed_) tell_how_to_repeat(number, broken_);
        if (thrown_) std::rethrow_exception(thrown_);
        return failed_.empty() ? 0 : 1;
    }

    /// Every mutant has to be found among the first programs of some profile.
    int run_mutants() {
        int status = 0;
        const std::uint64_t most = arguments_.programs != 0 ? arguments_.programs : 2000;
        for (unsigned m = 1; m < fuzz::mutants; ++m) {
            if (static_cast<fuzz::mutant>(m) == fuzz::mutant::wait_skipped && !engine_.has_wait) {
                std::printf("%-26s has no place: the engine cannot wait\n", mutant_names[m]);
                continue;
            }
            std::uint64_t number = 0;
            fuzz::verdict v;
            for (; number < most && v.right; ++number) {
                fuzz::layout l;
                const fuzz::program p = draw_number(arguments_, number, l);
                v = run(0, p, l, static_cast<fuzz::mutant>(m), number, std::string("mutant ") + mutant_names[m]);
            }
            const std::string why = v.what.substr(0, v.what.find('\n'));
            if (v.right) {
                std::printf("%-26s NOT FOUND by %llu programs\n", mutant_names[m],
                            static_cast<unsigned long long>(number));
                status = 1;
            } else {
                std::printf("%-26s program %5llu:%s\n", mutant_names[m], static_cast<unsigned long long>(number),
                            why.c_str());
            }
            std::fflush(stdout);
        }
        return status;
    }

private:
    fuzz::mutant mutant_named(const std::string& name) const {
        for (unsigned m = 0; m < fuzz::mutants; ++m) {
            if (name == mutant_names[m]) return static_cast<fuzz::mutant>(m);
        }
        throw std::invalid_argument("\"" + name + "\" is no mutant; see --list");
    }

    fuzz::verdict run(unsigned thread, const fuzz::program& p, const fuzz::layout& l, fuzz::mutant m,
                      std::uint64_t number, const std::string& name) {
        {
            const std::lock_guard<std::mutex> guard(watch_mutex_);
            running_[thread] = {true, number, name, clock_type::now()};
        }
        fuzz::verdict v = runners_[thread]->run(p, l, m);
        const std::lock_guard<std::mutex> guard(watch_mutex_);
        running_[thread].there = false;
        if (const double seconds = seconds_since(running_[thread].begun);
            arguments_.slow_seconds != 0 && seconds > arguments_.slow_seconds) {
            std::printf("%s: %s took %.3f s\n", name_.c_str(), name.c_str(), seconds);
        }
        return v;
    }

    /// One of the threads: takes batch after batch, whose programs share an engine and so run in the order of their
    /// numbers.
    void run_batches(unsigned thread, fuzz::mutant m) {
        const std::uint64_t end = arguments_.programs != 0 ? arguments_.first + arguments_.programs : ~std::uint64_t{0};
        try {
            while (!is_over()) {
                const std::uint64_t batch = next_batch_++ * arguments_.batch;
                if (batch >= end) return;
                for (std::uint64_t number = std::max(batch, arguments_.first);
                     number < std::min(batch + arguments_.batch, end); ++number) {
                    if (is_over()) return;
                    fuzz::layout l;
                    const fuzz::program p = draw_number(arguments_, number, l);
                    count(number, l, run(thread, p, l, m, number, name_of(number)));
                }
            }
        } catch (...) {
            const std::lock_guard<std::mutex> guard(mutex_);
            thrown_ = std::current_exception();
            stop_ = true;
        }
    }
    bool is_over() const { return stop_ || (arguments_.seconds != 0 && seconds_since(begin_) >= arguments_.seconds); }

    void count(std::uint64_t number, const fuzz::layout& l, const fuzz::verdict& v) {
        const std::lock_guard<std::mutex> guard(mutex_);
        if (broken_) return;  // and this one with it, perhaps
        ++programs_;
        out_of_resources_ += v.out_of_resources;
        if (!v.out_of_resources) {
            grids_ += l.expected.grids;
            blocks_ += l.expected.blocks;
        }
        if (!v.right) {
            std::printf("%s: %s is wrong\n%s", name_.c_str(), name_of(number).c_str(), v.what.c_str());
            std::fflush(stdout);
            failed_.push_back(number);
            broken_ = v.broken;
            if (broken_) print_others(number);
            stop_ = stop_ || broken_ || failed_.size() >= arguments_.most_failures;
        }
        if (!arguments_.quiet && seconds_since(last_line_) > 30) {
            last_line_ = clock_type::now();
            print_sum(" so far");
        }
    }

    /// What breaks the process may be another program's doing.
    void print_others(std::uint64_t number) {
        const std::lock_guard<std::mutex> guard(watch_mutex_);
        for (const running& r : running_) {
            if (r.there && r.number != number) std::printf("  meanwhile: %s\n", r.name.c_str());
        }
    }

    std::string name_of(std::uint64_t number) const {
        return "program " + std::to_string(number) + " (" + profile_of(arguments_, number) + ")";
    }

    /// `hangs`: the engine does, so this does not return.
    void tell_how_to_repeat(std::uint64_t number, bool hangs) const {
        const std::string repeat =
            name_ + " --seed " + std::to_string(arguments_.seed) + " --profile " + arguments_.profile + " --batch " +
            std::to_string(arguments_.batch) + " --most-grids " + std::to_string(most_grids_of(arguments_)) +
            (arguments_.most_workers != 0 ? " --most-workers " + std::to_string(arguments_.most_workers) : "") +
            (arguments_.mutant != "none" ? " --mutant " + arguments_.mutant : "");
        const std::uint64_t first_of_batch = number / arguments_.batch * arguments_.batch;
        std::printf("repeat: %s --first %llu --programs 1\n", repeat.c_str(), static_cast<unsigned long long>(number));
        std::fflush(stdout);
        if (arguments_.no_shrink) return;
        fuzz::layout l;
        const fuzz::program p = draw_number(arguments_, number, l);
        const std::string file = arguments_.folder + "/" + name_ + "-" + std::to_string(arguments_.seed) + "-" +
                                 std::to_string(number) + ".program";
        if (hangs) {
            std::ofstream(file) << text_of(p);
            become_shrinker(file);
        }
        if (!shrink(arguments_, p, file)) {
            std::printf("alone it is right: it takes the programs before it; repeat: %s --first %llu --programs %llu\n",
                        repeat.c_str(), static_cast<unsigned long long>(first_of_batch),
                        static_cast<unsigned long long>(number - first_of_batch + 1));
            std::fflush(stdout);
        }
    }

    /// As long as this process lives, what hangs on a GPU keeps others from it.
    [[noreturn]] void become_shrinker(const std::string& file) const {
        const std::string path = own_path(), seconds = std::to_string(arguments_.program_seconds);
        execl(path.c_str(), path.c_str(), "--program", file.c_str(), "--shrink", "--mutant", arguments_.mutant.c_str(),
              "--program-seconds", seconds.c_str(), static_cast<char*>(nullptr));
        _exit(1);
    }

    /// A program that takes too long is a failure, and the end of this process.
    void watch() {
        while (!over_) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            std::unique_lock<std::mutex> lock(watch_mutex_);
            for (const running& r : running_) {
                if (!r.there || seconds_since(r.begun) < arguments_.program_seconds) continue;
                std::printf("%s: %s has not ended after %u s\n", name_.c_str(), r.name.c_str(),
                            arguments_.program_seconds);
                std::fflush(stdout);
                const std::uint64_t number = r.number;
                lock.unlock();
                if (arguments_.file.empty() && !arguments_.every_mutant) tell_how_to_repeat(number, true);
                _exit(1);
            }
        }
    }

    void print_sum(const char* so_far) const {
        const double seconds = seconds_since(begin_);
        std::printf(
            "%s%s: seed %llu, profile %s: %llu programs, %llu grids, %llu blocks in %.1f s (%.0f programs/s, %.0f "
            "grids/s), "
            "%llu out of resources as they may be, %llu failures\n",
            name_.c_str(), so_far, static_cast<unsigned long long>(arguments_.seed), arguments_.profile.c_str(),
            static_cast<unsigned long long>(programs_), static_cast<unsigned long long>(grids_),
            static_cast<unsigned long long>(blocks_), seconds, static_cast<double>(programs_) / seconds,
            static_cast<double>(grids_) / seconds, static_cast<unsigned long long>(out_of_resources_),
            static_cast<unsigned long long>(failed_.size()));
        std::fflush(stdout);
    }

    /// What a thread runs.
    struct running {
        bool there = false;
        std::uint64_t number = 0;
        std::string name;
        clock_type::time_point begun;
    };

    const arguments& arguments_;
    std::vector<std::unique_ptr<fuzz::runner>> runners_;  // one for each thread
    std::mutex watch_mutex_;
    std::vector<running> running_;  // likewise; under that lock
    fuzz::engine_traits engine_;
    std::string name_;

    std::atomic<std::uint64_t> next_batch_{0};
    std::atomic<bool> stop_{false};
    std::mutex mutex_;  // of what follows
    bool broken_ = false;
    std::exception_ptr thrown_;
    clock_type::time_point begin_, last_line_;
    std::uint64_t programs_ = 0, grids_ = 0, blocks_ = 0, out_of_resources_ = 0;
    std::vector<std::uint64_t> failed_;

    std::atomic<bool> over_{false};
    std::thread watchdog_;
};

int list() {
    std::printf("profiles:\n");
    for (const fuzz::profile& p : fuzz::profiles()) std::printf("  %-14s %s\n", p.name, p.what);
    std::printf("mutants:\n");
    for (unsigned m = 1; m < fuzz::mutants; ++m) std::printf("  %s\n", mutant_names[m]);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    arguments a;
    CLI::App app("Runs random programs on the " + fuzz::runner::traits().name +
                 " engine and checks the contract (docs/random-programs.md).");
    app.add_option("--seed", a.seed, "of the programs")->capture_default_str();
    app.add_option("--first", a.first, "number of the first program")->capture_default_str();
    app.add_option("--programs", a.programs, "how many; 0: until the seconds are over");
    app.add_option("--seconds", a.seconds, "how long; 0: until the programs are done");
    app.add_option("--profile", a.profile, "what is drawn, or all: in turns, a batch each")->capture_default_str();
    app.add_option("--batch", a.batch, "programs that share an engine")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_option("--most-grids", a.most_grids, "of a program, about")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_option("--scale", a.scale, "makes programs larger or smaller")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_option("--mutant", a.mutant, "a break that has to be found")->capture_default_str();
    app.add_flag("--every-mutant", a.every_mutant, "whether every mutant is found among --programs programs");
    app.add_option("--program", a.file, "run the program in this file");
    app.add_option("--repeat", a.repeat, "how often, on one engine")->capture_default_str();
    app.add_option("--threads", a.threads, "each with an engine of its own, that run batches of programs")
        ->capture_default_str()
        ->check(CLI::Range(1u, fuzz::most_programs));
    app.add_option("--most-workers", a.most_workers,
                   "worker blocks of an engine at most; 0: as many as are drawn, or all. With few, those of several\n"
                   "threads run beside each other");
    app.add_option("--folder", a.folder, "where shrunk programs are put")->capture_default_str();
    app.add_option("--program-seconds", a.program_seconds, "what a program may take")->capture_default_str();
    app.add_option("--failures", a.most_failures, "stop after so many")->capture_default_str();
    app.add_option("--slow", a.slow_seconds, "name programs that run for longer than so many seconds; 0: none");
    app.add_flag("--shrink", a.shrink, "make the program of --program small, by running it in processes of their own")
        ->needs("--program");
    app.add_flag("--no-shrink", a.no_shrink, "do not make failing programs small");
    app.add_flag("--quiet", a.quiet, "no lines on the way");
    app.add_flag("--print", a.print, "print the first program instead of running any");
    app.add_flag("--list", a.list, "profiles and mutants");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }
    if (a.list) return list();
    if (a.programs == 0 && a.seconds == 0) a.programs = 1000;
    try {
        if (a.print) {
            fuzz::layout l;
            fuzz::write(std::cout, draw_number(a, a.first, l));
            return 0;
        }
        if (a.shrink) return shrink_file(a);
        // Else streams of different engines would share a queue of the hardware, and wait for each other.
        if (a.threads > 1) setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
        std::vector<std::unique_ptr<fuzz::runner>> runners;
        for (unsigned i = 0; i < a.threads; ++i) runners.push_back(fuzz::runner::make(i));
        if (!runners.front()) {
            std::printf("skipped: no usable GPU\n");
            return exit_skipped;
        }
        tool t(a, std::move(runners));
        if (!a.file.empty()) return t.run_file();
        return a.every_mutant ? t.run_mutants() : t.run_many();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "fuzz: %s\n", e.what());
        return 2;
    }
}
