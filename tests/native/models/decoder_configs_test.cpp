// Configs of public decoders, reduced to the relevant keys: supported, or rejected with the reason.
#include <gtest/gtest.h>

#include "core/json.h"
#include "models/arch.h"

namespace wattn {
namespace {

struct PublicConfig {
  const char* name;
  const char* config;
  std::int64_t width = 0;         // of queries, keys and values; 0: rejected
  const char* refusal = nullptr;  // part of the message
};

#define LLAMA(rest)                                                                                                                \
  R"({"model_type":"llama","hidden_size":2048,"intermediate_size":8192,"num_hidden_layers":16,"num_attention_heads":32,)"          \
  R"("num_key_value_heads":8,"vocab_size":128256,"max_position_embeddings":131072,"hidden_act":"silu","rms_norm_eps":1e-05,)" rest \
  "}"
#define LIKE(type, rest)                                                                                                       \
  R"({"model_type":")" type R"(","hidden_size":1024,"intermediate_size":3072,"num_hidden_layers":4,"num_attention_heads":16,)" \
  R"("num_key_value_heads":4,"vocab_size":32000,"max_position_embeddings":4096,"hidden_act":"silu","rms_norm_eps":1e-06)" rest "}"
#define GPT2(rest) R"({"model_type":"gpt2","n_embd":768,"n_layer":12,"n_head":12,"n_positions":1024,"vocab_size":50257,)" rest "}"

const PublicConfig kSupported[] = {
    {"stanford-crfm's GPT-2", GPT2(R"("activation_function":"gelu_new","scale_attn_by_inverse_layer_idx":true)"), 2304},
    {"Llama with dynamic NTK", LLAMA(R"("rope_scaling":{"type":"dynamic","factor":2.0})"), 3072},
    {"Yarn-Llama-2", LIKE("llama", R"(,"rope_scaling":{"type":"yarn","factor":16.0})"), 1536},
    {"gpt2", GPT2(R"("activation_function":"gelu_new","layer_norm_epsilon":1e-05,"n_ctx":1024,"summary_type":"cls_index")"), 2304},
    {"distilgpt2", GPT2(R"("activation_function":"gelu_new","layer_norm_epsilon":1e-05,"_num_labels":1)"), 2304},
    {"Llama-3.2-1B",
     LLAMA(
         R"("head_dim":64,"attention_bias":false,"mlp_bias":false,"pretraining_tp":1,"rope_theta":500000.0,"tie_word_embeddings":true,
       "rope_scaling":{"factor":32.0,"high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":8192,
       "rope_type":"llama3"})"),
     3072},
    {"TinyLlama-1.1B-Chat", LLAMA(R"("rope_scaling":null,"rope_theta":10000.0,"tie_word_embeddings":false)"), 3072},
    {"SmolLM2-135M", LIKE("llama", R"(,"rope_interleaved":false,"is_llama_config":true,"rope_theta":100000)"), 1536},
    {"deepseek-llm-7b", LIKE("llama", R"(,"aux_loss_alpha":0.001)"), 1536},
    {"vicuna-7b-v1.5-16k", LIKE("llama", R"(,"rope_scaling":{"factor":4.0,"type":"linear"})"), 1536},
    {"Mistral-7B-v0.1", LIKE("mistral", R"(,"sliding_window":4096,"rope_theta":10000.0)"), 1536},
    {"Qwen2.5-0.5B", LIKE("qwen2", R"(,"use_sliding_window":false,"sliding_window":32768,"max_window_layers":24)"), 1536},
    {"Qwen3-0.6B", LIKE("qwen3", R"(,"head_dim":128,"attention_bias":false,"use_sliding_window":false,"sliding_window":null)"),
     3072},
    {"gemma-2b",
     LIKE("gemma", R"(,"head_dim":256,"hidden_activation":null,"rope_scaling":null,"rope_theta":10000.0,"attention_bias":false)"),
     6144},
    {"gemma-2-2b",
     LIKE("gemma2", R"(,"head_dim":256,"hidden_activation":"gelu_pytorch_tanh","query_pre_attn_scalar":256,"sliding_window":4096,
       "attn_logit_softcapping":50.0,"final_logit_softcapping":30.0,"cache_implementation":"hybrid")"),
     6144},
    {"gemma-3-270m",
     LIKE("gemma3_text",
          R"(,"head_dim":256,"hidden_activation":"gelu_pytorch_tanh","query_pre_attn_scalar":256,"sliding_window":512,
       "_sliding_window_pattern":6,"attn_logit_softcapping":null,"final_logit_softcapping":null,"rope_local_base_freq":10000.0,
       "rope_scaling":null,"rope_theta":1000000.0,"use_bidirectional_attention":false,"layer_types":["sliding_attention",
       "sliding_attention","sliding_attention","full_attention"])"),
     6144},
    {"LFM2-350M",
     LIKE("lfm2", R"(,"architectures":["Lfm2ForCausalLM"],"block_auto_adjust_ff_dim":true,"block_dim":1024,"block_ff_dim":6656,
       "block_ffn_dim_multiplier":1.0,"block_multiple_of":256,"block_norm_eps":1e-05,"block_use_swiglu":true,"conv_L_cache":3,
       "conv_bias":false,"conv_dim":1024,"conv_dim_out":1024,"full_attn_idxs":[1,2],"norm_eps":1e-05,"rope_theta":1000000.0,
       "use_pos_enc":true)"),
     1536},
    {"EXAONE-4.0-1.2B", LIKE("exaone4", R"(,"sliding_window":null,"sliding_window_pattern":null,"rope_theta":1000000,
       "layer_types":["full_attention","full_attention","full_attention","full_attention"],"rope_scaling":{"factor":16.0,
       "high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":8192,"rope_type":"llama3"})"),
     1536},
    {"Olmo-3-7B", LIKE("olmo3", R"(,"rope_theta":500000,"rope_scaling":{"attention_factor":1.2079,"beta_fast":32.0,"beta_slow":1.0,
       "factor":8.0,"original_max_position_embeddings":8192,"rope_type":"yarn"},"sliding_window":4096,"layer_types":[
       "sliding_attention","sliding_attention","sliding_attention","full_attention"])"),
     1536},
    {"granite-4.0-350m", LIKE("granitemoehybrid", R"(,"num_local_experts":0,"num_experts_per_tok":0,"shared_intermediate_size":2048,
       "position_embedding_type":"rope","layer_types":["attention","attention","attention","attention"],"mamba_n_heads":32,
       "embedding_multiplier":12,"attention_multiplier":0.015625,"residual_multiplier":0.246,"logits_scaling":4)"),
     1536},
    {"starcoder2-3b", LIKE("starcoder2", R"(,"use_bias":true,"norm_epsilon":1e-05,"sliding_window":4096,"rope_theta":999999.4)"),
     1536},
    {"gpt-neo-125m", LIKE("gpt_neo", R"(,"num_layers":4,"num_heads":16,"activation_function":"gelu_new","window_size":256,
       "attention_types":[[["global","local"],2]],"attention_layers":["global","local","global","local"])"),
     3072},
    {"bloom-560m",
     LIKE("bloom", R"(,"n_layer":4,"n_head":16,"apply_residual_connection_post_layernorm":false,"slow_but_exact":false)"), 3072},
    {"pythia-160m", LIKE("gpt_neox", R"(,"hidden_act":"gelu","rotary_pct":0.25,"rotary_emb_base":10000,"layer_norm_eps":1e-05,
       "use_parallel_residual":true,"tie_word_embeddings":false)"),
     3072},
    {"phi-1_5", LIKE("phi", R"(,"partial_rotary_factor":0.5,"rope_theta":10000.0,"qk_layernorm":false,"rope_scaling":null)"), 1536},
    {"stablelm-2-1_6b", LIKE("stablelm", R"(,"partial_rotary_factor":0.25,"use_qkv_bias":true,"rope_theta":10000)"), 1536},
    {"OLMo-2-0425-1B", LIKE("olmo2", R"(,"attention_bias":false,"rope_theta":500000,"tie_word_embeddings":false)"), 1536},
    {"SmolLM3-3B", LIKE("smollm3", R"(,"no_rope_layers":[1,1,1,0],"no_rope_layer_interval":4,"use_sliding_window":false,
       "sliding_window":null,"layer_types":["full_attention","full_attention","full_attention","full_attention"])"),
     1536},
    {"granite-3.3-2b", LIKE("granite", R"(,"embedding_multiplier":12.0,"attention_multiplier":0.015625,"residual_multiplier":0.22,
       "logits_scaling":8.0)"),
     1536},
    {"OLMo-1B", LIKE("olmo", R"(,"clip_qkv":null,"rope_theta":10000.0,"attention_bias":false)"), 1536},
    {"codegen-350M-mono", R"({"model_type":"codegen","n_embd":1024,"n_head":16,"n_layer":20,"n_positions":2048,"n_ctx":2048,
       "rotary_dim":32,"activation_function":"gelu_new","layer_norm_epsilon":1e-05,"vocab_size":51200,"n_inner":null})",
     3072},
    {"ettin-decoder-17m", R"({"model_type":"modernbert-decoder","hidden_size":256,"num_hidden_layers":7,"num_attention_heads":4,
       "intermediate_size":384,"vocab_size":50368,"max_position_embeddings":7999,"hidden_activation":"gelu","norm_eps":1e-05,
       "norm_bias":false,"global_attn_every_n_layers":3,"global_rope_theta":160000.0,"local_rope_theta":160000.0,
       "local_attention":128,"classifier_bias":false,"decoder_bias":true,"tie_word_embeddings":true})",
     768},
    {"EXAONE-3.5-2.4B", R"({"model_type":"exaone","hidden_size":2560,"intermediate_size":7168,"num_layers":30,
       "num_attention_heads":32,"num_key_value_heads":8,"head_dim":80,"activation_function":"silu","layer_norm_epsilon":1e-05,
       "max_position_embeddings":32768,"vocab_size":102400,"rope_theta":1000000,"tie_word_embeddings":true,"rope_scaling":{
       "factor":8.0,"high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":8192,"rope_type":"llama3"}})",
     3840},
    {"mpt-7b", R"({"model_type":"mpt","d_model":4096,"n_heads":32,"n_layers":32,"max_seq_len":2048,"expansion_ratio":4,
       "no_bias":true,"norm_type":"low_precision_layernorm","vocab_size":50432,"logit_scale":null,"attn_config":{"alibi":true,
       "alibi_bias_max":8,"attn_type":"multihead_attention","clip_qkv":null,"prefix_lm":false,"qk_ln":false,
       "softmax_scale":null}})",
     12288},
    {"nanochat-d20", LIKE("nanochat", R"(,"final_logit_softcapping":15.0,"rope_theta":10000)"), 1536},
    {"MiniCPM-2B", LIKE("minicpm", R"(,"scale_emb":12,"dim_model_base":256,"scale_depth":1.4,"rope_scaling":null)"), 1536},
    {"MobileLLM-125M", LIKE("mobilellm", R"(,"share_embedding":true,"layer_sharing":false,"tie_word_embeddings":false)"), 1536},
    {"Ministral-3-3B", R"({"model_type":"mistral3","vision_config":{"model_type":"pixtral"},"tie_word_embeddings":true,
       "text_config":{"model_type":"ministral3","hidden_size":3072,"intermediate_size":9216,"num_hidden_layers":26,
       "num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,"vocab_size":131072,"hidden_act":"silu",
       "max_position_embeddings":262144,"rms_norm_eps":1e-05,"rope_parameters":{"beta_fast":32.0,"beta_slow":1.0,"factor":16.0,
       "llama_4_scaling_beta":0.1,"mscale":1.0,"mscale_all_dim":1.0,"original_max_position_embeddings":16384,
       "rope_theta":1000000.0,"rope_type":"yarn","type":"yarn"},"sliding_window":null}})",
     6144},
    {"gemma-3-4b-it", R"({"model_type":"gemma3","eos_token_id":[1,106],"image_token_index":262144,"vision_config":{},
       "text_config":{"model_type":"gemma3_text","hidden_size":2560,"intermediate_size":10240,"num_hidden_layers":34,
       "rope_scaling":{"factor":8.0,"rope_type":"linear"},"sliding_window":1024}})",
     4096},
    {"Qwen2-VL-2B-Instruct", R"({"model_type":"qwen2_vl","hidden_size":1536,"intermediate_size":8960,"num_hidden_layers":28,
       "num_attention_heads":12,"num_key_value_heads":2,"vocab_size":151936,"max_position_embeddings":32768,"hidden_act":"silu",
       "rms_norm_eps":1e-06,"rope_theta":1000000.0,"use_sliding_window":false,"sliding_window":32768,"tie_word_embeddings":true,
       "vision_config":{"depth":32},"rope_scaling":{"type":"mrope","mrope_section":[16,24,24]}})",
     2048},
    {"Qwen3-VL-2B-Instruct", R"({"model_type":"qwen3_vl","tie_word_embeddings":true,"vision_config":{},"text_config":{
       "model_type":"qwen3_vl_text","hidden_size":2048,"intermediate_size":6144,"num_hidden_layers":28,"num_attention_heads":16,
       "num_key_value_heads":8,"head_dim":128,"vocab_size":151936,"max_position_embeddings":262144,"hidden_act":"silu",
       "rope_scaling":{"mrope_interleaved":true,"mrope_section":[24,20,20],"rope_type":"default"},"rope_theta":5000000}})",
     4096},
    {"Qwen3.5-0.8B", R"({"model_type":"qwen3_5","tie_word_embeddings":true,"vision_config":{"model_type":"qwen3_5"},"text_config":{
       "model_type":"qwen3_5_text","attn_output_gate":true,"attention_bias":false,"hidden_size":1024,"intermediate_size":3584,
       "num_hidden_layers":24,"num_attention_heads":8,"num_key_value_heads":2,"head_dim":256,"vocab_size":248320,
       "max_position_embeddings":262144,"hidden_act":"silu","full_attention_interval":4,"linear_conv_kernel_dim":4,
       "linear_key_head_dim":128,"linear_num_key_heads":16,"linear_num_value_heads":16,"linear_value_head_dim":128,
       "mtp_num_hidden_layers":1,"rope_parameters":{"mrope_interleaved":true,"mrope_section":[11,11,10],"rope_type":"default",
       "rope_theta":10000000,"partial_rotary_factor":0.25}}})",
     3072},
    {"Phi-4-mini", LIKE("phi3", R"(,"partial_rotary_factor":0.75,"sliding_window":262144)"), 1536},
};

