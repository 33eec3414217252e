#include "../halving.hpp"

int main() {
    dynpar::host_engine engine;
    return run_halving(engine);
}
