"""embedders/: embeddings from models other than BERT-like encoders: a Qwen3 with last-token pooling, a T5 encoder with a Dense
module, and the hidden states of decoders and of T5's encoder without a pooling module."""
import json
import pathlib
import tempfile

import numpy
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling

from . import common, long, tiny

FOLDER = common.OUT / "embedders"
QWEN3_SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
PROMPTS = {"query": "Instruct: Given a web search query, retrieve passages\nQuery:", "document": ""}
QWEN3 = dict(vocab_size=len(QWEN3_SPECIALS) + len(tiny.LETTERS), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             head_dim=10, intermediate_size=40, max_position_embeddings=256, bos_token_id=0, eos_token_id=2, pad_token_id=0,
             rope_parameters=dict(rope_type="default", rope_theta=1000000.0), tie_word_embeddings=True)
T5 = dict(vocab_size=96, d_model=32, d_kv=8, d_ff=40, num_layers=2, num_heads=4, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
          relative_attention_num_buckets=16, relative_attention_max_distance=60, n_positions=132)
LIMIT, CUT = 136, 12
# (a folder of goldens, class, changes to config.json): whose hidden states and poolings features.json holds.
FEATURES = [("long/decoders/llama", "LlamaModel", {}), ("long/decoders/mistral", "MistralModel", {}), ("long/decoders/gpt2", "GPT2Model", {}),
            ("long/decoders/qwen2", "Qwen2Model", {}), ("long/decoders/qwen3", "Qwen3Model", {}),
            ("long/decoders/llama", "LlamaModel", {"is_causal": False}), ("long/decoders/mistral", "MistralModel", {"is_causal": False}),
            ("long/seq2seq/t5", "T5EncoderModel", {}), ("long/seq2seq/flan-t5", "T5EncoderModel", {}),
            ("long/decoders/gemma2", "Gemma2Model", {}), ("long/decoders/gemma3", "Gemma3TextModel", {})]


def save_sentence_model(name, model, tokenizer, modules, prompts):
    with tempfile.TemporaryDirectory() as plain:
        tiny.save(pathlib.Path(plain), model, tokenizer)
        body = Transformer(plain, max_seq_length=LIMIT)
        SentenceTransformer(modules=[body, *modules], prompts=prompts, device="cpu").save_pretrained(str(FOLDER / name / "model"), create_model_card=False)


def encode(folder, dtype, how, texts, options):
    """The vectors of each text alone. In f32 they are checked against one padded batch; in f64 eager attention gives NaN with left padding."""
    model = SentenceTransformer(str(folder), device="cpu", model_kwargs={"dtype": dtype, "attn_implementation": "eager"}).to(dtype).eval()
    encoder = getattr(model, how)
    alone = numpy.concatenate([encoder([text], show_progress_bar=False, **options) for text in texts]).astype(numpy.float64)
    if dtype == torch.float32:
        assert numpy.abs(alone - encoder(texts, show_progress_bar=False, **options)).max() < 2e-6, (folder, how, options)
    return torch.from_numpy(alone)


def save_vectors(name, tokenizer, cases):
    folder = FOLDER / name / "model"
    texts = list(dict.fromkeys(tiny.text_of(tokenizer, count) for count in tiny.LENGTHS)) + [tiny.SENTENCE * 2]
    rows = []
    for how, options in cases:
        exact, single = (encode(folder, dtype, how, texts, options) for dtype in (torch.float64, torch.float32))
        rows.append({"how": how, "options": options, "f32_diff": tiny.diff(exact, single), "shape": list(exact.shape), "vectors": tiny.floats(exact)})
    tokens = [len(tokenizer(text)["input_ids"]) for text in texts]
    common.write_json(FOLDER / name / "expected.json", {"texts": texts, "tokens": tokens, "cases": rows}, depth=3)


