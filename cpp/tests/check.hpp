// A test is a function registered by TEST; CHECK says where and what failed. Enough for a program that exists
// to run the core under sanitizers; the laws themselves are tested from Python.
#pragma once

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

struct Test {
    char const* name;
    void (*run)();
};

inline std::vector<Test>& tests() {
    static std::vector<Test> all;
    return all;
}

struct Register {
    Register(char const* name, void (*run)()) { tests().push_back({name, run}); }
};

#define TEST(name)                                       \
    static void name();                                  \
    static Register const register_##name(#name, &name); \
    static void name()

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            throw std::runtime_error(std::string(__FILE__ ":") + std::to_string(__LINE__) + " " #condition); \
    } while (false)

#define CHECK_THROWS(expression, text)                                                      \
    do {                                                                                    \
        std::string said = "nothing";                                                       \
        try {                                                                               \
            expression;                                                                     \
        } catch (std::exception const& error) {                                             \
            said = error.what();                                                            \
        }                                                                                   \
        if (said.find(text) == std::string::npos)                                           \
            throw std::runtime_error(std::string(__FILE__ ":") + std::to_string(__LINE__) + \
                                     " expected '" text "', got '" + said + "'");           \
    } while (false)