const PublicConfig kRefused[] = {
    {"gpt2 with cross attention", GPT2(R"("activation_function":"gelu_new","add_cross_attention":true)"), 0, "add_cross_attention"},
    {"a Gemma 3n's rope", LLAMA(R"("rope_scaling":{"type":"proportional","factor":2.0})"), 0, "\"llama3\", found \"proportional\""},
    {"longrope without factors", LIKE("phi3", R"(,"rope_scaling":{"type":"longrope"})"), 0,
     "rope_scaling.short_factor: expected an array"},
    {"longrope with too few factors", LIKE("phi3", R"(,"rope_scaling":{"type":"longrope","short_factor":[1,1],"long_factor":[1]})"),
     0, "short_factor: expected a number for each of 32 pairs"},
    {"longrope with a factor of 0",
     LIKE("phi3", R"(,"head_dim":2,"rope_scaling":{"type":"longrope","short_factor":[0],"long_factor":[1]})"), 0,
     "short_factor[0]: expected a number from 0.01"},
    {"yarn of one position", LIKE("llama", R"(,"rope_scaling":{"type":"yarn","original_max_position_embeddings":1})"), 0,
     "original_max_position_embeddings: expected a whole number of at least 2"},
    {"yarn with a factor of words", LIKE("llama", R"(,"rope_scaling":{"type":"yarn","factor":"4"})"), 0,
     "factor: expected a number"},
    {"an OPT with norms behind", R"({"model_type":"opt","do_layer_norm_before":false})", 0, "do_layer_norm_before"},
    {"a Llama in AWQ", LLAMA(R"("quantization_config":{"bits":4,"quant_method":"awq"})"), 0, "quantization_config"},
    {"a StableLM with norms of heads", LIKE("stablelm", R"(,"qk_layernorm":true)"), 0, "qk_layernorm"},
    {"a SmolLM3 with too few layers", LIKE("smollm3", R"(,"no_rope_layers":[1,0])"), 0, "no_rope_layers: expected 0 or 1 for each"},
    {"a SmolLM3 with words", LIKE("smollm3", R"(,"no_rope_layers":[1,"0",1,1])"), 0, "no_rope_layers[1]: expected"},
    {"an LFM2 with other layers", LIKE("lfm2", R"(,"layer_types":["conv","conv","mamba","conv"])"), 0,
     "layer_types: expected \"conv\" or"},
    {"an LFM2 with too few layers", LIKE("lfm2", R"(,"layer_types":["conv"])"), 0, "layer_types: expected a list of 4 layers"},
    {"an LFM2 with layers that it lacks", LIKE("lfm2", R"(,"full_attn_idxs":[4])"), 0, "full_attn_idxs: expected layer numbers"},
    {"a Qwen3.5 with other layers", LIKE("qwen3_5_text", R"(,"layer_types":["full_attention","conv","conv","conv"])"), 0,
     "layer_types: expected \"linear_attention\" or"},
    {"a Qwen3.5 with too few layers", LIKE("qwen3_5_text", R"(,"layer_types":["full_attention"])"), 0,
     "layer_types: expected a list of 4 layers"},
    {"a Qwen3.5 with key heads that serve no whole number of values", LIKE("qwen3_5_text", R"(,"linear_num_key_heads":5)"), 0,
     "linear_num_value_heads: expected a multiple of linear_num_key_heads 5"},
    {"a Granite 4 with Mamba",
     LIKE("granitemoehybrid", R"(,"num_local_experts":0,"layer_types":["mamba","attention","mamba","mamba"])"), 0,
     "layer_types: expected only attention layers"},
    {"a Granite 4 without a list of layers", LIKE("granitemoehybrid", R"(,"num_local_experts":0)"), 0,
     "layer_types: expected only attention layers"},
    {"a Granite 4 with experts", LIKE("granitemoehybrid", R"(,"num_local_experts":32)"), 0, "num_local_experts: expected nothing"},
    {"a StarCoder with keys of each head", R"({"model_type":"gpt_bigcode","multi_query":false})", 0, "multi_query: expected true"},
    {"a GPT-Neo with too few kinds", LIKE("gpt_neo", R"(,"num_layers":4,"num_heads":16,"attention_types":[[["global"],3]])"), 0,
     "attention_types: expected a type for each of 4 layers"},
    {"a GPT-Neo with other kinds", LIKE("gpt_neo", R"(,"num_layers":4,"num_heads":16,"attention_types":[[["lsh"],4]])"), 0,
     "\"global\" or"},
    {"a BLOOM with sums after norms", R"({"model_type":"bloom","apply_residual_connection_post_layernorm":true})", 0,
     "apply_residual_connection_post_layernorm"},
    {"an OLMo with clipped queries", LIKE("olmo", R"(,"clip_qkv":8.0)"), 0, "clip_qkv"},
    {"a CodeGen of odd heads", R"({"model_type":"codegen","n_head":2,"n_embd":64})", 0, "n_head: expected a multiple of 4"},
    {"an MPT of 12 heads", R"({"model_type":"mpt","n_heads":12,"d_model":96})", 0, "n_heads: expected a power of two"},
    {"an MPT with learned positions", R"({"model_type":"mpt","attn_config":{"alibi":false}})", 0, "alibi: expected true"},
    {"a nanochat of longer texts", LIKE("nanochat", R"(,"rope_scaling":{"type":"linear","factor":2.0})"), 0,
     "rope_parameters: expected"},
    {"a MiniCPM 4 with sparse attention", LIKE("minicpm", R"(,"sparse_config":{"kernel_size":32})"), 0, "sparse_config"},
    {"a MobileLLM whose layers run twice", LIKE("mobilellm", R"(,"layer_sharing":true)"), 0, "layer_sharing"},
    {"a LongT5 with sums of blocks", R"({"model_type":"longt5","encoder_attention_type":"transient-global"})", 0,
     "encoder_attention_type: expected \"local\""},
    {"pictures over a text that is not read", R"({"model_type":"mistral3","text_config":{"model_type":"pixtral"}})", 0,
     "found \"pixtral\""},
    {"more than whole heads", LIKE("phi", R"(,"partial_rotary_factor":1.5)"), 0, "partial_rotary_factor: expected a number"},
    {"a Granite without scores", LIKE("granite", R"(,"attention_multiplier":0)"), 0, "attention_multiplier: expected a number"},
    {"Qwen2.5-VL's text", LIKE("qwen2", R"(,"rope_scaling":{"type":"mrope","mrope_section":[16,24,24]})"), 0, "found \"mrope\""},
};

