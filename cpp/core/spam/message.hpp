// A raw message as the spam filter reads it: what leaks a label or belongs to the reader's own server is left out.
//
// The same message reaches a filter by many doors: with CR LF or LF, with or without an mbox line, before or after a
// server wrote its verdict into the header. Here it becomes one text: kept header lines, an empty line, the body. One
// pass, linear time, and no more than a fixed number of bytes kept whatever arrives.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/spam/encoded.hpp"
#include "core/spam/letters.hpp"

namespace tallywise::spam {

// Fields of other filters, by how their names begin; then those of the reader's own store, and dates (of Date, the zone
// stays). Message-ID stays: the sender's program writes it, and it says which program that was.
inline constexpr std::array left_out_prefixes = {
    std::string_view("x-spam"),
    std::string_view("x-ham-"),
    std::string_view("x-bogosity"),
    std::string_view("x-tally"),
    std::string_view("x-rspamd"),
    std::string_view("x-dspam"),
    std::string_view("x-crm114"),
    std::string_view("x-virus"),
    std::string_view("x-amavis"),
    std::string_view("x-antispam"),
    std::string_view("x-microsoft-antispam"),
    std::string_view("x-forefront"),
    std::string_view("x-ms-exchange-organization"),
    std::string_view("x-proofpoint"),
    std::string_view("x-ironport"),
    std::string_view("x-barracuda"),
    std::string_view("x-sa-"),
    std::string_view("x-pyzor"),
    std::string_view("x-razor"),
    std::string_view("x-mozilla"),
    std::string_view("x-imap"),
    std::string_view("x-evolution"),
    std::string_view("x-gm"),
    std::string_view("arc-"),
};
inline constexpr std::array left_out_names = {
    std::string_view("status"),        std::string_view("x-status"),       std::string_view("x-keywords"),
    std::string_view("x-uid"),         std::string_view("x-uidl"),         std::string_view("x-folder"),
    std::string_view("x-label"),       std::string_view("content-length"), std::string_view("lines"),
    std::string_view("delivery-date"), std::string_view("resent-date"),    std::string_view("x-original-date"),
    std::string_view("x-scanned-by"),
};

inline bool left_out(std::string_view name) {
    for (auto const prefix : left_out_prefixes) {
        if (name.starts_with(prefix)) return true;
    }
    return std::find(left_out_names.begin(), left_out_names.end(), name) != left_out_names.end();
}

// Fields by which copies of one message are recognised, whatever servers wrote around them.
inline constexpr std::array identifying_names = {
    std::string_view("from"),     std::string_view("to"),           std::string_view("cc"),
    std::string_view("subject"),  std::string_view("date"),         std::string_view("message-id"),
    std::string_view("reply-to"), std::string_view("content-type"), std::string_view("content-transfer-encoding"),
};

// What one pass over a message visits. `field(name, lines)` has the lower-case name and the whole field with its
// continuation lines; `body(rest)` comes last. A line that is no field begins the body, as mail readers have it.
template <class Field, class Body>
void walk(std::string_view raw, Field&& field, Body&& body) {
    constexpr std::size_t longest_name = 100;
    std::size_t place = 0;
    auto const line_end = [&](std::size_t from) {
        auto const end = raw.find('\n', from);
        return end == std::string_view::npos ? raw.size() : end + 1;
    };
    if (raw.starts_with("From ") || raw.starts_with(">From ")) place = line_end(0);
    std::string name;
    while (place < raw.size()) {
        if (raw[place] == '\n') return body(raw.substr(place + 1));
        if (raw[place] == '\r' && place + 1 < raw.size() && raw[place + 1] == '\n') return body(raw.substr(place + 2));
        std::size_t end = line_end(place);
        name.clear();
        std::size_t colon = place;
        while (colon < end && colon - place <= longest_name && static_cast<unsigned char>(raw[colon]) > ' ' &&
               raw[colon] != ':') {
            name.push_back(static_cast<char>(lowered(static_cast<unsigned char>(raw[colon]))));
            ++colon;
        }
        while (colon < end && (raw[colon] == ' ' || raw[colon] == '\t')) ++colon;
        if (name.empty() || colon == end || raw[colon] != ':') return body(raw.substr(place));
        while (end < raw.size() && (raw[end] == ' ' || raw[end] == '\t')) end = line_end(end);
        field(std::string_view(name), raw.substr(place, end - place));
        place = end;
    }
    body(std::string_view());
}

// Appends `part` without the CR of CR LF, until `out` has `most` bytes.
inline void append_lines(std::string& out, std::string_view part, std::size_t most) {
    while (!part.empty() && out.size() < most) {
        auto const end = part.find('\r');
        std::size_t const plain = std::min(end == std::string_view::npos ? part.size() : end, most - out.size());
        out.append(part.substr(0, plain));
        part.remove_prefix(plain);
        if (part.empty() || part[0] != '\r' || out.size() == most) continue;
        if (part.size() == 1 || part[1] != '\n') out.push_back('\r');
        part.remove_prefix(1);
    }
}

// The id of the server that wrote an Authentication-Results field: its first word.
inline std::string_view server_of(std::string_view lines) {
    auto const colon = lines.find(':');
    auto const start = lines.find_first_not_of(" \t\r\n", colon + 1);
    if (start == std::string_view::npos) return {};
    return lines.substr(start, lines.find_first_of(" \t\r\n;", start) - start);
}

// The end of a Date field: its zone, "+0200 (CEST)" or "GMT", in whatever manner the sender writes it.
inline std::string_view zone_of(std::string_view lines) {
    auto const second = lines.rfind(':');
    auto const space = lines.find_first_of(" \t", second == std::string_view::npos ? 0 : second);
    return space == std::string_view::npos ? std::string_view("\n") : lines.substr(space + 1);
}

struct CleanMessage {
    static constexpr std::size_t most_header = 4000, most_body = 16000;
    std::string header;              // kept fields, LF only
    std::string body;                // its beginning, LF only
    std::string decoded;             // what of it is text in base64
    std::vector<std::string> order;  // names of the kept fields
};

inline CleanMessage clean(std::string_view raw, std::vector<std::string> const& trusted = {}) {
    CleanMessage message;
    PartHead head;
    walk(
        raw,
        [&](std::string_view name, std::string_view lines) {
            head.field(lines);
            if (message.header.size() >= CleanMessage::most_header || left_out(name)) return;
            if (name == "authentication-results" &&
                std::find(trusted.begin(), trusted.end(), server_of(lines)) == trusted.end()) {
                return;
            }
            message.order.emplace_back(name);
            if (name == "date") {
                append_lines(message.header, "Date: ", CleanMessage::most_header);
                lines = zone_of(lines);
            }
            append_lines(message.header, lines, CleanMessage::most_header);
        },
        [&](std::string_view body) { append_lines(message.body, body, CleanMessage::most_body); });
    message.decoded = text_in_base64(message.body, head);
    return message;
}

// What makes two copies one message: the identifying fields and the body, LF only, space at the end left out. Its
// digest is the key of the journal.
inline std::string identity(std::string_view raw) {
    constexpr auto most = std::numeric_limits<std::size_t>::max();
    std::string out;
    walk(
        raw,
        [&](std::string_view name, std::string_view lines) {
            if (std::find(identifying_names.begin(), identifying_names.end(), name) != identifying_names.end()) {
                append_lines(out, lines, most);
            }
        },
        [&](std::string_view body) {
            out.push_back('\n');
            append_lines(out, body, most);
        });
    auto const last = out.find_last_not_of(" \t\r\n");
    out.resize(last == std::string::npos ? 0 : last + 1);
    return out;
}

}  // namespace tallywise::spam
