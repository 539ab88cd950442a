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
#include <utility>
#include <vector>

#include "core/spam/encoded.hpp"
#include "core/spam/identifiers.hpp"
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

// Fields of signatures and of transport, by how their names begin: that they are there is read, what they say is not.
inline constexpr std::array opaque_prefixes = {
    std::string_view("dkim-"),        std::string_view("domainkey-"), std::string_view("x-google-"),
    std::string_view("x-ms-"),        std::string_view("x-received"), std::string_view("x-microsoft-"),
    std::string_view("x-forwarded-"), std::string_view("x-sg-"),      std::string_view("received-spf"),
    std::string_view("x-ses-"),       std::string_view("x-mailgun-"),
};

template <class Prefixes>
bool begins_with_any(std::string_view name, Prefixes const& prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(), [&](auto prefix) { return name.starts_with(prefix); });
}

inline bool left_out(std::string_view name) {
    return begins_with_any(name, left_out_prefixes) ||
           std::find(left_out_names.begin(), left_out_names.end(), name) != left_out_names.end();
}

// Fields by which copies of one message are recognised, whatever servers wrote around them.
inline constexpr std::array identifying_names = {
    std::string_view("from"),     std::string_view("to"),           std::string_view("cc"),
    std::string_view("subject"),  std::string_view("date"),         std::string_view("message-id"),
    std::string_view("reply-to"), std::string_view("content-type"), std::string_view("content-transfer-encoding"),
};

// Whether a text begins with a line by which an mbox parts messages; "From : a@x.example" is a field.
inline bool parts_messages(std::string_view text) {
    if (text.starts_with(">From ")) return true;
    if (!text.starts_with("From ")) return false;
    auto const next = text.find_first_not_of(" \t", 5);
    return next == std::string_view::npos || text[next] != ':';
}

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
    while (parts_messages(raw.substr(place))) place = line_end(place);
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
    // Today's headers have 4 to 15 KB, most of them Received and what is opaque; 2,000 bytes of Received are some eight
    // servers. More than 500 fields are written to fill memory.
    static constexpr std::size_t most_header = 16000, most_received = 2000, most_fields = 500, most_body = 16000;
    struct Field {
        std::size_t order;        // of its name
        std::size_t start, size;  // in the header
    };
    std::string header;              // kept fields that are read, LF only, Received behind all others
    std::string body;                // its beginning as a reader sees it, LF only
    std::vector<std::string> order;  // names of the kept fields
    std::vector<Field> fields;       // those that are read
};

// The header of a message as its fields come.
class HeaderReader {
  public:
    HeaderReader(CleanMessage& message, std::vector<std::string> const& trusted)
        : message_(message), trusted_(trusted) {}

    void field(std::string_view name, std::string_view lines) {
        if (message_.order.size() >= CleanMessage::most_fields || left_out(name)) return;
        if (name == "authentication-results" &&
            std::find(trusted_.begin(), trusted_.end(), server_of(lines)) == trusted_.end()) {
            return;
        }
        message_.order.emplace_back(name);
        if (begins_with_any(name, opaque_prefixes)) return;
        if (name == "received") {
            received_.emplace_back(message_.order.size() - 1, lines);
        } else {
            take(message_.order.size() - 1, lines, CleanMessage::most_header);
        }
    }

    // Received comes last, from both ends in turn: servers of the reader's write the first, who sends may forge the
    // last.
    void finish() {
        std::size_t const most =
            std::min(message_.header.size() + CleanMessage::most_received, CleanMessage::most_header);
        std::size_t first = 0, last = received_.size();
        for (bool at_first = true; first < last; at_first = !at_first) {
            auto const& [order, lines] = at_first ? received_[first++] : received_[--last];
            take(order, lines, most);
        }
    }

  private:
    void take(std::size_t order, std::string_view lines, std::size_t most) {
        std::size_t const start = message_.header.size();
        if (start >= most) return;
        std::string_view const name = message_.order[order];
        if (name == "subject") {
            append_lines(message_.header, lines, most);
        } else if (name == "date") {
            append_lines(message_.header, "Date: ", most);
            append_lines(message_.header, zone_of(lines), most);
        } else {
            append_without_identifiers(message_.header, lines, most);
        }
        message_.fields.push_back({order, start, message_.header.size() - start});
    }

    CleanMessage& message_;
    std::vector<std::string> const& trusted_;
    std::vector<std::pair<std::size_t, std::string_view>> received_;
};

inline CleanMessage clean(std::string_view raw, std::vector<std::string> const& trusted = {}) {
    CleanMessage message;
    HeaderReader header(message, trusted);
    BodyReader body(message.body, CleanMessage::most_body);
    walk(
        raw,
        [&](std::string_view name, std::string_view lines) {
            if (name.starts_with("content-")) body.head_line(lines);
            header.field(name, lines);
        },
        [&](std::string_view lines) { body.read(lines); });
    header.finish();
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
