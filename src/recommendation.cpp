// The smallest limits that would have done, by engine.
#include <dynpar/recommendation.hpp>

#include <algorithm>

namespace dynpar {
namespace {

// Measured on an H200 with driver 580: what cudaDeviceSetLimit makes of less.
constexpr std::uint64_t least_pending_on_gpu = 32;
constexpr std::uint64_t least_heap_bytes = 4 * 1024 * 1024;
// Of the device heap some 46 % can be had in pieces of 1 KiB and 56 % in pieces of 60,000 bytes; measured likewise.
constexpr std::uint64_t heap_for_live_bytes = 5;  // halves

// On the queue engine who runs what differs from run to run, and with it how much memory lies ready on each warp.
constexpr std::uint64_t queue_for_live_bytes = 5;  // quarters

constexpr std::uint64_t mebibyte = 1024 * 1024;

std::uint64_t whole_mebibytes(std::uint64_t bytes) { return (bytes + mebibyte - 1) / mebibyte * mebibyte; }

}  // namespace

std::vector<recommended_limit> recommend(const run_needs& needs, const std::string& engine) {
    std::vector<recommended_limit> result;
    if (needs.sync_depth) result.push_back({"sync_depth", static_cast<std::size_t>(*needs.sync_depth), ""});
    if (needs.pending_launches && *needs.pending_launches != 0) {
        recommended_limit limit{"pending_launches", static_cast<std::size_t>(*needs.pending_launches), ""};
        if (engine == "cdp") {
            limit.note = "as counted in this run; children that race with their launchers may need more";
            if (limit.value < least_pending_on_gpu) {
                limit.note = "the GPU gives " + std::to_string(least_pending_on_gpu) + ", its least; " +
                             std::to_string(limit.value) + " would do";
                limit.value = least_pending_on_gpu;
            }
        }
        result.push_back(std::move(limit));
    }
    result.push_back({"nesting_depth", static_cast<std::size_t>(needs.nesting_depth), ""});
    if (engine == "cdp" && needs.live_bytes && *needs.live_bytes != 0) {
        const std::uint64_t wanted = whole_mebibytes(*needs.live_bytes * heap_for_live_bytes / 2);
        result.push_back({"heap_bytes", static_cast<std::size_t>(std::max(wanted, least_heap_bytes)),
                          std::to_string(*needs.live_bytes) +
                              " bytes were live; about half of the device's heap is its own, so this is an estimate"});
    }
    if (engine == "queue" && needs.live_bytes && *needs.live_bytes != 0) {
        result.push_back(
            {"heap_bytes", static_cast<std::size_t>(whole_mebibytes(*needs.live_bytes * queue_for_live_bytes / 4)),
             std::to_string(*needs.live_bytes) +
                 " bytes were taken; that differs from run to run, so this is an estimate with a quarter more"});
    }
    return result;
}

std::string to_toml(const std::vector<recommended_limit>& recommended, const limit_cost& cost) {
    std::string text = "[limits]\n";
    for (const recommended_limit& limit : recommended) {
        std::string line = limit.name + " = " + std::to_string(limit.value);
        const std::string price = cost ? cost(limit) : "";
        const std::string comment = price + (!price.empty() && !limit.note.empty() ? "; " : "") + limit.note;
        if (!comment.empty()) line += std::string(line.size() < 26 ? 26 - line.size() : 1, ' ') + "# " + comment;
        text += line + '\n';
    }
    return text;
}

}  // namespace dynpar
