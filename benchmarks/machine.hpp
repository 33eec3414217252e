// Where and when a record was made.
#pragma once

#include <unistd.h>

#include <ctime>
#include <string>

namespace benchmarks {

inline std::string now_utc() {
    const std::time_t now = std::time(nullptr);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
    return text;
}

inline std::string host_name() {
    char name[256] = {};
    return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

}  // namespace benchmarks