// Each has its own model_type, for different arithmetic.
const char* const kForeignTypes[] = {
    "arctic",     "dbrx",      "deepseek_v2", "deepseek_v3",     "falcon",      "gemma3n", "gemma4",  "gpt_oss",
    "granitemoe", "jamba",     "lfm2_moe",    "llama4",          "mamba",       "mamba2",  "mixtral", "nemotron",
    "persimmon",  "qwen2_moe", "qwen3_moe",   "recurrent_gemma", "olmo_hybrid", "rwkv"};
const char* const kForeignSeq2Seq[] = {"fsmt",   "mvp", "nllb-moe", "plbart", "prophetnet", "seamless_m4t", "switch_transformers",
                                       "whisper"};

Result<ModelConfig> parse(const char* text) {
  const auto json = read_config_json(text);
  if (!json.ok()) return json.error();
  const auto arch = find_arch(json.value().root());
  if (!arch.ok()) return arch.error();
  return parse_model_config(*arch.value(), json.value().root());
}

TEST(PublicDecoderConfigs, AreReadWhenSupported) {
  for (const PublicConfig& one : kSupported) {
    const auto config = parse(one.config);
    ASSERT_TRUE(config.ok()) << one.name << ": " << config.error().message;
    EXPECT_EQ(config.value().transformer.qkv_width(), one.width) << one.name;
    EXPECT_TRUE(config.value().transformer.causal) << one.name;
    EXPECT_TRUE(config.value().transformer.lm_head) << one.name;
  }
}

