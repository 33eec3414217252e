#include "dynpar/log.hpp"

#include <cstdlib>
#include <memory>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include "dynpar/detail/printable.hpp"

namespace dynpar::log {
namespace {

spdlog::level::level_enum to_spdlog(level l) {
    switch (l) {
        case level::debug: return spdlog::level::debug;
        case level::info: return spdlog::level::info;
        case level::warn: return spdlog::level::warn;
        case level::error: return spdlog::level::err;
        case level::off: return spdlog::level::off;
    }
    return spdlog::level::off;
}

level from_spdlog(spdlog::level::level_enum l) {
    for (const level mine : {level::debug, level::info, level::warn, level::error})
        if (to_spdlog(mine) == l) return mine;
    return level::off;
}

void write_to(spdlog::logger& logger, level l, std::string_view message) {
    // As a string view, so that braces in the message are text and not a format.
    logger.log(to_spdlog(l), spdlog::string_view_t(message.data(), message.size()));
}

// Not in spdlog's registry: an application that uses spdlog itself does not change dynpar's log by accident.
std::shared_ptr<spdlog::logger> make_logger() {
    auto logger = std::make_shared<spdlog::logger>("dynpar", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    logger->set_pattern("%n: %^%l%$: %v");
    logger->flush_on(spdlog::level::debug);
    logger->set_level(to_spdlog(default_level));
    const char* asked = std::getenv("DYNPAR_LOG");
    if (asked == nullptr || *asked == '\0') return logger;
    if (const std::optional<level> wanted = parse_level(asked)) {
        logger->set_level(to_spdlog(*wanted));
    } else {
        write_to(*logger, level::warn,
                 "environment DYNPAR_LOG: \"" + detail::in_message(asked) +
                     "\" is no level; give debug, info, warn, error or off. Using " + to_string(default_level));
    }
    return logger;
}

spdlog::logger& logger() {
    // Never destroyed: destructors of other static objects may still write.
    static const auto* const the_logger = new std::shared_ptr<spdlog::logger>(make_logger());
    return **the_logger;
}

}  // namespace

void write(level l, std::string_view message) {
    if (l != level::off) write_to(logger(), l, message);
}

void set_level(level lowest_written) { logger().set_level(to_spdlog(lowest_written)); }

level current_level() { return from_spdlog(logger().level()); }

}  // namespace dynpar::log
