// Perfetto's own format: a stream of packets in the wire format of protocol buffers.
#include <dynpar/perfetto_trace.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <new>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <protozero/pbf_builder.hpp>
#include <zlib.h>

#include "nested_tracks.hpp"
#include "perfetto_fields.hpp"

namespace dynpar {
namespace {

using namespace perfetto;
using protozero::pbf_builder;
using json = nlohmann::json;

constexpr unsigned sequence = 1;  // all packets are of one

// Tracks. Any numbers but 0.
constexpr std::uint64_t process_track = 1;
constexpr std::uint64_t run_track = 2;
constexpr std::uint64_t alive_track = 3;
constexpr std::uint64_t busy_track = 4;
constexpr std::uint64_t lost_track = 5;
constexpr std::uint64_t first_grid_track = 6;

// What is wrong in a text that is no UTF-8 becomes U+FFFD, as in the other formats.
std::string utf8(const std::string& text) {
    return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

// Packets, of which some at a time are packed into one.
class packet_stream {
public:
    explicit packet_stream(std::ostream& out) : out_(out) {}

    // The fields of a packet are put in by `fill(packet)`.
    template <class Fill>
    void add(Fill&& fill) {
        {
            pbf_builder<trace_field> trace(block_);
            pbf_builder<trace_packet_field> packet(trace, trace_field::packet);
            packet.add_uint32(trace_packet_field::trusted_packet_sequence_id, sequence);
            fill(packet);
        }
        if (block_.size() >= block_bytes) finish();
    }

    // Of all packets so far.
    void finish() {
        uLongf size = compressBound(block_.size());
        packed_.resize(size);
        if (compress(reinterpret_cast<Bytef*>(packed_.data()), &size, reinterpret_cast<const Bytef*>(block_.data()),
                     block_.size()) != Z_OK)
            throw std::bad_alloc();
        packed_.resize(size);
        if (packed_.size() < most_packed_bytes) {
            std::string wrapped;
            {
                pbf_builder<trace_field> trace(wrapped);
                pbf_builder<trace_packet_field> packet(trace, trace_field::packet);
                packet.add_bytes(trace_packet_field::compressed_packets, packed_);
            }
            out_ << wrapped;
        } else {
            out_ << block_;  // one packet of a grid that has launched very many
        }
        block_.clear();
    }

private:
    static constexpr std::size_t block_bytes = 256 * 1024;
    // trace_packet.proto asks for less than 512 KB, with what is around them.
    static constexpr std::size_t most_packed_bytes = 512 * 1000 - 16;

    std::ostream& out_;
    std::string block_;
    std::string packed_;
};

// Texts that packets refer to by numbers, which count from 1. A text comes with the first packet that refers to it.
template <class Key>
class interned {
public:
    explicit interned(interned_data_field field) : field_(field) {}

    // Its number; `text()` is called once for each key.
    template <class Text>
    std::uint64_t number(const Key& key, Text&& text) {
        const auto [found, is_new] = numbers_.try_emplace(key, numbers_.size() + 1);
        if (is_new) news_.emplace_back(found->second, text());
        return found->second;
    }

    bool has_news() const { return !news_.empty(); }
    void add_news(pbf_builder<interned_data_field>& data) {
        for (const auto& [number, text] : news_) {
            pbf_builder<interned_string_field> entry(data, field_);
            entry.add_uint64(interned_string_field::iid, number);
            entry.add_string(interned_string_field::text, text);
        }
        news_.clear();
    }

private:
    interned_data_field field_;
    std::map<Key, std::uint64_t> numbers_;
    std::vector<std::pair<std::uint64_t, std::string>> news_;
};

enum class category : std::uint64_t { grid = 1, continuation, lost, run };
constexpr std::array<const char*, 4> categories = {"grid", "continuation", "lost", "run"};

enum class annotation : std::uint64_t {
    grid = 1,
    shape,
    depth,
    launched,
    ended,
    processor,
    stream,
    parent,
    continues,
    status
};
constexpr std::array<const char*, 10> annotations = {"grid",      "shape",  "depth",  "launched",  "ended",
                                                     "processor", "stream", "parent", "continues", "status"};

class writer {
public:
    writer(std::ostream& out, const trace& t) : trace_(t), placed_(t, &edges_), packets_(out) {}

    void write() {
        describe();
        find_flows();
        sort_events();
        for (std::size_t i = 0; i < events_.size();) {
            const std::uint64_t time = events_[i].time;
            for (; i < events_.size() && events_[i].time == time; ++i) write_event(events_[i]);
            write_counter(alive_track, alive_, shown_alive_, time);
            write_counter(busy_track, static_cast<std::int64_t>(busy_.size()), shown_busy_, time);
        }
        packets_.finish();
    }

private:
    enum class what : unsigned char { run_begins, slice_begins, slice_ends, is_lost, is_launched, has_ended, run_ends };
    struct moment {
        std::uint64_t time;
        std::uint32_t grid;
        what kind;
    };

    using packet_builder = pbf_builder<trace_packet_field>;
    using event_builder = pbf_builder<track_event_field>;

    // The clock, the tracks, and what the program says of the run: before all else.
    void describe() {
        packets_.add([](packet_builder& packet) {
            packet.add_uint32(trace_packet_field::sequence_flags, seq_incremental_state_cleared);
            {
                pbf_builder<trace_packet_defaults_field> defaults(packet, trace_packet_field::trace_packet_defaults);
                defaults.add_uint32(trace_packet_defaults_field::timestamp_clock_id, clock_own);
            }
            {
                pbf_builder<interned_data_field> data(packet, trace_packet_field::interned_data);
                add_all(data, interned_data_field::event_categories, categories);
                add_all(data, interned_data_field::debug_annotation_names, annotations);
            }
            // Times are what has passed since the packet before: smaller numbers.
            pbf_builder<clock_snapshot_field> snapshot(packet, trace_packet_field::clock_snapshot);
            for (const unsigned id : {clock_boottime, clock_own}) {
                pbf_builder<clock_field> clock(snapshot, clock_snapshot_field::clocks);
                clock.add_uint32(clock_field::clock_id, id);
                clock.add_uint64(clock_field::timestamp, 0);
                if (id == clock_own) clock.add_bool(clock_field::is_incremental, true);
            }
        });
        about_ = {{"engine", trace_.engine},
                  {"device", trace_.device},
                  {"grids", std::to_string(trace_.grids.size())},
                  {"missing grids", std::to_string(trace_.missing)},
                  {"clock error in ns", std::to_string(trace_.clock_error)}};
        about_.insert(about_.end(), trace_.about.begin(), trace_.about.end());
        for (auto& [name, text] : about_) std::tie(name, text) = std::pair(utf8(name), utf8(text));
        packets_.add([&](packet_builder& packet) {
            pbf_builder<trace_attributes_field> attributes(packet, trace_packet_field::trace_attributes);
            for (const auto& [name, text] : about_) {
                pbf_builder<attribute_field> attribute(attributes, trace_attributes_field::attribute);
                attribute.add_string(attribute_field::key, "dynpar." + name);
                attribute.add_string(attribute_field::string_value, text);
            }
        });
        add_track(process_track, "", [&](pbf_builder<track_descriptor_field>& track) {
            track.add_enum(track_descriptor_field::child_ordering, child_ordering_explicit);
            pbf_builder<process_descriptor_field> process(track, track_descriptor_field::process);
            process.add_int32(process_descriptor_field::pid, 1);
            for (const auto& [name, text] : about_)
                if (name == "command") process.add_string(process_descriptor_field::cmdline, text);
            process.add_string(process_descriptor_field::process_name, run_name());
        });
        const auto add_counter = [&](std::uint64_t uuid, const char* name) {
            add_track(uuid, name, [](pbf_builder<track_descriptor_field>& track) {
                pbf_builder<counter_descriptor_field> counter(track, track_descriptor_field::counter);
                counter.add_enum(counter_descriptor_field::unit, unit_count);
            });
        };
        const auto nothing = [](pbf_builder<track_descriptor_field>&) {};
        add_track(run_track, "run", nothing);
        add_counter(alive_track, "grids alive");
        add_counter(busy_track, trace_.engine == "host" ? "workers in use" : "multiprocessors in use");
        if (std::any_of(trace_.grids.begin(), trace_.grids.end(), [](const grid_record& g) { return !g.ran(); }))
            add_track(lost_track, "lost launches", nothing);
        for (std::size_t track = 0; track < placed_.count(); ++track)
            add_track(first_grid_track + track,
                      track == 0 ? "grids" : "grids at the same time, " + std::to_string(track), nothing);
    }

    template <std::size_t Size>
    static void add_all(pbf_builder<interned_data_field>& data, interned_data_field field,
                        const std::array<const char*, Size>& texts) {
        for (std::size_t i = 0; i < Size; ++i) {
            pbf_builder<interned_string_field> entry(data, field);
            entry.add_uint64(interned_string_field::iid, i + 1);
            entry.add_string(interned_string_field::text, texts[i]);
        }
    }

    template <class Fill>
    void add_track(std::uint64_t uuid, const std::string& name, Fill&& fill) {
        packets_.add([&](packet_builder& packet) {
            pbf_builder<track_descriptor_field> track(packet, trace_packet_field::track_descriptor);
            track.add_uint64(track_descriptor_field::uuid, uuid);
            if (!name.empty()) track.add_string(track_descriptor_field::name, name);
            if (uuid != process_track) {
                track.add_uint64(track_descriptor_field::parent_uuid, process_track);
                track.add_int32(track_descriptor_field::sibling_order_rank, static_cast<std::int32_t>(uuid));
            }
            fill(track);
        });
    }

    std::string run_name() const { return utf8(trace_.engine + " engine on " + trace_.device); }

    // A flow has the number of the grid that it goes to. It goes out where its grid's launcher begins, since a viewer
    // takes the earliest event of a flow for its source.
    void find_flows() {
        const std::vector<grid_record>& grids = trace_.grids;
        has_flow_.assign(grids.size(), false);
        first_launched_.assign(grids.size() + 1, 0);
        const auto each = [&](auto&& use) {
            for (std::size_t i = 0; i < grids.size(); ++i) {
                const grid_record& grid = grids[i];
                const std::uint32_t from = grid.continues != grid_record::none ? grid.continues : grid.parent;
                if (!placed_.has(from) || (grid.ran() && !placed_.has(i))) continue;
                const std::uint64_t begun = grids[from].begun;
                const bool is_later =
                    grid.ran() ? begun < grid.begun || (begun == grid.begun && from < i) : begun <= grid.launched;
                if (is_later) use(from, static_cast<std::uint32_t>(i));
            }
        };
        each([&](std::uint32_t from, std::uint32_t to) {
            ++first_launched_[from + 1];
            has_flow_[to] = true;
        });
        for (std::size_t i = 0; i < grids.size(); ++i) first_launched_[i + 1] += first_launched_[i];
        launched_.resize(first_launched_.back());
        std::vector<std::uint32_t> next(first_launched_.begin(), first_launched_.end());
        each([&](std::uint32_t from, std::uint32_t to) { launched_[next[from]++] = to; });
    }

    void sort_events() {
        const std::vector<grid_record>& grids = trace_.grids;
        events_.reserve(2 * edges_.size() + 2);
        events_.push_back({0, grid_record::none, what::run_begins});
        for (const detail::nested_tracks::edge& e : edges_) {
            const std::uint64_t time = e.begins ? grids[e.grid].begun : placed_.end(e.grid);
            events_.push_back({time, e.grid, e.begins ? what::slice_begins : what::slice_ends});
        }
        edges_ = {};
        for (std::size_t i = 0; i < grids.size(); ++i) {
            const grid_record& grid = grids[i];
            const auto id = static_cast<std::uint32_t>(i);
            if (!grid.ran()) {
                events_.push_back({grid.launched, id, what::is_lost});
            } else if (placed_.has(i)) {
                if (grid.launched < grid.ended) events_.push_back({grid.launched, id, what::is_launched});
                if (grid.ended != grid_record::never) events_.push_back({grid.ended, id, what::has_ended});
            }
        }
        events_.push_back({trace_.nanoseconds, grid_record::none, what::run_ends});
        // Stable: the edges of a track stay in their order, and a parent before a child that begins with it.
        std::stable_sort(events_.begin(), events_.end(),
                         [](const moment& a, const moment& b) { return a.time < b.time; });
    }

    void write_event(const moment& e) {
        switch (e.kind) {
            case what::run_begins: write_run(); break;
            case what::run_ends: write_end(run_track, e.time); break;
            case what::slice_begins:
                write_slice(e.grid);
                if (counts_as_busy(e.grid)) ++busy_[trace_.grids[e.grid].processor];
                break;
            case what::slice_ends: write_end(first_grid_track + placed_.of(e.grid), e.time); break;
            case what::is_lost: write_lost(e.grid); break;
            case what::is_launched: ++alive_; break;
            case what::has_ended:
                if (trace_.grids[e.grid].launched < trace_.grids[e.grid].ended) --alive_;
                if (counts_as_busy(e.grid)) {
                    const auto processor = busy_.find(trace_.grids[e.grid].processor);
                    if (--processor->second == 0) busy_.erase(processor);
                }
                break;
        }
    }

    bool counts_as_busy(std::uint32_t id) const {
        const grid_record& grid = trace_.grids[id];
        return grid.processor != grid_record::none && grid.begun < grid.ended;
    }

    // The packet of an event, with the new texts that it refers to, whose numbers have been asked for before.
    template <class Fill>
    void add_event(std::uint64_t time, std::uint64_t track, int type, Fill&& fill) {
        packets_.add([&](packet_builder& packet) {
            packet.add_uint64(trace_packet_field::timestamp, time - now_);
            now_ = time;
            packet.add_uint32(trace_packet_field::sequence_flags, seq_needs_incremental_state);
            if (names_.has_news() || shapes_.has_news()) {
                pbf_builder<interned_data_field> data(packet, trace_packet_field::interned_data);
                names_.add_news(data);
                shapes_.add_news(data);
            }
            event_builder event(packet, trace_packet_field::track_event);
            event.add_enum(track_event_field::type, type);
            event.add_uint64(track_event_field::track_uuid, track);
            fill(event);
        });
    }

    static void annotate(event_builder& event, annotation name, std::uint64_t value) {
        pbf_builder<debug_annotation_field> a(event, track_event_field::debug_annotations);
        a.add_uint64(debug_annotation_field::name_iid, static_cast<std::uint64_t>(name));
        a.add_uint64(debug_annotation_field::uint_value, value);
    }
    static void annotate_text(event_builder& event, annotation name, std::uint64_t number) {
        pbf_builder<debug_annotation_field> a(event, track_event_field::debug_annotations);
        a.add_uint64(debug_annotation_field::name_iid, static_cast<std::uint64_t>(name));
        a.add_uint64(debug_annotation_field::string_value_iid, number);
    }
    static void put_into(event_builder& event, category c) {
        event.add_uint64(track_event_field::category_iids, static_cast<std::uint64_t>(c));
    }

    void write_run() {
        add_event(0, run_track, type_slice_begin, [&](event_builder& event) {
            put_into(event, category::run);
            event.add_string(track_event_field::name, run_name());
            for (const auto& [name, text] : about_) {
                pbf_builder<debug_annotation_field> a(event, track_event_field::debug_annotations);
                a.add_string(debug_annotation_field::name, name);
                a.add_string(debug_annotation_field::string_value, text);
            }
        });
    }

    void write_slice(std::uint32_t id) {
        const grid_record& grid = trace_.grids[id];
        const bool continues = grid.continues != grid_record::none;
        const std::uint64_t name = names_.number({false, grid.kernel}, [&] { return utf8(grid.kernel); });
        const std::uint64_t shape = shape_number(grid.shape);
        add_event(grid.begun, first_grid_track + placed_.of(id), type_slice_begin, [&](event_builder& event) {
            put_into(event, continues ? category::continuation : category::grid);
            event.add_uint64(track_event_field::name_iid, name);
            annotate(event, annotation::grid, id);
            annotate_text(event, annotation::shape, shape);
            annotate(event, annotation::depth, grid.depth);
            annotate(event, annotation::launched, grid.launched);
            // Where a slice ends with its grid, that says it.
            if (grid.ended != grid_record::never && grid.ended != placed_.end(id))
                annotate(event, annotation::ended, grid.ended);
            if (grid.processor != grid_record::none) annotate(event, annotation::processor, grid.processor);
            annotate_origin(event, grid);
            for (std::uint32_t i = first_launched_[id]; i < first_launched_[id + 1]; ++i)
                event.add_fixed64(track_event_field::flow_ids, flow_of(launched_[i]));
            if (has_flow_[id]) event.add_fixed64(track_event_field::terminating_flow_ids, flow_of(id));
        });
    }

    void write_lost(std::uint32_t id) {
        const grid_record& grid = trace_.grids[id];
        const std::uint64_t name = names_.number({true, grid.kernel}, [&] { return "lost: " + utf8(grid.kernel); });
        const std::uint64_t shape = shape_number(grid.shape);
        const std::uint64_t status = shapes_.number(to_string(grid.status), [&] { return to_string(grid.status); });
        add_event(grid.launched, lost_track, type_instant, [&](event_builder& event) {
            put_into(event, category::lost);
            event.add_uint64(track_event_field::name_iid, name);
            annotate(event, annotation::grid, id);
            annotate_text(event, annotation::shape, shape);
            annotate(event, annotation::depth, grid.depth);
            annotate_text(event, annotation::status, status);
            annotate_origin(event, grid);
            if (has_flow_[id]) event.add_fixed64(track_event_field::terminating_flow_ids, flow_of(id));
        });
    }

    static void annotate_origin(event_builder& event, const grid_record& grid) {
        if (grid.stream != grid_record::none) annotate(event, annotation::stream, grid.stream);
        if (grid.parent != grid_record::none) annotate(event, annotation::parent, grid.parent);
        if (grid.continues != grid_record::none) annotate(event, annotation::continues, grid.continues);
    }

    static std::uint64_t flow_of(std::uint32_t grid) { return std::uint64_t{grid} + 1; }

    std::uint64_t shape_number(const shape& s) {
        // Most grids have the shape of the one before.
        if (last_shape_ == 0 || last_ != s) {
            const std::string text = to_string(s);
            last_ = s;
            last_shape_ = shapes_.number(text, [&] { return text; });
        }
        return last_shape_;
    }

    void write_end(std::uint64_t track, std::uint64_t time) {
        add_event(time, track, type_slice_end, [](event_builder&) {});
    }

    void write_counter(std::uint64_t track, std::int64_t value, std::int64_t& shown, std::uint64_t time) {
        if (value == shown) return;
        shown = value;
        add_event(time, track, type_counter,
                  [&](event_builder& event) { event.add_int64(track_event_field::counter_value, value); });
    }

    const trace& trace_;
    std::vector<detail::nested_tracks::edge> edges_;
    detail::nested_tracks placed_;
    packet_stream packets_;
    std::vector<std::pair<std::string, std::string>> about_;
    std::vector<moment> events_;
    std::vector<bool> has_flow_;                 // to the grid
    std::vector<std::uint32_t> first_launched_;  // of a grid, in launched_
    std::vector<std::uint32_t> launched_;
    interned<std::pair<bool, std::string>> names_{interned_data_field::event_names};  // of a lost one, kernel
    interned<std::string> shapes_{interned_data_field::debug_annotation_string_values};
    shape last_;
    std::uint64_t last_shape_ = 0;

    std::uint64_t now_ = 0;  // of the packet before
    std::int64_t alive_ = 0;
    std::unordered_map<std::uint32_t, std::uint32_t> busy_;  // grids that run, by processor
    std::int64_t shown_alive_ = 0;
    std::int64_t shown_busy_ = 0;
};

}  // namespace

void write_perfetto_trace(std::ostream& out, const trace& t) { writer(out, t).write(); }

}  // namespace dynpar
