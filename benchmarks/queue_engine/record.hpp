// What is kept of a table: as JSON, in a file.
#pragma once

#include <cuda_runtime_api.h>

#include <fstream>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include <dynpar/cuda_error.hpp>

#include "../machine.hpp"
#include "table.hpp"

namespace queue_benchmark {

/// On what machine, when and how.
inline nlohmann::ordered_json begin_record(const char* benchmark, const std::string& command) {
    cudaDeviceProp properties{};
    int driver = 0;
    int runtime = 0;
    dynpar::check(cudaGetDeviceProperties(&properties, 0), "asking for the GPU's name");
    dynpar::check(cudaDriverGetVersion(&driver), "asking for the driver's version");
    dynpar::check(cudaRuntimeGetVersion(&runtime), "asking for the runtime's version");
    return {{"benchmark", benchmark},
            {"machine", benchmarks::host_name()},
            {"date", benchmarks::now_utc()},
            {"command", command},
            {"gpu", properties.name},
            {"compute_capability", std::to_string(properties.major) + "." + std::to_string(properties.minor)},
            {"cuda_runtime", runtime},
            {"cuda_driver", driver},
            {"clock", "events on the GPU"}};
}

/// `counted`: what `run_facts::grids` is.
inline nlohmann::ordered_json to_json(const row& r, const std::string& counted) {
    nlohmann::ordered_json j = {{"work", r.work},
                                {"by", r.engine},
                                {"form", r.form},
                                {counted, r.facts.grids},
                                {"milliseconds",
                                 {{"median", r.milliseconds.median},
                                  {"first_quartile", r.milliseconds.low},
                                  {"third_quartile", r.milliseconds.high},
                                  {"least", r.milliseconds.least},
                                  {"most", r.milliseconds.most}}},
                                {counted + "_per_second", r.tasks_per_second()},
                                {"runs", r.runs},
                                {"wrong_runs", r.wrong_runs},
                                {"lost_launches", r.facts.lost_launches},
                                {"result", r.judgement()}};
    if (r.facts.live_bytes) j["live_bytes"] = *r.facts.live_bytes;
    return j;
}

/// Before anything is measured: throws `std::invalid_argument` if the record could not be written in the end.
inline void require_record(const std::string& name) {
    if (!std::ofstream(name, std::ios::app))
        throw std::invalid_argument("--json: " + name + " cannot be written; give a file in a folder that can");
}

inline void write_record(const std::string& name, const nlohmann::ordered_json& record) {
    std::ofstream file(name);
    file << record.dump(1) << '\n';
    if (!file.flush()) throw std::runtime_error("--json " + name + ": the file cannot be written");
}

}  // namespace queue_benchmark