TEST(PublicDecoderConfigs, AreRejectedByTheKeyThatChangesTheArithmetic) {
  for (const PublicConfig& one : kRefused) {
    const auto config = parse(one.config);
    ASSERT_FALSE(config.ok()) << one.name;
    EXPECT_NE(config.error().message.find(one.refusal), std::string::npos) << one.name << ": " << config.error().message;
  }
}

TEST(PublicDecoderConfigs, OfUnknownArchitecturesAreRejectedByName) {
  const auto refuse = [](const std::string& type) {
    const std::string rest = LIKE("", "");
    const auto config = parse(("{\"model_type\":\"" + type + rest.substr(rest.find("\",\"hidden"))).c_str());
    ASSERT_FALSE(config.ok()) << type;
    const std::string& message = config.error().message;
    EXPECT_EQ(config.error().code, ErrorCode::kUnsupported) << message;
    EXPECT_NE(message.find("model_type: expected an architecture listed in docs/models.md, found \"" + type + "\""),
              std::string::npos)
        << message;
  };
  for (const char* type : kForeignTypes) refuse(type);
  for (const char* type : kForeignSeq2Seq) refuse(type);
}

TEST(PublicDecoderConfigs, OfUnknownArchitecturesSayWhatToTake) {
  const auto rest_of = [](const char* type) {
    const std::string message = parse((std::string(R"({"model_type":")") + type + "\"}").c_str()).error().message;
    return message.substr(message.find("found \"") + std::string(type).size() + 8);
  };
  EXPECT_EQ(rest_of("gemma4"),
            "; similar: \"gemma\", \"gemma2\", \"gemma3_text\"; this model reads images and text: use google/gemma-3-270m-it "
            "or google/gemma-3-1b-it");
  EXPECT_EQ(rest_of("qwen3_next"), "; similar: \"qwen3\", \"qwen2\"; use Qwen/Qwen3-0.6B");
  EXPECT_EQ(rest_of("qwen3_5_moe"), "; similar: \"qwen3_5_text\", \"qwen3\", \"qwen2\"; use Qwen/Qwen3-0.6B");
  EXPECT_EQ(rest_of("mixtral"), "; similar: \"mistral\"; mixture-of-experts decoders are not supported");
  EXPECT_EQ(rest_of("llame"), "; similar: \"llama\"");
  EXPECT_EQ(rest_of("lama"), "; similar: \"llama\"");
  EXPECT_EQ(rest_of("robreta"), "; similar: \"roberta\"");
  EXPECT_EQ(rest_of("Qwen4"), "; similar: \"qwen3_5_text\", \"qwen2\", \"qwen3\"; use Qwen/Qwen3-0.6B");
  EXPECT_EQ(rest_of("bigbird"), "; for long texts use answerdotai/ModernBERT-base, which reads 8192 tokens");
  EXPECT_EQ(rest_of("GLiClass"), "; models of GLiClass run with zero-shot-classification");
  EXPECT_EQ(rest_of("mvp"), "; use google/flan-t5-small, facebook/bart-base or facebook/nllb-200-distilled-600M");
  EXPECT_EQ(rest_of("rwkv"),
            "; layers with a recurrent state are not supported: use LiquidAI/LFM2-350M or ibm-granite/granite-4.0-350m");
  EXPECT_EQ(rest_of("layoutlmv3"), "; this model reads pages with their layout, or tables");
  for (const char* other : {"mobilegpt", "okapi", "br", ""}) {  // not "mobilellm", with which the first begins
    EXPECT_EQ(
        rest_of(other),
        "; use HuggingFaceTB/SmolLM2-135M-Instruct to generate text, or sentence-transformers/all-MiniLM-L6-v2 for embeddings");
  }
}

