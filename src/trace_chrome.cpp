// Chrome's trace events, in JSON: "Trace Event Format" of the Chromium project.
#include <dynpar/chrome_trace.hpp>

#include <algorithm>
#include <ostream>
#include <string>

#include <nlohmann/json.hpp>

#include "nested_tracks.hpp"

namespace dynpar {
namespace {

using json = nlohmann::ordered_json;

// A name that is no UTF-8 is no JSON either: what is wrong in it becomes U+FFFD.
std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

double microseconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; }

}  // namespace

void write_chrome_trace(std::ostream& out, const trace& t) {
    constexpr int process = 1;
    const detail::nested_tracks placed(t);
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
