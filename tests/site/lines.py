"""Five hundred lines for the page and the command line: everyday ones, and hard ones."""

from __future__ import annotations

import json
import random
import unicodedata

from tests.site.pages import ROOT
from translator import grammar
from translator.data.spelling import as_sentence

NAMES = ROOT / "tests" / "translator" / "decoding" / "names.json"
EVERYDAY = 300
#: Said every day, with what a model of short sentences meets: idioms, questions, clauses.
DAILY = """\
Guten Morgen! Hast du gut geschlafen?
Ich habe heute keine Lust zu kochen.
Kannst du mir bitte das Salz geben?
Wir sehen uns morgen um acht.
Das Wetter soll am Wochenende besser werden.
Meine Mutter ruft jeden Sonntag an.
Wo hast du den Schlüssel hingelegt?
Er kommt immer zu spät zur Arbeit.
Ich muss noch schnell einkaufen gehen.
Der Zug nach Hamburg hat zwanzig Minuten Verspätung.
Hast du schon gegessen?
Sie hat ihr Handy zu Hause vergessen.
Ich verstehe nicht, was du meinst.
Das Kind schläft schon seit einer Stunde.
Wir haben den ganzen Tag gearbeitet.
Darf ich hier rauchen?
Er hat sich den Arm gebrochen.
Die Katze sitzt auf dem Dach.
Ich freue mich auf den Urlaub.
Was kostet eine Fahrkarte nach Berlin?
Sie lernt seit drei Jahren Deutsch.
Das ist mir völlig egal.
Kommst du mit ins Kino?
Ich hätte gern einen Kaffee mit Milch.
Der Arzt sagt, ich soll mehr schlafen.
Wenn es regnet, bleiben wir zu Hause.
Er tut so, als ob er nichts wüsste.
Die Kinder spielen im Garten.
Ich habe mein Buch im Zug liegen lassen.
Wie lange wartest du schon?
Sie wollte nicht mit ihm sprechen.
Das Fenster war offen, als ich nach Hause kam.
Ich glaube, sie hat recht.
Niemand weiß, wo er wohnt.
Mach bitte die Tür zu.
Wir könnten zusammen etwas trinken gehen.
Es tut mir leid, dass ich zu spät bin.
Ihr Bruder arbeitet in einer Bank.
Ich kann ohne Brille nichts lesen.
Das Essen war ausgezeichnet.
Er ist größer als sein Vater.
Seit wann wohnt ihr hier?
Ich bin müde und gehe ins Bett.
Sie hat den Bus verpasst.
Was machst du am liebsten in deiner Freizeit?
Der Hund hat die ganze Nacht gebellt.
Hier ist es mir zu laut.
Ich wünschte, ich könnte dir helfen.
Das hätte ich nicht gedacht.
Er hat mir sein altes Fahrrad geschenkt.
Wir müssen uns beeilen, sonst kommen wir zu spät.
Kannst du mir sagen, wie spät es ist?
Sie trinkt ihren Tee ohne Zucker.
Das Haus wird gerade renoviert.
Ich habe vor, nächstes Jahr nach Japan zu reisen.
Der Film war langweilig.
Er spricht so leise, dass man ihn kaum versteht.
Im Winter wird es früh dunkel.
Ich brauche einen neuen Computer.
Wer hat das Glas zerbrochen?
Sie ist die beste Schülerin der Klasse.
Ich habe Angst vor Spinnen.
Mein Auto springt nicht an.
Du solltest weniger arbeiten.
Ich konnte gestern nicht kommen, weil ich krank war.
Das Restaurant ist am Montag geschlossen.
Er hat versprochen, mir zu schreiben.
Die Milch ist schlecht geworden.
Wir haben uns seit Jahren nicht gesehen.
Ich weiß nicht, ob er kommt.
Die Brücke ist drei Kilometer lang.
Sie hat Kopfschmerzen und möchte sich hinlegen.
Nimm deinen Mantel mit, es ist kalt.
Der Lehrer hat uns viele Hausaufgaben gegeben.
Es hat die ganze Woche geschneit.
Ich kann mir das nicht leisten.
Er lachte laut über den Witz.
Was ist denn hier los?
Die Suppe ist noch zu heiß.
Ich habe den Brief noch nicht beantwortet.
Kannst du ein Geheimnis für dich behalten?
Sie hat lange darüber nachgedacht.
Das Museum öffnet um zehn Uhr.
Ohne dich wäre ich verloren gewesen.
Der Kaffee ist alle.
Wir sind gestern erst um Mitternacht angekommen.
Er will nicht, dass sie es erfährt.
Mein Vater liest jeden Morgen die Zeitung.
Ich habe schon lange nichts mehr von ihr gehört.
Wie heißt die Straße, in der du wohnst?
Das ist das schönste Geschenk, das ich je bekommen habe.
Sie konnte vor Aufregung nicht schlafen.
Am Abend ging er allein spazieren.
Bitte sprechen Sie etwas langsamer.
Ich habe mich in der Zeit geirrt.
Der Regen hat endlich aufgehört.
Er hat drei Töchter und einen Sohn.
Es gibt nichts Gutes, außer man tut es.
Die Prüfung war schwieriger, als wir erwartet hatten.
Lass uns später darüber reden.
""".splitlines()
#: A name, known or not, in its place: with each of WHO, one after the other.
ABOUT = """\
{} wohnt in Berlin.
Ich habe {} gestern im Supermarkt getroffen.
Kennst du {}?
{} hat mir ein Buch geschenkt.
Frau {} kommt heute nicht.
Ich heiße {} und komme aus Hamburg.
Weißt du, ob {} morgen Zeit hat?
{} und Maria sind verheiratet.
Das Auto gehört {}.
Herr {} ist unser neuer Nachbar.
""".splitlines()
WHO = "Tom Maria Anna Peter Müller Yusuf Ibrahimović Solveig Schröder Jean-Luc".split()
#: By hand: what the command line treats in a way of its own, or a reader may try.
HARD = """\
Er wohnt z. B. in Berlin.
Das ist z.B. ein Hund, d. h. ein Tier.
Dr. Müller ist da. Prof. Schmidt nicht.
Ich habe Dr. Weber gestern gesehen.
Am 3. Mai beginnt die Schule. Am 12. hört sie auf.
Er kommt ca. 10 Min. zu spät.
Das macht 3,50 Euro inkl. MwSt.
Ich habe Äpfel, Birnen usw. gekauft. Komm vorbei!
Nr. 5 lebt! Und Nr. 6 auch.
Sie wohnt in der Goethestr. 12. Klingel bitte laut.
Ich bin hier. Wo bist du?
Kommst du?Ja!
Ja. Nein! Vielleicht? Also gut…
Ich habe Hunger.  Wo ist das Brot?   Hier ist es.
„Komm her!“, sagte sie. „Sofort.“
Er sagte: „Ich gehe jetzt. Bleib hier.“ Dann ging er.
»Was willst du?« fragte Tom.
"Guten Tag." Das war alles, was er sagte.
Sie fragte: 'Hast du Zeit?' und lachte.
Er rief: „Hilfe! Es brennt! Kommt alle her und helft mir, bevor das ganze Haus abbrennt und nichts mehr übrig ist von dem, was wir haben!“ Niemand kam.
Schreib an max.muster@example.org und warte.
Mehr steht auf https://example.org/Seite?x=1.
www.example.com ist meine Seite. Besuche sie!
https://example.org/
max.muster@example.org
Lies https://de.wikipedia.org/wiki/Transformer_(Maschinelles_Lernen), bevor du kommst.
Er hat 48213 Euro bezahlt.
Das kostet 12 000 Euro.
Er ist 3,5 Meter lang.
Ich wohne in Zimmer 47.
Der Zug fährt um 14:35 Uhr ab.
Er kam 1945 und ging 1989.
Es sind -5 Grad draußen.
2009 sind 2 500 Schafe und 12 000 Lämmer gerissen worden.
Ruf mich unter 0171-2345678 an!
Das Treffen ist am 12.05.2024 um 9 Uhr.
Wir waren 17 von 23.
1 + 1 = 2
3,14
12.05.2024
Das sind 1.234.567,89 Euro und 5 %.
Er wiegt 80 kg und ist 1,85 m groß.
HABE HUNGER
ICH HABE MEINEN SCHLÜSSEL VERGESSEN!
ACHTUNG! NICHT BETRETEN.
WO IST FRAU IBRAHIMOVIĆ?
DIE STRASSE IST GESPERRT. BITTE FAHREN SIE LANGSAM.
JA!
NATO
EU
ich habe meinen schlüssel vergessen.
wo ist tom?
wie heißt du? ich heiße anna.
schreib an max.muster@example.org heute noch.
das ist ein test
www.example.org ist weg.
Das ist toll 😀!
👍🏽 Ich bin hier.
Ich liebe dich ❤️ und Katzen 🐱🐱.
👨‍👩‍👧 Das ist meine Familie.
🇩🇪 Deutschland hat gewonnen! 🎉🎉🎉
😀 😀
Heute ist es 30 °C warm ☀.
Das kostet 5 € © 2024.
- Ich bin hier.
a) Ich bin hier.
(b) Kauf Brot und Milch.
• Butter
1) Erst nachdenken. 2) Dann reden.
> Wo bist du?
# Einleitung
- - Ja.
?
…
—
***
Я не знаю.
我不知道。
Ich sage привет zu dir.
Αθήνα
Ich war in 東京 und in Łódź.
This is not German at all.
I have lost my key. Where is it?
Je n'ai pas le temps.
The quick brown fox jumps over the lazy dog.
¿Dónde está la biblioteca?
Hallo {name}, <b>Tom</b> ist da.
Der Befehl `ls` zeigt **alle** Dateien.
<p>Guten Tag!</p>
Ich heiße Johannes.
Ich heiße Johannes Müller-Lüdenscheidt.
Frau Ibrahimović kommt aus Bratislava.
Herr Wójcik und Frau Nguyễn sind verheiratet.
Solveig kennt Tom nicht.
Kennst du Apollonia, Branwen und Hildburg?
Herr Tom Tom Tom wohnt in Tom.
Das heißt Krieg.
Seine Frau Gemahlin lässt grüßen.
Der Klippenrand ist gefährlich.
Familie Zdenka fährt nach Wanne-Eickel.
Prof. Dr. Quandt heißt Adelgunde mit Vornamen.
Gib Ewald das Buch, das Cäcilie gehört!
Gehen wir? Gehst du?
Karottensaft mag Yannick nicht.
Meine Freundin Mechthild kommt aus Niederösterreich.
Ich gebe Tom Geld.
Boston, Tokio und Niedermayer.
Xyzzy Plugh
O'Neill und D’Artagnan sind Freunde.
Beim 3:2 gegen Bayern traf Lewandowski in der 87. Minute.
U-5 und A320 sind keine Namen.
Er las den Roman „Krieg und Frieden“ in 3 Tagen.
Wenn der Regen, der seit gestern Abend fällt, nicht bald aufhört, dann werden wir, wie schon im letzten Jahr, den Ausflug, auf den sich alle so gefreut haben, verschieben müssen, was sehr schade wäre.
Ich weiß, dass sie zwanzig Hunde hat, ich weiß, dass er dreißig Katzen hat, ich weiß, dass wir vierzig Vögel haben, ich weiß, dass ihr fünfzig Fische habt, und ich weiß, dass niemand sie füttert.
Rot grün blau gelb schwarz weiß grau braun rosa lila rot grün blau gelb schwarz weiß grau braun rosa lila rot grün blau gelb schwarz weiß grau braun rosa lila rot grün blau gelb schwarz weiß
Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen
Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz.
Er (der Arzt) sagte – so glaube ich – nichts; sie aber: alles.
A. B. C. D.
Die Kinder, die im Garten spielen, und die Hunde, die im Hof bellen, und die Katzen, die auf dem Dach schlafen, gehören alle der Frau, die im ersten Stock wohnt und jeden Tag Kuchen backt.
Tom: Wo? Maria: Hier!
Straße STRASSE straße
Test_mit_Unterstrich und snake_case sind Namen.
½ Liter Milch und ²/₃ Tasse Mehl.
Am 1st Mai und am 22th Juni.
Die 3. Auflage erschien 1999 bei Rowohlt in Reinbek.
""".splitlines()