TEST(PublicDecoderConfigs, OfEmbeddingGemmaSeesBothSidesOfAWindow) {
  const auto both = parse(LIKE("gemma3_text", R"(,"use_bidirectional_attention":true,"sliding_window":512)"));
  ASSERT_TRUE(both.ok()) << both.error().message;
  EXPECT_FALSE(both.value().transformer.causal);
  EXPECT_EQ(both.value().transformer.local_window, 256);
  const auto causal = parse(LIKE("gemma3_text", R"(,"sliding_window":512)"));
  EXPECT_EQ(causal.value().transformer.local_window, 511);
  EXPECT_EQ(causal.value().transformer.local_layers, (std::vector<bool>{true, true, true, true}));
}

TEST(PublicDecoderConfigs, OfQwen35HaveAttentionInEveryFourthLayer) {
  const auto config = parse(LIKE("qwen3_5_text", ""));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config.value().transformer.gated_delta.layers, (std::vector<bool>{true, true, true, false}));
  EXPECT_EQ(config.value().transformer.rope.partial_rotary_factor, 0.25);
  const auto second = parse(LIKE("qwen3_5_text", R"(,"full_attention_interval":2)"));
  EXPECT_EQ(second.value().transformer.gated_delta.layers, (std::vector<bool>{true, false, true, false}));
}

