// The words and options of a section of core/wire.def. #define WIRE_OF_MODEL (or another section) and include this file inside
// namespace wattn, after the headers that define its types. It has no include guard, as different files include different
// sections.
#define WIRE_ENUM(Name) \
  template <>           \
  struct Words<Name> {  \
    using enum Name;    \
    static constexpr Word all[] = {
#define WIRE_WORD(enumerator, word) {word, static_cast<int>(enumerator)},
#define WIRE_ENUM_END \
  }                   \
  ;                   \
  }                   \
  ;
#define WIRE_OPTIONS(Name) inline void read_members(Members& read, Name& to) {
#define WIRE_OPTION(name, type, member) read(#name, to.member);
#define WIRE_MUST(name, type, member) read.must(#name, to.member);
#define WIRE_OPTIONS_END }
#include "core/wire.def"
