#include "tests/check.hpp"

int main() {
    int failed = 0;
    for (auto const& test : tests()) {
        try {
            test.run();
        } catch (std::exception const& error) {
            std::printf("FAILED %s: %s\n", test.name, error.what());
            ++failed;
        }
    }
    std::printf("%d passed, %d failed\n", static_cast<int>(tests().size()) - failed, failed);
    return failed == 0 ? 0 : 1;
}