TEST(PublicDecoderConfigs, NameTheLayersWithAWindow) {
  const auto mistral = parse(LIKE("mistral", R"(,"sliding_window":4096)"));
  ASSERT_TRUE(mistral.ok());
  EXPECT_EQ(mistral.value().transformer.local_window, 4095);  // sliding_window includes the token itself
  EXPECT_EQ(mistral.value().transformer.local_layers, std::vector<bool>(4, true));
  const auto upper = parse(LIKE("qwen2", R"(,"use_sliding_window":true,"sliding_window":8,"max_window_layers":3)"));
  EXPECT_EQ(upper.value().transformer.local_layers, (std::vector<bool>{false, false, false, true}));
  const auto named = parse(LIKE("qwen2", R"(,"use_sliding_window":true,"sliding_window":8,"layer_types":["full_attention",
      "sliding_attention","full_attention","sliding_attention"])"));
  EXPECT_EQ(named.value().transformer.local_layers, (std::vector<bool>{false, true, false, true}));
  for (const char* types :
       {R"(["full_attention"])", R"(["full_attention","full_attention","full_attention","chunked_attention"])"}) {
    const std::string config = std::string(LIKE("qwen2", R"(,"use_sliding_window":true,"sliding_window":8,"layer_types":)"));
    const auto wrong = parse((config.substr(0, config.size() - 1) + types + "}").c_str());
    ASSERT_FALSE(wrong.ok()) << types;
    EXPECT_NE(wrong.error().message.find("layer_types"), std::string::npos) << wrong.error().message;
  }
}

