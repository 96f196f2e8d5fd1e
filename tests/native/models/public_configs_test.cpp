// Configs of public checkpoints, reduced to the relevant keys: supported, or rejected with the reason.
#include <gtest/gtest.h>

#include "core/json.h"
#include "models/arch.h"
#include "native/support/goldens.h"

namespace wattn {
namespace {

struct PublicConfig {
  const char* name;
  const char* config;
  std::int64_t tokens = 0;        // most tokens of a text; 0: rejected
  const char* refusal = nullptr;  // part of the message
};

#define USUAL                                                                                                         \
  R"("vocab_size":30522,"hidden_size":768,"num_hidden_layers":12,"num_attention_heads":12,"intermediate_size":3072,)" \
  R"("hidden_act":"gelu","layer_norm_eps":1e-12)"

const PublicConfig kConfigs[] = {
    {"bert-base-uncased", R"({"model_type":"bert","max_position_embeddings":512,"type_vocab_size":2,)" USUAL "}", 512},
    {"all-MiniLM-L6-v2",
     R"({"model_type":"bert","vocab_size":30522,"hidden_size":384,"num_hidden_layers":6,"num_attention_heads":12,
      "intermediate_size":1536,"hidden_act":"gelu","max_position_embeddings":512,"type_vocab_size":2,
      "position_embedding_type":"absolute","use_cache":true,"gradient_checkpointing":false})",
     512},
    {"bert with relative keys",
     R"({"model_type":"bert","max_position_embeddings":512,"type_vocab_size":2,"position_embedding_type":"relative_key_query",)" USUAL
     "}",
     0, "position_embedding_type"},
    {"bert as decoder", R"({"model_type":"bert","max_position_embeddings":512,"type_vocab_size":2,"is_decoder":true,)" USUAL "}", 0,
     "is_decoder"},
    {"bert quantised",
     R"({"model_type":"bert","max_position_embeddings":512,"type_vocab_size":2,"quantization_config":{"bits":4},)" USUAL "}", 0,
     "quantization_config"},
    {"distilbert-base-uncased",
     R"({"model_type":"distilbert","activation":"gelu","dim":768,"hidden_dim":3072,"max_position_embeddings":512,"n_heads":12,
      "n_layers":6,"vocab_size":30522,"sinusoidal_pos_embds":false,"tie_weights_":true})",
     512},
    {"roberta-base",
     R"({"model_type":"roberta","max_position_embeddings":514,"type_vocab_size":1,"pad_token_id":1,"bos_token_id":0,)" USUAL "}",
     512},
    {"bge-m3", R"({"model_type":"xlm-roberta","max_position_embeddings":8194,"type_vocab_size":1,"pad_token_id":1,)" USUAL "}",
     8192},
    {"jina-embeddings-v3",
     R"({"model_type":"xlm-roberta","max_position_embeddings":8194,"type_vocab_size":1,"position_embedding_type":"rotary",)" USUAL
     "}",
     8194},
    {"jina-reranker-v2",
     R"({"model_type":"xlm-roberta","max_position_embeddings":1026,"type_vocab_size":1,"position_embedding_type":"absolute",)"
     R"("use_flash_attn":true,"pad_token_id":1,)" USUAL "}",
     1024},
    {"nomic-embed-text-v2-moe",
     R"({"model_type":"nomic_bert","n_embd":768,"n_head":12,"n_inner":3072,"n_layer":12,"n_positions":2048,"vocab_size":250048,)"
     R"("activation_function":"gelu","layer_norm_epsilon":1e-5,"type_vocab_size":1,"rotary_emb_fraction":1.0,"num_experts":8,)"
     R"("moe_top_k":2,"moe_every_n_layers":2,"moe_normalize_expert_weights":false,"expert_choice_router":false,"ffn_div":1,)"
     R"("num_shared_experts":0,"qkv_proj_bias":true,"mlp_fc1_bias":true,"mlp_fc2_bias":true,"rotary_emb_base":10000})",
     2048},
    {"camembert-base", R"({"model_type":"camembert","max_position_embeddings":514,"type_vocab_size":1,"pad_token_id":1,)" USUAL "}",
     512},
    {"all-mpnet-base-v2",
     R"({"model_type":"mpnet","max_position_embeddings":514,"relative_attention_num_buckets":32,"pad_token_id":1,)" USUAL "}", 512},
    {"electra-small-discriminator",
     R"({"model_type":"electra","embedding_size":128,"hidden_act":"gelu","hidden_size":256,"intermediate_size":1024,
      "max_position_embeddings":512,"num_attention_heads":4,"num_hidden_layers":12,"type_vocab_size":2,"vocab_size":30522,
      "summary_type":"first"})",
     512},
    {"albert-base-v2",
     R"({"model_type":"albert","embedding_size":128,"hidden_act":"gelu_new","hidden_size":768,"inner_group_num":1,
      "intermediate_size":3072,"max_position_embeddings":512,"num_attention_heads":12,"num_hidden_groups":1,"num_hidden_layers":12,
      "type_vocab_size":2,"vocab_size":30000,"net_structure_type":0,"gap_size":0})",
     512},
    {"albert in two groups",
     R"({"model_type":"albert","num_hidden_groups":2,"embedding_size":128,"max_position_embeddings":512,)" USUAL "}", 512},
    {"albert with more groups than layers",
     R"({"model_type":"albert","num_hidden_groups":2000,"embedding_size":128,"max_position_embeddings":512,)" USUAL "}", 0,
     "num_hidden_groups"},
    {"deberta-v3-base",
     R"({"model_type":"deberta-v2","relative_attention":true,"position_buckets":256,"norm_rel_ebd":"layer_norm","share_att_key":true,
      "pos_att_type":"p2c|c2p","max_relative_positions":-1,"max_position_embeddings":512,"position_biased_input":false,
      "type_vocab_size":0,)" USUAL "}",
     512},
    {"deberta-v2-xlarge",
     R"({"model_type":"deberta-v2","attention_head_size":64,"conv_kernel_size":3,"conv_act":"gelu","relative_attention":true,
      "position_buckets":256,"norm_rel_ebd":"layer_norm","share_att_key":true,"pos_att_type":"p2c|c2p","max_position_embeddings":512,
      "position_biased_input":false,"type_vocab_size":0,)" USUAL "}",
     512},
    {"deberta-v2 with an even convolution",
     R"({"model_type":"deberta-v2","conv_kernel_size":4,"relative_attention":true,"share_att_key":true,"pos_att_type":"p2c|c2p",
      "max_position_embeddings":512,)" USUAL "}",
     0, "conv_kernel_size"},
    {"deberta-v2 with groups that do not divide",
     R"({"model_type":"deberta-v2","conv_kernel_size":3,"conv_groups":7,"relative_attention":true,"share_att_key":true,
      "pos_att_type":"p2c|c2p","max_position_embeddings":512,)" USUAL "}",
     0, "conv_groups"},
    {"deberta-base",
     R"({"model_type":"deberta","max_position_embeddings":512,"relative_attention":true,"pos_att_type":"c2p|p2c","max_relative_positions":-1,
      "position_biased_input":false,"type_vocab_size":0,)" USUAL "}",
     512},
    {"a deberta without distances", R"({"model_type":"deberta","max_position_embeddings":512,)" USUAL "}", 0, "relative_attention"},
    {"ModernBERT-base",
     R"({"model_type":"modernbert","attention_bias":false,"global_attn_every_n_layers":3,"global_rope_theta":160000.0,
      "hidden_activation":"gelu","hidden_size":768,"intermediate_size":1152,"local_attention":128,"local_rope_theta":10000.0,
      "max_position_embeddings":8192,"mlp_bias":false,"norm_bias":false,"norm_eps":1e-05,"num_attention_heads":12,
      "num_hidden_layers":22,"vocab_size":50368,"position_embedding_type":"absolute","reference_compile":null})",
     8192},
    {"ModernBERT stretched",
     R"({"model_type":"modernbert","hidden_activation":"gelu","rope_parameters":{"full_attention":{"rope_type":"yarn","factor":4}},
      "max_position_embeddings":8192,)" USUAL "}",
     0, "rope_type"},
    {"nomic-embed-text-v1.5",
     R"({"model_type":"nomic_bert","activation_function":"swiglu","causal":false,"layer_norm_epsilon":1e-12,"mlp_fc1_bias":false,
      "mlp_fc2_bias":false,"n_embd":768,"n_head":12,"n_inner":3072,"n_layer":12,"n_positions":8192,"parallel_block":false,
      "prenorm":false,"qkv_proj_bias":false,"rotary_emb_base":1000,"rotary_emb_fraction":1.0,"rotary_emb_interleaved":false,
      "rotary_emb_scale_base":null,"rotary_scaling_factor":null,"type_vocab_size":2,"use_rms_norm":false,"vocab_size":30528})",
     8192},
    {"nomic-embed-text-v1",
     R"({"model_type":"nomic_bert","activation_function":"swiglu","n_embd":768,"n_head":12,"n_inner":3072,"n_layer":12,
      "n_positions":8192,"rotary_emb_base":1000,"rotary_emb_fraction":1.0,"rotary_scaling_factor":2,"max_trained_positions":2048,
      "type_vocab_size":2,"vocab_size":30528})",
     2048},
    {"gte-base-en-v1.5",
     R"({"model_type":"new","pack_attention_bias":true,"max_position_embeddings":8192,"type_vocab_size":0,"layer_norm_type":"layer_norm",
      "position_embedding_type":"rope","rope_theta":500000,"rope_scaling":{"factor":2.0,"type":"ntk"},"pack_qkv":true,
      "logn_attention_scale":false,"unpad_inputs":false,"use_memory_efficient_attention":false,)" USUAL "}",
     8192},
    {"gte-multilingual-base",
     R"({"model_type":"new","max_position_embeddings":8192,"type_vocab_size":1,"position_embedding_type":"rope","rope_theta":20000,
      "rope_scaling":{"factor":8.0,"type":"ntk"},)" USUAL "}",
     8192},
    {"gte with another scaling",
     R"({"model_type":"new","max_position_embeddings":8192,"rope_scaling":{"factor":8.0,"type":"linear"},)" USUAL "}", 0,
     "rope_scaling.type"},
    {"jina-embeddings-v2-base-en",
     R"({"model_type":"bert","feed_forward_type":"geglu","emb_pooler":"mean","position_embedding_type":"alibi",
      "max_position_embeddings":8192,"type_vocab_size":2,)" USUAL "}",
     8192},
    {"jina with a plain feed-forward",
     R"({"model_type":"bert","feed_forward_type":"original","position_embedding_type":"alibi","max_position_embeddings":8192,)" USUAL
     "}",
     0, "feed_forward_type"},
    {"EuroBERT-210m",
     R"({"model_type":"eurobert","attention_bias":false,"clf_pooling":"late","head_dim":64,"hidden_act":"silu","hidden_size":768,
      "intermediate_size":3072,"is_decoder":false,"mask_token":"<|mask|>","max_position_embeddings":8192,"mlp_bias":false,
      "num_attention_heads":12,"num_hidden_layers":12,"num_key_value_heads":12,"pretraining_tp":1,"rms_norm_eps":1e-05,
      "rope_scaling":null,"rope_theta":250000,"tie_word_embeddings":false,"vocab_size":128256})",
     8192},
    {"EuroBERT with the first word for its pooling",
     R"({"model_type":"eurobert","clf_pooling":"mean","max_position_embeddings":8192,)" USUAL "}", 0, "clf_pooling"},
    {"longformer-base-4096",
     R"({"model_type":"longformer","attention_mode":"longformer","attention_probs_dropout_prob":0.1,
      "attention_window":[512,512,512,512,512,512,512,512,512,512,512,512],"bos_token_id":0,"eos_token_id":2,"gradient_checkpointing":false,
      "hidden_act":"gelu","hidden_dropout_prob":0.1,"hidden_size":768,"ignore_attention_mask":false,"initializer_range":0.02,
      "intermediate_size":3072,"layer_norm_eps":1e-05,"max_position_embeddings":4098,"num_attention_heads":12,"num_hidden_layers":12,
      "pad_token_id":1,"sep_token_id":2,"type_vocab_size":1,"vocab_size":50265})",
     4096},
    {"a Longformer with wider windows above",
     R"({"model_type":"longformer","max_position_embeddings":514,"attention_window":[64,128],)" USUAL "}", 0, "attention_window"},
    {"a Longformer with odd windows",
     R"({"model_type":"longformer","max_position_embeddings":514,"attention_window":63,)" USUAL "}", 0, "attention_window"},
    {"a Longformer with a negative separator",
     R"({"model_type":"longformer","max_position_embeddings":514,"sep_token_id":-1,)" USUAL "}", 0, "sep_token_id"},
    {"conv-bert-medium-small",
     R"({"attention_probs_dropout_prob":0.1,"bos_token_id":0,"conv_kernel_size":9,"embedding_size":128,"eos_token_id":2,
      "head_ratio":2,"hidden_act":"gelu","hidden_dropout_prob":0.1,"hidden_size":384,"initializer_range":0.02,
      "intermediate_size":1536,"layer_norm_eps":1e-12,"max_position_embeddings":512,"model_type":"convbert","num_attention_heads":8,
      "num_groups":2,"num_hidden_layers":12,"pad_token_id":0,"type_vocab_size":2,"vocab_size":30522})",
     512},
