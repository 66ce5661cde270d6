"""`translate` on any text, with the translator that comes with the book."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from translator.cli import main
from translator.decoding.lines import is_short
from translator.decoding.search import Hypothesis

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "translator" / "decoding"
NAMES = HERE / "names.json"
#: Names, tab, a sentence with them; and lines with addresses, digits, dates and prices.
FIRST_NAMES, NUMBERS = HERE / "first-names.tsv", HERE / "numbers.txt"


def translated(capsys, *arguments: str) -> tuple[list[str], str]:
    """Return the lines of stdout, and stderr."""
    assert main(["translate", *arguments]) == 0
    out, err = capsys.readouterr()
    assert out.endswith("\n")
    return out[:-1].split("\n"), err


def piped(monkeypatch, capsys, text: str, *arguments: str) -> tuple[list[str], str]:
    """Return the lines of stdout, and stderr, for a text on standard input."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    return translated(capsys, *arguments)


def test_a_line_out_for_each_line_in(tmp_path, monkeypatch, capsys):
    lines = ["Ich bin hier. Wo bist du?", "", "?", "  ", "\u2028", "😀", "Ja.\r", "12"]
    text = "\n".join(lines) + "\n"
    out, _ = piped(monkeypatch, capsys, text, "--beam", "1")
    assert len(out) == len(lines)
    path = tmp_path / "text"
    path.write_bytes(text.encode())
    assert translated(capsys, "--beam", "1", "--file", str(path))[0] == out
    assert translated(capsys, "--beam", "1", "\n".join(lines[:2]))[0] == out[:2]
    # More lines than are translated together, in their order.
    numbers = [f"{i}, ?" for i in range(100)]
    assert piped(monkeypatch, capsys, "\n".join(numbers), "--beam", "1")[0] == numbers


def test_a_line_is_translated_sentence_by_sentence_and_whole(capsys):
    sentences = ["Ich habe Hunger.", "Wo ist der Hund?", "Sie schläft."]
    apart, _ = translated(capsys, *sentences)
    joined, _ = translated(capsys, " ".join(sentences), "  ".join(sentences * 20))
    assert joined[0] == " ".join(apart)
    assert joined[1] == "  ".join(apart * 20)


def test_a_sentence_that_is_too_long_is_cut_at_commas_and_told(capsys):
    parts = [
        f"ich weiß, dass sie {n} Hunde und eine Katze haben" for n in range(20, 60)
    ]
    text = ", ".join(parts) + "."
    (line,), err = translated(capsys, "--beam", "1", text)
    assert "longer than those in training" in err
    assert len(line.split()) > 0.7 * len(text.split()), "much was left out"


@pytest.mark.parametrize(
    "text",
    [
        *("?", "…", "😀 😀", "3,14", "12.05.2024", "  ", "—", "1 + 1 = 2"),
        *("https://example.org/Seite?x=1", "max.muster@example.org"),
    ],
)
def test_text_without_letters_passes_unchanged(text, capsys):
    assert translated(capsys, text) == ([text], "")


def test_addresses_and_long_numbers_pass_unchanged(capsys):
    (line,), _ = translated(capsys, "Schreib heute an max.muster@example.org!")
    assert "max.muster@example.org" in line
    (line,), _ = translated(capsys, "Er hat 48213 Euro bezahlt.")
    assert "48213" in line


@pytest.mark.parametrize(
    ("line", "numbers"),
    [
        ("Das kostet 12 000 Euro.", ["12,000"]),
        ("Er ist 3,5 Meter lang.", ["3.5"]),
        ("Ich wohne in Zimmer 47.", ["47"]),
        ("Der Zug fährt um 14:35 Uhr ab.", ["14:35"]),
        ("Er kam 1945 und ging 1989.", ["1945", "1989"]),
    ],
)
def test_numbers_survive(line, numbers, capsys):
    (out,), err = translated(capsys, line)
    assert all(number in out for number in numbers), out
    assert "not in the translation" not in err


