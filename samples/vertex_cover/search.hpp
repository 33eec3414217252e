// The search on an engine: what it needs there, and what comes of it.
#pragma once

#include <cstdint>
#include <vector>

#include <dynpar/dynpar.hpp>

#include "graph.hpp"
#include "kernels.hpp"
#include "serial.hpp"

namespace vertex_cover {

/// A graph in an engine's memory, and the root of its search. For one engine, and any number of runs one after another.
template <class Engine>
class search_on {
public:
    /// `first`: a cover, which the search is to improve on.
    search_on(Engine& engine, const graph& g, const vertex_set& first)
        : words_((g.vertices() + 31) / 32),
          nodes_(engine.template make_reducer<dynpar::sum<number>>()),
          splits_(engine.template make_reducer<dynpar::sum<number>>()),
          first_(engine.template make_buffer<unsigned>(first_of(g))),
          neighbours_(engine.template make_buffer<vertex>(neighbours_of(g))),
          rows_(engine.template make_buffer<unsigned>(rows_of(g))),
          left_(engine.template make_buffer<edges_left>(edges_of(g))),
          first_cover_(bits_of(first, words_)),
          first_best_(static_cast<unsigned>(first.size())),
          cover_(engine.template make_buffer<unsigned>(words_)),
          stop_(engine.template make_buffer<unsigned>(1)),
          graph_(engine.template make_buffer<whole_graph>(
              {whole_graph{g.vertices(), words_, first_.data(), neighbours_.data(), rows_.data(), nodes_.view(),
                           splits_.view(), stop_.data()}})),
          problem_(engine.template make_buffer<problem>(1)),
          root_(engine.template make_buffer<subproblem>(
              {subproblem{graph_.data(), problem_.data(), left_.data(), nullptr, 0, none}})),
          shape_(visit::shape(g.vertices())) {
        prepare();
    }

    /// Before each run but the first.
    void prepare() {
        nodes_.reset();
        splits_.reset();
        stop_.fill(0);
        cover_.copy_from(first_cover_.data());
        const problem whole{first_best_, 0, cover_.data()};
        problem_.copy_from(&whole);
    }
    /// `engine.run(visit{}, shape(), root())`
    const dynpar::shape& shape() const { return shape_; }
    const subproblem* root() const { return root_.data(); }

    // After a run.
    vertex_set cover() const {
        vertex_set result;
        const std::vector<unsigned> bits = cover_.to_vector();
        for (unsigned v = 0; v < 32 * words_; ++v)
            if ((bits[v / 32] >> v % 32 & 1) != 0) result.push_back(v);
        return result;
    }
    number nodes() const { return nodes_.value(); }    ///< of the search tree
    number splits() const { return splits_.value(); }  ///< where a graph fell into two parts

private:
    static std::vector<unsigned> first_of(const graph& g) {
        std::vector<unsigned> first{0};
        for (const auto& of_one : g.neighbours) first.push_back(first.back() + static_cast<unsigned>(of_one.size()));
        return first;
    }
    static std::vector<vertex> neighbours_of(const graph& g) {
        std::vector<vertex> all;
        for (const auto& of_one : g.neighbours)
            for (const unsigned u : of_one) all.push_back(static_cast<vertex>(u));
        return all;
    }
    static std::vector<unsigned> rows_of(const graph& g) {
        const std::size_t words = (g.vertices() + 31) / 32;
        std::vector<unsigned> rows(words * g.vertices());
        for (unsigned v = 0; v < g.vertices(); ++v)
            for (const unsigned u : g.neighbours[v]) rows[v * words + u / 32] |= 1u << u % 32;
        return rows;
    }
    static std::vector<edges_left> edges_of(const graph& g) {
        std::vector<edges_left> all;
        for (const auto& of_one : g.neighbours) {
            edges_left e = static_cast<edges_left>(of_one.size()) << 16;
            for (const unsigned u : of_one) e ^= u;
            all.push_back(e);
        }
        return all;
    }
    static std::vector<unsigned> bits_of(const vertex_set& set, unsigned words) {
        std::vector<unsigned> bits(words);
        for (const unsigned v : set) bits[v / 32] |= 1u << v % 32;
        return bits;
    }

    unsigned words_;
    dynpar::reducer<dynpar::sum<number>> nodes_;
    dynpar::reducer<dynpar::sum<number>> splits_;
    dynpar::buffer<unsigned> first_;
    dynpar::buffer<vertex> neighbours_;
    dynpar::buffer<unsigned> rows_;
    dynpar::buffer<edges_left> left_;
    std::vector<unsigned> first_cover_;
    unsigned first_best_;
    dynpar::buffer<unsigned> cover_;
    dynpar::buffer<unsigned> stop_;
    dynpar::buffer<whole_graph> graph_;
    dynpar::buffer<problem> problem_;
    dynpar::buffer<subproblem> root_;
    dynpar::shape shape_;
};

}  // namespace vertex_cover