#define CONV R"({"model_type":"convbert","max_position_embeddings":512,)" USUAL
    {"a ConvBERT that reads an even number of tokens", CONV R"(,"conv_kernel_size":4})", 0, "conv_kernel_size"},
    {"a ConvBERT that reads too many tokens", CONV R"(,"conv_kernel_size":65})", 0, "conv_kernel_size"},
    {"a ConvBERT whose groups do not divide its matrices", CONV R"(,"num_groups":5})", 0, "num_groups"},
    {"a ConvBERT without heads", CONV R"(,"head_ratio":0})", 0, "head_ratio"},
#undef CONV
    {"a RoFormer whose values rotate", R"({"model_type":"roformer","rotary_value":true})", 0, "rotary_value"},
    {"xlnet-base-cased", R"({"model_type":"xlnet"})", 0, "model_type"},
    {"mobilebert-uncased",
     R"({"attention_probs_dropout_prob":0.1,"classifier_activation":false,"embedding_size":128,"hidden_act":"relu",
      "hidden_dropout_prob":0.0,"hidden_size":512,"initializer_range":0.02,"intermediate_size":512,"intra_bottleneck_size":128,
      "key_query_shared_bottleneck":true,"layer_norm_eps":1e-12,"max_position_embeddings":512,"model_type":"mobilebert",
      "normalization_type":"no_norm","num_attention_heads":4,"num_feedforward_networks":4,"num_hidden_layers":24,"pad_token_id":0,
      "trigram_input":true,"true_hidden_size":128,"type_vocab_size":2,"use_bottleneck":true,"use_bottleneck_attention":false,
      "vocab_size":30522})",
     512},
