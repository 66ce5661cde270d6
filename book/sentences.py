"""Everyday sentences, German and English, written for this course; by what makes them hard."""

GROUPS = {
    "book": [
        (
            "Kannst du mir helfen, diesen Satz zu übersetzen?",
            "Can you help me to translate this sentence?",
        )
    ],
    "everyday": [
        ("Ich habe meinen Schlüssel im Auto vergessen.", "I left my key in the car."),
        ("Heute Abend kochen wir zusammen.", "We are cooking together this evening."),
        (
            "Mach bitte das Fenster im Bad zu!",
            "Please close the window in the bathroom!",
        ),
        ("Warum hast du gestern nicht angerufen?", "Why didn't you call yesterday?"),
        ("Der Kaffee ist noch zu heiß.", "The coffee is still too hot."),
        (
            "Meine kleine Schwester hat Angst vor Hunden.",
            "My little sister is afraid of dogs.",
        ),
        ("Darf ich mich hier hinsetzen?", "May I sit down here?"),
        (
            "Sie hat sehr lange auf dich gewartet.",
            "She waited for you for a very long time.",
        ),
        ("Wir haben uns im Urlaub kennengelernt.", "We met on holiday."),
        ("Ich möchte lieber zu Fuß gehen.", "I would rather walk."),
        ("Hast du das Buch schon zurückgebracht?", "Have you returned the book yet?"),
    ],
    "long": [
        (
            "Gestern Abend habe ich mit meiner Schwester lange über unsere Eltern gesprochen.",
            "Yesterday evening I talked with my sister about our parents for a long time.",
        ),
        (
            "Wenn es morgen nicht regnet, fahren wir mit dem Fahrrad an den See.",
            "If it does not rain tomorrow, we will cycle to the lake.",
        ),
        (
            "Obwohl der Zug zu spät kam, haben wir das ganze Konzert gehört.",
            "Although the train was late, we heard the whole concert.",
        ),
        (
            "Ich glaube nicht, dass er heute noch zur Arbeit kommt.",
            "I don't think that he will come to work today.",
        ),
        (
            "Kannst du mir sagen, wo ich hier eine Fahrkarte kaufen kann?",
            "Can you tell me where I can buy a ticket here?",
        ),
        (
            "Das alte Haus neben der Kirche gehört seit vielen Jahren meinem Großvater.",
            "The old house next to the church has belonged to my grandfather for many years.",
        ),
        (
            "Meine Freundin hat den Brief gelesen, aber sie hat ihn nicht verstanden.",
            "My friend read the letter, but she did not understand it.",
        ),
        (
            "Bevor du das Haus verlässt, musst du die Fenster schließen und das Licht ausmachen.",
            "Before you leave the house, you have to close the windows and turn off the light.",
        ),
        (
            "Der Arzt hat gesagt, dass ich weniger Kaffee trinken und mehr schlafen soll.",
            "The doctor said that I should drink less coffee and sleep more.",
        ),
    ],
    "rare word": [
        (
            "Im Gewächshaus hinter der Mühle züchtet er Orchideen.",
            "In the greenhouse behind the mill he grows orchids.",
        ),
        (
            "Der Schornsteinfeger hat eine Leiter mitgebracht.",
            "The chimney sweep has brought a ladder.",
        ),
        (
            "Das Stachelschwein schläft in der Scheune.",
            "The porcupine is sleeping in the barn.",
        ),
        (
            "Die Gebrauchsanweisung liegt in der Schublade.",
            "The instruction manual is in the drawer.",
        ),
        ("Der Hufschmied beschlägt das Pferd.", "The farrier is shoeing the horse."),
        ("Wir haben einen Strafzettel bekommen.", "We got a parking ticket."),
    ],
    "name": [
        ("Herr Wiedemann wohnt in Osnabrück.", "Mr Wiedemann lives in Osnabrück."),
        (
            "Ich heiße Svetlana und komme aus Bratislava.",
            "My name is Svetlana and I come from Bratislava.",
        ),
        (
            "Mein Onkel Giuseppe arbeitet in Stuttgart.",
            "My uncle Giuseppe works in Stuttgart.",
        ),
        (
            "Frau Kowalczyk hat am 17. März Geburtstag.",
            "Mrs Kowalczyk's birthday is on 17 March.",
        ),
        (
            "Der Bus nach Quedlinburg fährt um 18:45 Uhr ab.",
            "The bus to Quedlinburg leaves at 18:45.",
        ),
        ("Tom hat Amira sein Fahrrad geliehen.", "Tom lent Amira his bicycle."),
    ],
    "idiom": [
        ("Ich verstehe nur Bahnhof.", "It is all Greek to me."),
        ("Sie hat den Nagel auf den Kopf getroffen.", "She hit the nail on the head."),
        (
            "Die Bank am Fluss ist frisch gestrichen.",
            "The bench by the river has just been painted.",
        ),
        (
            "Mein Nachbar hat gestern ins Gras gebissen.",
            "My neighbour kicked the bucket yesterday.",
        ),
    ],
    "other domain": [
        (
            "Die Halbwertszeit des Isotops beträgt vierzig Tage.",
            "The half-life of the isotope is forty days.",
        ),
        (
            "Der Mieter haftet für Schäden durch unsachgemäße Nutzung.",
            "The tenant is liable for damage caused by improper use.",
        ),
        (
            "Die Zentralbank hat den Leitzins um einen Viertelprozentpunkt erhöht.",
            "The central bank has raised its key interest rate by a quarter of a percentage point.",
        ),
        (
            "Die Matrix ist symmetrisch und positiv definit.",
            "The matrix is symmetric and positive definite.",
        ),
        (
            "Der Patient klagt über Atemnot und Herzrasen.",
            "The patient complains of shortness of breath and palpitations.",
        ),
    ],
}
PAIRS = [pair for pairs in GROUPS.values() for pair in pairs]
#: What makes each of PAIRS hard.
KINDS = [kind for kind, pairs in GROUPS.items() for _ in pairs]
