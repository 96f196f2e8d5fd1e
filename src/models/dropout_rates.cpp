#include "models/dropout_rates.h"

#include <initializer_list>

namespace wattn {
namespace {

using R = DropoutRates;

// Names of rates in config.json, each with the places where transformers applies it. Later ones override earlier ones.
struct RateName {
  const char* key;
  std::initializer_list<float R::*> rates;
  const char* only_with = nullptr;  // another key, which only the config.json of architectures like this one has
};
const RateName kNames[] = {
    // BERT and its kin
    {"hidden_dropout_prob", {&R::embeddings, &R::attention, &R::feed_forward, &R::head}},
    {"attention_probs_dropout_prob", {&R::probabilities}},
    {"classifier_dropout_prob", {&R::head}},
    // DistilBERT, and with attention BART
    {"dropout", {&R::embeddings, &R::feed_forward}},
    {"dropout", {&R::attention}, "activation_dropout"},
    {"activation_dropout", {&R::activation}},
    {"seq_classif_dropout", {&R::head}},
    // Llama and its kin, DistilBERT, BART, and with the output ModernBERT
    {"attention_dropout", {&R::probabilities}},
    {"attention_dropout", {&R::attention}, "mlp_dropout"},
    // GPT-2
    {"embd_pdrop", {&R::embeddings}},
    {"attn_pdrop", {&R::probabilities}},
    {"resid_pdrop", {&R::attention, &R::feed_forward}},
    // T5
    {"dropout_rate", {&R::embeddings, &R::probabilities, &R::attention, &R::activation, &R::feed_forward, &R::output}},
    // ModernBERT
    {"embedding_dropout", {&R::embeddings}},
    {"mlp_dropout", {&R::activation}},
    // Heads with their own rate
    {"classifier_dropout", {&R::head}},
};

}  // namespace

DropoutRates read_dropout_rates(JsonRef config) {
  DropoutRates out;
  for (const auto& [key, rates, only_with] : kNames) {
    if (only_with && !config[only_with].exists()) continue;
    const auto rate = config[key].as_number();
    if (!rate.ok() || rate.value() < 0 || rate.value() >= 1) continue;
    for (const auto member : rates) out.*member = static_cast<float>(rate.value());
  }
  return out;
}

}  // namespace wattn
