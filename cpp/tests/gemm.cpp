#include "core/base/gemm.hpp"

#include <cmath>

#include "tests/check.hpp"

using namespace tallywise;

template <class T>
static void compare_with_the_definition(std::size_t m, std::size_t n, std::size_t k, double tolerance) {
    std::vector<T> A(m * k), B(n * k), C(m * (n + 3), T(-7));
    for (std::size_t i = 0; i < A.size(); ++i) A[i] = static_cast<T>(std::sin(static_cast<double>(i)));
    for (std::size_t i = 0; i < B.size(); ++i) B[i] = static_cast<T>(std::cos(static_cast<double>(i)));
    PackedRows<T> const packed(B.data(), k, n, k);
    std::size_t const begin = n > packed.panel ? packed.panel : 0;
    multiply(A.data(), k, m, packed, begin, n, C.data(), n + 3);
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = begin; j < n; ++j) {
            double sum = 0;
            for (std::size_t l = 0; l < k; ++l)
                sum += static_cast<double>(A[i * k + l]) * static_cast<double>(B[j * k + l]);
            CHECK(std::abs(static_cast<double>(C[i * (n + 3) + j - begin]) - sum) <= tolerance * (1.0 + std::abs(sum)));
        }
        CHECK(C[i * (n + 3) + (n - begin)] == T(-7));
    }
}

TEST(products_match_the_definition_for_every_remainder) {
    for (std::size_t m : {1, 2, 3, 4, 5, 6, 7, 100}) {
        for (std::size_t n : {1, 7, 8, 16, 17, 40}) {
            for (std::size_t k : {0, 1, 5, 384, 385, 800}) {
                compare_with_the_definition<double>(m, n, k, 1e-12);
                compare_with_the_definition<float>(m, n, k, 2e-4);
            }
        }
    }
}
