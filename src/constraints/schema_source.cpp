#include "constraints/schema_source.h"

#include "core/utf.h"

namespace wattn {
namespace {

// RFC 3986, 5.2, as far as schemas use it.
std::string joined(const std::string& base, std::string_view reference) {
  if (reference.find(':') != std::string_view::npos || base.empty()) return std::string(reference);
  if (reference.empty()) return base;
  const std::size_t authority = base.find("://");
  const std::size_t path = authority == std::string::npos ? std::string::npos : base.find('/', authority + 3);
  if (reference.starts_with("/"))
    return authority == std::string::npos ? std::string(reference) : base.substr(0, path) + std::string(reference);
  const std::size_t last = base.rfind('/');
  std::string out =
      last == std::string::npos || (authority != std::string::npos && last < authority + 3) ? base + "/" : base.substr(0, last + 1);
  while (reference.starts_with("./")) reference.remove_prefix(2);
  return out + std::string(reference);
}

std::string decoded(std::string_view fragment) {
  std::string out;
  for (std::size_t i = 0; i < fragment.size(); ++i) {
    const int high = fragment[i] == '%' && i + 2 < fragment.size() ? hex_digit(static_cast<unsigned char>(fragment[i + 1])) : -1;
    const int low = high < 0 ? -1 : hex_digit(static_cast<unsigned char>(fragment[i + 2]));
    if (low < 0)
      out += fragment[i];
    else {
      out += static_cast<char>(16 * high + low);
      i += 2;
    }
  }
  return out;
}

}  // namespace

std::string pointer_part(std::string_view key) {
  std::string out = "/";
  for (const char c : key) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

SchemaSource::SchemaSource(JsonRef root) : root_(root) { collect(root, "", ""); }

void SchemaSource::collect(JsonRef value, const std::string& pointer, std::string base) {
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i) collect(value[i], pointer + "/" + std::to_string(i), base);
  if (!value.is_object()) return;
  const JsonRef id = value["$id"];
  if (id.is_string()) {
    const std::string_view own = id.as_string().value();
    if (own.starts_with("#"))
      places_.emplace(base + std::string(own), pointer);  // draft 7's anchors
    else {
      base = joined(base, own.substr(0, own.find('#')));
      bases_[pointer] = base;
      places_.emplace(base, pointer);
    }
  } else if (pointer.empty()) {
    bases_[pointer] = "";
    places_.emplace("", "");
  }
  for (const std::string_view name : {"$anchor", "$dynamicAnchor"}) {
    if (!value[name].is_string()) continue;
    const std::string anchor(value[name].as_string().value());
    places_.emplace(std::string(base).append("#").append(anchor), pointer);
    if (name == "$dynamicAnchor") {
      const auto [found, is_new] = dynamic_.emplace(anchor, pointer);
      if (!is_new) found->second = "?";
    }
  }
  for (const auto& [key, member] : value.members()) {
    if (key == "enum" || key == "const") continue;
    collect(member, pointer + pointer_part(key), base);
  }
}

std::string SchemaSource::base_of(const std::string& pointer) const {
  std::string at = pointer;
  for (;;) {
    if (const auto found = bases_.find(at); found != bases_.end()) return found->second;
    if (at.empty()) return "";
    at = at.substr(0, at.rfind('/'));
  }
}

JsonRef SchemaSource::at(std::string_view pointer) const {
  JsonRef out = root_;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::size_t end = pointer.find('/');
    std::string key;
    const std::string_view part = pointer.substr(0, end);
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i] == '~' && i + 1 < part.size())
        key += part[++i] == '0' ? '~' : '/';
      else
        key += part[i];
    }
    if (out.is_array()) {
      std::size_t index = 0;
      if (key.empty() || key.size() > 9 || key.find_first_not_of("0123456789") != std::string::npos) return {};
      for (const char c : key) index = 10 * index + static_cast<std::size_t>(c - '0');
      out = out[index];
    } else {
      out = out[key];
    }
    if (!out.exists()) return {};
    pointer = end == std::string_view::npos ? std::string_view() : pointer.substr(end);
  }
  return out;
}

bool SchemaSource::resolve(const std::string& pointer, std::string_view reference, std::string& found) const {
  const std::size_t hash = reference.find('#');
  std::string address = joined(base_of(pointer), reference.substr(0, hash));
  const std::string fragment = hash == std::string_view::npos ? std::string() : decoded(reference.substr(hash + 1));
  if (!fragment.empty() && fragment[0] != '/') address += "#" + fragment;
  const auto place = places_.find(address);
  if (place == places_.end()) return false;
  found = place->second + (fragment.starts_with("/") ? fragment : "");
  return at(found).exists();
}

bool SchemaSource::only_dynamic_anchor(std::string_view name, std::string& found) const {
  const auto place = dynamic_.find(std::string(name));
  if (place == dynamic_.end() || place->second == "?") return false;
  found = place->second;
  return true;
}

}  // namespace wattn
