void use();

int main(int arguments, char**) {
    if (arguments > 1) use();  // needs a GPU; the test is that it builds
}
