"""Reading what people write when they want an appointment: words in, `Understood` out; pure, and it never guesses."""
