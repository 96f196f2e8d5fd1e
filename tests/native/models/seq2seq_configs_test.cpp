// Configs of public encoder-decoders, reduced to the relevant keys: supported, or rejected with the reason.
#include <gtest/gtest.h>

#include <cmath>

#include "core/json.h"
#include "models/arch.h"

namespace wattn {
namespace {

struct PublicConfig {
  const char* name;
  const char* config;
  std::int64_t width = 0;         // of the decoder's queries; 0: rejected
  const char* refusal = nullptr;  // part of the message
};

#define T5_SIZES \
  R"("vocab_size":32128,"d_model":512,"d_kv":64,"layer_norm_epsilon":1e-06,"relative_attention_num_buckets":32,"n_positions":512,)"
#define HALVES                                                                                                               \
  R"("encoder_layers":6,"decoder_layers":6,"encoder_attention_heads":8,"decoder_attention_heads":8,"encoder_ffn_dim":2048,)" \
  R"("decoder_ffn_dim":2048,"d_model":512,)"

const PublicConfig kConfigs[] = {
    {"t5-small", R"({"model_type":"t5","d_ff":2048,"num_heads":8,"num_layers":6,)" T5_SIZES R"("is_encoder_decoder":true})", 512},
    {"flan-t5-small",
     R"({"model_type":"t5","d_ff":1024,"num_heads":6,"num_layers":8,"num_decoder_layers":8,"feed_forward_proj":"gated-gelu",
      "relative_attention_max_distance":128,"tie_word_embeddings":false,"is_gated_act":true,"dense_act_fn":"gelu_new",)" T5_SIZES
     R"("is_encoder_decoder":true})",
     384},
    {"t5 without heads", R"({"model_type":"t5","d_ff":2048,"num_layers":6,"num_heads":0,)" T5_SIZES R"("is_encoder_decoder":true})",
     0, "num_heads"},
    {"t5 quantised",
     R"({"model_type":"t5","d_ff":2048,"num_heads":8,"num_layers":6,)" T5_SIZES R"("quantization_config":{"bits":4}})", 0,
     "quantization_config"},
    {"bart-base",
     R"({"model_type":"bart","activation_function":"gelu","add_final_layer_norm":false,"add_bias_logits":false,"normalize_before":false,
      "normalize_embedding":true,"static_position_embeddings":false,"max_position_embeddings":1024,"scale_embedding":false,)" HALVES
     R"("vocab_size":50265,"forced_eos_token_id":2})",
     512},
    {"opus-mt-en-de",
     R"({"model_type":"marian","activation_function":"swish","add_final_layer_norm":false,"add_bias_logits":false,
      "normalize_before":false,"normalize_embedding":false,"static_position_embeddings":true,"max_position_embeddings":512,
      "share_encoder_decoder_embeddings":true,"decoder_vocab_size":58101,"scale_embedding":true,)" HALVES R"("vocab_size":58101})",
     512},
    {"opus-mt-tc-big with two vocabularies",
     R"({"model_type":"marian","activation_function":"relu","max_position_embeddings":1024,"share_encoder_decoder_embeddings":false,
      "scale_embedding":true,)" HALVES R"("vocab_size":32001})",
     0, "share_encoder_decoder_embeddings"},
    {"bart in an older form",
     R"({"model_type":"bart","activation_function":"gelu","max_position_embeddings":1024,"add_final_layer_norm":true,)" HALVES
     R"("vocab_size":50265})",
     0, "add_final_layer_norm"},
    {"mbart-large-cc25",
     R"({"model_type":"mbart","activation_function":"gelu","normalize_before":true,"add_final_layer_norm":true,)" HALVES
     R"("vocab_size":250027})",
     512},
    {"mbart with norms behind", R"({"model_type":"mbart","normalize_before":false})", 0, "normalize_before"},
    {"pegasus-xsum",
     R"({"model_type":"pegasus","activation_function":"relu","static_position_embeddings":true,)" HALVES R"("vocab_size":96103})",
     512},
    {"mt5-small",
     R"({"model_type":"mt5","d_ff":1024,"num_heads":6,"num_layers":8,"tie_word_embeddings":false,)" T5_SIZES
     R"("feed_forward_proj":"gated-gelu"})",
     384},
    {"t5 with an activation of its own", R"({"model_type":"t5","feed_forward_proj":"gated-xielu"})", 0,
     "feed_forward_proj: expected one of \"gelu\""},
    {"m2m100_418M", R"({"model_type":"m2m_100","activation_function":"relu",)" HALVES R"("vocab_size":128112})", 512},
    {"nllb-200-distilled-600M",
     R"({"model_type":"m2m_100","activation_function":"relu","scale_embedding":true,"max_length":200,)" HALVES
     R"("vocab_size":256206})",
     512},
    {"led-base-16384",
     R"({"model_type":"led","activation_function":"gelu","attention_window":[1024,1024,1024,1024,1024,1024],)" HALVES
     R"("max_encoder_position_embeddings":16384,"max_decoder_position_embeddings":1024,"vocab_size":50265})",
     512},
    {"an LED with odd windows", R"({"model_type":"led","attention_window":255,)" HALVES R"("vocab_size":50265})", 0,
     "attention_window"},
    {"umt5-small", R"({"model_type":"umt5","d_ff":1024,"num_heads":6,"num_layers":8,)" T5_SIZES R"("tie_word_embeddings":false})",
     384},
};

