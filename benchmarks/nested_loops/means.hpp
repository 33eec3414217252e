// What the rows of the table come to: how the queue engine compares with others, over all works.
#pragma once

#include <vector>

#include "../queue_engine/table.hpp"

namespace nested_benchmark {

/// Prints for each work the best form of the queue engine, of plain CDP2 and by hand, how many times as long the others
/// take, and the geometric means of that. Of the queue engine's forms only those count that choose no option and go the
/// way that the others go. A work that one of them has no right row for is
/// not in its mean.
void print_means(const std::vector<queue_benchmark::row>& rows);

}  // namespace nested_benchmark