def test_numbers_that_did_not_survive_are_said(monkeypatch, capsys):
    found = [("Nothing.", Hypothesis([5], -0.1, -0.1, ended=True))]
    monkeypatch.setattr(
        "translator.decoding.lines._hypotheses",
        lambda _, texts, __: [found] * len(texts),
    )
    lines = ["Wo ist der Hund?", "Ich habe 1 Hund und {zwei} Katzen."]
    _, err = translated(capsys, *lines)
    assert "line 2: low confidence: not in the translation: {zwei}; 1\n" in err
    assert "line 1" not in err
    short = ["My name is Tom.", "Where is the station?", "Tom a mangé.", "Tom isst."]
    _, err = translated(capsys, *short)
    assert "line 1: this looks like English" in err
    assert "line 2: this looks like English" in err
    assert "line 3: this does not look like German" in err
    assert "line 4: this" not in err


def test_addresses_survive_where_a_sentence_has_no_capitals(capsys):
    (line,), _ = translated(capsys, "schreib an max.muster@example.org heute noch.")
    assert "max.muster@example.org" in line


@pytest.mark.parametrize(
    ("line", "stays"),
    [
        ("Das ist toll 😀!", "😀"),
        ("👍🏽 Ich bin hier.", "👍🏽"),
        ("- Ich bin hier.", "- "),
        ("a) Ich bin hier.", "a) "),
    ],
)
def test_symbols_and_marks_of_lists_stay(line, stays, capsys):
    (out,), _ = translated(capsys, line)
    assert stays in out
    assert len(out) > len(stays) + 3


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "Wir muessen spaeter noch darueber sprechen.",
            "We have to talk about it later.",
        ),
        ("Draussen ist es heiss.", "It's hot outside."),
        ("Das ist NICHT lustig.", "That's not funny."),
        ("Sie wiegt max. 60 kg.", "She weighs 60 kilograms at most."),
        ("Bis Köln sind es noch 120 km.", "It's 120 kilometers to Cologne."),
        ("Die Stadt hat 83.245 Einwohner.", "The city has 83,245 inhabitants."),
        ("Der Laden ist (leider) geschlossen.", "The store is closed (unfortunately)."),
        ("(Er hat nichts davon gewusst.)", "(He didn't know anything about it.)"),
        (
            "»Das ist mein Buch«, rief das Mädchen.",
            '"This is my book," called the girl.',
        ),
        ("Wenn ich nur wüsste …", "If only I knew …"),
        ("Das war ein Witz ;-)", "That was a joke ;-)"),
        ("2. Warten Sie eine Minute.", "2. Wait a minute."),
        ("Was für ein schöner Tag! #sonne #urlaub", "What a nice day! #sonne #urlaub"),
        (
            "Die Datei liegt unter C:\\Daten\\bericht.pdf.",
            "The file is under C:\\Daten\\bericht.pdf.",
        ),
    ],
)
def test_what_a_stranger_may_type(line, expected, capsys):
    assert translated(capsys, line) == ([expected], "")


def test_clauses_of_a_sentence_that_was_cut_stay_one_sentence(capsys):
    long = (
        "Ich wollte eigentlich nur kurz einkaufen gehen, aber dann traf ich im Supermarkt "
        "meinen alten Freund Martin, und wir gingen zusammen einen Kaffee trinken und redeten "
        "sehr lange über die alten Zeiten, die Lehrer, die Reisen und die Kinder."
    )
    (out,), err = translated(capsys, long)
    assert "was cut into" in err
    assert not re.search(r"\. \w|[a-z], (?:And|But|We|The)\b", out), out


def test_what_is_left_out_is_said(capsys):
    out, err = translated(capsys, "Я не знаю.", "Hallo {name}, <b>Tom</b> ist da.")
    assert out[0] == "Я не знаю."
    assert "line 1: no Latin letters, not translated" in err
    missing = [mark for mark in ("{name}", "<b>", "</b>") if mark not in out[1]]
    assert all(mark in err for mark in missing)


