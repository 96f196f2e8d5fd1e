// Seconds to train a tokenizer: bench_train DESCRIPTION.json CORPUS [OUT.json]. The corpus has one text per line;
// tokenizer/training.h defines the description. tools/check_trainers.py compares OUT.json with the reference's.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "core/json.h"
#include "core/utf.h"
#include "tokenizer/training.h"

namespace {

using namespace wattn;

std::string read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: bench_train DESCRIPTION.json CORPUS [OUT.json]\n"), 2;
  const Result<Json> json = Json::parse(read_file(argv[1]), argv[1]);
  if (!json.ok()) return fail(json.error());
  Result<Training> training = Training::from_json(json.value().root());
  if (!training.ok()) return fail(training.error());
  const std::string corpus = read_file(argv[2]);
  const double begin = now();
  for (std::size_t at = 0; at < corpus.size();) {
    const std::size_t end = std::min(corpus.find('\n', at), corpus.size());
    const Result<void> fed = training.value().feed(to_utf16(std::string_view(corpus).substr(at, end - at)));
    if (!fed.ok()) return fail(fed.error());
    at = end + 1;
  }
  const double fed = now();
  double longest = 0;
  for (double last = now();;) {
    const bool more = training.value().step();
    longest = std::max(longest, now() - last);
    last = now();
    if (!more) break;
  }
  const Result<std::string> result = training.value().result();
  if (!result.ok()) return fail(result.error());
  std::printf("feed %.3f s, train %.3f s (longest step %.3f s), %u words, %zu bytes\n", fed - begin, now() - fed, longest,
              training.value().num_words(), result.value().size());
  if (argc > 3) std::ofstream(argv[3], std::ios::binary) << result.value();
  return 0;
}
