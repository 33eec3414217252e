// What readers of Perfetto's format need of a trace: that the slices of a track are nested, that flows begin before
// they end, that nothing is counted below 0, and that no pack is too large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <dynpar/perfetto_trace.hpp>
#include <protozero/pbf_reader.hpp>
#include <zlib.h>

struct perfetto_slices {
    std::size_t count = 0;     ///< of grids
    std::size_t unpacked = 0;  ///< packets that are not packed
    std::string wrong;         ///< what is, in words; empty if nothing is
};

/// Calls `use` with each packet, and whether it came packed.
template <class Use>
void for_each_perfetto_packet(protozero::data_view file, std::string& wrong, Use&& use, bool is_packed = false) {
    for (protozero::pbf_reader trace(file); trace.next(1);) {
        const protozero::data_view whole = trace.get_view();
        protozero::pbf_reader packet(whole);
        if (!packet.next(50)) {
            use(protozero::pbf_reader(whole), is_packed);
            continue;
        }
        const protozero::data_view packed = packet.get_view();
        if (packed.size() > 511 * 1000) wrong = "a pack is larger than Perfetto asks for";
        std::string text;
        int result = Z_BUF_ERROR;
        for (uLongf size = 1 << 16; result == Z_BUF_ERROR; size *= 2) {
            text.resize(size);
            uLongf used = size;
            result = uncompress(reinterpret_cast<Bytef*>(text.data()), &used,
                                reinterpret_cast<const Bytef*>(packed.data()), packed.size());
            text.resize(used);
        }
        for_each_perfetto_packet(text, wrong, use, true);
    }
}

inline perfetto_slices read_perfetto_slices(const dynpar::trace& t) {
    std::ostringstream out;
    dynpar::write_perfetto_trace(out, t);
    const std::string file = out.str();
    perfetto_slices result;
    std::map<std::uint64_t, std::size_t> open;  // slices, by track
    std::set<std::uint64_t> tracks, flows;
    for_each_perfetto_packet(file, result.wrong, [&](protozero::pbf_reader packet, bool is_packed) {
        if (!is_packed) ++result.unpacked;
        while (packet.next()) {
            protozero::pbf_reader inside;
            if (packet.tag() == 60) {
                inside = packet.get_message();
                if (inside.next(1)) tracks.insert(inside.get_uint64());
            } else if (packet.tag() == 11) {
                int type = 0;
                std::uint64_t track = 0;
                for (inside = packet.get_message(); inside.next();) {
                    switch (inside.tag()) {
                        case 9: type = inside.get_enum(); break;
                        case 11: track = inside.get_uint64(); break;
                        case 30:
                            if (inside.get_int64() < 0) result.wrong = "fewer than none are counted";
                            break;
                        case 47:
                            if (!flows.insert(inside.get_fixed64()).second) result.wrong = "a flow begins twice";
                            break;
                        case 48:
                            if (flows.erase(inside.get_fixed64()) == 0) result.wrong = "a flow ends that has not begun";
                            break;
                        default: inside.skip(); break;
                    }
                }
                if (tracks.count(track) == 0) result.wrong = "an event is on no track";
                if (type == 1) {
                    ++open[track];
                    ++result.count;
                } else if (type == 2 && open[track]-- == 0) {
                    result.wrong = "a slice ends that has not begun";
                }
            } else {
                packet.skip();
            }
        }
    });
    for (const auto& [track, slices] : open)
        if (slices != 0) result.wrong = "a slice has no end";
    if (!flows.empty()) result.wrong = "a flow has no end";
    if (result.count-- == 0) result.wrong = "there is no slice of the run";
    return result;
}