@pytest.mark.parametrize(
    ("line", "stays"),
    [
        ("Ich mag 寿司 sehr.", ["寿司"]),
        ("ich mag русский.", ["русский"]),
        ("Der Buchstabe Ж ist kyrillisch.", ["Ж"]),
        ("Ich wohne in der Nähe von 北京 und spreche русский.", ["北京", "русский"]),
        ("Das Wort слово ist russisch.", ["слово"]),
        ("Mein Freund Иван kommt morgen.", ["Иван"]),
    ],
)
def test_letters_that_are_not_latin_stay(line, stays, capsys):
    (out,), err = translated(capsys, line)
    assert all(text in out for text in stays)
    assert "not in the translation" not in err


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Berlin", "Berlin"),
        ("Tom", "Tom"),
        ("Solveig", "Solveig"),
        ("Montag", "Monday"),
        ("Das Haus", "The house"),
        ("Guten Morgen", "Good morning"),
        ("Wo bist du", "Where are you"),
        ("- Wasser", "- Water"),
        ("HILFE", "HELP"),
    ],
)
def test_what_has_no_end_mark_gets_none(line, expected, capsys):
    assert translated(capsys, line)[0] == [expected]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Prof. Dr. Müller ist da.", "Prof. Dr. Müller is there."),
        ("„Ich komme. Warte!“ Dann ging er.", '"I\'m coming. Wait!" He left then.'),
        ("a" * 5000, "a" * 5000),
    ],
)
def test_titles_quotations_and_endless_words_stay_whole(line, expected, capsys):
    assert translated(capsys, line)[0] == [expected]


def test_the_readme_shows_where_the_model_fails_as_it_does(capsys):
    table = (ROOT / "models" / "de-en" / "README.md").read_text(encoding="utf-8")
    rows = [row.split(" | ") for row in table.splitlines() if row.startswith("| ")]
    german, english = zip(*[(row[1], row[2]) for row in rows[2:]], strict=True)
    assert "Und du?" in german
    assert translated(capsys, *german)[0] == list(english)


def test_names_and_letters_that_did_not_survive_are_said(monkeypatch, capsys):
    found = [("Nothing.", Hypothesis([5], -0.1, -0.1, ended=True))]
    monkeypatch.setattr(
        "translator.decoding.lines._hypotheses",
        lambda _, texts, __: [found] * len(texts),
    )
    lines = ["Ich mag 寿司.", "Ich kenne Tom und Solveig.", "Ich mag dich."]
    _, err = translated(capsys, *lines)
    assert "line 1: low confidence: not in the translation: 寿司\n" in err
    assert "line 2: low confidence: not in the translation: Tom; Solveig\n" in err
    assert "line 3" not in err


def test_lines_of_a_text_end_as_those_of_a_file(tmp_path, capsys):
    text = "?\r\n\r\n12\r\n"
    path = tmp_path / "text"
    path.write_bytes(text.encode())
    assert translated(capsys, "--file", str(path))[0] == ["?", "", "12"]
    assert translated(capsys, text)[0] == ["?", "", "12", ""]


@pytest.mark.parametrize(
    "redirected",
    ["<&- ", "Ja. >&- ", "$(printf '\\377') ", "--file F --encoding undefined"],
)
def test_input_and_output_that_are_none(redirected, tmp_path):
    (tmp_path / "F").write_text("Ja.")
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m translator translate {redirected}"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("translator: error: ")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_an_output_that_cannot_hold_the_text_is_named(monkeypatch, capsys):
    out = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr("sys.stdout", out)
    assert main(["translate", "😀"]) == 2
    err = capsys.readouterr().err
    assert "the output is latin-1" in err
    assert "PYTHONIOENCODING=utf-8" in err


def test_a_plot_of_an_unknown_format_is_named(tmp_path, capsys):
    plot = tmp_path / "a.xyz"
    assert main(["translate", "--alignments", "--plot", str(plot), "Ja."]) == 2
    assert "--plot: " in capsys.readouterr().err


