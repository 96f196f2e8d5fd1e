"""Reads the books that wattn-story is trained and evaluated on.

All are in the public domain. Project Gutenberg's own parts (header, licence and notes) are left out, and so are tables of contents, headings,
notes in brackets, and paragraphs with words for peoples that are slurs, or are used as such in these books. A chapter is one text: its paragraphs,
each a line.
"""

import re
from collections import namedtuple
from pathlib import Path

Book = namedtuple("Book", "title author repository commit file")

# GitHub's GITenberg has a repository for each of Project Gutenberg's books; its plain ASCII text, and the commit that was read.
BOOKS = [
    Book("Grimms' Fairy Tales", "Jacob and Wilhelm Grimm, translated by Edgar Taylor and Marian Edwardes", "Grimms-Fairy-Tales_2591", "9991a309", "2591.txt"),
    Book("Andersen's Fairy Tales", "Hans Christian Andersen", "Andersen-s-Fairy-Tales_1597", "7061c847", "1597.txt"),
    Book("English Fairy Tales", "collected by Joseph Jacobs", "English-Fairy-Tales_7439", "3194dc00", "7439.txt"),
    Book("The Blue Fairy Book", "edited by Andrew Lang", "The-Blue-Fairy-Book_503", "4d594f37", "503.txt"),
    Book("Alice's Adventures in Wonderland", "Lewis Carroll", "Alice-s-Adventures-in-Wonderland_11", "7f18748e", "11.txt"),
    Book("The Wonderful Wizard of Oz", "L. Frank Baum", "The-Wonderful-Wizard-of-Oz_55", "d19a4315", "55.txt"),
    Book("Five Children and It", "Edith Nesbit", "Five-Children-and-It_778", "402e5e47", "778.txt"),
    Book("The Wind in the Willows", "Kenneth Grahame", "The-Wind-in-the-Willows_289", "90328462", "289.txt"),
    Book("The Secret Garden", "Frances Hodgson Burnett", "The-Secret-Garden_113", "0031c0ba", "113.txt"),
    Book("The Jungle Book", "Rudyard Kipling", "The-Jungle-Book_236", "4176c010", "236.txt"),
    Book("Little Women", "Louisa May Alcott", "Little-Women_514", "2b0c302d", "514.txt"),
    Book("Treasure Island", "Robert Louis Stevenson", "Treasure-Island_120", "46f38f7b", "120.txt"),
    Book("The Adventures of Sherlock Holmes", "Arthur Conan Doyle", "The-Adventures-of-Sherlock-Holmes_1661", "7e5dd270", "1661.txt"),
]
# Never trained on. With the first the choices are made, with the second the model is judged, once.
DEV = Book("Through the Looking-Glass", "Lewis Carroll", "Through-the-Looking-Glass_12", "46dc9d18", "12.txt")
TEST = Book("The Railway Children", "Edith Nesbit", "The-Railway-Children_1874", "cbde83df", "1874.txt")
NOVELS = "Charlotte Brontë's novels"  # text/bronte.txt of the data sets, from ml5js/ml5-data-and-models@0612a3e7: datasets/text/charlotte_bronte

SLURS = re.compile(r"(?i)\bnigg|\bnegr|\bjews?\b")
HEADING = re.compile(r"(?:CHAPTER|Chapter|PART|BOOK|ADVENTURE)\b.{0,70}|(?:[IVXL]+|\d+)\.?(?: .{0,70})?|[^a-z]{2,90}")
STRAIGHT = str.maketrans("‘’“”", "''\"\"")


def body_of(text):
    """A book without what Project Gutenberg put around it."""
    begin = re.search(r"(?m)^\*\*\* ?START OF .*$|^\*END\*THE SMALL PRINT.*$", text)
    text = text[begin.end() :] if begin else text
    end = re.search(r"(?m)^\*\*\* ?END OF |^\**(?:End of )?(?:[Tt]he |this )?Project Gutenberg|^(?:OYEZ-OYEZ|Transcriber's Note)", text)
    return text[: end.start()] if end else text


def chapters_of(text):
    """Yields chapters: paragraphs of prose or verse, each on one line. Front matter and lists are too short to be one."""
    paragraphs = []
    for block in re.split(r"\n\s*\n", body_of(text.replace("\r", "").translate(STRAIGHT))):
        lines = [" ".join(line.split()) for line in block.split("\n") if line.strip()]
        if lines and all(HEADING.fullmatch(line) for line in lines):
            yield from whole(paragraphs)
            paragraphs = []
            continue
        plain = re.sub(r"\[[^\]]*\]|_", "", " ".join(lines))
        plain = " ".join(plain.split())
        heads = sum(bool(HEADING.fullmatch(line)) for line in lines)
        if not re.search("[a-z]", plain) or 2 * heads > len(lines) or plain.startswith(("Produced by", "Contents", "By ", "(1)")) or SLURS.search(plain):
            continue
        paragraphs.append(plain)
    yield from whole(paragraphs)


def whole(paragraphs):
    text = "\n".join(paragraphs)
    if len(text) >= 400:
        yield text


def read_book(books, book):
    path = Path(books) / book.repository / book.file
    return list(chapters_of(path.read_text("ascii")))


def training_texts(books, data):
    """{source: chapters}"""
    texts = {book.title: read_book(books, book) for book in BOOKS}
    texts[NOVELS] = list(chapters_of((Path(data) / "text/bronte.txt").read_text("utf-8", "replace")))
    return texts
