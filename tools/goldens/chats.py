"""chats/: chats rendered by transformers, with every option of apply_chat_template that a template sees."""
from transformers.utils.chat_template_utils import render_jinja_template

from . import common

# Templates of the four kinds that models have: every message in marks, texts trimmed, tools and flags read, parts of content listed.
TEMPLATES = {
    "marks": "{{ bos_token }}{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>\n{% endfor %}"
             "{% if add_generation_prompt %}<|assistant|>{% endif %}",
    "trimmed": "{% for message in messages %}[{{ message['role'] | upper }}] {{ message['content'] | trim }}{{ eos_token }}{% endfor %}"
               "{% if add_generation_prompt %}[ASSISTANT]{% endif %}",
    "tools": "{% if tools is not none %}{% for tool in tools %}<tool>{{ tool | tojson }}</tool>{% endfor %}{% endif %}"
             "{% if documents is not none %}({{ documents | length }} documents, first: {{ documents[0].title }}){% endif %}"
             "{% for message in messages %}{{ message.role }}: {% if message.content is defined %}{{ message.content }}{% else %}(calls)"
             "{% endif %}{% if message.reasoning_content is defined %} because {{ message.reasoning_content }}{% endif %}\n{% endfor %}"
             "{% if enable_thinking is defined and not enable_thinking %}<no-thinking>{% endif %}",
    "parts": "{% for message in messages %}{{ message.role }}:{% for part in message.content %}{% if part.type == 'text' %}{{ part.text }}"
             "{% else %}<{{ part.type }}>{% endif %}{% endfor %};{% endfor %}",
    "ranges": "{% for i in range(3) %}{{ i }}{% endfor %}|{% for i in range(2, 7) %}{{ i }}{% endfor %}|{% for i in range(9, 0, -4) %}{{ i }}"
              "{% endfor %}|{% for i in range(messages | length - 1, -1, -1) %}{{ messages[i].role }} {% endfor %}",
}
QUESTION = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "  Where is the bakery?  "}]
BEGUN = QUESTION + [{"role": "assistant", "content": "It is next to the "}]
TRIMMED = QUESTION + [{"role": "assistant", "content": "It is"}]
THOUGHT = QUESTION + [{"role": "assistant", "content": "Left.", "reasoning_content": "the map says"}]
PARTS = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is"}, {"type": "text", "text": " this"}, {"type": "image"}]}]
TOOLS = [{"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {"street": {"type": "string"}}}}}]
DOCUMENTS = [{"title": "Map", "text": "Streets."}, {"title": "List", "text": "Shops."}]

CASES = [
    ("marks", QUESTION, {}), ("marks", QUESTION, {"add_generation_prompt": True}), ("marks", BEGUN, {}),
    ("marks", BEGUN, {"continue_final_message": True}), ("marks", TRIMMED, {"continue_final_message": True}),
    ("trimmed", QUESTION, {"add_generation_prompt": True}), ("trimmed", BEGUN, {"continue_final_message": True}),
    ("trimmed", TRIMMED, {"continue_final_message": True}),
    ("tools", QUESTION, {}), ("tools", QUESTION, {"tools": TOOLS}), ("tools", QUESTION, {"documents": DOCUMENTS}),
    ("tools", QUESTION, {"chat_template_kwargs": {"enable_thinking": False}}), ("tools", THOUGHT, {}),
    ("tools", THOUGHT, {"continue_final_message": "reasoning_content"}),
    ("tools", QUESTION + [{"role": "assistant", "content": None}], {}),
    ("parts", PARTS, {}), ("parts", PARTS, {"continue_final_message": True}), ("ranges", BEGUN, {}),
]


def render(template, chat, options):
    options = dict(options)
    variables = options.pop("chat_template_kwargs", {})
    chat = [{key: value for key, value in message.items() if value is not None} for message in chat]
    texts, _ = render_jinja_template([chat], chat_template=TEMPLATES[template], bos_token="<s>", eos_token="</s>", **options, **variables)
    return texts[0]


def make(_options):
    folder = common.empty_folder("chats")
    rows = [{"template": template, "chat": chat, "options": options, "text": render(template, chat, options)} for template, chat, options in CASES]
    common.write_json(folder / "cases.json", {"templates": TEMPLATES, "cases": rows}, 2)
    common.update_manifest("chats", common.versions("transformers", "jinja2"))
