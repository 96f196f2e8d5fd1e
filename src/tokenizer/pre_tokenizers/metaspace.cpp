// Metaspace: replaces spaces with a visible character, which begins each word.
#include <string>

#include "core/utf.h"
#include "tokenizer/component.h"
#include "tokenizer/metaspace.h"
#include "tokenizer/pre_tokenizers/delimiter.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"

namespace wattn {
namespace {

class Metaspace : public PreTokenizer {
 public:
  explicit Metaspace(MetaspaceSettings settings) : settings_(settings) {}

  void pre_tokenize(PreTokenizedText& text) const override {
    const char32_t mark = settings_.replacement;
    for (const Split& split : text.splits) {
      if (split.token != Split::kNoToken) continue;
      for (std::uint32_t i = split.begin; i < split.end; ++i) {
        if (text.text.chars[i] == U' ') text.text.chars[i] = mark;
      }
    }
    if (settings_.prepend != PrependScheme::kNever) {
      const bool first_only = settings_.prepend == PrependScheme::kFirst;
      prepend_to_splits(text, std::u32string_view(&mark, 1), [&](const Split& split) {
        return text.text.chars[split.begin] != mark && (!first_only || text.text.spans[split.begin].begin == 0);
      });
    }
    if (settings_.split) split_at_chars(text, DelimiterBehavior::kMergedWithNext, [mark](char32_t c) { return c == mark; });
  }
  SpaceCuts space_cuts() const override { return settings_.split ? SpaceCuts::kDivide : SpaceCuts::kLocal; }

 private:
  MetaspaceSettings settings_;
};

}  // namespace

Result<MetaspaceSettings> read_metaspace_settings(JsonRef json) {
  Fields fields(json, {"replacement", "prepend_scheme", "add_prefix_space", "split", "str_rep"});
  MetaspaceSettings settings;
  settings.replacement = fields.character("replacement");
  settings.split = fields.boolean_or("split", true);
  const JsonRef scheme = fields["prepend_scheme"];
  const std::string_view name = scheme.exists() ? fields.string("prepend_scheme") : "always";
  if (name == "never") settings.prepend = PrependScheme::kNever;
  if (name == "first") settings.prepend = PrependScheme::kFirst;
  if (name == "always") settings.prepend = PrependScheme::kAlways;
  if (fields.ok() && name != "never" && name != "first" && name != "always") {
    fields.fail(unsupported_error(scheme.where() + ": unknown scheme \"" + std::string(name) + "\""));
  }
  // From old files, some of which have both fields. As in the reference, false requires the scheme "never".
  if (!fields.boolean_or("add_prefix_space", true) && settings.prepend != PrependScheme::kNever) {
    fields.fail(fields["add_prefix_space"].mismatch("true, or the prepend_scheme \"never\""));
  }
  if (!fields.ok()) return fields.error();
  return settings;
}

PreTokenizerResult read_metaspace(JsonRef json, int) {
  const Result<MetaspaceSettings> settings = read_metaspace_settings(json);
  if (!settings.ok()) return settings.error();
  return PreTokenizerResult(std::make_unique<Metaspace>(settings.value()));
}

}  // namespace wattn