def test_names_that_no_training_had_are_copied(monkeypatch, capsys):
    cases = [
        (case["sentence"].replace("{}", name), name)
        for case in json.loads(NAMES.read_text(encoding="utf-8"))
        for name in case["names"]
    ]
    assert len(cases) == len({name for _, name in cases}) == 200
    text = "\n".join(sentence for sentence, _ in cases)
    out, _ = piped(monkeypatch, capsys, text)
    missing = [
        f"{sentence} -> {line}"
        for (sentence, name), line in zip(cases, out, strict=True)
        if name not in line
    ]
    assert len(missing) <= 0.2 * len(cases), missing


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # In the training Thomas was Tom, Hans was a dog, Julia Juliet, and Felix not there.
        ("Hast du Thomas schon angerufen?", "Have you called Thomas yet?"),
        ("Ich wollte Hans nicht wecken.", "I didn't want to wake Hans up."),
        ("Warum ist Julia so traurig?", "Why is Julia so sad?"),
        ("Michaels Frau kommt aus Spanien.", "Michael's wife is from Spain."),
        ("Evas Zimmer ist immer ordentlich.", "Eva's room is always tidy."),
        (
            "Mein Bruder Thomas studiert in Berlin.",
            "My brother Thomas is studying in Berlin.",
        ),
        ("Meine Frau Sabine kocht gern.", "My wife Sabine likes to cook."),
    ],
)
def test_first_names_that_the_training_had_are_copied(line, expected, capsys):
    assert translated(capsys, line) == ([expected], "")


def test_no_first_name_and_no_number_is_lost_in_silence(capsys):
    rows = [line.split("\t") for line in FIRST_NAMES.read_text("utf-8").splitlines()]
    lines = NUMBERS.read_text("utf-8").splitlines()
    wanted = [names.split(",") for names, _ in rows]
    wanted += [re.findall(r"\d+", line) for line in lines]
    sources = [*(sentence for _, sentence in rows), *lines]
    out, err = translated(capsys, *sources)
    assert len(out) == len(sources) == 284
    told = {int(n) for n in re.findall(r"line (\d+): .*in the translation", err)}
    words = {"6": "six", "9": "nine", "3": "third", "18": "6:30"}  # and half past six
    silent = [
        f"{source} -> {line}"
        for n, (source, line, all_of) in enumerate(
            zip(sources, out, wanted, strict=True), 1
        )
        for one in all_of
        if one not in line and words.get(one, one) not in line and n not in told
    ]
    assert not silent
    assert len(told) < 0.15 * len(sources)


def test_an_english_form_of_a_name_is_told(capsys):
    lines = ["Wann hat Maria Geburtstag?", "Ich spiele mit Johannes Tennis."]
    (maria, johannes), err = translated(capsys, *lines)
    assert "Mary" in maria
    assert "John" in johannes
    assert err == (
        "translator: line 1: Maria is Mary in the translation\n"
        "translator: line 2: Johannes is John in the translation\n"
    )


def test_names_and_numbers_that_came_from_nowhere_are_said(monkeypatch, capsys):
    found = [("Tom has 12 cats.", Hypothesis([5], -0.1, -0.1, ended=True))]
    monkeypatch.setattr(
        "translator.decoding.lines._hypotheses",
        lambda _, texts, __: [found] * len(texts),
    )
    lines = ["Er hat Katzen.", "Tom hat zwölf Katzen.", "Tom hat 12 Katzen."]
    _, err = translated(capsys, *lines)
    assert err == ("translator: line 1: low confidence: not in the source: Tom; 12\n")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Haus", "House"),
        ("Freiheit", "Freedom"),
        ("Speisekarte", "Menu"),
        ("Neuigkeiten", "News"),
        ("Fragen und Antworten", "Questions and answers"),
        ("Erste Schritte", "First steps"),
        ("Seite 17", "Page 17"),
        ("3. Ergebnisse", "3. Results"),
        ("Kapitel 7: Das Haus", "Captain 7: The house"),
        ("Der Anfang", "The beginning"),
    ],
)
def test_a_word_or_a_heading_alone_in_a_line(line, expected, capsys):
    """ "Captain" is wrong, and stands here because nothing tells of it."""
    assert translated(capsys, line) == ([expected], "")


