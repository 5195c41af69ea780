// What stands on a command line, as values. `command` and `option` name the culprit in a fault.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tellegen {

struct OptionName {
  std::string_view command, option;  // "tellegen simulate", "--stop"
};

// "5s", "1 ms", "0.1": a positive time in seconds.
double read_seconds(const OptionName& name, const std::string& text);
// "1500rpm", "157": a positive speed in rad/s.
double read_speed(const OptionName& name, const std::string& text);

// "4s:5s", "4s:", ":5s": a part of a record.
std::pair<std::optional<double>, std::optional<double>> read_window(const OptionName& name,
                                                                    const std::string& text);

// For CLI11's check(): what is wrong with a number that must be positive, or nothing.
std::string not_positive(const std::string& text);
std::string not_positive_count(const std::string& text);

// Throws unless `value` is empty (not given) or one of `known`.
void check_choice(const OptionName& name, const std::string& value, const std::vector<std::string>& known);

// "R1=2ohm" -> R1, 2ohm
std::pair<std::string, std::string> read_assignment(const OptionName& name, const std::string& text);

// "n3.v, max(a, b)*2" -> n3.v and max(a, b)*2: cut at commas that stand outside parentheses and brackets.
std::vector<std::string> split_list(const std::string& text);

// Before a long run: the name ends in one of these, and a file can be made there.
void check_writable(const OptionName& name, const std::filesystem::path& path,
                    const std::vector<std::string>& extensions);

// A device or a pipe: written as it is, never replaced.
bool is_stream(const std::filesystem::path& path);

}  // namespace tellegen
