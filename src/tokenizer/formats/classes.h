// Which tokenizer class of transformers (5.24) reads a folder, and what each class makes of a vocabulary, as data.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/json.h"
#include "core/result.h"

namespace wattn {

enum class ClassKind : std::uint8_t { kWordPiece, kBpe, kUnigram, kSlow };

struct ClassRules {
  std::string_view name;
  std::string_view aliases;      // other names of the class
  std::string_view model_types;  // those of config.json that mean this class
  ClassKind kind;
  std::string_view file;  // has the vocabulary where there is no tokenizer.json
  // Lists of letters, in the order in which a text passes the stages: class_stages.cpp has their meanings.
  std::string_view normalizer, pre_tokenizer, decoder;
  // Templates of one text and of two, of roles and texts ("cls $A sep"); empty: that of tokenizer.json stays. A '?' before it: that
  // of tokenizer.json stays if there is one.
  std::string_view single, pair;
  // bos eos unk sep pad cls mask; "-": none. '^' before a token: with lstrip, where it is a string; '*': normalized, too.
  std::string_view tokens;
  bool is_left = false;  // pads on the left
};

// What reads a folder.
struct TokenizerClass {
  const ClassRules* rules = nullptr;  // null: tokenizer.json is read as it is
  std::string name;                   // empty: none is named, and none follows from model_type
  std::string from;                   // "tokenizer_config.json: tokenizer_class", ...
};

struct ClassQuestion {
  JsonRef settings;            // tokenizer_config.json, or absent
  JsonRef config;              // config.json, or absent
  bool has_file = false;       // a tokenizer.json
  bool is_byte_level = false;  // that tokenizer.json has a ByteLevel pre-tokenizer or decoder
};

// An UnsupportedError names a class whose rules are code that is not here.
Result<TokenizerClass> find_class(const ClassQuestion& folder);

const ClassRules* rules_named(std::string_view name);

}  // namespace wattn
