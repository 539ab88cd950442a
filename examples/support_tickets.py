"""Route support tickets where some mistakes cost more than others."""

from tallywise import TextClassifier

TICKETS = {
    "outage": """
        The whole site is down, we cannot take orders
        Error 503 on every page since ten o'clock
        Payments fail for all of our customers
        Nothing loads, the status page is red as well
        The API answers with timeouts, production is stopped
        All users were logged out and cannot come back in
        The database seems unreachable, every request fails
        Our shop has been offline for twenty minutes
        Checkout is broken for everybody, please hurry
        The mobile app shows a blank page for all accounts
        No mail is being delivered since this morning
        Complete loss of service in our region""",
    "billing": """
        I was charged twice for the same month
        Please send the invoice for March again
        The VAT number on our invoice is wrong
        How do I change the credit card on file?
        Can I get a refund for the unused seats?
        The discount we agreed on is missing from the bill
        We need a purchase order number on every invoice
        Why did the price of my plan go up?
        My payment was declined although the card is valid
        Please cancel the subscription at the end of the month
        I cannot download the receipt of last year
        Which currency will you charge us in?""",
    "question": """
        How do I export my data as a spreadsheet?
        Is there a dark theme?
        Can two people edit the same report?
        Where do I find the list of shortcuts?
        Does the app work without a connection?
        How can I invite a colleague to my workspace?
        What is the largest file that I can upload?
        Is it possible to change the language?
        Can I connect it with my calendar?
        How do I turn off the weekly mail?
        Do you have a tutorial for beginners?
        How do I rename a project?""",
}


def main() -> None:
    """An outage taken for a question costs ten times as much as any other mistake."""
    texts = [line.strip() for block in TICKETS.values() for line in block.split("\n") if line.strip()]
    labels = [label for label, block in TICKETS.items() for line in block.split("\n") if line.strip()]
    costs = {("outage", "question"): 10.0, ("outage", "billing"): 10.0}
    model = TextClassifier(costs=costs).fit(texts, labels)
    print(*model.description_, sep="\n")
    for ticket in ("Orders fail with error 503", "Where is the invoice for May?", "Can I use it without a connection?"):
        why = model.explain(ticket)
        words = ", ".join(f"{word.term} {word.contribution:+.2f}" for word in why.words[:3])
        print(f"{why.label:9} {ticket}   ({words})")
    unclear = "How do I get out of this page?"
    shares = dict(zip(model.classes_, model.predict_proba([unclear])[0], strict=True))
    called = model.predict([unclear])[0]
    print(f"{called:9} {unclear}   (least expected cost; outage with probability {shares['outage']:.2f})")


if __name__ == "__main__":
    main()