Result<ModelConfig> parse(JsonRef config) {
  const auto arch = find_arch(config);
  if (!arch.ok()) return arch.error();
  return parse_model_config(*arch.value(), config);
}

TEST(PublicSeq2SeqConfigs, AreSupportedOrRejectedByName) {
  for (const PublicConfig& one : kConfigs) {
    const auto json = read_config_json(one.config);
    const auto got = json.ok() ? parse(json.value().root()) : Result<ModelConfig>(json.error());
    EXPECT_EQ(got.ok(), one.width > 0) << one.name << ": " << (got.ok() ? "" : got.error().message);
    if (got.ok()) {
      ASSERT_TRUE(got.value().decoder.has_value());
      EXPECT_FALSE(got.value().transformer.causal);
      EXPECT_TRUE(got.value().decoder->causal && got.value().decoder->cross_attention && got.value().decoder->lm_head);
      EXPECT_EQ(got.value().transformer.hidden_size, got.value().decoder->hidden_size);
      EXPECT_EQ(got.value().decoder->query_width(), one.width) << one.name;
    } else if (one.refusal) {
      EXPECT_NE(got.error().message.find(one.refusal), std::string::npos) << got.error().message;
    }
  }
}

// transformers 5 saves every T5 with tie_word_embeddings; scale_decoder_outputs distinguishes T5 1.1 from T5.
TEST(PublicSeq2SeqConfigs, DecideWhetherTheHeadOfT5IsScaledAndUntied) {
  const auto decoder = [](const std::string& rest) {
    const std::string text = R"({"model_type":"t5","d_ff":2048,"num_heads":8,"num_layers":6,)" T5_SIZES + rest + "}";
    const auto json = Json::parse(text, "config.json");
    return *parse(json.value().root()).value().decoder;
  };
  const float scale = 1 / std::sqrt(512.0f);
  for (const char* scaled : {R"("tie_word_embeddings":true)", R"("is_encoder_decoder":true)",
                             R"("tie_word_embeddings":true,"scale_decoder_outputs":true)"}) {
    EXPECT_EQ(decoder(scaled).lm_head_scale, scale) << scaled;
    EXPECT_TRUE(decoder(scaled).tie_word_embeddings) << scaled;
  }
  for (const char* own : {R"("tie_word_embeddings":false)", R"("tie_word_embeddings":true,"scale_decoder_outputs":false)"}) {
    EXPECT_EQ(decoder(own).lm_head_scale, 1.0f) << own;
    EXPECT_FALSE(decoder(own).tie_word_embeddings) << own;
  }
}

}  // namespace
}  // namespace wattn