def test_a_guess_at_a_word_alone_is_said(capsys):
    lines = ["Datenschutz", "Inhaltsverzeichnis", "Solveig", "Zeit ist Geld."]
    out, err = translated(capsys, *lines)
    assert out[1:3] == lines[1:3]
    assert "line 1: low confidence: a few words alone: Datenschutz\n" in err
    assert "line 2: taken for a name, not translated: Inhaltsverzeichnis\n" in err
    assert "line 3: taken for a name, not translated: Solveig\n" in err
    assert "line 4" not in err


@pytest.mark.parametrize(
    "line",
    [
        "Lindenstraße 14, 10969 Berlin",
        "Familie Schneider, An der Alten Mühle 9b, 01067 Dresden",
        "D-28195 Bremen, Obernstraße 30",
        "Fax: +49 (0)40 987654-21",
        "IBAN: DE89 3704 0044 0532 0130 00",
    ],
)
def test_addresses_and_codes_pass_unchanged(line, capsys):
    assert translated(capsys, line)[0] == [line]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Telefon: 030 1234567", "Phone: 030 1234567"),
        ("Ich wohne in der Gartenstraße 22.", "I live in Gartenstraße 22."),
        (
            "Das Büro liegt in der Kaiserstraße 61, 60329 Frankfurt am Main.",
            "The office is in Kaiserstraße 61, 60329 Frankfurt am Main.",
        ),
        (
            "Meine IBAN lautet DE75 5121 0800 1245 1261 99.",
            "My IBAN is DE75 5121 0800 1245 1261 99.",
        ),
        ("Der Kaffee kostet 3,20 €.", "The coffee costs 3.20 euros."),
    ],
)
def test_addresses_codes_and_prices_survive_in_a_sentence(line, expected, capsys):
    assert translated(capsys, line) == ([expected], "")


def test_a_text_that_several_names_lead_to_counts_with_its_best_score(
    monkeypatch, capsys
):
    scores = iter([-0.1, -0.2, -0.2])

    def found(_, texts, __):
        if texts == ["Ich kenne Solveig."]:
            return [[("I know silly.", Hypothesis([5], -0.1, -0.1, ended=True))]]
        names = [text.removeprefix("Ich kenne ") for text in texts]
        ours = [Hypothesis([5], s, s, ended=True) for s in scores]
        other = Hypothesis([6], -0.15, -0.15, ended=True)
        return [
            [(f"I know {name}", one), (f"He knows {name}", other)]
            for name, one in zip(names, ours, strict=True)
        ]

    monkeypatch.setattr("translator.decoding.lines._hypotheses", found)
    out, _ = translated(capsys, "Ich kenne Solveig.")
    assert out == ["I know Solveig."]


def test_capitals_are_read_as_words_and_written_as_capitals(capsys):
    usual, _ = translated(capsys, "Wo ist der Hund?")
    assert translated(capsys, "WO IST DER HUND?")[0] == [usual[0].upper()]
    assert translated(capsys, "wo ist der hund?")[0] == usual


def test_another_language_is_said(capsys):
    line = "Je ne sais pas où il habite maintenant."
    _, err = translated(capsys, "Wo ist der Hund?", line)
    assert "line 2: this looks like French" in err
    assert "line 1" not in err


def test_candidates_and_scores(capsys):
    (line,), _ = translated(capsys, "Wo ist der Hund?")
    (best,), _ = translated(capsys, "--n-best", "3", "Wo ist der Hund?")
    assert best.split("\t")[0] == line
    assert 1 < len(best.split("\t")) <= 3
    assert len(set(best.split("\t"))) == len(best.split("\t")), "no text twice"
    rows, _ = translated(capsys, "--scores", "Wo ist der Hund?", "?", "")
    score, text = rows[0].split("\t")
    assert text == line
    assert 0 <= int(score) <= 100
    assert rows[1:] == ["-\t?", "-\t"]