// transformers then hides no later tokens, and a window has that many tokens on each side.
TEST(PublicDecoderConfigs, MayBeBidirectional) {
  const auto mistral = parse(LIKE("mistral", R"(,"sliding_window":16,"is_causal":false)"));
  ASSERT_TRUE(mistral.ok());
  EXPECT_FALSE(mistral.value().transformer.causal);
  EXPECT_EQ(mistral.value().transformer.local_window, 16);
  EXPECT_FALSE(parse(GPT2(R"("activation_function":"gelu_new","is_causal":false)")).value().transformer.causal);
}

// What changes the arithmetic is refused by name, unless it has the value that changes nothing.
TEST(PublicDecoderConfigs, RefuseForeignArithmetic) {
  const std::pair<const char*, int> keys[] = {
      {"partial_rotary_factor", 1},  {"logit_scale", 1},     {"embedding_multiplier", 1}, {"residual_multiplier", 1},
      {"attention_multiplier", 1},   {"logits_scaling", 1},  {"num_local_experts", 0},    {"num_experts", 0},
      {"attn_logit_softcapping", 0}, {"attention_sinks", 0}, {"rope_interleaved", 0},     {"final_logit_softcapping", 0},
      {"no_rope_layers", 0},         {"parallel_attn", 0}};
  const std::string config = std::string(LLAMA(""));
  for (const auto& [key, neutral] : keys) {
    const auto with = [&, name = key](int value) {
      return parse((config.substr(0, config.size() - 1) + "\"" + name + "\":" + std::to_string(value) + "}").c_str());
    };
    EXPECT_TRUE(with(neutral).ok()) << key;
    for (const int other : {neutral + 1, neutral + 2}) {
      const auto refused = with(other);
      ASSERT_FALSE(refused.ok()) << key;
      EXPECT_NE(refused.error().message.find(key), std::string::npos) << refused.error().message;
    }
  }
  EXPECT_FALSE(parse((config.substr(0, config.size() - 1) + "\"residual_multiplier\":0}").c_str()).ok());
}

