// The HTML page: src/trace_page/ and d3, which are part of the program, with a trace put in.
#include <dynpar/trace_page.hpp>

#include <array>
#include <map>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

#include <dynpar/trace_statistics.hpp>

#if DYNPAR_TRACE_PAGE
// Made by cmake/embed_file.cmake.
namespace dynpar::embedded {
#define DYNPAR_EMBEDDED(name)          \
    extern const unsigned char name[]; \
    extern const unsigned long name##_size
DYNPAR_EMBEDDED(page);
DYNPAR_EMBEDDED(style);
DYNPAR_EMBEDDED(d3);
DYNPAR_EMBEDDED(model);
DYNPAR_EMBEDDED(arrangement);
DYNPAR_EMBEDDED(timeline);
DYNPAR_EMBEDDED(graph);
DYNPAR_EMBEDDED(range);
DYNPAR_EMBEDDED(tree);
DYNPAR_EMBEDDED(tables);
DYNPAR_EMBEDDED(search);
DYNPAR_EMBEDDED(keys);
DYNPAR_EMBEDDED(start);
#undef DYNPAR_EMBEDDED
}  // namespace dynpar::embedded
#endif

namespace dynpar {

#if DYNPAR_TRACE_PAGE

namespace {

using json = nlohmann::ordered_json;

std::string_view text_of(const unsigned char* bytes, unsigned long size) {
    return {reinterpret_cast<const char*>(bytes), size};
}

// JSON for a script element: no "</script" in it, nor "<!--".
std::string for_script(const json& value) {
    std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
    std::string result;
    result.reserve(text.size());
    for (const char c : text) {
        if (c == '<') {
            result += "\\u003c";
        } else {
            result += c;
        }
    }
    return result;
}

json values_of(const distribution& d) { return {d.median, d.p95, d.most, d.total}; }

json to_json(const trace& t) {
    std::unordered_map<std::string, int> kernel_numbers;
    std::unordered_map<std::string, int> shape_numbers;
    json kernels = json::array();
    json shapes = json::array();
    json statuses = json::array();
    for (unsigned s = 0; s <= static_cast<unsigned>(status::launch_failed); ++s)
        statuses.push_back(to_string(static_cast<status>(s)));
    // A column for each field: far smaller than a row for each grid with the fields' names. -1 is "none" and "never".
    std::array<std::vector<std::int64_t>, 10> columns;
    for (auto& column : columns) column.reserve(t.grids.size());
    const auto number = [](std::uint32_t n) { return n == grid_record::none ? std::int64_t{-1} : std::int64_t{n}; };
    const auto time = [](std::uint64_t n) {
        return n == grid_record::never ? std::int64_t{-1} : static_cast<std::int64_t>(n);
    };
    const grid_record* before = nullptr;
    int kernel_number = 0;
    int shape_number = 0;
    for (const grid_record& g : t.grids) {
        if (before == nullptr || before->kernel != g.kernel) {
            const auto [found, is_new] = kernel_numbers.try_emplace(g.kernel, static_cast<int>(kernels.size()));
            if (is_new) kernels.push_back(g.kernel);
            kernel_number = found->second;
        }
        if (before == nullptr || before->shape != g.shape) {
            const auto [found, is_new] = shape_numbers.try_emplace(to_string(g.shape), static_cast<int>(shapes.size()));
            if (is_new) shapes.push_back(found->first);
            shape_number = found->second;
        }
        before = &g;
        std::size_t column = 0;
        for (const std::int64_t value :
             {number(g.parent), number(g.continues), number(g.stream), std::int64_t{kernel_number},
              std::int64_t{shape_number}, static_cast<std::int64_t>(g.depth), static_cast<std::int64_t>(g.status),
              number(g.processor), time(g.begun), time(g.ended)})
            columns[column++].push_back(value);
    }
    std::vector<std::int64_t> launched;
    launched.reserve(t.grids.size());
    for (const grid_record& g : t.grids) launched.push_back(time(g.launched));

    json table = json::array();
    for (const grid_statistics& s : statistics(t)) {
        table.push_back({{"kernel", s.kernel},
                         {"depth", s.depth},
                         {"count", s.count},
                         {"lost", s.lost},
                         {"latency", values_of(s.latency)},
                         {"duration", values_of(s.duration)}});
    }
    return {{"engine", t.engine},           {"device", t.device},
            {"missing", t.missing},         {"about", t.about},
            {"nanoseconds", t.nanoseconds}, {"clockError", t.clock_error},
            {"kernels", kernels},           {"shapes", shapes},
            {"statuses", statuses},         {"table", table},
            {"parent", columns[0]},         {"continues", columns[1]},
            {"stream", columns[2]},         {"kernel", columns[3]},
            {"shape", columns[4]},          {"depth", columns[5]},
            {"status", columns[6]},         {"processor", columns[7]},
            {"begun", columns[8]},          {"ended", columns[9]},
            {"launched", launched}};
}

}  // namespace

bool has_trace_page() { return true; }

void write_trace_page(std::ostream& out, const trace& t) {
    std::string_view rest = text_of(embedded::page, embedded::page_size);
    const std::string data = for_script(to_json(t));
    const std::map<std::string_view, std::string_view> pieces = {
        {"trace", data},
        {"style", text_of(embedded::style, embedded::style_size)},
        {"d3", text_of(embedded::d3, embedded::d3_size)},
        {"model", text_of(embedded::model, embedded::model_size)},
        {"arrangement", text_of(embedded::arrangement, embedded::arrangement_size)},
        {"timeline", text_of(embedded::timeline, embedded::timeline_size)},
        {"graph", text_of(embedded::graph, embedded::graph_size)},
        {"range", text_of(embedded::range, embedded::range_size)},
        {"tree", text_of(embedded::tree, embedded::tree_size)},
        {"tables", text_of(embedded::tables, embedded::tables_size)},
        {"search", text_of(embedded::search, embedded::search_size)},
        {"keys", text_of(embedded::keys, embedded::keys_size)},
        {"start", text_of(embedded::start, embedded::start_size)},
    };
    constexpr std::string_view begin = "/*{";
    constexpr std::string_view end = "}*/";
    for (std::size_t at = rest.find(begin); at != rest.npos; at = rest.find(begin)) {
        const std::size_t close = rest.find(end, at);
        const std::string_view what = rest.substr(at + begin.size(), close - at - begin.size());
        out << rest.substr(0, at) << pieces.at(what);
        rest.remove_prefix(close + end.size());
    }
    out << rest;
}

#else

bool has_trace_page() { return false; }

void write_trace_page(std::ostream&, const trace&) {
    throw std::runtime_error(
        "dynpar: this build writes no HTML pages: d3 was not found when it was configured; install Debian's "
        "libjs-d3 and configure again");
}

#endif

}  // namespace dynpar