def qwen3():
    tokenizer = tiny.make_tokenizer(QWEN3_SPECIALS, "$A <|endoftext|>", eos_token=QWEN3_SPECIALS[0], pad_token=QWEN3_SPECIALS[0], padding_side="left",
                                    model_max_length=LIMIT)
    config = transformers.Qwen3Config(**QWEN3)
    model = tiny.randomize(transformers.Qwen3Model(config), 11)
    save_sentence_model("qwen3", model, tokenizer, [Pooling(32, "lasttoken"), Normalize()], PROMPTS)
    save_vectors("qwen3", tokenizer, [("encode", {}), ("encode", {"normalize_embeddings": False, "truncate_dim": CUT}), ("encode_query", {}),
                                      ("encode_document", {}), ("encode", {"prompt_name": "query"}), ("encode", {"prompt": "Find: "})])
    # The keys that Qwen3-Embedding's files have.
    folder = FOLDER / "qwen3"
    words = json.loads((folder / "model" / "config.json").read_text())
    for key in ("rope_parameters", "dtype", "layer_types"):
        words.pop(key, None)
    common.write_json(folder / "legacy" / "config.json", {**words, "architectures": ["Qwen3ForCausalLM"], "rope_theta": 1000000, "rope_scaling": None,
                                                          "torch_dtype": "float32", "max_window_layers": 28, "sliding_window": None, "use_sliding_window": False})
    kinds = ["Transformer", "Pooling", "Normalize"]
    common.write_json(folder / "legacy" / "modules.json", [{"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
                                                           for i, (kind, path) in enumerate(zip(kinds, ["", "1_Pooling", "2_Normalize"]))])
    modes = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")
    common.write_json(folder / "legacy" / "1_Pooling" / "config.json", {"word_embedding_dimension": 32,
                      **{f"pooling_mode_{mode}": mode == "lasttoken" for mode in modes}, "include_prompt": True})
    common.write_json(folder / "legacy" / "config_sentence_transformers.json", {"prompts": PROMPTS, "default_prompt_name": None, "similarity_fn_name": "cosine"})


def sentence_t5():
    source = common.OUT / "long" / "seq2seq" / "t5" / "tokenizer.json"
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(source), eos_token="</s>", pad_token="<pad>", unk_token="<unk>", model_max_length=LIMIT)
    model = tiny.randomize(transformers.T5EncoderModel(transformers.T5Config(**T5)), 12)
    torch.manual_seed(13)
    dense = Dense(32, 24, bias=False, activation_function=torch.nn.Identity())
    save_sentence_model("sentence-t5", model, tokenizer, [Pooling(32, "mean"), dense, Normalize()], {})
    save_vectors("sentence-t5", tokenizer, [("encode", {}), ("encode", {"truncate_dim": CUT})])


def embeddinggemma():
    """Gemma 3 whose tokens see both sides, and two Dense modules."""
    tokenizer = tiny.make_tokenizer(["<pad>", "<eos>", "<bos>", "<unk>"], "<bos> $A <eos>", eos_token="<eos>", pad_token="<pad>", bos_token="<bos>",
                                    unk_token="<unk>", model_max_length=LIMIT)
    words = {key: value for key, value in QWEN3.items() if key != "rope_parameters"}
    config = transformers.Gemma3TextConfig(**{**words, "vocab_size": 4 + len(tiny.LETTERS), "bos_token_id": 2, "eos_token_id": 1}, sliding_window=33,
                                           layer_types=["sliding_attention", "full_attention"], query_pre_attn_scalar=10, use_bidirectional_attention=True)
    model = tiny.randomize(transformers.Gemma3TextModel(config), 14)
    torch.manual_seed(15)
    dense = [Dense(a, b, bias=False, activation_function=torch.nn.Identity()) for a, b in ((32, 48), (48, 32))]
    save_sentence_model("embeddinggemma", model, tokenizer, [Pooling(32, "mean"), *dense, Normalize()],
                        {"query": "task: search result | query: ", "document": "title: none | text: "})
    save_vectors("embeddinggemma", tokenizer, [("encode", {}), ("encode_query", {}), ("encode_document", {}), ("encode", {"truncate_dim": CUT})])


def features(folder, kind, config):
    """The hidden states of some texts and their poolings, in f64 and f32."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)  # qwen2 means a class of its own, whatever the files name
    texts = list(dict.fromkeys(tiny.text_of(tokenizer, count) for count in tiny.LENGTHS))
    options = transformers.AutoConfig.from_pretrained(folder)
    for key, value in config.items():
        setattr(options, key, value)
    model = getattr(transformers, kind).from_pretrained(folder, config=options, attn_implementation="eager").eval()
    for text in texts:
        ids = tokenizer(text)["input_ids"]
        both = []
        for dtype in (torch.float64, torch.float32):
            with torch.no_grad():
                hidden = model.to(dtype)(input_ids=torch.tensor([ids])).last_hidden_state[0]
            mean = hidden.mean(0)
            both.append({"last_hidden_state": hidden, "cls": hidden[0], "mean": mean, "last_token": hidden[-1], "mean_normalized": mean / mean.norm()})
        yield text, ids, *both


def save_features():
    tensors, cases = long.Tensors(), []
    for name, kind, config in FEATURES:
        inputs = []
        for text, ids, exact, single in features(common.OUT / name, kind, config):
            about = {key: tensors.add(value, single[key], long.ROWS if value.dim() == 2 else None) for key, value in exact.items()}
            inputs.append({"text": text, "input_ids": ids, "tensors": about})
        cases.append({"model": name, "class": kind, "config": config, "inputs": inputs})
    common.write_json(FOLDER / "features.json", cases, depth=5)
    common.write_bytes(FOLDER / "features.f32", b"".join(tensors.data))


def make(_options):
    tiny.begin("embedders")
    qwen3()
    sentence_t5()
    embeddinggemma()
    save_features()
    common.update_manifest("embedders", common.versions("torch", "transformers", "sentence-transformers", "tokenizers", "safetensors", "numpy"))
