#include "plan/print.h"

#include <cstdlib>

#include "ops/norm.h"

namespace wattn {
const char* name_of(Op op) {
  constexpr const char* kNames[] = {"words",
                                    "add_rows",
                                    "relative_rows",
                                    "scale",
                                    "norm",
                                    "head_norm",
                                    "rotate",
                                    "linear",
                                    "activate",
                                    "gate",
                                    "add",
                                    "attention",
                                    "store",
                                    "softcap",
                                    "windows",
                                    "experts",
                                    "short_convolution",
                                    "token_dropout",
                                    "affine",
                                    "join",
                                    "global_attention",
                                    "depthwise",
                                    "dynamic_convolution",
                                    "gated_delta",
                                    "sigmoid_gate"};
  return kNames[static_cast<int>(op)];
}

const char* variant_of(const Step& step) {
  constexpr const char* kIds[] = {"token types", "positions", "positions after padding"};
  constexpr const char* kActivations[] = {
      "",      "gelu",       "relu", "tanh", "gelu_tanh", "silu",       "sigmoid",      "quick_gelu", "gelu_10",  "relu2",
      "relu6", "leaky_relu", "mish", "elu",  "selu",      "hard_swish", "hard_sigmoid", "hard_tanh",  "softsign", "laplace"};
  switch (step.op) {
    case Op::kAddRows:
      return kIds[step.variant];
    case Op::kNorm:
      return static_cast<NormKind>(step.variant) == NormKind::kRms ? "rms" : "";
    case Op::kWindows:
      return step.variant == 1 ? " backwards" : "";
    case Op::kGlobalAttention:
      return static_cast<GlobalTokens>(step.variant) == GlobalTokens::kFirst ? " the first token" : " tokens before the separator";
    case Op::kHeadNorm:
      return step.variant == 1 ? "keys" : "queries";
    case Op::kLinear:
    case Op::kActivate:
    case Op::kGate:
    case Op::kExperts:
    case Op::kGatedDelta:
      return kActivations[step.variant];
    default:
      return "";
  }
}

namespace {

// To six decimals.
std::string number(float value) {
  const auto millionths = static_cast<std::int64_t>(static_cast<double>(value) * 1e6 + (value < 0 ? -0.5 : 0.5));
  std::string out = std::to_string(millionths % 1'000'000 + (value < 0 ? -1'000'000 : 1'000'000));
  out = (value < 0 ? "-" : "") + std::to_string(std::abs(millionths / 1'000'000)) + "." + out.substr(value < 0 ? 2 : 1);
  out.resize(out.find_last_not_of('0') + 1);
  if (out.ends_with('.')) out.pop_back();
  return out;
}

class Printer {
 public:
  explicit Printer(const Plan& plan) : plan_(plan) {}

  std::string run() {
    use(plan_.embeddings, "embeddings");
    for (std::size_t i = 0; i < plan_.layers.size(); ++i) layer(i);
    use(plan_.final_norm, "final_norm");
    use(plan_.head, "head");
    return std::move(out_);
  }

 private:
  // Steps that several layers share are printed once, at the first of these layers.
  void layer(std::size_t index) {
    const Layer& layer = plan_.layers[index];
    std::string numbers;
    for (std::size_t i = 0; i < plan_.layers.size(); ++i) {
      const Layer& other = plan_.layers[i];
      if (other.steps.section != layer.steps.section) continue;
      if (i < index) return;
      numbers += (numbers.empty() ? "" : ", ") + std::to_string(i);
    }
    const bool several = numbers.find(',') != std::string::npos;
    use(layer.steps, (several ? "layers " : "layer ") + numbers);
    use(layer.source, (several ? "sources of layers " : "source of layer ") + numbers);
  }

  void use(const SectionUse& use, const std::string& title) {
    if (use.section < 0) return;
    section_ = &plan_.sections[static_cast<std::size_t>(use.section)];
    first_weight_ = use.first_weight;
    out_ += title + "\n";
    for (int s = 0; s < section_->num_steps; ++s) step(plan_.steps[static_cast<std::size_t>(section_->first_step + s)]);
  }

  const Value& value(PlanId id) const { return plan_.values[static_cast<std::size_t>(section_->first_value + id)]; }

  std::string name(PlanId id) const {
    if (id == kStreamValue) return "x";
    if (id == kRelativeValue || value(id).place == Place::kRelative) return "relative";
    if (value(id).name) return value(id).name;
    return value(id).place == Place::kOutput ? "logits" : "v" + std::to_string(id);
  }

  void step(const Step& step) {
    std::string line = "  ";
    if (step.out >= 0) line += name(step.out) + " = ";
    line += name_of(step.op);
    line += "(";
    if (step.x >= 0) line += name(step.x);
    if (step.other >= 0) line += ", " + name(step.other);
    if (step.weight >= 0) {
      const Weight& weight = plan_.weights[static_cast<std::size_t>(first_weight_ + step.weight)];
      line += std::string(step.x >= 0 ? "; " : "") + weight.name;
      if (weight.rows > 0) line += " [" + std::to_string(weight.rows) + ", " + std::to_string(weight.width) + "]";
    }
    out_ += line + constants(step) + ")\n";
    views(step.out);
  }

  std::string constants(const Step& step) const {
    std::string out;
    if (step.op == Op::kScale || step.op == Op::kSoftcap || step.op == Op::kWindows) out = "; " + number(step.factor);
    if (step.op == Op::kAdd && step.factor != 1) out = "; times " + number(step.factor);
    if (step.op == Op::kAddRows) out = "; of ";
    if (step.op != Op::kHeadNorm) {
      const std::string variant = variant_of(step);
      if (!variant.empty()) out += (out.empty() ? "; " : "") + variant;
    }
    if (step.op == Op::kAddRows && static_cast<IdsOf>(step.variant) == IdsOf::kAfterPadding) out += " " + number(step.factor);
    if (step.op == Op::kDynamicConvolution) out = "; " + number(step.factor) + " tokens";
    if (step.op == Op::kGlobalAttention && step.factor >= 0) out += " " + number(step.factor);
    if (step.op == Op::kAttention || step.op == Op::kGlobalAttention)
      out += attention(plan_.attentions[static_cast<std::size_t>(step.attention)]);
    return out;
  }

  static std::string attention(const AttentionStep& step) {
    const AttentionShape& shape = step.shape;
    std::string out = "; " + std::to_string(shape.heads) + " heads";
    if (shape.kv_heads != shape.heads) out += ", " + std::to_string(shape.kv_heads) + " of keys";
    out += " of " + std::to_string(shape.head_dim) + ", scale " + number(step.scale);
    if (step.softcap != 0) out += ", softcap " + number(step.softcap);
    if (step.causal) out += ", causal";
    if (step.window_before >= 0) out += ", window " + std::to_string(step.window_before) + " before";
    if (step.window_after >= 0) out += ", " + std::to_string(step.window_after) + " after";
    return out + (step.cross ? ", of a source" : "");
  }

  // What the result's columns are.
  void views(PlanId of) {
    for (int v = 0; of >= 0 && v < section_->num_values; ++v) {
      const Value& view = value(static_cast<PlanId>(v));
      if (view.of != of) continue;
      out_ += "  " + std::string(view.name) + " = " + name(of) + "[" + std::to_string(view.column) + ":" +
              std::to_string(view.column + view.width) + "]\n";
    }
  }

  const Plan& plan_;
  const Section* section_ = nullptr;
  std::int32_t first_weight_ = 0;
  std::string out_;
};

}  // namespace

std::string to_text(const Plan& plan) { return Printer(plan).run(); }

}  // namespace wattn
