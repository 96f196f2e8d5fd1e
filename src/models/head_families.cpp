// The heads of each family, as transformers (v5.23.0) names their tensors. Adding one: a table and its line in kFamilies.
#include "models/heads.h"

namespace wattn {
namespace {

// Pooler and classifier: the first token, dense, tanh.
constexpr HeadFamily kBert = {
    .model_type = "bert",
    .sequence = {.dense = "pooler.dense", .activation = Activation::kTanh, .output = "classifier"},
    .token = {.output = "classifier"},
    .answer = {.output = "qa_outputs"},
    .masked_lm = {.dense = "cls.predictions.transform.dense",
                  .activation_key = "hidden_act",
                  .norm = "cls.predictions.transform.LayerNorm",
                  .output = "cls.predictions.bias",
                  .tied = true},
};

constexpr HeadFamily kRoberta = {
    .model_type = "roberta",
    .sequence = {.dense = "classifier.dense", .activation = Activation::kTanh, .output = "classifier.out_proj"},
    .token = {.output = "classifier"},
    .answer = {.output = "qa_outputs"},
    .masked_lm = {.dense = "lm_head.dense",
                  .activation = Activation::kGelu,
                  .norm = "lm_head.layer_norm",
                  .output = "lm_head.bias",
                  .tied = true},
};

constexpr HeadFamily kDistilBert = {
    .model_type = "distilbert",
    .sequence = {.dense = "pre_classifier", .activation = Activation::kRelu, .output = "classifier"},
    .token = {.output = "classifier"},
    .answer = {.output = "qa_outputs"},
    .masked_lm = {.dense = "vocab_transform",
                  .activation_key = "activation",
                  .norm = "vocab_layer_norm",
                  .output = "vocab_projector.bias",
                  .tied = true},
};

constexpr HeadFamily kElectra = {
    .model_type = "electra",
    .sequence = {.dense = "classifier.dense", .activation = Activation::kGelu, .output = "classifier.out_proj"},
    .token = {.output = "classifier"},
    .answer = {.output = "qa_outputs"},
    .masked_lm = {.dense = "generator_predictions.dense",
                  .activation = Activation::kGelu,
                  .norm = "generator_predictions.LayerNorm",
                  .output = "generator_lm_head.bias",
                  .tied = true},
};

constexpr HeadFamily kAlbert = {
    .model_type = "albert",
    .sequence = {.dense = "pooler", .activation = Activation::kTanh, .output = "classifier"},
    .token = {.output = "classifier"},
    .answer = {.output = "qa_outputs"},
    .masked_lm = {.dense = "predictions.dense",
                  .activation_key = "hidden_act",
                  .norm = "predictions.LayerNorm",
                  .output = "predictions.bias",
                  .tied = true},
};

constexpr HeadFamily kDebertaV2 = {
    .model_type = "deberta-v2",
    .sequence = {.dense = "pooler.dense",
                 .activation = Activation::kGelu,
                 .activation_key = "pooler_hidden_act",
                 .output = "classifier"},
    .token = {.output = "classifier"},
    .answer = {.output = "qa_outputs"},
    .masked_lm = kBert.masked_lm,
};

constexpr HeadLayers kModernBertOutput = {.dense = "head.dense",
                                          .activation = Activation::kGelu,
                                          .activation_key = "classifier_activation",
                                          .dense_bias_key = "classifier_bias",
                                          .norm = "head.norm",
                                          .norm_bias_key = "norm_bias",
                                          .output = "classifier"};

constexpr HeadLayers with_pooling(HeadLayers layers, const char* key) {
  layers.pooling_key = key;
  return layers;
}

constexpr HeadLayers with_tied(HeadLayers layers, const char* bias) {
  layers.output = bias;
  layers.tied = true;
  return layers;
}

constexpr HeadFamily kModernBert = {
    .model_type = "modernbert",
    .sequence = with_pooling(kModernBertOutput, "classifier_pooling"),
    .token = kModernBertOutput,
    .answer = kModernBertOutput,
    .masked_lm = with_tied(kModernBertOutput, "decoder.bias"),
};

constexpr HeadFamily kNomicBert = {
    .model_type = "nomic_bert",
    .sequence = kBert.sequence,
    .token = kBert.token,
    .answer = {},
    .masked_lm = {.dense = "cls.predictions.transform.dense",
                  .activation = Activation::kSilu,
                  .activation_key = "hidden_act",
                  .norm = "cls.predictions.transform.layer_norm",
                  .output = "cls.predictions.bias",
                  .tied = true},
};

constexpr HeadFamily kGte = {
    .model_type = "gte",
    .sequence = kBert.sequence,
    .token = kBert.token,
    .answer = kBert.answer,
    .masked_lm = {.dense = "lm_head.dense",
                  .activation = Activation::kGelu,
                  .norm = "lm_head.norm",
                  .output = "lm_head.decoder.bias",
                  .tied = true},
};

// The same head under another model_type.
constexpr HeadFamily alias(const char* model_type, HeadFamily family) {
  family.model_type = model_type;
  return family;
}

constexpr HeadFamily kFamilies[] = {
    kBert,
    kRoberta,
    alias("xlm-roberta", kRoberta),
    alias("camembert", kRoberta),
    alias("mpnet", kRoberta),
    kDistilBert,
    kElectra,
    kAlbert,
    kDebertaV2,
    kModernBert,
    kNomicBert,
    kGte,
    alias("new", kGte),
};

}  // namespace

const HeadFamily* find_head_family(std::string_view model_type) {
  for (const HeadFamily& family : kFamilies) {
    if (model_type == family.model_type) return &family;
  }
  return nullptr;
}

}  // namespace wattn
