// The block of the reference has the interface that the engines' own blocks have.
#include "../../docs/site/block.hpp"

static_assert(dynpar::detail::is_block<Block>(), "docs/site/block.hpp has not the whole interface of a block");
