// Tracks on which grids lie as slices, for viewers that want the slices of one track nested.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include <dynpar/trace.hpp>

namespace dynpar::detail {

/// A grid goes onto its parent's track, where it lies inside its parent, if no sibling there overlaps it, and else onto
/// one that is free. Grids are placed in the order of their begins, so that a track needs to know only the slices that
/// are open. A grid that begins before its parent, as the clocks of two multiprocessors may have it, does not lie
/// inside it: it is placed first, onto a track of its own.
class nested_tracks {
public:
    /// The begin or the end of a grid's slice.
    struct edge {
        std::uint32_t grid;
        bool begins;
    };

    /// `edges`, if given, gets the edges of all slices: those of one track in their order, a slice inside another one
    /// between the edges of that.
    explicit nested_tracks(const trace& t, std::vector<edge>* edges = nullptr);

    bool has(std::size_t grid) const { return grid < grids_.size() && track_of_[grid] != no_track; }
    std::uint64_t end(std::size_t grid) const { return ends_[grid]; }
    std::uint32_t of(std::size_t grid) const { return track_of_[grid]; }
    std::size_t count() const { return open_.size(); }

private:
    static constexpr std::uint32_t no_track = 0xffffffff;
    using free_at = std::pair<std::uint64_t, std::uint32_t>;  // time, track

    void place(std::uint32_t id);
    void close(std::uint32_t track);
    void close_until(std::uint32_t track, std::uint64_t time, std::uint32_t keep = grid_record::none);
    std::uint32_t free_track(std::uint64_t time);

    const std::vector<grid_record>& grids_;
    std::vector<edge>* edges_;
    std::vector<std::uint64_t> ends_;
    std::vector<std::uint32_t> track_of_;
    std::vector<std::vector<std::uint32_t>> open_;  // of each track, outermost first
    std::priority_queue<free_at, std::vector<free_at>, std::greater<>> free_;
};

}  // namespace dynpar::detail