def test_json(capsys):
    out, err = translated(
        capsys, "--format", "json", "--n-best", "2", "Ich bin hier.", "?"
    )
    rows = [json.loads(line) for line in out]
    assert [row["source"] for row in rows] == ["Ich bin hier.", "?"]
    first = rows[0]["candidates"]
    assert rows[0]["translation"] == first[0]["text"]
    assert len(first) == 2
    assert first[0]["log_probability"] < 0 <= first[0]["expected_chrf"]
    assert rows[1]["candidates"] == [
        {"text": "?", "log_probability": None, "expected_chrf": None}
    ]
    assert err == "".join(
        f"translator: line {i}: {told}\n"
        for i, row in enumerate(rows, 1)
        for told in row["warnings"]
    )


def test_what_cannot_be_is_named(capsys):
    for arguments, message in (
        (["--n-best", "5", "Ja."], "--n-best: expected 1 to 4"),
        (["--n-best", "0", "Ja."], "--n-best: expected 1 to 4"),
        (["--alpha", "nan", "Ja."], "alpha: expected a finite number"),
        (["--alpha", "inf", "Ja."], "alpha: expected a finite number"),
        (["--format", "json", "--alignments", "Ja."], "--alignments"),
    ):
        assert main(["translate", *arguments]) == 2
        assert message in capsys.readouterr().err


def test_the_length_penalty_is_the_one_that_validation_chose(tmp_path, capsys):
    chosen = json.loads((ROOT / "models" / "de-en" / "record.json").read_text())
    alpha = chosen["length_penalty"]["alpha"]
    line = (
        "Das ist der Mann, von dem ich dir gestern auf dem Weg nach Hause erzählt habe."
    )
    asked = ["--format", "json", "--n-best", "4", line]
    assert translated(capsys, *asked) == translated(
        capsys, "--alpha", str(alpha), *asked
    )
    # A folder that differs in its record alone.
    for file in (ROOT / "models" / "de-en").iterdir():
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "record.json").unlink()
    changed = {**chosen, "length_penalty": {"alpha": 0.0, "tried": []}}
    (tmp_path / "record.json").write_text(json.dumps(changed))
    short = translated(capsys, "--model", str(tmp_path), *asked)
    assert short == translated(capsys, "--alpha", "0", *asked)


def test_a_terminal_gets_a_prompt_and_each_answer_at_once():
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "translator", "translate"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    os.close(theirs)
    for line in (b"?", b"\xff\nIch bin hier."):  # what is not UTF-8 ends nothing
        os.write(ours, line + b"\n")
        # Would wait for ever if nothing came before the end of the input.
        assert process.stdout.readline().strip()
    os.write(ours, b"\x04")
    out, err = process.communicate(timeout=60)
    os.close(ours)
    assert process.returncode == 0
    assert out == ""
    assert err.count("> ") == 4
    assert err.count("not translated: ") == 1


def test_a_translation_that_leaves_much_out_is_said(capsys):
    long = "Wenn die Nudeln hängenbleiben, wenn du sie an die Wand wirfst, dann sind sie fertig."
    lines = [long, "Er wohnt in Berlin.", "Komm bitte her!"]
    _, err = translated(capsys, *lines)
    assert f"line 1: low confidence: much shorter than: {long[:20]}" in err
    assert "line 2" not in err
    assert "line 3" not in err


@pytest.mark.parametrize(
    ("sentence", "translation", "short"),
    [
        ("Eins zwei drei vier fünf sechs.", "One two three.", True),
        ("Eins zwei drei vier fünf sechs.", "One two three four.", False),
        ("Eins zwei drei vier fünf.", "One.", False),  # too few to tell
        ("Eins zwei drei vier fünf sechs.", "", True),
    ],
)
def test_how_short_is_much_shorter(sentence, translation, short):
    assert is_short(sentence, translation) == short


