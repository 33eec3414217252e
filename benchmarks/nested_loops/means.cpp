#include "means.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <string>

#include "../programs/rows.hpp"
#include "rows.hpp"

namespace nested_benchmark {

namespace {

using queue_benchmark::row;

/// Programs that choose nothing for the engine, and take the way that the others take: top-down.
bool is_untuned(const row& r) {
    return r.work == program_benchmark::work::mandelbrot || r.form == "nested_for" || r.form == "nested_reduce";
}

/// The shortest median of a work's rows that were right in every run, by one of these; null if there is none.
const row* best(const std::vector<row>& rows, const std::string& work, std::initializer_list<const char*> who) {
    const row* found = nullptr;
    for (const row& r : rows) {
        if (r.work != work || std::find(who.begin(), who.end(), r.engine) == who.end()) continue;
        if (r.wrong_runs != 0 || r.facts.lost_launches != 0) continue;
        if (r.engine == queue_benchmark::by::queue_engine && !is_untuned(r)) continue;
        if (found == nullptr || r.milliseconds.median < found->milliseconds.median) found = &r;
    }
    return found;
}

/// How many times as long as the queue engine one of the others takes.
class mean {
public:
    void add(double ratio) {
        logarithms_ += std::log(ratio);
        least_ = works_ == 0 ? ratio : std::min(least_, ratio);
        ++works_;
    }
    void print(const char* against) const {
        if (works_ == 0) return;
        std::printf("queue engine against %s, %u works: geometric mean %.2f, worst %.2f\n", against, works_,
                    std::exp(logarithms_ / works_), least_);
    }

private:
    double logarithms_ = 0;
    double least_ = 0;
    unsigned works_ = 0;
};

}  // namespace

void print_means(const std::vector<row>& rows) {
    std::vector<std::string> works;
    for (const row& r : rows)
        if (std::find(works.begin(), works.end(), r.work) == works.end()) works.push_back(r.work);
    std::printf("\n%-46s %12s %12s %8s %12s %8s\n", "best forms, ms", "queue engine", "plain CDP2", "times", "by hand",
                "times");
    mean against_cdp2, against_flat;
    for (const std::string& work : works) {
        const row* const ours = best(rows, work, {queue_benchmark::by::queue_engine});
        if (ours == nullptr) continue;
        std::printf("%-46s %12.4f", work.c_str(), ours->milliseconds.median);
        const auto compare = [&](const row* other, mean& m) {
            if (other == nullptr) {
                std::printf(" %12s %8s", "-", "-");
                return;
            }
            const double ratio = other->milliseconds.median / ours->milliseconds.median;
            std::printf(" %12.4f %8.2f", other->milliseconds.median, ratio);
            m.add(ratio);
        };
        compare(best(rows, work, {queue_benchmark::by::plain_cdp2}), against_cdp2);
        compare(best(rows, work, {by::flat, queue_benchmark::by::flat}), against_flat);
        std::printf("\n");
    }
    against_cdp2.print(queue_benchmark::by::plain_cdp2);
    against_flat.print("by hand");
}

}  // namespace nested_benchmark
