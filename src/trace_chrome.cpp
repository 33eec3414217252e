// Chrome's trace events, in JSON: "Trace Event Format" of the Chromium project.
#include <dynpar/chrome_trace.hpp>

#include <algorithm>
#include <functional>
#include <ostream>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <dynpar/trace_statistics.hpp>

namespace dynpar {
namespace {

using json = nlohmann::ordered_json;

// Slices of one track must be nested. A grid goes onto its parent's track, where it lies inside its parent, if no
// sibling there overlaps it, and else onto one that is free. Grids are placed in the order of their begins, so that a
// track needs to know only the slices that are open. A grid that begins before its parent, as the clocks of two
// multiprocessors may have it, does not lie inside it: it is placed first, onto a track of its own.
class tracks {
public:
    explicit tracks(const trace& t) : grids_(t.grids), ends_(nested_ends(t)), track_of_(grids_.size(), no_track) {
        std::vector<std::uint32_t> order;
        for (std::size_t i = 0; i < grids_.size(); ++i)
            if (ends_[i] != grid_record::never) order.push_back(static_cast<std::uint32_t>(i));
        // A parent goes before the child that begins at the same time: it comes first in the trace.
        std::stable_sort(order.begin(), order.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return grids_[a].begun < grids_[b].begun; });
        for (const std::uint32_t id : order) place(id);
    }

    bool has(std::size_t grid) const { return grid < grids_.size() && track_of_[grid] != no_track; }
    std::uint64_t end(std::size_t grid) const { return ends_[grid]; }
    std::uint32_t of(std::size_t grid) const { return track_of_[grid]; }
    std::size_t count() const { return open_.size(); }

private:
    static constexpr std::uint32_t no_track = 0xffffffff;

    void place(std::uint32_t id) {
        const grid_record& grid = grids_[id];
        std::uint32_t track = no_track;
        if (has(grid.parent)) {
            const std::uint32_t parents = track_of_[grid.parent];
            close_until(parents, grid.begun, grid.parent);
            // A parent may be the one that has just been closed: it ended when this one began, and this one takes no
            // time.
            if (!open_[parents].empty() && open_[parents].back() == grid.parent && ends_[id] <= ends_[grid.parent])
                track = parents;
        }
        if (track == no_track) track = free_track(grid.begun);
        track_of_[id] = track;
        open_[track].push_back(id);
        free_.emplace(ends_[open_[track].front()], track);
    }

    void close_until(std::uint32_t track, std::uint64_t time, std::uint32_t keep = grid_record::none) {
        std::vector<std::uint32_t>& open = open_[track];
        while (!open.empty() && ends_[open.back()] <= time && open.back() != keep) open.pop_back();
    }

    std::uint32_t free_track(std::uint64_t time) {
        while (!free_.empty() && free_.top().first <= time) {
            const std::uint32_t track = free_.top().second;
            free_.pop();
            close_until(track, time);
            if (open_[track].empty()) return track;
        }
        open_.emplace_back();
        return static_cast<std::uint32_t>(open_.size() - 1);
    }

    using free_at = std::pair<std::uint64_t, std::uint32_t>;  // time, track

    const std::vector<grid_record>& grids_;
    std::vector<std::uint64_t> ends_;
    std::vector<std::uint32_t> track_of_;
    std::vector<std::vector<std::uint32_t>> open_;  // of each track, outermost first
    std::priority_queue<free_at, std::vector<free_at>, std::greater<>> free_;
};

// A name that is no UTF-8 is no JSON either: what is wrong in it becomes U+FFFD.
std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

double microseconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; }

}  // namespace

void write_chrome_trace(std::ostream& out, const trace& t) {
    constexpr int process = 1;
    const tracks placed(t);
    // Written event by event: a trace of a million grids need not be in memory twice.
    json other = {{"engine", t.engine},
                  {"device", t.device},
                  {"grids", t.grids.size()},
                  {"missing grids", t.missing},
                  {"clock error in ns", t.clock_error}};
    for (const auto& [name, text] : t.about) other.emplace(name, text);
    out << "{\"displayTimeUnit\":\"ns\",\"otherData\":" << text_of(other) << ",\"traceEvents\":[\n";
    bool first = true;
    const auto event = [&](const json& e) {
        out << (first ? "" : ",\n") << text_of(e);
        first = false;
    };
    event({{"ph", "M"},
           {"name", "process_name"},
           {"pid", process},
           {"tid", 0},
           {"args", {{"name", t.engine + " engine on " + t.device}}}});
    for (std::size_t track = 0; track < placed.count(); ++track) {
        event({{"ph", "M"},
               {"name", "thread_name"},
               {"pid", process},
               {"tid", track},
               {"args", {{"name", track == 0 ? "grids" : "grids at the same time, " + std::to_string(track)}}}});
    }
    for (std::size_t id = 0; id < t.grids.size(); ++id) {
        const grid_record& grid = t.grids[id];
        const bool continues = grid.continues != grid_record::none;
        const std::uint32_t launcher = continues ? grid.continues : grid.parent;
        const bool has_launcher = placed.has(launcher);
        const std::uint32_t from = has_launcher ? placed.of(launcher) : 0;
        if (!grid.ran()) {
            event({{"ph", "i"},
                   {"s", "t"},
                   {"name", "lost: " + grid.kernel},
                   {"cat", "lost"},
                   {"pid", process},
                   {"tid", from},
                   {"ts", microseconds(grid.launched)},
                   {"args", {{"id", id}, {"shape", to_string(grid.shape)}, {"status", to_string(grid.status)}}}});
            continue;
        }
        if (!placed.has(id)) continue;
        json args = {{"id", id},
                     {"shape", to_string(grid.shape)},
                     {"depth", grid.depth},
                     {"launched", microseconds(grid.launched)}};
        if (grid.ended != grid_record::never) args["ended"] = microseconds(grid.ended);
        if (grid.processor != grid_record::none) args["processor"] = grid.processor;
        if (grid.stream != grid_record::none) args["stream"] = grid.stream;
        if (grid.parent != grid_record::none) args["parent"] = grid.parent;
        if (continues) args["continues"] = grid.continues;
        event({{"ph", "X"},
               {"name", grid.kernel},
               {"cat", continues ? "continuation" : "grid"},
               {"pid", process},
               {"tid", placed.of(id)},
               {"ts", microseconds(grid.begun)},
               {"dur", microseconds(placed.end(id) - grid.begun)},
               {"args", args}});
        if (!has_launcher) continue;
        const char* const what = continues ? "then" : "launch";
        event({{"ph", "s"},
               {"name", what},
               {"cat", what},
               {"id", id},
               {"pid", process},
               {"tid", from},
               {"ts", microseconds(std::min(grid.launched, grid.begun))}});
        event({{"ph", "f"},
               {"bp", "e"},
               {"name", what},
               {"cat", what},
               {"id", id},
               {"pid", process},
               {"tid", placed.of(id)},
               {"ts", microseconds(grid.begun)}});
    }
    out << "\n]}\n";
}

}  // namespace dynpar