def test_low_confidence_is_said(capsys):
    """Of lines without sense, at least two of four; where it is said, little is expected."""
    lines = [
        "Ich habe keine Zeit.",
        "Ich Ich gelb gelb warum über über über.",
        "Über gelb warum Ich über gelb Ich warum über.",
        "Der die das dem den des weil ob.",
        "Ob weil den der gelb warum das.",
    ]
    out, err = translated(capsys, "--scores", *lines)
    expected = [int(line.split("\t")[0]) for line in out]
    said = {int(n) for n in re.findall(r"line (\d): low confidence", err)}
    assert 1 not in said
    assert len(said) >= 2
    assert max(expected[n - 1] for n in said) < 50 < expected[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A candidate of the beam with a negation comes before one without.
        ("Tom hatte nicht ganz unrecht.", "Tom wasn't quite wrong."),
        # An enumeration in which an item was missing is put together from parts.
        (
            "Ich brauche Hilfe, Zeit und Geld.",
            "I need some help, time and money.",
        ),
        (
            "Die Schweiz liegt zwischen Frankreich, Italien, Österreich und Deutschland.",
            "The Switzerland is between France, Italy, Austria and Germany.",
        ),
        ("Größe: 82 m², 3 Zimmer, Küche, Bad", "Size: 82 m², 3 rooms, kitchen, bath"),
        # What is copied, with its number.
        ("Der Akku hat 5000 mAh.", "5000 mAh"),
        ("Die Wohnung hat einen Balkon von 6 m².", "6 m²"),
        ("Vielen Dank für Ihre Nachricht vom 12. März.", "March 12"),
        ("- 250 g Mehl", "- 250 g flour"),
        # Labels stay before their colon.
        (
            "Frage: Kann ich meine Bestellung ändern?",
            "Question: Can I change my order?",
        ),
        ("Tim: Ja, aber noch nicht angezogen", "Tim: Yes, but not dressed yet"),
        # Markup stays around the words.
        ("<h1>Willkommen</h1>", "<h1>Welcome</h1>"),
        (
            "<p>Wir haben <b>heute</b> geschlossen.</p>",
            "<p>We're closed <b>today</b>.</p>",
        ),
        ("| Größe | 2 Euro |", "| Size | 2 euros |"),
        ('  "titel": "Guten Morgen",', '  "titel": "Good morning",'),
        ("Paul;Bäcker;29", "Paul;Baker;29"),
        ('"01.08.2024","31,5 °C"', '"01.08.2024","31.5 °C"'),
        ("Du hast %d neue Nachrichten.", "%d"),
    ],
)
def test_what_a_text_has_beside_sentences(text: str, expected: str, capsys) -> None:
    (line,), _ = translated(capsys, text)
    assert expected == line if len(expected) > 8 else expected in line


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Mit dir stimmt doch was nicht.", "not in the translation: nicht"),
        (
            "Heute gibt es Regen, Wind, Schnee und Sonne.",
            "fewer items than: Heute gibt es Regen, Wind",
        ),
        ("Das Programm läuft *nicht* unter Windows 7.", "translation: *…*"),
        ("IBAN: DE89 3704 0044 0532 0130 00", ""),
    ],
)
def test_what_is_left_out_is_told(text: str, told: str, capsys) -> None:
    _, err = translated(capsys, text)
    assert told in err if told else "does not look like German" not in err


def test_code_between_fences_stays(monkeypatch, capsys) -> None:
    code = ["```", *(f"die_katze = {i}  # Hund" for i in range(40)), "```"]
    lines = ["Ja."] * 20
    text = "\n".join([*lines, *code, *lines]) + "\n"
    out, _ = piped(monkeypatch, capsys, text, "--beam", "1")
    assert out[20:-20] == code
    assert out[:20] == out[-20:] != lines
