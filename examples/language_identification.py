"""Languages by their characters: short runs of letters tell more than words that were never seen."""

from tallywise import CountVectorizer, MultinomialNB

SENTENCES = {
    "English": """
        The train leaves at half past eight from the second platform.
        We had bread and cheese by the river and talked until dark.
        Nobody knew where the key to the old house had gone.
        She wrote three letters but sent only the shortest one.
        It rained so hard that the street became a stream.
        My brother is learning to play the violin this winter.""",
    "Deutsch": """
        Der Zug fährt um halb neun vom zweiten Gleis ab.
        Wir saßen am Fluss und redeten, bis es dunkel wurde.
        Niemand wusste, wo der Schlüssel zum alten Haus geblieben war.
        Sie schrieb drei Briefe, schickte aber nur den kürzesten.
        Es regnete so stark, dass die Straße ein Bach wurde.
        Mein Bruder lernt in diesem Winter Geige spielen.""",
    "Français": """
        Le train part à huit heures et demie du deuxième quai.
        Nous avons mangé du pain et du fromage au bord de la rivière.
        Personne ne savait où était passée la clé de la vieille maison.
        Elle a écrit trois lettres mais n'a envoyé que la plus courte.
        Il pleuvait si fort que la rue est devenue un ruisseau.
        Mon frère apprend à jouer du violon cet hiver.""",
    "Español": """
        El tren sale a las ocho y media del segundo andén.
        Comimos pan y queso junto al río y hablamos hasta la noche.
        Nadie sabía dónde estaba la llave de la casa vieja.
        Ella escribió tres cartas pero solo envió la más corta.
        Llovía tan fuerte que la calle se convirtió en un arroyo.
        Mi hermano aprende a tocar el violín este invierno.""",
    "Italiano": """
        Il treno parte alle otto e mezza dal secondo binario.
        Abbiamo mangiato pane e formaggio in riva al fiume.
        Nessuno sapeva dove fosse finita la chiave della vecchia casa.
        Ha scritto tre lettere ma ha spedito solo la più corta.
        Pioveva così forte che la strada diventò un ruscello.
        Mio fratello impara a suonare il violino quest'inverno.""",
}


def main() -> None:
    """Learn from six sentences a language, judge others."""
    pairs = [(line.strip(), name) for name, block in SENTENCES.items() for line in block.split("\n") if line.strip()]
    vectorizer = CountVectorizer(analyzer="char_wb", ngram_range=(1, 4))
    model = MultinomialNB(alpha=0.1).fit(
        vectorizer.fit_transform([text for text, _ in pairs]), [name for _, name in pairs]
    )
    asked = [
        "Where can I buy a ticket?",
        "Wo kann ich eine Fahrkarte kaufen?",
        "Où puis-je acheter un billet ?",
        "¿Dónde puedo comprar un billete?",
        "Dove posso comprare un biglietto?",
    ]
    X = vectorizer.transform(asked)
    for text, name, row in zip(asked, model.predict(X), model.predict_proba(X), strict=True):
        print(f"{name:9} {row.max():.3f}  {text}")


if __name__ == "__main__":
    main()
