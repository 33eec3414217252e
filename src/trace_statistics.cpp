// Counts, latencies and durations by kernel and depth, and how two traces differ in them.
#include <dynpar/trace_comparison.hpp>
#include <dynpar/trace_statistics.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <ostream>
#include <tuple>
#include <utility>

#include <dynpar/detail/printable.hpp>

namespace dynpar {
namespace {

distribution distribution_of(std::vector<std::uint64_t>& values) {
    distribution d;
    if (values.empty()) return d;
    std::sort(values.begin(), values.end());
    // The nearest rank: of n values the one that so many hundredths of them are not greater than.
    const auto at = [&](std::size_t percent) { return values[(values.size() * percent + 99) / 100 - 1]; };
    d.median = at(50);
    d.p95 = at(95);
    d.most = values.back();
    for (const std::uint64_t value : values) d.total += value;
    return d;
}

using place = std::pair<std::uint32_t, std::string>;  // depth, kernel

std::map<place, grid_statistics> by_place(const trace& t) {
    std::map<place, grid_statistics> result;
    for (grid_statistics& s : statistics(t)) {
        place key{s.depth, s.kernel};
        result.emplace(std::move(key), std::move(s));
    }
    return result;
}

// As a row of a table: cells are filled up to the widest of their column, the first is aligned left, the others right.
void print_rows(std::ostream& out, const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string fill(widths[i] - row[i].size(), ' ');
            line += (i == 0 ? "" : "  ") + (i == 0 ? row[i] + fill : fill + row[i]);
        }
        out << line << '\n';
    }
}

double growth(std::uint64_t before, std::uint64_t after) {
    constexpr double noticeable = 1000;  // nanoseconds: what is less is the clocks' and not the kernel's
    const double difference = static_cast<double>(after) - static_cast<double>(before);
    if (difference < noticeable && difference > -noticeable) return 0;
    return before != 0 ? difference / static_cast<double>(before) : 1e9;
}

std::string growth_text(std::uint64_t before, std::uint64_t after) {
    std::string text = time_text(before) + " -> " + time_text(after);
    if (before != 0) {
        char percent[32];
        std::snprintf(percent, sizeof percent, " (%+.0f %%)",
                      (static_cast<double>(after) / static_cast<double>(before) - 1) * 100);
        text += percent;
    }
    return text;
}

}  // namespace

std::string time_text(std::uint64_t nanoseconds) {
    char text[32];
    const double value = static_cast<double>(nanoseconds);
    if (nanoseconds < 1000) {
        std::snprintf(text, sizeof text, "%llu ns", static_cast<unsigned long long>(nanoseconds));
    } else if (nanoseconds < 1000000) {
        std::snprintf(text, sizeof text, "%.3g us", value / 1e3);
    } else if (nanoseconds < 1000000000) {
        std::snprintf(text, sizeof text, "%.3g ms", value / 1e6);
    } else {
        std::snprintf(text, sizeof text, "%.2f s", value / 1e9);
    }
    return text;
}

std::vector<grid_statistics> statistics(const trace& t) {
    struct values {
        std::uint64_t count = 0;
        std::uint64_t lost = 0;
        std::vector<std::uint64_t> latencies;
        std::vector<std::uint64_t> durations;
    };
    std::map<place, values> all;
    values* same = nullptr;  // most grids are like the one before
    const grid_record* before = nullptr;
    for (const grid_record& grid : t.grids) {
        if (before == nullptr || before->depth != grid.depth || before->kernel != grid.kernel) {
            same = &all[{grid.depth, grid.kernel}];
        }
        before = &grid;
        ++(grid.ran() ? same->count : same->lost);
        if (grid.begun == grid_record::never) continue;
        same->latencies.push_back(grid.begun > grid.launched ? grid.begun - grid.launched : 0);
        if (grid.ended != grid_record::never) {
            same->durations.push_back(grid.ended > grid.begun ? grid.ended - grid.begun : 0);
        }
    }
    std::vector<grid_statistics> result;
    for (auto& [key, v] : all) {
        grid_statistics s;
        s.depth = key.first;
        s.kernel = key.second;
        s.count = v.count;
        s.lost = v.lost;
        s.latency = distribution_of(v.latencies);
        s.duration = distribution_of(v.durations);
        result.push_back(std::move(s));
    }
    return result;
}