#define MOBILE R"({"model_type":"mobilebert","max_position_embeddings":512,)" USUAL
    {"a MobileBERT with more feed-forwards", MOBILE R"(,"num_feedforward_networks":5})", 0, "num_feedforward_networks"},
    {"a MobileBERT with another norm", MOBILE R"(,"normalization_type":"batch_norm"})", 0, "normalization_type"},
    {"a MobileBERT whose queries are wider than their matrix", MOBILE R"(,"key_query_shared_bottleneck":false})", 0, "hidden_size"},
    {"a MobileBERT whose heads do not divide its layers", MOBILE "}", 0, "num_attention_heads"},
    {"a MobileBERT of another size inside", MOBILE R"(,"true_hidden_size":512})", 0, "true_hidden_size"},
#undef MOBILE
    {"a sentence-transformers CLIP", R"({"architectures":["CLIPModel"]})", 0, "model_type"},
    {"unknown activation", R"({"model_type":"bert","max_position_embeddings":512,"type_vocab_size":2,"vocab_size":9,"hidden_size":8,
      "num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":8,"hidden_act":"xielu"})",
     0, "xielu"},
};

// A supported config with other members before its own (of a key given twice the last counts: these are then left out).
// What a config says about a stack, as a list of numbers.
std::vector<double> facts(const TransformerConfig& c) {
  std::vector<double> out;
  for (const auto number : {c.vocab_size, c.hidden_size, c.num_hidden_layers, c.num_attention_heads, c.kv_heads(), c.head_size(),
                            c.intermediate_size, c.max_position_embeddings, c.type_vocab_size, c.embedding_size, c.padding_idx,
                            c.local_window, c.t5.buckets, c.t5.max_distance, c.disentangled.buckets, c.disentangled.max_distance}) {
    out.push_back(static_cast<double>(number));
  }
  for (const double number : {static_cast<double>(c.norm_eps), static_cast<double>(c.embedding_scale), c.rope.theta,
                              c.local_rope_theta, static_cast<double>(c.lm_head_scale), static_cast<double>(c.hidden_act),
                              static_cast<double>(c.tie_word_embeddings), static_cast<double>(c.biases.qkv)}) {
    out.push_back(number);
  }
  for (const bool local : c.local_layers) out.push_back(local);
  return out;
}

