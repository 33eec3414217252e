// What is reported about many times: their median, their quartiles, and the ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace benchmarks {

struct spread {
    double median = 0;
    double low = 0;   // first quartile
    double high = 0;  // third quartile
    double least = 0;
    double most = 0;
};

inline double quantile(const std::vector<double>& sorted, double q) {
    const double position = q * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

inline spread spread_of(std::vector<double> values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    return {quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75), values.front(), values.back()};
}

}  // namespace benchmarks
