int run_kernels();

int main() { return run_kernels(); }