// variants/defaults.json: transformers' configuration classes made of nothing.
TEST(PublicConfigs, MissingKeysHaveTheDefaultsOfTransformers) {
  const Json all = test::read_json("variants/defaults.json");
  const auto read = [](const std::string& text) {
    const auto json = read_config_json(text);
    EXPECT_TRUE(json.ok()) << text;
    const auto config = parse_model_config(*find_arch(json.value().root()).value(), json.value().root());
    EXPECT_TRUE(config.ok()) << text << ": " << config.error().message;
    std::vector<double> out = facts(config.value().transformer);
    const std::vector<double> decoder = config.value().decoder ? facts(*config.value().decoder) : std::vector<double>();
    out.insert(out.end(), decoder.begin(), decoder.end());
    return out;
  };
  EXPECT_GE(all.root().size(), 21u);
  for (const auto& [type, words] : all.root().members()) {
    // The class of this one has defaults that no checkpoint has.
    const std::string more =
        type.starts_with("deberta") ? R"(, "relative_attention": true, "share_att_key": true, "pos_att_type": "p2c|c2p")" : "";
    std::string whole = words.to_text();
    whole.pop_back();
    EXPECT_EQ(read("{\"model_type\": \"" + std::string(type) + "\"" + more + "}"), read(whole + more + "}")) << type;
  }
  EXPECT_FALSE(read_config_json(R"({"model_type": "nobody"})").ok());
  EXPECT_FALSE(read_config_json("{").ok());
}

