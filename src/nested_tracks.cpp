#include "nested_tracks.hpp"

#include <algorithm>

#include <dynpar/trace_statistics.hpp>

namespace dynpar::detail {

nested_tracks::nested_tracks(const trace& t, std::vector<edge>* edges)
    : grids_(t.grids), edges_(edges), ends_(nested_ends(t)), track_of_(grids_.size(), no_track) {
    std::vector<std::uint32_t> order;
    for (std::size_t i = 0; i < grids_.size(); ++i)
        if (ends_[i] != grid_record::never) order.push_back(static_cast<std::uint32_t>(i));
    // A parent goes before the child that begins at the same time: it comes first in the trace.
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return grids_[a].begun < grids_[b].begun; });
    for (const std::uint32_t id : order) place(id);
    for (std::uint32_t track = 0; track < open_.size(); ++track)
        while (!open_[track].empty()) close(track);
}

void nested_tracks::place(std::uint32_t id) {
    const grid_record& grid = grids_[id];
    std::uint32_t track = no_track;
    if (has(grid.parent)) {
        const std::uint32_t parents = track_of_[grid.parent];
        close_until(parents, grid.begun, grid.parent);
        // A parent may be the one that has just been closed: it ended when this one began, and this one takes no time.
        if (!open_[parents].empty() && open_[parents].back() == grid.parent && ends_[id] <= ends_[grid.parent])
            track = parents;
    }
    if (track == no_track) track = free_track(grid.begun);
    track_of_[id] = track;
    if (edges_ != nullptr) edges_->push_back({id, true});
    open_[track].push_back(id);
    free_.emplace(ends_[open_[track].front()], track);
}

void nested_tracks::close(std::uint32_t track) {
    if (edges_ != nullptr) edges_->push_back({open_[track].back(), false});
    open_[track].pop_back();
}

void nested_tracks::close_until(std::uint32_t track, std::uint64_t time, std::uint32_t keep) {
    const std::vector<std::uint32_t>& open = open_[track];
    while (!open.empty() && ends_[open.back()] <= time && open.back() != keep) close(track);
}

std::uint32_t nested_tracks::free_track(std::uint64_t time) {
    while (!free_.empty() && free_.top().first <= time) {
        const std::uint32_t track = free_.top().second;
        free_.pop();
        close_until(track, time);
        if (open_[track].empty()) return track;
    }
    open_.emplace_back();
    return static_cast<std::uint32_t>(open_.size() - 1);
}

}  // namespace dynpar::detail
