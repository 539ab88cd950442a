// A registry is a list of small structs, each with a `name`. The four of them (losses, penalties, kernels,
// events) each live in one header that ends in such a list; validation, error texts and the contract tests
// read the list.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tallywise {

template <class... Entries>
struct Registry;

namespace detail {

template <class First, class... Rest>
struct Joined {
    using type = First;
};

template <class... A, class... B, class... Rest>
struct Joined<Registry<A...>, Registry<B...>, Rest...> : Joined<Registry<A..., B...>, Rest...> {};

}  // namespace detail

template <class... Entries>
struct Registry {
    // The entries that can do what a solver asks for: those with Fits<Entry>::value.
    template <template <class> class Fits>
    using where =
        typename detail::Joined<Registry<>,
                                std::conditional_t<Fits<Entries>::value, Registry<Entries>, Registry<>>...>::type;

    static std::vector<std::string> names() { return {std::string(Entries::name)...}; }

    // Calls f.template operator()<Entry>() for the entry called `name`; every call must return the same type.
    template <class F>
    static decltype(auto) visit(std::string_view what, std::string_view name, F&& f) {
        return find<F, Entries...>(what, name, f);
    }

  private:
    template <class F, class First, class... Rest>
    static decltype(auto) find(std::string_view what, std::string_view name, F& f) {
        if (name == First::name) return f.template operator()<First>();
        if constexpr (sizeof...(Rest) > 0) {
            return find<F, Rest...>(what, name, f);
        } else {
            std::string known;
            for (auto const& entry : names()) known += (known.empty() ? "'" : ", '") + entry + "'";
            throw std::invalid_argument("Unknown " + std::string(what) + " '" + std::string(name) +
                                        "'. Known: " + known + ".");
        }
    }
};

}  // namespace tallywise