TEST(PublicConfigs, ValuesThatCannotBeAreNamed) {
  const std::string deberta =
      R"("model_type":"deberta-v2","max_position_embeddings":512,"type_vocab_size":0,"norm_rel_ebd":"layer_norm",)" USUAL;
  const std::string relative = R"(,"relative_attention":true,"share_att_key":true)", ways = R"(,"pos_att_type":"p2c|c2p")";
  const std::string bert = R"("model_type":"bert","max_position_embeddings":512,"type_vocab_size":2,)";
  const std::string usual = R"("vocab_size":9,"hidden_size":8,"num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":8,
    "hidden_act":"gelu")";
  const std::string llama = R"("model_type":"llama","max_position_embeddings":64,"rms_norm_eps":1e-5,)";
  const std::string t5 = R"("model_type":"t5","d_model":8,"d_kv":4,"d_ff":8,"num_heads":2,"num_layers":1,"vocab_size":9)";
  const std::pair<std::string, const char*> rows[] = {
      {deberta + R"(,"share_att_key":true)" + ways, "relative_attention: expected true, found nothing"},
      {deberta + R"(,"relative_attention":true)" + ways, "share_att_key: expected true, found nothing"},
      {deberta + R"(,"relative_attention":false,"share_att_key":true)" + ways, "relative_attention: expected true, found false"},
      {deberta + relative, "pos_att_type: expected \"p2c|c2p\", found nothing"},
      {deberta + relative + R"(,"pos_att_type":"c2p")", "pos_att_type: expected"},
      {deberta + relative + R"(,"pos_att_type":["p2c"])", "pos_att_type: expected"},
      {deberta + relative + R"(,"pos_att_type":["p2c","c2p","p2p"])", "pos_att_type: expected"},
      {deberta + relative + R"(,"pos_att_type":["p2c",1])", "pos_att_type[1]: expected a string, found 1"},
      {deberta + relative + ways + R"(,"position_buckets":1)",
       "position_buckets: expected a whole number from 2 to 65536, found 1"},
      {deberta + relative + ways + R"(,"position_buckets":256,"max_relative_positions":128)",
       "position_buckets: expected less than twice the largest distance 128, found 256"},
      {R"("model_type":"deberta-v2","hidden_act":"gelu")", "vocab_size: expected an integer, found nothing"},
      {bert + usual + R"(,"layer_norm_eps":1)", "layer_norm_eps: expected a number from 0 to 1, found 1"},
      {bert + usual + R"(,"layer_norm_eps":-0.5)", "layer_norm_eps: expected a number from 0 to 1, found -0.5"},
      {R"("model_type":"roberta","max_position_embeddings":8,"pad_token_id":7,)" + usual,
       "pad_token_id: expected a row of the position table, before the last, found 7"},
      {R"("model_type":"roberta","max_position_embeddings":8,"pad_token_id":-1,)" + usual, "pad_token_id: expected"},
      {R"("model_type":"mpnet","max_position_embeddings":2,)" + usual,
       "max_position_embeddings: expected a whole number of at least 3, found 2"},
      {R"("model_type":"new","max_position_embeddings":64,"rope_scaling":{"factor":2.0},)" + usual, "rope_scaling.type: expected"},
      {llama + R"("num_key_value_heads":3,)" + usual, "num_key_value_heads: expected a divisor of num_attention_heads 2, found 3"},
      {llama + R"("logit_scale":0.5,)" + usual, "logit_scale"},
      {t5 + R"(,"relative_attention_num_buckets":6)", "relative_attention_num_buckets: expected a multiple of 4, found 6"},
      {t5 + R"(,"relative_attention_num_buckets":32,"relative_attention_max_distance":16)",
       "relative_attention_max_distance: expected more than half of relative_attention_num_buckets, found 16"},
  };
  for (const auto& [text, error] : rows) {
    const auto json = Json::parse("{" + text + "}", "config.json");
    ASSERT_TRUE(json.ok()) << json.error().message;
    const auto config = parse_model_config(*find_arch(json.value().root()).value(), json.value().root());
    ASSERT_FALSE(config.ok()) << text;
    EXPECT_NE(config.error().message.find(error), std::string::npos) << config.error().message << "\n  should name " << error;
  }
  const auto parsed = [](const std::string& text) {
    const auto json = Json::parse("{" + text + "}", "config.json");
    return parse_model_config(*find_arch(json.value().root()).value(), json.value().root()).value().transformer;
  };
  EXPECT_EQ(parsed(t5).t5.max_distance, 128);  // transformers' defaults
  EXPECT_EQ(parsed(t5).t5.buckets, 32);
  EXPECT_EQ(parsed(deberta + relative + ways).disentangled.max_distance, 512);
  EXPECT_EQ(parsed(deberta + relative + ways + R"(,"max_relative_positions":99)").disentangled.max_distance, 99);
  EXPECT_EQ(parsed(R"("model_type":"electra","max_position_embeddings":64,"embedding_size":8,)" + usual).embedding_size, 0);
  EXPECT_EQ(parsed(R"("model_type":"electra","max_position_embeddings":64,"embedding_size":4,)" + usual).embedding_size, 4);
}

TEST(PublicConfigs, AreSupportedOrRejectedByName) {
  for (const PublicConfig& one : kConfigs) {
    SCOPED_TRACE(one.name);
    const auto json = Json::parse(one.config, "config.json");
    ASSERT_TRUE(json.ok()) << json.error().message;
    const auto arch = find_arch(json.value().root());
    const auto config = arch.ok() ? parse_model_config(*arch.value(), json.value().root()) : Result<ModelConfig>(arch.error());
    if (one.tokens > 0) {
      ASSERT_TRUE(config.ok()) << config.error().message;
      EXPECT_EQ(config.value().transformer.max_position_embeddings, one.tokens);
      continue;
    }
    ASSERT_FALSE(config.ok());
    EXPECT_NE(config.error().message.find(one.refusal), std::string::npos) << config.error().message;
  }
}

}  // namespace
}  // namespace wattn
