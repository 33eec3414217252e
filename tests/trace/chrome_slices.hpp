// What viewers of Chrome's format need of a trace: that the slices of one track lie inside each other, or side by side.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <dynpar/chrome_trace.hpp>
#include <nlohmann/json.hpp>

struct chrome_slices {
    std::size_t count = 0;
    std::string wrong;  ///< what is, in words; empty if nothing is
};

inline chrome_slices read_chrome_slices(const dynpar::trace& t) {
    std::ostringstream out;
    dynpar::write_chrome_trace(out, t);
    struct slice {
        double begin, end;
    };
    chrome_slices result;
    std::map<std::size_t, std::vector<slice>> tracks;
    const nlohmann::json document = nlohmann::json::parse(out.str());
    for (const nlohmann::json& event : document["traceEvents"]) {
        if (event["ph"] != "X") continue;
        // Whole nanoseconds: sums of microseconds would not be exact.
        const double begin = std::nearbyint(event["ts"].get<double>() * 1000);
        const double duration = std::nearbyint(event["dur"].get<double>() * 1000);
        if (duration < 0) result.wrong = "a slice takes less than no time";
        tracks[event["tid"]].push_back({begin, begin + duration});
        ++result.count;
    }
    for (auto& [track, slices] : tracks) {
        // A long slice goes before a short one that begins with it.
        std::sort(slices.begin(), slices.end(), [](const slice& a, const slice& b) {
            return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
        });
        std::vector<slice> open;
        for (const slice& s : slices) {
            while (!open.empty() && open.back().end <= s.begin) open.pop_back();
            const double rounding = s.end * 1e-15;  // of times that are no run's, of thousands of hours
            if (!open.empty() && s.end > open.back().end + rounding) result.wrong = "two slices of a track overlap";
            open.push_back(s);
        }
    }
    return result;
}
