// What of HTML its reader sees: without style sheets, scripts, comments and elements that are hidden. Tags stay: where
// links lead and how a text is set says much. Linear time: what is opened and never closed is looked for once.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "core/spam/letters.hpp"

namespace tallywise::spam {

class VisibleText {
  public:
    VisibleText(std::string_view html, std::string& out, std::size_t most) : html_(html), out_(out), most_(most) {}

    void append() {
        while (place_ < html_.size() && out_.size() < most_) {
            auto const open = std::min(html_.find('<', place_), html_.size());
            put(html_.substr(place_, open - place_));
            place_ = open;
            if (place_ < html_.size()) tag();
        }
        if (out_.size() > most_) out_.resize(most_);
    }

  private:
    static constexpr std::array unseen = {std::string_view("style"), std::string_view("script")};
    static constexpr std::size_t longest_tag = 2000, longest_name = 20;

    void put(std::string_view text) { out_.append(text.substr(0, most_ - std::min(out_.size(), most_))); }

    void tag() {
        std::string_view const rest = html_.substr(place_);
        if (rest.starts_with("<!--") && skip_to("-->", comments_close_)) return;
        std::size_t const end = tag_end(rest);
        std::string_view const all = rest.substr(0, end), name = name_of(rest);
        for (std::size_t k = 0; k < unseen.size(); ++k) {
            if (name.size() == unseen[k].size() && begins(name, unseen[k])) {
                put(all);
                place_ += end;
                skip_to(k == 0 ? "</style" : "</script", unseen_close_[k]);
                return;
            }
        }
        put(all);
        place_ += end;
        if (!name.empty() && hidden_close_ && hides(all)) skip_element(name);
    }

    // Goes behind the next `mark`, letters of any case; false where there is none, and from then on.
    bool skip_to(std::string_view mark, bool& closes) {
        if (!closes) return false;
        for (std::size_t k = html_.find(mark[0], place_); k < html_.size(); k = html_.find(mark[0], k + 1)) {
            if (!begins(html_.substr(k), mark)) continue;
            place_ = k + mark.size();
            return true;
        }
        return closes = false;
    }

    std::size_t tag_end(std::string_view rest) const {
        auto const end = rest.substr(0, longest_tag).find('>');
        return end == std::string_view::npos ? 1 : end + 1;
    }

    static std::string_view name_of(std::string_view rest) {
        std::size_t k = 1;
        while (k < rest.size() && k <= longest_name && lowered(static_cast<unsigned char>(rest[k])) >= 'a' &&
               lowered(static_cast<unsigned char>(rest[k])) <= 'z') {
            ++k;
        }
        return rest.substr(1, k - 1);
    }

    // Whether the style of a tag hides what is inside.
    bool hides(std::string_view all) {
        if (all.size() < 20) return false;
        low_.clear();
        for (char const c : all) {
            if (c != ' ' && c != '\n' && c != '\t')
                low_.push_back(static_cast<char>(lowered(static_cast<unsigned char>(c))));
        }
        for (std::string_view const mark : {"display:none", "visibility:hidden", "font-size:0"}) {
            auto const found = low_.find(mark);
            if (found == std::string::npos) continue;
            char const next = found + mark.size() < low_.size() ? low_[found + mark.size()] : '\0';
            if (mark.back() != '0' || (next != '.' && (next < '0' || next > '9'))) return true;
        }
        return false;
    }

    // To the end of the element that was just opened, where it has one.
    void skip_element(std::string_view name) {
        std::size_t depth = 1;
        for (std::size_t k = html_.find('<', place_); k < html_.size(); k = html_.find('<', k + 1)) {
            bool const closes = k + 1 < html_.size() && html_[k + 1] == '/';
            std::string_view const other = name_of(html_.substr(k + (closes ? 1 : 0)));
            if (other.size() != name.size() || !begins(other, lower_name(name))) continue;
            depth += closes ? std::size_t(-1) : std::size_t(1);
            if (depth == 0) {
                place_ = k;
                return;
            }
        }
        hidden_close_ = false;
    }

    std::string_view lower_name(std::string_view name) {
        name_.assign(name);
        for (char& c : name_) c = static_cast<char>(lowered(static_cast<unsigned char>(c)));
        return name_;
    }

    std::string_view html_;
    std::string& out_;
    std::size_t most_, place_ = 0;
    bool comments_close_ = true, hidden_close_ = true;
    std::array<bool, 2> unseen_close_ = {true, true};
    std::string low_, name_;
};

}  // namespace tallywise::spam