TEST(PublicDecoderConfigs, OfGptNeoXAreReadInTheirOldAndNewWords) {
  const auto read = [](const char* text) { return parse(text).value().transformer; };
  const auto old = read(LIKE("gpt_neox", R"(,"hidden_act":"gelu","rotary_pct":0.5,"rotary_emb_base":500)"));
  EXPECT_EQ(old.rope.rotated(64), 32);
  EXPECT_EQ(old.rope.theta, 500);
  EXPECT_EQ(old.residual, Residual::kParallel);
  EXPECT_EQ(old.kv_heads(), 16);  // num_key_value_heads has no meaning here
  const auto now = read(LIKE("gpt_neox", R"(,"hidden_act":"gelu","use_parallel_residual":false,"rope_parameters":{
      "rope_type":"default","rope_theta":700,"partial_rotary_factor":1.0})"));
  EXPECT_EQ(now.rope.rotated(64), 64);
  EXPECT_EQ(now.rope.theta, 700);
  EXPECT_EQ(now.residual, Residual::kSequential);
  EXPECT_EQ(read(LIKE("gpt_neox", R"(,"hidden_act":"gelu")")).rope.rotated(64), 16);
}

TEST(PublicDecoderConfigs, ScaleRotaryPositions) {
  const auto llama3 = parse(kSupported[5].config);
  EXPECT_EQ(llama3.value().transformer.rope.type, RopeScaling::Type::kLlama3);
  EXPECT_EQ(llama3.value().transformer.rope.theta, 500000);
  EXPECT_EQ(llama3.value().transformer.rope.factor, 32);
  EXPECT_EQ(llama3.value().transformer.rope.high_freq_factor, 4);
  EXPECT_EQ(llama3.value().transformer.rope.original_max_position_embeddings, 8192);
  const auto new_words = parse(LLAMA(R"("rope_parameters":{"rope_type":"linear","factor":4.0,"rope_theta":20000.0})"));
  EXPECT_EQ(new_words.value().transformer.rope.type, RopeScaling::Type::kLinear);
  EXPECT_EQ(new_words.value().transformer.rope.theta, 20000);
  for (const char* wrong : {R"("rope_scaling":{"type":"linear"})", R"("rope_scaling":{"type":"linear","factor":0})",
                            R"("rope_scaling":{"rope_type":"llama3","factor":8,"low_freq_factor":4,"high_freq_factor":1})",
                            R"("rope_scaling":{"rope_type":"llama3","factor":8,"low_freq_factor":1})",
                            R"("rope_parameters":{"rope_type":"default","partial_rotary_factor":0.5})", R"("rope_scaling":[2])"}) {
    const std::string config = std::string(LLAMA(""));
    EXPECT_FALSE(parse((config.substr(0, config.size() - 1) + wrong + "}").c_str()).ok()) << wrong;
  }
}

}  // namespace
}  // namespace wattn
