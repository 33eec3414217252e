// Contract row C7 where the device runtime itself may not come back: CUDA's can hang once launches are over the pending
// limit. A program of its own, because it cannot use the GPU any more after that.
#include "../engine_under_test.hpp"

using namespace conformance;

namespace {

struct launch_from_every_thread {
    static constexpr const char* name = "launch_from_every_thread";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* counter) const {
        block.launch(count_one{}, dynpar::shape(1, 32), counter);
    }
};

TEST_CASE("C7: far more launches than may be pending come to an end, and what was lost is said") {
    auto engine = make_engine();
    auto counter = filled(engine, 1, 0u);
    std::string said;
    try {
        const dynpar::report report = engine.run(launch_from_every_thread{}, dynpar::shape(16, 256), counter.data());
        CHECK(report.grids == 1 + 4096);  // an engine or a machine that is up to it
        CHECK(counter.to_vector()[0] == 4096);
    } catch (const dynpar::launch_error& error) {
        said = error.what();
        CHECK(counter.to_vector()[0] + error.report().lost_launches == 4096);
    } catch (const dynpar::deadlock_error& error) {
        said = error.what();
        CHECK(said.find("made no progress") != std::string::npos);
    }
    MESSAGE(said);
    if (!said.empty()) {
        CHECK(said.find("lost") != std::string::npos);
        CHECK(said.find("count_one") != std::string::npos);
        CHECK(said.find("limit on pending launches: ") != std::string::npos);
    }
}

}  // namespace
