// Parents with their children, and Bezier curves, as the benchmark measures them: the samples' kernels, and what they
// work on.
#pragma once

#include <cuda_runtime.h>

#include <vector>

#include <dynpar/dynpar.hpp>

#include "../../samples/bezier/curves.hpp"
#include "../../samples/parent_child/families.hpp"
#include "../queue_engine/device_memory.hpp"
#include "rows.hpp"

namespace nested_benchmark {

/// All forms in one kernel, of which each takes long to compile.
struct visit_parents {
    static constexpr const char* name = "visit_parents";
    families::form how;
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, families::family_view f) const {
        if (how == families::form::share) {
            families::visit_parents<families::form::share>{}(block, f);
        } else {
            families::visit_parents<families::form::reduce>{}(block, f);
        }
    }
};

class families_on_device {
public:
    explicit families_on_device(const family_work& w)
        : of_(w),
          begin_(queue_benchmark::on_device(w.begin, w.begin.size())),
          sums_(queue_benchmark::on_device<families::number>(w.sums.size())) {}

    void prepare() const { queue_benchmark::fill(sums_, 0); }
    bool is_right() const { return sums_.to_vector() == of_.sums; }
    families::family_view view() const { return {static_cast<unsigned>(sums_.size()), begin_.data(), sums_.data()}; }

private:
    const family_work& of_;
    dynpar::buffer<unsigned> begin_;
    dynpar::buffer<families::number> sums_;
};

class curves_on_device {
public:
    explicit curves_on_device(const curve_work& w)
        : of_(w),
          curves_(queue_benchmark::on_device(w.drawn, w.drawn.size())),
          points_(queue_benchmark::on_device<curves::point>(w.points)),
          chains_(queue_benchmark::on_device<unsigned>(w.drawn.size())),
          used_(queue_benchmark::on_device<unsigned>(1)),
          drawing_(queue_benchmark::on_device<curves::drawing>(1)) {}

    void prepare() const {
        const curves::drawing d{curves_.data(), static_cast<unsigned>(of_.drawn.size()),
                                of_.tolerance,  points_.data(),
                                chains_.data(), of_.points,
                                used_.data()};
        queue_benchmark::fill(used_, 0);
        queue_benchmark::fill(points_, 0xff);
        dynpar::check(cudaMemcpy(drawing_.data(), &d, sizeof d, cudaMemcpyHostToDevice), "preparing curves");
    }
    bool is_right() const {
        return curves::are_right(of_.drawn, of_.tolerance, chains_.to_vector(), points_.to_vector());
    }
    curves::drawing* data() const { return drawing_.data(); }
    unsigned* chains() const { return chains_.data(); }
    unsigned count() const { return static_cast<unsigned>(of_.drawn.size()); }

private:
    const curve_work& of_;
    dynpar::buffer<curves::curve> curves_;
    dynpar::buffer<curves::point> points_;
    dynpar::buffer<unsigned> chains_, used_;
    dynpar::buffer<curves::drawing> drawing_;
};

}  // namespace nested_benchmark