std::vector<std::uint64_t> nested_ends(const trace& t) {
    std::vector<std::uint64_t> ends(t.grids.size(), grid_record::never);
    for (std::size_t i = t.grids.size(); i-- > 0;) {
        const grid_record& grid = t.grids[i];
        if (!grid.ran() || grid.begun == grid_record::never) continue;
        const std::uint64_t own = grid.ended != grid_record::never ? std::max(grid.ended, grid.begun) : grid.begun;
        ends[i] = ends[i] == grid_record::never ? own : std::max(ends[i], own);
        if (grid.parent < i && t.grids[grid.parent].ran() && t.grids[grid.parent].begun != grid_record::never) {
            std::uint64_t& above = ends[grid.parent];
            above = above == grid_record::never ? ends[i] : std::max(above, ends[i]);
        }
    }
    return ends;
}

void print_statistics(std::ostream& out, const trace& t) {
    std::vector<std::vector<std::string>> rows = {
        {"kernel", "depth", "grids", "lost", "latency median", "p95", "max", "duration median", "p95", "max", "total"}};
    for (const grid_statistics& s : statistics(t)) {
        rows.push_back({detail::printable(s.kernel), std::to_string(s.depth), std::to_string(s.count),
                        std::to_string(s.lost), time_text(s.latency.median), time_text(s.latency.p95),
                        time_text(s.latency.most), time_text(s.duration.median), time_text(s.duration.p95),
                        time_text(s.duration.most), time_text(s.duration.total)});
    }
    print_rows(out, rows);
}

std::vector<trace_difference> compare(const trace& before, const trace& after, double threshold) {
    using kind = trace_difference::kind;
    std::map<place, grid_statistics> old_places = by_place(before);
    std::vector<trace_difference> result;
    for (auto& [key, now] : by_place(after)) {
        trace_difference d;
        d.after = now;
        const auto found = old_places.find(key);
        if (found == old_places.end()) {
            d.what = kind::added;
            d.before.kernel = now.kernel;
            d.before.depth = now.depth;
        } else {
            d.before = found->second;
            old_places.erase(found);
            const double latency = growth(d.before.latency.median, now.latency.median);
            const double duration = growth(d.before.duration.median, now.duration.median);
            if (std::max(latency, duration) > threshold) {
                d.what = kind::slower;
            } else if (std::min(latency, duration) < -threshold) {
                d.what = kind::faster;
            }
        }
        result.push_back(std::move(d));
    }
    for (auto& [key, gone] : old_places) {
        trace_difference d;
        d.what = kind::removed;
        d.after.kernel = gone.kernel;
        d.after.depth = gone.depth;
        d.before = std::move(gone);
        result.push_back(std::move(d));
    }
    const auto rank = [](const trace_difference& d) {
        constexpr int ranks[] = {4, 0, 3, 1, 2};  // by kind
        const auto total = [](const grid_statistics& s) {
            return static_cast<double>(s.duration.total) + static_cast<double>(s.latency.total);
        };
        return std::make_tuple(ranks[static_cast<int>(d.what)], total(d.before) - total(d.after));
    };
    std::stable_sort(result.begin(), result.end(),
                     [&](const trace_difference& a, const trace_difference& b) { return rank(a) < rank(b); });
    return result;
}

void print_comparison(std::ostream& out, const trace& before, const trace& after, double threshold) {
    using kind = trace_difference::kind;
    out << "run: " << growth_text(before.nanoseconds, after.nanoseconds) << ", grids: " << before.grids.size() << " -> "
        << after.grids.size() << '\n';
    std::size_t unchanged = 0;
    for (const trace_difference& d : compare(before, after, threshold)) {
        const std::string where =
            detail::printable(d.after.kernel) + " at depth " + std::to_string(d.after.depth) + ": ";
        const auto grids = [](const grid_statistics& s) {
            return std::to_string(s.count) + (s.count == 1 ? " grid" : " grids") +
                   (s.lost != 0 ? ", " + std::to_string(s.lost) + " lost" : "");
        };
        const bool other_count = d.before.count != d.after.count || d.before.lost != d.after.lost;
        switch (d.what) {
            case kind::same:
                if (!other_count) {
                    ++unchanged;
                } else {
                    out << "count   " << where << grids(d.before) << " -> " << grids(d.after) << '\n';
                }
                break;
            case kind::slower:
            case kind::faster:
                out << (d.what == kind::slower ? "slower  " : "faster  ") << where << "duration "
                    << growth_text(d.before.duration.median, d.after.duration.median) << ", latency "
                    << growth_text(d.before.latency.median, d.after.latency.median);
                if (other_count) out << ", " << grids(d.before) << " -> " << grids(d.after);
                out << '\n';
                break;
            case kind::added:
                out << "added   " << where << grids(d.after) << ", duration " << time_text(d.after.duration.median)
                    << '\n';
                break;
            case kind::removed: out << "removed " << where << grids(d.before) << '\n'; break;
        }
    }
    out << "unchanged: " << unchanged << (unchanged == 1 ? " kernel at its depth" : " kernels at their depths") << '\n';
}

}  // namespace dynpar
