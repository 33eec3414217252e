#include "table.hpp"

#include <algorithm>
#include <cstdio>
#include <random>
#include <utility>

#include <dynpar/cuda_error.hpp>

namespace queue_benchmark {

std::string row::judgement() const {
    if (facts.lost_launches != 0) return std::to_string(facts.lost_launches) + " launches lost, and reported";
    if (wrong_runs == 0) return "right";
    return "WRONG in " + std::to_string(wrong_runs) + " of " + std::to_string(runs) +
           (may_be_wrong ? ", which was not reported" : "");
}

table::table(options o, std::vector<std::string> works, std::string counted)
    : options_(std::move(o)), works_(std::move(works)) {
    dynpar::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    dynpar::check(cudaEventCreate(&begin_), "making an event");
    dynpar::check(cudaEventCreate(&end_), "making an event");
    std::printf("%-62s %-13s %-20s %12s %10s %22s %5s %9s  %s\n", "work", "by", "form", counted.c_str(), "median ms",
                "quartiles", "runs", ("M " + counted + "/s").c_str(), "result");
}

table::~table() {
    static_cast<void>(cudaEventDestroy(end_));
    static_cast<void>(cudaEventDestroy(begin_));
    static_cast<void>(cudaStreamDestroy(stream_));
}

bool table::wants(const std::string& work) const {
    const auto is_meant = [&](const std::string& name) { return name.find(options_.only) != std::string::npos; };
    if (is_meant(work)) return true;
    // Where it names no work at all it names an engine or a form, and every work may have that.
    return std::none_of(works_.begin(), works_.end(), is_meant);
}

void table::measure(const contender& c) {
    if (c.name().find(options_.only) == std::string::npos) return;
    row r;
    r.work = c.work;
    r.engine = c.engine;
    r.form = c.form;
    r.may_be_wrong = c.may_be_wrong;
    r.runs = c.most_runs == 0 ? options_.runs : std::min(options_.runs, c.most_runs);
    std::vector<double> times;
    for (unsigned run = c.first_counts ? 1 : 0; run <= r.runs; ++run) {
        if (c.prepare) c.prepare();
        dynpar::check(cudaDeviceSynchronize(), "preparing a run");
        dynpar::check(cudaEventRecord(begin_, stream_), "timing a run");
        const std::function<run_facts()> finish = c.start();
        dynpar::check(cudaEventRecord(end_, stream_), "timing a run");
        dynpar::check(cudaEventSynchronize(end_), ("running " + c.name()).c_str());
        r.facts = finish();
        float milliseconds = 0;
        dynpar::check(cudaEventElapsedTime(&milliseconds, begin_, end_), "timing a run");
        const bool right = c.is_right(r.facts);
        if (run == 0 && right) continue;  // the first loads kernels; but it may not be wrong either
        times.push_back(static_cast<double>(milliseconds));
        if (!right) ++r.wrong_runs;
    }
    r.runs = static_cast<unsigned>(times.size());
    r.milliseconds = benchmarks::spread_of(times);
    std::printf("%-62s %-13s %-20s %12llu %10.4f (%9.4f ..%9.4f) %5u %9.1f  %s\n", r.work.c_str(), r.engine.c_str(),
                r.form.c_str(), static_cast<unsigned long long>(r.facts.grids), r.milliseconds.median,
                r.milliseconds.low, r.milliseconds.high, r.runs, r.tasks_per_second() * 1e-6, r.judgement().c_str());
    std::fflush(stdout);
    rows_.push_back(r);
}

const row* table::find(const std::string& work, const std::string& engine, const std::string& form) const {
    for (const row& r : rows_) {
        if (r.work == work && r.engine == engine && r.form == form) return &r;
    }
    return nullptr;
}

bool table::all_right() const {
    return std::all_of(rows_.begin(), rows_.end(), [](const row& r) {
        return r.may_be_wrong || (r.wrong_runs == 0 && r.facts.lost_launches == 0);
    });
}

const std::vector<int>& numbers_to_add() {
    static const std::vector<int> numbers = [] {
        std::mt19937 random;
        std::vector<int> drawn(most_to_add);
        for (int& number : drawn) number = static_cast<int>(random() >> 28);
        return drawn;
    }();
    return numbers;
}

long long sum_of_first(std::size_t count) {
    const std::vector<int>& numbers = numbers_to_add();
    long long sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += numbers[i];
    return sum;
}

const std::vector<int>& numbers_to_sort() {
    static const std::vector<int> numbers = [] {
        std::mt19937 random;
        std::vector<int> drawn(to_sort);
        for (int& number : drawn) number = static_cast<int>(random());
        return drawn;
    }();
    return numbers;
}

const std::vector<int>& sorted_numbers() {
    static const std::vector<int> sorted = [] {
        std::vector<int> numbers = numbers_to_sort();
        std::sort(numbers.begin(), numbers.end());
        return numbers;
    }();
    return sorted;
}

}  // namespace queue_benchmark