def everyday() -> list[str]:
    """Return 300 lines: said every day, about somebody, and of the grammar."""
    rng = random.Random(1)
    about = [text.format(name) for name in WHO for text in ABOUT]
    daily = DAILY + about
    found = (as_sentence(pair) for pair in grammar.sample(1000, seed=3))
    written = [pair.source for pair in found if pair is not None]
    return daily + rng.sample(written, EVERYDAY - len(daily))


def hard() -> list[str]:
    """Return 200 lines: by hand, and by rule out of these and the everyday ones."""
    rng = random.Random(2)
    names = json.loads(NAMES.read_text(encoding="utf-8"))
    unknown = [one["sentence"].format(rng.choice(one["names"])) for one in names]
    lines = [*HARD, "", "  ", "\t", "\u2028", "\u200b", "Ja.\r", "12", *unknown]
    rules = [
        lambda text: unicodedata.normalize("NFD", text),
        lambda text: text.upper(),
        lambda text: text.lower(),
        lambda text: f"{text} {rng.choice(DAILY)}",
        lambda text: f"  {text}\u00a0{rng.choice(DAILY)} ",
        lambda text: text.replace(" ", "\u00ad  ", 1).replace("s", "\u200bs", 1),
        lambda text: f"{rng.choice('😀🦊✔')} {text[:-1]} {rng.choice('😀🦊✔')}{text[-1]}",
        lambda text: f"{rng.randint(3, 9)}) „{text}“",
        lambda text: ", ".join(rng.sample(DAILY, 4) + [text]),
    ]
    while len(lines) < 200:
        lines.append(rules[len(lines) % len(rules)](rng.choice(everyday()[:200])))
    return lines
